//! What an operator can set.

use std::time::Duration;

/// Configuration of the API.
#[derive(Clone, Debug)]
pub struct ApiConfig {
    /// Where clients reach the service: scheme and host, without a slash at the end.
    pub base_url: String,
    /// Addresses whose whole history is public.
    pub showcase_addresses: Vec<String>,
    /// Whether the gates of conditional access (later pages of transactions) are in force.
    pub gates_enabled: bool,
    /// Addresses that the landing page shows as examples.
    pub featured: Vec<Featured>,
    /// How many blocks the index may be behind the best known chain and still answer questions that need the tip.
    pub max_lag_blocks: u32,
    /// Time limit of a request.
    pub request_timeout: Duration,
    /// Largest request body in bytes.
    pub max_body_bytes: usize,
    /// Requests that may read the index at the same time; others wait for their turn within the time limit.
    pub max_concurrent_reads: usize,
    /// What a client may spend in a minute, in units of cost; 0 for no limit. A cheap request costs one unit.
    pub rate_limit: u32,
}

impl ApiConfig {
    /// Whether clients have a limited budget of requests.
    pub(crate) fn limits_clients(&self) -> bool {
        self.rate_limit > 0
    }
}

impl Default for ApiConfig {
    fn default() -> Self {
        ApiConfig {
            base_url: "http://127.0.0.1:8080".to_owned(),
            showcase_addresses: Vec::new(),
            gates_enabled: true,
            featured: Vec::new(),
            max_lag_blocks: 6,
            request_timeout: Duration::from_secs(20),
            max_body_bytes: 1 << 20,
            max_concurrent_reads: 32,
            rate_limit: 6000,
        }
    }
}

/// An example that the landing page links to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Featured {
    /// Whom or what it is about.
    pub title: String,
    /// A sentence about it.
    pub description: String,
    /// Its address, or `scripthash:<hex>`.
    pub address: String,
}
