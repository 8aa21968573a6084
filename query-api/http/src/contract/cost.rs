//! Cost classes of requests: the limits of a request of a class, and its price.

use std::time::Duration;

use cairn_work::{Limits, Used};

/// Processor time of one unit.
pub(crate) const UNIT: Duration = Duration::from_micros(1_000);
/// Bytes of an answer that cost one unit more.
const ANSWER_BYTES_PER_UNIT: u64 = 256 << 10;

/// Cost class of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    /// Reads no rows, or one or two.
    Light,
    /// Reads a bounded number of rows.
    Standard,
    /// Reads many rows, or asks the node.
    Heavy,
}

impl Cost {
    /// All classes.
    pub const ALL: [Cost; 3] = [Cost::Light, Cost::Standard, Cost::Heavy];

    /// Units of the client's rate limit that a request costs.
    #[must_use]
    pub const fn units(self) -> u32 {
        match self {
            Cost::Light => 1,
            Cost::Standard => 2,
            Cost::Heavy => 10,
        }
    }

    /// Limits of a request of the class within this time.
    #[must_use]
    pub const fn limits(self, time: Duration) -> Limits {
        let (processor_ms, rows, mib, answer_mib) = match self {
            Cost::Light => (100, 2_000, 8, 4),
            // An answer is held twice while it is written, and all that are on their way share 40 MiB.
            Cost::Standard => (500, 50_000, 128, 12),
            Cost::Heavy => (2_000, 500_000, 512, 16),
        };
        Limits {
            time,
            processor: Duration::from_millis(processor_ms),
            rows,
            bytes: mib << 20,
            answer: answer_mib << 20,
        }
    }

    /// Units for the processor time of a request, and the bytes of its answer beyond the first part. The units of its
    /// class are a deposit; the rest is charged at the end.
    #[must_use]
    pub fn units_of(used: &Used) -> u32 {
        let time = used.processor.as_micros().div_ceil(UNIT.as_micros());
        let units = u64::try_from(time).unwrap_or(u64::MAX).saturating_add(used.answer / ANSWER_BYTES_PER_UNIT);
        u32::try_from(units).unwrap_or(u32::MAX)
    }

    /// Name in descriptions and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Cost::Light => "light",
            Cost::Standard => "standard",
            Cost::Heavy => "heavy",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_what_was_used() {
        let used = |micros, answer| Used { processor: Duration::from_micros(micros), answer, ..Used::default() };
        assert_eq!(Cost::units_of(&used(0, 0)), 0);
        assert_eq!(Cost::units_of(&used(1, 0)), 1);
        assert_eq!(Cost::units_of(&used(1_000, 1_000)), 1);
        assert_eq!(Cost::units_of(&used(1_001, 256 << 10)), 3);
        assert_eq!(Cost::units_of(&used(2_000_000, 0)), 2_000);
        assert_eq!(Cost::units_of(&used(u64::MAX, u64::MAX)), u32::MAX);
    }

    #[test]
    fn a_dearer_class_may_use_more() {
        let [light, standard, heavy] = Cost::ALL.map(|cost| cost.limits(Duration::MAX));
        for (less, more) in [(light, standard), (standard, heavy)] {
            assert!(less.processor < more.processor && less.rows < more.rows);
            assert!(less.bytes < more.bytes && less.answer < more.answer);
        }
    }
}
