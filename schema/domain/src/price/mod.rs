//! The price of bitcoin in a currency at a time: the last one in the ledger of input events that was known then.
//!
//! * A candle is known from its close on. Of those of minutes, hours and days the one that closed last counts; of
//!   several that closed at the same time, the longest.
//! * A currency has prices of its own (BTC/X), or they are converted: BTC/USD times the reference rate of the euro of
//!   the last day before, USD → X = EUR/X ÷ EUR/USD.
//! * An unknown price is [`Missing`], never zero.
//!
//! The definition is that of P&L, with the rules of staleness, which are ours. Where quotes come from is left to
//! [`Quotes`].

mod at;
mod current;
mod day;
mod quotes;
mod rate;
mod stale;
#[cfg(test)]
mod tests;

pub use at::{Missing, Price, price_at};
pub use current::{NoChange, change_over_day, current_price};
pub use day::{NoDayPrice, day_price};
pub use quotes::{Quotes, Series};
pub use rate::{NoRate, Rate, convert, rate_at};
pub use stale::{FRESH_AT_LEAST, RATE_FRESH, RATE_OLDEST, is_stale, stale_after};
