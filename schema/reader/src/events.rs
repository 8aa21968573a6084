//! The ledger of input events, and the quotes that follow from it.

use std::collections::BTreeMap;

use cairn_events::{Body, Chosen, Document, DocumentHash, LiveQuote, MAX_LIVE_QUOTES, Quote, Series, Slug};
use cairn_tables::{
    Table, encode_key,
    events::{Candle, DocumentState, Documents, EventRow, Events, QuoteVersion, QuoteVersions, Quotes, first_of},
    live_quotes::{LiveQuotes, LiveRow},
};
use rocksdb::DBRawIteratorWithThreadMode;

use crate::{Db, ReadError, subjects::LedgerView};

/// Sequence number of the last event of a row that has this key.
#[must_use]
pub fn last_seq_of(seq: u64, row: &EventRow) -> u64 {
    seq + row.events().saturating_sub(1)
}

/// A series that has quotes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeriesSpan {
    /// The series.
    pub series: Series,
    /// Close of its first candle, in seconds since 1970.
    pub first: u32,
    /// Close of its newest one.
    pub last: u32,
    /// Validity of the newest one.
    pub newest: Chosen,
}

impl<'v> LedgerView<'v> {
    /// The row of the ledger that has an event, and its sequence number; `None` if there is no such event. Two row
    /// reads.
    pub fn event(self, seq: u64) -> Result<Option<(u64, EventRow)>, ReadError> {
        let mut rows = self.view.raw_iterator::<Events>()?;
        rows.seek_for_prev(encode_key::<Events>(&seq));
        self.view.count(Events::NAME)?;
        rows.status().map_err(|e| ReadError::of_table(Events::NAME, e))?;
        let Some((key, value)) = rows.item() else { return Ok(None) };
        self.view.count_bytes(value)?;
        let (first, row) = (Events::decode_key(key)?, Events::decode_value(value)?);
        Ok(Some((first, row)).filter(|(first, row)| last_seq_of(*first, row) >= seq))
    }

    /// State of a document in the ledger.
    pub fn document(self, hash: &DocumentHash) -> Result<Option<DocumentState>, ReadError> {
        self.view.get::<Documents>(hash)
    }

    /// The quote that holds for the last candle of a series that closed at that time or before, with its close. One row
    /// read.
    pub fn quote_at(self, series: Series, time: u32) -> Result<Option<(u32, Chosen)>, ReadError> {
        let mut rows = self.view.raw_iterator::<Quotes>()?;
        let interval = series.interval.seconds();
        rows.seek_for_prev(encode_key::<Quotes>(&Candle { series, closes_at: time / interval * interval }));
        self.view.count(Quotes::NAME)?;
        rows.status().map_err(|e| ReadError::of_table(Quotes::NAME, e))?;
        match rows.item() {
            Some((key, value)) if key.first() == Quotes::TAG.as_ref() => {
                self.view.count_bytes(value)?;
                let candle = Quotes::decode_key(key)?;
                let is_of = candle.series == series;
                Ok(if is_of { Some((candle.closes_at, Quotes::decode_value(value)?)) } else { None })
            }
            _ => Ok(None),
        }
    }

    /// At most `limit` quotes that hold for the candles of a series that close between `from` and `to`, ascending.
    pub fn quotes(self, series: Series, from: u32, to: u32, limit: usize) -> Result<Vec<(u32, Chosen)>, ReadError> {
        let mut found = Vec::new();
        for row in self.view.scan::<Quotes>(Some(&first_of(series, from)))? {
            let (candle, chosen) = row?;
            if candle.series != series || candle.closes_at > to || found.len() == limit {
                break;
            }
            found.push((candle.closes_at, chosen));
        }
        Ok(found)
    }

    /// Every series that has quotes, ascending, with its first and its newest candle. Two row reads for each, and one
    /// more.
    pub fn series(self) -> Result<Vec<SeriesSpan>, ReadError> {
        let mut found = Vec::new();
        let mut rows = self.view.raw_iterator::<Quotes>()?;
        rows.seek(Quotes::TAG.as_slice());
        loop {
            self.view.count(Quotes::NAME)?;
            rows.status().map_err(|e| ReadError::of_table(Quotes::NAME, e))?;
            let key = rows.key().filter(|key| key.first() == Quotes::TAG.as_ref());
            let Some(first) = key.map(Quotes::decode_key).transpose()? else { return Ok(found) };
            rows.seek_for_prev(encode_key::<Quotes>(&first_of(first.series, u32::MAX)));
            self.view.count(Quotes::NAME)?;
            rows.status().map_err(|e| ReadError::of_table(Quotes::NAME, e))?;
            let (key, value) = rows.item().ok_or_else(|| self.view.broken("a candle is gone"))?;
            self.view.count_bytes(value)?;
            let last = Quotes::decode_key(key)?;
            if last.series != first.series {
                return Err(self.view.broken("candles are out of order"));
            }
            let newest = Quotes::decode_value(value)?;
            found.push(SeriesSpan { series: last.series, first: first.closes_at, last: last.closes_at, newest });
            rows.next();
        }
    }

