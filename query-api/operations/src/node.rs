//! What the API asks of a node: only what neither index nor mempool can answer.

use cairn_model::{BlockHash, Txid};

/// Why a node did not take a transaction in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// It looked at the transaction and says no.
    Rejected {
        /// The node's error code: -22, -25, -26 or -27.
        code: i64,
        /// The node's reason, as it says it.
        reason: String,
    },
    /// It could not be asked.
    Unavailable,
}

/// The node could not be asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unreachable;

/// A node, as requests use it. Calls may block; they end within seconds.
pub trait NodeAccess: Send + Sync + 'static {
    /// Hands over a transaction to be sent on.
    ///
    /// # Errors
    /// The node refuses it, or cannot be asked.
    fn broadcast(&self, raw: &[u8]) -> Result<Txid, Refused>;

    /// Bytes of a transaction in a block, or in the mempool if none is named; `None` if it is not there.
    ///
    /// # Errors
    /// The node cannot be asked.
    fn raw_transaction(&self, txid: &Txid, block: Option<&BlockHash>) -> Result<Option<Vec<u8>>, Unreachable>;
}
