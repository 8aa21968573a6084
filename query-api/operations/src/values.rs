//! Formats of amounts, feerates and times.

use std::{borrow::Cow, fmt};

use cairn_domain::FeeRate;
use cairn_model::Sats;
use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer, ser::Error};
use serde_json::value::RawValue;

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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

impl JsonSchema for Btc {
    fn schema_name() -> Cow<'static, str> {
        "Btc".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "number",
            "description": "Bitcoin, with at most 8 decimals. The field with the same name in satoshis is authoritative.",
        })
    }
}

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

/// A feerate in satoshis per virtual byte, with at most three decimals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SatVb(pub(crate) FeeRate);

impl Serialize for SatVb {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_fixed(self.0.0.into(), 3, serializer)
    }
}

impl JsonSchema for SatVb {
    fn schema_name() -> Cow<'static, str> {
        "SatVb".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "number",
            "minimum": 0,
            "description": "Satoshis per virtual byte, with at most 3 decimals, rounded down.",
        })
    }
}

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

/// Seconds since 1970 as RFC 3339 (UTC).
pub(crate) fn rfc3339(seconds: u32) -> String {
    // Any u32 is within jiff's range; the fallback is never reached.
    Timestamp::from_second(seconds.into()).unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}

/// The date (UTC) of days since 1970.
pub(crate) fn date(day: u32) -> String {
    let seconds = i64::from(day) * 86_400;
    let text = Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH).to_string();
    text.chars().take_while(|c| *c != 'T').collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

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
