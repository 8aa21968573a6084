//! Wallets: everything about one script.

pub(crate) mod balance_history;
pub(crate) mod index;
pub(crate) mod overview;
mod page;
mod related;
mod subject;
pub(crate) mod transactions;

use subject::Wallet;
