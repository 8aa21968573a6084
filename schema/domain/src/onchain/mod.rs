//! Figures of the chain as a whole: coin-days, and the worth of coins at daily prices.
//!
//! Days are UTC days of monotone block time. The price of a day is its close in dollars, the same for all coins that
//! are made or spent on it. All of it is computed from sums by day, exactly: a figure is rounded down once, in the
//! answer.

mod days;
mod prices;
mod spending;
mod usd;

pub use days::{Change, CoinTime, Day, Days, Figures, Flows};
pub use prices::{Closes, Missing, Prices};
pub use spending::Spending;
pub use usd::{Price, Usd};
