//! Asking threads to stop, and waiting that ends at once when asked.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Whether to stop. Clones share the answer; once asked, it stays.
#[derive(Clone, Default, Debug)]
pub struct StopFlag(Arc<Inner>);

#[derive(Default, Debug)]
struct Inner {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl StopFlag {
    /// A flag that is not raised.
    #[must_use]
    pub fn new() -> Self {
        StopFlag::default()
    }

    /// Asks everybody who holds a clone to stop.
    pub fn stop(&self) {
        *self.0.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }

    /// Whether somebody asked.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        *self.0.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits this long, or until asked to stop; whether it was asked.
    #[must_use]
    pub fn wait(&self, at_most: Duration) -> bool {
        let until = Instant::now() + at_most;
        let mut stopped = self.0.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        while !*stopped {
            let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else { break };
            stopped = self.0.changed.wait_timeout(stopped, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *stopped
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn waiting_ends_when_asked() {
        let stop = StopFlag::new();
        assert!(!stop.wait(Duration::from_millis(5)));
        let other = stop.clone();
        let started = Instant::now();
        let waiting = thread::spawn(move || other.wait(Duration::from_secs(60)));
        thread::sleep(Duration::from_millis(20));
        stop.stop();
        assert!(waiting.join().unwrap());
        assert!(started.elapsed() < Duration::from_secs(10));
        assert!(stop.is_stopped() && stop.wait(Duration::from_secs(60)));
    }
}
