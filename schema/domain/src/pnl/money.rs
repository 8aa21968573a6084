//! Exact amounts of money: integers of millionths, rounded half to even.

use cairn_model::Sats;
use rust_decimal::Decimal;

use crate::wide::U256;

/// Millionths of a unit of a currency.
pub type Micros = i128;

/// Satoshis of a bitcoin, over millionths of a unit: an amount in satoshis times a price of one bitcoin is divided by
/// this.
const SATS_PER_MICRO: u128 = 100;

/// `a × b ÷ divisor`, rounded half to even. `None` if it is beyond a `u128`, or nothing divides.
#[must_use]
pub fn mul_div(a: u128, b: u128, divisor: u128) -> Option<u128> {
    let (quotient, rest) = match a.checked_mul(b) {
        Some(product) => (product.checked_div(divisor)?, product.checked_rem(divisor)?),
        None => {
            let (quotient, rest) = U256::from(a).times_plus(b, 0)?.divide(divisor.into())?;
            (quotient, rest.low())
        }
    };
    let half = rest.cmp(&(divisor - rest));
    let is_up = half.is_gt() || half.is_eq() && quotient % 2 == 1;
    quotient.checked_add(is_up.into())
}

/// Value of satoshis at a price of one bitcoin of zero or more. `None` if it exceeds the range of answers.
#[must_use]
pub fn value_of(sats: Sats, price: Decimal) -> Option<Micros> {
    let mantissa = u128::try_from(price.mantissa()).ok()?;
    let divisor = 10u128.checked_pow(price.scale())?.checked_mul(SATS_PER_MICRO)?;
    mul_div(sats.into(), mantissa, divisor)?.try_into().ok()
}

/// The part of a cost that belongs to some of a quantity.
#[must_use]
pub fn part_of(cost: Micros, sats: Sats, of: Sats) -> Option<Micros> {
    mul_div(cost.try_into().ok()?, sats.into(), of.into())?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;
    use proptest::prelude::*;
    use rust_decimal::Decimal;

    use super::{mul_div, value_of};

    #[test]
    fn halves_go_to_the_even_side() {
        for (a, b, divisor, expected) in [
            (1, 1, 2, Some(0)),
            (3, 1, 2, Some(2)),
            (5, 1, 2, Some(2)),
            (7, 1, 2, Some(4)),
            (2, 1, 3, Some(1)),
            (1, 1, 3, Some(0)),
            (0, 9, 7, Some(0)),
            (1, 1, 0, None),
            (u128::MAX, u128::MAX, 0, None),
            (u128::MAX, u128::MAX, u128::MAX, Some(u128::MAX)),
            (u128::MAX, u128::MAX, u128::MAX - 1, None),
            (u128::MAX, 1 << 127, u128::MAX, Some(1 << 127)),
            (1 << 127, 3, 1 << 127, Some(3)),
            (u128::MAX, 2, 4, Some(1 << 127)),
        ] {
            assert_eq!(mul_div(a, b, divisor), expected, "{a} × {b} ÷ {divisor}");
        }
    }

    #[test]
    fn prices_with_many_digits_are_exact() {
        let price = |text: &str| text.parse::<Decimal>().unwrap();
        assert_eq!(value_of(100_000_000, price("1")), Some(1_000_000));
        assert_eq!(value_of(1, price("0.00005")), Some(0));
        assert_eq!(value_of(3, price("50")), Some(2));
        assert_eq!(value_of(1, price("50")), Some(0));
        assert_eq!(
            value_of(2_100_000_000_000_000, price("61234.123456789012345678901234")),
            Some(1_285_916_592_592_569_259)
        );
        assert_eq!(value_of(u64::MAX, price("79228162514264337593543950335")), None);
        assert_eq!(value_of(1, price("-1")), None);
    }

    proptest! {
        /// The product differs from the quotient times the divisor by half of the divisor at most.
        #[test]
        fn wide_products_are_divided_exactly(a: u128, b: u64, bits in 1u32..64) {
            let divisor = (a >> bits).max(1);
            let product = BigUint::from(a) * b;
            if let Some(found) = mul_div(a, b.into(), divisor) {
                let back = BigUint::from(found) * divisor;
                let off = if back >= product { back - &product } else { &product - back };
                let rest = BigUint::from(divisor) - &off;
                prop_assert!(off < rest || off == rest && found % 2 == 0);
            } else {
                prop_assert!(product >> 128 >= BigUint::from(divisor - 1));
            }
        }
    }
}
