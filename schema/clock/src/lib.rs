//! The wall clock: the only place that reads the system time. It is a separate crate so that the pure crates cannot use
//! it; they take the time as an argument.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970; 0 if the system clock is earlier.
#[must_use]
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

/// Seconds since 1970; 0 if the system clock is earlier.
#[must_use]
pub fn now_secs() -> u64 {
    now_ms() / 1_000
}
