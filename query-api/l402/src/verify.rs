//! Checks a credential against the request that it is to open.

use thiserror::Error;

use crate::{
    binding::Binding,
    caveats::{Name, parse_expires, value_for},
    identifier::Identifier,
    macaroon::{Macaroon, SignatureError},
    secrets::{Preimage, RootKey},
};

/// Credential that opens a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verified {
    /// Identifies the token, and so the challenge.
    pub token_id: [u8; 32],
    /// Hash of the payment that was proved.
    pub payment_hash: [u8; 32],
    /// When the credential ends, in seconds since 1970. May be earlier than minted: holders may narrow it.
    pub expires: u64,
}

/// Why a credential does not open a request.
///
/// All of it may be shown. [`Refusal::Unknown`] does not say whether the token or the signature is the reason; every
/// reason after it is shown only to a client that holds a macaroon of ours, and says nothing that this client could
/// not compute itself: it has the caveats and the payment hash in plain text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Refusal {
    /// The signature is wrong. Also to be used for a token id that has no root key.
    #[error("the macaroon was not issued here, or was changed; ask for a new challenge and pay it")]
    Unknown,
    /// It has a caveat that another service must confirm.
    #[error("the macaroon has a third-party caveat; only first-party caveats are allowed, so send it without")]
    ThirdParty,
    /// The preimage belongs to another payment.
    #[error("the preimage is not that of the macaroon's invoice; send the one that the wallet got for this invoice")]
    Preimage,
    /// A caveat of ours is missing.
    #[error("the macaroon lacks a caveat of this server; ask for a new challenge")]
    Missing,
    /// A later `wr_expires` is later than one before, or is not a number.
    #[error("an added wr_expires must be a number of seconds that is not later than the one before; remove it")]
    Widened,
    /// It is bound to another method.
    #[error("the payment was for another method; repeat the request exactly as it was, or pay for this one")]
    Method,
    /// It is bound to another path.
    #[error("the payment was for another path; repeat the request exactly as it was, or pay for this one")]
    Path,
    /// It is bound to another query.
    #[error("the payment was for another query; repeat the request exactly as it was, or pay for this one")]
    Query,
    /// It is bound to another body.
    #[error("the payment was for another body; repeat the request exactly as it was, or pay for this one")]
    Body,
    /// Its time is over.
    #[error("the credential has expired; ask for a new challenge and pay it")]
    Expired,
}

impl Refusal {
    /// Returns the stable word of the reason.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unknown => "credential_unknown",
            Self::ThirdParty => "third_party_caveat",
            Self::Preimage => "preimage_mismatch",
            Self::Missing => "caveat_missing",
            Self::Widened => "caveat_widened",
            Self::Method => "other_method",
            Self::Path => "other_path",
            Self::Query => "other_query",
            Self::Body => "other_body",
            Self::Expired => "credential_expired",
        }
    }
}

/// Checks that a macaroon is signed by this root key, that the preimage proves its payment, and that each of our
/// caveats allows this request at `now` (seconds since 1970). At the second of its expiry a credential is over.
///
/// Other caveats are skipped: their holder added them for itself. Our own caveats may be repeated; then each of them
/// must hold, and no expiry is later than the one before.
pub fn verify(
    macaroon: &Macaroon,
    root_key: &RootKey,
    preimage: &Preimage,
    binding: &Binding<'_>,
    now: u64,
) -> Result<Verified, Refusal> {
    macaroon.check_signature(root_key).map_err(|error| match error {
        SignatureError::ThirdParty => Refusal::ThirdParty,
        SignatureError::Mismatch => Refusal::Unknown,
    })?;
    let identifier = Identifier::parse(macaroon.identifier()).map_err(|_| Refusal::Unknown)?;
    if !preimage.proves(&identifier.payment_hash) {
        return Err(Refusal::Preimage);
    }
    for name in Name::EQUAL {
        check_equal(macaroon, name, binding)?;
    }
    let expires = last_expiry(macaroon)?;
    if now >= expires {
        return Err(Refusal::Expired);
    }
    Ok(Verified { token_id: identifier.token_id, payment_hash: identifier.payment_hash, expires })
}

/// Checks that there is a caveat of this name, and that each has the value of the request.
fn check_equal(macaroon: &Macaroon, name: Name, binding: &Binding<'_>) -> Result<(), Refusal> {
    let expected = value_for(name, binding).ok_or(Refusal::Missing)?;
    let mut values = values_of(macaroon, name).peekable();
    values.peek().ok_or(Refusal::Missing)?;
    if values.all(|value| value == expected.as_bytes()) { Ok(()) } else { Err(other(name)) }
}

const fn other(name: Name) -> Refusal {
    match name {
        Name::Method => Refusal::Method,
        Name::Path => Refusal::Path,
        Name::Query => Refusal::Query,
        Name::Body => Refusal::Body,
        Name::Expires => Refusal::Widened,
    }
}

/// Returns the last and so the earliest expiry.
fn last_expiry(macaroon: &Macaroon) -> Result<u64, Refusal> {
    let mut last = None;
    for value in values_of(macaroon, Name::Expires) {
        let expires = parse_expires(value).ok_or(Refusal::Widened)?;
        if last.is_some_and(|before| before < expires) {
            return Err(Refusal::Widened);
        }
        last = Some(expires);
    }
    last.ok_or(Refusal::Missing)
}

fn values_of(macaroon: &Macaroon, name: Name) -> impl Iterator<Item = &[u8]> {
    macaroon.caveats().iter().filter_map(move |caveat| name.value_in(&caveat.id))
}
