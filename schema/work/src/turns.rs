//! Turns of long work. Without them, a client with many long requests has as many threads at the processors, and a
//! short request waits behind all of them at each hand-over.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Processor time of work that needs no turn.
pub const SHORT: Duration = Duration::from_millis(4);

/// Limits how many threads go on with long work at the same time.
#[derive(Debug)]
pub struct Turns {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Turns {
    /// Number of concurrent turns.
    #[must_use]
    pub fn of(places: usize) -> Self {
        Turns { free: Mutex::new(places), freed: Condvar::new() }
    }

    /// Takes a turn, or returns false after this time without one.
    pub(crate) fn take(&self, within: Duration) -> bool {
        let mut free = self.free.lock();
        self.freed.wait_while_for(&mut free, |free| *free == 0, within);
        let is_mine = *free > 0;
        *free -= usize::from(is_mine);
        is_mine
    }

    /// Gives it back.
    pub(crate) fn give(&self) {
        *self.free.lock() += 1;
        self.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, thread, time::Instant};

    use super::*;
    use crate::{Limits, Stopped, Work};

    /// Uses processor time until a poll fails, or until it has used this much.
    fn busy(work: &Work, for_so_long: Duration) -> Result<(), Stopped> {
        let mut sum = 1u64;
        while work.used().processor < for_so_long {
            sum = (0..1_000u64).fold(sum, |sum, n| sum.rotate_left(3) ^ n);
            work.poll()?;
        }
        assert!(sum > 0);
        Ok(())
    }

    fn begun(turns: &Arc<Turns>, limits: Limits) -> Work {
        let work = Work::within(limits).in_turns(Arc::clone(turns), 1);
        work.begin();
        work
    }

    #[test]
    fn long_work_waits_and_short_work_does_not() {
        let turns = Arc::new(Turns::of(1));
        let first = begun(&turns, Limits::NONE);
        assert_eq!(busy(&first, SHORT * 2), Ok(()));
        thread::scope(|scope| {
            let second = scope.spawn(|| {
                let short = begun(&turns, Limits::NONE);
                assert_eq!(busy(&short, SHORT / 2), Ok(()));
                let long = begun(&turns, Limits::NONE);
                let done = busy(&long, SHORT * 2);
                (done, Instant::now())
            });
            thread::sleep(Duration::from_millis(100));
            assert!(!second.is_finished(), "it has the first one's turn");
            let freed = Instant::now();
            drop(first);
            let (done, at) = second.join().unwrap_or((Err(Stopped::Late), freed));
            assert!(done.is_ok() && at >= freed);
        });
    }

    #[test]
    fn requests_of_one_client_share_the_time_without_a_turn() {
        let turns = Arc::new(Turns::of(0));
        let of = |requests| {
            let limits = Limits { time: Duration::from_millis(50), ..Limits::NONE };
            let work = Work::within(limits).in_turns(Arc::clone(&turns), requests);
            work.begin();
            work
        };
        assert_eq!(busy(&of(1), SHORT / 2), Ok(()));
        assert_eq!(busy(&of(4), SHORT / 2), Err(Stopped::Late));
    }

    #[test]
    fn a_large_row_is_decoded_in_turn() {
        let work = begun(&Arc::new(Turns::of(0)), Limits { time: Duration::from_millis(50), ..Limits::NONE });
        assert_eq!(work.read(64 << 10), Ok(()));
        assert_eq!(work.read(1 << 20), Err(Stopped::Late));
    }

    #[test]
    fn who_waits_for_a_turn_still_ends() {
        let turns = Arc::new(Turns::of(0));
        let late = begun(&turns, Limits { time: Duration::from_millis(50), ..Limits::NONE });
        assert_eq!(busy(&late, SHORT * 2), Err(Stopped::Late));
        let left = begun(&turns, Limits::NONE);
        drop(left.guard());
        assert_eq!(busy(&left, SHORT * 2), Err(Stopped::Abandoned));
    }
}
