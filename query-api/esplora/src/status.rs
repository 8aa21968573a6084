//! Whether a transaction is confirmed, and in which block.

use cairn_chain::At;
use serde::Serialize;

/// The status of a transaction.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct TxStatus {
    confirmed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_height: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_time: Option<u32>,
}

impl TxStatus {
    /// The status of a transaction in a block; without one it is unconfirmed.
    pub(crate) fn new(at: Option<At>) -> Self {
        TxStatus {
            confirmed: at.is_some(),
            block_height: at.map(|at| at.height),
            block_hash: at.map(|at| at.hash.to_string()),
            block_time: at.map(|at| at.time),
        }
    }

    /// The height of its block.
    pub(crate) fn height(&self) -> Option<u32> {
        self.block_height
    }
}
