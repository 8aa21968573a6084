//! Rows on their way into a file. A dataset writes the values of a row in the order of its columns.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, RecordBatch,
    builder::{
        BinaryBuilder, BooleanBuilder, Date32Builder, Decimal64Builder, Decimal128Builder, FixedSizeBinaryBuilder,
        Int32Builder, Int64Builder, StringBuilder, StringDictionaryBuilder, TimestampMicrosecondBuilder,
    },
    types::Int32Type,
};
use arrow_schema::{DataType, Schema};
use cairn_model::{BlockHash, ScriptId, TxNum, Txid, day_of};
use rust_decimal::Decimal;

use crate::{
    ExportError,
    columns::{Column, PRICE_DECIMALS, schema},
    forms::Format,
};

enum Cells {
    Long(Int64Builder),
    Int(Int32Builder),
    Wide(Decimal128Builder),
    Btc(Decimal64Builder),
    Fixed(FixedSizeBinaryBuilder),
    Bytes(BinaryBuilder),
    Text(StringBuilder),
    Word(StringDictionaryBuilder<Int32Type>),
    Time(TimestampMicrosecondBuilder),
    Day(Date32Builder),
    Flag(BooleanBuilder),
}

impl Cells {
    fn of(kind: &DataType) -> Self {
        match kind {
            DataType::Int32 => Cells::Int(Int32Builder::new()),
            DataType::Decimal128(..) => Cells::Wide(Decimal128Builder::new().with_data_type(kind.clone())),
            DataType::Decimal64(..) => Cells::Btc(Decimal64Builder::new().with_data_type(kind.clone())),
            DataType::FixedSizeBinary(width) => Cells::Fixed(FixedSizeBinaryBuilder::new(*width)),
            DataType::Binary => Cells::Bytes(BinaryBuilder::new()),
            DataType::Utf8 => Cells::Text(StringBuilder::new()),
            DataType::Dictionary(..) => Cells::Word(StringDictionaryBuilder::new()),
            DataType::Timestamp(..) => Cells::Time(TimestampMicrosecondBuilder::new().with_data_type(kind.clone())),
            DataType::Date32 => Cells::Day(Date32Builder::new()),
            DataType::Boolean => Cells::Flag(BooleanBuilder::new()),
            _ => Cells::Long(Int64Builder::new()),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Cells::Long(cells) => Arc::new(cells.finish()),
            Cells::Int(cells) => Arc::new(cells.finish()),
            Cells::Wide(cells) => Arc::new(cells.finish()),
            Cells::Btc(cells) => Arc::new(cells.finish()),
            Cells::Fixed(cells) => Arc::new(cells.finish()),
            Cells::Bytes(cells) => Arc::new(cells.finish()),
            Cells::Text(cells) => Arc::new(cells.finish()),
            Cells::Word(cells) => Arc::new(cells.finish()),
            Cells::Time(cells) => Arc::new(cells.finish()),
            Cells::Day(cells) => Arc::new(cells.finish()),
            Cells::Flag(cells) => Arc::new(cells.finish()),
        }
    }

    fn null(&mut self) {
        match self {
            Cells::Long(cells) => cells.append_null(),
            Cells::Int(cells) => cells.append_null(),
            Cells::Wide(cells) => cells.append_null(),
            Cells::Btc(cells) => cells.append_null(),
            Cells::Fixed(cells) => cells.append_null(),
            Cells::Bytes(cells) => cells.append_null(),
            Cells::Text(cells) => cells.append_null(),
            Cells::Word(cells) => cells.append_null(),
            Cells::Time(cells) => cells.append_null(),
            Cells::Day(cells) => cells.append_null(),
            Cells::Flag(cells) => cells.append_null(),
        }
    }
}

/// Rows that are handed to the encoder at a time.
const BATCH_ROWS: usize = 8_192;
/// Bytes after which they are handed over, however few: a script may have megabytes.
const BATCH_BYTES: usize = 2 << 20;

/// Rows that are not in the file yet.
pub(crate) struct Rows {
    schema: Arc<Schema>,
    cells: Vec<Cells>,
    /// The column of the next value.
    at: usize,
    rows: usize,
    /// Bytes of values of any length.
    bytes: usize,
    /// A value that did not fit into its column. It is reported when the rows are taken.
    misfit: Option<&'static str>,
}

impl Rows {
    pub(crate) fn new(columns: &[Column], format: Format) -> Self {
        let schema = Arc::new(schema(columns, format));
        let cells = schema.fields().iter().map(|field| Cells::of(field.data_type())).collect();
        Rows { schema, cells, at: 0, rows: 0, bytes: 0, misfit: None }
    }

    pub(crate) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Complete rows.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// True if rows or bytes reach the limit at which they are encoded.
    pub(crate) fn are_many(&self) -> bool {
        self.at == 0 && (self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES)
    }

    /// Takes the rows out.
    pub(crate) fn take(&mut self) -> Result<RecordBatch, ExportError> {
        if let Some(what) = self.misfit {
            return Err(ExportError::Defect(what));
        }
        if self.at != 0 {
            return Err(ExportError::Defect("a row is not complete"));
        }
        let columns = self.cells.iter_mut().map(Cells::finish).collect();
        (self.rows, self.bytes) = (0, 0);
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(|e| ExportError::Parquet(e.into()))
    }

