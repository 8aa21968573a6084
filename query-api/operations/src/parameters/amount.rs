//! Amounts in bitcoin in requests.

use std::borrow::Cow;

use cairn_http::{BadText, TextFormat};
use cairn_model::{Sats, parse_btc};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

/// Amounts. The written digits count, not their value as a float.
pub(crate) const AMOUNT: TextFormat = TextFormat {
    name: "bitcoin-amount",
    codes: &[],
    takes_numbers: true,
    look: |schema, text, _| match parse_btc(text) {
        Err(bad) => Err(BadText::new(bad.to_string())),
        Ok(0) if schema["exclusiveMinimum"] == 0 => Err(BadText::new("is out of bounds")),
        Ok(_) => Ok(()),
    },
};

/// An amount in bitcoin, stored in satoshis. The text of the number in the request counts, not its value as a float.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BtcParam(pub(crate) Sats);

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

impl JsonSchema for BtcParam {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "BtcAmount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["number", "string"],
            "format": AMOUNT.name,
            "maximum": 21_000_000,
            "pattern": "^(0|[1-9][0-9]{0,7})(\\.[0-9]{1,8})?$",
            "description": "Bitcoin, with at most 8 decimals: a number, or the same number as a string.",
            "examples": [0.015],
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use cairn_model::MAX_MONEY;
    use proptest::{prop_assert_eq, proptest};

    use super::*;

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
