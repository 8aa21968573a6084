//! The interface of a source of blocks.

use cairn_model::{Height, Part};

use crate::{FollowError, OpenIndex, Until};

/// A source of blocks, before it is followed.
pub trait Source: Send {
    /// Starts: reads the current state, and prepares to receive changes. `until` is the follower's end condition.
    fn begin(self: Box<Self>, index: &mut OpenIndex, until: Until) -> Result<Box<dyn ActiveSource>, FollowError>;
}

/// Progress of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reached {
    /// There may be more to do.
    Further,
    /// The index is at the source's tip, or at the highest height wanted.
    Tip,
}

/// A source that is being followed. It publishes the best height, its state and the mempool.
pub trait ActiveSource: Send {
    /// Brings the index closer to the source's best chain, but not above `to` by itself. It waits for a temporary fault
    /// to end.
    fn advance(&mut self, index: &mut OpenIndex, to: Option<Height>) -> Result<Reached, FollowError>;

    /// At the tip: waits for a possible new tip, for a bounded time, and follows the mempool if there is one.
    fn wait(&mut self, index: &mut OpenIndex) -> Result<(), FollowError>;

    /// Checks that the source is complete below `to`, or below its tip. Called once the index is there.
    ///
    /// # Errors
    /// Says what is missing.
    fn check_complete(&self, index: &OpenIndex, to: Option<Height>) -> Result<(), FollowError>;

    /// The part of the service that blocks come from.
    fn part(&self) -> Part;

    /// Gets ready to go on after an error of [`ActiveSource::advance`] or [`ActiveSource::wait`], whose changes may be
    /// incomplete in memory.
    fn recover(&mut self, index: &mut OpenIndex, error: &FollowError) -> Result<(), FollowError>;

    /// Ends, also after an error: writes its data to disk.
    fn end(self: Box<Self>, index: &mut OpenIndex) -> Result<(), FollowError>;
}
