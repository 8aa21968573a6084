//! Messages of the seller: what a request costs, and how to pay for it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

use crate::{address::Address, amount::Amount};

/// The protocol version.
pub const VERSION: u64 = 2;

/// Seconds that a payment must stay valid, so that its request can run and the facilitator can settle. The reference
/// facilitator itself refuses payments that end within 6 s.
pub const MIN_SETTLE_SECS: u64 = 12;
/// Tolerance for the client's clock: a client adds `maxTimeoutSeconds` to its own time.
pub const MAX_CLOCK_SKEW_SECS: u64 = 60;

/// A payment scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// A transfer of exactly the amount of the offer.
    Exact,
}

/// An EVM chain by its id; as text in the form of CAIP-2, for example `eip155:8453`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Network(pub u64);

impl TryFrom<String> for Network {
    type Error = OfferError;

    fn try_from(text: String) -> Result<Self, OfferError> {
        text.parse()
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "eip155:{}", self.0)
    }
}

impl FromStr for Network {
    type Err = OfferError;

    fn from_str(text: &str) -> Result<Self, OfferError> {
        let id = text.strip_prefix("eip155:").and_then(|id| id.parse::<Amount>().ok());
        let id = id.and_then(|id| u64::try_from(id.units()).ok()).filter(|id| *id > 0);
        id.map(Network).ok_or(OfferError::Network)
    }
}

impl Serialize for Network {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Name and version in the EIP-712 domain of a token. The token's contract decides them: USDC is `USD Coin` on Base and
/// `USDC` on Base Sepolia.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Eip712Name {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// An offer: one way to pay for a request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentRequirements {
    /// The scheme.
    pub scheme: Scheme,
    /// The chain.
    pub network: Network,
    /// The price in the token's smallest unit.
    pub amount: Amount,
    /// The contract of the token, which must implement EIP-3009.
    pub asset: Address,
    /// The account that is paid.
    pub pay_to: Address,
    /// How long a payment may stay valid, in seconds.
    pub max_timeout_seconds: u32,
    /// The token's domain.
    pub extra: Eip712Name,
}

/// An offer that no client could pay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum OfferError {
    /// The chain is not an EVM chain.
    #[error("the network is unknown; expected eip155: and the chain's id, for example eip155:8453")]
    Network,
    /// The price is zero.
    #[error("the amount is 0; a request that costs nothing has no offer")]
    Zero,
    /// The time is too short.
    #[error("max_timeout_seconds is {0}; it must be at least 30, to leave time for settling")]
    Timeout(u32),
    /// The token has no name.
    #[error("the token's EIP-712 name or version is empty; take both from its contract")]
    Name,
}

impl PaymentRequirements {
    /// Fails if no client could pay this offer.
    pub fn check(&self) -> Result<(), OfferError> {
        if self.network.0 == 0 {
            return Err(OfferError::Network);
        }
        if self.amount.units() == 0 {
            return Err(OfferError::Zero);
        }
        if self.max_timeout_seconds < 30 {
            return Err(OfferError::Timeout(self.max_timeout_seconds));
        }
        if self.extra.name.is_empty() || self.extra.version.is_empty() {
            return Err(OfferError::Name);
        }
        Ok(())
    }
}

/// The resource that is sold.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceInfo {
    /// Its URL, with path and query.
    pub url: String,
    /// A description for the buyer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The type of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

/// The content of a 402 answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentRequired {
    x402_version: u64,
    /// The reason for asking for payment.
    pub error: String,
    /// The resource.
    pub resource: ResourceInfo,
    /// The offers.
    pub accepts: Vec<PaymentRequirements>,
    /// Extensions of the protocol that the server supports: empty.
    extensions: serde_json::Map<String, serde_json::Value>,
}

impl PaymentRequired {
    /// Asks for payment of `resource` by one of the offers.
    #[must_use]
    pub fn new(error: impl Into<String>, resource: ResourceInfo, accepts: Vec<PaymentRequirements>) -> Self {
        let extensions = serde_json::Map::new();
        PaymentRequired { x402_version: VERSION, error: error.into(), resource, accepts, extensions }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        assert_eq!("eip155:8453".parse(), Ok(Network(8453)));
        for text in [
            "",
            "8453",
            "base",
            "eip155:",
            "eip155:0",
            "eip155:08453",
            "eip155:+1",
            "EIP155:1",
            "eip155:18446744073709551616",
        ] {
            assert_eq!(text.parse::<Network>(), Err(OfferError::Network), "{text}");
        }
    }

    #[test]
    fn offers_that_nobody_could_pay() {
        let address = Address::from_bytes([1; 20]);
        let good = PaymentRequirements {
            scheme: Scheme::Exact,
            network: Network(1),
            amount: Amount::from_units(1),
            asset: address,
            pay_to: address,
            max_timeout_seconds: 30,
            extra: Eip712Name { name: "USD Coin".to_owned(), version: "2".to_owned() },
        };
        assert_eq!(good.check(), Ok(()));
        let check = |change: fn(&mut PaymentRequirements)| {
            let mut bad = good.clone();
            change(&mut bad);
            bad.check().unwrap_err()
        };
        assert_eq!(check(|offer| offer.network = Network(0)), OfferError::Network);
        assert_eq!(check(|offer| offer.amount = Amount::from_units(0)), OfferError::Zero);
        assert_eq!(check(|offer| offer.max_timeout_seconds = 29), OfferError::Timeout(29));
        assert_eq!(check(|offer| offer.extra.name.clear()), OfferError::Name);
        assert_eq!(check(|offer| offer.extra.version.clear()), OfferError::Name);
    }
}
