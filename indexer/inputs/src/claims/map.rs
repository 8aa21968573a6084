//! The column map of labels: which columns of a CSV file hold what.

use std::str::FromStr;

use crate::{
    error::{InputError, excerpt},
    map::find_column,
};

/// The fields that a column may hold.
pub(super) const FIELDS: [&str; 20] = [
    "address",
    "entity",
    "entity_name",
    "category",
    "behaviour",
    "claim_type",
    "evidence_tier",
    "source_id",
    "source_url",
    "origin_url",
    "asserted_at",
    "licence",
    "note",
    "level",
    "valid_from",
    "valid_to",
    "is_inherited",
    "is_person",
    "label",
    "currency",
];

pub(super) type Columns = [Option<usize>; FIELDS.len()];

/// Why a text is not a column map of labels.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimMapError {
    /// A part is not `key=value`, or the key is unknown.
    #[error("{0:?} is not key=value of a column map of labels; the keys are {keys}, header, delimiter", keys = FIELDS.join(", "))]
    Key(String),
    /// A key stands twice.
    #[error("the column map says {0} twice")]
    Twice(String),
    /// The address is missing.
    #[error("the column map does not say address; it needs address=COLUMN")]
    Missing,
    /// A value is not allowed.
    #[error("the column map says {key}={value:?}; write {allowed}")]
    Value {
        /// The key.
        key: String,
        /// Its content.
        value: String,
        /// Allowed values.
        allowed: &'static str,
    },
}

/// The layout of a CSV file of labels: which columns hold what.
///
/// Written as `address=Address,label=Tag,delimiter=;`. A value goes on until the next comma that a known key follows.
/// Columns are named as in the header (capitals do not matter) or, with `header=no`, numbered from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaimMap {
    columns: [Option<String>; FIELDS.len()],
    has_header: bool,
    delimiter: u8,
}

impl ClaimMap {
    /// The columns that a file of [`ClaimLayout::Facts`](super::ClaimLayout::Facts) must have, in any order.
    pub const FACTS: [&'static str; 13] = [
        "address",
        "entity",
        "entity_name",
        "category",
        "behaviour",
        "claim_type",
        "evidence_tier",
        "source_id",
        "source_url",
        "origin_url",
        "asserted_at",
        "licence",
        "note",
    ];

    pub(super) fn has_header(&self) -> bool {
        self.has_header
    }

    pub(super) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// Where the columns are; `first` is the first row.
    pub(super) fn find(&self, first: &[String]) -> Result<Columns, InputError> {
        let mut found = Columns::default();
        for ((column, key), place) in self.columns.iter().zip(FIELDS).zip(&mut found) {
            if let Some(column) = column {
                *place = Some(find_column(first, self.has_header, (key, column))?);
            }
        }
        Ok(found)
    }
}

/// Keys and values. A part without a known key belongs to the value before.
fn parts(text: &str) -> Result<Vec<(&str, String)>, ClaimMapError> {
    let mut parts: Vec<(&str, String)> = Vec::new();
    for piece in text.split(',') {
        let key_of = |(key, value)| {
            let key = str::trim(key);
            (FIELDS.contains(&key) || matches!(key, "header" | "delimiter")).then_some((key, value))
        };
        let found = piece.split_once('=').and_then(key_of);
        if let Some((key, value)) = found {
            if parts.iter().any(|(known, _)| *known == key) {
                return Err(ClaimMapError::Twice(key.to_owned()));
            }
            parts.push((key, value.to_owned()));
            continue;
        }
        match parts.last_mut() {
            Some((_, value)) if !piece.contains('=') => {
                value.push(',');
                value.push_str(piece);
            }
            _ => return Err(ClaimMapError::Key(excerpt(piece))),
        }
    }
    Ok(parts)
}

impl FromStr for ClaimMap {
    type Err = ClaimMapError;

    fn from_str(text: &str) -> Result<Self, ClaimMapError> {
        let mut map = ClaimMap { columns: Default::default(), has_header: true, delimiter: b',' };
        for (key, value) in parts(text)? {
            let wrong = |allowed| ClaimMapError::Value { key: key.to_owned(), value: excerpt(&value), allowed };
            let trimmed = value.trim();
            match key {
                "header" => {
                    map.has_header = match trimmed {
                        "yes" => true,
                        "no" => false,
                        _ => return Err(wrong("yes or no")),
                    }
                }
                "delimiter" => {
                    map.delimiter = match value.as_str() {
                        "comma" | "," => b',',
                        "semicolon" | ";" => b';',
                        "tab" | "\t" => b'\t',
                        "pipe" | "|" => b'|',
                        _ => return Err(wrong("comma, semicolon, tab or pipe")),
                    }
                }
                _ if trimmed.is_empty() => return Err(wrong("a column")),
                _ => {
                    let at = FIELDS.iter().position(|field| *field == key);
                    if let Some(place) = at.and_then(|at| map.columns.get_mut(at)) {
                        *place = Some(trimmed.to_owned());
                    }
                }
            }
        }
        if map.columns.first().is_none_or(Option::is_none) { Err(ClaimMapError::Missing) } else { Ok(map) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_and_what_is_wrong_with_them() {
        let map: ClaimMap = "address=Name, first,label=2,delimiter=;,header=no".parse().unwrap();
        assert_eq!((map.columns[0].as_deref(), map.delimiter, map.has_header), (Some("Name, first"), b';', false));
        assert_eq!("delimiter=,,address=a".parse::<ClaimMap>().unwrap().delimiter, b',');
        for (text, says) in [
            ("", "keys are address, entity"),
            ("adress=1", "\"adress=1\" is not key=value"),
            ("address=1,lable=2", "\"lable=2\" is not key=value"),
            ("label=1", "does not say address"),
            ("address=1,address=2", "address twice"),
            ("address=", "write a column"),
            ("address=1,header=maybe", "yes or no"),
            ("address=1,delimiter=x", "comma, semicolon, tab or pipe"),
        ] {
            let error = text.parse::<ClaimMap>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
