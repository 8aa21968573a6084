//! Verification of a payment without the chain.

use std::slice;

use serde_json::Value;

use crate::{
    eip712::transfer_digest,
    payload::{Authorization, PaymentPayload},
    payment::Payment,
    refusal::Refusal,
    requirements::{MAX_CLOCK_SKEW_SECS, MIN_SETTLE_SECS, PaymentRequirements, ResourceInfo},
};

/// Verifies a payment against the offers of a request and its resource.
///
/// `now` is in seconds since 1970. To verify the retry of a payment that is being settled, pass the time of its first
/// request: since then it may have ended on purpose.
///
/// `accepted` must equal an offer, field by field. `resource.url` must equal the URL byte by byte, without any
/// normalisation, because clients repeat `resource` as they got it; a payment without it is refused.
///
/// # Errors
/// Fails with [`Refusal::UnsupportedSignature`] only if all but the signature is right: the caller may then give the
/// payment to a facilitator, which asks the chain. Record its [`crate::NonceKey`] only after the facilitator called it
/// valid: until then nobody has proved to be `from`, and a stranger could use up the nonces of others.
pub fn verify(
    payload: PaymentPayload,
    offers: &[PaymentRequirements],
    resource: &ResourceInfo,
    now: u64,
) -> Result<Payment, Refusal> {
    let accepted = Value::Object(payload.accepted);
    let is_accepted = |offer: &&PaymentRequirements| serde_json::to_value(offer).is_ok_and(|offer| offer == accepted);
    let offer = offers.iter().find(is_accepted).ok_or(Refusal::NotOffered)?;
    match payload.resource {
        None => return Err(Refusal::NoResource),
        Some(named) if named.url != resource.url => return Err(Refusal::OtherResource),
        Some(_) => {}
    }
    let transfer = payload.payload.authorization;
    check_transfer(&transfer, offer, now)?;
    let name = &offer.extra;
    let digest = transfer_digest(&name.name, &name.version, offer.network.0, &offer.asset, &transfer);
    let payment = Payment {
        offer: offer.clone(),
        resource: resource.clone(),
        transfer,
        signature: payload.payload.signature.with_token_v(),
        digest,
    };
    if !payment.signature.is_of_key() {
        return Err(Refusal::UnsupportedSignature(Box::new(payment)));
    }
    if payment.signature.recover(digest)? != payment.transfer.from {
        return Err(Refusal::Signer(payment.transfer.from));
    }
    Ok(payment)
}

/// Verifies a payment again that [`verify`] accepted at `at`, from its stored form: against the offer and the resource
/// that it names itself, since those of today may be others.
///
/// # Errors
/// Fails like [`verify`].
pub fn verify_stored(payload: PaymentPayload, at: u64) -> Result<Payment, Refusal> {
    let offer = serde_json::from_value(Value::Object(payload.accepted.clone())).map_err(|_| Refusal::NotOffered)?;
    let resource = payload.resource.clone().ok_or(Refusal::NoResource)?;
    verify(payload, slice::from_ref(&offer), &resource, at)
}

fn check_transfer(transfer: &Authorization, offer: &PaymentRequirements, now: u64) -> Result<(), Refusal> {
    let Authorization { to, value, valid_after, valid_before, .. } = *transfer;
    if value != offer.amount {
        return Err(Refusal::Value(value, offer.amount));
    }
    if to != offer.pay_to {
        return Err(Refusal::Recipient(to, offer.pay_to));
    }
    let now = u128::from(now);
    if valid_after.units() > now {
        return Err(Refusal::NotYetValid(valid_after));
    }
    if valid_before.units() < now + u128::from(MIN_SETTLE_SECS) {
        return Err(Refusal::Expired(valid_before));
    }
    let latest = now + u128::from(offer.max_timeout_seconds) + u128::from(MAX_CLOCK_SKEW_SECS);
    if valid_before.units() > latest {
        return Err(Refusal::TooLong(valid_before, latest));
    }
    Ok(())
}
