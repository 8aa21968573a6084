//! Rebuilds stages from the journal: on request, and if they are behind.

use cairn_model::Height;
use cairn_reader::ReadError;
use cairn_stages::{CHAIN, FoldDirection, Order, Stage};
use cairn_tables::checkpoints::{Checkpoint, Checkpoints};
use cairn_writer::WriteError;

use crate::{
    Engine, Phase, PipelineError, Progress, ProgressStep, bulk, engine::FLUSH_BLOCKS, repair, times::IndexTimes, tip,
};

impl Engine {
    /// Rebuilds stages without a checkpoint, of another version, or built on another version of a dependency, and
    /// brings stages behind the journal to its tip. Does not change an empty index, whose working files are still
    /// needed.
    pub(crate) fn repair(&mut self, progress: &dyn Progress) -> Result<(), PipelineError> {
        let Some((height, _)) = self.tip()? else { return Ok(()) };
        let (mut lacking, mut behind) = (Vec::new(), Vec::new());
        for (i, stage) in self.stages.iter().enumerate().skip(1) {
            let found = self.writer.checkpoint(stage.name())?;
            // A stage that was left out for a while may stand on a block that is gone.
            let usable = match found {
                Some(c) if c.is_of(&stage.info()) && self.on_chain(&c)? => Some(c.height),
                _ => None,
            };
            match usable {
                Some(at) if at == height => {}
                Some(at) if stage.order() == Order::Ordered => behind.push((i, at + 1)),
                _ => lacking.push(i),
            }
        }
        self.rebuild(&lacking, progress)?;
        behind.into_iter().try_for_each(|(i, from)| self.replay(i, from, height, progress))?;
        // What is still there was committed; a run that was killed right then could not clean up.
        bulk::remove_dir(&self.bulk_dir())
    }

    fn on_chain(&self, checkpoint: &Checkpoint) -> Result<bool, PipelineError> {
        let header = self.reader.view()?.header(checkpoint.height)?;
        Ok(header.is_some_and(|h| h.hash == checkpoint.hash))
    }

    /// Drops the tables of stages and rebuilds them from the journal, which is read once for all of them. Needs no block
    /// files.
    ///
    /// # Errors
    /// A stage does not exist or is the journal, or the database fails. An interrupted rebuild starts again with the
    /// next [`Engine::sync`], [`Engine::unwind`] or [`Engine::reindex`].
    pub fn reindex(&mut self, stages: &[&str], progress: &dyn Progress) -> Result<(), PipelineError> {
        if stages.contains(&CHAIN) {
            return Err(PipelineError::ChainIsTheJournal);
        }
        self.tip()?.ok_or(ReadError::Empty)?;
        if let Some(unknown) = stages.iter().find(|name| !self.stages.iter().any(|stage| stage.name() == **name)) {
            return Err(PipelineError::UnknownStage((*unknown).to_owned()));
        }
        let named = self.stages.iter().enumerate().filter(|(_, stage)| stages.contains(&stage.name()));
        let named: Vec<usize> = named.map(|(i, _)| i).collect();
        // A table that shares its family cannot be made anew with it.
        if named.iter().flat_map(|i| self.stages[*i].tables()).any(|table| table.tag.is_some()) {
            repair::check_shared(&self.writer)?;
        }
        self.rebuild(&named, progress)
    }

    fn rebuild(&self, indexes: &[usize], progress: &dyn Progress) -> Result<(), PipelineError> {
        let stages: Vec<&dyn Stage> = indexes.iter().map(|i| self.stages[*i].as_ref()).collect();
        if stages.is_empty() {
            return Ok(());
        }
        // Without its checkpoint, a half-rebuilt stage is known as such.
        self.writer.commit::<WriteError>(|batch| {
            stages.iter().for_each(|stage| batch.delete_row::<Checkpoints>(&stage.name().to_owned()));
            Ok(())
        })?;
        self.writer.flush()?;
        stages.iter().flat_map(|stage| stage.tables()).try_for_each(|table| self.writer.clear(table))?;
        let (free, ordered): (Vec<_>, Vec<_>) = indexes.iter().partition(|i| self.stages[**i].order() == Order::Free);
        if !free.is_empty() {
            bulk::from_journal(&self.bulk_target(0), &free, &self.reader, progress)?;
        }
        let height = self.tip()?.map_or(0, |(height, _)| height);
        ordered.into_iter().try_for_each(|i| self.replay(i, 0, height, progress))
    }

    /// Applies journal blocks to one stage, block by block.
    fn replay(&self, index: usize, from: Height, to: Height, progress: &dyn Progress) -> Result<(), PipelineError> {
        let view = self.reader.view()?;
        let stage = self.stages[index].as_ref();
        let times = IndexTimes(view.chain().clone());
        let context = self.context(&times);
        for block in view.journal(from, to)? {
            if progress.cancel_token().is_cancelled() {
                self.writer.flush()?;
                return Err(PipelineError::Stopped);
            }
            let block = block?;
            tip::apply(&self.writer, &[stage], &context, &block, FoldDirection::Forward, None)?;
            if block.height % FLUSH_BLOCKS == 0 {
                self.writer.flush()?;
            }
            let (done, total) = (u64::from(block.height - from) + 1, u64::from(to - from) + 1);
            progress.step(ProgressStep { phase: Phase::Fold, done, total, bytes: 0, of_bytes: 0 });
        }
        Ok(self.writer.flush()?)
    }
}
