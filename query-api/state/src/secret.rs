//! Format of secrets, and the hash that is stored.
//!
//! `cairn_key_<id>_<secret><check>`, `cairn_ses_…`, for codes `cairn_code_…` and for checkouts `cairn_claim_…`, in
//! lower-case hex: a public id of 6 bytes, 32 random bytes, and the first 4 bytes of the SHA-256 of all preceding
//! characters. The prefix lets people and secret scanners recognize it. The check distinguishes a typing error from an
//! unknown key without a query of the database. The SHA-256 of the whole text is stored: with 256 random bits, no
//! slower hash is needed.

use std::{fmt, str::FromStr};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::{StateError, named::named, random::random};

const ID_BYTES: usize = 6;
const SECRET_BYTES: usize = 32;
const CHECK_BYTES: usize = 4;
/// Characters after the prefix: id, separator, secret, check.
const LENGTH: usize = 2 * ID_BYTES + 1 + 2 * SECRET_BYTES + 2 * CHECK_BYTES;
const CODE_PREFIX: &str = "cairn_code_";
const CLAIM_PREFIX: &str = "cairn_claim_";

named! {
    /// Kind of a secret.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum KeyKind {
        /// The key of a bridge pass, presented in `X-WR-API-Key`.
        Bridge = "key",
        /// A wallet session, presented as `Authorization: Bearer …`.
        Session = "session",
    }
}

impl KeyKind {
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            KeyKind::Bridge => "cairn_key_",
            KeyKind::Session => "cairn_ses_",
        }
    }
}

/// Why a text is not a secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadSecret {
    /// It has another format.
    #[error("not a key, session, code or claim secret of Cairn")]
    Form,
    /// It has the prefix, but its length, digits or check are wrong.
    #[error("mistyped or truncated")]
    Check,
}

/// The text of a secret. `Debug` shows only the public part.
#[derive(Clone)]
struct SecretText {
    prefix: &'static str,
    text: String,
}

impl SecretText {
    /// Generates one with random numbers of the operating system.
    fn generate(prefix: &'static str) -> Result<Self, StateError> {
        let random = random::<{ ID_BYTES + SECRET_BYTES }>()?;
        let (id, secret) = random.split_at(ID_BYTES);
        let mut text = format!("{prefix}{}_{}", hex::encode(id), hex::encode(secret));
        text += &check(&text);
        Ok(SecretText { prefix, text })
    }

    fn read(prefix: &'static str, text: &str) -> Result<Self, BadSecret> {
        let rest = text.strip_prefix(prefix).ok_or(BadSecret::Form)?;
        let is_hex = |part: &str| part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let parts = rest.split_once('_');
        let whole = parts.is_some_and(|(id, rest)| id.len() == 2 * ID_BYTES && is_hex(id) && is_hex(rest));
        // The text is ASCII from here on, so any index is a character boundary.
        if !whole || rest.len() != LENGTH {
            return Err(BadSecret::Check);
        }
        let (said, sum) = text.split_at(text.len() - 2 * CHECK_BYTES);
        if check(said) != sum {
            return Err(BadSecret::Check);
        }
        Ok(SecretText { prefix, text: text.to_owned() })
    }

    fn id(&self) -> &str {
        let start = self.prefix.len();
        self.text.get(start..start + 2 * ID_BYTES).unwrap_or_default()
    }

    /// SHA-256 of the whole text: the form that is stored.
    fn sha256(&self) -> [u8; 32] {
        Sha256::digest(self.text.as_bytes()).into()
    }

    /// Compares with a stored hash in constant time.
    fn is_of(&self, stored_hex: &str) -> bool {
        hex::encode(self.sha256()).as_bytes().ct_eq(stored_hex.as_bytes()).into()
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({}{}_…)", self.prefix, self.id())
    }
}

/// The secret of a key or session. `Debug` shows only the public part.
#[derive(Clone)]
pub struct Secret {
    kind: KeyKind,
    text: SecretText,
}

impl Secret {
    /// Generates one with random numbers of the operating system.
    pub(crate) fn generate(kind: KeyKind) -> Result<Self, StateError> {
        Ok(Secret { kind, text: SecretText::generate(kind.prefix())? })
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    /// The public id in hex, which is the key of its row.
    #[must_use]
    pub fn id(&self) -> &str {
        self.text.id()
    }

    /// The secret itself. Show it only once, to its owner.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.text.text
    }

    /// SHA-256 of the whole text: the form that is stored.
    #[must_use]
    pub fn sha256(&self) -> [u8; 32] {
        self.text.sha256()
    }

    /// Compares with a stored hash in constant time.
    pub(crate) fn is_of(&self, stored_hex: &str) -> bool {
        self.text.is_of(stored_hex)
    }
}

/// The secret of a code that a client redeems for a key. `Debug` shows only the public part.
#[derive(Clone)]
pub struct CodeSecret(SecretText);

impl CodeSecret {
    /// Generates one with random numbers of the operating system.
    pub(crate) fn generate() -> Result<Self, StateError> {
        SecretText::generate(CODE_PREFIX).map(CodeSecret)
    }

    /// The public id in hex, which is the key of its row.
    #[must_use]
    pub fn id(&self) -> &str {
        self.0.id()
    }

    /// The code itself. Show it only once, to the operator who issues it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0.text
    }

    /// SHA-256 of the whole text, in hex: the form that is stored.
    pub(crate) fn stored(&self) -> String {
        hex::encode(self.0.sha256())
    }

    /// Compares with a stored hash in constant time.
    pub(crate) fn is_of(&self, stored_hex: &str) -> bool {
        self.0.is_of(stored_hex)
    }
}