    /// The newest price of each pair that the index has, by pair, at most [`MAX_LIVE_QUOTES`]. One row read for each.
    pub fn live_quotes(self) -> Result<Vec<LiveQuote>, ReadError> {
        let rows = self.view.scan::<LiveQuotes>(None)?.take(MAX_LIVE_QUOTES);
        rows.map(|row| row.map(|(pair, row)| LiveRow::with(pair, row))).collect()
    }

    /// Walks versions of quotes, in ascending order of their candles.
    pub fn quote_versions(self) -> Result<VersionWalk<'v>, ReadError> {
        Ok(VersionWalk { rows: self.view.raw_iterator::<QuoteVersions>()?, at: None })
    }
}

/// Versions of quotes, candle by candle.
pub struct VersionWalk<'v> {
    rows: DBRawIteratorWithThreadMode<'v, Db>,
    /// The candle of the row that the iterator is at; `None` before the first step.
    at: Option<Option<Candle>>,
}

/// Quotes of each source for a candle: all versions, the last of each source at the end of its list.
pub type Versions = BTreeMap<Slug, Vec<(u32, [u8; 8], Quote)>>;

impl VersionWalk<'_> {
    fn here(&self) -> Result<Option<Candle>, ReadError> {
        self.rows.status().map_err(|e| ReadError::of_table(QuoteVersions::NAME, e))?;
        Ok(self.rows.key().map(QuoteVersions::decode_key).transpose()?.map(|version| version.candle))
    }

    /// The versions of a candle. Candles must be asked for in ascending order; those between are passed over.
    pub fn of(&mut self, candle: &Candle) -> Result<Versions, ReadError> {
        let mut found = Versions::new();
        if self.at.is_none_or(|at| at.is_some_and(|at| at < *candle)) {
            let mut key = Vec::with_capacity(18);
            cairn_tables::KeyCodec::encode(candle, &mut key);
            self.rows.seek(&key);
            self.at = Some(self.here()?);
        }
        while self.at == Some(Some(*candle)) {
            if let Some((key, value)) = self.rows.item() {
                let QuoteVersion { source, retrieved_at, document, .. } = QuoteVersions::decode_key(key)?;
                let quote = QuoteVersions::decode_value(value)?;
                found.entry(source).or_default().push((retrieved_at, document, quote));
            }
            self.rows.next();
            self.at = Some(self.here()?);
        }
        Ok(found)
    }
}

/// Puts documents together from the rows of the ledger.
#[derive(Default)]
pub struct Assembler {
    open: Option<Opened>,
    broken: u64,
}

/// A document whose rows are not all there yet.
struct Opened {
    seq: u64,
    document: Document,
    left: u64,
}

impl Assembler {
    /// Adds the next row; returns a document that is whole now.
    pub fn push(&mut self, seq: u64, row: EventRow) -> Option<Document> {
        let count = row.events();
        match row {
            EventRow::Document { received_at, rows, provenance, .. } => {
                self.drop_open();
                let body = Body::Quotes(Vec::new());
                let document = Document { provenance, received_at: Some(received_at), body };
                self.open = Some(Opened { seq, document, left: rows.into() });
                None
            }
            EventRow::Quotes { document, rows, .. } => self.add(document, count, |body| match body {
                Body::Quotes(all) => all.extend(rows),
                Body::Claims { .. } | Body::Listing { .. } | Body::Withdrawal { .. } | Body::Contest(_) => {}
            }),
            EventRow::Claims { document, list, claims, .. } => self.add(document, count, |body| match body {
                Body::Claims { rows, .. } => rows.extend(claims),
                body => *body = Body::Claims { list, rows: claims },
            }),
            EventRow::Listing { document, list, rows, .. } => self.add(document, count, |body| match body {
                Body::Listing { rows: all, .. } => all.append(rows),
                body => *body = Body::Listing { list, rows },
            }),
            EventRow::Contest { received_at, provenance, contest } => {
                self.drop_open();
                Some(Document { provenance, received_at: Some(received_at), body: Body::Contest(contest) })
            }
            EventRow::Withdrawal { received_at, provenance, document, reason } => {
                self.drop_open();
                let body = Body::Withdrawal { document, reason };
                Some(Document { provenance, received_at: Some(received_at), body })
            }
        }
    }

    /// Adds rows to the open document; returns it if it is whole now.
    fn add(&mut self, seq: u64, count: u64, extend: impl FnOnce(&mut Body)) -> Option<Document> {
        let Some(open) = self.open.as_mut().filter(|open| open.seq == seq) else {
            self.broken += 1;
            return None;
        };
        open.left = open.left.saturating_sub(count);
        extend(&mut open.document.body);
        if open.left > 0 { None } else { Some(self.open.take()?.document) }
    }

    fn drop_open(&mut self) {
        self.broken += u64::from(self.open.take().is_some());
    }

    /// Documents that lack rows, and rows that lack their document.
    #[must_use]
    pub fn broken(mut self) -> u64 {
        self.drop_open();
        self.broken
    }
}
