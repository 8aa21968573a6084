//! Bitstamp: `/api/v2/ticker/btcusd/` and `/api/v2/ohlc/btcusd/`.
//!
//! Candles are objects of texts, `{"timestamp", "open", "high", "low", "close", "volume"}`, the oldest first, in
//! `{"data": {"pair": "BTC/USD", "ohlc": […]}}`; the last one is not closed. At most 1,000. Without trades the close
//! goes on, with the volume zero. Errors are `{"code", "errors": […]}` or `{"status": "error", "reason", "code"}`;
//! 10,000 requests in ten minutes are allowed, and `400.002`, `400.067` and `400.068` say that there were more.

use cairn_events::Series;
use cairn_inputs::Pair;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    AnswerError, Info, Provider, Rows, Tick,
    answer::{Cells, candle, json, number, price, rows, seconds, short},
    is_limit,
};

pub(super) struct Bitstamp;

#[derive(Deserialize)]
struct Ticker<'a> {
    #[serde(borrow)]
    last: &'a RawValue,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    pair: Option<String>,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    data: Data<'a>,
}

#[derive(Deserialize)]
struct Data<'a> {
    pair: String,
    #[serde(borrow)]
    ohlc: Vec<Entry<'a>>,
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    timestamp: &'a RawValue,
    #[serde(borrow)]
    open: &'a RawValue,
    #[serde(borrow)]
    high: &'a RawValue,
    #[serde(borrow)]
    low: &'a RawValue,
    #[serde(borrow)]
    close: &'a RawValue,
    #[serde(borrow)]
    volume: &'a RawValue,
}

fn symbol(pair: Pair) -> String {
    format!("{}{}", pair.base, pair.quote).to_ascii_lowercase()
}

fn check(pair: Pair, found: &str) -> Result<(), AnswerError> {
    if found.eq_ignore_ascii_case(&pair.to_string()) {
        return Ok(());
    }
    Err(AnswerError::OtherPair { asked: pair.to_string(), found: short(found) })
}

impl Provider for Bitstamp {
    fn info(&self) -> Info {
        Info { name: "bitstamp", licence: "bitstamp-market-data", home: "https://www.bitstamp.net", page: 1_000 }
    }

    fn ticker(&self, pair: Pair) -> Option<String> {
        Some(format!("/api/v2/ticker/{}/", symbol(pair)))
    }

    fn tick(&self, pair: Pair, answer: &[u8]) -> Result<Tick, AnswerError> {
        let ticker: Ticker<'_> = json(answer)?;
        ticker.pair.as_deref().map_or(Ok(()), |found| check(pair, found))?;
        Ok(Tick { price: price(number(ticker.last)?)?, at: ticker.timestamp.map(seconds).transpose()? })
    }

    fn candles(&self, series: Series, after: u32, until: u32) -> String {
        let symbol = symbol(Pair::of(series));
        let step = series.interval.seconds();
        let limit = (until.saturating_sub(after) / step).clamp(1, self.info().page);
        format!("/api/v2/ohlc/{symbol}/?step={step}&limit={limit}&start={after}&end={}", until.saturating_sub(step))
    }

    fn rows(&self, series: Series, answer: &[u8]) -> Result<Rows, AnswerError> {
        let answer: Answer<'_> = json(answer)?;
        check(Pair::of(series), &answer.data.pair)?;
        Ok(rows(&answer.data.ohlc, |entry| {
            let Entry { open, high, low, close, volume, .. } = entry;
            candle(series, seconds(entry.timestamp)?, &Cells { open, high, low, close, volume })
        }))
    }

    fn refusal(&self, status: u16, answer: &[u8]) -> Option<AnswerError> {
        let error: Option<Value> = json(answer).ok();
        let text = |name: &str| error.as_ref().and_then(|error| error.get(name)).map(ToString::to_string);
        let is_error = text("code").is_some() && text("data").is_none() && text("last").is_none();
        if status == 200 && !is_error {
            return None;
        }
        let code = text("code").unwrap_or_default();
        let says =
            [Some(code.clone()), text("reason"), text("errors")].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let is_limit = is_limit(status) || ["400.002", "400.067", "400.068"].iter().any(|limit| code.contains(limit));
        Some(AnswerError::Refused { status, says: short(says.trim()), is_limit })
    }
}
