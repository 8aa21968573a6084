//! A database that cannot be used for a while: reported once, and tried again after growing pauses.

use std::{fmt::Display, time::Duration};

/// The pause after the first failure; doubles.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// Whether the repeated work of a thread fails at present.
pub(super) struct Outage {
    /// The work that fails, as the beginning of a sentence.
    what: &'static str,
    /// The pause before the last try; `None` if that went well.
    pause: Option<Duration>,
}

impl Outage {
    /// For this work, which has not failed yet.
    pub(super) fn of(what: &'static str) -> Self {
        Outage { what, pause: None }
    }

    /// Notes that a try succeeded.
    pub(super) fn is_over(&mut self) {
        if self.pause.take().is_some() {
            tracing::info!("{} again", self.what);
        }
    }

    /// Notes that a try failed, and returns the pause before the next one.
    pub(super) fn goes_on(&mut self, error: &dyn Display) -> Duration {
        let pause = match self.pause {
            None => {
                tracing::warn!(%error, "{}: not possible; it is tried again, and this is not repeated", self.what);
                FIRST
            }
            Some(before) => (before * 2).min(LONGEST),
        };
        self.pause = Some(pause);
        pause
    }

    /// True if the last try failed.
    pub(super) fn is_on(&self) -> bool {
        self.pause.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_begin_anew() {
        let mut outage = Outage::of("something");
        let pauses: Vec<u64> = (0..8).map(|_| outage.goes_on(&"no").as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert!(outage.is_on());
        outage.is_over();
        assert!(!outage.is_on());
        assert_eq!(outage.goes_on(&"no"), FIRST);
    }
}
