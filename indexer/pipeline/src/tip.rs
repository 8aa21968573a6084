//! The tip driver: one block at a time, connected or disconnected, all stages in one commit.

use cairn_model::{Block, BlockHash, Height};
use cairn_stages::{FoldDirection, Order, Prior, PriorError, Rows, Settings, Stage, StageError};
use cairn_tables::{
    Family,
    checkpoints::{Checkpoint, Checkpoints},
    journal::Collisions as CollisionsTable,
};
use cairn_writer::{Batch, Writer};

use crate::{
    PipelineError,
    collisions::Collisions,
    error::unwrap_stage,
    groups::{Sorted, fold_sorted, put_record},
};

struct StoredRows<'w>(&'w Writer);

impl Prior for StoredRows<'_> {
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, PriorError> {
        Ok(self.0.get(family, key)?)
    }
}

struct BatchRows<'b, 'w>(&'b mut Batch<'w>);

impl Rows for BatchRows<'_, '_> {
    fn put(&mut self, family: Family, key: &[u8], value: &[u8]) -> Result<(), StageError> {
        self.0.put(family, key, value);
        Ok(())
    }

    fn delete(&mut self, family: Family, key: &[u8]) -> Result<(), StageError> {
        self.0.delete(family, key);
        Ok(())
    }
}

/// The newest block of the stages' tables, once a block is connected or disconnected.
fn newest_after(block: &Block, direction: FoldDirection) -> (Height, BlockHash) {
    match direction {
        FoldDirection::Forward => (block.height, block.hash),
        FoldDirection::Back => (block.height - 1, block.previous()),
    }
}

/// Applies a block to `stages` and moves their checkpoints, in one batch. The journal's own stage among them also
/// writes what changed in `collisions`. Not durable until the writer flushes.
///
/// # Errors
/// The block contradicts the tables, or the database fails; nothing is written then.
pub(crate) fn apply(
    writer: &Writer,
    stages: &[&dyn Stage],
    settings: &Settings,
    block: &Block,
    direction: FoldDirection,
    collisions: Option<&mut Collisions>,
) -> Result<(), PipelineError> {
    let mut ordered: Vec<&dyn Stage> = stages.to_vec();
    // Order-free stages first; backwards the other way round.
    ordered.sort_by_key(|s| s.order() == Order::Ordered);
    if direction == FoldDirection::Back {
        ordered.reverse();
    }
    let (height, hash) = newest_after(block, direction);
    writer.commit::<PipelineError>(|batch| {
        for stage in &ordered {
            let mut lanes = vec![Vec::new(); stage.lanes().len()];
            stage.map(block, settings, &mut |lane, key, value| put_record(&mut lanes[lane], key, value));
            for (i, bytes) in lanes.iter().enumerate() {
                // What `put_record` wrote above is whole.
                let deltas: Vec<_> = Sorted::new(bytes).map(|sorted| sorted.iter().collect()).unwrap_or_default();
                fold_sorted(*stage, i, &deltas, direction, &StoredRows(writer), &mut BatchRows(batch))
                    .map_err(unwrap_stage)?;
            }
            let stage = stage.info();
            batch.put_row::<Checkpoints>(&stage.name.to_owned(), &Checkpoint::of(&stage, height, hash));
        }
        for (prefix, row) in collisions.map(Collisions::take_changes).unwrap_or_default() {
            match row {
                Some(row) => batch.put_row::<CollisionsTable>(&prefix, &row),
                None => batch.delete_row::<CollisionsTable>(&prefix),
            }
        }
        Ok(())
    })
}
