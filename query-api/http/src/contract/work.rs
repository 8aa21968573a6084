//! How long a request may work. Whatever runs through many rows asks now and then whether it may go on, and ends soon
//! after its time is over or its client has gone.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::answers::{code::ErrorCode, error::ApiError};

/// Asks between two looks at the clock.
const STRIDE: u32 = 64;

/// The work of one request.
#[derive(Debug)]
pub struct Work {
    ends_at: Instant,
    gone: Arc<AtomicBool>,
    asked: Cell<u32>,
}

impl Work {
    /// Work that may take so long from now on.
    #[must_use]
    pub fn within(limit: Duration) -> Self {
        let now = Instant::now();
        // Nobody waits for years.
        let ends_at = now.checked_add(limit).unwrap_or(now + Duration::from_secs(86_400));
        Work { ends_at, gone: Arc::default(), asked: Cell::new(0) }
    }

    /// Says that nobody waits for it any more, once this is dropped.
    pub(crate) fn guard(&self) -> Abandon {
        Abandon(Arc::clone(&self.gone))
    }

    /// Whether the work may go on. Cheap enough for every row.
    ///
    /// # Errors
    /// 504 `timeout`: its time is over, or nobody waits for it any more.
    pub fn poll(&self) -> Result<(), ApiError> {
        if self.gone.load(Ordering::Relaxed) {
            return Err(timed_out());
        }
        let asked = self.asked.get().wrapping_add(1);
        self.asked.set(asked);
        if asked.is_multiple_of(STRIDE) && Instant::now() >= self.ends_at {
            return Err(timed_out());
        }
        Ok(())
    }

    /// What is left of its time.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.ends_at.saturating_duration_since(Instant::now())
    }
}

/// Ends the work when it is dropped.
#[derive(Debug)]
pub(crate) struct Abandon(Arc<AtomicBool>);

impl Drop for Abandon {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What a request is told whose time is over.
pub(crate) fn timed_out() -> ApiError {
    ApiError::new(ErrorCode::Timeout, "the answer took longer than the time limit of a request").retryable(Some(1))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn work_ends_when_its_time_is_over() {
        let work = Work::within(Duration::ZERO);
        let polls = (0..=STRIDE).take_while(|_| work.poll().is_ok()).count();
        assert!(polls < STRIDE as usize && work.left() == Duration::ZERO);
        let work = Work::within(Duration::from_secs(3600));
        assert!((0..1000).all(|_| work.poll().is_ok()));
    }

    #[test]
    fn work_ends_when_nobody_waits() {
        let work = Work::within(Duration::MAX);
        let waits = work.guard();
        work.poll().unwrap();
        drop(waits);
        assert_eq!(work.poll().unwrap_err().code, ErrorCode::Timeout);
    }
}
