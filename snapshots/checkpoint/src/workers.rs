//! Jobs on threads.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use cairn_model::CancelToken;

use crate::CheckpointError;

/// Runs jobs, by number from 0, on threads. After an error no further job begins.
///
/// # Errors
/// The first error that is not that of a cancellation, else that.
pub(crate) fn on_threads(
    workers: usize,
    jobs: usize,
    cancel: &CancelToken,
    job: impl Fn(usize) -> Result<(), CheckpointError> + Sync,
) -> Result<(), CheckpointError> {
    let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= jobs || has_failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            if cancel.is_cancelled() {
                return Err(CheckpointError::Stopped);
            }
            job(at).inspect_err(|_| has_failed.store(true, Ordering::Relaxed))?;
        }
    };
    let ended = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers.clamp(1, jobs.max(1))).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(Err(CheckpointError::Panicked))).collect::<Vec<_>>()
    });
    let mut errors: Vec<CheckpointError> = ended.into_iter().filter_map(Result::err).collect();
    errors.sort_by_key(CheckpointError::is_cancelled);
    errors.into_iter().next().map_or(Ok(()), Err)
}
