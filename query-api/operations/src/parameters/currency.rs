//! Currencies as parameters.

use cairn_events::{Currency, CurrencyError};
use cairn_http::{BadText, TextFormat};
use serde::{Serialize, Serializer};

use crate::parsed::{parsed, schema};

pub(crate) const CURRENCY: TextFormat =
    TextFormat::trimmed("currency", |_, text, _| parse(text).map(drop).map_err(BadText::new));

/// A currency that something is priced in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CurrencyParam(pub(crate) Currency);

impl CurrencyParam {
    pub(crate) fn usd() -> Self {
        CurrencyParam(Currency::USD)
    }

    pub(crate) fn eur() -> Self {
        CurrencyParam(Currency::EUR)
    }
}

fn parse(text: &str) -> Result<CurrencyParam, String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match text.parse::<Currency>().ok().filter(|_| is_plain).ok_or(CurrencyError) {
        Err(error) => Err(format!("is {error}")),
        Ok(Currency::BTC) => Err("is the priced currency; give another one".to_owned()),
        Ok(currency) => Ok(CurrencyParam(currency)),
    }
}

parsed!(CurrencyParam, parse);

/// For the default in the description.
impl Serialize for CurrencyParam {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

schema!(inline CurrencyParam, "Currency", {
    "type": "string",
    "format": CURRENCY.name,
    "pattern": "^[A-Za-z0-9]{2,5}$",
    "examples": ["EUR"],
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_in_any_case() {
        for (text, code) in [("USD", "USD"), ("eur", "EUR"), ("Jpy", "JPY"), ("USDT", "USDT")] {
            assert_eq!(parse(text).unwrap().0.as_str(), code);
        }
        for text in ["", "U", "DOLLAR", "U$", "é", "BTC", "btc", " EUR", "US\0"] {
            assert!(parse(text).unwrap_err().starts_with("is "), "{text}");
        }
    }
}
