//! Late stages: they follow the chain after the other stages, block by block, and read their tables as of each block. What they
//! keep from block to block is in rows, so that a process goes on where another stopped; and for the newest blocks they keep
//! the rows that each replaced, so that a reorganization is undone without their rules.
//!
//! Their commits come after those of blocks. A late stage that is behind is brought to the tip by whoever writes next.

mod flushes;
mod rows;
mod sleep;
mod wakeups;
pub(crate) mod watchlist;

use std::{collections::HashMap, sync::Mutex};

use cairn_model::{BlockHash, CancelToken, Height};
use cairn_reader::{ReadError, View};
use cairn_tables::stages::{FLUSHES, StageInfo};

pub(crate) use self::rows::{LateRows, put_all};
use self::{flushes::FlushFold, wakeups::WakeupFold};
use crate::PipelineError;

/// A fold over the chain that reads the tables of stages.
pub(crate) trait LateFold: Send {
    /// Takes the next block. The view may have later ones: what it reads is as of the block.
    ///
    /// # Errors
    /// The database cannot be read, or rows are damaged; [`PipelineError::Stopped`] if cancelled.
    fn block(
        &mut self,
        view: &View<'_>,
        height: Height,
        rows: &mut LateRows<'_>,
        cancel: &CancelToken,
    ) -> Result<(), PipelineError>;
}

/// Folds that followed the chain up to a block, by stage: whoever goes on from there need not load them again.
pub(crate) type KeptFolds = Mutex<HashMap<&'static str, (BlockHash, Box<dyn LateFold>)>>;

/// The fold of a late stage that goes on with a block, over the rows that there are.
pub(crate) fn fold_of(
    stage: &StageInfo,
    view: &View<'_>,
    next: Height,
    rows: &LateRows<'_>,
) -> Result<Box<dyn LateFold>, ReadError> {
    Ok(if stage.name == FLUSHES.name {
        Box::new(FlushFold::load(view, next, rows)?)
    } else {
        Box::new(WakeupFold::default())
    })
}

/// Whether all stages that a late stage reads are at the tip of a view.
pub(crate) fn can_follow(stage: &StageInfo, view: &View<'_>) -> Result<bool, ReadError> {
    for other in stage.depends_on {
        match view.require(other) {
            Err(ReadError::Unfinished(_) | ReadError::StageVersion { .. }) => return Ok(false),
            other => other?,
        }
    }
    Ok(true)
}
