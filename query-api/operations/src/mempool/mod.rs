//! The mempool as a whole and each of its transactions. Everything here comes from running sums, from the projection
//! and from bounded look-ups; no request walks the mempool.

mod io;
mod projected;

crate::operation::area! {
    stats::MempoolStats,
    fee_distribution::FeeDistribution,
    tx::MempoolTransaction,
}

use cairn_http::ErrorCode;

pub(crate) use projected::{ProjectionFacts, projected};

/// Seconds between two blocks that the network aims at.
pub(crate) const BLOCK_SECONDS: u32 = 600;

/// What `_meta.freshness` means where an answer is about the mempool.
pub(crate) const FRESHNESS: &str = "when this server's copy of the node's mempool last changed or was confirmed";

/// Own failures of operations that need the mempool.
pub(crate) const UNAVAILABLE: ErrorCode = ErrorCode::MempoolUnavailable;
