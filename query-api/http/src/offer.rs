//! How an operation is offered: its package and tier, and what a call will cost once the beta is over.

use schemars::JsonSchema;
use serde::Serialize;

/// What an operation costs after the beta.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Tier {
    Free,
    Premium,
}

/// The part of the service that an operation belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Package {
    /// Data about the chain.
    Primary,
    /// Anchoring of hashes in the chain.
    Timestamp,
}

/// What a price is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// A call.
    Request,
    /// An address in a call.
    Address,
}

/// How an operation is offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Offer {
    /// Part of the service.
    pub(crate) package: Package,
    /// Tier after the beta.
    pub(crate) tier: Tier,
    /// Name of what is sold.
    pub(crate) capability: Option<&'static str>,
    /// Price after the beta by L402.
    pub(crate) price_sats: Option<u64>,
    /// What the price is for.
    pub(crate) unit: Option<Unit>,
    /// Price after the beta by x402, in dollars.
    pub(crate) x402_usd: Option<&'static str>,
}

impl Offer {
    /// Free, now and later.
    pub(crate) const FREE: Offer = Offer {
        package: Package::Primary,
        tier: Tier::Free,
        capability: None,
        price_sats: None,
        unit: None,
        x402_usd: None,
    };

    /// To be paid for each call after the beta.
    pub(crate) const fn premium(capability: &'static str, price_sats: u64) -> Self {
        Offer { tier: Tier::Premium, ..Offer::FREE.priced(capability, price_sats) }
    }

    /// The same, but with a price for some of its requests.
    pub(crate) const fn priced(self, capability: &'static str, price_sats: u64) -> Self {
        Offer { price_sats: Some(price_sats), ..self.sold(capability, Unit::Request) }
    }

    /// The same, but sold under a name.
    pub(crate) const fn sold(self, capability: &'static str, unit: Unit) -> Self {
        Offer { capability: Some(capability), unit: Some(unit), ..self }
    }

    /// The same, but the price is for each address of a call.
    pub(crate) const fn per_address(self) -> Self {
        Offer { unit: Some(Unit::Address), ..self }
    }

    /// The same, but with a price in dollars, too.
    pub(crate) const fn x402(self, usd: &'static str) -> Self {
        Offer { x402_usd: Some(usd), ..self }
    }

    /// The same, in the package of timestamps.
    pub(crate) const fn timestamp(self) -> Self {
        Offer { package: Package::Timestamp, ..self }
    }
}
