//! The mempool as a whole and each of its transactions. Everything here comes from running sums, from the projection
//! and from bounded look-ups; no request walks the mempool.

mod facts;
mod io;
mod projected;

crate::area::area! {
    stats::MempoolStats,
    fee_distribution::FeeDistribution,
    tx::MempoolTransaction,
}

pub(crate) use facts::{BLOCK_SECONDS, FRESHNESS, UNAVAILABLE};
pub(crate) use projected::{ProjectionFacts, projected};
