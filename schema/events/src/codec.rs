//! Bytes of events, in the ledger and in files. Each value has one form. Decoding never panics and never takes more
//! memory than the bytes can fill.

use cairn_model::leb128;
pub use cairn_model::leb128::put_u128 as put_varint;
use rust_decimal::Decimal;

use crate::{Currency, DocumentHash, Interval, Provenance, Quote, QuoteRow, Range, Series, Slug};

/// Longest text of an event in bytes: of an origin, and of a reason.
pub const MAX_TEXT: usize = 2_000;
/// Decimals of a number.
const MAX_SCALE: u32 = 28;

/// Bytes that are not an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub &'static str);

/// Bytes that are being read.
pub struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    /// Begins to read.
    #[must_use]
    pub fn new(bytes: &'b [u8]) -> Self {
        Bytes(bytes)
    }

    /// True if nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes that are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.0.len()
    }

    /// The next bytes.
    pub fn take(&mut self, count: usize) -> Result<&'b [u8], Malformed> {
        let (head, rest) = self.0.split_at_checked(count).ok_or(Malformed("too short"))?;
        self.0 = rest;
        Ok(head)
    }

    /// The next bytes as an array.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, rest) = self.0.split_first_chunk().ok_or(Malformed("too short"))?;
        self.0 = rest;
        Ok(*head)
    }

    /// A LEB128 number in its shortest form.
    pub fn varint(&mut self) -> Result<u128, Malformed> {
        leb128::take_u128(&mut self.0).map_err(|error| Malformed(error.0))
    }

    /// A number that fits.
    pub fn number<N: TryFrom<u128>>(&mut self) -> Result<N, Malformed> {
        N::try_from(self.varint()?).map_err(|_| Malformed("number too large"))
    }

    /// A text.
    pub fn text(&mut self) -> Result<&'b str, Malformed> {
        let length: usize = self.number()?;
        if length > MAX_TEXT {
            return Err(Malformed("text too long"));
        }
        str::from_utf8(self.take(length)?).map_err(|_| Malformed("not UTF-8"))
    }

    /// A short name.
    pub fn slug(&mut self) -> Result<Slug, Malformed> {
        self.text()?.parse().map_err(|_| Malformed("not a short name"))
    }

    fn decimal(&mut self) -> Result<Decimal, Malformed> {
        let scale = u32::from(self.array::<1>()?[0]);
        let mantissa = i128::try_from(self.varint()?).map_err(|_| Malformed("number too large"))?;
        let number = Decimal::try_from_i128_with_scale(mantissa, scale).map_err(|_| Malformed("decimal"))?;
        if scale > MAX_SCALE || number.normalize().scale() != scale {
            return Err(Malformed("decimal with trailing zeros"));
        }
        Ok(number)
    }

    /// A price: a number above zero.
    pub fn price(&mut self) -> Result<Decimal, Malformed> {
        Some(self.decimal()?).filter(|number| !number.is_zero()).ok_or(Malformed("a price of zero"))
    }

    /// A series.
    pub fn series(&mut self) -> Result<Series, Malformed> {
        let mut currency = || Currency::from_bytes(self.array()?).ok_or(Malformed("currency"));
        let (base, quote) = (currency()?, currency()?);
        let interval = Interval::of_seconds(u32::from_be_bytes(self.array()?)).ok_or(Malformed("interval"))?;
        Ok(Series { base, quote, interval })
    }

    /// A quote.
    pub fn quote(&mut self) -> Result<Quote, Malformed> {
        let parts = self.array::<1>()?[0];
        if parts > 3 {
            return Err(Malformed("parts of a quote"));
        }
        let close = self.price()?;
        let range = if parts & 1 == 0 {
            None
        } else {
            Some(Range { open: self.price()?, high: self.price()?, low: self.price()? })
        };
        let volume = if parts & 2 == 0 { None } else { Some(self.decimal()?) };
        Ok(Quote { close, range, volume })
    }

    /// Where a document comes from.
    pub fn provenance(&mut self) -> Result<Provenance, Malformed> {
        Ok(Provenance {
            document: DocumentHash(self.array()?),
            source: self.slug()?,
            licence: self.slug()?,
            origin: self.text()?.to_owned(),
            retrieved_at: self.number()?,
        })
    }

    /// Rows of one series: each has the number of intervals after the one before.
    pub fn rows(&mut self) -> Result<Vec<QuoteRow>, Malformed> {
        let series = self.series()?;
        let count: usize = self.number()?;
        // A row takes four bytes at least.
        if count == 0 || count > self.left() / 4 {
            return Err(Malformed("number of rows"));
        }
        let mut rows = Vec::with_capacity(count);
        let mut at = 0u32;
        for n in 0..count {
            let steps: u32 = self.number()?;
            let next = steps.checked_mul(series.interval.seconds()).and_then(|more| at.checked_add(more));
            at = next.filter(|_| n == 0 || steps > 0).ok_or(Malformed("time of a row"))?;
            rows.push(QuoteRow { series, closes_at: at, quote: self.quote()? });
        }
        Ok(rows)
    }
}

/// Appends a text, cut at [`MAX_TEXT`] bytes.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    put_varint(out, end as u128);
    out.extend_from_slice(&text.as_bytes()[..end]);
}

/// Appends a price.
pub fn put_price(out: &mut Vec<u8>, price: Decimal) {
    put_decimal(out, price);
}

fn put_decimal(out: &mut Vec<u8>, number: Decimal) {
    let number = number.normalize();
    out.push(number.scale() as u8);
    put_varint(out, number.mantissa().unsigned_abs());
}

/// Appends a series, in an order that sorts like [`Series`].
pub fn put_series(out: &mut Vec<u8>, series: &Series) {
    out.extend_from_slice(&series.base.bytes());
    out.extend_from_slice(&series.quote.bytes());
    out.extend_from_slice(&series.interval.seconds().to_be_bytes());
}

/// Appends a quote.
pub fn put_quote(out: &mut Vec<u8>, quote: &Quote) {
    out.push(u8::from(quote.range.is_some()) | u8::from(quote.volume.is_some()) << 1);
    put_decimal(out, quote.close);
    if let Some(Range { open, high, low }) = quote.range {
        [open, high, low].into_iter().for_each(|price| put_decimal(out, price));
    }
    if let Some(volume) = quote.volume {
        put_decimal(out, volume);
    }
}

/// Appends where a document comes from.
pub fn put_provenance(out: &mut Vec<u8>, provenance: &Provenance) {
    out.extend_from_slice(&provenance.document.0);
    put_text(out, provenance.source.as_str());
    put_text(out, provenance.licence.as_str());
    put_text(out, &provenance.origin);
    put_varint(out, provenance.retrieved_at.into());
}

/// Appends rows of one series, ascending by time, at least one.
pub fn put_rows(out: &mut Vec<u8>, rows: &[QuoteRow]) {
    let Some(first) = rows.first() else { return };
    put_series(out, &first.series);
    put_varint(out, rows.len() as u128);
    let mut before = 0;
    for row in rows {
        put_varint(out, u128::from((row.closes_at - before) / first.series.interval.seconds()));
        put_quote(out, &row.quote);
        before = row.closes_at;
    }
}
