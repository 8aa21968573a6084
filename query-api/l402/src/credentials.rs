//! Credentials in the header `Authorization`.

use base64::{
    Engine as _, alphabet,
    engine::DecodePaddingMode,
    engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig},
};
use thiserror::Error;

use crate::{
    identifier::Identifier,
    macaroon::{MAX_BYTES, Macaroon, MacaroonError},
    secrets::{Preimage, PreimageError},
};

/// Longest value of the header in bytes.
pub const MAX_AUTHORIZATION_BYTES: usize = 16_384;
/// Most macaroons in one header.
pub const MAX_MACAROONS: usize = 4;

/// Longest macaroon in base64, with padding.
const MAX_BASE64_BYTES: usize = MAX_BYTES.div_ceil(3) * 4;

const SCHEMES: [&[u8]; 2] = [b"L402", b"LSAT"];

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Macaroon and the proof of its payment, as a client sends them. Nothing of it is verified.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The macaroon.
    pub macaroon: Macaroon,
    /// The proof of payment.
    pub preimage: Preimage,
}

/// Why the value of a header is not a credential of L402. No variant holds any part of the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum CredentialError {
    /// The value is too long.
    #[error("Authorization has more than {MAX_AUTHORIZATION_BYTES} bytes; send one macaroon")]
    Length,
    /// The scheme is another one.
    #[error("the scheme of Authorization must be L402 or LSAT")]
    Scheme,
    /// There is no colon.
    #[error("the credential must be macaroon:preimage; put a colon and the preimage behind the macaroon")]
    Colon,
    /// The preimage is not one.
    #[error(transparent)]
    Preimage(#[from] PreimageError),
    /// There are too many macaroons.
    #[error("Authorization has more than {MAX_MACAROONS} macaroons; send the one that was paid")]
    Macaroons,
    /// A macaroon is not in base64.
    #[error("each macaroon must be base64 or base64url, with or without padding; send it as the challenge has it")]
    Base64,
    /// A macaroon is malformed.
    #[error(transparent)]
    Macaroon(#[from] MacaroonError),
    /// Not exactly one of several macaroons belongs to the preimage.
    #[error("exactly one of the macaroons must belong to the preimage; send that one alone")]
    Choice,
}

impl Credentials {
    /// Reads `L402 <macaroon>[,<macaroon>…]:<preimage>`, also with the scheme `LSAT`.
    ///
    /// bLIP 26 lets a client list several macaroons but has one preimage for all of them, and so one payment. Macaroons
    /// of other services, and discharges of third-party caveats (which we refuse), are of no use here. So all of them
    /// must parse, exactly one may have the payment hash of the preimage, and that one is taken. A macaroon that
    /// stands alone is taken with any preimage.
    pub fn parse(value: &[u8]) -> Result<Self, CredentialError> {
        if value.len() > MAX_AUTHORIZATION_BYTES {
            return Err(CredentialError::Length);
        }
        let text = after_scheme(value).ok_or(CredentialError::Scheme)?;
        let (list, preimage) = split_once(text, b':').ok_or(CredentialError::Colon)?;
        let preimage = Preimage::from_hex(preimage)?;
        if list.iter().filter(|byte| **byte == b',').count() >= MAX_MACAROONS {
            return Err(CredentialError::Macaroons);
        }
        let macaroons = list.split(|byte| *byte == b',').map(macaroon).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { macaroon: paid(macaroons, &preimage)?, preimage })
    }
}

/// True if the value of `Authorization` has a scheme of L402, well-formed or not. `Bearer` does not.
#[must_use]
pub fn is_l402(value: &[u8]) -> bool {
    after_scheme(value).is_some()
}

/// Returns the part behind the scheme and its spaces; empty if there is only a scheme.
fn after_scheme(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = split_once(value, b' ').unwrap_or((value, &[]));
    SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known)).then(|| rest.trim_ascii())
}

fn split_once(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let (before, rest) = bytes.split_at_checked(bytes.iter().position(|byte| *byte == at)?)?;
    Some((before, rest.split_first()?.1))
}

fn macaroon(text: &[u8]) -> Result<Macaroon, CredentialError> {
    if text.len() > MAX_BASE64_BYTES {
        return Err(MacaroonError::Size.into());
    }
    let engine = if text.iter().any(|byte| matches!(byte, b'-' | b'_')) { URL_SAFE } else { STANDARD };
    let bytes = engine.decode(text).map_err(|_| CredentialError::Base64)?;
    Ok(Macaroon::parse(&bytes)?)
}

/// Returns the only macaroon, or the only one that belongs to the preimage.
fn paid(mut macaroons: Vec<Macaroon>, preimage: &Preimage) -> Result<Macaroon, CredentialError> {
    if macaroons.len() > 1 {
        let is_paid = |id: Identifier| preimage.proves(&id.payment_hash);
        macaroons.retain(|macaroon| Identifier::parse(macaroon.identifier()).is_ok_and(is_paid));
    }
    match <[Macaroon; 1]>::try_from(macaroons) {
        Ok([macaroon]) => Ok(macaroon),
        Err(_) => Err(CredentialError::Choice),
    }
}
