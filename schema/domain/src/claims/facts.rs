//! Facts about a script besides its claims.

use super::At;

/// Facts about a script besides its claims, which its card depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// The time asked about, and the time until which documents count.
    pub at: At,
    /// True if the chain or the mempool has seen the script.
    pub has_history: bool,
    /// True if the claims were looked up. False where they cannot be.
    pub examined: bool,
    /// True if the chain shows a behaviour of the script.
    pub has_signals: bool,
    /// True if the script has exposure to flagged ones.
    pub has_indirect_exposure: bool,
    /// When the feed of sanctions was last checked, in seconds since 1970. `None` if there is none.
    pub feed_checked_at: Option<u32>,
}
