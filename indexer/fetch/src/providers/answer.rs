//! Common parts of the answers of providers: exact numbers, times, and the checks of a candle.

use cairn_events::{Quote, QuoteRow, Range, Series};
use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Rows;

/// An error of an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Not the documented form, or cut short.
    #[error("the answer is not what the provider documents: {0}")]
    Form(String),
    /// A cell is not a number.
    #[error("{0:?} is not a number that can be stored exactly")]
    Number(String),
    /// A cell is not a time.
    #[error("{0:?} is not a time")]
    Time(String),
    /// A price is not above zero, or beyond all bounds.
    #[error("a price is not above zero, or a number is beyond 10^15")]
    Price,
    /// The high is below the low, or open or close are not between them.
    #[error("the high is below the low, or open or close are not between them")]
    Range,
    /// The opening is not a multiple of the interval.
    #[error("the time of a candle is not a multiple of its interval")]
    Misaligned,
    /// For another pair.
    #[error("the answer is for {found:?}, not for {asked}")]
    OtherPair {
        /// The request.
        asked: String,
        /// Its content.
        found: String,
    },
    /// The price is old.
    #[error("the last price is {0} s old")]
    Old(u32),
    /// The provider refuses to answer.
    #[error("the provider refuses with status {status}{}", said(says))]
    Refused {
        /// HTTP status.
        status: u16,
        /// Its words.
        says: String,
        /// True if it asks for patience, not for another request.
        is_limit: bool,
    },
}

fn said(says: &str) -> String {
    if says.is_empty() { String::new() } else { format!(": {says}") }
}

/// The beginning of a text from an answer, without control characters.
pub(super) fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(120).collect()
}

pub(super) fn json<'a, T: Deserialize<'a>>(answer: &'a [u8]) -> Result<T, AnswerError> {
    serde_json::from_slice(answer).map_err(|error| AnswerError::Form(short(&error.to_string())))
}

/// A number, exactly as it is written, with or without quotes.
pub(super) fn number(cell: &RawValue) -> Result<Decimal, AnswerError> {
    exact(cell.get().trim_matches('"'))
}

pub(super) fn exact(text: &str) -> Result<Decimal, AnswerError> {
    let wrong = || AnswerError::Number(short(text));
    let is_plain = text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if !is_plain {
        return Err(wrong());
    }
    let number = match Decimal::from_str_exact(text) {
        Ok(number) => number,
        Err(_) if text.contains(['e', 'E']) => Decimal::from_scientific(text).map_err(|_| wrong())?,
        Err(_) => return Err(wrong()),
    };
    Ok(number.normalize())
}

/// A price: a number above zero.
pub(super) fn price(number: Decimal) -> Result<Decimal, AnswerError> {
    let quote = Quote { close: number, range: None, volume: None };
    if quote.is_sound() { Ok(number) } else { Err(AnswerError::Price) }
}

/// Seconds since 1970 in a cell.
pub(super) fn seconds(cell: &RawValue) -> Result<u32, AnswerError> {
    let text = cell.get().trim_matches('"');
    text.parse().map_err(|_| AnswerError::Time(short(text)))
}

/// Numbers of a candle.
pub(super) struct Cells<'a> {
    pub(super) open: &'a RawValue,
    pub(super) high: &'a RawValue,
    pub(super) low: &'a RawValue,
    pub(super) close: &'a RawValue,
    pub(super) volume: &'a RawValue,
}

/// A row, if it is sound. `opens` is when the candle opens.
pub(super) fn candle(series: Series, opens: u32, cells: &Cells<'_>) -> Result<QuoteRow, AnswerError> {
    let range = Range { open: number(cells.open)?, high: number(cells.high)?, low: number(cells.low)? };
    let quote = Quote { close: number(cells.close)?, range: Some(range), volume: Some(number(cells.volume)?) };
    if !quote.is_sound() {
        return Err(AnswerError::Price);
    }
    let inside = |price: Decimal| range.low <= price && price <= range.high;
    if !inside(range.open) || !inside(quote.close) {
        return Err(AnswerError::Range);
    }
    let interval = series.interval.seconds();
    if !opens.is_multiple_of(interval) {
        return Err(AnswerError::Misaligned);
    }
    let closes_at = opens.checked_add(interval).ok_or_else(|| AnswerError::Time(opens.to_string()))?;
    Ok(QuoteRow { series, closes_at, quote })
}

/// The rows that `read` makes of the entries of an answer.
pub(super) fn rows<T>(entries: &[T], read: impl Fn(&T) -> Result<QuoteRow, AnswerError>) -> Rows {
    let mut rows = Rows::default();
    for (at, entry) in (1..).zip(entries) {
        match read(entry) {
            Ok(row) => rows.good.push(row),
            Err(wrong) => rows.bad.push((at, wrong)),
        }
    }
    rows
}
