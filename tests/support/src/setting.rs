//! Settings of tests and benches.

use std::env;

/// Returns the number in an environment variable; `default` without one.
pub fn setting(name: &str, default: u64) -> u64 {
    env::var(name).ok().map_or(default, |text| text.parse().expect(name))
}
