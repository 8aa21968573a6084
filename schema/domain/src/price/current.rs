//! The price now, and its change.

use cairn_events::{Currency, LiveQuote};
use cairn_model::DAY_SECS;
use rust_decimal::{Decimal, RoundingStrategy::MidpointNearestEven};

use super::{
    at::{Missing, Price, known, price_at},
    quotes::Quotes,
};

/// The price of one bitcoin now (`now` in seconds since 1970): the live quote if it is the newest, else the newest
/// candle.
pub fn current_price<Q: Quotes>(
    quotes: &Q,
    live: &[LiveQuote],
    currency: Currency,
    now: u32,
) -> Result<Result<Price, Missing>, Q::Error> {
    known(quotes, live, currency, now)
}

/// Why a change is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoChange {
    /// The price before is not known.
    Missing(Missing),
    /// The last price known before was stale then.
    Stale,
    /// It exceeds the range of a decimal.
    TooLarge,
}

/// Change of a price in percent against the one 24 hours before it was known, to two decimals (half to even).
pub fn change_over_day<Q: Quotes>(
    quotes: &Q,
    price: &Price,
    currency: Currency,
) -> Result<Result<Decimal, NoChange>, Q::Error> {
    let Some(time) = price.as_of.checked_sub(DAY_SECS) else {
        return Ok(Err(NoChange::Missing(Missing::BeforeSeries)));
    };
    let before = match price_at(quotes, currency, time)? {
        Err(missing) => return Ok(Err(NoChange::Missing(missing))),
        Ok(before) if before.is_stale_at(time) => return Ok(Err(NoChange::Stale)),
        Ok(before) => before,
    };
    let change = (price.price - before.price).checked_div(before.price).and_then(|part| part.checked_mul(100.into()));
    Ok(change.map(|percent| percent.round_dp_with_strategy(2, MidpointNearestEven)).ok_or(NoChange::TooLarge))
}
