//! Finds out what became of payments whose outcome nobody knows, also if their clients never come back.

use std::time::Duration;

use cairn_http::ApiError;
use cairn_state::{SettlementOutcome, State, X402Payment};
use cairn_x402::{Attempt, SettleOutcome};
use tokio::runtime::Handle;

use super::{
    books::{Books, recorded},
    taking::stored_payment,
    till::X402Till,
};

/// Payments that are asked about in one round.
const ROUND: u32 = 16;
/// How long the facilitator may take for one of them. Its thread goes on afterwards, and records the outcome.
const PATIENCE: Duration = Duration::from_secs(30);
/// Failures in a row after which a round ends: the facilitator is away.
const MAX_FAILURES: u32 = 3;

/// The result of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reconciled {
    /// Payments that the chain has; their clients are owed an answer.
    pub settled: u32,
    /// Payments that were not carried out, and never will be.
    pub refused: u32,
    /// Payments whose outcome is still not known.
    pub open: u32,
}

impl X402Till {
    /// Asks the facilitator about the payments whose outcome is not known, beginning with the one that was asked about
    /// longest ago; at most 16 in a call, and none a day after its authorization ended: by then the facilitator has
    /// nothing new. Any number of processes may do so at the same time: the chain carries a payment out once. Blocks.
    /// `now` is in seconds since 1970.
    ///
    /// # Errors
    /// Fails if the service state fails.
    pub fn reconcile(&self, state: &State, runtime: &Handle, now: u64) -> Result<Reconciled, ApiError> {
        let books = Books::of(state.clone(), runtime.clone(), now);
        let rows = books.ask(async |state| state.settlements_to_ask(books.now(), ROUND).await)?;
        let (mut found, mut failures) = (Reconciled::default(), 0);
        for row in rows {
            let outcome = self.outcome(&row, &books)?;
            match &outcome {
                Some(SettlementOutcome::Settled { .. }) => found.settled += 1,
                Some(SettlementOutcome::Refused { .. }) => found.refused += 1,
                Some(SettlementOutcome::Unknown { .. }) => found.open += 1,
                None => {
                    found.open += 1;
                    failures += 1;
                }
            }
            // A payment without an outcome goes to the end of the queue.
            let why = || SettlementOutcome::Unknown { reason: "the facilitator does not answer".to_owned() };
            let outcome = outcome.unwrap_or_else(why);
            books.ask(async |state| state.reconcile_x402_payment(&row.content.key, &outcome, books.now()).await)?;
            if failures >= MAX_FAILURES {
                break;
            }
        }
        Ok(found)
    }

    /// Asks the facilitator about a payment; `None` if it does not answer.
    fn outcome(&self, row: &X402Payment, books: &Books) -> Result<Option<SettlementOutcome>, ApiError> {
        let unknown = |reason: &str| Ok(Some(SettlementOutcome::Unknown { reason: reason.to_owned() }));
        let Some(payment) = stored_payment(row) else {
            tracing::error!(payer = row.content.key.payer, "a stored x402 payment is damaged");
            return unknown("the stored payment is damaged");
        };
        let Ok(place) = self.desk.settler.place(payment.nonce_key()) else {
            return unknown("a request of its client asks at the same time");
        };
        let key = row.content.key.clone();
        let settling = self.desk.settler.settle(place, payment, Attempt::Again, key, books.clone());
        let settling = settling.map_err(|_| ApiError::internal())?;
        let Some(outcome) = settling.wait(PATIENCE) else { return Ok(None) };
        match &outcome {
            SettleOutcome::Indeterminate { why } => {
                tracing::warn!(payer = row.content.key.payer, %why, "the outcome of an x402 payment is not known");
            }
            SettleOutcome::NotSent { why } => {
                tracing::warn!(error = %why, "the facilitator cannot be asked about x402 payments");
            }
            SettleOutcome::Settled { .. } | SettleOutcome::Refused { .. } => {}
        }
        Ok(recorded(&outcome))
    }
}
