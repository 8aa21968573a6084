//! Configuration of the operations.

use cairn_http::HttpConfig;
use cairn_tables::claims::ListKey;

/// The part of the configuration that operations use.
#[derive(Clone, Debug)]
pub(crate) struct ChainConfig {
    /// Addresses whose whole history is public.
    pub(crate) showcase_addresses: Vec<String>,
    /// Addresses that the landing page shows as examples.
    pub(crate) featured: Vec<Featured>,
    /// Maximum lag of the index behind the best known chain, in blocks, for requests that need the tip.
    pub(crate) max_lag_blocks: u32,
    /// Lists of sanctions.
    pub(crate) sanctions: SanctionsConfig,
}

/// Configuration of the operations about lists of sanctions.
#[derive(Clone, Debug)]
pub struct SanctionsConfig {
    /// The list whose newest complete document is the current feed; `None`: no list is.
    pub list: Option<ListKey>,
    /// True if two operators must approve a row.
    pub four_eyes: bool,
}

/// The list of `cairn sanctions import` without further flags.
impl Default for SanctionsConfig {
    fn default() -> Self {
        let list = "ofac-sdn".parse().ok().zip("sanctions".parse().ok());
        SanctionsConfig { list: list.map(|(source, list)| ListKey { source, list }), four_eyes: false }
    }
}

/// Configuration of the API.
#[derive(Clone, Debug)]
pub struct ApiConfig {
    /// Configuration of the HTTP server.
    pub http: HttpConfig,
    /// Addresses whose whole history is public.
    pub showcase_addresses: Vec<String>,
    /// Addresses that the landing page shows as examples.
    pub featured: Vec<Featured>,
    /// Maximum lag of the index behind the best known chain, in blocks, for requests that need the tip.
    pub max_lag_blocks: u32,
    /// Lists of sanctions.
    pub sanctions: SanctionsConfig,
}

impl Default for ApiConfig {
    fn default() -> Self {
        HttpConfig::default().into()
    }
}

/// The default operations with this server configuration.
impl From<HttpConfig> for ApiConfig {
    fn from(http: HttpConfig) -> Self {
        let sanctions = SanctionsConfig::default();
        ApiConfig { http, showcase_addresses: Vec::new(), featured: Vec::new(), max_lag_blocks: 6, sanctions }
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
            sanctions: self.sanctions.clone(),
        }
    }
}

/// An example that the landing page links to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Featured {
    /// Title.
    pub title: String,
    /// One sentence of description.
    pub description: String,
    /// Its address, or `scripthash:<hex>`.
    pub address: String,
}
