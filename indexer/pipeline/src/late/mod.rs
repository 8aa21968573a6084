//! Late stages: they follow the chain after the other stages, block by block, and read their tables as of each block.
//! Their state from block to block is in rows, so that a process continues where another stopped. For the newest blocks
//! they keep the rows that each replaced, so that a reorganization is undone without their rules.
//!
//! Their commits come after those of blocks: `follow` writes them, and [`Engine::follow_up`](crate::Engine::follow_up)
//! calls it first. A late stage that is behind is brought to the tip by the next process that writes.

mod dust;
mod flushes;
pub(crate) mod follow;
mod rows;
mod sleep;
mod txs;
mod wakeups;

use std::collections::HashMap;

use cairn_model::{BlockHash, CancelToken, Height};
use cairn_reader::{ReadError, View};
use cairn_tables::stages::{DUST, FLUSHES, LATE, StageInfo, WAKEUPS};
use parking_lot::Mutex;

use self::{dust::DustFold, flushes::FlushFold, wakeups::WakeupFold};
pub(crate) use self::{
    rows::{LateRows, put_all},
    sleep::{At, Sleep},
};
use crate::PipelineError;

/// A fold over the chain that reads the tables of stages.
pub(crate) trait LateFold: Send {
    /// Takes the next block. The view may have later ones: what it reads is as of the block.
    fn block(
        &mut self,
        view: &View<'_>,
        height: Height,
        rows: &mut LateRows<'_>,
        cancel: &CancelToken,
    ) -> Result<(), PipelineError>;
}

/// Folds that followed the chain up to a block, by stage: they need not be loaded again to continue from there.
pub(crate) type KeptFolds = Mutex<HashMap<&'static str, (BlockHash, Box<dyn LateFold>)>>;

/// Begins a fold that goes on with a block, over the rows that there are.
type BeginFold = fn(&View<'_>, Height, &LateRows<'_>) -> Result<Box<dyn LateFold>, ReadError>;

const FOLDS: [(&str, BeginFold); LATE.len()] = [
    (FLUSHES.name, |view, next, rows| Ok(Box::new(FlushFold::load(view, next, rows)?))),
    (WAKEUPS.name, |_, _, _| Ok(Box::new(WakeupFold::default()))),
    (DUST.name, |view, next, rows| Ok(Box::new(DustFold::load(view, next, rows)?))),
];

/// The fold of a late stage that goes on with a block, over the rows that there are.
pub(crate) fn fold_of(
    stage: &StageInfo,
    view: &View<'_>,
    next: Height,
    rows: &LateRows<'_>,
) -> Result<Box<dyn LateFold>, ReadError> {
    let begin = FOLDS.iter().find(|(name, _)| *name == stage.name).map(|(_, begin)| begin);
    begin.ok_or_else(|| ReadError::Broken(format!("no late stage {}", stage.name)))?(view, next, rows)
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
