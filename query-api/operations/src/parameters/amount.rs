//! Amounts in bitcoin: decimal numbers, parsed without floating point.

use std::borrow::Cow;

use cairn_http::{BadText, TextFormat};
use cairn_model::Sats;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

/// Amounts. The written digits count, not their value as a float.
pub(crate) const AMOUNT: TextFormat = TextFormat {
    name: "bitcoin-amount",
    codes: &[],
    takes_numbers: true,
    look: |schema, text, _| match parse_btc(text) {
        Err(why) => Err(BadText::new(why)),
        Ok(0) if schema["exclusiveMinimum"] == 0 => Err(BadText::new("is out of bounds")),
        Ok(_) => Ok(()),
    },
};
/// 21 million bitcoin.
pub(crate) const MAX_SATS: Sats = 2_100_000_000_000_000;
/// Longer texts are rejected.
const MAX_LEN: usize = 64;
const DECIMALS: i64 = 8;

/// Parses an amount in bitcoin, written as a JSON number: digits, optional decimals, optional exponent (programs write
/// the smallest amount as 1e-8). Trailing zeros of the decimals do not count.
///
/// # Errors
/// What is wrong, as the end of a sentence.
pub(crate) fn parse_btc(text: &str) -> Result<Sats, &'static str> {
    const NO_NUMBER: &str = "is not a decimal number";
    if text.len() > MAX_LEN {
        return Err("is too long");
    }
    let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent_of(exponent).ok_or(NO_NUMBER)?),
        None => (rest, 0),
    };
    let (whole, decimals) = mantissa.split_once('.').map_or((mantissa, None), |(whole, d)| (whole, Some(d)));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !is_digits(whole) || (whole.len() > 1 && whole.starts_with('0')) || decimals.is_some_and(|d| !is_digits(d)) {
        return Err(NO_NUMBER);
    }
    let decimals = decimals.unwrap_or_default();
    let digits = [whole, decimals].concat();
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Ok(0);
    }
    if negative {
        return Err("is negative");
    }
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    // Texts are short, so the integers cannot overflow.
    let shift = exponent + DECIMALS + zeros as i64 - decimals.len() as i64;
    if shift < 0 {
        return Err("has more than 8 decimals");
    }
    let sats = u32::try_from(shift).ok().and_then(|shift| 10u64.checked_pow(shift));
    let sats = sats.zip(significant.parse::<u64>().ok()).and_then(|(unit, count)| count.checked_mul(unit));
    sats.filter(|sats| *sats <= MAX_SATS).ok_or("exceeds 21000000")
}

/// Exponents of more than four digits exceed any amount and are treated as such.
fn exponent_of(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let good = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    good.then(|| sign * digits.parse::<i64>().unwrap_or(i64::MAX).min(9_999))
}

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
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn amounts_are_exact() {
        for (text, sats) in [
            ("0", 0),
            ("-0", 0),
            ("-0.0e7", 0),
            ("0e999999999999999999999", 0),
            ("0.00000001", 1),
            ("1e-8", 1),
            ("1E-8", 1),
            ("100e-10", 1),
            ("0.1", 10_000_000),
            ("0.10000000", 10_000_000),
            ("0.100000000000000000000000", 10_000_000),
            ("0.29", 29_000_000),
            ("1.1", 110_000_000),
            ("20999999.97690001", 2_099_999_997_690_001),
            ("21000000", MAX_SATS),
            ("2.1e+7", MAX_SATS),
            ("0.0021e10", MAX_SATS),
        ] {
            assert_eq!(parse_btc(text), Ok(sats), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount() {
        for (text, why) in [
            ("0.000000001", "has more than 8 decimals"),
            ("0.100000001", "has more than 8 decimals"),
            ("20999999.999999991", "has more than 8 decimals"),
            ("0.10000000000000000001", "has more than 8 decimals"),
            ("1e-9", "has more than 8 decimals"),
            ("1e-99999999999999999999", "has more than 8 decimals"),
            ("-0.1", "is negative"),
            ("-1e-99", "is negative"),
            ("21000000.00000001", "exceeds 21000000"),
            ("1e8", "exceeds 21000000"),
            ("1e308", "exceeds 21000000"),
            ("1e99999999999999999999", "exceeds 21000000"),
            ("184467440737.09551616", "exceeds 21000000"),
            ("99999999999999999999999999", "exceeds 21000000"),
            ("", "is not a decimal number"),
            ("-", "is not a decimal number"),
            ("+1", "is not a decimal number"),
            ("01", "is not a decimal number"),
            (".5", "is not a decimal number"),
            ("5.", "is not a decimal number"),
            ("1,5", "is not a decimal number"),
            ("1e", "is not a decimal number"),
            ("1e+-1", "is not a decimal number"),
            ("1e1e1", "is not a decimal number"),
            ("1.2.3", "is not a decimal number"),
            (" 1", "is not a decimal number"),
            ("0x10", "is not a decimal number"),
            ("NaN", "is not a decimal number"),
            ("١", "is not a decimal number"),
        ] {
            assert_eq!(parse_btc(text), Err(why), "{text}");
        }
        assert_eq!(parse_btc(&format!("0.{}", "0".repeat(63))), Err("is too long"));
    }

    proptest! {
        /// Every amount reads back, however it is written.
        #[test]
        fn every_spelling_of_an_amount(sats in 0..=MAX_SATS, zeros in 0usize..10, exponent in -12i64..12) {
            let plain = format!("{}.{:08}", sats / 100_000_000, sats % 100_000_000);
            prop_assert_eq!(parse_btc(&plain), Ok(sats));
            let padded = format!("{plain}{}", "0".repeat(zeros));
            prop_assert_eq!(parse_btc(&padded), Ok(sats));
            prop_assert_eq!(parse_btc(&format!("{sats}e-8")), Ok(sats));
            // The same digits with the point moved, and the exponent that moves it back.
            let shifted = format!("{sats}{}e{}", "0".repeat(zeros), -8 - zeros as i64);
            prop_assert_eq!(parse_btc(&shifted), Ok(sats));
            let off = parse_btc(&format!("{sats}e{exponent}"));
            let (sats, unit) = (u128::from(sats), 10u128.pow((exponent + 8).unsigned_abs() as u32));
            let exact = if exponent >= -8 { Some(sats * unit) } else { (sats % unit == 0).then(|| sats / unit) };
            prop_assert_eq!(off.ok().map(u128::from), exact.filter(|exact| *exact <= u128::from(MAX_SATS)));
        }

        /// One digit too many is always noticed, even where a float would not see it.
        #[test]
        fn the_ninth_decimal_is_refused(sats in 0..MAX_SATS, ninth in 1u8..10, more in "[0-9]{0,20}") {
            let text = format!("{}.{:08}{ninth}{more}", sats / 100_000_000, sats % 100_000_000);
            prop_assert_eq!(parse_btc(&text), Err("has more than 8 decimals"));
        }

        #[test]
        fn no_text_panics(text in "[-+0-9eE.]{0,70}") {
            if let Ok(sats) = parse_btc(&text) {
                prop_assert!(sats <= MAX_SATS);
            }
        }

        /// Numbers that went through a float on their way (as tools of agents send them) are still the amount meant.
        #[test]
        fn floats_of_whole_satoshis_are_told_apart(sats in 1..=MAX_SATS) {
            let text = format!("{}.{:08}", sats / 100_000_000, sats % 100_000_000);
            let number: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(serde_json::from_value::<BtcParam>(number).unwrap(), BtcParam(sats));
        }
    }
}
