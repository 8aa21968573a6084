//! Formats of amounts, feerates and times.

use std::{borrow::Cow, fmt};

use cairn_domain::FeeRate;
use cairn_model::Sats;
pub(crate) use cairn_model::{date, rfc3339};
use jiff::Timestamp;
use rust_decimal::RoundingStrategy::MidpointNearestEven;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer, ser::Error};
use serde_json::value::RawValue;

use crate::parsed::schema;

/// A JSON number with a fixed number of decimals, printed from an integer without floating point.
fn serialize_fixed<S: Serializer>(units: i128, places: usize, serializer: S) -> Result<S::Ok, S::Error> {
    RawValue::from_string(fixed(units, places)).map_err(S::Error::custom)?.serialize(serializer)
}

/// `units` / 10^`places` without trailing zeros.
fn fixed(units: i128, places: usize) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let digits = format!("{:0width$}", units.unsigned_abs(), width = places + 1);
    let (whole, decimals) = digits.split_at(digits.len() - places);
    match decimals.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        decimals => format!("{sign}{whole}.{decimals}"),
    }
}

/// An amount in bitcoin, from satoshis.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Btc(pub(crate) i64);

impl Btc {
    /// From an amount that is not negative.
    pub(crate) fn of(sats: Sats) -> Self {
        // Amounts stay below 2^51.
        Btc(i64::try_from(sats).unwrap_or(i64::MAX))
    }
}

impl Serialize for Btc {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_fixed(self.0.into(), 8, serializer)
    }
}

/// The URI of a payment (BIP 21), with the amount in bitcoin with 8 decimals.
pub(crate) fn bip21_uri(address: &str, sats: Sats) -> String {
    format!("bitcoin:{address}?amount={}.{:08}", sats / 100_000_000, sats % 100_000_000)
}

schema!(Btc, "Btc", {
    "type": "number",
    "description": "Bitcoin, with at most 8 decimals. The field with the same name in satoshis is authoritative.",
});

/// A number with at most `PLACES` decimals, from an integer in units of 10^-`PLACES`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Decimal<const PLACES: usize>(pub(crate) i128);

impl<const PLACES: usize> Serialize for Decimal<PLACES> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_fixed(self.0, PLACES, serializer)
    }
}

impl<const PLACES: usize> fmt::Display for Decimal<PLACES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&fixed(self.0, PLACES))
    }
}

impl<const PLACES: usize> JsonSchema for Decimal<PLACES> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Decimal{PLACES}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "description": format!("A number with at most {PLACES} decimals.")})
    }
}

/// An amount of money in millionths, as it is computed.
pub(crate) type Money = Decimal<6>;

/// Writes a decimal as a JSON number, digit by digit.
fn serialize_decimal<S: Serializer>(number: String, serializer: S) -> Result<S::Ok, S::Error> {
    RawValue::from_string(number).map_err(S::Error::custom)?.serialize(serializer)
}

/// A price or an exchange rate, rounded to eight significant digits (half to even).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PriceNumber(pub(crate) rust_decimal::Decimal);

impl fmt::Display for PriceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = self.0.round_sf_with_strategy(8, MidpointNearestEven).unwrap_or(self.0);
        write!(f, "{}", rounded.normalize())
    }
}

impl Serialize for PriceNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_decimal(self.to_string(), serializer)
    }
}

schema!(inline PriceNumber, "Price8", {
    "type": "number",
    "exclusiveMinimum": 0,
    "description": "A price or rate, rounded to 8 significant digits.",
});

/// An amount in a currency, or a percentage, with two decimals, rounded half to even.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fiat(pub(crate) rust_decimal::Decimal);

impl Fiat {
    /// Value of an amount at a price of one bitcoin; `None` if it is beyond what a decimal holds.
    pub(crate) fn of(sats: Sats, price: rust_decimal::Decimal) -> Option<Self> {
        Fiat::of_signed(i64::try_from(sats).ok()?, price)
    }

    /// The same of an amount that may be below zero.
    pub(crate) fn of_signed(sats: i64, price: rust_decimal::Decimal) -> Option<Self> {
        rust_decimal::Decimal::try_from_i128_with_scale(sats.into(), 8).ok()?.checked_mul(price).map(Fiat)
    }
}

impl fmt::Display for Fiat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.0.round_dp_with_strategy(2, MidpointNearestEven))
    }
}

impl Serialize for Fiat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_decimal(self.to_string(), serializer)
    }
}

schema!(inline Fiat, "Fiat", {"type": "number", "description": "A number with 2 decimals."});

/// A feerate in satoshis per virtual byte, with at most three decimals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SatVb(pub(crate) FeeRate);

