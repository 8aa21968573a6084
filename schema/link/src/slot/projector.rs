//! A thread that keeps the projection of the next blocks current, so that no request has to compute it.

use std::{
    io,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use cairn_model::CancelToken;

use super::MempoolSlot;

/// Interval of checks for cancellation and for a deferred projection.
const TICK: Duration = Duration::from_millis(250);

/// Keeps the projection of a mempool current until cancelled.
pub struct Projector(JoinHandle<()>);

impl Projector {
    /// Starts the thread.
    pub fn start(mempool: Arc<MempoolSlot>, cancel: &CancelToken) -> io::Result<Self> {
        let cancel = cancel.clone();
        let work = move || {
            while !cancel.is_cancelled() {
                mempool.keep_fresh(TICK);
            }
        };
        Ok(Projector(thread::Builder::new().name("projector".to_owned()).spawn(work)?))
    }

    /// Waits for its end after cancellation. Returns false if it panicked.
    #[must_use]
    pub fn join(self) -> bool {
        self.0.join().is_ok()
    }
}
