//! Statistics of the mempool.

use cairn_model::{BlockHash, Height, NodeFloor, Sats};

use super::Inflow;

/// The tip of the chain, as reported by the sender of the deltas.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MempoolTip {
    /// Height.
    pub height: Height,
    /// Hash.
    pub hash: BlockHash,
    /// Time of the header, seconds since 1970.
    pub time: u32,
}

/// Statistics of the mempool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stats {
    /// Transactions.
    pub count: u64,
    /// Sum of their adjusted virtual sizes.
    pub vsize: u64,
    /// Sum of their weights.
    pub weight: u64,
    /// Sum of their fees.
    pub fees_sats: Sats,
    /// Estimated bytes of memory.
    pub usage_bytes: u64,
    /// Limit of these bytes.
    pub max_bytes: u64,
    /// Transactions dropped or refused because of the limit since the last reset. Above 0, the mempool is incomplete.
    pub dropped: u64,
    /// True while a snapshot is being loaded, or before the first delta.
    pub loading: bool,
    /// Number of stored transactions that left.
    pub departed: u64,
    /// Inflow; `None` until a complete window was seen.
    pub inflow: Option<Inflow>,
    /// The node's limits, if known.
    pub floor: Option<NodeFloor>,
    /// The node's mempool sequence up to which everything is applied.
    pub node_sequence: Option<u64>,
    /// Tip that the mempool builds on.
    pub tip: Option<MempoolTip>,
    /// Number of changes in this process; a projection names the one it was made from.
    pub generation: u64,
}
