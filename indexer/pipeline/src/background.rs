//! Work on the whole index that is done in a thread beside new blocks.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    thread::JoinHandle,
};

use cairn_model::{CancelToken, Height};
use parking_lot::Mutex;

use crate::PipelineError;

/// Blocks after which work that failed is tried again.
const REST: u32 = 6;

/// Result of the work; `None` while it cannot be done.
pub(crate) type Outcome<M> = Result<Option<M>, PipelineError>;

/// Work that makes something, or that is waited for. The thread ends with this.
pub(crate) struct Background<M> {
    thread: Mutex<Option<Thread<M>>>,
    rests_until: AtomicU32,
}

impl<M> Default for Background<M> {
    fn default() -> Self {
        Background { thread: Mutex::default(), rests_until: AtomicU32::new(0) }
    }
}

struct Thread<M> {
    cancel: CancelToken,
    handle: Option<JoinHandle<Outcome<M>>>,
}

impl<M> Drop for Thread<M> {
    fn drop(&mut self) {
        self.cancel.cancel();
        // Its result is no longer needed.
        self.handle.take().map(JoinHandle::join);
    }
}

impl<M: Send + 'static> Background<M> {
    /// Takes the result of the thread if it is done, or waits for it if `waits`; `None` if there is nothing to take.
    pub(crate) fn take(&self, waits: bool) -> Option<Outcome<M>> {
        let mut thread = self.thread.lock();
        let is_done = |thread: &Thread<M>| waits || thread.handle.as_ref().is_none_or(JoinHandle::is_finished);
        let mut done = thread.take_if(|thread| is_done(thread))?;
        // A thread that panicked has made nothing, and has said so.
        Some(done.handle.take().and_then(|handle| handle.join().ok()).unwrap_or(Ok(None)))
    }

    /// True if a thread is at work, or work failed at one of the last blocks.
    pub(crate) fn is_busy(&self, tip: Height) -> bool {
        let is_resting = tip < self.rests_until.load(Ordering::Relaxed);
        is_resting || self.thread.lock().is_some()
    }

    /// Notes that work failed with this tip.
    pub(crate) fn rest(&self, tip: Height) {
        self.rests_until.store(tip.saturating_add(REST), Ordering::Relaxed);
    }

    /// Begins work in a thread. If the system has no thread, it is tried again later.
    pub(crate) fn start(&self, name: &str, work: impl FnOnce(&CancelToken) -> Outcome<M> + Send + 'static) {
        let cancel = CancelToken::new();
        let stop = cancel.clone();
        match std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&stop)) {
            Ok(handle) => {
                let thread = Thread { cancel, handle: Some(handle) };
                *self.thread.lock() = Some(thread);
            }
            Err(error) => tracing::error!(%error, name, "no thread for work beside new blocks; it is tried again"),
        }
    }
}
