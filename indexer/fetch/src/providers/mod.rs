//! Who publishes prices: one file each, and a line in [`ALL`].

mod answer;
mod binance;
mod bitstamp;
mod coinbase;
mod ecb;
mod kraken;

use cairn_events::{Interval, QuoteRow, Series};
use cairn_inputs::Pair;
use rust_decimal::Decimal;

pub use answer::AnswerError;

/// All providers, by name.
pub static ALL: [&dyn Provider; 5] =
    [&binance::Binance, &bitstamp::Bitstamp, &coinbase::Coinbase, &ecb::Ecb, &kraken::Kraken];

/// The provider of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn Provider> {
    ALL.into_iter().find(|provider| provider.name() == name)
}

/// The last price of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tick {
    /// Price of one unit of the base.
    pub price: Decimal,
    /// When the provider says it was, in seconds since 1970; `None` if it does not.
    pub at: Option<u32>,
}

/// The candles of an answer, in any order, with those that are not closed yet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rows {
    /// Those that are sound.
    pub good: Vec<QuoteRow>,
    /// Those that are not: their place in the answer from 1, and why.
    pub bad: Vec<(usize, AnswerError)>,
}

/// Facts about a provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// Its name: the source of its quotes.
    pub name: &'static str,
    /// Short name of the licence, or of the terms, of its data.
    pub licence: &'static str,
    /// Scheme and host of its interface.
    pub home: &'static str,
    /// Most candles of an answer.
    pub page: u32,
}

/// A provider of prices. It says what to ask for and reads the answers; it does not ask itself.
pub trait Provider: Sync {
    /// Its name, its terms, and where it is.
    fn info(&self) -> Info;

    /// Its name.
    fn name(&self) -> &'static str {
        self.info().name
    }

    /// The series that it has for a pair, one for each interval; empty if it does not quote the pair.
    fn series(&self, pair: Pair) -> Vec<Series> {
        daily_and_hourly(pair)
    }

    /// Path and query of the last price of a pair; `None` if it publishes none.
    fn ticker(&self, pair: Pair) -> Option<String>;

    /// The last price in an answer.
    ///
    /// # Errors
    /// Fails if it is not the answer that the provider documents, or if it is for another pair.
    fn tick(&self, pair: Pair, answer: &[u8]) -> Result<Tick, AnswerError>;

    /// Path and query of the candles of a series that close after one time until another; both are multiples of the
    /// interval, at most a page apart.
    fn candles(&self, series: Series, after: u32, until: u32) -> String;

    /// The candles in an answer.
    fn rows(&self, series: Series, answer: &[u8]) -> Result<Rows, AnswerError>;

    /// Reads an answer with another status than 200, or an error that comes with status 200; `None` if the answer is
    /// not an error.
    fn refusal(&self, status: u16, answer: &[u8]) -> Option<AnswerError> {
        let _ = answer;
        (status != 200).then_some(AnswerError::Refused { status, says: String::new(), is_limit: is_limit(status) })
    }
}

/// True for a status that asks for patience.
pub(crate) fn is_limit(status: u16) -> bool {
    matches!(status, 418 | 429 | 403)
}

fn daily_and_hourly(pair: Pair) -> Vec<Series> {
    let of = |interval| Series { base: pair.base, quote: pair.quote, interval };
    vec![of(Interval::Day), of(Interval::Hour)]
}
