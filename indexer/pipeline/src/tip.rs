//! The tip driver: one block at a time, connected or disconnected, all stages in one commit.

use cairn_model::{Block, BlockHash, Height};
use cairn_stages::{
    Delta, FoldDirection, HearContext, Heard, MapContext, Merge, Order, PastBefore, Prior, PriorError, Rows, Stage,
    StageError, TimesUpTo,
};
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
    groups::{Sorted, fold_sorted, put_record, same_group},
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

/// The deltas of a stage for a block, by lane, as records.
struct Mapped<'s> {
    stage: &'s dyn Stage,
    lanes: Vec<Vec<u8>>,
}

impl<'s> Mapped<'s> {
    fn of(stage: &'s dyn Stage, context: &MapContext<'_>, block: &Block) -> Self {
        let mut lanes = vec![Vec::new(); stage.lanes().len()];
        stage.map(block, context, &mut |lane, key, value| put_record(&mut lanes[lane], key, value));
        Mapped { stage, lanes }
    }
}

/// What `put_record` wrote is whole.
fn sorted(records: &[u8]) -> Vec<Delta<'_>> {
    Sorted::new(records).map(|sorted| sorted.iter().collect()).unwrap_or_default()
}

/// The deltas of a stage that hears another one's lane.
fn heard_by<'s>(
    stage: &'s dyn Stage,
    heard: &Heard,
    records: &[u8],
    context: HearContext<'_>,
) -> Result<Mapped<'s>, StageError> {
    let mut lanes = vec![Vec::new(); stage.lanes().len()];
    if let Some(mut listener) = stage.listener(context) {
        let lane = &heard.stage.lanes()[heard.lane];
        let mut emit = |lane: usize, key: &[u8], value: &[u8]| put_record(&mut lanes[lane], key, value);
        let sorted = sorted(records);
        let mut groups = sorted.chunk_by(|a, b| same_group(lane, a.key, b.key));
        groups.try_for_each(|group| listener.hear(group, &mut emit))?;
        listener.finish(&mut emit)?;
    }
    Ok(Mapped { stage, lanes })
}

/// Applies a block to `stages` and moves their checkpoints, in one batch. The journal's own stage among them also
/// writes what changed in `collisions`. Not durable until the writer flushes.
///
/// # Errors
/// The block contradicts the tables, or the database fails; nothing is written then.
pub(crate) fn apply(
    writer: &Writer,
    stages: &[&dyn Stage],
    context: &MapContext<'_>,
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
    let times = TimesUpTo { chain: context.times, block };
    let context = MapContext { times: &times, ..*context };
    let mut mapped: Vec<Mapped<'_>> = Vec::new();
    writer.commit::<PipelineError>(|batch| {
        for stage in &ordered {
            let mut deltas = match stage.hears() {
                None => Mapped::of(*stage, &context, block),
                Some(heard) => {
                    let known = mapped.iter().find(|mapped| mapped.stage.name() == heard.stage.name());
                    let alone = known.is_none().then(|| Mapped::of(heard.stage, &context, block));
                    let lane = known.or(alone.as_ref()).map_or(&[][..], |mapped| &mapped.lanes[heard.lane]);
                    let past = PastBefore { prior: &StoredRows(writer), before: block.first_tx };
                    heard_by(*stage, &heard, lane, HearContext { times: &times, past: &past }).map_err(unwrap_stage)?
                }
            };
            for (i, lane) in stage.lanes().iter().enumerate() {
                // An ordered fold emits into the lanes behind its own.
                let records = std::mem::take(&mut deltas.lanes[i]);
                let (prior, mut rows) = (StoredRows(writer), BatchRows(batch));
                let folded = if lane.merge == Merge::Ordered {
                    let mut emit = |lane: usize, key: &[u8], value: &[u8]| {
                        put_record(&mut deltas.lanes[lane], key, value);
                    };
                    stage.fold_ordered(i, &sorted(&records), direction, &times, &prior, &mut rows, &mut emit)
                } else {
                    fold_sorted(*stage, i, &sorted(&records), direction, &prior, &mut rows)
                };
                folded.map_err(unwrap_stage)?;
                deltas.lanes[i] = records;
            }
            mapped.push(deltas);
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
