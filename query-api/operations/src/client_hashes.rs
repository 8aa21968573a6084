//! Keyed hashes of clients, for limits that outlast this process.

use cairn_http::ApiError;
use cairn_state::{ClientHashes, VOTE_WINDOW};

use crate::context::Ctx;

/// The hashes of the client of a request under the present keys. The keys change at most once in the time that a vote,
/// an open report or an open checkout counts: a checkout is open for a day at most.
pub(crate) fn client_hashes(ctx: &Ctx<'_>, scope: &str) -> Result<ClientHashes, ApiError> {
    let now = ctx.now_ms / 1_000;
    let period = VOTE_WINDOW.max(ctx.chain.payments.report_expiry_secs);
    let keys = ctx.with_state(async |state| state.client_keys(now, period).await)?;
    Ok(keys.hashes(|key| ctx.client_under(key, scope)))
}
