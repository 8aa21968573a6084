//! The followers of an engine. Each brings a family of tables to the tip that is derived from those of the stages. A
//! family has a folder with its follower inside.
//!
//! | family | folder | follows |
//! |---|---|---|
//! | labels and entities | `labels` | in the commit of each block; after each document |
//! | late stages | `late` | block by block, in commits after those of the blocks |
//! | watchlist | `watchlist` | made again after a day's blocks |
//! | flows of exchanges | `exchanges` | made again after a day's blocks; rows of the blocks since |
//! | tweaks of silent payments | `silent_payments` | some blocks at a time, in a thread; only if asked for |
//! | feed | `feed` | block by block, after the late stages |

use cairn_model::{Block, Height};
use cairn_reader::View;
use cairn_stages::FoldDirection;
use cairn_tables::stages::StageInfo;

use crate::{
    Engine, PipelineError, Progress,
    exchanges::follow::FlowFollower,
    feed::FeedFollower,
    labels::{BlockChanges, follow::LabelFollower},
    late::follow::LateFollower,
    silent_payments::follow::TweakFollower,
    watchlist::follow::WatchlistFollower,
};

impl Engine {
    /// Brings all to the tip that follows the chain after its blocks: the late stages, the watchlist, the flows of
    /// exchanges and the tweaks of silent payments. `waits`: for the latter three, too, which are made in threads
    /// otherwise. Returns whether it wrote
    /// anything, which is durable with the next [`Engine::settle`].
    pub fn follow_up(&self, progress: &dyn Progress, waits: bool) -> Result<bool, PipelineError> {
        let late = self.follow_late(progress)?;
        let watchlist = self.follow_watchlist(progress, waits)?;
        let flows = self.follow_flows(progress, waits)?;
        Ok(late | watchlist | flows | self.follow_silent_payments(progress, waits)?)
    }

    /// Brings the late stages to the tip: visible step by step, durable with the next [`Engine::settle`]. Does nothing
    /// for those whose tables are not at the tip. Returns whether it wrote anything.
    ///
    /// # Errors
    /// The database fails, or a row is damaged. [`PipelineError::Stopped`] if cancelled: what was followed stays.
    pub fn follow_late(&self, progress: &dyn Progress) -> Result<bool, PipelineError> {
        LateFollower { engine: self }.follow(progress)
    }

    /// Makes the watchlist again if it is time: at once if `waits`, else in a thread, from which a later call takes it.
    /// Returns whether it wrote one, which is durable with the next [`Engine::settle`].
    pub fn follow_watchlist(&self, progress: &dyn Progress, waits: bool) -> Result<bool, PipelineError> {
        WatchlistFollower { engine: self }.follow(progress, waits)
    }

    /// Makes the flows of exchanges again if it is time, and adds those of the blocks since. Makes them at once if
    /// `waits`, else in a thread, from which a later call takes them. Returns whether it wrote anything, which is
    /// durable with the next [`Engine::settle`].
    pub fn follow_flows(&self, progress: &dyn Progress, waits: bool) -> Result<bool, PipelineError> {
        FlowFollower { engine: self }.follow(progress, waits)
    }

    /// Brings the tweaks of silent payments closer to the tip, if they are asked for
    /// ([`Engine::set_silent_payments`]): to the tip if `waits`, else by what a thread has made since the last call.
    /// Returns whether it wrote anything, which is durable with the next [`Engine::settle`].
    pub fn follow_silent_payments(&self, progress: &dyn Progress, waits: bool) -> Result<bool, PipelineError> {
        TweakFollower { engine: self }.follow(progress, waits)
    }

    /// Brings the feed to the tip, at `now` in seconds since 1970: visible at once, durable with the next
    /// [`Engine::settle`], atomically with the blocks. Does nothing while tables that it reads are not at the tip.
    /// Returns whether it wrote anything.
    pub fn follow_feed(&self, now: u32) -> Result<bool, PipelineError> {
        FeedFollower { engine: self }.follow(now)
    }

    /// Brings the joined tables up to date with claims and chain. See [`LabelFollower::follow`].
    pub(crate) fn follow_claims(&self, progress: &dyn Progress) -> Result<bool, PipelineError> {
        LabelFollower { engine: self }.follow(progress)
    }

    /// Returns the changes of the joined tables by a block. See [`LabelFollower::changes_of_block`].
    pub(crate) fn labels_of_block(
        &self,
        view: &View<'_>,
        block: &Block,
        direction: FoldDirection,
    ) -> Result<Option<BlockChanges>, PipelineError> {
        LabelFollower { engine: self }.changes_of_block(view, block, direction)
    }

    /// Takes back what late stages have of a block. See [`LateFollower::undo`].
    pub(crate) fn undo_late(&self, height: Height) -> Result<(), PipelineError> {
        LateFollower { engine: self }.undo(height)
    }

    /// Removes the rows of a late stage: it is made again when the chain is followed next.
    pub(crate) fn forget_late(&self, place: u8, stage: &StageInfo) -> Result<(), PipelineError> {
        LateFollower { engine: self }.forget(place, stage)
    }

    /// Removes the tweaks of silent payments: they are made again if they are asked for.
    pub(crate) fn forget_silent_payments(&self) -> Result<(), PipelineError> {
        TweakFollower { engine: self }.forget()
    }

    /// Removes the watchlist and the flows of exchanges: they are made again when the chain is followed next.
    pub(crate) fn forget_generations(&self) -> Result<(), PipelineError> {
        WatchlistFollower { engine: self }.forget()?;
        FlowFollower { engine: self }.forget()
    }
}
