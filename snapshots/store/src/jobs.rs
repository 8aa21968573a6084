//! Jobs on threads.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use cairn_model::CancelToken;

use crate::StoreError;

/// Error of a job. [`StoreError`] has the cases of all jobs.
pub trait JobError: From<StoreError> + Send {
    /// True if the work was cancelled.
    fn is_cancelled(&self) -> bool;
}

/// Runs jobs, by number from 0, on threads. Each thread begins with a state of its own, which its jobs share. After an
/// error no further job begins.
///
/// # Errors
/// Returns the first error other than a cancellation, else the cancellation.
pub fn on_threads<S, E: JobError>(
    workers: usize,
    jobs: usize,
    cancel: &CancelToken,
    begin: impl Fn() -> Result<S, E> + Sync,
    job: impl Fn(&mut S, usize) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let mut state = begin()?;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= jobs || has_failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            if cancel.is_cancelled() {
                return Err(StoreError::Stopped.into());
            }
            job(&mut state, at)?;
        }
    };
    let until_failure = || work().inspect_err(|_| has_failed.store(true, Ordering::Relaxed));
    let ended = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers.clamp(1, jobs.max(1))).map(|_| scope.spawn(until_failure)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(StoreError::Panicked.into())))
            .collect::<Vec<_>>()
    });
    let mut errors: Vec<E> = ended.into_iter().filter_map(Result::err).collect();
    errors.sort_by_key(E::is_cancelled);
    errors.into_iter().next().map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    enum Failed {
        Stopped,
        Panicked,
        Job(usize),
    }

    impl From<StoreError> for Failed {
        fn from(error: StoreError) -> Self {
            if matches!(error, StoreError::Stopped) { Failed::Stopped } else { Failed::Panicked }
        }
    }

    impl JobError for Failed {
        fn is_cancelled(&self) -> bool {
            *self == Failed::Stopped
        }
    }

    #[test]
    fn every_job_runs_once_until_one_fails() {
        let never = CancelToken::never();
        let run = |workers, job: &(dyn Fn(usize) -> Result<(), Failed> + Sync)| {
            let begun = AtomicUsize::new(0);
            let done = on_threads(
                workers,
                100,
                &never,
                || Ok(()),
                |(), at| {
                    begun.fetch_add(1, Ordering::Relaxed);
                    job(at)
                },
            );
            (done, begun.into_inner())
        };
        for workers in [0, 1, 7, 200] {
            assert_eq!(run(workers, &|_| Ok(())), (Ok(()), 100));
        }
        assert_eq!(run(1, &|at| if at == 9 { Err(Failed::Job(9)) } else { Ok(()) }), (Err(Failed::Job(9)), 10));
        assert_eq!(run(1, &|at| if at == 3 { panic!("a job of a test") } else { Ok(()) }).0, Err(Failed::Panicked));
        // The failure is reported, not the cancellation of the others.
        let cancel = CancelToken::new();
        let done = on_threads(
            2,
            100,
            &cancel,
            || Ok(()),
            |(), at| {
                cancel.cancel();
                if at == 0 { Err(Failed::Job(0)) } else { Err(Failed::Stopped) }
            },
        );
        assert_eq!(done, Err(Failed::Job(0)));
        assert_eq!(on_threads(2, 1, &cancel, || Ok(()), |(), _| Ok(())), Err(Failed::Stopped));
        assert_eq!(on_threads(2, 5, &never, || Err::<(), _>(Failed::Job(7)), |(), _| Ok(())), Err(Failed::Job(7)));
    }
}
