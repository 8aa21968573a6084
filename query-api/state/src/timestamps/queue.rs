//! The queue of hashes that one task of a process writes.

use std::{
    collections::VecDeque,
    mem,
    sync::atomic::{AtomicBool, AtomicU64},
};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::{
    StateError,
    timestamps::{hash::NewTimestamp, record::TimestampRecord},
};

/// Maximum number of hashes that wait for the task that writes.
pub const MAX_QUEUED_TIMESTAMPS: usize = 4_096;
/// Maximum number of hashes in one transaction.
const MAX_GROUP: usize = 512;

/// The record of a hash that was stored now; `None` if it was known, or if too many wait.
pub(super) type Answer = Result<Option<TimestampRecord>, StateError>;

/// A hash that waits for the task that writes.
pub(super) struct Queued {
    pub(super) new: NewTimestamp,
    pub(super) now: i64,
    pub(super) answer: oneshot::Sender<Answer>,
}

#[derive(Default)]
pub(crate) struct SubmitQueue {
    inner: Mutex<Inner>,
    /// Groups so far.
    pub(super) groups: AtomicU64,
    /// True if too many hashes wait for a batch.
    pub(super) is_full: AtomicBool,
}

#[derive(Default)]
struct Inner {
    queued: VecDeque<Queued>,
    is_writing: bool,
}

impl SubmitQueue {
    /// Adds a hash. Returns true if the caller must start the task that writes.
    ///
    /// # Errors
    /// Fails if too many wait.
    pub(super) fn add(&self, queued: Queued) -> Result<bool, StateError> {
        let mut inner = self.inner.lock();
        if inner.queued.len() >= MAX_QUEUED_TIMESTAMPS {
            return Err(StateError::Busy);
        }
        inner.queued.push_back(queued);
        Ok(!mem::replace(&mut inner.is_writing, true))
    }

    /// Notes that the task that writes has ended early: the next hash starts another one.
    pub(super) fn end(&self) {
        self.inner.lock().is_writing = false;
    }

    /// Takes the next group; `None` ends the task that writes.
    pub(super) fn take(&self) -> Option<Vec<Queued>> {
        let mut inner = self.inner.lock();
        if inner.queued.is_empty() {
            inner.is_writing = false;
            return None;
        }
        let group = inner.queued.len().min(MAX_GROUP);
        Some(inner.queued.drain(..group).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timestamps::hash::TimestampSource;

    #[test]
    fn the_queue_is_bounded_and_has_one_writer() {
        let queue = SubmitQueue::default();
        let queued = || {
            let new = NewTimestamp { network: "regtest", hash: vec![7; 32], source: TimestampSource::Api };
            Queued { new, now: 1, answer: oneshot::channel().0 }
        };
        assert!(queue.add(queued()).is_ok_and(|starts| starts), "the first starts the writer");
        for _ in 1..MAX_QUEUED_TIMESTAMPS {
            assert!(queue.add(queued()).is_ok_and(|starts| !starts));
        }
        assert!(matches!(queue.add(queued()), Err(StateError::Busy)));
        let mut taken = 0;
        while let Some(group) = queue.take() {
            assert!((1..=MAX_GROUP).contains(&group.len()));
            taken += group.len();
        }
        assert_eq!(taken, MAX_QUEUED_TIMESTAMPS);
        assert!(queue.add(queued()).is_ok_and(|starts| starts), "the writer has ended");
    }
}
