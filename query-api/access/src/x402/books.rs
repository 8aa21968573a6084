//! The rows of payments, as a request and the thread that settles its payment use them.

use std::{
    future::Future,
    thread,
    time::{Duration, Instant},
};

use cairn_http::{ApiError, Call, ErrorCode};
use cairn_state::{SettlementOutcome, State, StateError, X402Payment, X402PaymentKey, X402PaymentState};
use cairn_x402::SettleOutcome;
use tokio::{runtime::Handle, time::timeout};

use crate::lease::PATIENCE;

/// How often an outcome that no request waits for is recorded again, and after how long. Together that is longer than a
/// request has the row, and than a database restarts.
const TRIES: u32 = 60;
const PAUSE: Duration = Duration::from_secs(5);

/// The service state, at the time of a request and after it.
#[derive(Clone, Debug)]
pub(crate) struct Books {
    state: State,
    runtime: Handle,
    /// Seconds since 1970, and the same moment.
    opened_at: u64,
    opened: Instant,
}

impl Books {
    /// Opens the service state for a request.
    pub(crate) fn open(call: &Call<'_>) -> Result<Self, ApiError> {
        let (state, runtime) = call.state_and_runtime().ok_or_else(|| {
            let detail =
                "no database is configured for the service state; the operator can configure one (--state-url)";
            ApiError::new(ErrorCode::StateUnavailable, detail)
        })?;
        Ok(Books { state, runtime, opened_at: call.now_ms / 1_000, opened: Instant::now() })
    }

    /// Opens the service state for work that no request waits for. `now` is in seconds since 1970.
    pub(crate) fn of(state: State, runtime: Handle, now: u64) -> Self {
        Books { state, runtime, opened_at: now, opened: Instant::now() }
    }

    /// Seconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        self.opened_at.saturating_add(self.opened.elapsed().as_secs())
    }

    /// Reads or writes rows.
    pub(crate) fn ask<'s, T, F: Future<Output = Result<T, StateError>>>(
        &'s self,
        work: impl FnOnce(&'s State) -> F,
    ) -> Result<T, ApiError> {
        let away = |why: &str| {
            let detail = format!("the database of the service state: {why}; as far as known, nothing was written");
            ApiError::unavailable(ErrorCode::StateUnavailable, detail, 5)
        };
        // The timer is made within the runtime that drives it.
        match self.runtime.block_on(async { timeout(PATIENCE, work(&self.state)).await }) {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                tracing::error!(%error, "the service state failed");
                Err(away(error.brief()))
            }
            Err(_) => Err(away("it does not answer in time")),
        }
    }

    pub(crate) fn find(&self, key: &X402PaymentKey) -> Result<Option<X402Payment>, ApiError> {
        self.ask(async |state| state.x402_payment(key).await)
    }

    /// Records an outcome that no request waits for. It is tried for minutes: a settled payment must be answered, and
    /// the facilitator may not report the same transaction again.
    pub(crate) fn record(&self, key: &X402PaymentKey, outcome: &SettleOutcome) {
        let Some(outcome) = recorded(outcome).filter(|outcome| !matches!(outcome, SettlementOutcome::Unknown { .. }))
        else {
            return;
        };
        for _ in 0..TRIES {
            match self.ask(async |state| state.reconcile_x402_payment(key, &outcome, self.now()).await) {
                Ok(true) => return,
                // The request has the row for some seconds more, or somebody else was first.
                Ok(false) if self.is_final(key) => return,
                Ok(false) | Err(_) => thread::sleep(PAUSE),
            }
        }
        tracing::error!(payer = key.payer, ?outcome, "the outcome of an x402 payment could not be recorded");
    }

    /// Records an outcome in the background, after the request could not.
    pub(crate) fn record_later(&self, key: &X402PaymentKey, outcome: &SettleOutcome) {
        let (books, key, outcome) = (self.clone(), key.clone(), outcome.clone());
        let spawned = thread::Builder::new().name("x402 record".to_owned()).spawn({
            let outcome = outcome.clone();
            move || books.record(&key, &outcome)
        });
        if let Err(error) = spawned {
            tracing::error!(%error, ?outcome, "the outcome of an x402 payment could not be recorded");
        }
    }

    fn is_final(&self, key: &X402PaymentKey) -> bool {
        let is_final =
            |row: X402Payment| matches!(row.state, X402PaymentState::Settled { .. } | X402PaymentState::Refused { .. });
        self.find(key).is_ok_and(|row| row.is_some_and(is_final))
    }
}

/// The outcome as a row has it; `None` if nothing was sent.
pub(crate) fn recorded(outcome: &SettleOutcome) -> Option<SettlementOutcome> {
    Some(match outcome {
        SettleOutcome::Settled { transaction, .. } => SettlementOutcome::Settled { transaction: transaction.clone() },
        SettleOutcome::Refused { reason } => SettlementOutcome::Refused { reason: reason.clone() },
        SettleOutcome::Indeterminate { why } => SettlementOutcome::Unknown { reason: why.to_string() },
        SettleOutcome::NotSent { .. } => return None,
    })
}
