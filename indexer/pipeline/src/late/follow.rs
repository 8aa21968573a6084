//! Brings late stages to the tip.

use std::time::{Duration, Instant};

use cairn_model::{BlockHash, Height};
use cairn_reader::{ReadError, View};
use cairn_tables::{
    checkpoints::{Checkpoint, Checkpoints},
    late::{KEPT_BLOCKS, LateUndo, UndoKey, UndoRow},
    stages::{LATE, StageInfo},
};
use cairn_writer::WriteError;

use super::{LateRows, can_follow, fold_of, put_all};
use crate::{Engine, Phase, PipelineError, Progress, ProgressStep};

const BLOCKS_IN_STEP: u32 = 256;
/// Rows from which on a commit takes no more blocks.
const ROWS_IN_STEP: usize = 4_096;
/// Time between two flushes.
const FLUSH_TIME: Duration = Duration::from_secs(10);

/// Brings the late stages of an engine to its tip.
#[derive(Clone, Copy)]
pub(crate) struct LateFollower<'e> {
    pub(crate) engine: &'e Engine,
}

impl LateFollower<'_> {
    /// As [`Engine::follow_late`].
    pub(crate) fn follow(&self, progress: &dyn Progress) -> Result<bool, PipelineError> {
        if self.engine.tip()?.is_none() {
            return Ok(false);
        }
        let mut wrote = false;
        for (place, stage) in (0..).zip(LATE) {
            wrote |= Following { follower: *self, place, stage, progress }.run()?;
        }
        Ok(wrote)
    }

    /// Takes back what late stages that have followed the chain just up to a block have of it, if that is kept.
    pub(crate) fn undo(&self, height: Height) -> Result<(), PipelineError> {
        for (place, stage) in (0..).zip(LATE) {
            let key = UndoKey { stage: place, height };
            let is_there = |found: &Checkpoint| found.is_of(stage) && found.height == height;
            if !self.engine.writer.checkpoint(stage.name)?.is_some_and(|found| is_there(&found)) {
                continue;
            }
            if let (Some(row), Some(below)) = (self.engine.reader.view()?.get::<LateUndo>(&key)?, height.checked_sub(1))
            {
                self.put_back(stage, &key, row, below)?;
            }
        }
        Ok(())
    }

    /// Puts the rows back that a block replaced.
    fn put_back(
        &self,
        stage: &StageInfo,
        key: &UndoKey,
        UndoRow { before, rows }: UndoRow,
        below: Height,
    ) -> Result<(), WriteError> {
        self.engine.writer.commit::<WriteError>(|batch| {
            put_all(batch, rows.into_iter());
            batch.delete_row::<LateUndo>(key);
            batch.put_row::<Checkpoints>(&stage.name.to_owned(), &Checkpoint::of(stage, below, before));
            Ok(())
        })
    }

    /// Forgets what a late stage has: it is made again by [`Engine::follow_late`].
    pub(crate) fn forget(&self, place: u8, stage: &StageInfo) -> Result<(), PipelineError> {
        // Without its checkpoint, a stage that is half gone is known as such.
        self.engine.writer.commit::<WriteError>(|batch| {
            batch.delete_row::<Checkpoints>(&stage.name.to_owned());
            let of = |height| UndoKey { stage: place, height };
            batch.delete_range::<LateUndo>(&of(0), &of(Height::MAX));
            Ok(())
        })?;
        self.engine.writer.flush()?;
        Ok(stage.tables.iter().try_for_each(|table| self.engine.writer.clear(table))?)
    }
}

/// A late stage that is brought to the tip.
struct Following<'f> {
    follower: LateFollower<'f>,
    place: u8,
    stage: &'static StageInfo,
    progress: &'f dyn Progress,
}

