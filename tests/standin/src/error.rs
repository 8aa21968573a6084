//! The error type of this crate.

use bitcoin::{BlockHash, OutPoint, Txid};

use crate::mempool::Reject;

/// Why the stand-in could not do what a test asked of it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A socket or a file failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A ZMQ socket failed.
    #[error("ZMQ: {0}")]
    Zmq(#[from] ::zmq::Error),
    /// The chain builder refused.
    #[error(transparent)]
    Chain(#[from] cairn_chaingen::Error),
    /// The mempool refused a transaction.
    #[error("transaction refused: {0}")]
    Reject(#[from] Reject),
    /// A block was refused, with Core's reason.
    #[error("block {hash} refused: {reason}")]
    Block {
        /// Its hash.
        hash: BlockHash,
        /// The reason, as in Core's `submitblock`.
        reason: &'static str,
    },
    /// No block with this hash was ever received.
    #[error("block {0} is not known")]
    UnknownBlock(BlockHash),
    /// No transaction with this id is in the mempool.
    #[error("transaction {0} is not in the mempool")]
    UnknownTx(Txid),
    /// The coin is neither confirmed nor in the mempool, or spent.
    #[error("coin {0} does not exist or is spent")]
    UnknownCoin(OutPoint),
    /// The wallet has no coins that suffice.
    #[error("the wallet lacks coins: {needed} sat needed")]
    Poor {
        /// Satoshis needed.
        needed: u64,
    },
    /// The request makes no sense as it is.
    #[error("{0}")]
    Parameters(&'static str),
    /// The stand-in is stopped, or was not started again.
    #[error("the node is not running")]
    Stopped,
}
