//! Time as the owner tells it.

/// What the owner's clock shows, and a count of milliseconds that never goes back with it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    /// Milliseconds since 1970.
    pub(crate) wall: u64,
    /// Milliseconds that passed while the clock went forward. Waiting times are measured in these.
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
