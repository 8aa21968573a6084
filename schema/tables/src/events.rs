//! The ledger of input events, and the quotes that follow from it.
//!
//! ```text
//! events          seq (8)                        → kind (1) │ …
//!   1 document      events that follow │ received at │ rows │ repeated rows │ provenance
//!   2 quotes        seq of the document │ bits: rows that repeat │ series │ count │ rows (at most 256)
//!   3 withdrawal    received at │ provenance │ hash of the document (32) │ reason
//!   4 claims        seq of the document │ list │ bits: rows that repeat │ count │ claims (at most 128)
//!   5 tags of pools seq of the document │ list │ bits: rows that repeat │ count │ tags (at most 128)
//!   6 contest       received at │ provenance │ contest
//!   7 profiles      seq of the document │ list │ bits: rows that repeat │ count │ profiles (at most 32)
//! documents       'e' ‖ SHA-256 of a document    → its seq, 0 if it has not come │ seq of its withdrawal, 0 if there is none
//! quote_versions  series (14) ‖ closes at (4) ‖ source ‖ 0 ‖ retrieved at (4) ‖ first bytes of the document's hash (8) → quote
//! quotes          'q' ‖ series (14) ‖ closes at (4) → the quote that holds
//! ```
//!
//! A series is base (5) ‖ quote (5) ‖ interval in seconds (4). A document takes one sequence number, and each of its
//! rows another one; the key of a row of quotes is that of its first. Rows that only repeat what the source said last
//! are marked, so that the ledger has each document as a whole.
//!
//! `events` and `documents` cannot be rebuilt. The other two are functions of the documents, in whatever order they
//! came.

use cairn_events::{
    Chosen, Claim, ClaimList, Contest, DocumentHash, Listed, Listing, PoolTag, Profile, Provenance, Quote, QuoteRow,
    Series, Slug,
    claim::{Shared, put_claim, put_list},
    codec::{self, Bytes, Malformed},
    put_contest,
};

use crate::{
    codec::{DecodeError, Input, KeyCodec, ValueCodec},
    table::{Home, Origin, Tuning, table},
};

/// Most rows of quotes that one row of the ledger has.
pub const QUOTES_PER_ROW: usize = 256;

/// Most claims that one row of the ledger has.
pub const CLAIMS_PER_ROW: usize = 128;

table! {
    /// The ledger.
    // Rows of some 4 KB, written once and read one after the other.
    pub struct Events("events": u64 => EventRow) in Home::Own(Tuning::SHORT), from Origin::Events;
}

/// A row of the ledger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventRow {
    /// A document came in.
    Document {
        /// Sequence numbers that follow and belong to it.
        events: u32,
        /// When this index took it, in seconds since 1970.
        received_at: u32,
        /// Its rows.
        rows: u32,
        /// Rows among them that repeat the last statement of the source.
        repeated: u32,
        /// Its provenance.
        provenance: Provenance,
    },
    /// Some of its rows.
    Quotes {
        /// Sequence number of the document.
        document: u64,
        /// For each row, whether it repeats the last statement of the source.
        repeats: Vec<bool>,
        /// The rows, of one series, ascending by time.
        rows: Vec<QuoteRow>,
    },
    /// A document no longer holds.
    Withdrawal {
        /// When this index took the withdrawal, in seconds since 1970.
        received_at: u32,
        /// Provenance of the withdrawal.
        provenance: Provenance,
        /// The document.
        document: DocumentHash,
        /// Why.
        reason: String,
    },
    /// Some claims of a document.
    Claims {
        /// Sequence number of the document.
        document: u64,
        /// The list that they are on.
        list: ClaimList,
        /// For each claim, whether it repeats the last statement of the list.
        repeats: Vec<bool>,
        /// The claims, ascending by row.
        claims: Vec<Claim>,
    },
    /// Some rows of a document that is a whole list: tags of mining pools, or profiles of entities.
    Listing {
        /// Sequence number of the document.
        document: u64,
        /// The list that they are on.
        list: Slug,
        /// For each row, whether it repeats the last statement of the list.
        repeats: Vec<bool>,
        /// The rows, ascending.
        rows: Listing,
    },
    /// A party contests a statement, or the operator ends a contest.
    Contest {
        /// When this index took it, in seconds since 1970.
        received_at: u32,
        /// Its provenance.
        provenance: Provenance,
        /// The contest.
        contest: Box<Contest>,
    },
}

impl EventRow {
    /// Sequence numbers that the row takes.
    #[must_use]
    pub fn events(&self) -> u64 {
        match self {
            EventRow::Document { .. } | EventRow::Withdrawal { .. } | EventRow::Contest { .. } => 1,
            EventRow::Quotes { rows, .. } => rows.len() as u64,
            EventRow::Claims { claims, .. } => claims.len() as u64,
            EventRow::Listing { rows, .. } => rows.len() as u64,
        }
    }
}

