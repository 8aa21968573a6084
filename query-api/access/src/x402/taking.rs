//! Takes a payment by x402 for one request, or finds out what became of it.

use std::{slice, time::Duration};

use axum::http::HeaderValue;
use cairn_http::{ApiError, Call, ErrorCode, NotTaken, SoldCall};
use cairn_state::{NewX402Payment, X402Payment, X402PaymentKey, X402PaymentState, X402Taking};
use cairn_x402::{
    Attempt, Payment, PaymentPayload, Refusal, ResourceInfo, SettleOutcome, VERSION, VerifyOutcome,
    decode_payment_signature, verify, verify_stored,
};

use super::{
    books::{Books, recorded},
    desk::Desk,
    failures::{not_accepted, pending, refused, unavailable, used_elsewhere},
    offer,
    payment::{Step, TakenX402},
    settings::{NoTerms, Terms},
    settler::{NoPlace, Place},
};
use crate::{proof::in_use, request::fingerprint_of};

/// A lease lasts longer than any request by this time, in seconds.
const LEASE_MARGIN_SECS: u64 = 15;
/// How long a request waits for the outcome of a payment that was not known.
const RECONCILE_PATIENCE: Duration = Duration::from_secs(10);
const MAX_STORED_BYTES: usize = 8_192;

pub(crate) fn take(
    desk: &Desk,
    sold: &SoldCall<'_>,
    proofs: &[HeaderValue],
    call: &Call<'_>,
) -> Result<TakenX402, NotTaken> {
    let payload = read(proofs).map_err(NotTaken::Failed)?;
    let terms = desk.settings.terms(sold).map_err(|NoTerms(code, detail)| refused(code, detail))?;
    let books = Books::open(call).map_err(NotTaken::Failed)?;
    let taker = Taker { desk, terms: &terms, books: &books, fingerprint: fingerprint_of(sold) };
    let (new, payment, known) = taker.verified(payload, sold)?;
    let mut place = match known {
        None => Some(taker.checked(&payment, call)?),
        Some(_) => None,
    };
    let ttl = call.config.request_timeout.as_secs().saturating_add(LEASE_MARGIN_SECS);
    let taken = |lease, step| {
        let offer = offer::of_terms(&terms, sold, "settlement_refused");
        TakenX402::new(desk, lease, step, payment.clone(), books.clone(), offer, sold.capability)
    };
    // The second time after its outcome was found out.
    for _ in 0..2 {
        let taking = books.ask(async |state| state.take_x402_payment(&new, &desk.holder, ttl, books.now()).await);
        match taking.map_err(NotTaken::Failed)? {
            X402Taking::Taken(lease) => {
                let place = match place.take() {
                    Some(place) => place,
                    None => taker.place(&payment)?,
                };
                return Ok(taken(lease, Step::Settle(place)));
            }
            X402Taking::Owed(lease) => {
                let Some(transaction) = taker.transaction(&lease.key)? else {
                    return Err(pending("it is being settled"));
                };
                return Ok(taken(lease, Step::Deliver(transaction)));
            }
            X402Taking::SameInProgress { until } => {
                return Err(NotTaken::Failed(in_use(until.saturating_sub(books.now()))));
            }
            X402Taking::Pending(row) => taker.reconcile(&row, &payment, call)?,
            X402Taking::Used(_) => {
                let detail = "the payment has opened an answer already, and opens no second one; sign a new payment";
                return Err(refused("payment_already_used", detail));
            }
            X402Taking::Refused(row) => {
                let reason = match row.state {
                    X402PaymentState::Refused { reason } => reason,
                    _ => String::new(),
                };
                let detail =
                    format!("the payment was not carried out ({reason}), and is not tried again; sign a new payment");
                return Err(refused("settlement_refused", detail));
            }
            X402Taking::UsedElsewhere => return Err(used_elsewhere()),
        }
    }
    Err(pending("it is being settled"))
}

