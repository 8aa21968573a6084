//! The mempool in numbers.

use cairn_model::{BlockHash, Height, NodeFloor, Sats};

use super::Inflow;

/// The tip of the chain, as the sender of the deltas knows it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MempoolTip {
    /// Height.
    pub height: Height,
    /// Hash.
    pub hash: BlockHash,
    /// Time of the header, seconds since 1970.
    pub time: u32,
}

/// The mempool in numbers.
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
    /// Transactions dropped or turned away because of the limit, since the last reset. Above 0, the mempool is not
    /// whole.
    pub dropped: u64,
    /// Whether a snapshot is still being loaded, or nothing came yet.
    pub loading: bool,
    /// How many transactions that left are remembered.
    pub departed: u64,
    /// Inflow; `None` until a whole window was watched.
    pub inflow: Option<Inflow>,
    /// The node's limits, if it told.
    pub floor: Option<NodeFloor>,
    /// The node's mempool sequence up to which everything is applied.
    pub node_sequence: Option<u64>,
    /// Tip that the mempool builds on.
    pub tip: Option<MempoolTip>,
    /// Number of changes in this process; a projection names the one it was made from.
    pub generation: u64,
}
