//! The identifier of a macaroon in version 0 of L402.

use thiserror::Error;

const VERSION: [u8; 2] = [0, 0];

/// Identifier of a macaroon of L402: the payment that it asks for, and the token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identifier {
    /// SHA-256 of the preimage.
    pub payment_hash: [u8; 32],
    /// 32 random bytes that identify the token.
    pub token_id: [u8; 32],
}

/// Why bytes are not an identifier.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum IdentifierError {
    /// They have another length.
    #[error("the identifier of the macaroon must have 66 bytes; send the macaroon of the challenge unchanged")]
    Length,
    /// They are of another version.
    #[error("the identifier of the macaroon must have version 0; send the macaroon of the challenge unchanged")]
    Version,
}

impl Identifier {
    /// Reads 66 bytes: the version (2 bytes, big-endian), the payment hash and the token id (32 bytes each).
    pub fn parse(bytes: &[u8]) -> Result<Self, IdentifierError> {
        let (version, rest) = bytes.split_first_chunk::<2>().ok_or(IdentifierError::Length)?;
        let (payment_hash, rest) = rest.split_first_chunk().ok_or(IdentifierError::Length)?;
        let token_id = rest.try_into().map_err(|_| IdentifierError::Length)?;
        if *version != VERSION {
            return Err(IdentifierError::Version);
        }
        Ok(Self { payment_hash: *payment_hash, token_id })
    }

    /// Writes the identifier as a macaroon has it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        [&VERSION[..], &self.payment_hash, &self.token_id].concat()
    }
}