/// Reads the only payment of a request.
fn read(proofs: &[HeaderValue]) -> Result<PaymentPayload, ApiError> {
    let [proof] = proofs else {
        let detail = format!("the request has {} payments in PAYMENT-SIGNATURE; send one", proofs.len());
        return Err(ApiError::new(ErrorCode::InvalidPayment, detail));
    };
    decode_payment_signature(proof.as_bytes())
        .map_err(|error| ApiError::new(ErrorCode::InvalidPayment, format!("PAYMENT-SIGNATURE: {error}")))
}

/// A verified payment. The flag is true if the payer has signed for certain; otherwise only the facilitator knows.
fn proven(verified: Result<Payment, Refusal>) -> Result<(Payment, bool), Refusal> {
    match verified {
        Ok(payment) => Ok((payment, true)),
        Err(Refusal::UnsupportedSignature(payment)) => Ok((*payment, false)),
        Err(refusal) => Err(refusal),
    }
}

/// The payment of a row, as it was verified when it was taken; `None` if the row is damaged.
pub(super) fn stored_payment(row: &X402Payment) -> Option<Payment> {
    let payload = serde_json::from_str(&row.content.payload).ok()?;
    proven(verify_stored(payload, row.taken_at)).ok().map(|(payment, _)| payment)
}

/// Refuses a payment with a nonce that is being settled or was settled, unless it is the same payment as the first one.
fn repeats(first: Option<&Payment>, payment: &Payment, is_proven: bool) -> Result<(), NotTaken> {
    // A signature that is not verified here must be the one that the facilitator has seen.
    if first.is_some_and(|first| first.digest() == payment.digest() && (is_proven || first == payment)) {
        return Ok(());
    }
    let detail = "another payment has used the nonce; repeat that payment unchanged, or sign one with a new nonce";
    Err(refused("nonce_reused", detail))
}

/// A request that takes a payment.
struct Taker<'a> {
    desk: &'a Desk,
    terms: &'a Terms,
    books: &'a Books,
    fingerprint: [u8; 32],
}

