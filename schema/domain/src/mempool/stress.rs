//! Mempool stress: one number from backlog, feerate, inflow and entry fee. Shares are in millionths.
//!
//! stress = 0.35 b + 0.30 f + 0.20 g + 0.15 e, where
//!
//! * b = min(1, ln(1 + blocks of backlog) / ln 145),
//! * f = the share of the last 30 days with a lower median feerate of the next block,
//! * g = (inflow / 1 667 vB/s − 1) / 2 within 0 and 1,
//! * e = log10(mempoolminfee / minrelayfee) / 2 within 0 and 1.
//!
//! Unknown parts are left out, and the other weights grow in proportion.

use cairn_model::{DAY_SECS, MempoolSample, NodeFloor};

use super::{Inflow, Projection, Stats};
use crate::FeeRate;

/// Id of the definition of stress.
pub const MEMPOOL_STRESS: &str = "mempool-stress";

const WHOLE: u32 = 1_000_000;
/// Weights of b, f, g and e in per cent.
const WEIGHTS: [u64; 4] = [35, 30, 20, 15];
/// Virtual bytes per second that blocks of 1 000 000 virtual bytes every ten minutes take up.
const DRAIN_VB_PER_SECOND: u64 = 1_667;
/// ln(145): a day of blocks is full stress.
const LN_145: f64 = 4.976_733_742_420_574;

/// Settings of the feerate component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StressParams {
    /// Maximum age of samples in seconds.
    pub window_secs: u64,
    /// Minimum time that samples must cover for the component to be known, in seconds.
    pub min_history_secs: u64,
    /// Minimum number of samples.
    pub min_samples: usize,
}

impl Default for StressParams {
    fn default() -> Self {
        let day = u64::from(DAY_SECS);
        StressParams { window_secs: 30 * day, min_history_secs: 7 * day, min_samples: 168 }
    }
}

/// Inputs of stress; unknown ones are `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StressInput {
    /// Virtual bytes in the mempool, and virtual bytes of a block.
    pub backlog: Option<(u64, u64)>,
    /// Component f, from [`feerate_percentile`].
    pub feerate: Option<u32>,
    /// The inflow.
    pub inflow: Option<Inflow>,
    /// The node's limits.
    pub floor: Option<NodeFloor>,
}

/// Stress and its components, in millionths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stress {
    /// The score: a million is full stress. `None` if no component is known.
    pub score: Option<u32>,
    /// b, the backlog.
    pub backlog: Option<u32>,
    /// f, the feerate among those of 30 days.
    pub feerate: Option<u32>,
    /// g, the inflow.
    pub inflow: Option<u32>,
    /// e, the entry fee.
    pub entry: Option<u32>,
}

impl Stress {
    /// True if a component is unknown, so that the weights of the others were raised.
    #[must_use]
    pub fn is_renormalised(&self) -> bool {
        [self.backlog, self.feerate, self.inflow, self.entry].contains(&None)
    }
}

/// A share within 0 and 1 in millionths.
fn millionths(share: f64) -> u32 {
    // A cast of a float saturates, and NaN becomes 0.
    (share.clamp(0.0, 1.0) * f64::from(WHOLE)).round() as u32
}

/// Component f: the share of the samples of the last 30 days (as set) whose next block had a lower median feerate;
/// equal ones count half. `None` if the samples do not reach far enough back, or are too few.
#[must_use]
pub fn feerate_percentile(
    median: FeeRate,
    samples: &[MempoolSample],
    now_unix: u64,
    params: &StressParams,
) -> Option<u32> {
    let start = now_unix.saturating_sub(params.window_secs);
    let within = |sample: &&MempoolSample| (start..=now_unix).contains(&sample.time_unix);
    let (mut count, mut below, mut oldest) = (0u64, 0u64, now_unix);
    for sample in samples.iter().filter(within) {
        count += 1;
        oldest = oldest.min(sample.time_unix);
        // In halves.
        below += match sample.next_block_median.cmp(&median.0) {
            std::cmp::Ordering::Less => 2,
            std::cmp::Ordering::Equal => 1,
            std::cmp::Ordering::Greater => 0,
        };
    }
    if count == 0 || count < params.min_samples as u64 || now_unix - oldest < params.min_history_secs {
        return None;
    }
    u32::try_from(u128::from(below) * u128::from(WHOLE) / (2 * u128::from(count))).ok()
}

/// The stress of the mempool.
#[must_use]
pub fn stress(input: &StressInput) -> Stress {
    let backlog = input.backlog.map(|(waiting, capacity)| {
        let blocks = waiting as f64 / capacity.max(1) as f64;
        millionths(blocks.ln_1p() / LN_145)
    });
    let inflow = input.inflow.map(|inflow| {
        let (rate, drain) = (inflow.milli_vb_per_second(), DRAIN_VB_PER_SECOND * 1000);
        let share = u128::from(rate.saturating_sub(drain)) * u128::from(WHOLE) / (2 * u128::from(drain));
        u32::try_from(share).unwrap_or(WHOLE).min(WHOLE)
    });
    // Without a fee for relay there is nothing to compare with.
    let entry = input.floor.filter(|floor| floor.min_relay_fee > 0).map(|floor| {
        let ratio = floor.mempool_min_fee as f64 / floor.min_relay_fee as f64;
        millionths(ratio.max(1.0).log10() / 2.0)
    });
    let parts = [backlog, input.feerate.map(|share| share.min(WHOLE)), inflow, entry];
    let known = parts.iter().zip(WEIGHTS).filter_map(|(part, weight)| Some((u64::from((*part)?), weight)));
    let (sum, weights) = known.fold((0, 0), |(sum, all), (part, weight)| (sum + part * weight, all + weight));
    let score = (weights > 0).then(|| (sum + weights / 2) / weights).and_then(|score| u32::try_from(score).ok());
    Stress { score, backlog, feerate: parts[1], inflow, entry }
}

