//! Block rate, hash rate, difficulty adjustment and halving. Pure functions of times, heights and work.

use bitcoin::{CompactTarget, Target};
use cairn_domain::difficulty;
use cairn_model::{Height, Network, Sats};

use crate::mempool::BLOCK_SECONDS;

pub(super) const PERIOD: u32 = 2016;
/// Blocks of the current period needed for an estimate: about a day.
pub(super) const LEAST_OF_PERIOD: u32 = 144;
const PERIOD_SECONDS: u64 = PERIOD as u64 * BLOCK_SECONDS as u64;

/// Expected number of hashes for a block with this compact target. `None` for an invalid target.
pub(super) fn work(bits: u32) -> Option<u128> {
    difficulty(bits)?;
    let work = Target::from_compact(CompactTarget::from_consensus(bits)).to_work().to_be_bytes();
    let (high, low) = work.split_at(16);
    // No chain has more than 2^128 hashes.
    let fits = high.iter().all(|byte| *byte == 0);
    low.try_into().ok().filter(|_| fits).map(u128::from_be_bytes).filter(|work| *work > 0)
}

/// Billionths of hashes per second, to eight significant digits; `None` without work or elapsed time.
pub(super) fn hashrate(work: u128, seconds: u32) -> Option<u128> {
    let rate = work.checked_mul(1_000_000_000)?.checked_div(seconds.into())?;
    let unit = 10u128.checked_pow(rate.checked_ilog10()?.saturating_sub(7))?;
    Some(rate / unit * unit)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Adjustment {
    /// Height of the first block of the new difficulty.
    pub(super) height: Height,
    /// Blocks until then, including that block.
    pub(super) blocks_left: u32,
    /// Progress of the period in millionths.
    pub(super) progress: u32,
    /// Expected change in ten-thousandths; `None` while too few blocks of the period are known.
    pub(super) change: Option<i64>,
    /// Estimated time in seconds since 1970, at the pace of this period.
    pub(super) time: u64,
}

/// The data of a tip that adjustment and halving depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct TipTimes {
    pub(super) height: Height,
    /// Header time, which the difficulty rule uses.
    pub(super) time: u32,
    pub(super) mono_time: u32,
}

/// Height of the first block of the period of a block.
pub(super) fn period_start(height: Height) -> Height {
    height - height % PERIOD
}

