//! The report on a file: rows that were read, rows that were taken, and the errors of the rest.

use std::{collections::BTreeMap, fmt};

use cairn_events::{Interval, Series};

use crate::error::excerpt;

/// Bad rows that a report has in full. All are counted.
pub const MAX_LISTED: usize = 100;

/// Declares an enum of codes of rows: each with its name and the beginning of its message, which also documents it.
macro_rules! codes {
    ($(#[$meta:meta])* $name:ident: $($(#[$doc:meta])* $variant:ident => $word:literal, $meaning:literal;)+) => {
        cairn_model::words! {
            $(#[$meta])*
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
            pub enum $name {
                $(
                    $(#[$doc])*
                    #[doc = $meaning]
                    $variant = $word
                ),+
            }
            /// A stable name.
            pub fn as_str, Display;
        }

        impl $name {
            /// Its meaning, as the beginning of a message.
            const fn meaning(self) -> &'static str {
                match self {
                    $($name::$variant => $meaning),+
                }
            }
        }
    };
}

pub(crate) use codes;

codes! {
    /// An error of a row.
    Code:

    Zero => "zero", "a price cannot be zero";
    Negative => "negative", "below zero";
    /// A cell is not a number; nor are NaN and infinity.
    NotANumber => "not_a_number", "not a number";
    TooManyDigits => "too_many_digits", "more than 28 digits";
    TooLarge => "too_large", "beyond 10^15";
    /// The row has no value: `null`, `N/A` or an empty cell.
    NoValue => "no_value", "no value";
    Range => "range", "the high is below the low, or the open or close is not between them";
    BadTime => "bad_time", "not a time of this layout";
    SkippedTime => "skipped_time", "clocks were put forward: this local time does not exist";
    AmbiguousTime => "ambiguous_time", "clocks were put back: this local time exists twice";
    Misaligned => "misaligned", "not a multiple of the interval";
    Future => "future", "the candle is not closed yet";
    TooEarly => "too_early", "before 1970, or before 2009-01-03 for bitcoin";
    Repeated => "repeated", "the same candle with the same values was there before";
    Conflicting => "conflicting", "the same candle with other values was there before; the first is kept";
    /// The row stands neither after the row before nor, in a file with the newest row first, before it. It is
    /// taken: rows are sorted anyway.
    OutOfOrder => "out_of_order", "not in the order of the rows before; taken all the same";
    ColumnCount => "column_count", "wrong number of columns";
    TooLong => "too_long", "longer than 65536 bytes";
    Nul => "nul", "a NUL byte";
    Encoding => "encoding", "not UTF-8";
    Quoting => "quoting", "a quote is not closed, or closes in the middle of a cell";
    Symbol => "symbol", "names no pair, or another than the rows before";
}

impl Code {
    /// Whether such a row is left out. Only a row in the wrong place is taken and still reported.
    #[must_use]
    pub const fn is_refused(self) -> bool {
        !matches!(self, Code::OutOfOrder)
    }
}

/// A row with something wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRow {
    /// Its line, from 1.
    pub line: u64,
    /// The column, where one is to blame.
    pub column: Option<String>,
    /// The code of the error.
    pub code: Code,
    /// The same for people, with the cell.
    pub message: String,
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if let Some(column) = &self.column {
            write!(f, ", column {column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Candles in a row that are missing between others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// When the last candle before it closed, in seconds since 1970 (UTC).
    pub after: u32,
    /// When the first candle behind it closed, in seconds since 1970 (UTC).
    pub until: u32,
    /// Candles that are missing.
    pub missing: u32,
}

/// Candles that are missing inside a series.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Gaps {
    /// Their number.
    pub count: u64,
    /// Candles that are missing in all of them.
    pub missing: u64,
    /// The longest, of equal ones the oldest.
    pub longest: Option<Gap>,
}

/// The part of a series that was taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeriesReport {
    /// The pair.
    pub series: Series,
    /// Rows that were taken.
    pub taken: u64,
    /// The first close, in seconds since 1970 (UTC).
    pub first: u32,
    /// The last close, in seconds since 1970 (UTC).
    pub last: u32,
    /// Candles that are missing between them. Weekends and holidays of reference rates count.
    pub gaps: Gaps,
}

/// The content. [`Report::rows`] is the sum of [`Report::taken`] and [`Report::refused`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Name of the layout, or `map`.
    pub layout: &'static str,
    /// The publisher of the layout, where there is only one.
    pub publisher: Option<&'static str>,
    /// Whether the caller's source is another than the publisher.
    pub is_other_source: bool,
    /// Rows that were read. In a table with a column for each currency, each cell is a row; a line that cannot be split
    /// into cells is one row.
    pub rows: u64,
    /// Rows that were delivered.
    pub taken: u64,
    /// Rows that were not.
    pub refused: u64,
    /// Length of a candle; `None` if no row could be read.
    pub interval: Option<Interval>,
    /// The series of which rows were taken.
    pub series: Vec<SeriesReport>,
    /// Rows by code. Those with [`Code::OutOfOrder`] are taken.
    pub by_code: BTreeMap<Code, u64>,
    /// The first [`MAX_LISTED`] in full, but for the missing rates of tables (`N/A`), which are only counted.
    pub bad_rows: Vec<BadRow>,
}

impl Report {
    pub(crate) fn new(layout: &'static str, publisher: Option<&'static str>, is_other_source: bool) -> Self {
        Report {
            layout,
            publisher,
            is_other_source,
            rows: 0,
            taken: 0,
            refused: 0,
            interval: None,
            series: Vec::new(),
            by_code: BTreeMap::new(),
            bad_rows: Vec::new(),
        }
    }

    /// Counts an error of a row.
    pub(crate) fn count(&mut self, code: Code) {
        let count = self.by_code.entry(code).or_default();
        *count = count.saturating_add(1);
        if code.is_refused() {
            self.refused = self.refused.saturating_add(1);
        }
    }

    /// Counts an error of a row, and lists it if there is room.
    pub(crate) fn tell(&mut self, line: u64, column: Option<&str>, code: Code, value: &str) {
        self.count(code);
        if self.bad_rows.len() < MAX_LISTED {
            let meaning = code.meaning();
            let message =
                if value.is_empty() { meaning.to_owned() } else { format!("{meaning}: {:?}", excerpt(value)) };
            self.bad_rows.push(BadRow { line, column: column.map(excerpt), code, message });
        }
    }
}
