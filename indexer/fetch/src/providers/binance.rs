//! Binance: `/api/v3/ticker/price` and `/api/v3/klines`.
//!
//! A candle is an array of 12 values, `[opens in ms, "open", "high", "low", "close", "volume", closes in ms − 1, …]`,
//! the oldest first; the last one may be open. At most 1,000. Errors are `{"code": −1121, "msg": …}`, in most cases
//! with status 400; −1003 and −1015 say that there were too many requests, with status 429, and then 418 for as long as
//! Retry-After says.
//!
//! Binance has no dollars: a pair in USDT is quoted in a token, and is not the pair in USD.

use cairn_events::{Currency, Interval, Series};
use cairn_inputs::Pair;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    AnswerError, Info, Provider, Rows, Tick,
    answer::{Cells, candle, json, number, price, rows, short},
    daily_and_hourly, is_limit,
};

pub(super) struct Binance;

#[derive(Deserialize)]
struct Ticker<'a> {
    symbol: String,
    #[serde(borrow)]
    price: &'a RawValue,
}

#[derive(Deserialize)]
struct Failure {
    code: i64,
    #[serde(default)]
    msg: String,
}

fn symbol(pair: Pair) -> String {
    format!("{}{}", pair.base, pair.quote)
}

impl Provider for Binance {
    fn info(&self) -> Info {
        Info { name: "binance", licence: "binance-market-data", home: "https://api.binance.com", page: 1_000 }
    }

    fn series(&self, pair: Pair) -> Vec<Series> {
        if pair.quote == Currency::USD || pair.base == Currency::USD { Vec::new() } else { daily_and_hourly(pair) }
    }

    fn ticker(&self, pair: Pair) -> Option<String> {
        let path = || format!("/api/v3/ticker/price?symbol={}", symbol(pair));
        (!self.series(pair).is_empty()).then(path)
    }

    fn tick(&self, pair: Pair, answer: &[u8]) -> Result<Tick, AnswerError> {
        let ticker: Ticker<'_> = json(answer)?;
        if ticker.symbol != symbol(pair) {
            return Err(AnswerError::OtherPair { asked: pair.to_string(), found: short(&ticker.symbol) });
        }
        Ok(Tick { price: price(number(ticker.price)?)?, at: None })
    }

    fn candles(&self, series: Series, after: u32, until: u32) -> String {
        let symbol = symbol(Pair::of(series));
        let interval = if series.interval == Interval::Day { "1d" } else { "1h" };
        let last = until.saturating_sub(series.interval.seconds());
        format!(
            "/api/v3/klines?symbol={symbol}&interval={interval}&startTime={after}000&endTime={last}000&limit={}",
            self.info().page
        )
    }

    fn rows(&self, series: Series, answer: &[u8]) -> Result<Rows, AnswerError> {
        let entries: Vec<Vec<&RawValue>> = json(answer)?;
        Ok(rows(&entries, |entry| match entry.as_slice() {
            [opens, open, high, low, close, volume, ..] => {
                let ms: u64 = opens.get().parse().map_err(|_| AnswerError::Time(short(opens.get())))?;
                let opens = u32::try_from(ms / 1_000).map_err(|_| AnswerError::Time(ms.to_string()))?;
                if !ms.is_multiple_of(1_000) {
                    return Err(AnswerError::Misaligned);
                }
                candle(series, opens, &Cells { open, high, low, close, volume })
            }
            _ => Err(AnswerError::Form("a candle has fewer than six values".to_owned())),
        }))
    }

    fn refusal(&self, status: u16, answer: &[u8]) -> Option<AnswerError> {
        let error: Option<Failure> = json(answer).ok();
        if status == 200 && error.is_none() {
            return None;
        }
        let is_busy = error.as_ref().is_some_and(|error| matches!(error.code, -1003 | -1015 | -1008));
        let says = error.map(|error| short(&format!("{} {}", error.code, error.msg))).unwrap_or_default();
        Some(AnswerError::Refused { status, says, is_limit: is_limit(status) || is_busy })
    }
}
