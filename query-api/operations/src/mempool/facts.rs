//! Facts that operations about the mempool share.

use cairn_http::ErrorCode;

/// Seconds between two blocks that the network aims at.
pub(crate) const BLOCK_SECONDS: u32 = 600;

/// Meaning of `_meta.freshness` in an answer about the mempool.
pub(crate) const FRESHNESS: &str = "when this server's copy of the node's mempool last changed or was confirmed";

/// Own failures of operations that need the mempool.
pub(crate) const UNAVAILABLE: ErrorCode = ErrorCode::MempoolUnavailable;
