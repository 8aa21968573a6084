//! Coinbase Exchange: `/products/BTC-USD/ticker` and `/products/BTC-USD/candles`.
//!
//! A candle is `[opens, low, high, open, close, volume]` in numbers, the newest first and, as long as it is open,
//! changing. At most 300 an answer; a request for more is refused. Hours without trades are left out. Errors are
//! `{"message": …}` with status 400 or 404; beyond ten requests a second, 429.

use cairn_events::Series;
use cairn_inputs::Pair;
use cairn_model::rfc3339;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    AnswerError, Info, Provider, Rows, Tick,
    answer::{Cells, candle, json, number, price, rows, seconds, short},
    is_limit,
};

pub(super) struct Coinbase;

#[derive(Deserialize)]
struct Ticker<'a> {
    #[serde(borrow)]
    price: &'a RawValue,
    time: Option<&'a str>,
}

#[derive(Deserialize)]
struct Message {
    message: String,
}

impl Provider for Coinbase {
    fn info(&self) -> Info {
        Info { name: "coinbase", licence: "coinbase-market-data", home: "https://api.exchange.coinbase.com", page: 300 }
    }

    fn ticker(&self, pair: Pair) -> Option<String> {
        Some(format!("/products/{}-{}/ticker", pair.base, pair.quote))
    }

    fn tick(&self, _: Pair, answer: &[u8]) -> Result<Tick, AnswerError> {
        let ticker: Ticker<'_> = json(answer)?;
        let time = |text: &str| {
            let time = text.parse::<jiff::Timestamp>().ok().and_then(|time| u32::try_from(time.as_second()).ok());
            time.ok_or_else(|| AnswerError::Time(short(text)))
        };
        Ok(Tick { price: price(number(ticker.price)?)?, at: ticker.time.map(time).transpose()? })
    }

    fn candles(&self, series: Series, after: u32, until: u32) -> String {
        let interval = series.interval.seconds();
        // The times are those of openings, and both ends belong to the answer.
        let (start, end) = (after, until.saturating_sub(interval));
        let (base, quote) = (series.base, series.quote);
        format!("/products/{base}-{quote}/candles?granularity={interval}&start={}&end={}", rfc3339(start), rfc3339(end))
    }

    fn rows(&self, series: Series, answer: &[u8]) -> Result<Rows, AnswerError> {
        let entries: Vec<Vec<&RawValue>> = json(answer)?;
        Ok(rows(&entries, |entry| match entry.as_slice() {
            [opens, low, high, open, close, volume, ..] => {
                candle(series, seconds(opens)?, &Cells { open, high, low, close, volume })
            }
            _ => Err(AnswerError::Form("a candle has fewer than six values".to_owned())),
        }))
    }

    fn refusal(&self, status: u16, answer: &[u8]) -> Option<AnswerError> {
        let says = || json::<Message>(answer).map(|error| short(&error.message)).unwrap_or_default();
        (status != 200).then(|| AnswerError::Refused { status, says: says(), is_limit: is_limit(status) })
    }
}
