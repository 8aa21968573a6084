//! Which part of a series a request is about, and the intervals of candles.

use cairn_events::Interval;
use cairn_http::Location;

use crate::{operation::prelude::*, parameters::time::TimeParam, vocabulary::cursor::Cursors};

/// Length of a candle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CandleInterval {
    Minute,
    Hour,
    #[default]
    Day,
}

impl CandleInterval {
    pub(crate) fn interval(self) -> Interval {
        match self {
            CandleInterval::Minute => Interval::Minute,
            CandleInterval::Hour => Interval::Hour,
            CandleInterval::Day => Interval::Day,
        }
    }

    pub(crate) fn of(interval: Interval) -> Self {
        match interval {
            Interval::Minute => CandleInterval::Minute,
            Interval::Hour => CandleInterval::Hour,
            Interval::Day => CandleInterval::Day,
        }
    }
}

/// The requested part of a list of candles.
pub(crate) struct CandleRequest<'a> {
    pub(crate) cursors: Cursors<'a>,
    pub(crate) from: Option<TimeParam>,
    pub(crate) to: Option<TimeParam>,
    pub(crate) cursor: Option<&'a str>,
    pub(crate) limit: u32,
}

/// The candles that close after one time and not after another, in seconds since 1970.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) after: u32,
    pub(crate) until: u32,
    /// Close of the last candle of the previous page.
    pub(crate) shown: Option<u32>,
}

impl CandleRequest<'_> {
    /// The span; `newest` is the close of the newest candle there is. Without a first day it has room for `limit`
    /// candles of `step` seconds up to its end.
    pub(crate) fn span(&self, newest: Option<u32>, step: u32) -> Result<Span, ApiError> {
        if let (Some(from), Some(to)) = (self.from, self.to)
            && to.start < from.start
        {
            return Err(ApiError::validation(Location::Query, "to", "must not be before from"));
        }
        let until = self.to.map_or(u32::MAX, |to| to.end);
        let room = || newest.unwrap_or(0).min(until).saturating_sub(self.limit.saturating_mul(step));
        let after = self.from.map_or_else(room, |from| from.start);
        let Some(token) = self.cursor else { return Ok(Span { after, until, shown: None }) };
        let shown = u32::try_from(self.cursors.read(token)?).unwrap_or(u32::MAX);
        Ok(Span { after: shown, until, shown: Some(shown) })
    }

    /// The cursor of the page after this candle.
    pub(crate) fn next(&self, closes_at: u32) -> String {
        self.cursors.token(closes_at.into())
    }
}

/// Candles that are missing between two; none before the first.
pub(crate) fn missing_between(before: Option<u32>, closes_at: u32, step: u32) -> u32 {
    before.map_or(0, |before| (closes_at.saturating_sub(before) / step).saturating_sub(1))
}
