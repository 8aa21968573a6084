//! Spent coins at two prices: that of the day on which they are spent, and that of the day on which they were made.

use super::{
    prices::{Missing, Prices},
    usd::Usd,
};

/// Some spent coins.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Spending {
    /// At the prices of the days on which they are spent.
    value: Usd,
    /// At the prices of the days of their birth.
    cost: Usd,
    /// Satoshis that are older than the series of prices: in neither sum.
    pub unpriced_sats: i128,
    /// The first day of which a price is missing, and why.
    missing: Option<(u32, Missing)>,
}

impl Spending {
    /// Satoshis that a day spends, by day of birth.
    pub fn of(day: u32, spent: impl IntoIterator<Item = (u32, i128)>, prices: &Prices<'_>) -> Self {
        let (mut of, mut priced) = (Spending::default(), 0);
        for (birth, sats) in spent.into_iter().filter(|(_, sats)| *sats != 0) {
            match prices.at_birth(birth) {
                Ok(None) => of.unpriced_sats += sats,
                Ok(Some(price)) => {
                    of.cost.add(sats, price);
                    priced += sats;
                }
                Err(missing) => of.misses(birth, missing),
            }
        }
        match prices.at(day) {
            _ if priced == 0 => {}
            Ok(price) => of.value.add(priced, price),
            Err(missing) => of.misses(day, missing),
        }
        of
    }

    fn misses(&mut self, day: u32, missing: Missing) {
        if self.missing.is_none_or(|(earlier, _)| day < earlier) {
            self.missing = Some((day, missing));
        }
    }

    /// Adds the spending of another day.
    pub fn add(&mut self, other: &Spending) {
        self.value.add_all(&other.value);
        self.cost.add_all(&other.cost);
        self.unpriced_sats += other.unpriced_sats;
        if let Some((day, missing)) = other.missing {
            self.misses(day, missing);
        }
    }

    /// Spent output profit ratio: Σ value × price of the day it is spent ÷ Σ value × price of the day it was made, in
    /// millionths, rounded down. Renato Shirakashi, "Introducing SOPR: spent outputs to predict bitcoin lows and tops"
    /// (2019), with the close of the day for the price at the time.
    ///
    /// # Errors
    /// Fails if a price is missing, or if nothing that has a price was spent.
    pub fn sopr(&self) -> Result<i128, Missing> {
        match self.missing {
            Some((_, missing)) => Err(missing),
            None if self.cost.is_zero() => Err(Missing::NothingPriced),
            None => self.value.ratio(&self.cost).ok_or(Missing::TooLarge),
        }
    }
}

#[cfg(test)]
mod tests {
    use rust_decimal::Decimal;

    use super::*;
    use crate::onchain::Closes;

    #[test]
    fn a_ratio_of_two_sums() {
        let closes = Closes::of([(10, 10), (11, 20), (13, 40)].map(|(day, usd)| (day, Decimal::from(usd))));
        let prices = Prices::of(&closes, None);
        // Made at 10 and at 20, spent at 40; older coins are left out.
        let day = Spending::of(13, [(3, 7), (10, 2), (11, 1)], &prices);
        assert_eq!((day.sopr(), day.unpriced_sats), (Ok(3_000_000), 7));
        // A gap in either sum is a gap, but not if nothing was spent.
        assert_eq!(Spending::of(13, [(12, 1), (14, 1)], &prices).sopr(), Err(Missing::Gap { day: 12 }));
        assert_eq!(Spending::of(12, [(10, 1)], &prices).sopr(), Err(Missing::Gap { day: 12 }));
        assert_eq!(Spending::of(12, [(3, 1), (12, 0)], &prices).sopr(), Err(Missing::NothingPriced));
        assert_eq!(Spending::of(14, [(10, 1)], &prices).sopr(), Err(Missing::Ended { last: 13 }));
        // Two days: 3 × 40 + 1 × 20 over 2 × 10 + 1 × 20 + 1 × 20.
        let mut both = day;
        both.add(&Spending::of(11, [(11, 1)], &prices));
        assert_eq!(both.sopr(), Ok(140 * 1_000_000 / 60));
        both.add(&Spending::of(14, [(10, 1)], &prices));
        both.add(&Spending::of(12, [(12, 1)], &prices));
        assert_eq!(both.sopr(), Err(Missing::Gap { day: 12 }), "the first day");
    }
}
