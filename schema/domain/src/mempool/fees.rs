//! Recommended fees.
//!
//! `minimum` is the higher of the node's entry feerate and the miners' minimum. The others aim at a projected block:
//! `fastest` at the first, `half_hour` at the third, `hour` at the sixth, `economy` at the eighth. The feerate of a
//! block that is at least 95 % full is its median; of one that is at most half full, or does not exist, the minimum; in
//! between it rises evenly from one to the other. None is below the minimum, and none above a faster one.

use cairn_model::NodeFloor;

use super::{ProjectedBlock, Projection};
use crate::FeeRate;

/// Id of the definition of recommended fees.
pub const RECOMMENDED_FEES: &str = "recommended-fees";

/// Up to this share of its capacity (in per mille), a block has room for transactions that pay the minimum.
const ROOMY: u64 = 500;
/// From this share on, a block counts as full.
const FULL: u64 = 950;

/// Recommended feerates, from fastest to cheapest; never rising.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecommendedFees {
    /// For the next block.
    pub fastest: FeeRate,
    /// For one of the next three.
    pub half_hour: FeeRate,
    /// For one of the next six.
    pub hour: FeeRate,
    /// For one of the next eight.
    pub economy: FeeRate,
    /// To enter the mempool.
    pub minimum: FeeRate,
}

/// Feerate for confirmation in a block.
fn target(projection: &Projection, block: Option<&ProjectedBlock>, minimum: FeeRate) -> FeeRate {
    let Some(block) = block else { return minimum };
    let median = block.rates.median();
    let capacity = projection.template.capacity().saturating_mul(4);
    let fill = block.weight.min(capacity).saturating_mul(1000) / capacity;
    let share = fill.clamp(ROOMY, FULL) - ROOMY;
    let rise = u128::from(median.0.saturating_sub(minimum.0)) * u128::from(share) / u128::from(FULL - ROOMY);
    FeeRate(minimum.0.saturating_add(u64::try_from(rise).unwrap_or(u64::MAX)))
}

/// The recommended fees. `None` while the node's minimum is unknown: without it, a recommendation might be too low to
/// be relayed.
#[must_use]
pub fn recommended_fees(projection: &Projection, floor: Option<&NodeFloor>) -> Option<RecommendedFees> {
    let minimum = FeeRate(floor?.entry_fee()).max(projection.template.min_rate);
    let aim = |index: usize| target(projection, projection.blocks.get(index), minimum);
    let fastest = aim(0);
    let half_hour = aim(2).min(fastest);
    let hour = aim(5).min(half_hour);
    let economy = aim(7).min(hour);
    Some(RecommendedFees { fastest, half_hour, hour, economy, minimum })
}
