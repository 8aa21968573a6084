//! Details of the components in `/api/health/full`.

use schemars::JsonSchema;
use serde::Serialize;

/// The source of blocks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NodeDetails {
    /// `node`, `files` or `demo`.
    pub(super) source: &'static str,
    /// True if the source answered the last request.
    pub(super) reachable: bool,
    pub(super) last_answer_at: Option<String>,
    /// Time at which the indexer last reported this.
    pub(super) reported_at: String,
    /// Height of the best block of the source.
    pub(super) blocks: Option<u32>,
    /// Height of the best header of the source.
    pub(super) headers: Option<u32>,
    /// Source of news for the indexer: `zmq` or `polling`.
    pub(super) news: &'static str,
    pub(super) last_message_at: Option<String>,
    /// Number of possible gaps in the node's messages.
    pub(super) gaps_seen: u64,
    /// Number of gaps that a snapshot repaired.
    pub(super) gaps_repaired: u64,
    /// Number of new tips found without a message.
    pub(super) tips_found_by_polling: u64,
}

/// The index.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct IndexDetails {
    /// Height of the tip; null before anything is indexed.
    pub(super) tip_height: Option<u32>,
    pub(super) tip_hash: Option<String>,
    /// Header time of the tip.
    pub(super) tip_time_unix: Option<u32>,
    /// Height of the best known chain; null if unknown.
    pub(super) best_height: Option<u32>,
    /// Lag of the index in blocks; null if unknown, also if block files are missing and their number is unknown.
    pub(super) lag_blocks: Option<u32>,
    /// Maximum lag of a healthy index, in blocks.
    pub(super) max_lag_blocks: u32,
    /// Stages whose tables are being rebuilt or are behind the tip.
    pub(super) stages_unfinished: Vec<&'static str>,
    /// Problem: `empty`, `behind`, `cut_short` (block files are missing or damaged), `tip_is_old` (the newest block
    /// is older than a day; not on regtest), `stages_unfinished` or `damaged`.
    pub(super) problems: Vec<&'static str>,
    /// Tables whose rows or files are damaged, as far as known. `unknown`: rows contradict each other.
    pub(super) damaged_tables: Vec<&'static str>,
    /// State of the scrubber, which reads all table files in the background: `off`, `waiting` or `running`.
    pub(super) scrubber: &'static str,
    /// Time at which the scrubber's last complete round ended; null if none is complete since the server's start.
    pub(super) last_scrub_at: Option<String>,
}

/// The mempool.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HealthMempoolDetails")]
pub(crate) struct MempoolDetails {
    /// `off`, `loading`, `synced` or `stale`, as the indexer reports; null if unknown.
    pub(super) state: Option<&'static str>,
    /// Number of transactions in this server's copy; null while it cannot be read.
    pub(super) count: Option<u64>,
    pub(super) vsize: Option<u64>,
    /// Number of transactions dropped for lack of memory; null while the copy cannot be read.
    pub(super) dropped: Option<u64>,
    /// Time of the copy's data; null while it cannot be read.
    pub(super) as_of: Option<String>,
    /// State of the projection: `none`, `current` or `behind`; null while the mempool cannot be read.
    pub(super) projection: Option<&'static str>,
    /// Number of transactions in the node's mempool that the indexer has listed.
    pub(super) known: Option<u64>,
    /// Number of listed transactions that are not loaded yet.
    pub(super) missing: Option<u64>,
    /// Time of the last full comparison with the node.
    pub(super) last_reconciled_at: Option<String>,
    pub(super) last_reconciled_age_seconds: Option<u64>,
    /// Number of differences that full comparisons found and repaired.
    pub(super) corrections: Option<u64>,
    pub(super) node_sequence: Option<u64>,
}

/// Prices or exchange rates.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HealthPriceDetails")]
pub(crate) struct PriceDetails {
    /// Number of loaded series: pairs of currencies, each with its interval.
    pub(super) series: usize,
    /// Time of the newest price, or of the newest rate of the dollar.
    pub(super) as_of: Option<String>,
    /// Source of that price or rate; null if it is the mean of two.
    pub(super) source: Option<String>,
    /// Age in seconds above which it is stale.
    pub(super) stale_after_seconds: Option<u32>,
}
