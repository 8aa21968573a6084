//! The tip driver: one block at a time, connected or disconnected, all stages in one commit.

use cairn_model::Block;
use std::cell::RefCell;

use cairn_reader::Reader;
use cairn_stages::{
    Delta, FoldDirection, Group, HearContext, Lane, Listener, MapContext, Merge, PastBefore, Prior, PriorError,
    Reading, Rows, Stage, StageError, TimesUpTo,
};
use cairn_tables::{
    Family,
    checkpoints::{Checkpoint, Checkpoints},
    journal::Collisions as CollisionsTable,
};
use cairn_writer::{Batch, Writer};
use rayon::prelude::*;

use crate::{
    PipelineError,
    collisions::Collisions,
    error::unwrap_stage,
    groups::{fold_group, same_group},
    labels::{BlockChanges, ForestRow, is_forest},
    newest::newest_after,
    records::{Sorted, put_record},
};

struct StoredRows<'w>(&'w Writer);

impl Prior for StoredRows<'_> {
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, PriorError> {
        Ok(self.0.get(family, key)?)
    }
}

/// A row of a table, or that there is none.
type Row = (Family, Vec<u8>, Option<Vec<u8>>);

/// The tables as they were before the block, for one group of deltas: its fold and its listeners ask for the same rows.
struct Remembered<'w> {
    stored: StoredRows<'w>,
    rows: RefCell<Vec<Row>>,
}

impl Prior for Remembered<'_> {
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, PriorError> {
        let mut rows = self.rows.borrow_mut();
        if let Some((.., row)) = rows.iter().find(|(of, known, _)| *of == family && known == key) {
            return Ok(row.clone());
        }
        let row = self.stored.get(family, key)?;
        // A long history has more rows than are asked for twice.
        if rows.len() < 8 {
            rows.push((family, key.to_vec(), row.clone()));
        }
        Ok(row)
    }
}

/// Rows that were made, and that are gone, in order.
#[derive(Default)]
struct Writes(Vec<Row>);

impl Writes {
    /// Writes into the batch, and those of the forest of clusters also into a list, if there is one.
    fn apply(self, batch: &mut Batch<'_>, forest: &mut Option<Vec<ForestRow>>) {
        for (family, key, value) in self.0 {
            match &value {
                Some(value) => batch.put(family, &key, value),
                None => batch.delete(family, &key),
            }
            if is_forest(family) {
                forest.iter_mut().for_each(|forest| forest.push((family, key.clone(), value.clone())));
            }
        }
    }
}

impl Rows for Writes {
    fn put(&mut self, family: Family, key: &[u8], value: &[u8]) -> Result<(), StageError> {
        self.0.push((family, key.to_vec(), Some(value.to_vec())));
        Ok(())
    }

    fn delete(&mut self, family: Family, key: &[u8]) -> Result<(), StageError> {
        self.0.push((family, key.to_vec(), None));
        Ok(())
    }
}

/// Deltas of a stage, by lane, as records.
type Lanes = Vec<Vec<u8>>;

struct Deltas<'s> {
    stage: &'s dyn Stage,
    lanes: Lanes,
}

impl<'s> Deltas<'s> {
    fn none(stage: &'s dyn Stage) -> Self {
        Deltas { stage, lanes: vec![Vec::new(); stage.lanes().len()] }
    }

    fn mapped(stage: &'s dyn Stage, context: &MapContext<'_>, block: &Block) -> Self {
        let mut deltas = Deltas::none(stage);
        stage.map(block, context, &mut |lane, key, value| put_record(&mut deltas.lanes[lane], key, value));
        deltas
    }
}

/// Records that `put_record` wrote are complete.
fn sorted(records: &[u8]) -> Vec<Delta<'_>> {
    Sorted::new(records).map(|sorted| sorted.iter().collect()).unwrap_or_default()
}

/// Deltas that a thread takes at a time at least: fewer are not worth handing over.
const LEAST_PIECE: usize = 128;

