//! Rebuilds stages from the journal: on request, and if they are behind.

use cairn_reader::ReadError;
use cairn_stages::{CHAIN, Stage};
use cairn_tables::{checkpoints::Checkpoints, stages::LATE};
use cairn_writer::WriteError;

use crate::{Engine, PipelineError, Progress, bulk, repair};

impl Engine {
    /// Rebuilds stages without a checkpoint, of another version, built on another version of a dependency, or not at
    /// the journal's tip; then the joined tables follow the claims. Does not change an empty index, whose working files
    /// are still needed.
    pub(crate) fn repair(&mut self, progress: &dyn Progress) -> Result<(), PipelineError> {
        let Some((height, hash)) = self.tip()? else { return Ok(()) };
        let mut lacking = Vec::new();
        for (i, stage) in self.stages.iter().enumerate().skip(1) {
            let found = self.writer.checkpoint(stage.name())?;
            // A stage that was left out for a while is behind, or stands on a block that is gone.
            if found.is_none_or(|c| !c.is_of(&stage.info()) || (c.height, c.hash) != (height, hash)) {
                lacking.push(i);
            }
        }
        self.rebuild(&lacking, progress)?;
        if self.follow_claims(progress)? {
            self.writer.flush()?;
        }
        // Files that are still there were committed; a run that was killed right then could not clean up.
        bulk::remove_dir(&self.bulk_dir())
    }

    /// Drops the tables of stages and rebuilds them from the journal, which is read once for all of them. Needs no
    /// block files. Late stages that read the tables of these, and those that are named, are made again when the chain
    /// is followed next.
    ///
    /// # Errors
    /// Fails if a stage does not exist or is the journal. An interrupted rebuild starts again with the next
    /// [`Engine::sync`], [`Engine::unwind`] or [`Engine::reindex`].
    pub fn reindex(&mut self, stages: &[&str], progress: &dyn Progress) -> Result<(), PipelineError> {
        if stages.contains(&CHAIN) {
            return Err(PipelineError::ChainIsTheJournal);
        }
        self.tip()?.ok_or(ReadError::Empty)?;
        let is_late = |name: &str| LATE.iter().any(|stage| stage.name == name);
        let is_known = |name: &str| is_late(name) || self.stages.iter().any(|stage| stage.name() == name);
        if let Some(unknown) = stages.iter().find(|name| !is_known(name)) {
            return Err(PipelineError::UnknownStage((*unknown).to_owned()));
        }
        let named = self.stages.iter().enumerate().filter(|(_, stage)| stages.contains(&stage.name()));
        let named: Vec<usize> = named.map(|(i, _)| i).collect();
        // A table that shares its family cannot be rewritten together with it.
        let of_named = named.iter().flat_map(|i| self.stages[*i].tables());
        if stages.iter().any(|name| is_late(name)) || of_named.into_iter().any(|table| table.tag.is_some()) {
            repair::check_shared(&self.writer)?;
        }
        for (place, late) in (0..).zip(LATE).filter(|(_, late)| stages.contains(&late.name)) {
            self.forget_late(place, late)?;
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
        for (place, late) in (0..).zip(LATE) {
            if stages.iter().any(|stage| late.depends_on.iter().any(|other| other.name == stage.name())) {
                self.forget_late(place, late)?;
            }
        }
        stages.iter().flat_map(|stage| stage.tables()).try_for_each(|table| self.writer.clear(table))?;
        bulk::from_journal(&self.bulk_target(0), indexes, &self.reader, progress)
    }
}
