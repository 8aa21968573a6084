//! When a price or a rate is too old to be called current. The thresholds are ours.

use cairn_events::Interval;
use cairn_model::DAY_SECS;

/// Seconds for which a price counts as fresh at least, a live one exactly.
pub const FRESH_AT_LEAST: u32 = 600;
/// Seconds for which a reference rate counts as fresh: no rates are published on weekends and holidays, and the longest
/// such pause, Easter, leaves five days between two.
pub const RATE_FRESH: u32 = 5 * DAY_SECS;
/// Seconds after which a reference rate converts nothing any more.
pub const RATE_OLDEST: u32 = 30 * DAY_SECS;

/// Age in seconds beyond which a price is stale: twice the interval of its candle, ten minutes at least; for a live
/// quote (`None`) ten minutes.
#[must_use]
pub fn stale_after(interval: Option<Interval>) -> u32 {
    interval.map_or(FRESH_AT_LEAST, |interval| (2 * interval.seconds()).max(FRESH_AT_LEAST))
}

/// True if a price as of then is stale at `time`.
#[must_use]
pub fn is_stale(as_of: u32, interval: Option<Interval>, time: u32) -> bool {
    time.saturating_sub(as_of) > stale_after(interval)
}
