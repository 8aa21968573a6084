//! A payment that a request has: it is settled when its answer is ready.

use std::{fmt, time::Duration};

use axum::http::{HeaderName, HeaderValue};
use cairn_http::{ApiError, Call, CallOffer, ErrorCode, GivingBack, Receipt, TakenPayment};
use cairn_state::{SettlementOutcome, X402Lease};
use cairn_x402::{Attempt, Payment, SettleOutcome, SettleResponse, encode};
use serde_json::json;

use super::{
    books::{Books, recorded},
    desk::Desk,
    failures::{pending_error, unavailable},
    settler::{Place, Settler},
};
use crate::proof::in_use;

/// A settlement has its row longer than a request waits for it by this time, in seconds.
const SETTLE_MARGIN_SECS: u64 = 15;
const PAYMENT_RESPONSE: HeaderName = HeaderName::from_static(cairn_x402::PAYMENT_RESPONSE);

/// The rest of the work for an answer.
#[derive(Debug)]
pub(super) enum Step {
    Settle(Place),
    /// Note that the answer is given out: this transaction has settled the payment before.
    Deliver(String),
}

/// A payment that this request alone may settle.
pub(crate) struct TakenX402 {
    /// `None` once it is settled or given back.
    lease: Option<X402Lease>,
    step: Option<Step>,
    payment: Payment,
    books: Books,
    settler: Settler,
    /// How long it waits for the settlement.
    patience: Duration,
    /// The offer of the call, for a client that has to sign another payment.
    offer: CallOffer,
    capability: &'static str,
}

impl fmt::Debug for TakenX402 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TakenX402").field("lease", &self.lease).field("step", &self.step).finish_non_exhaustive()
    }
}

impl TakenX402 {
    pub(super) fn new(
        desk: &Desk,
        lease: X402Lease,
        step: Step,
        payment: Payment,
        books: Books,
        offer: CallOffer,
        capability: &'static str,
    ) -> Self {
        let (settler, patience) = (desk.settler.clone(), desk.patience);
        TakenX402 { lease: Some(lease), step: Some(step), payment, books, settler, patience, offer, capability }
    }

    /// Settles the payment, and notes the outcome before anything is answered.
    fn settle(&mut self, lease: X402Lease, place: Place, call: &Call<'_>) -> Result<Receipt, ApiError> {
        let books = self.books.clone();
        let ttl = self.patience.as_secs() + SETTLE_MARGIN_SECS;
        match books.ask(async |state| state.begin_settling(&lease, ttl, books.now()).await) {
            Ok(true) => {}
            Ok(false) => return Err(in_use(1)),
            Err(error) => {
                // The row may say that settling has begun.
                self.not_sent(&lease, "");
                self.lease = Some(lease);
                return Err(error);
            }
        }
        let settling =
            self.settler.settle(place, self.payment.clone(), Attempt::First, lease.key.clone(), books.clone());
        let Ok(settling) = settling else { return Err(self.not_sent(&lease, "this server is busy")) };
        match settling.wait(self.patience) {
            Some(outcome) => self.conclude(&lease, &outcome, call),
            None => {
                let why = "the facilitator has not answered yet";
                self.finish(&lease, &SettlementOutcome::Unknown { reason: why.to_owned() }).ok();
                // From now on the thread of the call records the outcome.
                drop(settling);
                Err(pending_error(why))
            }
        }
    }

    /// Keeps the answer of a settled payment for the next request with it, since the client of this one has left: a
    /// settlement takes seconds.
    fn owe(&self, lease: &X402Lease, found: &SettlementOutcome, outcome: &SettleOutcome) -> ApiError {
        let why = "the client has left";
        let freed = self.finish(lease, &SettlementOutcome::Unknown { reason: why.to_owned() });
        let owed = freed.and_then(|_| {
            self.books.ask(async |state| state.reconcile_x402_payment(&lease.key, found, self.books.now()).await)
        });
        if owed.is_err() {
            self.books.record_later(&lease.key, outcome);
        }
        pending_error(why)
    }

    /// Notes an outcome. Returns false if somebody else has found it out meanwhile.
    fn finish(&self, lease: &X402Lease, outcome: &SettlementOutcome) -> Result<bool, ApiError> {
        let finish = || self.books.ask(async |state| state.finish_settling(lease, outcome, self.books.now()).await);
        // A connection to the database may just have broken.
        finish().or_else(|_| finish())
    }

