//! Settings of traces.

use clap::Args;

/// Traces of requests.
#[derive(Args, Clone, Debug)]
pub(crate) struct Traces {
    /// URL of a collector of OpenTelemetry that takes traces over OTLP/HTTP; /v1/traces is appended. Only http: a
    /// collector on another machine needs a tunnel. Default: requests are not traced.
    #[arg(long, env = "CAIRN_OTLP_ENDPOINT", value_name = "COLLECTOR", value_parser = endpoint)]
    pub(crate) otlp_endpoint: Option<String>,
    /// Share of the requests that are traced, from 0 to 1. Has an effect only with --otlp-endpoint.
    #[arg(long, env = "CAIRN_OTLP_SAMPLE", value_name = "SHARE", default_value = "1", value_parser = share)]
    pub(crate) otlp_sample: f64,
}

fn endpoint(text: &str) -> Result<String, String> {
    const ALLOWED: &str = "give http://, a host, and a port unless it is 80, without a user, a query or a fragment";
    let rest = text.strip_prefix("http://").ok_or_else(|| format!("does not begin with http://; {ALLOWED}"))?;
    let is_plain = rest.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'@' | b'?' | b'#' | b'\\'));
    let host = rest.split('/').next().unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.ends_with(']'));
    let has_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    if !is_plain || !has_port || host.is_empty() || host.starts_with(':') {
        return Err(format!("is not the URL of a collector; {ALLOWED}"));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "must be a number from 0 to 1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints() {
        for text in ["http://127.0.0.1:4318", "http://collector", "http://[::1]:4318", "http://a.example/otlp"] {
            assert_eq!(endpoint(text).as_deref(), Ok(text));
        }
        assert_eq!(endpoint("http://127.0.0.1:4318/").as_deref(), Ok("http://127.0.0.1:4318"));
        for text in
            ["", "127.0.0.1:4318", "https://a.example", "http://", "http://u:p@a", "http://a?key=b", "http://a:x"]
        {
            assert!(endpoint(text).is_err_and(|error| error.contains("give http://")), "{text}");
        }
    }

    #[test]
    fn shares() {
        assert_eq!((share("0"), share("0.25"), share("1")), (Ok(0.0), Ok(0.25), Ok(1.0)));
        for text in ["", "-0.1", "1.1", "NaN", "inf", "a"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
