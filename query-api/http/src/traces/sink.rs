//! Receives the spans of requests, and hands them to whoever exports them.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    time::Duration,
};

use super::span::Span;

/// Most requests whose spans wait for the exporter: further ones are dropped.
const MAX_WAITING: usize = 256;

/// Takes spans of a share of the requests. A request never waits for it.
#[derive(Clone)]
pub struct Traces(Arc<Inner>);

struct Inner {
    /// Share of the requests, from 0 to 1.
    share: f64,
    /// Ids are hashes with keys of this process: unique, and not to be guessed.
    keys: RandomState,
    sender: SyncSender<Vec<Span>>,
    dropped: Arc<AtomicU64>,
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traces").field("share", &self.0.share).finish_non_exhaustive()
    }
}

impl Traces {
    /// Traces this share of the requests (0 to 1). Spans that cannot be exported are added to `dropped`.
    #[must_use]
    pub fn new(share: f64, dropped: Arc<AtomicU64>) -> (Self, TraceQueue) {
        let (sender, receiver) = sync_channel(MAX_WAITING);
        let queue = TraceQueue { receiver, dropped: Arc::clone(&dropped) };
        (Traces(Arc::new(Inner { share, keys: RandomState::new(), sender, dropped })), queue)
    }

    /// True if the request with this id is traced.
    pub(crate) fn samples(&self, id: &str) -> bool {
        let drawn = self.0.keys.hash_one(("sample", id)) >> 11;
        (drawn as f64) < self.0.share * (1_u64 << 53) as f64
    }

    /// The `n`-th id of a request; never zero, which is not valid.
    pub(crate) fn id(&self, request: &str, n: u64) -> [u8; 8] {
        self.0.keys.hash_one(("id", request, n)).max(1).to_be_bytes()
    }

    /// Hands spans over, or drops them if too many wait.
    pub(crate) fn send(&self, spans: Vec<Span>) {
        let count = spans.len() as u64;
        if self.0.sender.try_send(spans).is_err() {
            self.count_dropped(count);
        }
    }

    /// Counts spans that are not exported.
    pub(crate) fn count_dropped(&self, spans: u64) {
        self.0.dropped.fetch_add(spans, Ordering::Relaxed);
    }
}

/// Spans that wait for the exporter.
#[derive(Debug)]
pub struct TraceQueue {
    receiver: Receiver<Vec<Span>>,
    dropped: Arc<AtomicU64>,
}

impl TraceQueue {
    /// Waits for the spans of a request.
    ///
    /// # Errors
    /// Fails if the time is over, or if no further spans can come.
    pub fn next(&self, wait: Duration) -> Result<Vec<Span>, RecvTimeoutError> {
        self.receiver.recv_timeout(wait)
    }

    /// Counts spans that could not be exported.
    pub fn count_dropped(&self, spans: usize) {
        self.dropped.fetch_add(spans as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span() -> Span {
        Span {
            trace: [1; 16],
            id: [1; 8],
            parent: None,
            name: String::new(),
            is_server: true,
            start: 0,
            end: 0,
            attributes: Vec::new(),
            has_failed: false,
        }
    }

    #[test]
    fn spans_beyond_the_queue_are_dropped_and_counted() {
        let dropped = Arc::new(AtomicU64::new(0));
        let (traces, queue) = Traces::new(1.0, Arc::clone(&dropped));
        for _ in 0..MAX_WAITING + 3 {
            traces.send(vec![span(), span()]);
        }
        assert_eq!(dropped.load(Ordering::Relaxed), 6);
        assert_eq!(queue.next(Duration::ZERO).unwrap().len(), 2);
        traces.send(vec![span()]);
        assert_eq!(dropped.load(Ordering::Relaxed), 6);
        drop(queue);
        traces.send(vec![span()]);
        assert_eq!(dropped.load(Ordering::Relaxed), 7);
    }

    #[test]
    fn the_share_is_kept() {
        for (share, least, most) in [(0.0, 0, 0), (0.1, 700, 1300), (1.0, 10_000, 10_000)] {
            let (traces, _queue) = Traces::new(share, Arc::default());
            let sampled = (0..10_000).filter(|n| traces.samples(&format!("{n}"))).count();
            assert!((least..=most).contains(&sampled), "{share}: {sampled}");
        }
    }
}
