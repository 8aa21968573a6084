//! What `/api/health/full` says of claims.

use std::collections::BTreeSet;

use cairn_domain::claims::STALE_AFTER;
use cairn_http::ApiError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{context::Ctx, values::rfc3339};

/// Documents of lists that are looked at.
const MOST_DOCUMENTS: usize = 10_000;

/// Claims about addresses.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HealthClaimDetails")]
pub(crate) struct ClaimDetails {
    /// Lists of claims that are loaded; `cairn labels status` prints each.
    lists: usize,
    /// When the newest document of any of them was retrieved.
    as_of: String,
    /// Age in seconds above which it is stale.
    pub(super) stale_after_seconds: u32,
}

/// The age of the newest list in seconds, and the details; `None` if there is no list.
pub(super) fn claims_loaded(ctx: &Ctx<'_>) -> Result<Option<(u32, ClaimDetails)>, ApiError> {
    let Some(view) = ctx.index else { return Ok(None) };
    let documents = view.claim_lists(MOST_DOCUMENTS)?;
    let newest = documents.iter().map(|(of, _)| of.version.retrieved_at).max();
    let lists: BTreeSet<_> = documents.iter().map(|(of, _)| &of.list).collect();
    let details =
        |newest| ClaimDetails { lists: lists.len(), as_of: rfc3339(newest), stale_after_seconds: STALE_AFTER };
    Ok(newest.map(|newest| (ctx.now().saturating_sub(newest), details(newest))))
}
