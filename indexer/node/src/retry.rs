//! Retry policy.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::{Duration, Instant},
};

/// Retry policy for transient errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetryPolicy {
    /// Pause before the second attempt; each further one is twice as long.
    pub first: Duration,
    /// Longest pause.
    pub longest: Duration,
    /// No attempt starts later than this after the first one.
    pub total: Duration,
}

impl Default for RetryPolicy {
    /// Pauses from 50 ms to 3 s, for 30 s.
    fn default() -> Self {
        RetryPolicy {
            first: Duration::from_millis(50),
            longest: Duration::from_secs(3),
            total: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    /// One attempt only.
    pub const NONE: RetryPolicy = RetryPolicy { first: Duration::ZERO, longest: Duration::ZERO, total: Duration::ZERO };
}

pub(crate) struct Backoff {
    policy: RetryPolicy,
    started: Instant,
    pause: Duration,
}

impl Backoff {
    pub(crate) fn new(policy: RetryPolicy) -> Self {
        Backoff { policy, started: Instant::now(), pause: policy.first }
    }

    /// For how long there are further attempts.
    pub(crate) fn left(&self) -> Duration {
        self.policy.total.saturating_sub(self.started.elapsed())
    }

    /// The next pause: between half and all of its nominal length, so that clients that failed together do not retry
    /// together. `None` after the time limit.
    pub(crate) fn next_pause(&mut self) -> Option<Duration> {
        let nominal = self.pause.min(self.policy.longest);
        let pause = nominal / 2 + nominal.mul_f64(random_fraction() / 2.0);
        if self.started.elapsed() + pause >= self.policy.total {
            return None;
        }
        self.pause = nominal.saturating_mul(2);
        Some(pause)
    }
}

/// A random number in 0..1. The random keys of a hash map's hasher are good enough to spread pauses.
fn random_fraction() -> f64 {
    f64::from((RandomState::new().build_hasher().finish() >> 32) as u32) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let mut backoff = Backoff::new(RetryPolicy {
            first: Duration::from_millis(100),
            longest: Duration::from_millis(400),
            total: Duration::from_secs(1000),
        });
        for nominal in [100, 200, 400, 400, 400] {
            let pause = backoff.next_pause().unwrap();
            assert!(
                pause >= Duration::from_millis(nominal / 2) && pause <= Duration::from_millis(nominal),
                "{pause:?}"
            );
        }
        assert_eq!(Backoff::new(RetryPolicy::NONE).next_pause(), None);
    }

    #[test]
    fn pauses_differ() {
        let policy = RetryPolicy { first: Duration::from_secs(1), ..RetryPolicy::default() };
        let pauses: std::collections::BTreeSet<_> = (0..20).filter_map(|_| Backoff::new(policy).next_pause()).collect();
        assert!(pauses.len() > 10, "{pauses:?}");
    }
}
