//! A transaction in its time: its value in money, its fee against those of others, and how long its coins had lain.

use serde::Deserialize;
use serde_json::Number;

use super::answers::Transaction;
use crate::format::{decimal, grouped};

pub(super) const CURRENCY: &str = "USD";
const SATS: i128 = 100_000_000;
/// Parts of a unit of money that prices are read with.
const PARTS: i128 = 100_000_000;

pub(super) struct Price {
    price: String,
    /// Where it is from, and when it was known.
    pub(super) evidence: String,
}

impl Price {
    pub(super) fn words(&self) -> String {
        format!("{} {CURRENCY}", decimal(&self.price))
    }

    /// The value of an amount, rounded to cents; `None` if the price cannot be calculated with.
    pub(super) fn value(&self, sats: &i64) -> Option<String> {
        let sats = i128::from(*sats);
        let (whole, part) = self.price.split_once('.').unwrap_or((self.price.as_str(), ""));
        if part.len() > 8 || !part.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let price = whole.parse::<u64>().ok().map(i128::from)? * PARTS + format!("{part:0<8}").parse::<i128>().ok()?;
        let scale = SATS * PARTS / 100;
        let cents = (sats.checked_mul(price)? + scale / 2).div_euclid(scale);
        Some(format!("{} {CURRENCY}", decimal(&format!("{}.{:02}", cents / 100, cents % 100))))
    }
}

/// The close of the day of a block.
#[derive(Deserialize)]
pub(super) struct Day {
    reason: Option<String>,
    candles: Vec<Candle>,
}

#[derive(Deserialize)]
struct Candle {
    closes_at: String,
    close: Option<Number>,
    close_reason: Option<String>,
    source: Option<String>,
}

impl Day {
    /// The price, or the reason why it is unknown.
    pub(super) fn price(&self) -> Result<Price, String> {
        let missing = || "the source has no price of this day".to_owned();
        let candle = self.candles.first().ok_or_else(|| self.reason.clone().unwrap_or_else(missing))?;
        let close = candle.close.as_ref().ok_or_else(|| candle.close_reason.clone().unwrap_or_else(missing))?;
        let (until, source) = (crate::format::minute(&candle.closes_at), from(candle.source.as_deref()));
        Ok(Price { price: close.to_string(), evidence: format!("close of its day, at {until}{source}") })
    }
}

#[derive(Deserialize)]
pub(super) struct Now {
    price: Option<Number>,
    price_reason: Option<String>,
    as_of: Option<String>,
    source: Option<String>,
    #[serde(default)]
    stale: bool,
}

impl Now {
    /// The price, or the reason why it is unknown.
    pub(super) fn price(&self) -> Result<Price, String> {
        let missing = || "no source has a price".to_owned();
        let price = self.price.as_ref().ok_or_else(|| self.price_reason.clone().unwrap_or_else(missing))?;
        let age = if self.stale { "an old price" } else { "the newest price" };
        let at = self.as_of.as_deref().map(|at| format!(", of {}", crate::format::minute(at))).unwrap_or_default();
        Ok(Price { price: price.to_string(), evidence: format!("{age}{at}{}", from(self.source.as_deref())) })
    }
}

fn from(source: Option<&str>) -> String {
    source.map(|source| format!(", from {source}")).unwrap_or_default()
}

#[derive(Deserialize)]
pub(super) struct BlockFees {
    fee_percentiles: Option<Percentiles>,
}

#[derive(Deserialize)]
struct Percentiles {
    p10_sat_vb: Number,
    p50_sat_vb: Number,
    p90_sat_vb: Number,
}

#[derive(Deserialize)]
pub(super) struct Recommended {
    fastest_fee_sat_vb: Option<Number>,
    half_hour_fee_sat_vb: Option<Number>,
    hour_fee_sat_vb: Option<Number>,
    reason: Option<String>,
}

/// The word between two feerates.
fn stands(rate: &Number, other: &Number) -> &'static str {
    match (rate.as_f64(), other.as_f64()) {
        (Some(rate), Some(other)) if rate > other => "above",
        (Some(rate), Some(other)) if rate < other => "below",
        _ => "equal to",
    }
}

impl BlockFees {
    /// A feerate against those of its block, in a sentence.
    pub(super) fn against(&self, rate: &Number) -> String {
        match &self.fee_percentiles {
            Some(Percentiles { p10_sat_vb, p50_sat_vb, p90_sat_vb }) => format!(
                "{rate} sat/vB is {} the median of its block, {p50_sat_vb} sat/vB; most of the block paid \
                 {p10_sat_vb} to {p90_sat_vb} sat/vB.",
                stands(rate, p50_sat_vb),
            ),
            None => "Unknown: its block has no feerates to compare with.".to_owned(),
        }
    }
}

