//! Jobs on threads.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use cairn_model::CancelToken;
use cairn_reader::{Reader, View};

use crate::ExportError;

/// Runs jobs, by number from 0, on threads with views of their own. After an error no further job begins.
///
/// # Errors
/// The first error that is not that of a cancellation, else that.
pub(crate) fn on_threads(
    reader: &Reader,
    workers: usize,
    jobs: usize,
    cancel: &CancelToken,
    job: impl Fn(&View<'_>, usize) -> Result<(), ExportError> + Sync,
) -> Result<(), ExportError> {
    let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let view = reader.view()?;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= jobs || has_failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            if cancel.is_cancelled() {
                return Err(ExportError::Stopped);
            }
            job(&view, at)?;
        }
    };
    let ended = thread::scope(|scope| {
        let until_failure = || {
            let done = work();
            has_failed.fetch_or(done.is_err(), Ordering::Relaxed);
            done
        };
        let threads: Vec<_> = (0..workers.clamp(1, jobs.max(1))).map(|_| scope.spawn(until_failure)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(Err(ExportError::Panicked))).collect::<Vec<_>>()
    });
    let mut errors: Vec<ExportError> = ended.into_iter().filter_map(Result::err).collect();
    errors.sort_by_key(ExportError::is_cancelled);
    errors.into_iter().next().map_or(Ok(()), Err)
}
