//! Cancellation: one token ends the work of threads and of asynchronous tasks.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};

use parking_lot::{Condvar, Mutex};

/// A cancellation token. Clones share their state; a cancelled token stays cancelled.
///
/// A check is one atomic load. Threads wait with [`CancelToken::wait`], tasks with [`CancelToken::cancelled`]; both
/// wake immediately.
#[derive(Clone, Debug)]
pub struct CancelToken(Option<Arc<Shared>>);

#[derive(Default, Debug)]
struct Shared {
    cancelled: AtomicBool,
    tasks: Mutex<Tasks>,
    changed: Condvar,
}

/// The waiting tasks, by number.
#[derive(Default, Debug)]
struct Tasks {
    next: u64,
    wakers: BTreeMap<u64, Waker>,
}

impl Default for CancelToken {
    fn default() -> Self {
        CancelToken::new()
    }
}

impl CancelToken {
    /// A token that can be cancelled.
    #[must_use]
    pub fn new() -> Self {
        CancelToken(Some(Arc::default()))
    }

    /// A token that cannot be cancelled: [`CancelToken::cancel`] does nothing.
    #[must_use]
    pub const fn never() -> Self {
        CancelToken(None)
    }

    /// Cancels the token and all its clones.
    pub fn cancel(&self) {
        let Some(shared) = &self.0 else { return };
        let wakers = {
            let mut tasks = shared.tasks.lock();
            // Under the lock, so that nobody who has just looked begins to wait afterwards.
            shared.cancelled.store(true, Ordering::SeqCst);
            std::mem::take(&mut tasks.wakers)
        };
        shared.changed.notify_all();
        wakers.into_values().for_each(Waker::wake);
    }

    /// True if it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.as_ref().is_some_and(|shared| shared.cancelled.load(Ordering::SeqCst))
    }

    /// Blocks this thread until cancellation, at most this long. Returns true if it was cancelled.
    pub fn wait(&self, at_most: Duration) -> bool {
        match &self.0 {
            Some(shared) => {
                shared.changed.wait_while_for(&mut shared.tasks.lock(), |_| !self.is_cancelled(), at_most);
            }
            None => thread::sleep(at_most),
        }
        self.is_cancelled()
    }

    /// Completes on cancellation.
    #[must_use]
    pub fn cancelled(&self) -> Cancelled {
        Cancelled { token: self.clone(), number: None }
    }

    /// Cancels when the guard is dropped, also if its owner panics.
    #[must_use]
    pub fn cancel_on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }
}

/// Completes when a token is cancelled. See [`CancelToken::cancelled`].
#[derive(Debug)]
pub struct Cancelled {
    token: CancelToken,
    /// Number among the waiting tasks.
    number: Option<u64>,
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let token = self.token.clone();
        let Some(shared) = &token.0 else { return Poll::Pending };
        let mut tasks = shared.tasks.lock();
        if token.is_cancelled() {
            return Poll::Ready(());
        }
        let number = self.number.unwrap_or_else(|| {
            tasks.next += 1;
            tasks.next
        });
        tasks.wakers.insert(number, cx.waker().clone());
        self.number = Some(number);
        Poll::Pending
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        if let (Some(shared), Some(number)) = (&self.token.0, self.number) {
            shared.tasks.lock().wakers.remove(&number);
        }
    }
}

