//! The message of the buyer: a signed transfer.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{
    address::{Address, hex_bytes},
    amount::Amount,
    requirements::ResourceInfo,
    signature::Signature,
};

/// A payment as the client sends it: nothing in it is verified. Unknown fields and extensions are ignored.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentPayload {
    /// The protocol version; [`crate::VERSION`] if it was decoded by this crate.
    pub x402_version: u64,
    /// The resource as the server named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceInfo>,
    /// The offer that the client chose, as it repeats it.
    pub accepted: Map<String, Value>,
    /// The transfer.
    pub payload: ExactPayload,
}

/// A transfer and its signature.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ExactPayload {
    /// The signature.
    pub signature: Signature,
    /// The transfer.
    pub authorization: Authorization,
}

/// A transfer by EIP-3009 `transferWithAuthorization`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Authorization {
    /// The account that pays.
    pub from: Address,
    /// The account that is paid.
    pub to: Address,
    /// The amount.
    pub value: Amount,
    /// The token accepts the transfer after this time, in seconds since 1970.
    pub valid_after: Amount,
    /// The token accepts the transfer before this time, in seconds since 1970.
    pub valid_before: Amount,
    /// The number that the payer uses once.
    pub nonce: Nonce,
}

/// The number that makes a transfer unique among those of one payer in one token.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Nonce([u8; 32]);

impl Nonce {
    /// Returns its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl TryFrom<String> for Nonce {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        hex_bytes(&text).map(Nonce).ok_or("this is not a nonce; expected 0x and 64 hex digits")
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{}", hex::encode(self.0))
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Nonce {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
