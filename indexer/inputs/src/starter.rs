//! Prices that ship with Cairn: see `starter/SOURCES.md`.

use cairn_events::{Body, Currency, Document, DocumentHash, Provenance, QuoteRow, SlugError};
use sha2::{Digest, Sha256};

use crate::{InputError, Options, Pair, read_quotes, sorted};

/// A file that ships with Cairn.
#[derive(Clone, Copy, Debug)]
pub struct Starter {
    /// Its name.
    pub name: &'static str,
    source: &'static str,
    licence: &'static str,
    /// Where it comes from.
    publisher: &'static str,
    /// When the last of its rows was known, in seconds since 1970: it counts as retrieved then, so that whatever the
    /// same source says later comes first.
    until: u32,
    /// The pair, where the file does not name it.
    pair: Option<Pair>,
    bytes: &'static [u8],
}

/// All of them.
pub const STARTERS: [Starter; 2] = [
    Starter {
        name: "btc-usd-daily.csv",
        source: "brk",
        licence: "mit",
        publisher: "Bitcoin Research Kit (brk), daily prices until 2026-02-12; not fetched again",
        until: 1_770_940_800,
        pair: Some(Pair { base: Currency::BTC, quote: Currency::USD }),
        bytes: include_bytes!("../starter/btc-usd-daily.csv"),
    },
    Starter {
        name: "ecb-reference-rates.csv",
        source: "ecb",
        licence: "ecb-statistics",
        publisher: "European Central Bank, euro reference rates until 2026-10-30, source: ECB statistics; not fetched again",
        until: 1_793_404_800,
        pair: None,
        bytes: include_bytes!("../starter/ecb-reference-rates.csv"),
    },
];

/// A file that ships with Cairn cannot be read: no such file is meant to ship.
#[derive(Debug, thiserror::Error)]
pub enum StarterError {
    /// The content cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Its source or its licence is not a valid name.
    #[error(transparent)]
    Slug(#[from] SlugError),
}

impl Starter {
    /// SHA-256 of the file: by this hash the ledger knows the document.
    #[must_use]
    pub fn hash(&self) -> DocumentHash {
        DocumentHash(Sha256::digest(self.bytes).into())
    }

    /// The file as a document.
    pub fn document(&self) -> Result<Document, StarterError> {
        let options = Options { pair: self.pair, ..Options::new(self.until) };
        let mut rows: Vec<QuoteRow> = Vec::new();
        read_quotes(&mut &self.bytes[..], &options, &mut |row| rows.push(row))?;
        let provenance = Provenance {
            source: self.source.parse()?,
            licence: self.licence.parse()?,
            origin: format!("{}, shipped with Cairn: {}", self.name, self.publisher),
            retrieved_at: self.until,
            document: self.hash(),
        };
        Ok(Document { provenance, received_at: None, body: Body::Quotes(sorted(rows)) })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use cairn_events::Interval;
    use rust_decimal::Decimal;

    use super::*;

    fn rows(starter: &Starter) -> Vec<QuoteRow> {
        let document = starter.document().unwrap();
        document.check().unwrap();
        let Body::Quotes(rows) = document.body else { panic!("quotes") };
        rows
    }

    #[test]
    fn every_row_is_taken() {
        for starter in &STARTERS {
            let options = Options { pair: starter.pair, ..Options::new(starter.until) };
            let report = read_quotes(&mut &starter.bytes[..], &options, &mut |_| {}).unwrap();
            let refused = report.by_code.iter().filter(|(code, _)| code.as_str() != "no_value").count();
            assert_eq!(refused, 0, "{}: {report:?}", starter.name);
        }
    }

    #[test]
    fn the_series_are_daily_and_end_where_they_say() {
        let prices = rows(&STARTERS[0]);
        assert_eq!(prices.len(), 5_695);
        assert!(prices.iter().all(|row| row.series.interval == Interval::Day && row.series.quote == Currency::USD));
        assert!(prices.windows(2).all(|pair| pair[1].closes_at == pair[0].closes_at + 86_400));
        assert_eq!(prices.last().unwrap().closes_at, STARTERS[0].until);
        // Two closes that anyone can look up elsewhere: 2017-12-17 and 2020-03-12.
        let close = |time: u32| prices.iter().find(|row| row.closes_at == time).unwrap().quote.close;
        assert_eq!(close(1_513_555_200), Decimal::new(1_912_827, 2));
        assert_eq!(close(1_584_057_600), Decimal::new(48_448, 1));

        let rates = rows(&STARTERS[1]);
        assert!(rates.iter().all(|row| row.series.base == Currency::EUR && row.closes_at <= STARTERS[1].until));
        let last =
            rates.iter().filter(|row| row.series.quote == Currency::USD).max_by_key(|row| row.closes_at).unwrap();
        assert_eq!((last.closes_at, last.quote.close), (STARTERS[1].until, Decimal::new(11_172, 4)));
        let currencies: std::collections::BTreeSet<_> = rates.iter().map(|row| row.series.quote).collect();
        assert_eq!(currencies.len(), 12);
    }
}
