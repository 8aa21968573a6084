//! State of the stages: checkpoints, and availability of their tables.

use cairn_tables::{
    Table,
    checkpoints::{Checkpoint, Checkpoints},
    stages::{CHAIN, LATE, STAGES, StageInfo},
};

use crate::{ReadError, View, view::check_version};

/// Availability of a stage's tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StageStatus {
    /// They are complete and at the tip.
    Finished,
    /// They are being rebuilt, or must be.
    Unfinished,
    /// A program with another version of the stage wrote them.
    OtherVersion,
}

/// A stage and its state in the index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StageState {
    /// The stage.
    pub stage: &'static StageInfo,
    /// Its checkpoint; `None` while it is being rebuilt.
    pub checkpoint: Option<Checkpoint>,
    /// Availability of its tables.
    pub status: StageStatus,
}

impl View<'_> {
    /// A stage's checkpoint. It does not count as a row: only a handle that may change has to read it for each view.
    pub fn checkpoint(&self, stage: &str) -> Result<Option<Checkpoint>, ReadError> {
        let known = self.checkpoints.iter().flat_map(|known| known.iter()).find(|(name, _)| *name == stage);
        if let Some((_, checkpoint)) = known {
            return Ok(checkpoint.clone());
        }
        let row = self.bytes_again::<Checkpoints>(&stage.to_owned())?;
        row.map(|bytes| Ok(Checkpoints::decode_value(&bytes)?)).transpose()
    }

    /// Checks that a stage's tables are complete, of this program's version and at this view's tip. At most one
    /// row read per view.
    ///
    /// # Errors
    /// Returns [`ReadError::Unfinished`] if the tables are being rebuilt, or must be; [`ReadError::StageVersion`] if
    /// another program version wrote them.
    pub fn require(&self, stage: &StageInfo) -> Result<(), ReadError> {
        if !self.finished.borrow().contains(stage.name) {
            self.check_finished(stage, self.checkpoint(stage.name)?.as_ref())?;
            self.finished.borrow_mut().insert(stage.name);
        }
        Ok(())
    }

    fn check_finished(&self, stage: &StageInfo, checkpoint: Option<&Checkpoint>) -> Result<(), ReadError> {
        let found = checkpoint.ok_or(ReadError::Unfinished(stage.name))?;
        check_version(stage, found)?;
        let is_at_tip = found.height == self.tip().height && found.hash == self.tip().hash;
        if is_at_tip && found.is_of(stage) { Ok(()) } else { Err(ReadError::Unfinished(stage.name)) }
    }

    /// Every stage and its state in the index. At most one row read for each.
    pub fn stages(&self) -> Result<Vec<StageState>, ReadError> {
        STAGES.iter().map(|stage| self.state(stage)).collect()
    }

    fn state(&self, stage: &'static StageInfo) -> Result<StageState, ReadError> {
        let checkpoint = self.checkpoint(stage.name)?;
        let status = match self.check_finished(stage, checkpoint.as_ref()) {
            Ok(()) => StageStatus::Finished,
            Err(ReadError::StageVersion { .. }) => StageStatus::OtherVersion,
            Err(_) => StageStatus::Unfinished,
        };
        Ok(StageState { stage, checkpoint, status })
    }

    /// Every late stage and its state in the index: finished if it is at the tip. One row read for each.
    pub fn late_stages(&self) -> Result<Vec<StageState>, ReadError> {
        LATE.iter().map(|stage| self.state(stage)).collect()
    }

    /// Names of the stages whose tables are unavailable. At most one row read for each stage that was not checked
    /// before; the journal's stage defines the tip.
    pub fn unfinished(&self) -> Result<Vec<&'static str>, ReadError> {
        let mut names = Vec::new();
        for stage in STAGES.iter().filter(|stage| stage.name != CHAIN.name) {
            match self.require(stage) {
                Ok(()) => {}
                Err(ReadError::Unfinished(_) | ReadError::StageVersion { .. }) => names.push(stage.name),
                Err(error) => return Err(error),
            }
        }
        Ok(names)
    }
}