impl Taker<'_> {
    /// Verifies a payment offline. Returns its row as it would be new, and as it is if its settlement has begun.
    fn verified(
        &self,
        payload: PaymentPayload,
        sold: &SoldCall<'_>,
    ) -> Result<(NewX402Payment, Payment, Option<X402Payment>), NotTaken> {
        let offer = &self.terms.offer;
        let authorization = &payload.payload.authorization;
        let lower = |address: &cairn_x402::Address| format!("0x{}", hex::encode(address.as_bytes()));
        let key = X402PaymentKey {
            chain_id: offer.network.0,
            asset: lower(&offer.asset),
            payer: lower(&authorization.from),
            nonce: *authorization.nonce.as_bytes(),
        };
        let text = self.stored(&payload)?;
        let known = self.books.find(&key).map_err(NotTaken::Failed)?;
        let known = known.filter(|row| row.state != X402PaymentState::Taken);
        if known.as_ref().is_some_and(|row| row.content.fingerprint != self.fingerprint) {
            return Err(used_elsewhere());
        }
        // A retry may come after the end of its payment, and after a change of the terms.
        let first = known.as_ref().and_then(|row| Some((stored_payment(row)?, row.taken_at)));
        let (offer, resource, at) = match &first {
            Some((first, taken_at)) => (first.offer(), first.resource(), *taken_at),
            None => (&self.terms.offer, &self.terms.resource, self.books.now()),
        };
        let verified = proven(verify(payload, slice::from_ref(offer), resource, at));
        let (payment, is_proven) = verified.map_err(|refusal| not_accepted(&refusal))?;
        if known.is_none() && !is_proven && !self.desk.settings.contract_wallets {
            return Err(not_accepted(&Refusal::UnsupportedSignature(Box::new(payment))));
        }
        if known.is_some() {
            repeats(first.as_ref().map(|(first, _)| first), &payment, is_proven)?;
        }
        let number = |number: u128| u64::try_from(number).map_err(|_| not_accepted(&Refusal::NotOffered));
        let new = NewX402Payment {
            key,
            fingerprint: self.fingerprint,
            capability: sold.capability.to_owned(),
            amount: number(payment.offer().amount.units())?,
            payload: text,
            valid_before: number(payment.transfer().valid_before.units())?,
        };
        Ok((new, payment, known))
    }

    /// The payment as text, without what it can do without.
    fn stored(&self, payload: &PaymentPayload) -> Result<String, NotTaken> {
        let resource = payload.resource.as_ref();
        let resource =
            resource.map(|resource| ResourceInfo { url: resource.url.clone(), description: None, mime_type: None });
        let (accepted, payload) = (payload.accepted.clone(), payload.payload.clone());
        let short = PaymentPayload { x402_version: VERSION, resource, accepted, payload };
        let text = serde_json::to_string(&short).map_err(|_| NotTaken::Failed(ApiError::internal()))?;
        match text.len() {
            0..=MAX_STORED_BYTES => Ok(text),
            length => {
                let detail = format!(
                    "the payment has {length} bytes as JSON; at most {MAX_STORED_BYTES} are accepted; use a shorter \
                     signature"
                );
                Err(refused("payment_too_long", detail))
            }
        }
    }

    /// Takes a payment in hand.
    fn place(&self, payment: &Payment) -> Result<Place, NotTaken> {
        self.desk.settler.place(payment.nonce_key()).map_err(|why| {
            NotTaken::Failed(match why {
                NoPlace::Same => in_use(1),
                NoPlace::Full => unavailable("too many payments are being settled", 2),
            })
        })
    }

    /// Has a new payment checked by the facilitator, before the operation runs.
    fn checked(&self, payment: &Payment, call: &Call<'_>) -> Result<Place, NotTaken> {
        if !self.desk.settings.is_open {
            let detail = "the operator has not opened the settlement of x402 payments; nothing was charged";
            return Err(refused("live_settlement_closed", detail));
        }
        let place = self.place(payment)?;
        call.give_place_back();
        match self.desk.settler.check(payment) {
            Ok(VerifyOutcome::Valid) => Ok(place),
            Ok(VerifyOutcome::Invalid { reason }) => {
                let detail = format!("the facilitator does not accept the payment: {reason}; nothing was charged");
                Err(refused("payment_not_valid", detail))
            }
            // The log has the reason.
            Err(_) => Err(NotTaken::Failed(unavailable("the facilitator of this server does not answer", 5))),
        }
    }

    /// Finds out the outcome of a payment. On success the row has it.
    fn reconcile(&self, row: &X402Payment, payment: &Payment, call: &Call<'_>) -> Result<(), NotTaken> {
        let settler = &self.desk.settler;
        let busy = |_: NoPlace| pending("the facilitator has not answered yet");
        let place = settler.place(payment.nonce_key()).map_err(busy)?;
        let key = &row.content.key;
        let settling = settler.settle(place, payment.clone(), Attempt::Again, key.clone(), self.books.clone());
        let settling = settling.map_err(|_| pending("this server is busy"))?;
        call.give_place_back();
        let outcome = settling.wait(RECONCILE_PATIENCE.min(call.work.left() / 2));
        let outcome = outcome.ok_or_else(|| pending("the facilitator has not answered yet"))?;
        match (&outcome, recorded(&outcome)) {
            (SettleOutcome::Settled { .. } | SettleOutcome::Refused { .. }, Some(found)) => {
                let now = self.books.now();
                let written = self.books.ask(async |state| state.reconcile_x402_payment(key, &found, now).await);
                written.map(drop).map_err(|error| {
                    self.books.record_later(key, &outcome);
                    NotTaken::Failed(error)
                })
            }
            (SettleOutcome::Indeterminate { why }, _) => Err(pending(&why.to_string())),
            (SettleOutcome::NotSent { why }, _) => Err(pending(&why.to_string())),
            (_, None) => Err(pending("the facilitator has not answered yet")),
        }
    }

    /// The transaction of a settled payment.
    fn transaction(&self, key: &X402PaymentKey) -> Result<Option<String>, NotTaken> {
        let row = self.books.find(key).map_err(NotTaken::Failed)?;
        Ok(row.and_then(|row| match row.state {
            X402PaymentState::Settled { transaction, .. } => Some(transaction),
            _ => None,
        }))
    }
}
