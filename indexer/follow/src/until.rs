//! End conditions of the follower.

use cairn_model::Height;

/// End condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// When cancelled.
    Cancelled,
    /// At this height; waits for it if necessary.
    Height(Height),
    /// At the current tip of the source, or at this height if it is lower.
    Tip {
        /// Highest height wanted.
        to: Option<Height>,
    },
}

impl Until {
    /// The highest height wanted, if any.
    #[must_use]
    pub fn highest(self) -> Option<Height> {
        match self {
            Until::Cancelled => None,
            Until::Height(to) => Some(to),
            Until::Tip { to } => to,
        }
    }
}
