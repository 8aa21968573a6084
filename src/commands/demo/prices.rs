//! The demo's invented prices, as documents for its ledger.

use cairn_events::{Body, Currency, Document, DocumentHash, Interval, Provenance, Quote, QuoteRow, Series, Slug};
use cairn_inputs::sorted;
use rust_decimal::Decimal;
use sha2::{Digest, Sha256};

use crate::exit::{Exit, Failure};

/// Source name in answers.
pub(super) const SOURCE: &str = "demo-invented";

/// Returns daily prices of bitcoin, and prices of a euro on business days.
pub(super) fn documents(seed: u64) -> Result<Vec<Document>, Failure> {
    let (prices, rates) = cairn_demo::prices(seed);
    let bitcoin = Series { base: Currency::BTC, quote: Currency::USD, interval: Interval::Day };
    let euro = Series { base: Currency::EUR, ..bitcoin };
    let row = |series, closes_at, number: u64, decimals| {
        let close = Decimal::from_i128_with_scale(number.into(), decimals).normalize();
        QuoteRow { series, closes_at, quote: Quote { close, range: None, volume: None } }
    };
    let prices = prices.iter().map(|price| row(bitcoin, price.closes_at, price.cents, 2)).collect();
    let rates = rates.iter().map(|rate| row(euro, rate.closes_at, rate.dollars_e4, 4)).collect();
    [("prices of bitcoin", prices), ("exchange rates of the euro", rates)]
        .map(|(what, rows)| document(what, rows))
        .into_iter()
        .collect()
}

/// Parses a short name.
pub(super) fn slug(text: &str) -> Result<Slug, Failure> {
    text.parse().map_err(|_| Failure::new(Exit::Other, format!("{text} is not a short name")))
}

fn document(what: &str, rows: Vec<QuoteRow>) -> Result<Document, Failure> {
    let mut hasher = Sha256::new();
    hasher.update(what);
    for row in &rows {
        hasher.update(row.closes_at.to_be_bytes());
        hasher.update(row.quote.close.to_string());
    }
    let provenance = Provenance {
        source: slug(SOURCE)?,
        licence: slug("cc0-1.0")?,
        origin: format!("invented for the demo chain: {what}"),
        retrieved_at: rows.last().map_or(0, |row| row.closes_at),
        document: DocumentHash(hasher.finalize().into()),
    };
    Ok(Document { provenance, received_at: None, body: Body::Quotes(sorted(rows)) })
}
