//! The price of a day: its close.

use cairn_events::Currency;
use cairn_model::DAY_SECS;

use super::{
    at::{Missing, Price, converted, price_at, quoted, why},
    quotes::Quotes,
};

/// Why a day has no price.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoDayPrice {
    /// None was known at its end.
    Missing(Missing),
    /// No candle closed on it, although some did before.
    Gap,
}

/// The last price of a day (`day` in days since 1970, UTC): that of the candle that closed last on it, its end
/// included. A price in the currency itself comes first, then a converted one. A day that is not over at the time
/// `so_far` may have none yet: then the last one that is known at that time, of an earlier day.
pub fn day_price<Q: Quotes>(
    quotes: &Q,
    currency: Currency,
    day: u32,
    so_far: Option<u32>,
) -> Result<Result<Price, NoDayPrice>, Q::Error> {
    let price = close_of(quotes, currency, day)?;
    match so_far {
        Some(time) if price.is_err() => Ok(price_at(quotes, currency, time)?.map_err(NoDayPrice::Missing)),
        _ => Ok(price),
    }
}

fn close_of<Q: Quotes>(quotes: &Q, currency: Currency, day: u32) -> Result<Result<Price, NoDayPrice>, Q::Error> {
    let (start, end) = (day.saturating_mul(DAY_SECS), day.saturating_add(1).saturating_mul(DAY_SECS));
    let is_of_day = |price: &Price| price.as_of > start;
    let own = quoted(quotes, &[], currency, end)?;
    if currency == Currency::USD || own.as_ref().is_ok_and(is_of_day) {
        return Ok(of_day(own, is_of_day));
    }
    let converted = converted(quotes, &[], currency, end)?;
    Ok(match (own, converted) {
        (Err(own), Err(converted)) => Err(NoDayPrice::Missing(why(own, converted))),
        (_, converted @ Ok(_)) => of_day(converted, is_of_day),
        (Ok(_), Err(_)) => Err(NoDayPrice::Gap),
    })
}

fn of_day(price: Result<Price, Missing>, is_of_day: impl Fn(&Price) -> bool) -> Result<Price, NoDayPrice> {
    match price {
        Err(missing) => Err(NoDayPrice::Missing(missing)),
        Ok(price) if is_of_day(&price) => Ok(price),
        Ok(_) => Err(NoDayPrice::Gap),
    }
}
