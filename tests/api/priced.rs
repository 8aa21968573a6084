//! Prices for the index of a generated chain.

use cairn_events::{
    Body, Currency, Document, DocumentHash, Interval, LiveQuote, Provenance, Quote, QuoteRow, Range, Series,
};
use rust_decimal::Decimal;

use crate::support::World;

pub const DAY: u32 = 86_400;

pub fn currency(code: &str) -> Currency {
    code.parse().unwrap()
}

pub fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

pub fn series(base: &str, quote: &str, interval: Interval) -> Series {
    Series { base: currency(base), quote: currency(quote), interval }
}

/// A row of a document with a close only.
pub fn row(series: Series, closes_at: u32, close: &str) -> QuoteRow {
    QuoteRow { series, closes_at, quote: Quote { close: decimal(close).normalize(), range: None, volume: None } }
}

/// A row with all prices.
pub fn whole_row(series: Series, closes_at: u32, [open, high, low, close]: [&str; 4]) -> QuoteRow {
    let [open, high, low] = [open, high, low].map(|text| decimal(text).normalize());
    let range = Some(Range { open, high, low });
    QuoteRow { series, closes_at, quote: Quote { range, ..row(series, closes_at, close).quote } }
}

/// The ledger takes a document of a source; the later of two replaces the earlier one's rows.
pub fn take(world: &World, source: &str, retrieved_at: u32, mut rows: Vec<QuoteRow>) {
    rows.sort_by_key(|row| (row.series, row.closes_at));
    // Any number that differs from document to document.
    let text = format!("{source} {retrieved_at} {rows:?}");
    let number =
        text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&number.to_be_bytes());
    let provenance = Provenance {
        document: DocumentHash(hash),
        source: source.parse().unwrap(),
        licence: "cc0-1.0".parse().unwrap(),
        origin: "a test".to_owned(),
        retrieved_at,
    };
    let document = Document { provenance, received_at: None, body: Body::Quotes(rows) };
    world.engine.lock().unwrap().take_document(&document, 1_900_000_000).unwrap();
}

/// A live price of bitcoin.
pub fn live(quote: &str, price: &str, at: u32) -> LiveQuote {
    LiveQuote {
        base: Currency::BTC,
        quote: currency(quote),
        price: decimal(price),
        at,
        source: None,
        sources: 2,
        dropped: 1,
        disputed: false,
    }
}

/// Now, in seconds since 1970.
pub fn now() -> u32 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u32::try_from(since.as_secs()).unwrap()
}

/// A time as answers write it.
pub fn time(seconds: u32) -> String {
    jiff::Timestamp::from_second(seconds.into()).unwrap().to_string()
}

/// The day of the close of a candle, as answers write it.
pub fn day_before(closes_at: u32) -> String {
    time(closes_at - DAY)[..10].to_owned()
}

/// A number of an answer, exactly.
pub fn exact(value: &serde_json::Value) -> Decimal {
    decimal(&value.to_string()).normalize()
}