/// A sample for the journal, with its stress. `history` has the earlier samples.
#[must_use]
pub fn sample(
    projection: &Projection,
    stats: &Stats,
    history: &[MempoolSample],
    now_unix: u64,
    params: &StressParams,
) -> MempoolSample {
    let median = projection.next_block_median();
    let stress = stress(&StressInput {
        backlog: (!stats.loading).then(|| (projection.vsize, projection.template.capacity())),
        feerate: (!stats.loading).then(|| feerate_percentile(median, history, now_unix, params)).flatten(),
        inflow: stats.inflow,
        floor: stats.floor,
    });
    MempoolSample {
        time_unix: now_unix,
        height: stats.tip.map(|tip| tip.height),
        count: projection.count,
        vsize: projection.vsize,
        fees_sats: projection.fees_sats,
        next_block_median: median.0,
        inflow_milli_vb_s: stats.inflow.map(|inflow| inflow.milli_vb_per_second()),
        mempool_min_fee: stats.floor.map(|floor| floor.mempool_min_fee),
        min_relay_fee: stats.floor.map(|floor| floor.min_relay_fee),
        stress: stress.score,
        stress_backlog: stress.backlog,
        stress_feerate: stress.feerate,
        stress_inflow: stress.inflow,
        stress_entry: stress.entry,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floor(mempool_min_fee: u64, min_relay_fee: u64) -> NodeFloor {
        NodeFloor { mempool_min_fee, min_relay_fee, max_bytes: 300_000_000, usage_bytes: 0 }
    }

    #[test]
    fn components_follow_their_formulas() {
        let of = |input: StressInput| stress(&input);
        let backlog =
            |blocks: u64| of(StressInput { backlog: Some((blocks * 998_000, 998_000)), ..Default::default() });
        // ln 1, ln 2 and ln 145 over ln 145.
        assert_eq!([0, 1, 144, 1000].map(|n| backlog(n).backlog), [0, 139_278, 1_000_000, 1_000_000].map(Some));
        assert_eq!(backlog(1).score, Some(139_278), "alone, it has all the weight");
        let inflow = |vsize| of(StressInput { inflow: Some(Inflow { vsize, window_ms: 1000 }), ..Default::default() });
        assert_eq!([0, 1667, 3334, 5001, u64::MAX].map(|n| inflow(n).inflow), [0, 0, 500_000, WHOLE, WHOLE].map(Some));
        let entry = |min, relay| of(StressInput { floor: Some(floor(min, relay)), ..Default::default() }).entry;
        assert_eq!([entry(1000, 1000), entry(10_000, 1000), entry(100_000, 1000)], [0, 500_000, WHOLE].map(Some));
        assert_eq!([entry(0, 1000), entry(u64::MAX, 1), entry(5, 0)], [Some(0), Some(WHOLE), None]);
    }

    #[test]
    fn weights_are_renormalised_where_something_is_unknown() {
        let mut input = StressInput {
            backlog: Some((144 * 998_000, 998_000)),
            feerate: Some(500_000),
            inflow: Some(Inflow { vsize: 0, window_ms: 1000 }),
            floor: Some(floor(10_000, 1000)),
        };
        let all = stress(&input);
        assert_eq!((all.score, all.is_renormalised()), (Some(350_000 + 150_000 + 75_000), false));
        input.feerate = None;
        let three = stress(&input);
        assert_eq!((three.score, three.is_renormalised()), (Some(607_143), true));
        assert_eq!(stress(&StressInput::default()), Stress::default());
    }

    #[test]
    fn the_percentile_needs_history() {
        let (now, params) = (10_000_000, StressParams { min_samples: 4, ..StressParams::default() });
        let at = |age: u64, next_block_median| MempoolSample {
            time_unix: now - age,
            next_block_median,
            ..MempoolSample::default()
        };
        let day = 86_400;
        let mut samples = vec![at(31 * day, 9), at(8 * day, 1), at(2 * day, 3), at(day, 3)];
        let of = |samples: &[MempoolSample], median| feerate_percentile(FeeRate(median), samples, now, &params);
        assert_eq!(of(&samples, 3), None, "three are too few; the fourth is too old");
        samples.push(at(0, 7));
        assert_eq!(of(&samples, 3), Some(500_000));
        assert_eq!([of(&samples, 0), of(&samples, 8)], [Some(0), Some(WHOLE)]);
        samples[1].time_unix = now - 6 * day;
        assert_eq!(of(&samples, 3), None, "they do not reach back a week");
        assert_eq!(of(&[], 3), None);
    }
}
