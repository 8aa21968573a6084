//! Bands of feerates: a band is a colour.

/// Lower ends of the bands in sat/vB, from the second one on.
const BANDS: [f64; 7] = [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 300.0];

/// The band of a feerate in sat/vB, from 0 to 7.
pub(crate) fn band(rate: f64) -> usize {
    BANDS.iter().filter(|&&from| rate >= from).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_begin_at_their_lower_end() {
        assert_eq!([0.0, 1.9, 2.0, 19.0, 1_000.0].map(band), [0, 0, 1, 3, 7]);
    }
}
