//! A payment that is verified.

use std::fmt;

use crate::{
    address::Address,
    keccak::Word,
    payload::{Authorization, Nonce},
    requirements::{Network, PaymentRequirements, ResourceInfo},
    signature::Signature,
};

/// A payment that fits an offer and the request. [`crate::verify`] alone makes one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Payment {
    pub(crate) offer: PaymentRequirements,
    pub(crate) resource: ResourceInfo,
    pub(crate) transfer: Authorization,
    pub(crate) signature: Signature,
    pub(crate) digest: Word,
}

/// Identifies a transfer: a token accepts each nonce of a payer once. The key must be unique over everything that the
/// seller sells, and must be recorded before a payment is settled: the signature covers no request, so the same one
/// could otherwise pay for two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NonceKey {
    /// The chain.
    pub network: Network,
    /// The token.
    pub asset: Address,
    /// The payer.
    pub from: Address,
    /// The payer's number.
    pub nonce: Nonce,
}

/// Writes the key in one form, for a column of a database: chain, token, payer and nonce, separated by slashes.
impl fmt::Display for NonceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NonceKey { network, asset, from, nonce } = self;
        write!(f, "{network}/{asset}/{from}/{nonce}")
    }
}

impl Payment {
    /// Returns the key that must be unique.
    #[must_use]
    pub fn nonce_key(&self) -> NonceKey {
        let Authorization { from, nonce, .. } = self.transfer;
        NonceKey { network: self.offer.network, asset: self.offer.asset, from, nonce }
    }

    /// Returns the hash that was signed. A retry that pays the same has the same hash; a client may sign two transfers
    /// with one nonce, and these differ in it.
    #[must_use]
    pub const fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Returns the offer that is paid.
    #[must_use]
    pub const fn offer(&self) -> &PaymentRequirements {
        &self.offer
    }

    /// Returns the resource that is paid for.
    #[must_use]
    pub const fn resource(&self) -> &ResourceInfo {
        &self.resource
    }

    /// Returns the transfer.
    #[must_use]
    pub const fn transfer(&self) -> &Authorization {
        &self.transfer
    }
}
