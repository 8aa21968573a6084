//! Time has one rule: days, years, ages and `since` use the monotone block time, the running maximum of header
//! times along the chain.

/// Monotone block time in seconds since 1970 (UTC): the running maximum of header times. It never runs backwards.
pub type MonoTime = u32;

/// Days since 1970-01-01 (UTC) of a time in seconds.
#[must_use]
pub fn day_of(time: u32) -> u32 {
    time / 86_400
}
