//! What an operator can set of the operations.

use cairn_http::HttpConfig;

/// What the operations use of the configuration.
#[derive(Clone, Debug)]
pub(crate) struct ChainConfig {
    /// Addresses whose whole history is public.
    pub(crate) showcase_addresses: Vec<String>,
    /// Addresses that the landing page shows as examples.
    pub(crate) featured: Vec<Featured>,
    /// How many blocks the index may be behind the best known chain and still answer questions that need the tip.
    pub(crate) max_lag_blocks: u32,
}

/// Configuration of the API.
#[derive(Clone, Debug)]
pub struct ApiConfig {
    /// How requests are taken and answered.
    pub http: HttpConfig,
    /// Addresses whose whole history is public.
    pub showcase_addresses: Vec<String>,
    /// Addresses that the landing page shows as examples.
    pub featured: Vec<Featured>,
    /// How many blocks the index may be behind the best known chain and still answer questions that need the tip.
    pub max_lag_blocks: u32,
}

impl Default for ApiConfig {
    fn default() -> Self {
        HttpConfig::default().into()
    }
}

/// The usual operations behind a server of this configuration.
impl From<HttpConfig> for ApiConfig {
    fn from(http: HttpConfig) -> Self {
        ApiConfig { http, showcase_addresses: Vec::new(), featured: Vec::new(), max_lag_blocks: 6 }
    }
}

impl ChainConfig {
    /// An address to show as an example.
    pub(crate) fn example_address(&self) -> Option<&str> {
        let featured = self.featured.first().map(|featured| &featured.address);
        featured.or(self.showcase_addresses.first()).map(String::as_str)
    }
}

impl ApiConfig {
    /// An address to show as an example.
    pub(crate) fn example_address(&self) -> Option<&str> {
        let featured = self.featured.first().map(|featured| &featured.address);
        featured.or(self.showcase_addresses.first()).map(String::as_str)
    }

    pub(crate) fn chain(&self) -> ChainConfig {
        ChainConfig {
            showcase_addresses: self.showcase_addresses.clone(),
            featured: self.featured.clone(),
            max_lag_blocks: self.max_lag_blocks,
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
