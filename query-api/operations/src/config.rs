//! Configuration of the operations.

use std::sync::Arc;

use cairn_domain::evidence::{KeyRecord, SecretKey};
use cairn_http::HttpConfig;
use cairn_model::Network;
use cairn_payments::{PaymentDescriptor, PaymentMark};
use cairn_tables::claims::ListKey;
use cairn_timestamps::Attestation;

use crate::parameters::identifier::example_address;

/// The part of the configuration that operations use.
#[derive(Clone, Debug)]
pub(crate) struct ChainConfig {
    /// Addresses whose whole history is public.
    pub(crate) showcase_addresses: Vec<String>,
    /// Addresses that the landing page shows as examples.
    pub(crate) featured: Vec<Featured>,
    /// Maximum lag of the index behind the best known chain, in blocks, for requests that need the tip.
    pub(crate) max_lag_blocks: u32,
    pub(crate) sanctions: SanctionsConfig,
    pub(crate) evidence: EvidenceConfig,
    pub(crate) payments: PaymentsConfig,
    pub(crate) timestamps: TimestampConfig,
}

/// When operators look at reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReportsModeration {
    /// After they are published.
    #[default]
    After,
    /// Before: a paid report waits for the operator.
    Before,
}

/// How far the limit of votes reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum VotesPer {
    /// A client has one vote in 24 hours over all reports.
    #[default]
    Client,
    /// A client has one vote in 24 hours for each report.
    ClientAndReport,
}

/// Payments on chain, and the reports that they publish. `Debug` does not show the descriptor.
#[derive(Clone, Debug)]
pub struct PaymentsConfig {
    /// The descriptor that payment addresses come from; `None`: there are no payments.
    pub descriptor: Option<Arc<PaymentDescriptor>>,
    /// The file that remembers the next address of each descriptor; `None`: a restored database is not noticed.
    pub mark: Option<PaymentMark>,
    /// Price of a report, in satoshis.
    pub report_amount_sats: u64,
    /// How long a report waits for its payment, in seconds.
    pub report_expiry_secs: u64,
    /// When operators look at reports.
    pub moderation: ReportsModeration,
    /// How far the limit of votes reaches.
    pub votes_per: VotesPer,
}

impl Default for PaymentsConfig {
    fn default() -> Self {
        PaymentsConfig {
            descriptor: None,
            mark: None,
            report_amount_sats: 5_000,
            report_expiry_secs: 86_400,
            moderation: ReportsModeration::default(),
            votes_per: VotesPer::default(),
        }
    }
}

/// Configuration of timestamps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TimestampConfig {
    /// True if clients of OpenTimestamps may use this server as a calendar (`/digest`, `/timestamp/{commitment}`).
    pub calendar: bool,
    /// Public address of the calendar, which pending proofs name. It must be one that an attestation can have. `None`:
    /// there are no pending proofs and no calendar.
    pub calendar_url: Option<String>,
}

/// Keys of evidence packs.
#[derive(Clone, Debug, Default)]
pub struct EvidenceConfig {
    /// The key that signs packs; `None`: they are not signed.
    pub key: Option<Arc<SecretKey>>,
    /// The public keys that are published: earlier ones, and times of the present one.
    pub keys: Vec<KeyRecord>,
}

impl TimestampConfig {
    /// True for an address that attestations can have and that clients can reach.
    #[must_use]
    pub fn is_calendar_url(url: &str) -> bool {
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let has_host = rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()));
        has_host && Attestation::pending(url).is_some()
    }

    /// True if the calendar is open: it has an address that attestations can have.
    #[must_use]
    pub fn is_calendar(&self) -> bool {
        self.calendar && self.calendar_url.is_some()
    }
}

impl EvidenceConfig {
    /// The public keys, that of the present key first.
    #[must_use]
    pub fn published(&self) -> Vec<KeyRecord> {
        let mut all = self.keys.clone();
        if let Some(public) = self.key.as_ref().map(|key| key.public()) {
            let at = all.iter().position(|record| record.key == public);
            let present = at.map(|at| all.remove(at));
            let unknown = KeyRecord { key: public, valid_from: None, valid_to: None };
            all.insert(0, present.unwrap_or(unknown));
        }
        all
    }
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
    /// Keys of evidence packs.
    pub evidence: EvidenceConfig,
    /// Payments on chain, and what is paid.
    pub payments: PaymentsConfig,
    /// Timestamps.
    pub timestamps: TimestampConfig,
    /// Network of the index, for examples; `None` if it is not known at the start.
    pub network: Option<Network>,
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
        ApiConfig {
            http,
            showcase_addresses: Vec::new(),
            featured: Vec::new(),
            max_lag_blocks: 6,
            sanctions,
            evidence: EvidenceConfig::default(),
            payments: PaymentsConfig::default(),
            timestamps: TimestampConfig::default(),
            network: None,
        }
    }
}

impl ChainConfig {
    pub(crate) fn example_address(&self) -> Option<&str> {
        let featured = self.featured.first().map(|featured| &featured.address);
        featured.or(self.showcase_addresses.first()).map(String::as_str)
    }
}

impl ApiConfig {
    /// An address to show as an example. Where none is configured, the schemas have one of the main network; a test
    /// network gets its own.
    pub(crate) fn example_address(&self) -> Option<&str> {
        let featured = self.featured.first().map(|featured| &featured.address);
        let configured = featured.or(self.showcase_addresses.first()).map(String::as_str);
        let is_test = |network: &Network| *network != Network::Main;
        configured.or_else(|| self.network.filter(is_test).map(|network| example_address(Some(network.name()))))
    }

    pub(crate) fn chain(&self) -> ChainConfig {
        ChainConfig {
            showcase_addresses: self.showcase_addresses.clone(),
            featured: self.featured.clone(),
            max_lag_blocks: self.max_lag_blocks,
            sanctions: self.sanctions.clone(),
            evidence: self.evidence.clone(),
            payments: self.payments.clone(),
            timestamps: self.timestamps.clone(),
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
    /// Extended public key of its account, if its whole wallet is public.
    pub account_key: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_of_the_network() {
        let on = |network| ApiConfig { network, ..ApiConfig::default() };
        assert_eq!(on(None).example_address(), None);
        assert_eq!(on(Some(Network::Main)).example_address(), None);
        assert_eq!(on(Some(Network::Regtest)).example_address(), Some("mpXwg4jMtRhuSpVq4xS3HFHmCmWp9NyGKt"));
        let configured = ApiConfig { showcase_addresses: vec!["a".to_owned()], ..on(Some(Network::Regtest)) };
        assert_eq!(configured.example_address(), Some("a"));
    }
}
