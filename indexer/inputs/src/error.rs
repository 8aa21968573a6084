//! Errors of a file that cannot be read at all. Errors of single rows are in the report.

use std::io;

use cairn_events::Interval;

use crate::words::Pair;

/// Why a file cannot be read. Rows that were delivered before it must not be used.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// Reading failed.
    #[error("cannot read: {0}")]
    Io(#[from] io::Error),
    /// There is nothing to read.
    #[error("the file is empty")]
    Empty,
    /// An archive, or another encoding.
    #[error("the file is {0}")]
    NotText(&'static str),
    /// No layout fits.
    #[error(
        "the layout is unknown; the file begins {begins:?}. Known are {known}; any other CSV file takes a column map"
    )]
    Unrecognised {
        /// The first cells or keys, shortened.
        begins: String,
        /// Names of the layouts.
        known: String,
    },
    /// The layout that was named does not fit.
    #[error("this is not a file of the layout {layout}; it begins {begins:?}")]
    OtherLayout {
        /// The layout that was named.
        layout: &'static str,
        /// The first cells or keys, shortened.
        begins: String,
    },
    /// The first line of a CSV file has no columns.
    #[error(
        "line {line}, the first one, cannot be split into columns at {delimiter:?} ({why}); it begins {begins:?}. Is it a CSV \
         file, and is this its delimiter?"
    )]
    NoColumns {
        /// The delimiter.
        delimiter: char,
        /// Code of its error.
        why: &'static str,
        /// Its number, from 1.
        line: u64,
        /// The line, shortened; empty if it is not text.
        begins: String,
    },
    /// Both a layout and a column map were given.
    #[error("a column map describes the layout; leave out --layout")]
    LayoutAndMap,
    /// The column map names what the file does not have.
    #[error("the column map says {key}={column:?}, but the file has {has}")]
    NoSuchColumn {
        /// Key of the map.
        key: &'static str,
        /// The column that it names.
        column: String,
        /// The columns of the file, shortened.
        has: String,
    },
    /// The times of the file have a zone already.
    #[error("the times of this layout are in UTC already; leave out the zone")]
    ZoneNotUsed,
    /// Nothing says what is quoted.
    #[error("the file does not say what is quoted; give the pair, for example BTC/USD")]
    PairUnknown,
    /// The file says another pair.
    #[error("the file is for {file}, not for {given}")]
    OtherPair {
        /// The pair in the file.
        file: Pair,
        /// The value that the caller gives.
        given: Pair,
    },
    /// A file of rates does not have that pair.
    #[error("the file has no rates for {given}; it has {has}")]
    PairMissing {
        /// The pair that the caller wants.
        given: Pair,
        /// The pairs in the file, shortened.
        has: String,
    },
    /// Rows are too far apart, or too near, or there is only one.
    #[error("the interval of the rows is not clear ({found}); allowed are minute, hour and day: give the interval")]
    IntervalUnknown {
        /// Distances of the first rows, in words.
        found: String,
    },
    /// The interval that was given is not that of the rows.
    #[error("the rows are {found} apart, not {}", given.seconds())]
    OtherInterval {
        /// Distances of the first rows, in words.
        found: String,
        /// The value that the caller gives.
        given: Interval,
    },
    /// Not YAML, XML or JSON, or more than is read of it.
    #[error("line {line}: {what}")]
    Malformed {
        /// The line, from 1.
        line: u64,
        /// Description of the error, and what is allowed.
        what: String,
    },
    /// The layout of claims needs a column map.
    #[error("the layout csv needs a column map, for example address=1,label=2,header=no")]
    MapNeeded,
    /// A list of addresses was recognised, but nothing says what is claimed of them.
    #[error(
        "a list of addresses does not say what is claimed of them; name the layout address_list if it is a list of \
         sanctions, or give the type of claim"
    )]
    ClaimNeeded,
    /// More rows than numbers of rows.
    #[error("the file has more than {0} rows; split it")]
    TooManyRows(u64),
    /// Not JSON, or cut off, or nested too deep.
    #[error("line {line}: {what}")]
    Json {
        /// The line, from 1.
        line: u64,
        /// Description of the error.
        what: &'static str,
    },
}

/// The beginning of a text from a file, for a message: at most 60 characters.
pub(crate) fn excerpt(text: &str) -> String {
    const MAX: usize = 60;
    let mut short: String = text.chars().take(MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Texts from a file, for a message: at most 60 characters.
pub(crate) fn excerpt_of<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut all = String::new();
    for text in texts {
        if !all.is_empty() {
            all.push_str(", ");
        }
        all.push_str(&excerpt(text));
        if all.len() > 240 {
            break;
        }
    }
    excerpt(&all)
}