/// The secret that the buyer of a checkout shows. `Debug` shows only the public part.
#[derive(Clone)]
pub struct ClaimSecret(SecretText);

impl ClaimSecret {
    /// Generates one with random numbers of the operating system.
    pub(crate) fn generate() -> Result<Self, StateError> {
        SecretText::generate(CLAIM_PREFIX).map(ClaimSecret)
    }

    /// The secret itself. Show it only once, to the buyer.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0.text
    }

    /// SHA-256 of the whole text, in hex: the form that is stored.
    pub(crate) fn stored(&self) -> String {
        hex::encode(self.0.sha256())
    }

    /// Compares with a stored hash in constant time.
    pub(crate) fn is_of(&self, stored_hex: &str) -> bool {
        self.0.is_of(stored_hex)
    }
}

fn check(text: &str) -> String {
    hex::encode(&Sha256::digest(text.as_bytes())[..CHECK_BYTES])
}

impl FromStr for Secret {
    type Err = BadSecret;

    fn from_str(text: &str) -> Result<Self, BadSecret> {
        let kind = KeyKind::ALL.into_iter().find(|kind| text.starts_with(kind.prefix())).ok_or(BadSecret::Form)?;
        Ok(Secret { kind, text: SecretText::read(kind.prefix(), text)? })
    }
}

impl FromStr for CodeSecret {
    type Err = BadSecret;

    fn from_str(text: &str) -> Result<Self, BadSecret> {
        SecretText::read(CODE_PREFIX, text).map(CodeSecret)
    }
}

impl FromStr for ClaimSecret {
    type Err = BadSecret;

    fn from_str(text: &str) -> Result<Self, BadSecret> {
        SecretText::read(CLAIM_PREFIX, text).map(ClaimSecret)
    }
}

impl fmt::Debug for ClaimSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl fmt::Debug for CodeSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_read_back_and_hide_themselves() {
        for kind in KeyKind::ALL {
            let secret = Secret::generate(kind).unwrap();
            let again: Secret = secret.expose().parse().unwrap();
            assert_eq!((again.kind(), again.id(), again.sha256()), (kind, secret.id(), secret.sha256()));
            assert_eq!((secret.expose().len(), secret.id().len()), (10 + LENGTH, 2 * ID_BYTES));
            let shown = format!("{secret:?}");
            assert!(shown.contains(secret.id()) && shown.len() < 40, "{shown}");
            assert!(secret.is_of(&hex::encode(secret.sha256())));
            assert_eq!(KeyKind::named(kind.name()), Some(kind));
        }
    }

    #[test]
    fn codes_and_keys_do_not_stand_for_each_other() {
        let (code, key) = (CodeSecret::generate().unwrap(), Secret::generate(KeyKind::Bridge).unwrap());
        let again: CodeSecret = code.expose().parse().unwrap();
        assert_eq!((again.id(), again.stored()), (code.id(), code.stored()));
        assert!(code.is_of(&code.stored()) && !code.is_of(&hex::encode(key.sha256())));
        assert_eq!(key.expose().parse::<CodeSecret>().unwrap_err(), BadSecret::Form);
        assert_eq!(code.expose().parse::<Secret>().unwrap_err(), BadSecret::Form);
        let mistyped = format!("{}0", &code.expose()[..code.expose().len() - 1]);
        let other = format!("{}1", &code.expose()[..code.expose().len() - 1]);
        assert!([mistyped, other].iter().any(|text| text.parse::<CodeSecret>().is_err()));
        assert!(!format!("{code:?}").contains(&code.expose()[30..]));
    }

    #[test]
    fn no_two_are_alike() {
        let all: std::collections::BTreeSet<_> =
            (0..1_000).map(|_| Secret::generate(KeyKind::Bridge).unwrap().expose().to_owned()).collect();
        assert_eq!(all.len(), 1_000);
        // Every character of the random part takes every value.
        let at = |i: usize| all.iter().map(|s| s.as_bytes()[i]).collect::<std::collections::BTreeSet<_>>().len();
        assert!((23..23 + 64).all(|i| at(i) == 16));
    }

    #[test]
    fn every_typing_error_is_noticed() {
        let secret = Secret::generate(KeyKind::Session).unwrap();
        let text = secret.expose();
        for at in 10..text.len() {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
            let typo = String::from_utf8(bytes).unwrap();
            assert_eq!(typo.parse::<Secret>().unwrap_err(), BadSecret::Check, "{at}");
            let other: Result<Secret, _> = typo.replace('_', "-").parse();
            assert_eq!(other.unwrap_err(), BadSecret::Form);
        }
        for cut in 0..text.len() {
            assert!(text[..cut].parse::<Secret>().is_err());
        }
        for text in [&format!("{text}0"), &text.to_uppercase(), &format!(" {text}"), "cairn_ses_é", "", "x"] {
            assert!(text.parse::<Secret>().is_err(), "{text}");
        }
    }

    #[test]
    fn hashes_differ_with_any_bit() {
        let secret = Secret::generate(KeyKind::Bridge).unwrap();
        let mut hash = secret.sha256();
        for at in 0..32 {
            hash[at] ^= 1;
            assert!(!secret.is_of(&hex::encode(hash)));
            hash[at] ^= 1;
        }
        assert!(!secret.is_of("") && !secret.is_of(&"0".repeat(64)));
    }
}
