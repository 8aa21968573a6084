//! What operations do, on threads that may block.
//!
//! To wake a thread for each request costs a quarter of a short request's processor time at load. So threads take short work
//! one after the other: one if hardly anything waits, else as many as there are processors. Work that takes long does not
//! count: what comes meanwhile gets a thread. If what was thought to be short takes long, for example because the disk is
//! slow, a look each millisecond finds that nothing was taken, and adds a thread. See ADR 33.

use std::{
    collections::{HashMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{Result as ThreadResult, available_parallelism},
    time::{Duration, Instant},
};

use tokio::{
    runtime::Handle,
    sync::oneshot::{self, error::RecvError},
    task::spawn_blocking,
    time::sleep,
};

/// Work that has taken so long is not short.
const SHORT: Duration = Duration::from_millis(1);

type Job = Box<dyn FnOnce() + Send>;

/// A queue of work, and the threads that take it: those of the runtime that may block.
#[derive(Clone)]
pub(crate) struct WorkQueue {
    state: Arc<Mutex<State>>,
    /// Most threads that take short work.
    most: usize,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    /// When each thread took what it is at.
    busy: HashMap<u64, Instant>,
    /// Threads so far.
    threads: u64,
    /// Jobs that were taken so far.
    taken: u64,
    /// True while somebody looks whether the queue moves.
    is_watched: bool,
}

/// What a push makes necessary.
struct Needs {
    thread: Option<u64>,
    watch: bool,
}

impl State {
    fn push(&mut self, job: Job, most: usize, now: Instant) -> Needs {
        self.waiting.push_back(job);
        let short = self.busy.values().filter(|began| now.duration_since(**began) < SHORT).count();
        // One job may wait for a thread that is at its end: it was mostly interrupted by the very client that asks again.
        let enough = if self.waiting.len() > 1 { most } else { 1 };
        let thread = (short < enough).then(|| self.begin(now));
        let watch = thread.is_none() && !self.is_watched;
        self.is_watched |= watch;
        Needs { thread, watch }
    }

    /// A thread is about to take something.
    fn begin(&mut self, now: Instant) -> u64 {
        self.threads += 1;
        self.busy.insert(self.threads, now);
        self.threads
    }

    /// What a thread takes next. If there is nothing, it ends.
    fn take(&mut self, thread: u64) -> Option<Job> {
        let Some(job) = self.waiting.pop_front() else {
            self.busy.remove(&thread);
            return None;
        };
        self.taken += 1;
        self.busy.insert(thread, Instant::now());
        Some(job)
    }
}

impl WorkQueue {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        WorkQueue::with(available_parallelism().map_or(1, usize::from))
    }

    fn with(most: usize) -> Self {
        WorkQueue { state: Arc::default(), most }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does work on a thread that may block. It is done even if nobody waits for it any more. Inside is what the work
    /// returns, or its panic.
    ///
    /// # Errors
    /// The runtime ended before.
    pub(crate) async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<ThreadResult<R>, RecvError> {
        let (done, waits) = oneshot::channel();
        let job = Box::new(move || drop(done.send(catch_unwind(AssertUnwindSafe(work)))));
        let Needs { thread, watch } = self.state().push(job, self.most, Instant::now());
        if let Some(thread) = thread {
            self.start(thread);
        } else if watch {
            Handle::current().spawn(self.clone().watch());
        }
        waits.await
    }

    fn start(&self, thread: u64) {
        let queue = self.clone();
        spawn_blocking(move || {
            loop {
                let Some(job) = queue.state().take(thread) else { break };
                job();
            }
        });
    }

    /// Adds a thread whenever something waits and nothing was taken for a while.
    async fn watch(self) {
        let mut taken = self.state().taken;
        loop {
            sleep(SHORT).await;
            let thread = {
                let mut state = self.state();
                if state.waiting.is_empty() {
                    state.is_watched = false;
                    return;
                }
                let stands = state.taken == taken;
                taken = state.taken;
                stands.then(|| state.begin(Instant::now()))
            };
            thread.into_iter().for_each(|thread| self.start(thread));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
    };

    use tokio::task::JoinSet;

    use super::*;

    fn settled(queue: &WorkQueue) -> bool {
        let state = queue.state();
        state.busy.is_empty() && state.waiting.is_empty() && !state.is_watched
    }

    async fn settle(queue: &WorkQueue) {
        while !settled(queue) {
            sleep(SHORT).await;
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn everything_is_done_once_and_nothing_is_left() {
        let queue = WorkQueue::with(2);
        let (done, mut all) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
        for at in 0..10_000usize {
            let (queue, done) = (queue.clone(), Arc::clone(&done));
            all.spawn(async move {
                let work = move || {
                    done.fetch_add(1, Ordering::Relaxed);
                    at
                };
                assert_eq!(queue.run(work).await.unwrap().unwrap(), at);
            });
        }
        while let Some(joined) = all.join_next().await {
            joined.unwrap();
        }
        assert_eq!(done.load(Ordering::Relaxed), 10_000);
        settle(&queue).await;
    }

    #[test]
    fn a_thread_is_woken_only_while_few_take_short_work() {
        let (mut state, now) = (State::default(), Instant::now());
        let mut push = |after| {
            let Needs { thread, watch } = state.push(Box::new(|| ()), 2, now + after);
            (thread.is_some(), watch)
        };
        let most_short = SHORT - Duration::from_nanos(1);
        assert_eq!(push(Duration::ZERO), (true, false));
        assert_eq!(push(Duration::ZERO), (true, false), "two wait");
        assert_eq!(push(most_short), (false, true), "two are at it");
        assert_eq!(push(most_short), (false, false), "somebody looks already");
        assert_eq!(push(SHORT), (true, false), "what they are at takes long");
        assert_eq!(push(SHORT), (true, false));
        assert_eq!(push(SHORT), (false, false));
    }

    #[test]
    fn one_job_waits_for_the_thread_that_is_at_short_work() {
        let (mut state, now) = (State::default(), Instant::now());
        let thread = state.push(Box::new(|| ()), 2, now).thread.unwrap();
        assert!(state.take(thread).is_some());
        state.busy.insert(thread, now);
        let Needs { thread: another, watch } = state.push(Box::new(|| ()), 2, now);
        assert_eq!((another, watch), (None, true));
        let Needs { thread: another, watch } = state.push(Box::new(|| ()), 2, now);
        assert!(another.is_some() && !watch, "two wait");
        assert!(state.take(thread).is_some() && state.take(thread).is_some());
        assert!(state.take(thread).is_none());
        assert_eq!(state.busy.len(), 1, "the other one has not begun yet");
    }

    /// Every job waits until all have begun: each needs a thread of its own.
    #[tokio::test]
    async fn work_that_waits_keeps_nothing_else_waiting() {
        const JOBS: usize = 24;
        let queue = WorkQueue::with(1);
        let (barrier, mut all) = (Arc::new(Barrier::new(JOBS)), JoinSet::new());
        for _ in 0..JOBS {
            let (queue, barrier) = (queue.clone(), Arc::clone(&barrier));
            all.spawn(async move { queue.run(move || barrier.wait().is_leader()).await.unwrap().unwrap() });
        }
        let leaders = all.join_all().await.into_iter().filter(|is_leader| *is_leader).count();
        assert_eq!(leaders, 1);
        settle(&queue).await;
    }

    #[tokio::test]
    async fn a_panic_is_told_and_the_next_job_is_done() {
        let queue = WorkQueue::with(1);
        assert!(queue.run(|| assert_eq!(1, 2, "on purpose")).await.unwrap().is_err());
        assert_eq!(queue.run(|| 7).await.unwrap().unwrap(), 7);
    }

    /// The client has gone, and the work is still done.
    #[tokio::test]
    async fn nobody_has_to_wait() {
        let queue = WorkQueue::with(1);
        let (began, begins) = oneshot::channel();
        let waits = queue.run(move || began.send(()).unwrap());
        // It is not polled again.
        drop(tokio::time::timeout(Duration::ZERO, waits).await);
        begins.await.unwrap();
        settle(&queue).await;
    }
}
