//! What operations about the mempool have in common.

use cairn_http::ErrorCode;

/// Seconds between two blocks that the network aims at.
pub(crate) const BLOCK_SECONDS: u32 = 600;

/// What `_meta.freshness` means where an answer is about the mempool.
pub(crate) const FRESHNESS: &str = "when this server's copy of the node's mempool last changed or was confirmed";

/// Own failures of operations that need the mempool.
pub(crate) const UNAVAILABLE: ErrorCode = ErrorCode::MempoolUnavailable;