impl Serialize for SatVb {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_fixed(self.0.0.into(), 3, serializer)
    }
}

schema!(SatVb, "SatVb", {
    "type": "number",
    "minimum": 0,
    "description": "Satoshis per virtual byte, with at most 3 decimals, rounded down.",
});

/// The feerate of a fee over a virtual size.
pub(crate) fn sat_vb(fee: Sats, vsize: u64) -> Option<SatVb> {
    FeeRate::of(fee, vsize).map(SatVb)
}

/// Milliseconds since 1970 as RFC 3339 (UTC), to the millisecond.
pub(crate) fn rfc3339_ms(milliseconds: u64) -> String {
    let time = i64::try_from(milliseconds).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    // Only a broken clock is beyond jiff's range.
    format!("{:.3}", time.unwrap_or(Timestamp::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_uris_are_whole_satoshis() {
        assert_eq!(bip21_uri("a", 5_000), "bitcoin:a?amount=0.00005000");
        assert_eq!(bip21_uri("a", 123_456_789), "bitcoin:a?amount=1.23456789");
    }

    #[test]
    fn amounts_are_exact() {
        let print = |sats| serde_json::to_string(&Btc(sats)).unwrap();
        assert_eq!(print(0), "0");
        assert_eq!(print(1), "0.00000001");
        assert_eq!(print(-1), "-0.00000001");
        assert_eq!(print(150_000_000), "1.5");
        assert_eq!(print(5_000_000_000), "50");
        assert_eq!(print(2_099_999_997_690_000), "20999999.9769");
        assert_eq!(print(-2_099_999_997_690_001), "-20999999.97690001");
        assert_eq!(Btc::of(u64::MAX), Btc(i64::MAX));
    }

    #[test]
    fn decimals_have_the_places_of_their_type() {
        assert_eq!(serde_json::to_string(&Decimal::<4>(-12_345)).unwrap(), "-1.2345");
        assert_eq!(serde_json::to_string(&Decimal::<24>(1)).unwrap(), "0.000000000000000000000001");
        assert_eq!(serde_json::to_string(&[Decimal::<2>(5_000), Decimal(0)]).unwrap(), "[50,0]");
    }

    #[test]
    fn feerates_have_three_decimals() {
        assert_eq!(serde_json::to_string(&sat_vb(1000, 300)).unwrap(), "3.333");
        assert_eq!(serde_json::to_string(&sat_vb(300, 300)).unwrap(), "1");
        assert_eq!(serde_json::to_string(&sat_vb(300, 0)).unwrap(), "null");
    }

    #[test]
    fn money_is_rounded_and_never_a_float() {
        let price = |text: &str| serde_json::to_string(&PriceNumber(text.parse().unwrap())).unwrap();
        for (exact, shown) in [
            ("104123.4567", "104123.46"),
            ("62067.50", "62067.5"),
            ("100000000", "100000000"),
            ("1234567.85", "1234567.8"),
            ("1234567.95", "1234568"),
            ("0.000067123456789", "0.000067123457"),
            ("0.1", "0.1"),
            ("1000000000000000", "1000000000000000"),
        ] {
            assert_eq!(price(exact), shown);
        }
        let fiat = |sats: u64, price: &str| serde_json::to_string(&Fiat::of(sats, price.parse().unwrap())).unwrap();
        assert_eq!(fiat(0, "62067.5"), "0.00");
        assert_eq!(fiat(1, "62067.5"), "0.00");
        assert_eq!(fiat(150_000_000, "62067.5"), "93101.25");
        assert_eq!(fiat(100_000_000, "0.125"), "0.12");
        assert_eq!(fiat(100_000_000, "0.135"), "0.14");
        assert_eq!(fiat(2_100_000_000_000_000, "1000000000000000"), "21000000000000000000000.00");
        assert_eq!(fiat(2_099_999_997_690_001, "104123.4567"), "2186592588294.75");
    }

    #[test]
    fn times_are_utc() {
        assert_eq!(rfc3339(1_231_006_505), "2009-01-03T18:15:05Z");
        assert_eq!(rfc3339(u32::MAX), "2106-02-07T06:28:15Z");
        assert_eq!(date(1_231_006_505 / 86_400), "2009-01-03");
        assert_eq!(date(0), "1970-01-01");
    }

    proptest::proptest! {
        #[test]
        fn printed_amounts_read_back(sats in -2_100_000_000_000_000i64..2_100_000_000_000_000) {
            let text = fixed(sats.into(), 8);
            let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
            proptest::prop_assert!(decimals.len() <= 8 && !decimals.ends_with('0'));
            let back: i64 = format!("{whole}{decimals:0<8}").parse().unwrap();
            proptest::prop_assert_eq!(back, sats);
        }
    }
}
