//! Kraken: `/0/public/Ticker` and `/0/public/OHLC`.
//!
//! Every answer has status 200 and is `{"error": […], "result": {…}}`. The result has one key, Kraken's own name of the
//! pair (`XXBTZUSD` for `XBTUSD`), and `last`. A candle is `[opens, "open", "high", "low", "close", "vwap", "volume",
//! trades]`, the oldest first; the last one is not closed. At most 720, and none that is older, whatever `since` says.
//! Too many requests are `EAPI:Rate limit exceeded` or `EGeneral:Too many requests`.

use std::collections::BTreeMap;

use cairn_events::Series;
use cairn_inputs::Pair;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    AnswerError, Info, Provider, Rows, Tick,
    answer::{Cells, candle, json, number, price, rows, seconds, short},
    is_limit,
};

pub(super) struct Kraken;

#[derive(Deserialize)]
struct Answer<'a> {
    error: Vec<String>,
    #[serde(borrow, default)]
    result: BTreeMap<String, &'a RawValue>,
}

#[derive(Deserialize)]
struct Ticker<'a> {
    /// Price and volume of the last trade.
    #[serde(borrow)]
    c: Vec<&'a RawValue>,
}

/// The pair as requests name it.
fn symbol(pair: Pair) -> String {
    let code = |code: &str| if code == "BTC" { "XBT".to_owned() } else { code.to_owned() };
    code(pair.base.as_str()) + &code(pair.quote.as_str())
}

/// True if a key of a result is a name of the pair: its codes, each plain or with an X (coins) or Z (money) before it.
fn names(key: &str, pair: Pair) -> bool {
    let plain = symbol(pair);
    let (base, quote) = plain.split_at(plain.len() - pair.quote.as_str().len());
    ["", "X", "Z"]
        .iter()
        .any(|before| ["", "X", "Z"].iter().any(|between| key == format!("{before}{base}{between}{quote}")))
}

fn pair_value<'a>(pair: Pair, answer: &'a [u8]) -> Result<&'a RawValue, AnswerError> {
    let answer: Answer<'a> = json(answer)?;
    let mut found = answer.result.into_iter().filter(|(key, _)| key != "last");
    match (found.next(), found.next()) {
        (Some((key, value)), None) if names(&key, pair) => Ok(value),
        (Some((key, _)), None) => Err(AnswerError::OtherPair { asked: pair.to_string(), found: short(&key) }),
        _ => Err(AnswerError::Form("the result does not have one pair".to_owned())),
    }
}

impl Provider for Kraken {
    fn info(&self) -> Info {
        Info { name: "kraken", licence: "kraken-market-data", home: "https://api.kraken.com", page: 720 }
    }

    fn ticker(&self, pair: Pair) -> Option<String> {
        Some(format!("/0/public/Ticker?pair={}", symbol(pair)))
    }

    fn tick(&self, pair: Pair, answer: &[u8]) -> Result<Tick, AnswerError> {
        let ticker: Ticker<'_> = json(pair_value(pair, answer)?.get().as_bytes())?;
        let last = ticker.c.first().ok_or_else(|| AnswerError::Form("the last trade has no price".to_owned()))?;
        Ok(Tick { price: price(number(last)?)?, at: None })
    }

    fn candles(&self, series: Series, after: u32, _: u32) -> String {
        let pair = Pair::of(series);
        let minutes = series.interval.seconds() / 60;
        // Candles that open after `since`: the one that opens when the last known one closes is asked for, too.
        format!("/0/public/OHLC?pair={}&interval={minutes}&since={}", symbol(pair), after.saturating_sub(1))
    }

    fn rows(&self, series: Series, answer: &[u8]) -> Result<Rows, AnswerError> {
        let pair = Pair::of(series);
        let entries: Vec<Vec<&RawValue>> = json(pair_value(pair, answer)?.get().as_bytes())?;
        Ok(rows(&entries, |entry| match entry.as_slice() {
            [opens, open, high, low, close, _, volume, ..] => {
                candle(series, seconds(opens)?, &Cells { open, high, low, close, volume })
            }
            _ => Err(AnswerError::Form("a candle has fewer than seven values".to_owned())),
        }))
    }

    fn refusal(&self, status: u16, answer: &[u8]) -> Option<AnswerError> {
        let says = json::<Answer<'_>>(answer).map(|answer| short(&answer.error.join(", "))).unwrap_or_default();
        let is_busy =
            ["Rate limit", "Too many requests", "EService", "Throttled"].iter().any(|word| says.contains(word));
        // Warnings begin with W, and come with a result.
        let is_error = says.starts_with('E');
        (status != 200 || is_error).then_some(AnswerError::Refused {
            status,
            says,
            is_limit: is_limit(status) || is_busy,
        })
    }
}
