//! Provenance of the operator's own documents.

use cairn_clock::now_secs;
use cairn_events::{Slug, SlugError};

use crate::exit::{Exit, Failure};

/// Returns the current time for the ledger, in seconds since 1970.
pub(crate) fn now() -> u32 {
    u32::try_from(now_secs()).unwrap_or(u32::MAX)
}

/// Returns the source and licence of the operator's own documents.
pub(super) fn operator() -> Result<Slug, Failure> {
    "operator".parse().map_err(|error: SlugError| Failure::new(Exit::Other, error.to_string()))
}