    fn conclude(&self, lease: &X402Lease, outcome: &SettleOutcome, call: &Call<'_>) -> Result<Receipt, ApiError> {
        let Some(found) = recorded(outcome) else {
            let why = match outcome {
                SettleOutcome::NotSent { why } => why.to_string(),
                _ => String::new(),
            };
            tracing::warn!(error = why, "an x402 payment could not be settled");
            return Err(self.not_sent(lease, "the facilitator of this server cannot be reached"));
        };
        if matches!(outcome, SettleOutcome::Settled { .. }) && !call.is_awaited() {
            return Err(self.owe(lease, &found, outcome));
        }
        match (self.finish(lease, &found), outcome) {
            (Ok(true), SettleOutcome::Settled { .. }) => Ok(self.receipt(outcome)),
            // The outcome was recorded by the first of two calls, or by another request, which answers then.
            (Ok(false), SettleOutcome::Settled { transaction, .. }) => self.deliver(lease, transaction.clone()),
            (Ok(true), SettleOutcome::Refused { reason }) => Err(self.refused(reason, outcome)),
            (_, SettleOutcome::Indeterminate { why }) => {
                tracing::warn!(payer = lease.key.payer, %why, "the outcome of an x402 payment is not known");
                Err(pending_error(&why.to_string()))
            }
            (Ok(_), _) => Err(pending_error("another request has it in use")),
            (Err(error), _) => {
                tracing::error!(payer = lease.key.payer, ?outcome, %error.detail, "an outcome is not recorded yet");
                self.books.record_later(&lease.key, outcome);
                Err(pending_error("its outcome could not be recorded yet"))
            }
        }
    }

    /// Gives a payment back of which nothing was sent.
    fn not_sent(&self, lease: &X402Lease, why: &str) -> ApiError {
        let release = self.books.ask(async |state| state.release_unsent_x402_payment(lease, self.books.now()).await);
        match release {
            Ok(_) => unavailable(why, 5),
            // The row ends as pending, and the next request finds out that the payment can still be settled.
            Err(_) => pending_error(why),
        }
    }

    fn receipt(&self, outcome: &SettleOutcome) -> Receipt {
        let response = SettleResponse::from_outcome(outcome, &self.payment);
        let value = response.and_then(|response| HeaderValue::from_str(&encode(&response).ok()?).ok());
        Receipt { headers: value.into_iter().map(|value| (PAYMENT_RESPONSE, value)).collect() }
    }

    /// 402 after a refusal, with the offer again.
    fn refused(&self, reason: &str, outcome: &SettleOutcome) -> ApiError {
        let detail = format!("the payment was not carried out: {reason}; nothing was charged; sign a new payment");
        let mut error = ApiError::new(ErrorCode::PaymentRequired, detail)
            .with("requested_capability", self.capability)
            .with("how_to_access", self.offer.how)
            .with("payment_options", json!({ "x402": self.offer.body }));
        for (name, value) in &self.offer.headers {
            error = error.header(name.clone(), value);
        }
        let receipt = self.receipt(outcome).headers.into_iter();
        receipt.fold(error, |error, (name, value)| error.header(name, value.to_str().unwrap_or_default()))
    }

    /// Notes that the answer to a payment that was settled before is given out.
    fn deliver(&self, lease: &X402Lease, transaction: String) -> Result<Receipt, ApiError> {
        let deliver = || self.books.ask(async |state| state.deliver_x402_payment(lease, self.books.now()).await);
        match deliver().or_else(|_| deliver()) {
            Ok(true) => {
                let (network, payer) = (self.payment.offer().network, self.payment.transfer().from);
                Ok(self.receipt(&SettleOutcome::Settled { transaction, network, payer }))
            }
            Ok(false) => Err(in_use(1)),
            Err(error) => Err(error),
        }
    }

    fn release(&mut self) -> Option<&'static str> {
        let lease = self.lease.take()?;
        // Otherwise it ends by its time.
        let released = self.books.ask(async |state| state.release_x402_payment(&lease).await);
        released.ok().filter(|released| *released).map(|_| "pending")
    }
}

impl TakenPayment for TakenX402 {
    fn price_sats(&self) -> u64 {
        0
    }

    /// Nonces cost nothing until one is settled, so that answers such as 404 could be had without end.
    fn pays_for_errors(&self) -> bool {
        true
    }

    fn redeem(mut self: Box<Self>, call: &Call<'_>) -> Result<Receipt, ApiError> {
        // The answer is ready: only the facilitator and the database are waited for.
        call.give_place_back();
        let (Some(lease), Some(step)) = (self.lease.take(), self.step.take()) else {
            return Err(ApiError::internal());
        };
        match step {
            Step::Settle(place) => self.settle(lease, place, call),
            Step::Deliver(transaction) => self.deliver(&lease, transaction),
        }
    }

    fn give_back(mut self: Box<Self>, _: GivingBack, _: &Call<'_>) -> Option<&'static str> {
        self.release()
    }
}

impl Drop for TakenX402 {
    fn drop(&mut self) {
        self.release();
    }
}
