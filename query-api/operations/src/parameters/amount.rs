//! Amounts in bitcoin in requests.

use cairn_http::{BadText, Location, TextFormat, trimmed};
use cairn_model::{BadAmount, MAX_MONEY, parse_btc};
use serde::{Deserializer, de::Error};
use serde_json::Value;

use crate::{operation::prelude::*, parsed::schema};

/// Amounts. The written digits count, not their value as a float.
pub(crate) const AMOUNT: TextFormat = TextFormat {
    name: "bitcoin-amount",
    codes: &[],
    takes_numbers: true,
    canonical: trimmed,
    example: None,
    look: |schema, text, _| match parse_btc(text) {
        Err(bad @ BadAmount::TooPrecise) => Err(BadText::new(match nearest(text) {
            Some(near) => format!("{bad}; the nearest valid amount is {near}"),
            None => bad.to_string(),
        })),
        Err(bad) => Err(BadText::new(bad.to_string())),
        Ok(0) if schema["exclusiveMinimum"] == 0 => Err(BadText::new("is out of bounds")),
        Ok(_) => Ok(()),
    },
};

/// The amount nearest to a decimal number with too many decimals, as sums of floating point have them. `None` for other
/// texts, and for less than half a satoshi.
fn nearest(text: &str) -> Option<String> {
    let (whole, decimals) = text.split_once('.')?;
    let (kept, dropped) = decimals.split_at_checked(8)?;
    if !dropped.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let sats = [whole, kept]
        .concat()
        .parse::<u64>()
        .ok()?
        .checked_add(u64::from(dropped.as_bytes().first() >= Some(&b'5')))?;
    let sats = Some(sats).filter(|sats| (1..=MAX_MONEY).contains(sats))?;
    serde_json::to_string(&Btc::of(sats)).ok()
}

/// An amount in bitcoin, stored in satoshis. The text of the number in the request counts, not its value as a float.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BtcParam(pub(crate) Sats);

impl BtcParam {
    /// The least amount that counts, in satoshis: `least` unless more is asked for.
    ///
    /// # Errors
    /// 422 if it is below that of the definition.
    pub(crate) fn or_least(min_btc: Option<Self>, least: Sats) -> Result<Sats, ApiError> {
        match min_btc {
            None => Ok(least),
            Some(BtcParam(sats)) if sats >= least => Ok(sats),
            Some(_) => {
                let message = format!("is out of bounds: the minimum is {} bitcoin", least / 100_000_000);
                Err(ApiError::validation(Location::Query, "min_btc", message))
            }
        }
    }
}

impl<'de> Deserialize<'de> for BtcParam {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            _ => return Err(D::Error::custom("expected a number")),
        };
        parse_btc(&text).map(BtcParam).map_err(D::Error::custom)
    }
}

schema!(inline BtcParam, "BtcAmount", {
    "type": ["number", "string"],
    "format": AMOUNT.name,
    "maximum": 21_000_000,
    "pattern": "^(0|[1-9][0-9]{0,7})(\\.[0-9]{1,8})?$",
    "description": "Bitcoin, with at most 8 decimals: a number, or the same number as a string.",
    "examples": [0.015],
});

#[cfg(test)]
mod tests {
    use proptest::{prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn sums_of_floats_are_told_the_amount_that_was_meant() {
        let said = |text: &str| (AMOUNT.look)(&Value::Null, text, None).unwrap_err().message;
        for (text, near) in [
            ("0.30000000000000004", "0.3"),
            ("0.299999999999999", "0.3"),
            ("1.000000005", "1.00000001"),
            ("1.0000000049999", "1"),
            ("0.000000005", "0.00000001"),
            ("20999999.999999999", "21000000"),
        ] {
            assert_eq!(said(text), format!("has more than 8 decimals; the nearest valid amount is {near}"));
            assert!(parse_btc(near).is_ok());
        }
        for text in ["0.000000001", "1e-9", "0.1234567891e0"] {
            assert_eq!(said(text), "has more than 8 decimals", "{text}");
        }
    }

    proptest! {
        /// Numbers that went through a float on their way (as tools of agents send them) are still the amount meant.
        #[test]
        fn floats_of_whole_satoshis_are_told_apart(sats in 1..=MAX_MONEY) {
            let text = format!("{}.{:08}", sats / 100_000_000, sats % 100_000_000);
            let number: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(serde_json::from_value::<BtcParam>(number).unwrap(), BtcParam(sats));
        }
    }
}
