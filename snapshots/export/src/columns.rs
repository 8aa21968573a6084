//! Columns as datasets declare them: name, kind, unit, meaning. Schemas of files, the manifest and the data dictionary
//! follow from these.

use arrow_schema::{DataType, Field, Schema, TimeUnit};

use crate::forms::{Amounts, Format, Hashes};

/// Kind of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A whole number of 64 bits.
    Long,
    /// A whole number of 32 bits.
    Int,
    /// A whole number that 64 bits need not hold: 38 digits.
    Wide,
    /// Satoshis, or bitcoin if asked for.
    Sats,
    /// 32 bytes in the order in which they are shown, or 64 hexadecimal digits if asked for.
    Hash,
    /// The 9 bytes of a script's id, or 18 hexadecimal digits if asked for.
    ScriptId,
    /// Bytes of any length, or hexadecimal digits if asked for.
    Bytes,
    /// Text.
    Text,
    /// One of few texts.
    Word,
    /// A moment in UTC.
    Time,
    /// A day in UTC.
    Day,
    /// True or false.
    Flag,
    /// A price: 38 digits, 12 of them after the point.
    Price,
}

/// A column of a dataset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name. Amounts have no unit in it: it is added, see [`Column::name_in`].
    name: &'static str,
    /// Kind of its values.
    pub kind: Kind,
    /// True if there may be no value.
    pub is_nullable: bool,
    /// Its meaning, as a sentence.
    pub about: &'static str,
    /// Option that adds it; `None`: it is always there.
    pub extra: Option<Extra>,
}

cairn_model::words! {
    /// Columns that are there if they are asked for.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Extra {
        /// Txids of the coins that inputs spend.
        Txids = "--txids",
        /// Addresses of inputs and outputs.
        Addresses = "--addresses",
    }
    /// The option that asks for it.
    pub fn option;
}

/// A column without nulls.
pub(crate) const fn column(name: &'static str, kind: Kind, about: &'static str) -> Column {
    Column { name, kind, is_nullable: false, about, extra: None }
}

/// A column that may be null.
pub(crate) const fn nullable(name: &'static str, kind: Kind, about: &'static str) -> Column {
    Column { name, kind, is_nullable: true, about, extra: None }
}

impl Column {
    /// The same, only if it is asked for.
    pub(crate) const fn with(self, extra: Extra) -> Self {
        Column { extra: Some(extra), ..self }
    }

    /// True if files of this form have it.
    #[must_use]
    pub fn is_in(&self, format: Format) -> bool {
        match self.extra {
            None => true,
            Some(Extra::Txids) => format.txids,
            Some(Extra::Addresses) => format.addresses,
        }
    }

    /// Its name in a file: amounts end with their unit.
    #[must_use]
    pub fn name_in(&self, format: Format) -> String {
        match (self.kind, format.amounts) {
            (Kind::Sats, Amounts::Sats) => format!("{}_sats", self.name),
            (Kind::Sats, Amounts::Btc) => format!("{}_btc", self.name),
            _ => self.name.to_owned(),
        }
    }

    /// Its type in a file.
    #[must_use]
    pub fn type_in(&self, format: Format) -> DataType {
        let bytes = |binary| if format.hashes == Hashes::Hex { DataType::Utf8 } else { binary };
        match self.kind {
            Kind::Long => DataType::Int64,
            Kind::Int => DataType::Int32,
            Kind::Wide => DataType::Decimal128(38, 0),
            Kind::Sats => match format.amounts {
                Amounts::Sats => DataType::Int64,
                Amounts::Btc => DataType::Decimal64(18, 8),
            },
            Kind::Hash => bytes(DataType::FixedSizeBinary(32)),
            Kind::ScriptId => bytes(DataType::FixedSizeBinary(9)),
            Kind::Bytes => bytes(DataType::Binary),
            Kind::Text => DataType::Utf8,
            Kind::Word => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            Kind::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Kind::Day => DataType::Date32,
            Kind::Flag => DataType::Boolean,
            Kind::Price => DataType::Decimal128(38, PRICE_DECIMALS),
        }
    }

    /// Its type in words, with the unit.
    #[must_use]
    pub fn type_words(&self) -> &'static str {
        match self.kind {
            Kind::Long => "int64",
            Kind::Int => "int32",
            Kind::Wide => "decimal(38, 0)",
            Kind::Sats => "int64, satoshis",
            Kind::Hash => "binary(32)",
            Kind::ScriptId => "binary(9)",
            Kind::Bytes => "binary",
            Kind::Text | Kind::Word => "text",
            Kind::Time => "timestamp, UTC",
            Kind::Day => "date, UTC",
            Kind::Flag => "boolean",
            Kind::Price => "decimal(38, 12)",
        }
    }
}

/// Digits of a price after the point.
pub(crate) const PRICE_DECIMALS: i8 = 12;

pub(crate) fn schema(columns: &[Column], format: Format) -> Schema {
    let field = |column: &Column| Field::new(column.name_in(format), column.type_in(format), column.is_nullable);
    Schema::new(columns.iter().filter(|column| column.is_in(format)).map(field).collect::<Vec<_>>())
}
