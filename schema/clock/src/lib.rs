//! The wall clock: the one place that asks the system for the time of day. It is a crate of its own so that the pure
//! crates cannot reach it; what they compute takes the time as an argument.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970. 0 if the system's clock stands before that.
#[must_use]
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

/// Seconds since 1970. 0 if the system's clock stands before that.
#[must_use]
pub fn now_secs() -> u64 {
    now_ms() / 1_000
}
