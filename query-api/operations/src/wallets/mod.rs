//! Wallets: everything about one script.

pub(crate) mod claims;
mod coin_age;
pub(crate) mod coinjoin_tx;
mod counterparties;
mod immature;
mod page;
mod related;
pub(crate) mod subject;
pub(crate) mod union;

crate::area::area! {
    index::WalletIndex,
    overview::Overview + batch,
    transactions::Transactions,
    balance_history::BalanceHistory,
    pnl::WalletPnl,
    dashboard::Dashboard,
    flow_graph::FlowGraph,
    lookup::WalletLookup,
    trust_safety::TrustSafety + batch,
    summary::Summary + batch,
    detail::WalletDetail,
    contributors::Contributors,
    surveillance::SurveillanceStatus,
}

pub(crate) use subject::Wallet;
