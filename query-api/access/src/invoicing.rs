//! Invoices from the daemon, without letting a slow daemon hold up the service.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use cairn_lightning::{Invoice, Invoices, NewInvoice};
use parking_lot::{Condvar, Mutex};

const MAX_AT_ONCE: usize = 8;
/// How long a request waits for its turn.
const PATIENCE: Duration = Duration::from_millis(500);
/// Time after a failure in which the daemon is not asked.
const PAUSE: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoInvoice {
    /// The daemon failed, with this kind of error, or did a moment ago.
    Unavailable(&'static str),
    /// Too many others wait.
    Busy,
}

pub(crate) struct Invoicing {
    daemon: Arc<dyn Invoices>,
    state: Mutex<Pending>,
    turn: Condvar,
}

#[derive(Default)]
struct Pending {
    at_once: usize,
    /// The daemon failed, and is not asked before this time.
    down: Option<(Instant, &'static str)>,
}

impl fmt::Debug for Invoicing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invoicing").field("daemon", &self.daemon).finish_non_exhaustive()
    }
}

impl Invoicing {
    pub(crate) fn new(daemon: Arc<dyn Invoices>) -> Self {
        Invoicing { daemon, state: Mutex::default(), turn: Condvar::new() }
    }

    /// Makes an invoice. The daemon's time-out bounds the time that it takes.
    pub(crate) fn make(&self, new: &NewInvoice) -> Result<Invoice, NoInvoice> {
        self.enter()?;
        let made = self.daemon.create(new);
        let mut state = self.state.lock();
        state.at_once -= 1;
        self.turn.notify_one();
        made.map_err(|error| {
            let code = error.code();
            tracing::warn!(%error, "an invoice could not be made: calls are offered without one for {} s", PAUSE.as_secs());
            state.down = Some((Instant::now() + PAUSE, code));
            NoInvoice::Unavailable(code)
        })
    }

    fn enter(&self) -> Result<(), NoInvoice> {
        let ends = Instant::now() + PATIENCE;
        let mut state = self.state.lock();
        loop {
            if let Some((until, code)) = state.down
                && Instant::now() < until
            {
                return Err(NoInvoice::Unavailable(code));
            }
            if state.at_once < MAX_AT_ONCE {
                state.at_once += 1;
                return Ok(());
            }
            if self.turn.wait_until(&mut state, ends).timed_out() {
                return Err(NoInvoice::Busy);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        thread,
    };

    use cairn_lightning::{BackendError, InvoiceState, NodeInfo, PaymentHash};

    use super::*;

    /// A daemon that takes its time and fails.
    #[derive(Debug, Default)]
    struct Failing {
        asked: AtomicUsize,
        takes: Duration,
    }

    impl Invoices for Failing {
        fn create(&self, _: &NewInvoice) -> Result<Invoice, BackendError> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            thread::sleep(self.takes);
            Err(BackendError::DuplicateLabel)
        }

        fn lookup(&self, _: &PaymentHash) -> Result<InvoiceState, BackendError> {
            Ok(InvoiceState::Unknown)
        }

        fn node(&self) -> Result<NodeInfo, BackendError> {
            Err(BackendError::DuplicateLabel)
        }
    }

    #[test]
    fn a_daemon_that_failed_is_left_alone_for_a_while() {
        let daemon = Arc::new(Failing::default());
        let invoicing = Invoicing::new(Arc::<Failing>::clone(&daemon));
        let new = NewInvoice::new(1, "m", 60, "label").unwrap();
        for _ in 0..5 {
            assert_eq!(invoicing.make(&new), Err(NoInvoice::Unavailable("duplicate_label")));
        }
        assert_eq!(daemon.asked.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn few_wait_for_a_slow_daemon() {
        let daemon = Arc::new(Failing { takes: Duration::from_secs(2), ..Failing::default() });
        let invoicing = Invoicing::new(Arc::<Failing>::clone(&daemon));
        let new = NewInvoice::new(1, "m", 60, "label").unwrap();
        let results: Vec<_> = thread::scope(|scope| {
            let all: Vec<_> = (0..MAX_AT_ONCE + 4).map(|_| scope.spawn(|| invoicing.make(&new))).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(daemon.asked.load(Ordering::SeqCst), MAX_AT_ONCE);
        assert_eq!(results.iter().filter(|result| **result == Err(NoInvoice::Busy)).count(), 4);
    }
}
