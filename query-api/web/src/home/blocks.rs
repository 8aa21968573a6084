//! Projected and newest blocks.

use serde::Deserialize;
use serde_json::Number;

use crate::feerate;

/// Weight of a full block.
const FULL: u64 = 4_000_000;
/// Height of the drawing of a block in units of its own.
const TALL: u64 = 100;

#[derive(Deserialize)]
pub(super) struct Projection {
    pub(super) blocks: Vec<Projected>,
    pub(super) left_over: Option<LeftOver>,
}

#[derive(Deserialize)]
pub(super) struct Projected {
    pub(super) index: u64,
    pub(super) height: Option<u64>,
    pub(super) tx_count: u64,
    pub(super) weight: u64,
    pub(super) fees_sats: i64,
    pub(super) fee_range: Option<Range>,
}

#[derive(Deserialize)]
pub(super) struct LeftOver {
    pub(super) tx_count: u64,
    pub(super) vsize: u64,
}

#[derive(Deserialize)]
pub(super) struct Range {
    pub(super) min_sat_vb: Number,
    pub(super) median_sat_vb: Number,
    pub(super) max_sat_vb: Number,
}

#[derive(Deserialize)]
pub(super) struct Recent {
    pub(super) blocks: Vec<Block>,
}

#[derive(Deserialize)]
pub(super) struct Block {
    pub(super) height: u64,
    pub(super) time: String,
    pub(super) tx_count: u64,
    pub(super) weight: Option<u64>,
    pub(super) fees_sats: Option<i64>,
    pub(super) fee_range: Option<Range>,
    pub(super) pool: Option<Pool>,
    pub(super) pool_reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Pool {
    pub(super) name: String,
    pub(super) slug: String,
}

/// How high a block of this weight is filled, of [`TALL`].
fn filled(weight: u64) -> u64 {
    (weight.min(FULL) * TALL).div_ceil(FULL)
}

/// The band of the median feerate, from 0 to 7.
fn band(range: Option<&Range>) -> usize {
    feerate::band(range.and_then(|range| range.median_sat_vb.as_f64()).unwrap_or_default())
}

impl Projected {
    pub(super) fn filled(&self) -> u64 {
        filled(self.weight)
    }

    pub(super) fn band(&self) -> usize {
        band(self.fee_range.as_ref())
    }

    /// How full it is, in percent.
    pub(super) fn percent(&self) -> u64 {
        self.weight.min(FULL) * 100 / FULL
    }
}

impl Block {
    pub(super) fn filled(&self) -> u64 {
        filled(self.weight.unwrap_or_default())
    }

    pub(super) fn band(&self) -> usize {
        band(self.fee_range.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_filled_by_weight_and_coloured_by_feerate() {
        assert_eq!([0, 1, 2_000_000, 4_000_000, u64::MAX].map(filled), [0, 1, 50, 100, 100]);
        let of = |median: f64| {
            let number = || Number::from_f64(median).unwrap();
            band(Some(&Range { min_sat_vb: number(), median_sat_vb: number(), max_sat_vb: number() }))
        };
        assert_eq!([0.0, 1.9, 2.0, 19.0, 1_000.0].map(of), [0, 0, 1, 3, 7]);
        assert_eq!(band(None), 0);
    }
}
