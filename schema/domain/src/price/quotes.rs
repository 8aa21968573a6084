//! Look-ups of quotes.

use cairn_events::Chosen;
pub use cairn_events::Series;

/// The quotes that hold, by series and time.
pub trait Quotes {
    /// Why they cannot be read.
    type Error;

    /// The last candle of a series that closed at `time` (seconds since 1970) or before, with its close.
    fn last(&self, series: Series, time: u32) -> Result<Option<(u32, Chosen)>, Self::Error>;
}
