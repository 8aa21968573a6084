//! Parts of a request with budgets of their own: one that uses too much does not take the others with it.

use std::time::{Duration, Instant};

use crate::{Limits, Stopped, Work};

/// A share of what is left: `of` parts in `all`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Parts that this one gets.
    pub of: u32,
    /// All parts that are still to come, this one included.
    pub all: u32,
}

impl Share {
    fn number(self, left: u64) -> u64 {
        left / u64::from(self.all.max(1)) * u64::from(self.of.min(self.all))
    }

    fn time(self, left: Duration) -> Duration {
        (left / self.all.max(1)).saturating_mul(self.of.min(self.all))
    }
}

impl Stopped {
    /// True if a clock has stopped the work, not a count: another machine may get further.
    #[must_use]
    pub fn is_of_time(&self) -> bool {
        matches!(self, Stopped::Late | Stopped::Processor(_))
    }
}

impl Work {
    /// Does a part of the work within a share of what is left of time, processor time, rows and bytes. Returns the
    /// result, and the limit that the part has passed, if any: the rest of the work goes on after that. Work that
    /// stops for another reason (nobody waits, the answer is too large, there is no memory) stays stopped.
    pub fn part<T>(&self, share: Share, run: impl FnOnce() -> T) -> (T, Option<Stopped>) {
        let (whole, started, ends_at) = (self.limits.get(), self.started.get(), self.ends_at.get());
        let used = self.used();
        let number = |most: u64, used: u64| used.saturating_add(share.number(most.saturating_sub(used)));
        let processor = share.time(whole.processor.saturating_sub(used.processor));
        self.limits.set(Limits {
            processor: used.processor.saturating_add(processor),
            rows: number(whole.rows, used.rows),
            bytes: number(whole.bytes, used.bytes),
            ..whole
        });
        let now = Instant::now();
        self.ends_at.set(ends_at.and(now.checked_add(share.time(self.left()))));
        self.started.set(now);
        let result = run();
        self.limits.set(whole);
        self.started.set(started);
        self.ends_at.set(ends_at);
        let stopped = self.stopped.get();
        let is_own = |stopped: &Stopped| {
            matches!(stopped, Stopped::Late | Stopped::Processor(_) | Stopped::Rows(_) | Stopped::Bytes(_))
        };
        let own = stopped.filter(is_own);
        if own.is_some() {
            // Limits of the whole that were passed as well are noticed by the next look.
            self.stopped.set(None);
        }
        (result, own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_stops_alone() {
        let work = Work::within(Limits { rows: 100, bytes: 1_000, ..Limits::NONE });
        let half = Share { of: 1, all: 2 };
        let (read, stopped) = work.part(half, || (0..100).take_while(|_| work.row().is_ok()).count());
        assert_eq!((read, stopped), (50, Some(Stopped::Rows(50))));
        // The row that was refused counts as well.
        let (read, stopped) =
            work.part(Share { of: 1, all: 1 }, || (0..100).take_while(|_| work.row().is_ok()).count());
        assert_eq!((read, stopped), (49, Some(Stopped::Rows(100))));
        assert_eq!(work.row(), Err(Stopped::Rows(100)));
        let work = Work::within(Limits { bytes: 1_000, ..Limits::NONE });
        let (read, stopped) = work.part(half, || work.read(501));
        assert_eq!((read, stopped), (Err(Stopped::Bytes(500)), Some(Stopped::Bytes(500))));
        assert_eq!(work.read(499), Ok(()));
    }

    #[test]
    fn the_time_of_a_part_is_its_own() {
        let work = Work::within(Limits { time: Duration::from_millis(200), ..Limits::NONE });
        let (_, stopped) = work.part(Share { of: 1, all: 20 }, || {
            std::thread::sleep(Duration::from_millis(15));
            (0..100).all(|_| work.poll().is_ok())
        });
        assert_eq!(stopped, Some(Stopped::Late));
        let (elapsed, stopped) = work.part(Share { of: 1, all: 1 }, || work.elapsed());
        assert!(elapsed < Duration::from_millis(15) && stopped.is_none());
        assert!((0..100).all(|_| work.poll().is_ok()) && work.elapsed() >= Duration::from_millis(15));
    }

    #[test]
    fn work_that_nobody_waits_for_stays_stopped() {
        let work = Work::within(Limits::NONE);
        let waits = work.guard();
        let (_, stopped) = work.part(Share { of: 1, all: 2 }, || {
            drop(waits);
            work.poll()
        });
        assert_eq!((stopped, work.poll()), (None, Err(Stopped::Abandoned)));
    }
}
