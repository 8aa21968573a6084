//! Values that neither logs nor errors may show.

use std::fmt;

use subtle::ConstantTimeEq;
use thiserror::Error;

use crate::chain::{Hash, derived_key, sha256};

/// Key that signs the macaroons of one challenge, in the derived form that begins the chain.
#[derive(Clone)]
pub struct RootKey(Hash);

impl RootKey {
    /// Makes a root key from 32 random bytes.
    #[must_use]
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(derived_key(secret))
    }

    /// Makes a root key from a secret of any length, as other libraries and their test vectors have them. Only 32
    /// random bytes are a good secret.
    #[must_use]
    pub fn from_secret(secret: &[u8]) -> Self {
        Self(derived_key(secret))
    }

    pub(crate) const fn derived(&self) -> &Hash {
        &self.0
    }
}

impl fmt::Debug for RootKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RootKey(…)")
    }
}

/// Proof of a Lightning payment. The payer gets it from the payee.
#[derive(Clone)]
pub struct Preimage([u8; 32]);

/// Why a text is not a preimage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the preimage must be 64 hexadecimal digits; take it from the wallet that paid the invoice")]
pub struct PreimageError;

impl Preimage {
    /// Makes a preimage of its bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads 64 hexadecimal digits of either case.
    pub fn from_hex(digits: &[u8]) -> Result<Self, PreimageError> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| PreimageError)?;
        Ok(Self(bytes))
    }

    /// Returns the payment hash that the preimage proves: its SHA-256.
    #[must_use]
    pub fn payment_hash(&self) -> [u8; 32] {
        sha256(&self.0)
    }

    pub(crate) fn proves(&self, payment_hash: &[u8; 32]) -> bool {
        self.payment_hash().ct_eq(payment_hash).into()
    }
}

impl fmt::Debug for Preimage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Preimage(…)")
    }
}
