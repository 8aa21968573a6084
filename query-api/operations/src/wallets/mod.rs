//! Wallets: everything about one script.

mod page;
mod related;
mod subject;

crate::area::area! {
    index::WalletIndex,
    overview::Overview + batch,
    transactions::Transactions,
    balance_history::BalanceHistory,
}

use subject::Wallet;
