//! Exchange rates by the euro's reference rates.

use cairn_events::{Currency, Interval, Slug};
use rust_decimal::Decimal;

use super::{
    quotes::{Quotes, Series},
    stale::{RATE_FRESH, RATE_OLDEST},
};

/// Value of one unit of a currency in another one: both were quoted against the euro on the same day.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rate {
    /// Units of the target for one euro; 1 if it is the euro.
    pub target: Decimal,
    /// Units of the base for one euro; 1 if it is the euro.
    pub base: Decimal,
    /// End of the day (UTC) for which the rates were published, in seconds since 1970: from then on they are used.
    pub closes_at: u32,
    /// The source, if both rates are of the same one; `None` also for a mean of two.
    pub source: Option<Slug>,
}

/// Why there is no rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoRate {
    /// A currency has no rates.
    NoSeries,
    /// None is known for the last 30 days before.
    NotThen,
}

impl Rate {
    /// Units of the target for one unit of the base, to 28 digits.
    #[must_use]
    pub fn value(&self) -> Decimal {
        // Rates are above zero.
        self.target.checked_div(self.base).unwrap_or_default()
    }

    /// The day for which the rates were published, in days since 1970.
    #[must_use]
    pub fn day(&self) -> u32 {
        (self.closes_at / Interval::Day.seconds()).saturating_sub(1)
    }

    /// True if it is not of the last business day before `time`: no pause of the markets is as long.
    #[must_use]
    pub fn is_stale_at(&self, time: u32) -> bool {
        time.saturating_sub(self.closes_at) > RATE_FRESH
    }
}

/// An amount of the base in the target, to 28 digits; `None` if it exceeds the range of a decimal.
#[must_use]
pub fn convert(amount: Decimal, rate: &Rate) -> Option<Decimal> {
    let exact = amount.checked_mul(rate.target).and_then(|product| product.checked_div(rate.base));
    exact.or_else(|| amount.checked_div(rate.base)?.checked_mul(rate.target)).map(|amount| amount.normalize())
}

/// The series of a currency's reference rates: units of it for one euro, daily.
fn series_of(currency: Currency) -> Series {
    Series { base: Currency::EUR, quote: currency, interval: Interval::Day }
}

/// The rate from `base` to `target` that is known at `time`: of the last day that has one for both, which ended at that
/// time or before.
pub fn rate_at<Q: Quotes>(
    quotes: &Q,
    base: Currency,
    target: Currency,
    time: u32,
) -> Result<Result<Rate, NoRate>, Q::Error> {
    let mut at = time;
    // Each round goes back by a day at least.
    while time - at <= RATE_OLDEST {
        let leg = |currency: Currency| match currency == Currency::EUR {
            true => Ok(Some(None)),
            false => Ok(quotes.last(series_of(currency), at)?.map(Some)),
        };
        let (Some(of_base), Some(of_target)) = (leg(base)?, leg(target)?) else {
            return why_none(quotes, base, target).map(Err);
        };
        let day = |leg: &Option<(u32, _)>| leg.as_ref().map_or(u32::MAX, |(closes_at, _)| *closes_at);
        let (last_base, last_target) = (day(&of_base), day(&of_target));
        let closes_at = last_base.min(last_target).min(at);
        let same = |last: u32| last == closes_at || last == u32::MAX;
        if same(last_base) && same(last_target) && time - closes_at <= RATE_OLDEST {
            let (base, source) = of_base.map_or((Decimal::ONE, None), |(_, rate)| (rate.close, Some(rate.source)));
            let (target, other) = of_target.map_or((Decimal::ONE, None), |(_, rate)| (rate.close, Some(rate.source)));
            let source = match (source, other) {
                (Some(one), Some(other)) => one.filter(|one| other.as_ref() == Some(one)),
                (one, other) => one.or(other).flatten(),
            };
            return Ok(Ok(Rate { target, base, closes_at, source }));
        }
        // The earlier one stays; the other one must be of the same day.
        at = closes_at;
    }
    Ok(Err(NoRate::NotThen))
}

fn why_none<Q: Quotes>(quotes: &Q, base: Currency, target: Currency) -> Result<NoRate, Q::Error> {
    for currency in [base, target] {
        if currency != Currency::EUR && quotes.last(series_of(currency), u32::MAX)?.is_none() {
            return Ok(NoRate::NoSeries);
        }
    }
    Ok(NoRate::NotThen)
}
