//! Calls of the facilitator, few at the same time, and none that a client cuts off.

use std::{
    collections::HashSet,
    fmt, io,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, SendError, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use cairn_state::X402PaymentKey;
use cairn_x402::{Attempt, Facilitator, FacilitatorError, NonceKey, Payment, SettleOutcome, VerifyOutcome};
use parking_lot::Mutex;

use super::books::Books;

/// Payments in hand at the same time, each from its check to its outcome.
const MAX_AT_ONCE: usize = 16;
/// Time after a failed check in which the facilitator gets no further one.
const PAUSE: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub(crate) struct Settler {
    facilitator: Arc<dyn Facilitator>,
    in_hand: Arc<Mutex<InHand>>,
}

#[derive(Default)]
struct InHand {
    keys: HashSet<NonceKey>,
    /// The facilitator failed, and gets no check before this time.
    down: Option<(Instant, FacilitatorError)>,
}

/// Why a payment is not taken in hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoPlace {
    /// Another request has it.
    Same,
    /// Too many are in hand.
    Full,
}

/// The place of a payment that is in hand.
pub(crate) struct Place {
    in_hand: Arc<Mutex<InHand>>,
    key: NonceKey,
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({})", self.key)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.in_hand.lock().keys.remove(&self.key);
    }
}

/// A call of the facilitator that is on its way. When this is dropped, the thread of the call records the outcome.
pub(crate) struct Settling(Receiver<SettleOutcome>);

impl Settling {
    /// Waits for the outcome; `None` if it takes longer.
    pub(crate) fn wait(&self, patience: Duration) -> Option<SettleOutcome> {
        match self.0.recv_timeout(patience) {
            Ok(outcome) => Some(outcome),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                let why = FacilitatorError::Lost("the call failed within this server".to_owned()).into();
                Some(SettleOutcome::Indeterminate { why })
            }
        }
    }
}

impl Settler {
    pub(crate) fn new(facilitator: Arc<dyn Facilitator>) -> Self {
        Settler { facilitator, in_hand: Arc::default() }
    }

    pub(crate) fn facilitator(&self) -> &dyn Facilitator {
        &*self.facilitator
    }

    /// Takes a payment in hand.
    pub(crate) fn place(&self, key: NonceKey) -> Result<Place, NoPlace> {
        let mut in_hand = self.in_hand.lock();
        if in_hand.keys.contains(&key) {
            return Err(NoPlace::Same);
        }
        if in_hand.keys.len() >= MAX_AT_ONCE {
            return Err(NoPlace::Full);
        }
        in_hand.keys.insert(key);
        Ok(Place { in_hand: Arc::clone(&self.in_hand), key })
    }

    /// Asks whether a payment would be settled now. After a failure the next checks fail without asking.
    pub(crate) fn check(&self, payment: &Payment) -> Result<VerifyOutcome, FacilitatorError> {
        if let Some((until, error)) = &self.in_hand.lock().down
            && Instant::now() < *until
        {
            return Err(error.clone());
        }
        self.facilitator.verify(payment).inspect_err(|error| {
            tracing::warn!(%error, "x402 payments cannot be checked: none are taken for {} s", PAUSE.as_secs());
            self.in_hand.lock().down = Some((Instant::now() + PAUSE, error.clone()));
        })
    }

    /// Settles a payment in a thread of its own.
    pub(crate) fn settle(
        &self,
        place: Place,
        payment: Payment,
        attempt: Attempt,
        key: X402PaymentKey,
        books: Books,
    ) -> io::Result<Settling> {
        let facilitator = Arc::clone(&self.facilitator);
        // Without a buffer: an outcome that is handed over is heard.
        let (send, receive) = sync_channel(0);
        thread::Builder::new().name("x402 settle".to_owned()).spawn(move || {
            let outcome = facilitator.settle(&payment, attempt);
            if let Err(SendError(outcome)) = send.send(outcome) {
                books.record(&key, &outcome);
            }
            drop(place);
        })?;
        Ok(Settling(receive))
    }
}
