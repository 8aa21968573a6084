//! Takes a payment: checks the proof, and leases its challenge.

use std::time::Duration;

use axum::http::HeaderValue;
use cairn_http::{ApiError, Call, ErrorCode, NotTaken, SoldCall, Warning};
use cairn_l402::{Credentials, Identifier, Refusal, RootKey, Verified, verify};
use cairn_state::{Challenge, Leasing, PAID_GRACE_SECS};

use crate::{
    lease::{LeasedChallenge, PATIENCE},
    request::{binding_of, body_of, fingerprint_of},
};

/// A lease lasts longer than any request by this time.
const LEASE_MARGIN: Duration = Duration::from_secs(15);
/// Warning about a header that is not a proof of payment.
const MALFORMED: &str = "authorization_malformed";

/// Takes the payment of the first proof that can be read.
pub(crate) fn take(
    sold: &SoldCall<'_>,
    proofs: &[HeaderValue],
    holder: &str,
    call: &Call<'_>,
) -> Result<LeasedChallenge, NotTaken> {
    let credentials = read(proofs)?;
    let refused = |refusal: Refusal| NotTaken::Refused(Warning::new(refusal.word(), refusal.to_string()));
    let identifier = Identifier::parse(credentials.macaroon.identifier()).map_err(|_| refused(Refusal::Unknown))?;
    let token = identifier.token_id;
    let challenge = call
        .with_state_within(PATIENCE, async |state| state.challenge_of_token(&token).await)
        .map_err(NotTaken::Failed)?
        .ok_or_else(|| refused(Refusal::Unknown))?;
    let now = call.now_ms / 1_000;
    let verified = check(&credentials, &challenge, sold, now).map_err(refused)?;
    let price_sats = challenge.content.price_sats;
    let ttl = call.config.request_timeout.saturating_add(LEASE_MARGIN).as_secs();
    let fingerprint = fingerprint_of(sold);
    let leasing = call.with_state_within(PATIENCE, async |state| {
        state.lease_challenge(&verified.token_id, &fingerprint, holder, ttl, now).await
    });
    match leasing.map_err(NotTaken::Failed)? {
        Leasing::Leased(lease) => {
            let (state, runtime) = call.state_and_runtime().ok_or_else(|| NotTaken::Failed(ApiError::internal()))?;
            Ok(LeasedChallenge { lease: Some(lease), price_sats, state, runtime, now })
        }
        Leasing::Busy { until } => Err(NotTaken::Failed(in_use(until.saturating_sub(now)))),
        Leasing::Redeemed { .. } => Err(NotTaken::Refused(Warning::new(
            "credential_redeemed",
            "the payment has opened an answer already, and opens no second one; pay the new invoice",
        ))),
        Leasing::OtherRequest => Err(refused(Refusal::Query)),
        Leasing::Expired => Err(refused(Refusal::Expired)),
        Leasing::Unknown => Err(refused(Refusal::Unknown)),
    }
}

/// Reads the first proof that is well-formed. Some clients send the same one under two schemes.
fn read(proofs: &[HeaderValue]) -> Result<Credentials, NotTaken> {
    let mut first = None;
    for proof in proofs {
        match Credentials::parse(proof.as_bytes()) {
            Ok(credentials) => return Ok(credentials),
            Err(error) => drop(first.get_or_insert(error)),
        }
    }
    let why = first.map_or_else(|| "the header is empty".to_owned(), |error| error.to_string());
    Err(NotTaken::Refused(Warning::new(MALFORMED, format!("the proof of payment cannot be read: {why}"))))
}

/// Checks macaroon and preimage. If an operator has opened the challenge again, its later end counts, but not for a
/// holder that has shortened its own macaroon.
fn check(credentials: &Credentials, challenge: &Challenge, sold: &SoldCall<'_>, now: u64) -> Result<Verified, Refusal> {
    let content = &challenge.content;
    let usual_end = content.expires_at.saturating_add(PAID_GRACE_SECS);
    let at = match challenge.redeemable_until > usual_end {
        true if now < challenge.redeemable_until => now.min(usual_end.saturating_sub(1)),
        _ => now,
    };
    let binding = binding_of(sold, body_of(sold)).map_err(|_| Refusal::Path)?;
    let root_key = RootKey::new(&content.secrets.root_key);
    let verified = verify(&credentials.macaroon, &root_key, &credentials.preimage, &binding, at)?;
    // The row and the macaroon were made together; a token id with another payment is forged.
    if verified.payment_hash == content.payment_hash { Ok(verified) } else { Err(Refusal::Unknown) }
}

/// 409. The other request ends by itself, at the latest after these seconds.
pub(crate) fn in_use(seconds: u64) -> ApiError {
    let wait = u32::try_from(seconds).unwrap_or(u32::MAX).clamp(1, 60);
    let detail = "another request uses this payment at present; if its answer did not reach you, repeat this request after \
                  the seconds in Retry-After";
    ApiError::new(ErrorCode::PaymentInUse, detail).retryable(Some(wait))
}
