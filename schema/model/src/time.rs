//! Time has one rule: days, years, ages and `since` use the monotone block time, the running maximum of header
//! times along the chain.

/// Monotone block time in seconds since 1970 (UTC): the running maximum of header times. It never runs backwards.
pub type MonoTime = u32;

/// Seconds of a day.
pub const DAY_SECS: u32 = 86_400;

/// Days since 1970-01-01 (UTC) of a time in seconds.
#[must_use]
pub fn day_of(time: u32) -> u32 {
    time / DAY_SECS
}

/// The last second of a day since 1970-01-01 (UTC); `u32::MAX` if it is later.
#[must_use]
pub fn last_second(day: u32) -> u32 {
    day.saturating_mul(DAY_SECS).saturating_add(DAY_SECS - 1)
}
