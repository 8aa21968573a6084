//! The price at a time.

use cairn_events::{Currency, Interval, LiveQuote, Slug};
use rust_decimal::Decimal;

use super::{
    quotes::{Quotes, Series},
    rate::{NoRate, Rate, convert, rate_at},
    stale::is_stale,
};

/// The price of one bitcoin, and where it comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Price {
    /// Units of the currency for one bitcoin.
    pub price: Decimal,
    /// Since when it was known, in seconds since 1970: the close of its candle; for a converted price, of the BTC/USD
    /// candle.
    pub as_of: u32,
    /// Length of its candle; `None` for a live quote.
    pub interval: Option<Interval>,
    /// The source whose price it is; `None` for a mean of two.
    pub source: Option<Slug>,
    /// Sources that the median was taken of.
    pub sources: u16,
    /// Sources that were left out, since they are too far from the median.
    pub dropped: u16,
    /// True if the sources disagree.
    pub disputed: bool,
    /// The rate by which it was converted from dollars; `None` if it was quoted in the currency.
    pub rate: Option<Rate>,
}

/// Why a price is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missing {
    /// There are none: neither in the currency nor in dollars.
    NoSeries,
    /// They begin later.
    BeforeSeries,
    /// The price in dollars is known, but no exchange rate.
    NoRate(NoRate),
    /// The converted price exceeds the range of a decimal.
    TooLarge,
}

impl Price {
    /// Seconds from when it was known to `time`.
    #[must_use]
    pub fn gap(&self, time: u32) -> u32 {
        time.saturating_sub(self.as_of)
    }

    /// True if it is too old at `time`: itself, or the rate by which it was converted.
    #[must_use]
    pub fn is_stale_at(&self, time: u32) -> bool {
        is_stale(self.as_of, self.interval, time) || self.rate.as_ref().is_some_and(|rate| rate.is_stale_at(time))
    }
}

/// The price of one bitcoin at `time`, in seconds since 1970.
pub fn price_at<Q: Quotes>(quotes: &Q, currency: Currency, time: u32) -> Result<Result<Price, Missing>, Q::Error> {
    known(quotes, &[], currency, time)
}

/// The same, with live quotes.
///
/// Prices in the currency itself come first. Stale ones give way to a converted price that is not stale.
pub(super) fn known<Q: Quotes>(
    quotes: &Q,
    live: &[LiveQuote],
    currency: Currency,
    time: u32,
) -> Result<Result<Price, Missing>, Q::Error> {
    let own = quoted(quotes, live, currency, time)?;
    let is_fresh = |price: &Price| !price.is_stale_at(time);
    if currency == Currency::USD || own.as_ref().is_ok_and(is_fresh) {
        return Ok(own);
    }
    let converted = converted(quotes, live, currency, time)?;
    Ok(match (own, converted) {
        (Ok(_), Ok(converted)) if is_fresh(&converted) => Ok(converted),
        (Ok(own), _) => Ok(own),
        (Err(_), Ok(converted)) => Ok(converted),
        (Err(own), Err(converted)) => Err(why(own, converted)),
    })
}

/// Why there is no price, if there is neither one of the currency's own nor a converted one.
pub(super) fn why(own: Missing, converted: Missing) -> Missing {
    if converted == Missing::NoSeries { own } else { converted }
}

/// The last price that was quoted in the currency.
pub(super) fn quoted<Q: Quotes>(
    quotes: &Q,
    live: &[LiveQuote],
    currency: Currency,
    time: u32,
) -> Result<Result<Price, Missing>, Q::Error> {
    let series = |interval| Series { base: Currency::BTC, quote: currency, interval };
    let mut newest: Option<Price> = None;
    for interval in Interval::ALL.into_iter().rev() {
        let Some((as_of, chosen)) = quotes.last(series(interval), time)? else { continue };
        // Among candles with the same close, the longest comes first.
        if newest.as_ref().is_none_or(|found| found.as_of < as_of) {
            newest = Some(Price {
                price: chosen.close,
                as_of,
                interval: Some(interval),
                source: chosen.source,
                sources: chosen.sources,
                dropped: chosen.dropped,
                disputed: chosen.disputed,
                rate: None,
            });
        }
        // No other can have closed later.
        if as_of == time {
            break;
        }
    }
    let of_pair = |quote: &&LiveQuote| quote.base == Currency::BTC && quote.quote == currency && quote.at <= time;
    let live = live.iter().filter(of_pair).max_by_key(|quote| quote.at);
    if let Some(quote) = live.filter(|quote| newest.as_ref().is_none_or(|found| found.as_of <= quote.at)) {
        newest = Some(Price {
            price: quote.price,
            as_of: quote.at,
            interval: None,
            source: quote.source.clone(),
            sources: quote.sources,
            dropped: quote.dropped,
            disputed: quote.disputed,
            rate: None,
        });
    }
    if let Some(price) = newest {
        return Ok(Ok(price));
    }
    for interval in Interval::ALL {
        if quotes.last(series(interval), u32::MAX)?.is_some() {
            return Ok(Err(Missing::BeforeSeries));
        }
    }
    Ok(Err(Missing::NoSeries))
}

/// The last price in dollars, in the currency.
pub(super) fn converted<Q: Quotes>(
    quotes: &Q,
    live: &[LiveQuote],
    currency: Currency,
    time: u32,
) -> Result<Result<Price, Missing>, Q::Error> {
    let dollars = match quoted(quotes, live, Currency::USD, time)? {
        Ok(dollars) => dollars,
        Err(missing) => return Ok(Err(missing)),
    };
    let mut rate = rate_at(quotes, Currency::USD, currency, time)?;
    // Where prices and rates end together, an old price has the rate of its own time.
    if rate == Err(NoRate::NotThen) && dollars.as_of < time {
        rate = rate_at(quotes, Currency::USD, currency, dollars.as_of)?;
    }
    Ok(match rate {
        Err(none) => Err(Missing::NoRate(none)),
        Ok(rate) => match convert(dollars.price, &rate) {
            Some(price) => Ok(Price { price, rate: Some(rate), ..dollars }),
            None => Err(Missing::TooLarge),
        },
    })
}
