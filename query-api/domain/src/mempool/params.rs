//! Settings with their defaults.

use crate::FeeRate;

/// Id of the definition of the congestion word.
pub const MEMPOOL_CONGESTION: &str = "mempool-congestion";

/// How much the mempool may remember.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of memory that the transactions and their indexes may take, as estimated. Above that the worst paying
    /// ones are dropped, down to 95 % of it.
    pub max_bytes: u64,
    /// How many transactions that left are remembered.
    pub max_departed: usize,
    /// Over how long the inflow is averaged, in milliseconds; rounded up to 10 seconds.
    pub inflow_window_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { max_bytes: 1 << 30, max_departed: 50_000, inflow_window_ms: 600_000 }
    }
}

/// The rules that a block is filled by, as Bitcoin Core's miner has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Template {
    /// How many blocks to project; at most 254.
    pub max_blocks: u8,
    /// Weight limit of a block (`-blockmaxweight`).
    pub max_weight: u64,
    /// Weight kept for header and coinbase (`-blockreservedweight`).
    pub reserved_weight: u64,
    /// Limit of the cost of signature operations.
    pub max_sigops: u64,
    /// Cost kept for the coinbase.
    pub reserved_sigops: u64,
    /// Packages that pay less stay out (`-blockmintxfee`). The default is that of Bitcoin Core v30; before it was
    /// 1 000.
    pub min_rate: FeeRate,
}

impl Default for Template {
    fn default() -> Self {
        Template {
            max_blocks: 8,
            max_weight: 4_000_000,
            reserved_weight: 8_000,
            max_sigops: 80_000,
            reserved_sigops: 400,
            min_rate: FeeRate(1),
        }
    }
}

impl Template {
    /// Virtual bytes that a block offers to transactions; at least 1.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        (self.max_weight.saturating_sub(self.reserved_weight) / 4).max(1)
    }
}

/// How full the mempool is, in a word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Congestion {
    /// Everything fits in the next block.
    Low,
    /// A few blocks.
    Moderate,
    /// Up to as many blocks as are projected.
    High,
    /// More.
    Severe,
}

impl Congestion {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Congestion::Low => "low",
            Congestion::Moderate => "moderate",
            Congestion::High => "high",
            Congestion::Severe => "severe",
        }
    }
}

/// From how many full blocks of backlog each word holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CongestionThresholds {
    /// More blocks than this: `moderate`.
    pub moderate: u64,
    /// More blocks than this: `high`.
    pub high: u64,
    /// More blocks than this: `severe`.
    pub severe: u64,
}

impl Default for CongestionThresholds {
    fn default() -> Self {
        CongestionThresholds { moderate: 1, high: 3, severe: 8 }
    }
}

impl CongestionThresholds {
    /// The word for a backlog in virtual bytes.
    #[must_use]
    pub fn word(&self, vsize: u64, template: &Template) -> Congestion {
        let above = |blocks: u64| vsize > template.capacity().saturating_mul(blocks);
        match (above(self.moderate), above(self.high), above(self.severe)) {
            (_, _, true) => Congestion::Severe,
            (_, true, _) => Congestion::High,
            (true, ..) => Congestion::Moderate,
            _ => Congestion::Low,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_change_just_above_their_threshold() {
        let (thresholds, template) = (CongestionThresholds::default(), Template::default());
        assert_eq!(template.capacity(), 998_000);
        let word = |vsize| thresholds.word(vsize, &template).as_str();
        assert_eq!([word(0), word(998_000), word(998_001)], ["low", "low", "moderate"]);
        assert_eq!([word(3 * 998_000), word(3 * 998_000 + 1)], ["moderate", "high"]);
        assert_eq!([word(8 * 998_000), word(8 * 998_000 + 1), word(u64::MAX)], ["high", "severe", "severe"]);
    }
}
