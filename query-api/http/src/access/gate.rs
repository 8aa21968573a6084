//! The gate in front of operations that are sold. It decides by the first that holds: the call is free, a pass or
//! session opens it, a payment opens it, or it must be paid (402). Everything that parsing finds comes before.

use std::{sync::Arc, time::Duration};

use axum::http::{HeaderMap, HeaderValue, header};
use serde_json::Value;

use super::{
    bridge::payment_required,
    delivery::Delivery,
    headers::PAYMENT_SIGNATURE,
    offer::CallOffer,
    sold::SoldCall,
    till::{GivingBack, NotTaken, Receipt, TakenPayment, Till},
};
use crate::{
    answers::{code::ErrorCode, error::ApiError, meta::Warning},
    requests::ask::{Answer, Ask, Call, Content},
    server::Server,
};

/// Warning about a payment that was not used.
const UNUSED: &str = "payment_not_used";
/// Proofs of payment of a request that are looked at, for each till. Some clients send one in two schemes.
const MAX_PROOFS: usize = 4;

/// Who asks, as far as the gate wants to know.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    /// True for work of the server itself: it pays nothing.
    pub(crate) is_own: bool,
    /// True if the answer's body is not wanted: nothing is sold for that.
    pub(crate) is_head: bool,
    /// The path template by which the request came.
    pub(crate) template: &'static str,
    /// Proofs of payment.
    pub(crate) proofs: Proofs,
}

/// Proofs of payment in a request.
#[derive(Clone, Debug)]
pub(crate) struct Proofs {
    /// For each till.
    by_till: Vec<Vec<HeaderValue>>,
    /// True if it has a payment of x402, and the server no till for it.
    has_foreign: bool,
}

/// Proofs of payment in a request.
pub(crate) fn proofs_in(server: &Server, headers: &HeaderMap) -> Proofs {
    let of = |till: &Arc<dyn Till>| {
        let values = headers.get_all(till.header()).iter().filter(|value| till.is_proof(value.as_bytes()));
        values.take(MAX_PROOFS).cloned().collect()
    };
    let has_x402 = server.tills.iter().any(|till| till.header() == PAYMENT_SIGNATURE);
    Proofs {
        by_till: server.tills.iter().map(of).collect(),
        has_foreign: !has_x402 && headers.contains_key(PAYMENT_SIGNATURE),
    }
}

/// True if a value of `Authorization` is a proof of payment, not a session.
pub(crate) fn is_proof(server: &Server, authorization: &[u8]) -> bool {
    server.tills.iter().any(|till| till.header() == header::AUTHORIZATION && till.is_proof(authorization))
}

/// The longest time that redeeming one of these proofs takes.
pub(crate) fn redeeming_limit(server: &Server, proofs: &Proofs) -> Duration {
    let given = server.tills.iter().zip(&proofs.by_till).filter(|(_, proofs)| !proofs.is_empty());
    given.map(|(till, _)| till.redeeming_limit()).max().unwrap_or_default()
}

/// Result of the gate.
#[derive(Debug)]
enum Entry {
    /// The call is free, or opened by a pass or session.
    Open,
    /// A payment opens it.
    Paid(Box<dyn TakenPayment>),
}

/// Lets a request in and ends its payment with its answer, which `run` makes.
///
/// # Errors
/// The failures of the gate, or that of `run`.
pub(crate) fn answer<'a>(
    server: &Server,
    ask: &mut Ask<'a>,
    visitor: &Visitor,
    delivery: &Delivery,
    run: impl FnOnce(&Ask<'a>) -> Result<Answer, ApiError>,
) -> Result<Answer, ApiError> {
    match enter(server, ask, visitor)? {
        Entry::Open => run(ask),
        Entry::Paid(payment) => {
            // The client has paid for the whole answer.
            ask.if_none_match = None;
            ask.call.price_sats.set(payment.price_sats());
            // Taking the payment may have waited for another program.
            let answered = ask.call.take_place_again().and_then(|()| run(ask));
            leave(payment, answered, &ask.call, delivery)
        }
    }
}

