//! The network as a whole: pace of the chain, difficulty, halving, pressure on the mempool.

mod pace;
mod samples;

crate::area::area! {
    summary::NetworkSummary,
    stress::MempoolStress,
}

pub(crate) use summary::{Exahashes, hashrate_of};
