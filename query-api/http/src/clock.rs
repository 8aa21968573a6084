//! The time of requests.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970; 0 while the machine's clock is before it.
#[must_use]
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}
