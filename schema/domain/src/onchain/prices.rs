//! Daily closes, and the prices of days that follow from them.

use rust_decimal::Decimal;

use super::usd::Price;

/// Why a figure is not known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Missing {
    /// There are no prices at all.
    NoSeries,
    /// The day lies before the first close.
    Before {
        /// The day of the first close.
        first: u32,
    },
    /// There are closes of earlier and of later days, but not of this one.
    Gap {
        /// The day.
        day: u32,
    },
    /// The last close is that of an earlier day.
    Ended {
        /// The day of the last close.
        last: u32,
    },
    /// Nothing that has a price was spent.
    NothingPriced,
    /// The divisor is zero.
    DividedByZero,
    /// It does not fit into 128 bits.
    TooLarge,
}

/// A series of daily closes. Days are counted from 1970-01-01 (UTC).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Closes {
    first: u32,
    /// Prices by day, from the first day on; the last one is known.
    closes: Vec<Option<Price>>,
}

impl Closes {
    /// The closes of days, ascending. A day that does not follow is left out.
    pub fn of(closes: impl IntoIterator<Item = (u32, Decimal)>) -> Self {
        let mut series = Closes::default();
        for (day, close) in closes {
            if series.closes.is_empty() {
                series.first = day;
            }
            let Some(at) = day.checked_sub(series.first).map(|at| at as usize) else { continue };
            if at >= series.closes.len() {
                series.closes.resize(at, None);
                series.closes.push(Some(Price::of(close)));
            }
        }
        series
    }

    /// The first and the last day that have a close.
    #[must_use]
    pub fn ends(&self) -> Option<(u32, u32)> {
        let last = self.closes.len().checked_sub(1)?;
        Some((self.first, self.first + last as u32))
    }

    /// The close of a day; `None` if it has none.
    #[must_use]
    pub fn close(&self, day: u32) -> Option<Price> {
        let at = day.checked_sub(self.first)?;
        self.closes.get(at as usize).copied().flatten()
    }
}

/// The prices of days.
#[derive(Clone, Copy, Debug)]
pub struct Prices<'c> {
    closes: &'c Closes,
    today: Option<u32>,
}

impl<'c> Prices<'c> {
    /// Prices by these closes. `today` is the day that is not over: as long as it has no close, the last one stands for
    /// it.
    #[must_use]
    pub fn of(closes: &'c Closes, today: Option<u32>) -> Self {
        Prices { closes, today }
    }

    /// The day whose close stands for a day, and the price.
    pub fn close_for(&self, day: u32) -> Result<(u32, Price), Missing> {
        let (first, last) = self.closes.ends().ok_or(Missing::NoSeries)?;
        if day < first {
            return Err(Missing::Before { first });
        }
        let of = if day > last && self.today == Some(day) { last } else { day };
        match self.closes.close(of) {
            Some(price) => Ok((of, price)),
            None if of > last => Err(Missing::Ended { last }),
            None => Err(Missing::Gap { day }),
        }
    }

    /// The price of a day.
    pub fn at(&self, day: u32) -> Result<Price, Missing> {
        self.close_for(day).map(|(_, price)| price)
    }

    /// The price at which coins of a day of birth count; `None` for those that are older than the series, which count
    /// zero.
    pub fn at_birth(&self, day: u32) -> Result<Option<Price>, Missing> {
        match self.at(day) {
            Err(Missing::Before { .. }) => Ok(None),
            price => price.map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(usd: i64) -> Price {
        Price::of(Decimal::from(usd))
    }

    #[test]
    fn a_day_has_its_close_or_a_reason() {
        let closes = Closes::of([(10, 1), (11, 2), (13, 4)].map(|(day, usd)| (day, Decimal::from(usd))));
        assert_eq!(closes.ends(), Some((10, 13)));
        let prices = Prices::of(&closes, Some(20));
        assert_eq!(prices.at(10), Ok(price(1)));
        assert_eq!(prices.at(13), Ok(price(4)));
        assert_eq!(prices.at(9), Err(Missing::Before { first: 10 }));
        assert_eq!(prices.at_birth(9), Ok(None));
        assert_eq!(prices.at(12), Err(Missing::Gap { day: 12 }));
        assert_eq!(prices.at_birth(12), Err(Missing::Gap { day: 12 }));
        assert_eq!(prices.at(14), Err(Missing::Ended { last: 13 }));
        assert_eq!(prices.at(19), Err(Missing::Ended { last: 13 }));
        assert_eq!(prices.close_for(20), Ok((13, price(4))));
        assert_eq!(prices.at(21), Err(Missing::Ended { last: 13 }));
    }

    #[test]
    fn today_has_its_own_close_once_it_is_known() {
        let closes = Closes::of([(10, Decimal::ONE), (12, Decimal::TWO)]);
        assert_eq!(Prices::of(&closes, Some(12)).close_for(12), Ok((12, price(2))));
        // Within the series, a day without a close is a gap.
        assert_eq!(Prices::of(&closes, Some(11)).at(11), Err(Missing::Gap { day: 11 }));
        assert_eq!(Prices::of(&closes, Some(9)).at(9), Err(Missing::Before { first: 10 }));
        assert_eq!(Prices::of(&Closes::default(), Some(9)).at(9), Err(Missing::NoSeries));
        assert_eq!(Prices::of(&Closes::default(), None).at_birth(9), Err(Missing::NoSeries));
    }

    #[test]
    fn days_that_do_not_follow_are_left_out() {
        let closes = Closes::of([(10, Decimal::ONE), (10, Decimal::TWO), (9, Decimal::TWO), (11, Decimal::TWO)]);
        assert_eq!((closes.close(9), closes.close(10), closes.close(11)), (None, Some(price(1)), Some(price(2))));
    }
}
