//! The confirmation of a batch: the block, and the steps of a proof.

use cairn_model::Txid;
use cairn_state::{Batch, BatchConfirmation};
use cairn_timestamps::anchor_steps;

use crate::{chain::Found, error::AnchorError};

/// Makes the confirmation of a batch by a transaction in a block.
///
/// # Errors
/// Fails if the transaction does not have the root, or the block does not have the transaction.
pub(crate) fn confirmation(
    batch: &Batch,
    raw: &[u8],
    txid: Txid,
    found: &Found,
) -> Result<BatchConfirmation, AnchorError> {
    let txids: Vec<[u8; 32]> = found.txids.iter().map(|txid| txid.0).collect();
    let steps = anchor_steps(&batch.root, raw, &txids, found.block.height.into());
    let steps = steps.map_err(|error| AnchorError::Batch { batch: batch.id, what: error.to_string() })?;
    let (height, block_hash) = (found.block.height, found.block.hash.0);
    Ok(BatchConfirmation { txid: txid.0, height, block_hash, proof: steps.write() })
}
