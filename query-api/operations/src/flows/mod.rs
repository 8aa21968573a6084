//! What moves into and out of the wallets of those whom labels and blocks tell.

mod holders;
mod outflow;

crate::area::area! {
    miners::MinerFlows,
}
