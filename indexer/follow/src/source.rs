//! What the follower asks of where blocks come from.

use cairn_model::Height;

use crate::{FollowError, OpenIndex, Until};

/// Where blocks come from, before it is followed.
pub trait Source: Send {
    /// Begins: looks at what is there, and gets ready to hear of more. `until` says when the follower will end.
    ///
    /// # Errors
    /// The source cannot be followed, or the index fails.
    fn begin(self: Box<Self>, index: &mut OpenIndex, until: Until) -> Result<Box<dyn ActiveSource>, FollowError>;
}

/// How far an index came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reached {
    /// There may be more to do.
    Further,
    /// The source's tip, as far as it is wanted.
    Tip,
}

/// A source that is being followed. It publishes what it knows: the best height, its state, the mempool.
pub trait ActiveSource: Send {
    /// Brings the index nearer to the source's best chain, and not above `to` by itself. A fault that may pass is waited
    /// out here.
    ///
    /// # Errors
    /// The source cannot be followed any more, or the index fails.
    fn advance(&mut self, index: &mut OpenIndex, to: Option<Height>) -> Result<Reached, FollowError>;

    /// At the tip: waits until there may be another one, for a while at most, and follows the mempool if it knows of one.
    ///
    /// # Errors
    /// As for [`ActiveSource::advance`].
    fn wait(&mut self, index: &mut OpenIndex) -> Result<(), FollowError>;

    /// Makes sure that nothing is missing in the source below `to`, or below its tip: asked once the index is there.
    ///
    /// # Errors
    /// Something is, and what.
    fn check_complete(&self, index: &OpenIndex, to: Option<Height>) -> Result<(), FollowError>;

    /// Ends, however it went: what is known goes to disk.
    ///
    /// # Errors
    /// The index fails.
    fn end(self: Box<Self>, index: &mut OpenIndex) -> Result<(), FollowError>;
}
