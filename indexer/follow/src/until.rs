//! When the follower ends.

use cairn_model::Height;

/// When to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// When cancelled.
    Cancelled,
    /// At this height, waiting for it if need be.
    Height(Height),
    /// At the tip of the source as it is now, or at this height if that is lower.
    Tip {
        /// Highest height wanted.
        to: Option<Height>,
    },
}

impl Until {
    /// The highest height wanted, if there is one.
    #[must_use]
    pub fn highest(self) -> Option<Height> {
        match self {
            Until::Cancelled => None,
            Until::Height(to) => Some(to),
            Until::Tip { to } => to,
        }
    }
}
