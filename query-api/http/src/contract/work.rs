//! Time limit of a request's work. Loops over many rows poll it, and end soon after the time limit or after the client
//! has disconnected.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::answers::{code::ErrorCode, error::ApiError};

/// Polls between two readings of the clock.
const STRIDE: u32 = 64;

/// The work of one request.
#[derive(Debug)]
pub struct Work {
    ends_at: Instant,
    gone: Arc<AtomicBool>,
    asked: Cell<u32>,
}

impl Work {
    /// Work with this time limit from now.
    #[must_use]
    pub fn within(limit: Duration) -> Self {
        let now = Instant::now();
        // Nobody waits for years.
        let ends_at = now.checked_add(limit).unwrap_or(now + Duration::from_secs(86_400));
        Work { ends_at, gone: Arc::default(), asked: Cell::new(0) }
    }

    /// A guard that ends the work when it is dropped.
    pub(crate) fn guard(&self) -> Abandon {
        Abandon(Arc::clone(&self.gone))
    }

    /// Checks if the work may continue. Cheap enough for every row.
    ///
    /// # Errors
    /// 504 `timeout`: the time limit has passed, or the client has disconnected.
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

    /// Remaining time.
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

/// The error after the time limit.
pub(crate) fn timed_out() -> ApiError {
    ApiError::new(ErrorCode::Timeout, "the answer took longer than the request timeout").retryable(Some(1))
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
