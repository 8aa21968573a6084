//! Rebuilds stages from the journal: on request, and if they are behind.

use cairn_model::Height;
use cairn_reader::ReadError;
use cairn_stages::{CHAIN, FoldDirection, Order};
use cairn_tables::checkpoints::{Checkpoint, Checkpoints};
use cairn_writer::WriteError;

use crate::{Engine, Phase, PipelineError, Progress, ProgressStep, bulk, engine::FLUSH_BLOCKS, repair, tip};

impl Engine {
    /// Rebuilds stages without a checkpoint, of another version, or built on another version of a dependency, and
    /// brings stages behind the journal to its tip. Does not change an empty index, whose working files are still
    /// needed.
    pub(crate) fn repair(&mut self, progress: &dyn Progress) -> Result<(), PipelineError> {
        let Some((height, _)) = self.tip()? else { return Ok(()) };
        for i in 1..self.stages.len() {
            let stage = &self.stages[i];
            let found = self.writer.checkpoint(stage.name())?;
            // A stage that was left out for a while may stand on a block that is gone.
            let usable = match found {
                Some(c) if c.is_of(&stage.info()) && self.on_chain(&c)? => Some(c.height),
                _ => None,
            };
            match usable {
                Some(at) if at == height => {}
                Some(at) if stage.order() == Order::Ordered => self.replay(i, at + 1, height, progress)?,
                _ => self.rebuild(i, progress)?,
            }
        }
        // What is still there was committed; a run that was killed right then could not clean up.
        bulk::remove_dir(&self.bulk_dir())
    }

    fn on_chain(&self, checkpoint: &Checkpoint) -> Result<bool, PipelineError> {
        let header = self.reader.view()?.header(checkpoint.height)?;
        Ok(header.is_some_and(|h| h.hash == checkpoint.hash))
    }

    /// Drops a stage's tables and rebuilds them from the journal. Needs no block files.
    ///
    /// # Errors
    /// The stage does not exist, it is the journal, or the database fails. An interrupted rebuild starts again with the
    /// next [`Engine::sync`], [`Engine::unwind`] or [`Engine::reindex`].
    pub fn reindex(&mut self, stage: &str, progress: &dyn Progress) -> Result<(), PipelineError> {
        if stage == CHAIN {
            return Err(PipelineError::ChainIsTheJournal);
        }
        self.tip()?.ok_or(ReadError::Empty)?;
        let found = self.stages.iter().position(|s| s.name() == stage);
        let index = found.ok_or_else(|| PipelineError::UnknownStage(stage.to_owned()))?;
        // A table that shares its family cannot be made anew with it.
        if self.stages[index].tables().iter().any(|table| table.tag.is_some()) {
            repair::check_shared(&self.writer)?;
        }
        self.rebuild(index, progress)
    }

    fn rebuild(&self, index: usize, progress: &dyn Progress) -> Result<(), PipelineError> {
        let stage = self.stages[index].as_ref();
        // Without its checkpoint, a half-rebuilt stage is known as such.
        self.writer.commit::<WriteError>(|batch| {
            batch.delete_row::<Checkpoints>(&stage.name().to_owned());
            Ok(())
        })?;
        self.writer.flush()?;
        for table in stage.tables() {
            self.writer.clear(table)?;
        }
        match stage.order() {
            Order::Free => bulk::from_journal(&self.bulk_target(0), index, &self.reader, progress),
            Order::Ordered => {
                let height = self.tip()?.map_or(0, |(height, _)| height);
                self.replay(index, 0, height, progress)
            }
        }
    }

    /// Applies journal blocks to one stage, block by block.
    fn replay(&self, index: usize, from: Height, to: Height, progress: &dyn Progress) -> Result<(), PipelineError> {
        let view = self.reader.view()?;
        let stage = self.stages[index].as_ref();
        for block in view.journal(from, to)? {
            if progress.cancel_token().is_cancelled() {
                self.writer.flush()?;
                return Err(PipelineError::Stopped);
            }
            let block = block?;
            tip::apply(&self.writer, &[stage], &self.settings(), &block, FoldDirection::Forward, None)?;
            if block.height % FLUSH_BLOCKS == 0 {
                self.writer.flush()?;
            }
            let (done, total) = (u64::from(block.height - from) + 1, u64::from(to - from) + 1);
            progress.step(ProgressStep { phase: Phase::Fold, done, total, bytes: 0, of_bytes: 0 });
        }
        Ok(self.writer.flush()?)
    }
}