fn put_bits(out: &mut Vec<u8>, bits: &[bool]) {
    out.push(bits.len().div_ceil(8) as u8);
    let packed = bits.chunks(8).map(|eight| (0..).zip(eight).fold(0u8, |byte, (at, bit)| byte | u8::from(*bit) << at));
    out.extend(packed);
}

/// Bits of a number of rows, from the bytes that were read.
fn unpack_bits(bits: &[u8], count: usize) -> Result<Vec<bool>, Malformed> {
    if bits.len() != count.div_ceil(8) {
        return Err(Malformed("number of rows"));
    }
    let spare = bits.last().filter(|_| !count.is_multiple_of(8)).is_some_and(|last| last >> (count % 8) != 0);
    if spare {
        Err(Malformed("spare bits"))
    } else {
        Ok((0..count).map(|at| bits[at / 8] >> (at % 8) & 1 == 1).collect())
    }
}

/// Reads all that is left.
pub(crate) fn whole<V>(
    b: &mut Input<'_>,
    read: impl FnOnce(&mut Bytes<'_>) -> Result<V, Malformed>,
) -> Result<V, DecodeError> {
    let mut bytes = Bytes::new(b.take(b.left())?);
    let value = read(&mut bytes).map_err(|e| b.error(e.0))?;
    if bytes.is_empty() { Ok(value) } else { Err(b.error("too long")) }
}

/// Some rows of a list, after the kind.
fn listing<L: Listed>(b: &mut Bytes<'_>) -> Result<EventRow, Malformed>
where
    Listing: From<Vec<L>>,
{
    let (document, list) = (b.number()?, b.slug()?);
    let [count] = b.array::<1>()?;
    let bits = b.take(count.into())?;
    let count = Some(b.number()?).filter(|count| (1..=L::PER_ROW).contains(count));
    let count = count.ok_or(Malformed("number of rows"))?;
    let repeats = unpack_bits(bits, count)?;
    Ok(EventRow::Listing { document, list, repeats, rows: b.listed::<L>(Some(count))?.into() })
}

impl ValueCodec for EventRow {
    fn encode(&self, out: &mut Vec<u8>) {
        let put = |out: &mut Vec<u8>, number: u64| codec::put_varint(out, number.into());
        match self {
            EventRow::Document { events, received_at, rows, repeated, provenance } => {
                out.push(1);
                [*events, *received_at, *rows, *repeated].into_iter().for_each(|number| put(out, number.into()));
                codec::put_provenance(out, provenance);
            }
            EventRow::Quotes { document, repeats, rows } => {
                out.push(2);
                put(out, *document);
                put_bits(out, repeats);
                codec::put_rows(out, rows);
            }
            EventRow::Claims { document, list, repeats, claims } => {
                out.push(4);
                put(out, *document);
                put_list(out, list);
                put_bits(out, repeats);
                put(out, claims.len() as u64);
                let mut shared = Shared::default();
                claims.iter().for_each(|claim| put_claim(out, &mut shared, claim));
            }
            EventRow::Listing { document, list, repeats, rows } => {
                out.push(match rows {
                    Listing::PoolTags(_) => 5,
                    Listing::Profiles(_) => 7,
                });
                put(out, *document);
                codec::put_text(out, list.as_str());
                put_bits(out, repeats);
                put(out, rows.len() as u64);
                rows.put(out);
            }
            EventRow::Contest { received_at, provenance, contest } => {
                out.push(6);
                put(out, (*received_at).into());
                codec::put_provenance(out, provenance);
                put_contest(out, contest);
            }
            EventRow::Withdrawal { received_at, provenance, document, reason } => {
                out.push(3);
                put(out, (*received_at).into());
                codec::put_provenance(out, provenance);
                out.extend_from_slice(&document.0);
                codec::put_text(out, reason);
            }
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        whole(b, |b| match b.array()? {
            [1] => {
                let [events, received_at, rows, repeated] = [b.number()?, b.number()?, b.number()?, b.number()?];
                if repeated > rows {
                    return Err(Malformed("repeated rows"));
                }
                Ok(EventRow::Document { events, received_at, rows, repeated, provenance: b.provenance()? })
            }
            [2] => {
                let document = b.number()?;
                let [count] = b.array::<1>()?;
                let bits = b.take(count.into())?;
                let rows = b.rows()?;
                if rows.len() > QUOTES_PER_ROW {
                    return Err(Malformed("number of rows"));
                }
                Ok(EventRow::Quotes { document, repeats: unpack_bits(bits, rows.len())?, rows })
            }
            [3] => Ok(EventRow::Withdrawal {
                received_at: b.number()?,
                provenance: b.provenance()?,
                document: DocumentHash(b.array()?),
                reason: b.text()?.to_owned(),
            }),
            [4] => {
                let (document, list) = (b.number()?, b.list()?);
                let [count] = b.array::<1>()?;
                let bits = b.take(count.into())?;
                let count = Some(b.number()?).filter(|count| (1..=CLAIMS_PER_ROW).contains(count));
                let count = count.ok_or(Malformed("number of rows"))?;
                let (repeats, mut shared) = (unpack_bits(bits, count)?, Shared::default());
                let claims = (0..count).map(|_| b.claim(&mut shared)).collect::<Result<_, _>>()?;
                Ok(EventRow::Claims { document, list, repeats, claims })
            }
            [5] => listing::<PoolTag>(b),
            [6] => Ok(EventRow::Contest {
                received_at: b.number()?,
                provenance: b.provenance()?,
                contest: Box::new(b.contest()?),
            }),
            [7] => listing::<Profile>(b),
            _ => Err(Malformed("kind of event")),
        })
    }
}

table! {
    /// Documents by hash.
    pub struct Documents("documents": DocumentHash => DocumentState) in Home::Shared(b'e'), from Origin::Events;
}

/// State of a document in the ledger.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DocumentState {
    /// Its sequence number; 0 if it has not come.
    pub seq: u64,
    /// Sequence number of its withdrawal; 0 if there is none.
    pub withdrawn: u64,
}

impl ValueCodec for DocumentState {
    fn encode(&self, out: &mut Vec<u8>) {
        [self.seq, self.withdrawn].into_iter().for_each(|seq| codec::put_varint(out, seq.into()));
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let state = DocumentState { seq: b.varint()?, withdrawn: b.varint()? };
        if state == DocumentState::default() { Err(b.error("no document")) } else { Ok(state) }
    }
}

table! {
    /// Quotes of each document for a candle, unless it is withdrawn.
    // Short rows with keys that repeat.
    pub struct QuoteVersions("quote_versions": QuoteVersion => Quote)
        in Home::Own(Tuning::SHORT), from Origin::FoldedEvents;
}

/// A candle, in a series.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Candle {
    /// The pair.
    pub series: Series,
    /// When it closed, in seconds since 1970.
    pub closes_at: u32,
}

/// Quote of one document for a candle. Of the versions of a source, the last one holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct QuoteVersion {
    /// The candle.
    pub candle: Candle,
    /// The source.
    pub source: Slug,
    /// When the document was retrieved.
    pub retrieved_at: u32,
    /// First bytes of its hash.
    pub document: [u8; 8],
}

