//! A thread that keeps the projection of the next blocks fresh, so that no request has to make one.

use std::{
    io,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use cairn_model::CancelToken;

use super::MempoolSlot;

/// How often the thread looks whether it should end, and whether a projection that was put off is due.
const TICK: Duration = Duration::from_millis(250);

/// Keeps the projection of a mempool fresh until cancelled.
pub struct Projector(JoinHandle<()>);

impl Projector {
    /// Starts the thread.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(mempool: Arc<MempoolSlot>, cancel: &CancelToken) -> io::Result<Self> {
        let cancel = cancel.clone();
        let work = move || {
            while !cancel.is_cancelled() {
                mempool.keep_fresh(TICK);
            }
        };
        Ok(Projector(thread::Builder::new().name("projector".to_owned()).spawn(work)?))
    }

    /// Waits for its end, once it is cancelled. Returns whether it did not panic.
    #[must_use]
    pub fn join(self) -> bool {
        self.0.join().is_ok()
    }
}
