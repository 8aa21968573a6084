//! What moves into and out of the wallets of those whom labels and blocks tell.

mod exchange_days;
mod holders;
mod outflow;

crate::area::area! {
    exchange_summary::ExchangeFlowsSummary,
    exchanges::ExchangeFlows,
    miners::MinerFlows,
}
