//! Integers of 256 bits, for products that a `u128` does not hold. Neither bitcoin's crates nor the standard library
//! divide such numbers.

/// An integer of 256 bits without a sign.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct U256 {
    // Compared first.
    high: u128,
    low: u128,
}

impl From<u128> for U256 {
    fn from(low: u128) -> Self {
        U256 { high: 0, low }
    }
}

impl U256 {
    /// `self × by + more`; `None` beyond 256 bits.
    pub(crate) fn times_plus(self, by: u128, more: u128) -> Option<Self> {
        let (low, carry) = self.low.carrying_mul(by, more);
        let (high, over) = self.high.carrying_mul(by, carry);
        (over == 0).then_some(U256 { high, low })
    }

    /// Quotient and rest. `None` if the quotient has more than 128 bits, or the divisor is zero.
    pub(crate) fn divide(self, divisor: U256) -> Option<(u128, U256)> {
        let mut rest = U256::from(self.high);
        if rest >= divisor {
            return None;
        }
        // The rest stays below the divisor while these bits are shifted in: each makes a zero of the quotient.
        let zeros = (rest.leading_zeros() - divisor.leading_zeros()).saturating_sub(1).min(127);
        if zeros > 0 {
            rest = rest.shifted(zeros, self.low >> (128 - zeros));
        }
        let mut quotient = 0u128;
        for bit in (0..128 - zeros).rev() {
            let is_longer = rest.high >> 127 == 1;
            rest = rest.shifted(1, self.low >> bit & 1);
            quotient <<= 1;
            if is_longer || rest >= divisor {
                rest = rest.wrapping_sub(divisor);
                quotient |= 1;
            }
        }
        Some((quotient, rest))
    }

    /// The lower 128 bits.
    pub(crate) fn low(self) -> u128 {
        self.low
    }

    /// Shifts by 1 to 127 bits, and takes the lowest from `bits`.
    fn shifted(self, by: u32, bits: u128) -> Self {
        U256 { high: self.high << by | self.low >> (128 - by), low: self.low << by | bits }
    }

    fn wrapping_sub(self, other: U256) -> Self {
        let (low, is_borrowed) = self.low.overflowing_sub(other.low);
        U256 { high: self.high.wrapping_sub(other.high).wrapping_sub(is_borrowed.into()), low }
    }

    fn leading_zeros(self) -> u32 {
        if self.high == 0 { 128 + self.low.leading_zeros() } else { self.high.leading_zeros() }
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;
    use proptest::prelude::*;

    use super::U256;

    fn big(number: U256) -> BigUint {
        (BigUint::from(number.high) << 128) + number.low
    }

    fn number() -> impl Strategy<Value = U256> {
        (any::<u128>(), any::<u128>(), 0u32..=256).prop_map(|(high, low, shift)| match shift {
            0 => U256 { high, low },
            256 => U256 { high: 0, low: 0 },
            128.. => U256 { high: 0, low: high >> (shift - 128) },
            _ => U256 { high: high >> shift, low: low >> shift | high << (128 - shift) },
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn products_are_exact(a in number(), by: u128, more: u128) {
            let expected = big(a) * by + more;
            prop_assert_eq!(a.times_plus(by, more).map(big), (expected.bits() <= 256).then_some(expected));
        }

        #[test]
        fn quotients_are_exact(a in number(), divisor in number()) {
            let expected = (divisor != U256::from(0)).then(|| (big(a) / big(divisor), big(a) % big(divisor)));
            let found = a.divide(divisor).map(|(quotient, rest)| (BigUint::from(quotient), big(rest)));
            prop_assert_eq!(found, expected.filter(|(quotient, _)| quotient.bits() <= 128));
        }
    }
}
