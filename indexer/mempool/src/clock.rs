//! Time, as reported by the owner.

/// The owner's clock, and a monotone count of elapsed milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    /// Milliseconds since 1970.
    pub(crate) wall: u64,
    /// Elapsed milliseconds, counted only while the clock goes forward. Waiting times use them.
    pub(crate) passed: u64,
}

impl Clock {
    pub(crate) fn set(&mut self, now_ms: u64) {
        if self.wall > 0 {
            self.passed = self.passed.saturating_add(now_ms.saturating_sub(self.wall));
        }
        self.wall = now_ms;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_stops_no_timer() {
        let mut clock = Clock::default();
        for (wall, passed) in [(1_000, 0), (1_500, 500), (100, 500), (160, 560), (160, 560)] {
            clock.set(wall);
            assert_eq!((clock.wall, clock.passed), (wall, passed));
        }
    }
}
