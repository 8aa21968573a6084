//! A transaction whose bytes only the node has.

use cairn_model::{BlockHash, Txid};

/// Bytes that only the node has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wanted {
    pub(crate) txid: Txid,
    /// `None`: in the mempool.
    pub(crate) block: Option<BlockHash>,
}
