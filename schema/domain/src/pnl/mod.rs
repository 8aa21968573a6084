//! Profit and loss of a wallet: the cost of its coins when they came, and their worth when they left.
//!
//! * The cost of coins that come in is their worth at that time, for mined ones, too. Coins that go to others are
//!   disposals: their worth is the proceeds. Transfers within the wallet are neither. The wallet's share of a fee
//!   leaves with proceeds of zero.
//! * The cost of a coin that leaves is the average of all that are there, or that of the coins that came first
//!   ([`Method`]).
//! * Worth is an integer of millionths of the currency, each rounded half to even once. The rounded amount of a row is
//!   subtracted from the amount that is left, so that sums are exact: realized and unrealized gains are the market
//!   value of the coins that are left, plus all proceeds, minus all costs. [`Ledger::finish`] compares both sides.
//! * Where a price is not known, all that depends on it is `None`, never zero.
//!
//! The definition is the contract's, "P&L"; that of the share of a fee in a transaction with inputs of several is ours.

mod book;
mod ledger;
mod money;
mod movement;

pub use book::{Book, BookError, Consumed, Lot, Method};
pub use ledger::{Kind, Ledger, Report, Row, Sums};
pub use money::{Micros, mul_div, part_of, value_of};
pub use movement::{Effect, Inflow, Movement, Net};
