//! What a client may ask of the server.

use cairn_http::{ForwardedHeader, IpNet};
use clap::{Args, ValueEnum};

/// Limits of clients.
#[derive(Args, Clone, Debug)]
pub(crate) struct ClientLimits {
    /// What a client (an address of IPv4, or a /64 of IPv6) may spend in a minute: a light request costs 1 unit, a
    /// standard one 2, a heavy one 10. Answers say what is left in their header RateLimit; whoever spent all gets 429.
    /// 0 for no limit.
    #[arg(long, env = "CAIRN_RATE_LIMIT", value_name = "UNITS", default_value = "6000",
        value_parser = clap::value_parser!(u32).range(0..=1_000_000_000))]
    pub(crate) rate_limit: u32,
    /// Connections that may be open at the same time. One more is answered with 503 and closed. A connection that is
    /// idle, or slow to send or to read, for longer than --request-timeout is closed, too.
    #[arg(long, env = "CAIRN_MAX_CONNECTIONS", value_name = "COUNT", default_value = "4096",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) max_connections: u32,
    /// Connections that a client may have open at the same time; one more is answered with 429 and closed. Trusted
    /// proxies may have as many as there are.
    #[arg(long, env = "CAIRN_MAX_CONNECTIONS_PER_CLIENT", value_name = "COUNT", default_value = "512",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) max_connections_per_client: u32,
    /// Networks of proxies in front of the server, comma-separated, as in 10.0.0.0/8,fd00::/8. Only these are believed
    /// when they name the client; a plain address stands for itself alone.
    #[arg(long, env = "CAIRN_TRUSTED_PROXIES", value_name = "NETWORKS", value_delimiter = ',', value_parser = network)]
    pub(crate) trusted_proxies: Vec<IpNet>,
    /// The header in which these proxies name the client. Only the one that they set themselves may be read: the other
    /// they pass on as the client sent it.
    #[arg(long, env = "CAIRN_FORWARDED_HEADER", value_name = "HEADER", value_enum, default_value = "x-forwarded-for")]
    pub(crate) forwarded_header: Header,
}

/// Headers that name the client.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Header {
    /// X-Forwarded-For.
    XForwardedFor,
    /// Forwarded (RFC 7239).
    Forwarded,
}

impl From<Header> for ForwardedHeader {
    fn from(header: Header) -> Self {
        match header {
            Header::XForwardedFor => ForwardedHeader::XForwardedFor,
            Header::Forwarded => ForwardedHeader::Forwarded,
        }
    }
}

/// A network, or an address that stands for itself.
fn network(text: &str) -> Result<IpNet, String> {
    let one = |_| text.parse::<std::net::IpAddr>().map(IpNet::from);
    text.parse::<IpNet>().or_else(one).map_err(|_| "expected an address or a network such as 10.0.0.0/8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read() {
        assert_eq!(network("10.0.0.1").map(|n| n.to_string()), Ok("10.0.0.1/32".to_owned()));
        assert_eq!(network("fd00::/8").map(|n| n.to_string()), Ok("fd00::/8".to_owned()));
        assert!(network("10.0.0.0/33").is_err() && network("proxy").is_err());
    }
}
