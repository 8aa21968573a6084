//! Growing pauses between tries.

use std::time::Duration;

/// The first pause; it doubles.
const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(4);

/// The pause before the next try.
pub(crate) struct Pauses(Duration);

impl Default for Pauses {
    fn default() -> Self {
        Pauses(FIRST)
    }
}

impl Pauses {
    /// A try failed: how long to wait before the next.
    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(LONGEST);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_four_seconds() {
        let mut pauses = Pauses::default();
        let millis: Vec<u128> = (0..7).map(|_| pauses.next().as_millis()).collect();
        assert_eq!(millis, [250, 500, 1_000, 2_000, 4_000, 4_000, 4_000]);
    }
}
