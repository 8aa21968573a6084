//! Money in dollars, exactly: sums of satoshis times prices.
//!
//! A price may have 28 decimals, and all coins together have 51 bits: their product is longer than any integer here. So
//! sums are kept in three parts, each with 14 decimals more than the one before. Only sums in answers are rounded.

use rust_decimal::Decimal;

use crate::wide::U256;

/// 10^14: the limit of a part.
const PART: i128 = 100_000_000_000_000;
/// Prices are below; the ledger takes none above.
const MAX: i128 = 1_000_000_000_000_000;
/// Satoshis of a bitcoin, by cents of a dollar: 10^8 / 10^2.
const PER_CENT: i128 = 1_000_000;

/// Dollars for one bitcoin, with at most 28 decimals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Price([i64; 3]);

impl Price {
    /// Converts a decimal above zero and up to 10^15, as quotes are.
    #[must_use]
    pub fn of(price: Decimal) -> Self {
        let unit = 10i128.pow(price.scale());
        let whole = (price.mantissa() / unit).clamp(0, MAX);
        let decimals = (price.mantissa() % unit).max(0) * 10i128.pow(28u32.saturating_sub(price.scale()));
        // Each is at most 10^15.
        Price([whole as i64, (decimals / PART) as i64, (decimals % PART) as i64])
    }
}

/// A sum of satoshis × dollars for one bitcoin: in units of 10^-8 dollars, with 28 decimals.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Usd([i128; 3]);

impl Usd {
    /// Adds satoshis, which may be negative, at a price.
    pub fn add(&mut self, sats: i128, price: Price) {
        // All coins there are take 51 bits, and a part of a price 50. Only damaged rows have more.
        let short = i64::try_from(sats);
        for (sum, part) in self.0.iter_mut().zip(price.0).filter(|(_, part)| *part != 0) {
            let product = match short {
                // A product of two numbers of 64 bits takes one multiplication.
                Ok(sats) => i128::from(sats).wrapping_mul(part.into()),
                Err(_) => sats.saturating_mul(part.into()),
            };
            *sum = sum.saturating_add(product);
        }
    }

    /// Adds another sum.
    pub fn add_all(&mut self, other: &Usd) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, more)| *sum = sum.saturating_add(more));
    }

    /// The same sum with its parts carried over: both lower parts are from zero up to [`PART`].
    fn carried(&self) -> [i128; 3] {
        let [mut whole, mut middle, mut low] = self.0;
        middle = middle.saturating_add(low.div_euclid(PART));
        low = low.rem_euclid(PART);
        whole = whole.saturating_add(middle.div_euclid(PART));
        [whole, middle.rem_euclid(PART), low]
    }

    /// Cents, rounded down.
    #[must_use]
    pub fn cents(&self) -> i128 {
        self.carried()[0].div_euclid(PER_CENT)
    }

    /// True if it is nothing.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.carried() == [0; 3]
    }

    /// This sum divided by another one, in millionths, rounded down. `None` if the other is not above zero, this one is
    /// below, or the result has more than 127 bits.
    #[must_use]
    pub fn ratio(&self, of: &Usd) -> Option<i128> {
        // At most 221 bits, and 241 with the millionths.
        let (quotient, _) = self.long()?.times_plus(1_000_000, 0)?.divide(of.long()?)?;
        i128::try_from(quotient).ok()
    }

    /// The sum as one number; `None` below zero.
    fn long(&self) -> Option<U256> {
        let [whole, middle, low] = self.carried().map(|part| u128::try_from(part).ok());
        U256::from(whole?).times_plus(PART.cast_unsigned(), middle?)?.times_plus(PART.cast_unsigned(), low?)
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;
    use proptest::prelude::*;

    use super::*;

    /// Satoshis × price, in units of 10^-36 dollars.
    fn naive(pairs: &[(i64, Decimal)]) -> BigInt {
        let product = |(sats, price): &(i64, Decimal)| {
            BigInt::from(*sats) * price.mantissa() * BigInt::from(10).pow(28 - price.scale())
        };
        pairs.iter().map(product).sum()
    }

    fn sum(pairs: &[(i64, Decimal)]) -> Usd {
        let mut usd = Usd::default();
        pairs.iter().for_each(|(sats, price)| usd.add((*sats).into(), Price::of(*price)));
        usd
    }

    fn floor(number: BigInt, by: BigInt) -> BigInt {
        let down = i32::from(number < BigInt::ZERO && &number % &by != BigInt::ZERO);
        number / by - down
    }

    fn price() -> impl Strategy<Value = Decimal> {
        // Up to 10^15, with any number of decimals.
        (1i128..10i128.pow(28), 13u32..=28).prop_map(|(mantissa, scale)| Decimal::from_i128_with_scale(mantissa, scale))
    }

    fn pairs() -> impl Strategy<Value = Vec<(i64, Decimal)>> {
        prop::collection::vec((0i64..2_100_000_000_000_000, price()), 1..20)
    }

    proptest! {
        #[test]
        fn sums_are_exact(mut pairs in pairs(), taken in 0usize..20) {
            pairs.iter_mut().take(taken).for_each(|(sats, _)| *sats = -*sats);
            let (usd, naive) = (sum(&pairs), naive(&pairs));
            prop_assert_eq!(BigInt::from(usd.cents()), floor(naive.clone(), BigInt::from(10).pow(34)));
            prop_assert_eq!(usd.is_zero(), naive == BigInt::ZERO);
        }

        #[test]
        fn ratios_are_exact(a in pairs(), b in pairs()) {
            let (usd, of) = (sum(&a), sum(&b));
            let expected: Option<BigInt> = (naive(&b) > BigInt::ZERO).then(|| naive(&a) * 1_000_000 / naive(&b));
            let fits = expected.filter(|ratio| ratio.bits() <= 127);
            prop_assert_eq!(usd.ratio(&of).map(BigInt::from), fits);
        }

        #[test]
        fn a_sum_is_once_itself(a in pairs()) {
            let usd = sum(&a);
            prop_assert_eq!(usd.ratio(&usd), (!usd.is_zero()).then_some(1_000_000));
        }
    }

    #[test]
    fn what_has_no_ratio() {
        let one = sum(&[(1, Decimal::ONE)]);
        assert_eq!(one.ratio(&Usd::default()), None);
        assert_eq!(Usd::default().ratio(&one), Some(0));
        assert_eq!(sum(&[(-1, Decimal::ONE)]).ratio(&one), None);
        assert_eq!(sum(&[(3, Decimal::ONE)]).ratio(&sum(&[(2, Decimal::ONE)])), Some(1_500_000));
        // A quotient of 10^15 × 10^15 × 2 × 10^15 has no place.
        let least = Decimal::from_i128_with_scale(1, 28);
        assert_eq!(sum(&[(2_000_000_000_000_000, Decimal::from(MAX))]).ratio(&sum(&[(1, least)])), None);
    }
}