impl KeyCodec for Candle {
    fn encode(&self, out: &mut Vec<u8>) {
        codec::put_series(out, &self.series);
        out.extend_from_slice(&self.closes_at.to_be_bytes());
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let bytes = b.take(14)?;
        let series = Bytes::new(bytes).series().map_err(|e| b.error(e.0))?;
        let closes_at = u32::from_be_bytes(b.array()?);
        if closes_at.is_multiple_of(series.interval.seconds()) {
            Ok(Candle { series, closes_at })
        } else {
            Err(b.error("time of a candle"))
        }
    }
}

impl KeyCodec for QuoteVersion {
    fn encode(&self, out: &mut Vec<u8>) {
        self.candle.encode(out);
        self.source.encode(out);
        self.retrieved_at.encode(out);
        self.document.encode(out);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let (candle, source) = (Candle::decode(b)?, b.ended()?);
        let source = b.parse(source, "source")?;
        Ok(QuoteVersion { candle, source, retrieved_at: u32::from_be_bytes(b.array()?), document: b.array()? })
    }
}

impl ValueCodec for Quote {
    fn encode(&self, out: &mut Vec<u8>) {
        codec::put_quote(out, self);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        whole(b, |b| b.quote())
    }
}

table! {
    /// The quote that holds for each candle.
    pub struct Quotes("quotes": Candle => Chosen) in Home::Shared(b'q'), from Origin::FoldedEvents;
}

impl ValueCodec for Chosen {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.disputed));
        [self.sources, self.dropped].into_iter().for_each(|number| codec::put_varint(out, number.into()));
        codec::put_text(out, self.source.as_ref().map_or("", Slug::as_str));
        codec::put_quote(out, &Quote { close: self.close, range: self.range, volume: None });
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        whole(b, |b| {
            let disputed = match b.array()? {
                [0] => false,
                [1] => true,
                _ => return Err(Malformed("disputed")),
            };
            let (sources, dropped) = (b.number()?, b.number()?);
            let source = match b.text()? {
                "" => None,
                text => Some(text.parse().map_err(|_| Malformed("source"))?),
            };
            let Quote { close, range, volume: None } = b.quote()? else { return Err(Malformed("volume")) };
            if sources == 0 || (range.is_some() && source.is_none()) {
                return Err(Malformed("sources"));
            }
            Ok(Chosen { close, range, source, sources, dropped, disputed })
        })
    }
}

/// The candles of a series from one time on, for scans.
#[must_use]
pub fn first_of(series: Series, closes_at: u32) -> Candle {
    let interval = series.interval.seconds();
    Candle { series, closes_at: closes_at.checked_next_multiple_of(interval).unwrap_or(u32::MAX / interval * interval) }
}
