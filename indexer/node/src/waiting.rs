//! Requests that have no answer yet: a node that is silent shows before the request fails.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Requests with a longer limit are expected to take long, and do not count.
const LONG: Duration = Duration::from_secs(120);

/// The requests of a client, oldest first.
#[derive(Default)]
pub(crate) struct Waiting(Mutex<Requests>);

#[derive(Default)]
struct Requests {
    next: u64,
    all: Vec<(u64, String, Instant)>,
}

impl Waiting {
    /// Notes a request until the result is dropped.
    pub(crate) fn begin(&self, what: &str, limit: Duration) -> Request<'_> {
        let mut requests = self.0.lock();
        let number = requests.next;
        requests.next += 1;
        if limit <= LONG {
            requests.all.push((number, what.to_owned(), Instant::now()));
        }
        Request { waiting: self, number }
    }

    /// The oldest request without an answer, and for how long it has none.
    pub(crate) fn oldest(&self) -> Option<(String, Duration)> {
        self.0.lock().all.first().map(|(_, what, since)| (what.clone(), since.elapsed()))
    }
}

/// A request that has no answer yet.
pub(crate) struct Request<'w> {
    waiting: &'w Waiting,
    number: u64,
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        self.waiting.0.lock().all.retain(|(number, ..)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_counts_until_it_ends() {
        let waiting = Waiting::default();
        assert!(waiting.oldest().is_none());
        let hours = waiting.begin("gettxoutsetinfo", LONG * 2);
        assert!(waiting.oldest().is_none());
        let first = waiting.begin("first", LONG);
        let second = waiting.begin("second", LONG);
        let oldest = || waiting.oldest().map(|(what, _)| what);
        assert_eq!(oldest().as_deref(), Some("first"));
        drop(first);
        assert_eq!(oldest().as_deref(), Some("second"));
        drop((second, hours));
        assert!(oldest().is_none());
    }
}
