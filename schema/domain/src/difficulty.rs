//! Difficulty of a compact target.

/// The difficulty of a compact target relative to the easiest mainnet target, as Bitcoin Core computes it. `None` for a
/// target of zero, which no block has.
#[must_use]
pub fn difficulty(bits: u32) -> Option<f64> {
    let mantissa = bits & 0x00ff_ffff;
    if mantissa == 0 {
        return None;
    }
    let mut value = f64::from(0x0000_ffff_u32) / f64::from(mantissa);
    // One byte at a time, for the same rounding as in Core.
    let exponent = (bits >> 24) as i32;
    for _ in exponent..29 {
        value *= 256.0;
    }
    for _ in 29..exponent {
        value /= 256.0;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_difficulties() {
        assert_eq!(difficulty(0x1d00_ffff), Some(1.0));
        // Examples of Bitcoin Core's own tests and of the chain.
        let near = |bits, expected: f64| {
            let found = difficulty(bits).unwrap_or_default();
            assert!((found - expected).abs() <= expected * 1e-9, "{bits:08x}: {found}");
        };
        near(0x1b04_04cb, 16_307.420_938_523_98);
        near(0x1d00_d86a, 1.182_899_534_312_841_2);
        near(0x1a44_b9f2, 244_112.487_774_34);
        near(0x207f_ffff, 4.656_542_373_906_925e-10);
        assert_eq!(difficulty(0x1d00_0000), None);
        assert!(difficulty(0xffff_ffff).is_some());
        assert!(difficulty(1).is_some());
    }
}
