//! The interface between the gate and the protocols that sell single calls.

use std::{fmt, time::Duration};

use axum::http::{HeaderName, HeaderValue};

use super::{offer::CallOffer, sold::SoldCall};
use crate::{
    answers::{error::ApiError, meta::Warning},
    contract::offer::Offer,
    requests::ask::Call,
};

/// Sells single calls by one protocol. `offer` and `take` may block for a moment: they run on threads that may. Before
/// they wait for another program, they call [`Call::give_place_back`], so that other requests can run meanwhile.
pub trait Till: Send + Sync + fmt::Debug {
    /// Name of the protocol in small letters: the member of `payment_options`.
    fn name(&self) -> &'static str;

    /// The request header of its proofs of payment.
    fn header(&self) -> HeaderName;

    /// True if a value of that header is a proof of payment for this till, well-formed or not.
    fn is_proof(&self, value: &[u8]) -> bool;

    /// True if an operation with this offer has a price in its currency.
    fn sells(&self, offer: &Offer) -> bool;

    /// The longest time that redeeming a payment takes. A request that is late waits as long for an answer that is
    /// being paid.
    fn redeeming_limit(&self) -> Duration {
        Duration::from_secs(5)
    }

    /// Offers a call: the same offer to the same client for the same call within a minute.
    fn offer(&self, sold: &SoldCall<'_>, call: &Call<'_>) -> CallOffer;

    /// The offer without a price to pay: `code` and `detail` say why.
    fn no_offer(&self, sold: &SoldCall<'_>, code: &'static str, detail: &str) -> CallOffer;

    /// Takes a payment for a call: nobody else can use it until the taker redeems it or gives it back.
    ///
    /// # Errors
    /// Fails if the proof does not open this call now.
    fn take(
        &self,
        sold: &SoldCall<'_>,
        proofs: &[HeaderValue],
        call: &Call<'_>,
    ) -> Result<Box<dyn TakenPayment>, NotTaken>;
}

/// The receipt of a payment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Receipt {
    /// Headers of the answer.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

/// Why a payment does not open a call.
#[derive(Debug)]
pub enum NotTaken {
    /// The proof is good for nothing here; the client gets a new offer, with this warning.
    Refused(Warning),
    /// The request fails, and the payment stays as it is.
    Failed(ApiError),
}

/// Why a payment is given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GivingBack {
    /// The server failed.
    Ours,
    /// The answer was that there is nothing, which is information too.
    NotFound,
}

/// A payment that one request has. Dropped without an end, it is given back.
pub trait TakenPayment: fmt::Debug {
    /// The price that was paid, in satoshis; 0 if it was paid in another currency.
    fn price_sats(&self) -> u64;

    /// True if it also pays for an answer such as 404. Otherwise it is given back for one.
    fn pays_for_errors(&self) -> bool {
        false
    }

    /// Makes its use durable. Only then the answer may be sent, with the receipt.
    ///
    /// # Errors
    /// Fails if that is not certain.
    fn redeem(self: Box<Self>, call: &Call<'_>) -> Result<Receipt, ApiError>;

    /// Gives it back. Returns the state of the payment, if that is known: `pending` if it can be used again, `redeemed`
    /// if it was given back too often.
    fn give_back(self: Box<Self>, why: GivingBack, call: &Call<'_>) -> Option<&'static str>;
}
