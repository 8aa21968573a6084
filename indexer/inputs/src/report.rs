//! The report on a file: rows that were read, rows that were taken, and the errors of the rest.

use std::{collections::BTreeMap, fmt};

use cairn_events::{Interval, Series};

use crate::error::excerpt;

/// Bad rows that a report has in full. All are counted.
pub const MAX_LISTED: usize = 100;

cairn_model::words! {
    /// An error of a row.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum Code {
        /// A price is zero.
        Zero = "zero",
        /// A number is below zero.
        Negative = "negative",
        /// A cell is not a number; nor are NaN and infinity.
        NotANumber = "not_a_number",
        /// A number has more than 28 digits.
        TooManyDigits = "too_many_digits",
        /// A number is beyond 10^15.
        TooLarge = "too_large",
        /// The row has no value: `null`, `N/A` or an empty cell.
        NoValue = "no_value",
        /// The high is below the low, or open or close are not between them.
        Range = "range",
        /// A cell is not a time.
        BadTime = "bad_time",
        /// The local time does not exist: clocks were put forward.
        SkippedTime = "skipped_time",
        /// The local time exists twice: clocks were put back.
        AmbiguousTime = "ambiguous_time",
        /// The time is not a multiple of the interval.
        Misaligned = "misaligned",
        /// The candle is not closed yet.
        Future = "future",
        /// Before 1970, or before 2009-01-03 where bitcoin is quoted.
        TooEarly = "too_early",
        /// The candle was there before, with the same values.
        Repeated = "repeated",
        /// The candle was there before, with other values. The first is kept.
        Conflicting = "conflicting",
        /// The row stands neither after the row before nor, in a file with the newest row first, before it. It is
        /// taken: rows are sorted anyway.
        OutOfOrder = "out_of_order",
        /// The row has more or fewer cells than it should.
        ColumnCount = "column_count",
        /// The row is longer than 64 KiB.
        TooLong = "too_long",
        /// The row has a NUL byte.
        Nul = "nul",
        /// The row is not UTF-8.
        Encoding = "encoding",
        /// A quote opens and does not close, or closes in the middle of a cell.
        Quoting = "quoting",
        /// The row is for something else than the rows before, or names no pair.
        Symbol = "symbol",
    }
    /// A stable name.
    pub fn as_str, Display;
}

impl Code {
    /// Whether such a row is left out. Only a row in the wrong place is taken and still reported.
    #[must_use]
    pub const fn is_refused(self) -> bool {
        !matches!(self, Code::OutOfOrder)
    }

    /// Its meaning, as the beginning of a message.
    const fn meaning(self) -> &'static str {
        match self {
            Code::Zero => "a price cannot be zero",
            Code::Negative => "below zero",
            Code::NotANumber => "not a number",
            Code::TooManyDigits => "more than 28 digits",
            Code::TooLarge => "beyond 10^15",
            Code::NoValue => "no value",
            Code::Range => "the high is below the low, or the open or close is not between them",
            Code::BadTime => "not a time of this layout",
            Code::SkippedTime => "clocks were put forward: this local time does not exist",
            Code::AmbiguousTime => "clocks were put back: this local time exists twice",
            Code::Misaligned => "not a multiple of the interval",
            Code::Future => "the candle is not closed yet",
            Code::TooEarly => "before 1970, or before 2009-01-03 for bitcoin",
            Code::Repeated => "the same candle with the same values was there before",
            Code::Conflicting => "the same candle with other values was there before; the first is kept",
            Code::OutOfOrder => "not in the order of the rows before; taken all the same",
            Code::ColumnCount => "wrong number of columns",
            Code::TooLong => "longer than 65536 bytes",
            Code::Nul => "a NUL byte",
            Code::Encoding => "not UTF-8",
            Code::Quoting => "a quote is not closed, or closes in the middle of a cell",
            Code::Symbol => "names no pair, or another than the rows before",
        }
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
