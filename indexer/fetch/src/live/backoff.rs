//! How long a server is left alone that did not answer well.

use std::time::Duration;

/// After the first failure, in seconds.
const FIRST: u32 = 60;
/// At most, unless the server asks for more.
const MAX: u32 = 3_600;

/// Failures in a row, and until when to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    until: u32,
}

impl Backoff {
    /// True if it may be asked again.
    pub(super) fn is_open(&self, now: u32) -> bool {
        // A clock that was set back does not close it for ever.
        now >= self.until || self.until - now > 25 * MAX
    }

    /// Until when it is left alone, in seconds since 1970.
    pub(super) fn until(&self) -> u32 {
        self.until
    }

    pub(super) fn succeeded(&mut self) {
        *self = Backoff::default();
    }

    /// Waits twice as long as the last time, a fifth more or less, and at least as long as the server asks for.
    /// `chance` is any number.
    pub(super) fn failed(&mut self, now: u32, asked: Option<Duration>, chance: u32) {
        let wait = FIRST.saturating_mul(1 << self.failures.min(16)).min(MAX);
        // From 80 % to 120 %.
        let wait = wait * (80 + chance % 41) / 100;
        let asked = asked.map_or(0, |asked| u32::try_from(asked.as_secs()).unwrap_or(u32::MAX));
        self.failures = self.failures.saturating_add(1);
        self.until = now.saturating_add(wait.max(asked.saturating_add(1)));
    }
}

/// Any number; the same one if the system has none.
pub(super) fn chance() -> u32 {
    getrandom::u32().unwrap_or(20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_waits_longer_each_time_and_as_long_as_it_is_asked() {
        let mut backoff = Backoff::default();
        assert!(backoff.is_open(0));
        let mut before = 0;
        for round in 0..20 {
            backoff.failed(1_000, None, 20);
            let wait = backoff.until() - 1_000;
            assert!(wait >= before && wait <= MAX, "{round}: {wait}");
            before = wait;
        }
        assert!(!backoff.is_open(1_000) && backoff.is_open(1_000 + MAX));
        backoff.succeeded();
        assert!(backoff.is_open(1_000));
        backoff.failed(1_000, Some(Duration::from_secs(7_200)), 0);
        assert!(!backoff.is_open(1_000 + 7_200) && backoff.is_open(1_000 + 7_201));
        // Never both at once.
        let waits: std::collections::BTreeSet<u32> = (0..41)
            .map(|chance| {
                let mut backoff = Backoff::default();
                backoff.failed(0, None, chance);
                backoff.until()
            })
            .collect();
        assert!(waits.len() > 20 && waits.iter().all(|wait| (40..=90).contains(wait)), "{waits:?}");
    }
}
