//! Details of the components in `/api/health/full`.

use schemars::JsonSchema;
use serde::Serialize;

/// The source of blocks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NodeDetails {
    /// `node`, `files` or `demo`.
    pub(super) source: &'static str,
    /// True if it answered the last request.
    pub(super) reachable: bool,
    pub(super) last_answer_at: Option<String>,
    /// When the indexer last reported this.
    pub(super) reported_at: String,
    /// Height of its best block.
    pub(super) blocks: Option<u32>,
    /// Height of its best header.
    pub(super) headers: Option<u32>,
    /// How the indexer learns of changes: `zmq` or `polling`.
    pub(super) news: &'static str,
    pub(super) last_message_at: Option<String>,
    /// Possible gaps in the node's messages.
    pub(super) gaps_seen: u64,
    /// Gaps that a snapshot repaired.
    pub(super) gaps_repaired: u64,
    /// New tips found without a message.
    pub(super) tips_found_by_polling: u64,
}

/// The mempool.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HealthMempoolDetails")]
pub(crate) struct MempoolDetails {
    /// `off`, `loading`, `synced` or `stale`, as the indexer reports; null if unknown.
    pub(super) state: Option<&'static str>,
    /// Transactions of this server's copy; null while it cannot be read.
    pub(super) count: Option<u64>,
    pub(super) vsize: Option<u64>,
    /// Transactions dropped for lack of memory; null while it cannot be read.
    pub(super) dropped: Option<u64>,
    /// Time of its data; null while it cannot be read.
    pub(super) as_of: Option<String>,
    /// State of the projection: `none`, `current` or `behind`; null while the mempool cannot be read.
    pub(super) projection: Option<&'static str>,
    /// Transactions of the node's mempool that the indexer has listed.
    pub(super) known: Option<u64>,
    /// Listed transactions that are not loaded yet.
    pub(super) missing: Option<u64>,
    /// Time of the last full comparison with the node.
    pub(super) last_reconciled_at: Option<String>,
    pub(super) last_reconciled_age_seconds: Option<u64>,
    /// Differences that full comparisons found and repaired.
    pub(super) corrections: Option<u64>,
    pub(super) node_sequence: Option<u64>,
}

/// Prices or exchange rates.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HealthPriceDetails")]
pub(crate) struct PriceDetails {
    /// Series that are loaded: pairs of currencies, each with its interval.
    pub(super) series: usize,
    /// When the newest price, or rate of the dollar, was known.
    pub(super) as_of: Option<String>,
    /// Its source; null if it is the mean of two.
    pub(super) source: Option<String>,
    /// Age in seconds above which it is stale.
    pub(super) stale_after_seconds: Option<u32>,
}
