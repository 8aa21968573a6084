//! What an operator can set of how requests are taken and answered.

use std::time::Duration;

use ipnet::IpNet;

/// Configuration of the server, whatever its operations are about.
#[derive(Clone, Debug)]
pub struct HttpConfig {
    /// Where clients reach the service: scheme and host, without a slash at the end.
    pub base_url: String,
    /// Whether the gates of conditional access (later pages of transactions) are in force.
    pub gates_enabled: bool,
    /// How long a session or key that was found valid counts as valid without a look into the service state: so long
    /// a revocation may take.
    pub session_cache: Duration,
    /// Time limit of a request: to arrive, to be answered, and to be taken. A connection may be idle for as long.
    pub request_timeout: Duration,
    /// Largest request body in bytes.
    pub max_body_bytes: usize,
    /// Requests of a class of cost that may work at the same time (a quarter of it for the dearest class); others wait
    /// for their turn within the time limit.
    pub max_concurrent_reads: usize,
    /// Requests that may wait for their turn; more are sent away at once.
    pub max_queued_requests: usize,
    /// Connections that may be open; more are told so and closed.
    pub max_connections: usize,
    /// Connections that a client may have open (an address of IPv4, or a /64 of IPv6). Trusted proxies may have as many
    /// as there are.
    pub max_connections_per_client: usize,
    /// What a client may spend in a minute, in units: a light request costs 1, a usual one 2, a heavy one 10. 0 for no
    /// limit.
    pub rate_limit: u32,
    /// Networks of proxies that are believed when they name the client.
    pub trusted_proxies: Vec<IpNet>,
    /// The header in which they name it.
    pub forwarded_header: ForwardedHeader,
    /// Answers that take at least so long are logged as slow; `None` for none.
    pub slow_request: Option<Duration>,
    /// Versions of the Model Context Protocol that are spoken at `/mcp/`, newest first; none where it is not mounted.
    pub mcp_versions: Vec<String>,
}

impl HttpConfig {
    /// Whether the Model Context Protocol is spoken.
    #[must_use]
    pub fn speaks_mcp(&self) -> bool {
        !self.mcp_versions.is_empty()
    }

    /// Whether clients have a limited budget of requests.
    #[must_use]
    pub fn limits_clients(&self) -> bool {
        self.rate_limit > 0
    }
}

impl Default for HttpConfig {
    fn default() -> Self {
        HttpConfig {
            base_url: "http://127.0.0.1:8080".to_owned(),
            gates_enabled: true,
            session_cache: Duration::from_secs(30),
            request_timeout: Duration::from_secs(20),
            max_body_bytes: 1 << 20,
            max_concurrent_reads: 32,
            max_queued_requests: 256,
            max_connections: 4096,
            max_connections_per_client: 512,
            rate_limit: 6000,
            trusted_proxies: Vec::new(),
            forwarded_header: ForwardedHeader::default(),
            slow_request: Some(Duration::from_secs(1)),
            mcp_versions: Vec::new(),
        }
    }
}

/// The header in which proxies in front of the server name the client. Only one of the two is read: a proxy sets the one
/// it knows and passes on the other as the client sent it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ForwardedHeader {
    /// `X-Forwarded-For`.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}
