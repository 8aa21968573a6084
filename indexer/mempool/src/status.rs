//! What is known of the mempool and of how it is kept: plain data for health answers.

use serde::Serialize;

/// How the mempool is kept at present.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "lowercase", tag = "state")]
pub enum MempoolState {
    /// Nothing was asked yet.
    #[default]
    Off,
    /// Readers do not have all of it yet.
    Loading {
        /// Transactions that readers have.
        known: u64,
        /// Transactions that the node has.
        total: u64,
    },
    /// It is the node's, by messages and snapshots.
    Synced,
    /// It is the node's as of the last snapshot: no messages tell of changes.
    Polling,
}

/// What snapshots found that no message had told of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Corrections {
    /// Transactions that the node held.
    pub added: u64,
    /// Transactions that it did not hold any more.
    pub removed: u64,
}

/// The state of the mempool in numbers. Times are seconds since 1970.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct MempoolStatus {
    /// How it is kept.
    #[serde(flatten)]
    pub state: MempoolState,
    /// Transactions that readers have.
    pub transactions: u64,
    /// Memory that they and those on their way take, in bytes, estimated.
    pub usage_bytes: u64,
    /// The node's number of its next change, as far as messages and snapshots told.
    pub node_sequence: Option<u64>,
    /// Whether the node has loaded the mempool of its last run; `None` if it did not say.
    pub node_loaded: Option<bool>,
    /// When a snapshot was last compared.
    pub last_reconciled: Option<u64>,
    /// Snapshots compared.
    pub reconciliations: u64,
    /// What the last snapshot corrected.
    pub last_corrections: Corrections,
    /// What all of them corrected, the first not counted.
    pub corrections: Corrections,
    /// Possible holes in the messages that a snapshot closed, or that did not matter.
    pub gaps_repaired: u64,
    /// Possible holes that wait for a snapshot.
    pub gaps_open: u64,
    /// Transactions of the node that readers should have and do not.
    pub pending: u64,
    /// Transactions of the node whose coins we do not know.
    pub unresolved: u64,
    /// Transactions of the node that are impossible, or whose bytes could not be had.
    pub refused: u64,
    /// Transactions of the node that are left out because memory is full.
    pub left_out: u64,
    /// Transactions that left, the reason being looked for.
    pub departing: u64,
    /// Why the node could not be asked, if the last request failed.
    pub error: Option<String>,
}
