//! The tip driver: one block at a time, connected or disconnected, all stages in one commit.

use cairn_model::Block;
use cairn_stages::{Order, Prior, PriorError, Rows, Settings, Stage, StageError, Way};
use cairn_tables::{
    Family,
    journal::{Checkpoint, Checkpoints, Collisions as CollisionsTable},
};
use cairn_writer::{Batch, Writer};

use crate::{
    PipelineError,
    collisions::Collisions,
    error::unwrap_stage,
    groups::{Sorted, fold_sorted, put_record},
};

struct Table<'w>(&'w Writer);

impl Prior for Table<'_> {
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

/// Where the stages stand after a block.
pub(crate) fn checkpoint_after(block: &Block, way: Way) -> Checkpoint {
    match way {
        Way::Forward => Checkpoint { version: 0, height: block.height, hash: block.hash.0 },
        Way::Back => Checkpoint { version: 0, height: block.height - 1, hash: block.previous().0 },
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
    way: Way,
    collisions: Option<&mut Collisions>,
) -> Result<(), PipelineError> {
    let mut ordered: Vec<&dyn Stage> = stages.to_vec();
    // Order-free stages first; backwards the other way round.
    ordered.sort_by_key(|s| s.order() == Order::Ordered);
    if way == Way::Back {
        ordered.reverse();
    }
    let checkpoint = checkpoint_after(block, way);
    writer.commit::<PipelineError>(|batch| {
        for stage in &ordered {
            let mut lanes = vec![Vec::new(); stage.lanes().len()];
            stage.map(block, settings, &mut |lane, key, value| put_record(&mut lanes[lane], key, value));
            for (i, bytes) in lanes.iter().enumerate() {
                // What `put_record` wrote above is whole.
                let deltas: Vec<_> = Sorted::new(bytes).map(|sorted| sorted.iter().collect()).unwrap_or_default();
                fold_sorted(*stage, i, &deltas, way, &Table(writer), &mut BatchRows(batch)).map_err(unwrap_stage)?;
            }
            let checkpoint = Checkpoint { version: stage.version(), ..checkpoint.clone() };
            batch.put_row::<Checkpoints>(&stage.name().to_owned(), &checkpoint);
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