impl Following<'_> {
    fn run(&self) -> Result<bool, PipelineError> {
        let view = self.follower.engine.reader.view()?;
        if !can_follow(self.stage, &view)? {
            return Ok(false);
        }
        let found = view.checkpoint(self.stage.name)?;
        let tip = view.tip().height;
        let is_there = |at: &Checkpoint| at.height == tip && at.hash == view.tip().hash;
        if found.as_ref().is_some_and(|found| found.is_of(self.stage) && is_there(found)) {
            return Ok(false);
        }
        let followed = match found {
            Some(found) if found.is_of(self.stage) => self.undo(&view, found)?,
            _ => {
                self.follower.forget(self.place, self.stage)?;
                None
            }
        };
        let first = followed.map_or(0, |height| height + 1);
        if first <= tip {
            self.follow(first, tip)?;
        }
        Ok(true)
    }

    /// Takes back what was followed of blocks that are gone. Gives the height that is left; `None` if nothing is.
    fn undo(&self, view: &View<'_>, from: Checkpoint) -> Result<Option<Height>, PipelineError> {
        let (mut height, mut hash) = (from.height, from.hash);
        while !view.chain().is(height, &hash) {
            let key = UndoKey { stage: self.place, height };
            let (Some(row), Some(below)) = (view.get::<LateUndo>(&key)?, height.checked_sub(1)) else {
                tracing::info!(stage = self.stage.name, "the blocks that it stands on are gone: it is made again");
                self.follower.forget(self.place, self.stage)?;
                return Ok(None);
            };
            let before = row.before;
            self.follower.put_back(self.stage, &key, row, below)?;
            (height, hash) = (below, before);
        }
        Ok(Some(height))
    }

    fn checkpoint(&self, batch: &mut cairn_writer::Batch<'_>, (height, hash): (Height, BlockHash)) {
        batch.put_row::<Checkpoints>(&self.stage.name.to_owned(), &Checkpoint::of(self.stage, height, hash));
    }

    fn follow(&self, first: Height, tip: Height) -> Result<(), PipelineError> {
        let (engine, cancel) = (self.follower.engine, self.progress.cancel_token());
        let mut view = engine.reader.view()?;
        let kept = engine.folds.lock().remove(self.stage.name);
        let before = first.checked_sub(1).map(|below| self.hash_of(&view, below)).transpose()?;
        let mut fold = match kept.filter(|(hash, _)| Some(*hash) == before) {
            Some((_, fold)) => fold,
            None => fold_of(self.stage, &view, first, &LateRows::over(&view))?,
        };
        let (mut next, mut flushed) = (first, Instant::now());
        while next <= tip {
            let from = next;
            let mut rows = LateRows::over(&view);
            let mut undo: Vec<(UndoKey, UndoRow)> = Vec::new();
            while next <= tip && next - from < BLOCKS_IN_STEP && rows.len() < ROWS_IN_STEP {
                fold.block(&view, next, &mut rows, cancel)?;
                let replaced = rows.end_block();
                if next + KEPT_BLOCKS > tip {
                    let before = match next.checked_sub(1) {
                        Some(below) => self.hash_of(&view, below)?,
                        None => BlockHash::default(),
                    };
                    undo.push((UndoKey { stage: self.place, height: next }, UndoRow { before, rows: replaced }));
                }
                next += 1;
            }
            let hash = self.hash_of(&view, next - 1)?;
            let written = rows.into_rows();
            engine.writer.commit::<WriteError>(|batch| {
                put_all(batch, written.into_iter());
                undo.iter().for_each(|(key, row)| batch.put_row::<LateUndo>(key, row));
                for height in (from..next).filter_map(|height| height.checked_sub(KEPT_BLOCKS)) {
                    batch.delete_row::<LateUndo>(&UndoKey { stage: self.place, height });
                }
                self.checkpoint(batch, (next - 1, hash));
                Ok(())
            })?;
            if cancel.is_cancelled() {
                engine.writer.flush()?;
                return Err(PipelineError::Stopped);
            }
            if flushed.elapsed() > FLUSH_TIME {
                engine.writer.flush()?;
                flushed = Instant::now();
            }
            if next <= tip {
                view = engine.reader.view()?;
            }
            let done = u64::from(next - first);
            let total = u64::from(tip + 1 - first);
            self.progress.step(ProgressStep { phase: Phase::Late, done, total, bytes: 0, of_bytes: 0 });
        }
        let hash = self.hash_of(&view, tip)?;
        engine.folds.lock().insert(self.stage.name, (hash, fold));
        Ok(())
    }

    fn hash_of(&self, view: &View<'_>, height: Height) -> Result<BlockHash, ReadError> {
        let header = view.header(height)?;
        Ok(header.ok_or_else(|| ReadError::Broken("a header is missing".to_owned()))?.hash)
    }
}
