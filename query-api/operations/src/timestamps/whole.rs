//! The steps of a whole proof: through the tree of a batch, its transaction and its block.

use cairn_state::{State, StateError, TimestampRecord};
use cairn_timestamps::{Operation, PartPlace, Step, TreePart, path, path_parts};

/// Length of a commitment and of a root in bytes.
const HASH_BYTES: usize = 32;

/// The steps from the commitment of a hash to the attestation of a block; `None` before the first confirmation.
///
/// # Errors
/// Fails if the database fails, or if its rows contradict each other.
pub(super) async fn whole_steps(state: &State, record: &TimestampRecord) -> Result<Option<Step>, StateError> {
    let Some((batch, position)) = &record.batch else { return Ok(None) };
    let Some(confirmation) = &batch.confirmation else { return Ok(None) };
    let bad = |what: String| StateError::Row(format!("batch {} of timestamps: {what}", batch.id));
    let mut parts = Vec::new();
    for PartPlace { level, part } in path_parts(batch.leaves, *position) {
        let nodes = state.batch_nodes(batch.id, level, part).await?;
        parts.push(TreePart { place: PartPlace { level, part }, hashes: nodes.hashes });
    }
    let operations = path(batch.leaves, *position, &parts).map_err(|error| bad(error.to_string()))?;
    if applied(&operations, &record.commitment) != batch.root {
        return Err(bad("its tree does not lead to its root".to_owned()));
    }
    let anchor = Step::read(&confirmation.proof, HASH_BYTES).map_err(|error| bad(error.to_string()))?;
    Ok(Some(anchor.after(operations)))
}

/// The result of operations, one after the other.
pub(super) fn applied(operations: &[Operation], message: &[u8]) -> Vec<u8> {
    operations.iter().fold(message.to_vec(), |message, operation| operation.apply(&message))
}