/// Cancels a token when it is dropped. See [`CancelToken::cancel_on_drop`].
#[derive(Debug)]
pub struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::atomic::AtomicU32, task::Wake, time::Instant};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);
    const SOON: Duration = Duration::from_secs(10);

    #[test]
    fn a_waiting_thread_wakes_at_once() {
        let token = CancelToken::new();
        assert!(!token.wait(Duration::from_millis(5)));
        let other = token.clone();
        let started = Instant::now();
        let waiting = thread::spawn(move || other.wait(LONG));
        thread::sleep(Duration::from_millis(20));
        token.cancel();
        assert!(waiting.join().unwrap());
        assert!(started.elapsed() < SOON);
        assert!(token.is_cancelled() && token.wait(LONG));
        assert!(started.elapsed() < SOON);
    }

    #[test]
    fn every_thread_wakes_however_close_the_race() {
        for _ in 0..200 {
            let token = CancelToken::new();
            let waiting: Vec<_> = (0..4)
                .map(|_| {
                    let token = token.clone();
                    thread::spawn(move || token.wait(LONG))
                })
                .collect();
            let started = Instant::now();
            token.cancel();
            assert!(waiting.into_iter().all(|thread| thread.join().unwrap()));
            assert!(started.elapsed() < SOON);
        }
    }

    /// Counts how often a task was woken, and wakes a thread.
    struct Bell {
        rung: AtomicU32,
        thread: thread::Thread,
    }

    impl Bell {
        fn here() -> Arc<Self> {
            Arc::new(Bell { rung: AtomicU32::new(0), thread: thread::current() })
        }

        fn rung(&self) -> u32 {
            self.rung.load(Ordering::SeqCst)
        }
    }

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            self.rung.fetch_add(1, Ordering::SeqCst);
            self.thread.unpark();
        }
    }

    fn poll(future: &mut Cancelled, bell: &Arc<Bell>) -> Poll<()> {
        Pin::new(future).poll(&mut Context::from_waker(&Waker::from(Arc::clone(bell))))
    }

    fn waiting(token: &CancelToken) -> usize {
        token.0.as_ref().map_or(0, |shared| shared.tasks.lock().wakers.len())
    }

    #[test]
    fn a_task_is_woken_once() {
        let (token, bell, other) = (CancelToken::new(), Bell::here(), Bell::here());
        let (mut one, mut two) = (token.cancelled(), token.cancelled());
        assert!(poll(&mut one, &other).is_pending() && poll(&mut two, &bell).is_pending());
        // Polled again by another task: that one is woken.
        assert!(poll(&mut one, &bell).is_pending());
        assert_eq!(waiting(&token), 2);
        token.cancel();
        assert_eq!((bell.rung(), other.rung()), (2, 0));
        assert!(poll(&mut one, &bell).is_ready() && poll(&mut two, &bell).is_ready());
        assert!(poll(&mut token.cancelled(), &bell).is_ready());
        token.cancel();
        assert_eq!(bell.rung(), 2);
    }

    #[test]
    fn a_task_that_went_away_is_forgotten() {
        let (token, bell) = (CancelToken::new(), Bell::here());
        for _ in 0..100 {
            let mut gone = token.cancelled();
            assert!(poll(&mut gone, &bell).is_pending());
        }
        assert_eq!(waiting(&token), 0);
        token.cancel();
        assert_eq!(bell.rung(), 0);
    }

    #[test]
    fn a_task_wakes_across_threads() {
        let token = CancelToken::new();
        let other = token.clone();
        let task = thread::spawn(move || {
            let (bell, mut future) = (Bell::here(), other.cancelled());
            while poll(&mut future, &bell).is_pending() {
                thread::park_timeout(LONG);
            }
        });
        thread::sleep(Duration::from_millis(20));
        let started = Instant::now();
        token.cancel();
        task.join().unwrap();
        assert!(started.elapsed() < SOON);
    }

    #[test]
    fn a_panic_cancels_through_its_guard() {
        let token = CancelToken::new();
        let guard = token.cancel_on_drop();
        assert!(!token.is_cancelled());
        let died = thread::spawn(move || {
            let _guard = guard;
            std::panic::resume_unwind(Box::new("wanted"));
        });
        assert!(died.join().is_err());
        assert!(token.is_cancelled());
    }

    #[test]
    fn nobody_cancels_never() {
        let (token, bell) = (CancelToken::never(), Bell::here());
        token.cancel();
        let started = Instant::now();
        assert!(!token.is_cancelled() && !token.wait(Duration::from_millis(5)));
        assert!(started.elapsed() >= Duration::from_millis(5));
        assert!(poll(&mut token.cancelled(), &bell).is_pending());
    }
}
