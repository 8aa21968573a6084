//! Status of the mempool and its synchronization: plain data for health answers.

use serde::Serialize;

/// Synchronization state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "lowercase", tag = "state")]
pub enum MempoolState {
    /// Nothing has been requested yet.
    #[default]
    Off,
    /// Readers do not have the whole mempool yet.
    Loading {
        /// Transactions that readers have.
        known: u64,
        /// Transactions that the node has.
        total: u64,
    },
    /// In sync by messages and snapshots.
    Synced,
    /// In sync as of the last snapshot: no messages announce changes.
    Polling,
}

/// Differences that snapshots found and no message announced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Corrections {
    /// Transactions that the node had in addition.
    pub added: u64,
    /// Transactions that it no longer had.
    pub removed: u64,
}

/// Status of the mempool. Times are seconds since 1970.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct MempoolStatus {
    /// Synchronization state.
    #[serde(flatten)]
    pub state: MempoolState,
    /// Transactions that readers have.
    pub transactions: u64,
    /// Estimated memory of these and of arriving transactions, in bytes.
    pub usage_bytes: u64,
    /// The node's next mempool sequence, according to messages and snapshots.
    pub node_sequence: Option<u64>,
    /// True if the node has loaded the mempool of its last run; `None` if unknown.
    pub node_loaded: Option<bool>,
    /// Time of the last compared snapshot.
    pub last_reconciled: Option<u64>,
    /// Snapshots compared.
    pub reconciliations: u64,
    /// Corrections of the last snapshot.
    pub last_corrections: Corrections,
    /// Corrections of all snapshots except the first.
    pub corrections: Corrections,
    /// Possible message gaps that a snapshot repaired, or that did not matter.
    pub gaps_repaired: u64,
    /// Possible message gaps that wait for a snapshot.
    pub gaps_open: u64,
    /// Transactions of the node that readers do not have yet.
    pub pending: u64,
    /// Transactions of the node whose coins are unknown.
    pub unresolved: u64,
    /// Transactions of the node that are invalid, or whose bytes are unavailable.
    pub refused: u64,
    /// Transactions of the node that are left out because of the memory limit.
    pub left_out: u64,
    /// Departed transactions whose reason is being determined.
    pub departing: u64,
    /// Error of the last request to the node, if it failed.
    pub error: Option<String>,
}
