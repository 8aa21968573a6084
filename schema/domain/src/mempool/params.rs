//! Settings with their defaults.

use crate::FeeRate;

/// Id of the definition of the congestion word.
pub const MEMPOOL_CONGESTION: &str = "mempool-congestion";

/// Limits of the mempool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MempoolLimits {
    /// Maximum estimated memory of the transactions and their indexes in bytes. Above it, those with the lowest
    /// feerates are dropped, down to 95 % of it.
    pub max_bytes: u64,
    /// Maximum number of stored transactions that left.
    pub max_departed: usize,
    /// Window of the average inflow in milliseconds; rounded up to 10 seconds.
    pub inflow_window_ms: u64,
}

impl MempoolLimits {
    /// Limits for `memory` bytes: 7/16 of them are for the transactions and their indexes. The rest is for versions
    /// that requests still hold, for the projection, for transactions that left, and for the source of the
    /// transactions. That source's own limit is half of the bytes, so this one is reached first.
    #[must_use]
    pub fn within(memory: u64) -> Self {
        /// Estimated memory of a transaction that left, with a margin.
        const DEPARTED: u64 = 320;
        let default = MempoolLimits::default();
        MempoolLimits {
            max_bytes: default.max_bytes.min(memory / 16 * 7),
            max_departed: default.max_departed.min(usize::try_from(memory / 32 / DEPARTED).unwrap_or(usize::MAX)),
            ..default
        }
    }
}

impl Default for MempoolLimits {
    fn default() -> Self {
        MempoolLimits { max_bytes: 1 << 30, max_departed: 50_000, inflow_window_ms: 600_000 }
    }
}

/// How a miner selects transactions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Selection {
    /// Transactions together with their ancestors, by the feerate of that package: Bitcoin Core up to v30.
    AncestorFeerate,
    /// Chunks of linearized clusters, by the feerate of the chunk: Bitcoin Core from v31 on.
    ChunkFeerate,
}

/// The rules for filling a block, as in Bitcoin Core's miner. Each number is the default of the named option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Template {
    /// How packages are selected.
    pub selection: Selection,
    /// Number of blocks to project; at most 254.
    pub max_blocks: u8,
    /// Weight limit of a block (`-blockmaxweight`): 4 000 000 from v29 on. Before, it was 3 996 000 with 4 000 of it
    /// reserved a second time, which leaves transactions the same 3 992 000.
    pub max_weight: u64,
    /// Weight reserved for header, transaction count and coinbase: 8 000 (`-blockreservedweight`, an option since v29).
    pub reserved_weight: u64,
    /// Limit of the cost of signature operations: 80 000, a consensus rule.
    pub max_sigops: u64,
    /// Cost reserved for the coinbase: 400 in every version.
    pub reserved_sigops: u64,
    /// Minimum feerate of packages (`-blockmintxfee`): 1 satoshi per 1 000 virtual bytes since v30, v29.1 and v28.3;
    /// before, 1 000. Since v30, `getmininginfo` reports the node's value.
    pub min_rate: FeeRate,
}

/// The first version that selects chunks, in the form of `getnetworkinfo`.
const FIRST_WITH_CHUNKS: u32 = 310_000;
/// The first version whose miner accepts almost any feerate.
const FIRST_CHEAP: u32 = 300_000;
/// Ranges of older versions with the same default: from the first number up to the second.
const CHEAP_TOO: [(u32, u32); 2] = [(280_300, 289_900), (290_100, 299_900)];
/// `-blockmintxfee` before, in satoshis per 1 000 virtual bytes.
const OLD_MIN_RATE: FeeRate = FeeRate(1_000);

impl Default for Template {
    /// The rules of Bitcoin Core v31.
    fn default() -> Self {
        Template {
            selection: Selection::ChunkFeerate,
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
    /// The rules that a node of this version has by default; `version` as in `getnetworkinfo`, so 280 300 is v28.3.
    #[must_use]
    pub fn of_node(version: u32) -> Self {
        let cheap = version >= FIRST_CHEAP || CHEAP_TOO.iter().any(|(from, to)| (*from..*to).contains(&version));
        let chunks = version >= FIRST_WITH_CHUNKS;
        Template {
            selection: if chunks { Selection::ChunkFeerate } else { Selection::AncestorFeerate },
            min_rate: if cheap { FeeRate(1) } else { OLD_MIN_RATE },
            ..Template::default()
        }
    }
}

impl Template {
    /// Virtual bytes of a block for transactions; at least 1.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        (self.max_weight.saturating_sub(self.reserved_weight) / 4).max(1)
    }
}

cairn_model::words! {
    /// Congestion of the mempool as a word.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum Congestion {
        /// Everything fits in the next block.
        Low = "low",
        /// A few blocks.
        Moderate = "moderate",
        /// Up to as many blocks as are projected.
        High = "high",
        /// More.
        Severe = "severe",
    }
    /// The word.
    pub fn as_str;
}

/// Backlog in full blocks at which each word begins.
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
    fn rules_follow_the_version() {
        let of = |version| (Template::of_node(version).selection, Template::of_node(version).min_rate.0);
        for old in [250_000, 279_900, 280_200, 290_000] {
            assert_eq!(of(old), (Selection::AncestorFeerate, 1_000), "{old}");
        }
        for cheap in [280_300, 280_400, 290_100, 290_200, 300_000, 300_200] {
            assert_eq!(of(cheap), (Selection::AncestorFeerate, 1), "{cheap}");
        }
        for version in [310_000, 319_900, 320_000] {
            assert_eq!(Template::of_node(version), Template::default());
        }
    }

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
