//! Histogram of the mempool by feerate.

use crate::FeeRate;

/// Id of the definition of the fee histogram.
pub const FEE_DISTRIBUTION: &str = "fee-distribution";

/// Lower edges of the buckets, ascending; the last has no upper end.
pub const BUCKET_EDGES: [FeeRate; 38] = [
    FeeRate(0),
    FeeRate(100),
    FeeRate(200),
    FeeRate(300),
    FeeRate(500),
    FeeRate(700),
    FeeRate(1_000),
    FeeRate(1_500),
    FeeRate(2_000),
    FeeRate(3_000),
    FeeRate(4_000),
    FeeRate(5_000),
    FeeRate(6_000),
    FeeRate(7_000),
    FeeRate(8_000),
    FeeRate(10_000),
    FeeRate(12_000),
    FeeRate(15_000),
    FeeRate(20_000),
    FeeRate(25_000),
    FeeRate(30_000),
    FeeRate(40_000),
    FeeRate(50_000),
    FeeRate(60_000),
    FeeRate(80_000),
    FeeRate(100_000),
    FeeRate(125_000),
    FeeRate(150_000),
    FeeRate(200_000),
    FeeRate(250_000),
    FeeRate(300_000),
    FeeRate(400_000),
    FeeRate(500_000),
    FeeRate(600_000),
    FeeRate(800_000),
    FeeRate(1_000_000),
    FeeRate(1_500_000),
    FeeRate(2_000_000),
];

/// A range of feerates. A transaction counts at the feerate it would be mined at, that of its package.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// Lowest feerate in it.
    pub from: FeeRate,
    /// First feerate above it; `None` for the last bucket.
    pub to: Option<FeeRate>,
    /// Transactions.
    pub count: u64,
    /// Sum of their adjusted virtual sizes.
    pub vsize: u64,
    /// Transactions in this bucket and in those above.
    pub count_from_top: u64,
    /// Sum of the adjusted virtual sizes in this bucket and in those above.
    pub vsize_from_top: u64,
}

pub(super) fn bucket_of(rate: FeeRate) -> usize {
    // The first edge is 0, so at least one edge is at or below.
    BUCKET_EDGES.partition_point(|edge| *edge <= rate).saturating_sub(1)
}

/// All buckets including empty ones, ascending.
pub(super) fn histogram(rates_and_vsizes: impl Iterator<Item = (FeeRate, u64)>) -> Vec<Bucket> {
    let mut sums = [(0u64, 0u64); BUCKET_EDGES.len()];
    for (rate, vsize) in rates_and_vsizes {
        if let Some((count, sum)) = sums.get_mut(bucket_of(rate)) {
            *count += 1;
            *sum = sum.saturating_add(vsize);
        }
    }
    let (mut count_from_top, mut vsize_from_top) = (0u64, 0u64);
    let mut buckets = Vec::with_capacity(BUCKET_EDGES.len());
    for (at, (count, vsize)) in sums.into_iter().enumerate().rev() {
        count_from_top += count;
        vsize_from_top = vsize_from_top.saturating_add(vsize);
        let to = BUCKET_EDGES.get(at + 1).copied();
        buckets.push(Bucket { from: BUCKET_EDGES[at], to, count, vsize, count_from_top, vsize_from_top });
    }
    buckets.reverse();
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_ascend_and_belong_to_the_bucket_above() {
        assert!(BUCKET_EDGES.windows(2).all(|pair| pair[0] < pair[1]));
        for (at, edge) in BUCKET_EDGES.iter().enumerate() {
            assert_eq!(bucket_of(*edge), at);
            assert_eq!(bucket_of(FeeRate(edge.0.saturating_sub(1))), at.saturating_sub(1));
        }
        assert_eq!(bucket_of(FeeRate(u64::MAX)), BUCKET_EDGES.len() - 1);
    }

    #[test]
    fn sums_run_from_the_top() {
        let buckets = histogram([(FeeRate(999), 10), (FeeRate(1_000), 20), (FeeRate(9_000_000), 5)].into_iter());
        assert_eq!((buckets[6].count, buckets[6].vsize), (1, 20));
        assert_eq!((buckets[6].count_from_top, buckets[6].vsize_from_top), (2, 25));
        assert_eq!((buckets[5].count, buckets[5].vsize_from_top), (1, 35));
        assert_eq!((buckets[0].count_from_top, buckets[0].to), (3, Some(FeeRate(100))));
        assert_eq!(buckets[37].to, None);
    }
}
