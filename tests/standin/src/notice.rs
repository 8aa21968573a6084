//! Announcements of the node, before they become ZMQ messages.

use std::sync::Arc;

use bitcoin::{Transaction, Txid};

use crate::stored::Stored;

/// One announcement, in the order of Core's validation interface.
#[derive(Clone, Debug)]
pub(crate) enum Notice {
    /// The chain was switched to this tip (`hashblock`, `rawblock`).
    Tip(Arc<Stored>),
    /// A block was connected: its transactions (`hashtx`, `rawtx`), then the block (`sequence`, C).
    Connected(Arc<Stored>),
    /// A block was disconnected: its transactions, then the block (`sequence`, D).
    Disconnected(Arc<Stored>),
    /// A transaction entered the mempool (`hashtx`, `rawtx`, `sequence` A).
    Added { tx: Arc<Transaction>, txid: Txid, sequence: u64 },
    /// A transaction left the mempool for another reason than a block (`sequence`, R).
    Removed { txid: Txid, sequence: u64 },
}

/// Core sends hashes in the order in which they are printed.
pub(crate) fn printed(hash: &[u8; 32]) -> [u8; 32] {
    let mut bytes = *hash;
    bytes.reverse();
    bytes
}
