//! Runs operations on threads that may block.
//!
//! Waking a thread for each request costs a quarter of a short request's processor time at load. So threads take short
//! work one after the other: one if hardly anything waits, else as many as there are processors. Long work does not
//! count: jobs that come meanwhile get a thread. If a job that seemed short takes long, for example because the disk is
//! slow, a check each millisecond finds that no job was taken, and adds a thread. See ADR 33.

use std::{
    collections::{HashMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::{self, Result as ThreadResult, Thread, ThreadId, available_parallelism},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    sync::{
        Notify,
        oneshot::{self, error::RecvError},
    },
    task::spawn_blocking,
    time::sleep,
};

/// Work that has taken so long is not short.
const SHORT: Duration = Duration::from_millis(1);
/// How long a thread waits for work before it ends.
const IDLE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// A queue of work, and the threads that take it: those of the runtime that may block.
#[derive(Clone)]
pub(crate) struct WorkQueue(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Somebody has to look whether the queue moves.
    watch: Notify,
    /// Most threads that take short work.
    most: usize,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    /// When each thread took its job, by its number.
    busy: HashMap<u64, Instant>,
    /// Numbers given so far: a thread that is called gets a new one.
    numbers: u64,
    /// Idle threads, most recently used last; that one is woken first, so that the others can time out.
    idle: Vec<Thread>,
    /// Threads that are called, with their numbers.
    called: HashMap<ThreadId, u64>,
    /// Jobs that were taken so far.
    taken: u64,
    /// True while there is a task that looks whether the queue moves.
    has_watch: bool,
    /// True while it looks.
    is_watched: bool,
}

/// A thread that has to come.
enum Call {
    /// One that waits, and is called.
    Idle(Thread),
    /// A new one, with its number.
    New(u64),
}

/// Action that a push requires.
struct PushAction {
    call: Option<Call>,
    watch: bool,
}

impl State {
    fn push(&mut self, job: Job, most: usize, now: Instant) -> PushAction {
        self.waiting.push_back(job);
        let short = self.busy.values().filter(|began| now.duration_since(**began) < SHORT).count();
        // One job may wait for a thread that is at its end: it was mostly interrupted by the very client that asks
        // again.
        let enough = if self.waiting.len() > 1 { most } else { 1 };
        let call = (short < enough).then(|| self.call(now));
        let watch = call.is_none() && !self.is_watched;
        self.is_watched |= watch;
        PushAction { call, watch }
    }

    /// Calls a thread, which counts as busy from now on.
    fn call(&mut self, now: Instant) -> Call {
        self.numbers += 1;
        self.busy.insert(self.numbers, now);
        match self.idle.pop() {
            Some(thread) => {
                self.called.insert(thread.id(), self.numbers);
                Call::Idle(thread)
            }
            None => Call::New(self.numbers),
        }
    }

    /// Takes the next job of a thread. Without one, the thread is not busy any more.
    fn take(&mut self, number: u64) -> Option<Job> {
        let Some(job) = self.waiting.pop_front() else {
            self.busy.remove(&number);
            return None;
        };
        self.taken += 1;
        self.busy.insert(number, Instant::now());
        Some(job)
    }
}

impl WorkQueue {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        WorkQueue::with(available_parallelism().map_or(1, usize::from))
    }

    fn with(most: usize) -> Self {
        WorkQueue(Arc::new(Shared { state: Mutex::default(), watch: Notify::new(), most }))
    }

    /// Does work on a thread that may block. It is done even if nobody waits for it any more. The inner result is that
    /// of the work, or its panic.
    ///
    /// # Errors
    /// Fails if the runtime ended before the work was done.
    pub(crate) async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<ThreadResult<R>, RecvError> {
        let (done, waits) = oneshot::channel();
        let job = Box::new(move || drop(done.send(catch_unwind(AssertUnwindSafe(work)))));
        let (PushAction { call, watch }, is_first) = {
            let mut state = self.0.state.lock();
            let is_first = !std::mem::replace(&mut state.has_watch, true);
            (state.push(job, self.0.most, Instant::now()), is_first)
        };
        if is_first {
            Handle::current().spawn(Watch(self.clone()).watch());
        }
        if watch {
            self.0.watch.notify_one();
        }
        call.into_iter().for_each(|call| self.come(call));
        waits.await
    }

    /// Called without the lock: the thread that comes needs it.
    fn come(&self, call: Call) {
        match call {
            Call::Idle(thread) => thread.unpark(),
            Call::New(number) => {
                let queue = self.clone();
                spawn_blocking(move || queue.work(number));
            }
        }
    }

    /// The work of a thread.
    fn work(&self, mut number: u64) {
        loop {
            while let Some(job) = { self.0.state.lock().take(number) } {
                job();
            }
            match self.wait() {
                Some(next) => number = next,
                None => return,
            }
        }
    }

    /// Waits for a call; `None` if there is none for long, or the runtime ends.
    fn wait(&self) -> Option<u64> {
        let (this, ends) = (thread::current(), Instant::now() + IDLE);
        {
            let mut state = self.0.state.lock();
            // A job that was pushed since would not find it waiting.
            if !state.waiting.is_empty() {
                state.numbers += 1;
                let number = state.numbers;
                state.busy.insert(number, Instant::now());
                return Some(number);
            }
            if !state.has_watch {
                return None;
            }
            state.idle.push(this.clone());
        }
        loop {
            let left = ends.saturating_duration_since(Instant::now());
            thread::park_timeout(left);
            let mut state = self.0.state.lock();
            if let Some(number) = state.called.remove(&this.id()) {
                return Some(number);
            }
            if left.is_zero() || !state.has_watch {
                state.idle.retain(|idle| idle.id() != this.id());
                return None;
            }
        }
    }
}

