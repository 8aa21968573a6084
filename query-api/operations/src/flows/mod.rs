//! Flows into and out of the wallets that labels and blocks identify.

mod exchange_days;
mod holders;
mod outflow;

crate::area::area! {
    exchange_summary::ExchangeFlowsSummary,
    exchanges::ExchangeFlows,
    miners::MinerFlows,
}