    fn next(&mut self) -> Option<&mut Cells> {
        let at = self.at;
        self.at += 1;
        if self.at == self.cells.len() {
            (self.at, self.rows) = (0, self.rows + 1);
        }
        self.cells.get_mut(at)
    }

    fn misfits(&mut self, what: &'static str) {
        self.misfit.get_or_insert(what);
    }

    pub(crate) fn null(&mut self) {
        if let Some(cells) = self.next() {
            cells.null();
        }
    }

    /// A value, or none.
    pub(crate) fn maybe<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        match value {
            Some(value) => write(self, value),
            None => self.null(),
        }
    }

    /// A whole number, of 32 or 64 bits.
    pub(crate) fn number(&mut self, number: impl Into<u64>) {
        let number = number.into();
        let fits = match (self.next(), i32::try_from(number), i64::try_from(number)) {
            (Some(Cells::Long(cells)), _, Ok(number)) => {
                cells.append_value(number);
                true
            }
            (Some(Cells::Int(cells)), Ok(number), _) => {
                cells.append_value(number);
                true
            }
            _ => false,
        };
        if !fits {
            self.misfits("a number does not fit into its column");
        }
    }

    /// A number of anything that is counted in memory.
    pub(crate) fn count(&mut self, number: usize) {
        self.number(number as u64);
    }

    /// A number that may be below zero and larger than 64 bits.
    pub(crate) fn wide(&mut self, number: i128) {
        match self.next() {
            Some(Cells::Wide(cells)) => cells.append_value(number),
            _ => self.misfits("a wide number is not in its column"),
        }
    }

    /// Satoshis, or a whole number of 64 bits, which may be below zero.
    pub(crate) fn signed(&mut self, sats: i128) {
        let fits = match (self.next(), i64::try_from(sats)) {
            (Some(Cells::Long(cells)), Ok(sats)) => {
                cells.append_value(sats);
                true
            }
            (Some(Cells::Btc(cells)), Ok(sats)) => {
                cells.append_value(sats);
                true
            }
            _ => false,
        };
        if !fits {
            self.misfits("an amount does not fit into its column");
        }
    }

    pub(crate) fn sats(&mut self, sats: u64) {
        self.signed(sats.into());
    }

    pub(crate) fn tx(&mut self, tx_num: TxNum) {
        self.number(tx_num.0);
    }

    /// Bytes, as they are or in hex.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        let fits = match self.next() {
            Some(Cells::Fixed(cells)) => cells.append_value(bytes).is_ok(),
            Some(Cells::Bytes(cells)) => {
                cells.append_value(bytes);
                true
            }
            Some(Cells::Text(cells)) => {
                cells.append_value(hex::encode(bytes));
                true
            }
            _ => false,
        };
        if !fits {
            self.misfits("bytes do not fit into their column");
        }
    }

    fn shown(&mut self, mut hash: [u8; 32]) {
        hash.reverse();
        self.bytes(&hash);
    }

    pub(crate) fn txid(&mut self, txid: &Txid) {
        self.shown(txid.0);
    }

    pub(crate) fn block_hash(&mut self, hash: &BlockHash) {
        self.shown(hash.0);
    }

    pub(crate) fn script_id(&mut self, id: ScriptId) {
        let mut bytes = [0; 9];
        bytes[..8].copy_from_slice(&id.prefix.0);
        bytes[8] = id.ordinal;
        self.bytes(&bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes += text.len();
        let fits = match self.next() {
            Some(Cells::Text(cells)) => {
                cells.append_value(text);
                true
            }
            Some(Cells::Word(cells)) => cells.append(text).is_ok(),
            _ => false,
        };
        if !fits {
            self.misfits("a text is not in its column");
        }
    }

    /// A text, or null for an empty one.
    pub(crate) fn text_or_null(&mut self, text: &str) {
        self.maybe(Some(text).filter(|text| !text.is_empty()), Self::text);
    }

    /// A moment, in seconds since 1970.
    pub(crate) fn time(&mut self, seconds: u32) {
        match self.next() {
            Some(Cells::Time(cells)) => cells.append_value(i64::from(seconds) * 1_000_000),
            _ => self.misfits("a time is not in its column"),
        }
    }

    /// A day, counted from 1970-01-01.
    pub(crate) fn day(&mut self, day: u32) {
        match (self.next(), i32::try_from(day)) {
            (Some(Cells::Day(cells)), Ok(day)) => cells.append_value(day),
            _ => self.misfits("a day is not in its column"),
        }
    }

    pub(crate) fn day_of(&mut self, seconds: u32) {
        self.day(day_of(seconds));
    }

    /// True or false.
    pub(crate) fn flag(&mut self, flag: bool) {
        match self.next() {
            Some(Cells::Flag(cells)) => cells.append_value(flag),
            _ => self.misfits("a flag is not in its column"),
        }
    }

    /// A price. Digits beyond those of the column are rounded.
    pub(crate) fn price(&mut self, mut price: Decimal) {
        price.rescale(PRICE_DECIMALS.unsigned_abs().into());
        let fits = price.scale() == u32::from(PRICE_DECIMALS.unsigned_abs());
        match self.next() {
            Some(Cells::Wide(cells)) if fits => cells.append_value(price.mantissa()),
            _ => self.misfits("a price does not fit into its column"),
        }
    }
}
