//! The caller's options for a file.

use cairn_events::{Interval, Slug};
use jiff::tz::TimeZone;

use crate::{layouts::Layout, map::ColumnMap, words::Pair};

/// The caller's options for a file.
#[derive(Clone, Debug)]
pub struct Options {
    /// The time, in seconds since 1970 (UTC): a candle that closes later is not closed yet, and refused.
    pub now: u32,
    /// The pair. Needed where the file does not say so; of a file with many rates it selects one.
    pub pair: Option<Pair>,
    /// Length of a candle. Without it, it follows from the first rows.
    pub interval: Option<Interval>,
    /// Zone of times without a zone. Without it, they are in UTC.
    pub zone: Option<TimeZone>,
    /// The layout. Without it, it follows from the beginning of the file.
    pub layout: Option<&'static Layout>,
    /// The columns of a CSV file of no known layout.
    pub map: Option<ColumnMap>,
    /// The source that the file is imported as. The report says whether the layout is another publisher's.
    pub source: Option<Slug>,
}

impl Options {
    /// Nothing but the time is known; seconds since 1970 (UTC).
    #[must_use]
    pub fn new(now: u32) -> Self {
        Options { now, pair: None, interval: None, zone: None, layout: None, map: None, source: None }
    }
}
