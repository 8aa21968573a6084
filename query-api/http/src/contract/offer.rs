//! Offer of an operation: package, tier, and price after the beta.

use schemars::JsonSchema;
use serde::Serialize;

/// Tier of an operation after the beta.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say it, and sentences would swell the schema of every tool")]
pub enum Tier {
    Free,
    Premium,
}

/// Package of the service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Package {
    /// Data about the chain.
    Primary,
    /// Anchoring of hashes in the chain.
    Timestamp,
}

/// Unit of a price.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A call.
    Request,
    /// An address in a call.
    Address,
}

/// Offer of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Package.
    pub package: Package,
    /// Tier after the beta.
    pub tier: Tier,
    /// Name of the capability.
    pub capability: Option<&'static str>,
    /// L402 price after the beta, in satoshis.
    pub price_sats: Option<u64>,
    /// Unit of the price.
    pub unit: Option<Unit>,
    /// x402 price after the beta, in USD.
    pub x402_usd: Option<&'static str>,
}

impl Offer {
    /// Free, now and later.
    pub const FREE: Offer = Offer {
        package: Package::Primary,
        tier: Tier::Free,
        capability: None,
        price_sats: None,
        unit: None,
        x402_usd: None,
    };

    /// The same without a price for a call: a pass or wallet session opens it.
    #[must_use]
    pub fn without_price(self) -> Self {
        Offer { price_sats: None, unit: None, x402_usd: None, ..self }
    }
}

/// An operation of the agreed interface, implemented or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgreedOperation {
    /// HTTP method.
    pub method: &'static str,
    /// Path template.
    pub path: &'static str,
    /// Its offer.
    pub offer: Offer,
    /// The planned answer, in one line; empty if the table has none.
    pub summary: &'static str,
}

impl AgreedOperation {
    /// True for the operation with this method and path.
    #[must_use]
    pub fn is(&self, method: &str, path: &str) -> bool {
        self.method == method && self.path == path
    }

    /// Parses the table: tab-separated, a header line, then one line per operation: method, path, package, tier after
    /// the beta, capability, price in satoshis, unit, price in USD, note, summary. Lines without a package are
    /// documents.
    ///
    /// # Errors
    /// Reports the first invalid line.
    pub fn table(text: &'static str) -> Result<Vec<AgreedOperation>, &'static str> {
        let lines = text.lines().skip(1).filter(|line| line.split('\t').nth(2) != Some(""));
        lines.map(|line| AgreedOperation::line(line).ok_or(line)).collect()
    }

    fn line(line: &'static str) -> Option<AgreedOperation> {
        let mut cells = line.split('\t');
        let mut next = || cells.next();
        let (method, path, package, tier) = (next()?, next()?, next()?, next()?);
        let mut optional = || next().map(|cell| Some(cell).filter(|cell| !cell.is_empty()));
        let (capability, sats, unit, x402_usd) = (optional()?, optional()?, optional()?, optional()?);
        let offer = Offer {
            package: match package {
                "primary" => Package::Primary,
                "timestamp" => Package::Timestamp,
                _ => return None,
            },
            tier: match tier {
                "free" => Tier::Free,
                "premium" => Tier::Premium,
                _ => return None,
            },
            capability,
            price_sats: match sats {
                None => None,
                Some(sats) => Some(sats.parse().ok()?),
            },
            unit: match unit {
                None => None,
                Some("request") => Some(Unit::Request),
                Some("address") => Some(Unit::Address),
                Some(_) => return None,
            },
            x402_usd,
        };
        let summary = line.split('\t').nth(9).unwrap_or_default();
        matches!(method, "GET" | "POST").then_some(AgreedOperation { method, path, offer, summary })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_or_refused() {
        let text = "method\tpath\n\
            GET\t/v1/a\tprimary\tfree\t\t\t\t\t\n\
            GET\t/doc\t\t\t\t\t\t\ta document\n\
            POST\t/v1/b\ttimestamp\tpremium\tcap\t21\taddress\t0.01\tnote";
        let table = AgreedOperation::table(text).unwrap();
        assert_eq!(table.len(), 2);
        assert_eq!(table[0].offer, Offer::FREE);
        let paid = &table[1];
        assert!(paid.is("POST", "/v1/b") && !paid.is("GET", "/v1/b"));
        assert_eq!((paid.offer.capability, paid.offer.price_sats), (Some("cap"), Some(21)));
        assert_eq!((paid.offer.unit, paid.offer.x402_usd), (Some(Unit::Address), Some("0.01")));
        for bad in [
            "h\nGET\t/v1/a\tprimary",
            "h\nPUT\t/v1/a\tprimary\tfree\t\t\t\t\t",
            "h\nGET\t/v1/a\tprimary\tfree\t\tx\t\t\t",
        ] {
            assert!(AgreedOperation::table(bad).is_err(), "{bad}");
        }
    }
}
