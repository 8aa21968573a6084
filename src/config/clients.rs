//! Limits of clients.

use cairn_http::{ForwardedHeader, IpNet};
use clap::{Args, ValueEnum};

use super::whole;

/// Limits of clients.
#[derive(Args, Clone, Debug)]
pub(crate) struct ClientLimits {
    /// Rate limit of a client (an IPv4 address or an IPv6 /64) in units per minute. A unit stands for 1 000 µs of
    /// processor time. A light request costs 1 unit, a standard one 2, a heavy one 10; what it used beyond that is
    /// charged at its end. The response header RateLimit gives the remaining units. Requests above the limit get 429.
    /// 0: no limit.
    #[arg(long, env = "CAIRN_RATE_LIMIT", value_name = "UNITS", default_value = "6000",
        value_parser = whole::<u32>(0..=1_000_000_000))]
    pub(crate) rate_limit: u32,
    /// Maximum number of open connections. Further connections get 503 and are closed. A connection that is idle, or
    /// slow to send or to read, for longer than --request-timeout is closed too.
    #[arg(long, env = "CAIRN_MAX_CONNECTIONS", value_name = "COUNT", default_value = "4096",
        value_parser = whole::<u32>(1..=1_000_000))]
    pub(crate) max_connections: u32,
    /// Maximum number of open connections of one client. Further connections get 429 and are closed. Does not apply to
    /// trusted proxies.
    #[arg(long, env = "CAIRN_MAX_CONNECTIONS_PER_CLIENT", value_name = "COUNT", default_value = "512",
        value_parser = whole::<u32>(1..=1_000_000))]
    pub(crate) max_connections_per_client: u32,
    /// Maximum number of open streams of events (/v1/events) and websockets (/v1/ws of Esplora's API). If all are
    /// taken, a client whose network has fewer than another takes the place of one of the other's; else a further
    /// stream gets 503.
    #[arg(long, env = "CAIRN_MAX_STREAMS", value_name = "COUNT", default_value = "2048",
        value_parser = whole::<u32>(0..=1_000_000))]
    pub(crate) max_streams: u32,
    /// Maximum number of open streams of events and websockets of one client. Further ones get 503.
    #[arg(long, env = "CAIRN_MAX_STREAMS_PER_CLIENT", value_name = "COUNT", default_value = "64",
        value_parser = whole::<u32>(0..=1_000_000))]
    pub(crate) max_streams_per_client: u32,
    /// Networks of the proxies in front of the server, comma-separated, for example 10.0.0.0/8,fd00::/8. An address
    /// without a prefix length is one host. The header that names the client is read only from these proxies.
    #[arg(long, env = "CAIRN_TRUSTED_PROXIES", value_name = "NETWORKS", value_delimiter = ',', value_parser = network)]
    pub(crate) trusted_proxies: Vec<IpNet>,
    /// Header in which the trusted proxies name the client. Choose the one that the proxies set themselves; they pass
    /// the other one on as the client sent it.
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

/// A network, or an address: the network of that one host.
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
