//! Feerates.

use cairn_model::Sats;

/// A feerate in thousandths of a satoshi per virtual byte, which is satoshis per 1 000 virtual bytes, rounded down.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FeeRate(pub u64);

impl FeeRate {
    /// The feerate of a fee over a virtual size; `None` if the size is 0.
    #[must_use]
    pub fn of(fee: Sats, vsize: u64) -> Option<Self> {
        let rate = u128::from(fee) * 1000 / u128::from((vsize > 0).then_some(vsize)?);
        u64::try_from(rate).ok().map(FeeRate)
    }
}

/// The percentiles of a block's feerates.
pub const PERCENTILES: [u64; 5] = [10, 25, 50, 75, 90];

/// Feerates below which 10, 25, 50, 75 and 90 % of the weight is, selected as in Bitcoin Core's `getblockstats`.
/// `None` without transactions. Sorts its argument.
#[must_use]
pub fn fee_percentiles(rates_and_weights: &mut [(FeeRate, u64)]) -> Option<[FeeRate; 5]> {
    rates_and_weights.sort_unstable();
    let total: u128 = rates_and_weights.iter().map(|(_, weight)| u128::from(*weight)).sum();
    let (last, _) = *rates_and_weights.last()?;
    Some(PERCENTILES.map(|percent| {
        let mut below = 0u128;
        let reached = rates_and_weights.iter().find(|(_, weight)| {
            below += u128::from(*weight);
            below * 100 >= total * u128::from(percent)
        });
        reached.map_or(last, |(rate, _)| *rate)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_round_down() {
        assert_eq!(FeeRate::of(141, 141), Some(FeeRate(1000)));
        assert_eq!(FeeRate::of(1000, 300), Some(FeeRate(3333)));
        assert_eq!(FeeRate::of(1, 0), None);
        assert_eq!(FeeRate::of(u64::MAX, 1), None);
    }

    #[test]
    fn percentiles_go_by_weight() {
        let mut even: Vec<_> = (1..=100).rev().map(|n| (FeeRate(n), 7)).collect();
        assert_eq!(fee_percentiles(&mut even), Some([10, 25, 50, 75, 90].map(FeeRate)));
        let mut heavy = vec![(FeeRate(9), 1), (FeeRate(1), 98), (FeeRate(5), 1)];
        assert_eq!(fee_percentiles(&mut heavy), Some([1, 1, 1, 1, 1].map(FeeRate)));
        assert_eq!(fee_percentiles(&mut [(FeeRate(3), 0)]), Some([3; 5].map(FeeRate)));
        assert_eq!(fee_percentiles(&mut []), None);
    }
}