impl Recommended {
    /// A feerate against those that are recommended, in a sentence.
    pub(super) fn against(&self, rate: &Number) -> String {
        let Some(fastest) = &self.fastest_fee_sat_vb else {
            let reason = self.reason.as_deref().unwrap_or("there is no recommendation now");
            return format!("Unknown: {reason}.");
        };
        let mut said = format!(
            "{rate} sat/vB is {} what the next block takes at present, {fastest} sat/vB",
            stands(rate, fastest)
        );
        for (name, one) in [("half an hour", &self.half_hour_fee_sat_vb), ("an hour", &self.hour_fee_sat_vb)] {
            if let Some(one) = one {
                said += &format!("; within {name}: {one} sat/vB");
            }
        }
        said + "."
    }
}

/// The coin days that a transaction destroyed, or why they are unknown. Ages are in full days, so it is a lower bound.
pub(super) fn coin_days(tx: &Transaction) -> Result<String, String> {
    if tx.is_coinbase {
        return Ok("none: its coins are new".to_owned());
    }
    if (tx.inputs.len() as u64) < tx.input_count {
        return Err("not all inputs are on this page".to_owned());
    }
    let mut sum: u128 = 0;
    for input in &tx.inputs {
        let coin = input.prevout.as_ref().and_then(|coin| coin.value_sats).and_then(|sats| u128::try_from(sats).ok());
        // An unconfirmed coin has no age yet.
        let (Some(sats), days) = (coin, input.age_days.unwrap_or_default()) else {
            return Err("the amount of an input is unknown".to_owned());
        };
        sum += sats * u128::from(days);
    }
    let (whole, part) = (sum / 100_000_000, sum % 100_000_000);
    let whole = u64::try_from(whole).map_err(|_| "the sum is too large".to_owned())?;
    let part = format!("{part:08}");
    let part = part.trim_end_matches('0');
    let point = if part.is_empty() { "" } else { "." };
    Ok(format!("{}{point}{part} BTC days", grouped(whole)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn number(text: &str) -> Number {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn values_are_exact_to_the_cent() {
        let price = |text: &str| Price { price: text.to_owned(), evidence: String::new() };
        for (of, sats, value) in [
            ("76736", 100_000_000, Some("76\u{202f}736.00 USD")),
            ("68858.579", 150_000_000, Some("103\u{202f}287.87 USD")),
            ("0.5", 1, Some("0.00 USD")),
            ("100", 5_000, Some("0.01 USD")),
            ("1e9", 1, None),
            ("0.1234567891", 1, None),
            (
                "99999999999",
                2_100_000_000_000_000,
                Some("2\u{202f}099\u{202f}999\u{202f}999\u{202f}979\u{202f}000\u{202f}000.00 USD"),
            ),
        ] {
            assert_eq!(price(of).value(&sats).as_deref(), value, "{of}");
        }
    }

    #[test]
    fn prices_have_evidence_or_a_reason() {
        let day: Day = serde_json::from_value(json!({"reason": null, "candles":
            [{"closes_at": "2025-12-30T00:00:00Z", "close": 5, "close_reason": null, "source": "s"}]}))
        .unwrap();
        assert_eq!(day.price().unwrap().evidence, "close of its day, at 2025-12-30 00:00, from s");
        let day: Day = serde_json::from_value(json!({"reason": "no source", "candles": []})).unwrap();
        assert_eq!(day.price().err().unwrap(), "no source");
        let now: Now =
            serde_json::from_value(json!({"price": null, "price_reason": "r", "as_of": null, "source": null})).unwrap();
        assert_eq!(now.price().err().unwrap(), "r");
    }

    #[test]
    fn feerates_are_compared() {
        let fees: BlockFees =
            serde_json::from_value(json!({"fee_percentiles": {"p10_sat_vb": 1, "p50_sat_vb": 2.5, "p90_sat_vb": 9}}))
                .unwrap();
        assert!(fees.against(&number("3")).starts_with("3 sat/vB is above the median of its block, 2.5 sat/vB"));
        let none: BlockFees = serde_json::from_value(json!({"fee_percentiles": null})).unwrap();
        assert!(none.against(&number("3")).starts_with("Unknown"));
        let now: Recommended = serde_json::from_value(json!({"fastest_fee_sat_vb": 4, "half_hour_fee_sat_vb": 2,
            "hour_fee_sat_vb": null, "reason": null}))
        .unwrap();
        assert_eq!(
            now.against(&number("3")),
            "3 sat/vB is below what the next block takes at present, 4 sat/vB; within half an hour: 2 sat/vB."
        );
    }

    #[test]
    fn coin_days_are_sums_of_all_inputs() {
        let tx = |count: u64| -> Transaction {
            serde_json::from_value(json!({"input_count": count, "output_count": 0, "outputs": [], "inputs": [
                {"index": 0, "prevout": {"txid": "a", "vout": 0, "value_sats": 150_000_000}, "age_days": 10},
                {"index": 1, "prevout": {"txid": "b", "vout": 0, "value_sats": 7}, "age_days": null}]}))
            .unwrap()
        };
        assert_eq!(coin_days(&tx(2)).unwrap(), "15 BTC days");
        assert!(coin_days(&tx(3)).is_err());
    }
}
