//! Spans of days. Sums by day are kept by day, by 16 days, by 256 and by 4,096, so that a sum over all days up to any
//! one is a sum over at most 57 rows.

use crate::codec::{DecodeError, Input, KeyCodec};

/// Days of each level's periods are this many times those of the level below, as a power of two.
const BITS: u32 = 4;
/// Levels: 1, 16, 256 and 4,096 days.
const LEVELS: u8 = 4;

/// A number of days, beginning at a multiple of that number. Days are counted from 1970-01-01 (UTC), by monotone block
/// time.
///
/// ```text
/// level (1) ‖ number (2)
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Period {
    level: u8,
    number: u16,
}

impl Period {
    /// The period of one day.
    #[must_use]
    pub fn day(day: u32) -> Self {
        Self::of(0, day)
    }

    fn of(level: u8, day: u32) -> Self {
        // A time of 32 bits has fewer than 2^16 days.
        Period { level, number: (day >> (BITS * u32::from(level))).min(u16::MAX.into()) as u16 }
    }

    /// The periods that contain a day, one of each level.
    #[must_use]
    pub fn all_of(day: u32) -> [Self; LEVELS as usize] {
        [0, 1, 2, 3].map(|level| Self::of(level, day))
    }

    /// Periods that together have each day up to `day`, itself included, once; in the order of days, which is not that
    /// of keys.
    #[must_use]
    pub fn up_to(day: u32) -> Vec<Self> {
        let (mut from, end) = (0u32, day.min(u16::MAX.into()) + 1);
        let mut periods = Vec::new();
        for level in (0..LEVELS).rev() {
            let days = 1 << (BITS * u32::from(level));
            while end - from >= days {
                periods.push(Self::of(level, from));
                from += days;
            }
        }
        periods
    }

    /// Its first day, counted from 1970-01-01.
    #[must_use]
    pub fn first_day(self) -> u32 {
        u32::from(self.number) << (BITS * u32::from(self.level))
    }

    /// Its number of days, a power of two.
    #[must_use]
    pub fn days(self) -> u32 {
        1 << (BITS * u32::from(self.level))
    }
}

impl KeyCodec for Period {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.level);
        out.extend_from_slice(&self.number.to_be_bytes());
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let (level, number) = (b.byte()?, u16::from_be_bytes(b.array()?));
        // Above the last day there is none.
        let last = u16::MAX.checked_shr(BITS * u32::from(level)).unwrap_or(0);
        if level >= LEVELS || number > last {
            return Err(b.error("period"));
        }
        Ok(Period { level, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_up_to_a_day_have_each_day_once() {
        for day in [0, 1, 15, 16, 17, 255, 256, 4_095, 4_096, 14_245, 20_000, 20_479, 49_710, 65_535] {
            let periods = Period::up_to(day);
            let mut next = 0;
            for period in &periods {
                assert_eq!(period.first_day(), next, "{day}");
                assert!(Period::all_of(next).contains(period));
                next += period.days();
            }
            assert_eq!(next, day + 1);
            assert!(periods.len() <= 57 || day > 49_710, "{day}: {}", periods.len());
        }
    }
}