/// The next difficulty adjustment. `start_time` is the header time of the period's first block.
pub(super) fn adjustment(tip: TipTimes, start_time: u32) -> Adjustment {
    let passed = tip.height % PERIOD;
    let blocks_left = PERIOD - passed;
    // Seconds that these blocks took. Header times may repeat or go backwards.
    let took = u64::from(tip.time.saturating_sub(start_time));
    let known = passed >= LEAST_OF_PERIOD;
    // The rule measures from the first to the last block of the period: one interval fewer than blocks.
    let change = known.then(|| {
        let span = (took * u64::from(PERIOD - 1) / u64::from(passed)).clamp(PERIOD_SECONDS / 4, PERIOD_SECONDS * 4);
        // At most 4 times 10 000.
        i64::try_from(PERIOD_SECONDS * 10_000 / span).unwrap_or(i64::MAX) - 10_000
    });
    let wait = match known {
        true => u64::from(blocks_left) * took / u64::from(passed),
        false => u64::from(blocks_left) * u64::from(BLOCK_SECONDS),
    };
    Adjustment {
        height: tip.height.saturating_add(blocks_left),
        blocks_left,
        progress: u32::try_from(u64::from(passed) * 1_000_000 / u64::from(PERIOD)).unwrap_or(0),
        change,
        time: u64::from(tip.mono_time) + wait,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Halving {
    /// Height of the first block with the lower subsidy.
    pub(super) height: Height,
    /// Blocks until then, including that block.
    pub(super) blocks_left: u32,
    pub(super) subsidy: Sats,
    pub(super) next_subsidy: Sats,
    /// Estimated time in seconds since 1970, at ten minutes per block.
    pub(super) time: u64,
}

/// The next halving; `None` once there is no subsidy left.
pub(super) fn halving(network: Network, tip: TipTimes) -> Option<Halving> {
    let subsidy = network.subsidy_sats(tip.height);
    let interval = network.halving_interval();
    let height = (tip.height / interval).checked_add(1)?.checked_mul(interval).filter(|_| subsidy > 0)?;
    let blocks_left = height - tip.height;
    let wait = u64::from(blocks_left) * u64::from(BLOCK_SECONDS);
    let next_subsidy = network.subsidy_sats(height);
    Some(Halving { height, blocks_left, subsidy, next_subsidy, time: u64::from(tip.mono_time) + wait })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_known_targets() {
        // Genesis of mainnet and of regtest, and block 800 000 of mainnet.
        assert_eq!(work(0x1d00_ffff), Some(0x1_0001_0001));
        assert_eq!(work(0x207f_ffff), Some(2));
        let near = 53_911_173_001_054.59 * 4_294_967_296.0;
        let found = work(0x1705_3894).unwrap() as f64;
        assert!((found / near - 1.0).abs() < 1e-4, "{found}");
        for none in [0, 0x1d00_0000, 0x0100_0000, 0x0200_0001] {
            assert_eq!(work(none), None, "{none:08x}");
        }
    }

    #[test]
    fn hashrates_have_eight_digits() {
        assert_eq!(hashrate(600, 600), Some(1_000_000_000));
        assert_eq!(hashrate(2, 3_000), Some(666_666));
        assert_eq!(hashrate(2, 3), Some(666_666_660));
        assert_eq!(hashrate(123_456_789_123, 1), Some(123_456_780_000_000_000_000));
        // Two weeks at ten times the hash rate of 2025.
        let two_weeks = 10u128.pow(22) * 1_209_600;
        assert_eq!(hashrate(two_weeks, 1_209_600), Some(10u128.pow(31)));
        assert_eq!([hashrate(5, 0), hashrate(0, 5), hashrate(u128::MAX, 1)], [None; 3]);
    }

    fn tip(height: u32, time: u32) -> TipTimes {
        TipTimes { height, time, mono_time: time }
    }

    #[test]
    fn a_period_at_its_pace_changes_almost_nothing() {
        // 1 008 intervals of ten minutes: half of a period, and 2 015 of them for the whole one.
        let half = adjustment(tip(1008, 1_000_000_000 + 1008 * 600), 1_000_000_000);
        assert_eq!((half.height, half.blocks_left, half.progress), (2016, 1008, 500_000));
        assert_eq!(half.change, Some(4), "2016 / 2015 - 1");
        assert_eq!(half.time, 1_000_000_000 + 2016 * 600);
        let fast = adjustment(tip(2016 + 1008, 1_000_000_000 + 1008 * 300), 1_000_000_000);
        assert_eq!((fast.height, fast.change), (4032, Some(10_009)));
    }

    #[test]
    fn changes_are_limited_and_need_blocks() {
        let after = |blocks: u32, seconds: u32| adjustment(tip(blocks, 1_000_000_000 + seconds), 1_000_000_000);
        assert_eq!(after(2015, 0).change, Some(30_000), "at most four times as hard");
        assert_eq!(after(2015, 1_000_000_000).change, Some(-7_500), "at most four times as easy");
        assert_eq!((after(143, 60).change, after(144, 60).change), (None, Some(30_000)));
        assert_eq!(after(0, 0).progress, 0);
        assert_eq!(after(2015, 9).blocks_left, 1);
        assert_eq!(adjustment(tip(500, 5), 9).change, Some(30_000), "a time before the start counts as none");
        let last = adjustment(tip(u32::MAX, u32::MAX), 0);
        assert_eq!(last.height, u32::MAX);
    }

    #[test]
    fn halvings_of_the_networks() {
        let of = |network, height| halving(network, tip(height, 0)).map(|h| (h.height, h.blocks_left, h.subsidy));
        assert_eq!(of(Network::Main, 209_999), Some((210_000, 1, 5_000_000_000)));
        assert_eq!(of(Network::Main, 210_000), Some((420_000, 210_000, 2_500_000_000)));
        assert_eq!(of(Network::Regtest, 0), Some((150, 150, 5_000_000_000)));
        assert_eq!(of(Network::Regtest, 150), Some((300, 150, 2_500_000_000)));
        assert_eq!(of(Network::Regtest, 150 * 33), None);
        assert_eq!(of(Network::Main, u32::MAX), None);
        let next = halving(Network::Regtest, tip(149, 1_000)).unwrap();
        assert_eq!((next.time, next.next_subsidy), (1_600, 2_500_000_000));
    }
}
