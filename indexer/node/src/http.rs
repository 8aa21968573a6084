//! One HTTP exchange with the node over pooled connections.

use std::{io, time::Duration};

use ureq::{Agent, http::HeaderValue};

use cairn_model::one_line;

use crate::{error::NodeError, waiting::Waiting};

/// Timeout of a connection attempt.
const CONNECT: Duration = Duration::from_secs(5);
/// Idle connections are closed before Bitcoin Core closes them (`rpcservertimeout`, 30 s).
const IDLE: Duration = Duration::from_secs(15);

pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl HttpAnswer {
    /// The beginning of the body as one line, for error messages.
    pub(crate) fn words(&self) -> String {
        one_line(&String::from_utf8_lossy(&self.body[..self.body.len().min(400)]), 160)
    }

    /// The same, or the status if there is no body.
    pub(crate) fn words_or_status(&self) -> String {
        let words = self.words();
        if words.is_empty() { format!("HTTP status {}", self.status) } else { words }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct HttpLimits {
    /// Time limit of the exchange.
    pub(crate) time: Duration,
    /// Maximum size of the answer's body in bytes.
    pub(crate) body: u64,
}

pub(crate) struct Http {
    agent: Agent,
    /// Scheme, host and port.
    url: String,
    /// Path of the RPC interface: `/`, or that of a wallet or a proxy if the URL has one.
    path: String,
    pub(crate) waiting: Waiting,
}

impl Http {
    /// `url`, for example `http://127.0.0.1:8332`.
    pub(crate) fn new(url: &str, connections: usize) -> Result<Self, NodeError> {
        let (url, path) = split_url(url)?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // The node is named by the operator: nobody in between may send us elsewhere or see the credentials.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent("cairn")
            .timeout_connect(Some(CONNECT))
            .max_idle_age(IDLE)
            .max_idle_connections(connections)
            .max_idle_connections_per_host(connections)
            .build();
        Ok(Http { agent: Agent::new_with_config(config), url, path, waiting: Waiting::default() })
    }

    /// The URL without credentials.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Posts to the path of the RPC interface, or to that of a wallet.
    pub(crate) fn post(
        &self,
        what: &str,
        wallet: Option<&str>,
        authorization: HeaderValue,
        body: &[u8],
        limits: HttpLimits,
    ) -> Result<HttpAnswer, NodeError> {
        let request = self
            .agent
            .post(format!("{}{}", self.url, wallet.unwrap_or(&self.path)))
            .header("authorization", authorization)
            .header("content-type", "application/json");
        let request = request.config().timeout_global(Some(limits.time)).build();
        let _waiting = self.waiting.begin(what, limits.time);
        self.finish(what, request.send(body), limits)
    }

    /// A REST request, without credentials.
    pub(crate) fn get(&self, path: &str, limits: HttpLimits) -> Result<HttpAnswer, NodeError> {
        let request = self.agent.get(format!("{}{path}", self.url));
        let request = request.config().timeout_global(Some(limits.time)).build();
        let _waiting = self.waiting.begin(path, limits.time);
        self.finish(path, request.call(), limits)
    }

    fn finish(
        &self,
        what: &str,
        sent: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
        limits: HttpLimits,
    ) -> Result<HttpAnswer, NodeError> {
        let fail = |error| self.error(what, limits, error);
        let mut response = sent.map_err(fail)?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(limits.body).read_to_vec().map_err(fail)?;
        Ok(HttpAnswer { status, body })
    }

    fn error(&self, what: &str, limits: HttpLimits, error: ureq::Error) -> NodeError {
        let url = self.url.clone();
        let unreachable = |reason: String| NodeError::Unreachable { url: self.url.clone(), reason };
        match error {
            ureq::Error::Timeout(ureq::Timeout::Connect) => {
                unreachable(format!("no connection within {} s", CONNECT.as_secs()))
            }
            ureq::Error::Timeout(_) => NodeError::TimedOut { url, method: what.to_owned(), limit: limits.time },
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => unreachable(
                "connection refused; check that the node runs with server=1 and that this is its rpcport".to_owned(),
            ),
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                unreachable("the connection closed before the answer was complete".to_owned())
            }
            ureq::Error::Io(error) => unreachable(error.to_string()),
            ureq::Error::HostNotFound => unreachable("no such host".to_owned()),
            ureq::Error::ConnectionFailed | ureq::Error::BodyStalled => unreachable(error.to_string()),
            ureq::Error::BodyExceedsLimit(limit) => {
                NodeError::BadAnswer { method: what.to_owned(), reason: format!("it is longer than {limit} bytes") }
            }
            other => NodeError::NotANode { url, reason: other.to_string() },
        }
    }
}

/// Splits a URL into scheme, host and port, and path.
fn split_url(url: &str) -> Result<(String, String), NodeError> {
    let bad = |reason| Err(NodeError::BadUrl { reason });
    let url = url.trim();
    let rest = match url.split_once("://") {
        Some(("http", rest)) => rest,
        Some(_) => return bad("only http:// is supported; use a tunnel (ssh, WireGuard) to reach a remote node"),
        None => url,
    };
    let (host, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    if host.contains('@') {
        return bad("it must not contain credentials; give user and password separately");
    }
    let authority: ureq::http::uri::Authority = match host.parse() {
        Ok(authority) => authority,
        Err(_) => return bad("expected http://host:port"),
    };
    if authority.host().is_empty() || authority.port_u16().is_none() {
        return bad("expected http://host:port");
    }
    if path.contains(['?', '#']) || !path.is_ascii() {
        return bad("expected http://host:port without query or fragment");
    }
    Ok((format!("http://{authority}"), path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let same = |url: &str, base: &str, path: &str| {
            assert_eq!(split_url(url).unwrap(), (base.to_owned(), path.to_owned()), "{url}");
        };
        same("http://127.0.0.1:8332", "http://127.0.0.1:8332", "/");
        same("localhost:18443/", "http://localhost:18443", "/");
        same("http://[::1]:8332/wallet/x", "http://[::1]:8332", "/wallet/x");
        for url in [
            "",
            "http://",
            "http://host",
            "https://host:1",
            "http://:8332",
            "http://a b:1",
            "http://host:99999",
            "http://host:8332/?a=b",
        ] {
            assert!(split_url(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_password_in_the_address_is_refused_and_not_repeated() {
        let error = split_url("http://ann:hunter2@127.0.0.1:8332").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }

    #[test]
    fn words_are_one_short_line() {
        let answer = HttpAnswer { status: 404, body: b"<html>\n\n <b>no\x07\xff</b>".to_vec() };
        assert_eq!(answer.words(), "<html> <b>no \u{fffd}</b>");
        assert_eq!(HttpAnswer { status: 200, body: vec![b'x'; 5000] }.words().chars().count(), 161);
        assert_eq!(HttpAnswer { status: 502, body: b" ".to_vec() }.words_or_status(), "HTTP status 502");
    }
}