/// Lets a request in, or refuses it.
///
/// # Errors
/// 402 with an offer; 409 if the payment is in use; 503 if it cannot be checked at present.
fn enter(server: &Server, ask: &Ask<'_>, visitor: &Visitor) -> Result<Entry, ApiError> {
    let unused = |why: &str| ask.call.warn(UNUSED, format!("a payment was not used, because {why}"));
    let Proofs { by_till, has_foreign } = &visitor.proofs;
    let mut proofs = server.tills.iter().zip(by_till).filter(|(_, proofs)| !proofs.is_empty());
    let is_billable = server.config.is_billable(ask.op) && !visitor.is_own;
    if !is_billable || ask.call.has_session {
        if proofs.next().is_some() || *has_foreign {
            unused(if is_billable { "a pass or wallet session opens the call" } else { "the call is free" });
        }
        return Ok(Entry::Open);
    }
    let (config, network) = (&server.config, server.backend.network());
    let mut sold = SoldCall::new(ask.op, visitor.template, &ask.input, network, &config.base_url);
    let mut refused = Vec::new();
    // One is used: that of the first protocol.
    let first = proofs.next();
    if proofs.next().is_some() {
        unused("another one was given, and one is used");
    }
    if *has_foreign {
        unused("this server sells no calls by x402");
    }
    if let Some((till, proofs)) = first {
        if !till.sells(&ask.op.offer) {
            refused.push(Warning::new(
                UNUSED,
                format!("the call is not sold by {}, so no such payment opens it", till.name()),
            ));
        } else if visitor.is_head {
            refused.push(Warning::new(UNUSED, "a payment opens no HEAD request; it can be used with GET"));
        } else {
            match till.take(&sold, proofs, &ask.call) {
                Ok(payment) => return Ok(Entry::Paid(payment)),
                Err(NotTaken::Failed(error)) => return Err(error),
                Err(NotTaken::Refused(warning)) => {
                    ask.call.take_place_again()?;
                    refused.push(warning);
                }
            }
        }
    }
    sold.refused = refused.first().map(|warning| warning.code);
    if let Some(quote) = sold.info.quoted_by.filter(|_| !visitor.is_head) {
        sold.price_sats = quoted(server, ask, quote);
    }
    let tills = server.tills.iter().filter(|till| till.sells(&ask.op.offer));
    let offers = tills.map(|till| (till.name(), offer(&**till, &sold, ask, visitor)));
    let error = payment_required(config, ask.op, offers.collect());
    Err(error.warned(refused))
}

/// Offers a call at its price of now.
fn offer(till: &dyn Till, sold: &SoldCall<'_>, ask: &Ask<'_>, visitor: &Visitor) -> CallOffer {
    if visitor.is_head {
        return till.no_offer(sold, "head_request", "HEAD is not sold; ask with GET for an offer");
    }
    till.offer(sold, &ask.call)
}

/// The price that another operation quotes.
fn quoted(server: &Server, ask: &Ask<'_>, name: &str) -> Option<u64> {
    let at = server.operations.iter().position(|op| op.info.name == name)?;
    let op = server.operations.get(at)?;
    let call = ask.call.for_another();
    let quote = Ask { at, op, input: Value::Object(Default::default()), call, if_none_match: None, ..*ask };
    let Ok(Answer::Body { content: Content::Whole(body), .. }) = server.backend.answer(&quote) else { return None };
    let quote: Value = serde_json::from_slice(&body).ok()?;
    // A call that would fail is not sold.
    if quote["available"] == false { None } else { quote["total_sats"].as_u64() }
}

/// Ends a paid request: redeems the payment for an answer, and gives it back for a failure. A payment that is carried
/// out only when it is redeemed also pays for an answer such as 404: otherwise anyone could have these without paying.
///
/// # Errors
/// The failure; or 503, if it is not certain that the payment is redeemed.
fn leave(
    payment: Box<dyn TakenPayment>,
    answered: Result<Answer, ApiError>,
    call: &Call<'_>,
    delivery: &Delivery,
) -> Result<Answer, ApiError> {
    let error = match answered {
        Ok(_) if !delivery.commit() => cairn_work::Stopped::Abandoned.into(),
        Ok(answer) => return payment.redeem(call).map(|receipt| paid(answer, receipt)),
        Err(error) => error,
    };
    let is_ours = error.status.is_server_error()
        || matches!(error.code, ErrorCode::RateLimited | ErrorCode::RequestTimeout)
        || !delivery.commit();
    let why = if is_ours { GivingBack::Ours } else { GivingBack::NotFound };
    if why == GivingBack::NotFound && payment.pays_for_errors() {
        let receipt = payment.redeem(call)?;
        return Err(error.headers(receipt.headers).with("payment_state", "redeemed"));
    }
    Err(match payment.give_back(why, call) {
        Some(state) => error.with("payment_state", state),
        None => error,
    })
}

/// A paid answer is for its client alone, and always whole.
fn paid(answer: Answer, receipt: Receipt) -> Answer {
    match answer {
        Answer::Body { media_type, content, rows_read, warnings, mut notes, .. } => {
            notes.is_paid = true;
            notes.headers = receipt.headers;
            Answer::Body { media_type, content, etag: None, rows_read, warnings, notes }
        }
        other => other,
    }
}
