//! The column map: the layout of a CSV file, as described by the operator who imports it.

use std::str::FromStr;

use jiff::tz::TimeZone;

use crate::{
    error::{InputError, excerpt, excerpt_of},
    layouts::Head,
    number::NumberStyle,
    plan::{Columns, Plan, Stamp, Values},
    time::{TimeFormat, is_pattern},
    words::parse_zone,
};

const KEYS: [(&str, &str); 15] = [
    ("time", "a column"),
    ("close", "a column"),
    ("open", "a column"),
    ("high", "a column"),
    ("low", "a column"),
    ("volume", "a column"),
    ("symbol", "a column"),
    ("time_format", "any, unix, unix_ms, unix_us, iso or a pattern such as %d/%m/%Y %H:%M"),
    ("zone", "a name of the IANA database, for example America/New_York"),
    ("stamp", "opening or close"),
    ("header", "yes or no"),
    ("delimiter", "comma, semicolon, tab, pipe or one such character"),
    ("decimal", "point, comma or one such character"),
    ("thousands", "none, comma, point, space, apostrophe or one such character"),
    ("suffixes", "yes or no"),
];

/// Why a text is not a column map.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// A part is not `key=value`, or the key is unknown.
    #[error("{0:?} is not key=value of a column map; the keys are {keys}", keys = keys())]
    Key(String),
    /// A key stands twice.
    #[error("the column map says {0} twice")]
    Twice(&'static str),
    /// A key that is needed is missing.
    #[error("the column map does not say {0}; it needs time=COLUMN and close=COLUMN")]
    Missing(&'static str),
    /// Some, not all of open, high and low.
    #[error("a column map says open, high and low, or none of the three")]
    Range,
    /// A value is not allowed.
    #[error("the column map says {key}={value:?}; write {allowed}")]
    Value {
        /// The key.
        key: &'static str,
        /// Its content.
        value: String,
        /// Allowed values.
        allowed: &'static str,
    },
    /// Decimal and thousands are the same.
    #[error("decimal and thousands cannot be the same character")]
    Separators,
}

fn keys() -> String {
    KEYS.map(|(key, _)| key).join(", ")
}

/// The layout of a CSV file: which columns hold what, and how times and numbers are written.
///
/// Written as `time=Timestamp,close=Last,time_format=%d/%m/%Y %H:%M,delimiter=;,decimal=,`. A value goes on until the
/// next comma that a known key follows. Columns are named as in the header (capitals do not matter) or, with
/// `header=no`, numbered from 1.
#[derive(Clone, Debug)]
pub struct ColumnMap {
    time: String,
    close: String,
    range: Option<[String; 3]>,
    volume: Option<String>,
    symbol: Option<String>,
    format: TimeFormat,
    zone: Option<TimeZone>,
    stamp: Stamp,
    has_header: bool,
    delimiter: u8,
    numbers: NumberStyle,
}

/// Keys and values in order of the text.
fn parts(text: &str) -> Result<Vec<(&'static str, &'static str, &str)>, MapError> {
    // Where a key begins: at the start, and behind commas.
    let key_at = |at: usize| {
        let rest = text.get(at..)?;
        let (key, _) = rest.split_once('=')?;
        KEYS.iter().find(|(known, _)| *known == key.trim())
    };
    let commas = text.match_indices(',').map(|(at, _)| at + 1);
    let starts: Vec<usize> = std::iter::once(0).chain(commas).filter(|at| key_at(*at).is_some()).collect();
    if starts.first() != Some(&0) {
        return Err(MapError::Key(excerpt(text.split(',').next().unwrap_or_default())));
    }
    let ends = starts.iter().skip(1).map(|next| next - 1).chain([text.len()]);
    let mut parts: Vec<(&'static str, &'static str, &str)> = Vec::new();
    for (start, end) in starts.iter().zip(ends) {
        let part = text.get(*start..end).unwrap_or_default();
        let ((key, allowed), (_, value)) =
            key_at(*start).zip(part.split_once('=')).ok_or_else(|| MapError::Key(excerpt(part)))?;
        if parts.iter().any(|(known, ..)| known == key) {
            return Err(MapError::Twice(key));
        }
        // A column whose name holds a comma and an equals sign is rarer than a misspelt key.
        if let Some((_, after)) = value.split_once(',')
            && after.contains('=')
        {
            return Err(MapError::Key(excerpt(after)));
        }
        parts.push((*key, *allowed, value));
    }
    Ok(parts)
}

/// A single character, by itself or by name.
fn separator(value: &str) -> Option<char> {
    let named = match value {
        "comma" => ',',
        "semicolon" => ';',
        "tab" => '\t',
        "pipe" => '|',
        "point" => '.',
        "space" => ' ',
        "apostrophe" => '\'',
        _ => {
            let mut chars = value.chars();
            return chars.next().filter(|char| chars.next().is_none() && !char.is_alphanumeric());
        }
    };
    Some(named)
}

impl FromStr for ColumnMap {
    type Err = MapError;

    fn from_str(text: &str) -> Result<Self, MapError> {
        let mut columns: [Option<String>; 7] = Default::default();
        let mut map = ColumnMap {
            time: String::new(),
            close: String::new(),
            range: None,
            volume: None,
            symbol: None,
            format: TimeFormat::Any,
            zone: None,
            stamp: Stamp::Opening,
            has_header: true,
            delimiter: b',',
            numbers: NumberStyle::PLAIN,
        };
        for (key, allowed, value) in parts(text)? {
            let trimmed = value.trim();
            let wrong = || MapError::Value { key, value: excerpt(value), allowed };
            let yes_or_no = || match trimmed {
                "yes" => Ok(true),
                "no" => Ok(false),
                _ => Err(wrong()),
            };
            match key {
                "time_format" => {
                    map.format = match trimmed {
                        "any" => TimeFormat::Any,
                        "unix" => TimeFormat::Unix(1),
                        "unix_ms" => TimeFormat::Unix(1_000),
                        "unix_us" => TimeFormat::Unix(1_000_000),
                        "iso" => TimeFormat::Iso,
                        pattern if is_pattern(pattern) => TimeFormat::Pattern(pattern.to_owned()),
                        _ => return Err(wrong()),
                    }
                }
                "zone" => map.zone = Some(parse_zone(trimmed).map_err(|_| wrong())?),
                "stamp" => {
                    map.stamp = match trimmed {
                        "opening" => Stamp::Opening,
                        "close" => Stamp::Close,
                        _ => return Err(wrong()),
                    }
                }
                "header" => map.has_header = yes_or_no()?,
                "suffixes" => map.numbers.suffixes = yes_or_no()?,
                "delimiter" => {
                    let byte = separator(value).and_then(|char| u8::try_from(char).ok());
                    map.delimiter = byte.filter(|byte| byte.is_ascii() && *byte != b'"').ok_or_else(wrong)?;
                }
                "decimal" => {
                    map.numbers.decimal =
                        separator(value).filter(|char| matches!(char, '.' | ',')).ok_or_else(wrong)?;
                }
                "thousands" if trimmed == "none" => map.numbers.thousands = None,
                "thousands" => map.numbers.thousands = Some(separator(value).ok_or_else(wrong)?),
                _ => {
                    let at = KEYS.iter().position(|(known, _)| *known == key);
                    let column = at.and_then(|at| columns.get_mut(at)).filter(|_| !trimmed.is_empty());
                    *column.ok_or_else(wrong)? = Some(trimmed.to_owned());
                }
            }
        }
        let [time, close, open, high, low, volume, symbol] = columns;
        map.time = time.ok_or(MapError::Missing("time"))?;
        map.close = close.ok_or(MapError::Missing("close"))?;
        map.range = match (open, high, low) {
            (Some(open), Some(high), Some(low)) => Some([open, high, low]),
            (None, None, None) => None,
            _ => return Err(MapError::Range),
        };
        (map.volume, map.symbol) = (volume, symbol);
        if map.numbers.thousands == Some(map.numbers.decimal) {
            return Err(MapError::Separators);
        }
        Ok(map)
    }
}

/// Where a column is that a map names; `first` is the first row of the file.
pub(crate) fn find_column(
    first: &[String],
    has_header: bool,
    (key, column): (&'static str, &str),
) -> Result<usize, InputError> {
    let at = if has_header {
        first.iter().position(|name| name.eq_ignore_ascii_case(column))
    } else {
        column.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).filter(|at| *at < first.len())
    };
    at.ok_or_else(|| InputError::NoSuchColumn {
        key,
        column: excerpt(column),
        has: if has_header {
            excerpt_of(first.iter().map(String::as_str))
        } else {
            format!("columns 1 to {}", first.len())
        },
    })
}

impl ColumnMap {
    /// How cells are separated.
    pub(crate) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// How the file is read.
    pub(crate) fn plan(&self, head: &Head) -> Result<Plan, InputError> {
        let first = head.row(0).ok_or(InputError::Empty)?;
        let find = |key: &'static str, column: &String| find_column(first, self.has_header, (key, column));
        let optional = |key, column: &Option<String>| column.as_ref().map(|column| find(key, column)).transpose();
        let range = match &self.range {
            Some([open, high, low]) => Some([find("open", open)?, find("high", high)?, find("low", low)?]),
            None => None,
        };
        let columns = Columns {
            close: find("close", &self.close)?,
            range,
            volume: optional("volume", &self.volume)?,
            symbol: optional("symbol", &self.symbol)?,
            end: None,
        };
        let has_end = first.last().is_some_and(String::is_empty);
        Ok(Plan {
            skip: usize::from(self.has_header),
            names: if self.has_header { first.to_vec() } else { (1..=first.len()).map(|at| at.to_string()).collect() },
            width: first.len() - usize::from(has_end && self.has_header),
            delimiter: self.delimiter,
            time: find("time", &self.time)?,
            format: self.format.clone(),
            zone: self.zone.clone(),
            stamp: self.stamp,
            values: Values::Candle(columns),
            numbers: self.numbers,
            pair: None,
            interval: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_may_hold_commas() {
        let map: ColumnMap =
            "time=Timestamp,close=Last,time_format=%b %d, %Y,decimal=,,thousands=.,delimiter=;".parse().unwrap();
        assert_eq!(map.format, TimeFormat::Pattern("%b %d, %Y".to_owned()));
        assert_eq!(map.numbers, NumberStyle { decimal: ',', thousands: Some('.'), suffixes: false });
        assert_eq!((map.delimiter, map.time.as_str(), map.close.as_str()), (b';', "Timestamp", "Last"));
        let map: ColumnMap = "delimiter=,,time=1,close=2,header=no,decimal=,".parse().unwrap();
        assert_eq!((map.delimiter, map.numbers.decimal, map.has_header), (b',', ',', false));
        let map: ColumnMap =
            "time=a,close=b,delimiter=tab,thousands=space,stamp=close,zone=America/New_York".parse().unwrap();
        assert_eq!((map.delimiter, map.numbers.thousands, map.stamp), (b'\t', Some(' '), Stamp::Close));
        assert!(map.zone.is_some());
    }

    #[test]
    fn errors_say_what_is_allowed() {
        for (text, says) in [
            ("", "keys are time, close"),
            ("tme=a,close=b", "keys are time, close"),
            ("time=a,clse=b", "\"clse=b\" is not key=value"),
            ("close=b", "does not say time"),
            ("time=a", "does not say close"),
            ("time=,close=b", "write a column"),
            ("time=a,time=b,close=c", "time twice"),
            ("time=a,close=b,open=c", "open, high and low, or none"),
            ("time=a,close=b,zone=Nowhere", "America/New_York"),
            ("time=a,close=b,time_format=%Q", "unix_ms"),
            ("time=a,close=b,header=maybe", "yes or no"),
            ("time=a,close=b,decimal=x", "point, comma"),
            ("time=a,close=b,decimal=,,thousands=comma", "same character"),
            ("time=a,close=b,delimiter=;;", "semicolon"),
        ] {
            let error = text.parse::<ColumnMap>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "((time|close|open|zone|decimal|header|time_format)=[a-z,;%=é]{0,4},?){0,5}", any in ".{0,40}") {
            let (_, _) = (text.parse::<ColumnMap>(), any.parse::<ColumnMap>());
        }
    }
}