/// The task that looks whether the queue moves. When the runtime ends, it is dropped, and the threads that wait end.
struct Watch(WorkQueue);

impl Watch {
    /// Adds a thread whenever something waits and nothing was taken for a while.
    async fn watch(self) {
        let queue = &self.0;
        loop {
            queue.0.watch.notified().await;
            let mut taken = queue.0.state.lock().taken;
            loop {
                sleep(SHORT).await;
                let call = {
                    let mut state = queue.0.state.lock();
                    if state.waiting.is_empty() {
                        state.is_watched = false;
                        break;
                    }
                    let stands = state.taken == taken;
                    taken = state.taken;
                    stands.then(|| state.call(Instant::now()))
                };
                call.into_iter().for_each(|call| queue.come(call));
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut state = self.0.0.state.lock();
        (state.has_watch, state.is_watched) = (false, false);
        let idle = std::mem::take(&mut state.idle);
        drop(state);
        idle.iter().for_each(Thread::unpark);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
    };

    use tokio::{runtime::Builder, task::JoinSet};

    use super::*;

    fn settled(queue: &WorkQueue) -> bool {
        let state = queue.0.state.lock();
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
            let PushAction { call, watch } = state.push(Box::new(|| ()), 2, now + after);
            (call.is_some(), watch)
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
        let Some(Call::New(thread)) = state.push(Box::new(|| ()), 2, now).call else { panic!("no thread waits") };
        assert!(state.take(thread).is_some());
        state.busy.insert(thread, now);
        let PushAction { call, watch } = state.push(Box::new(|| ()), 2, now);
        assert!(call.is_none() && watch);
        let PushAction { call, watch } = state.push(Box::new(|| ()), 2, now);
        assert!(call.is_some() && !watch, "two wait");
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

    #[test]
    fn threads_end_with_the_runtime_and_another_one_has_others() {
        let queue = WorkQueue::with(1);
        for _ in 0..2 {
            let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
            assert_eq!(runtime.block_on(queue.run(|| 7)).unwrap().unwrap(), 7);
            assert!(queue.0.state.lock().has_watch);
            // Waits for all of its threads.
            drop(runtime);
            let state = queue.0.state.lock();
            assert!(!state.has_watch && state.idle.is_empty() && state.busy.is_empty() && state.called.is_empty());
        }
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
