//! Batches: hashes whose tree is anchored by one transaction.

use crate::named::named;

/// Maximum number of hashes in a batch.
pub const MAX_BATCH_HASHES: u32 = 1 << 17;

named! {
    /// State of a batch.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum BatchState {
        /// Its hashes are chosen and its root is known. No node has accepted a transaction yet.
        Aggregated = "aggregated",
        /// A node has accepted a transaction.
        Broadcast = "broadcast",
        /// A transaction is in a block.
        Confirmed = "confirmed",
        /// The block has 6 confirmations.
        Final = "final",
        /// It is given up.
        Failed = "failed",
    }
}

/// Up to 256 neighbouring nodes of a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BatchNodes {
    /// Their level: 0 for leaves, 8 for the roots of 256 leaves each, 16 for those of 65,536.
    pub level: u8,
    /// Number of the part: its first node has the position `256 × part` in its level.
    pub part: u32,
    /// The hashes, 32 bytes each.
    pub hashes: Vec<u8>,
}

/// The tree of a batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BatchTree {
    /// Its root.
    pub root: [u8; 32],
    /// All nodes of each eighth level.
    pub nodes: Vec<BatchNodes>,
}

/// The block that has a transaction of a batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BatchConfirmation {
    /// The transaction, in the order of its bytes.
    pub txid: [u8; 32],
    /// Height of the block.
    pub height: u32,
    /// Hash of the block, in the order of its bytes.
    pub block_hash: [u8; 32],
    /// The steps of a proof from the root of the tree to the attestation of the block.
    pub proof: Vec<u8>,
}

/// A batch. All times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    /// Its number.
    pub id: i64,
    /// The network in whose chain it is anchored.
    pub network: String,
    /// Root of its tree.
    pub root: [u8; 32],
    /// Number of its hashes.
    pub leaves: u32,
    /// Its state.
    pub state: BatchState,
    /// Fencing number of the process that changed it last.
    pub fence: i64,
    /// When it was made.
    pub made_at: u64,
    /// When its state changed last.
    pub changed_at: u64,
    /// The reason, if it is given up.
    pub failure: Option<String>,
    /// The transaction that was sent last, or the one in the block; in the order of its bytes.
    pub txid: Option<[u8; 32]>,
    /// The block, if its state is `Confirmed` or `Final`.
    pub confirmation: Option<BatchConfirmation>,
}
