//! Errors.

use cairn_node::NodeError;
use cairn_state::StateError;

use crate::transaction::TransactionFlaw;

/// Why a round ended early. The next one goes on from what is stored.
#[derive(Debug, thiserror::Error)]
pub enum AnchorError {
    /// The node failed, or refused a request.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The node did not answer an earlier request of this round.
    #[error("the node does not answer")]
    Away,
    /// The database failed, or another process anchors now.
    #[error(transparent)]
    State(#[from] StateError),
    /// The index cannot be read.
    #[error("the index cannot be read: {0}")]
    Chain(String),
    /// The wallet made another transaction than was asked for.
    #[error("the node's wallet made an unusable transaction: {0}")]
    Transaction(#[from] TransactionFlaw),
    /// The database or the index contradicts itself.
    #[error("batch {batch}: {what}")]
    Batch {
        /// Its number.
        batch: i64,
        /// The contradiction.
        what: String,
    },
}

/// The error code and the words of the node, if it answered with an error.
pub(crate) fn rpc(error: &NodeError) -> Option<(i64, &str)> {
    match error {
        NodeError::Rpc { code, message, .. } => Some((*code, message)),
        _ => None,
    }
}