/// Cuts deltas between groups, so that every thread has something to do.
fn pieces<'p, 'd>(lane: &Lane, mut deltas: &'p [Delta<'d>]) -> Vec<&'p [Delta<'d>]> {
    let length = deltas.len().div_ceil(rayon::current_num_threads() * 4).max(LEAST_PIECE);
    let mut pieces = Vec::new();
    while !deltas.is_empty() {
        let rest = deltas.get(length..).unwrap_or_default();
        let same = match deltas.get(length - 1) {
            Some(last) => rest.iter().take_while(|delta| same_group(lane, last.key, delta.key)).count(),
            None => 0,
        };
        let (piece, after) = deltas.split_at((length + same).min(deltas.len()));
        pieces.push(piece);
        deltas = after;
    }
    pieces
}

/// A block that is being applied.
struct Applying<'a> {
    writer: &'a Writer,
    block: &'a Block,
    times: TimesUpTo<'a>,
    direction: FoldDirection,
}

impl Applying<'_> {
    /// Folds the deltas of a stage, and lets others hear them.
    fn lanes(
        &self,
        mut deltas: Deltas<'_>,
        ears: &mut [Deltas<'_>],
        (batch, forest): (&mut Batch<'_>, &mut Option<Vec<ForestRow>>),
    ) -> Result<(), StageError> {
        let stage = deltas.stage;
        for (index, lane) in stage.lanes().iter().enumerate() {
            let records = std::mem::take(&mut deltas.lanes[index]);
            let sorted = sorted(&records);
            if lane.merge == Merge::Ordered {
                // It emits into the lanes behind its own.
                let mut emit = |lane: usize, key: &[u8], value: &[u8]| put_record(&mut deltas.lanes[lane], key, value);
                let (prior, mut writes) = (StoredRows(self.writer), Writes::default());
                let (times, direction) = (&self.times, self.direction);
                stage.fold_ordered(index, &sorted, direction, times, &prior, &mut writes, &mut emit)?;
                writes.apply(batch, forest);
                continue;
            }
            let hears = |ear: &Deltas<'_>| {
                let heard = ear.stage.hears();
                heard.is_some_and(|heard| heard.stage.name() == stage.name() && heard.lane == index)
            };
            let mut ears: Vec<&mut Deltas<'_>> = ears.iter_mut().filter(|ear| hears(ear)).collect();
            let who: Vec<&dyn Stage> = ears.iter().map(|ear| ear.stage).collect();
            let pieces = pieces(lane, &sorted);
            let done = pieces.par_iter().map(|piece| self.piece(stage, index, piece, &who));
            for (writes, emitted) in done.collect::<Result<Vec<_>, _>>()? {
                writes.apply(batch, forest);
                for (ear, lanes) in ears.iter_mut().zip(emitted) {
                    ear.lanes.iter_mut().zip(lanes).for_each(|(all, more)| all.extend_from_slice(&more));
                }
            }
        }
        Ok(())
    }

    /// Folds some groups of a lane: returns their rows, and the deltas of each listener, by lane.
    fn piece(
        &self,
        stage: &dyn Stage,
        index: usize,
        deltas: &[Delta<'_>],
        ears: &[&dyn Stage],
    ) -> Result<(Writes, Vec<Lanes>), StageError> {
        let lane = &stage.lanes()[index];
        let prior = Remembered { stored: StoredRows(self.writer), rows: RefCell::default() };
        let past = PastBefore { prior: &prior, before: self.block.first_tx };
        let context = HearContext { times: &self.times, past: &past };
        let mut emitted: Vec<Lanes> = ears.iter().map(|ear| vec![Vec::new(); ear.lanes().len()]).collect();
        let mut listeners: Vec<Option<Box<dyn Listener + '_>>> = ears.iter().map(|ear| ear.listener(context)).collect();
        let (mut writes, memory) = (Writes::default(), Reading::default());
        let mut each =
            |tell: &mut dyn FnMut(&mut (dyn Listener + '_), &mut cairn_stages::Sink<'_>) -> Result<(), StageError>| {
                for (listener, lanes) in listeners.iter_mut().zip(&mut emitted) {
                    let Some(listener) = listener else { continue };
                    let mut emit = |lane: usize, key: &[u8], value: &[u8]| put_record(&mut lanes[lane], key, value);
                    tell(listener.as_mut(), &mut emit)?;
                }
                Ok::<(), StageError>(())
            };
        for group in deltas.chunk_by(|a, b| same_group(lane, a.key, b.key)) {
            prior.rows.borrow_mut().clear();
            let group = Group::new(group, &memory);
            each(&mut |listener, emit| listener.hear(&group, emit))?;
            fold_group(stage, index, &group, self.direction, &prior, &mut writes)?;
        }
        each(&mut |listener, emit| listener.finish(emit))?;
        Ok((writes, emitted))
    }
}

fn is_among(stages: &[&dyn Stage], wanted: &dyn Stage) -> bool {
    stages.iter().any(|stage| stage.name() == wanted.name())
}

/// Applies a block to `stages` and moves their checkpoints, in one batch. The reader shares the writer's handle. The
/// journal's own stage among them also writes what changed in `collisions`, and `labels` what the block changes of the
/// joined tables. Not durable until the writer flushes.
///
/// # Errors
/// Fails if the block contradicts the tables, or the database fails; nothing is written then.
pub(crate) fn apply(
    (writer, reader): (&Writer, &Reader),
    stages: &[&dyn Stage],
    context: &MapContext<'_>,
    block: &Block,
    direction: FoldDirection,
    (collisions, labels): (&mut Collisions, Option<BlockChanges>),
) -> Result<(), PipelineError> {
    let (height, hash) = newest_after(block, direction);
    let times = TimesUpTo { chain: context.times, block };
    let context = MapContext { times: &times, ..*context };
    let (hearing, mapping): (Vec<&dyn Stage>, Vec<&dyn Stage>) =
        stages.iter().partition(|stage| stage.hears().is_some());
    if let Some(deaf) = hearing.iter().find(|stage| !stage.hears().is_some_and(|heard| is_among(&mapping, heard.stage)))
    {
        let what = "it hears a stage that is not there";
        return Err(StageError::Contradiction { stage: deaf.name(), what }.into());
    }
    let mapped: Vec<Deltas<'_>> = mapping.par_iter().map(|stage| Deltas::mapped(*stage, &context, block)).collect();
    let applying = Applying { writer, block, times, direction };
    writer.commit::<PipelineError>(|batch| {
        let mut forest = labels.as_ref().map(|_| Vec::new());
        let mut heard: Vec<Deltas<'_>> = hearing.iter().map(|stage| Deltas::none(*stage)).collect();
        for deltas in mapped {
            applying.lanes(deltas, &mut heard, (batch, &mut forest)).map_err(unwrap_stage)?;
        }
        for deltas in heard {
            applying.lanes(deltas, &mut [], (batch, &mut forest)).map_err(unwrap_stage)?;
        }
        let seq = writer.last_event()?;
        for stage in stages {
            let stage = stage.info();
            let checkpoint = Checkpoint::of(&stage, height, hash).with_events(&stage, seq);
            batch.put_row::<Checkpoints>(&stage.name.to_owned(), &checkpoint);
        }
        for (prefix, row) in collisions.take_changes() {
            match row {
                Some(row) => batch.put_row::<CollisionsTable>(&prefix, &row),
                None => batch.delete_row::<CollisionsTable>(&prefix),
            }
        }
        let forest = forest.unwrap_or_default();
        labels.map_or(Ok(()), |labels| labels.write((writer, reader), &forest, batch))
    })
}

#[cfg(test)]
mod tests {
    use cairn_stages::Spread;

    use super::*;

    /// Every delta is in one piece, in order, and no group in two.
    #[test]
    fn deltas_are_cut_between_groups() {
        const LANE: Lane =
            Lane { name: "lane", group_len: 1, spread: Spread::Few, merge: Merge::Fold, families: &[Family::SHARED] };
        let keys: Vec<[u8; 3]> = (0..100_000u32).map(|n| [(n.isqrt() / 2) as u8, (n >> 8) as u8, n as u8]).collect();
        for count in [0, 1, LEAST_PIECE - 1, LEAST_PIECE, LEAST_PIECE + 1, 1_000, 9_999, 100_000] {
            let deltas: Vec<Delta<'_>> = keys[..count].iter().map(|key| Delta { key, value: &[] }).collect();
            let pieces = pieces(&LANE, &deltas);
            assert_eq!(pieces.concat(), deltas);
            assert!(pieces.iter().all(|piece| !piece.is_empty()));
            assert!(pieces.windows(2).all(|two| two[0][two[0].len() - 1].key[0] != two[1][0].key[0]));
            assert!(count < 9_999 || pieces.len() > 1, "{count} deltas in one piece");
        }
    }
}
