//! `GET /v1/timestamp/{hash_hex}`.

use cairn_http::Freshness;
use cairn_state::TimestampRecord;

use super::{hash_param::Sha256Param, record::TimestampOutput};
use crate::operation::prelude::*;

pub(crate) struct TimestampStatus;

/// The hash.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TimestampStatusInput {
    /// The hash that was handed in.
    hash_hex: Sha256Param,
}

impl Operation for TimestampStatus {
    const INFO: Info = Info {
        summary: "State of a timestamp",
        description: "State of a hash that was handed in to be anchored: pending, aggregated, broadcast, confirmed, final \
            or failed, with batch, transaction and block as far as there are. A reorg may turn confirmed into broadcast \
            again; final stays.",
        source: "service",
        freshness: &[TIP, Freshness::NOW],
        freshness_semantics: "time of the request",
        errors: &[ErrorCode::TimestampNotFound, ErrorCode::StateUnavailable],
        tool: Tool::UNLISTED,
        ..index_get("timestamp_status", "/v1/timestamp/{hash_hex}", "timestamps")
    };
    type Input = TimestampStatusInput;
    type Output = TimestampOutput;

    fn run(ctx: &Ctx<'_>, input: TimestampStatusInput) -> Result<TimestampOutput, ApiError> {
        let view = ctx.view()?;
        TimestampOutput::new(ctx, view, &find(ctx, view, &input.hash_hex)?)
    }
}

/// The record of a hash.
///
/// # Errors
/// Returns 404 `timestamp_not_found` if the hash was not handed in.
pub(super) fn find(ctx: &Ctx<'_>, view: &View<'_>, hash: &Sha256Param) -> Result<TimestampRecord, ApiError> {
    let (network, hash) = (view.facts().chain_params().key(), hash.0);
    let found = ctx.with_state(|state| async move { state.timestamp(network, &hash).await })?;
    found.ok_or_else(|| {
        let detail = "this hash was not handed in to this server: POST /v1/timestamp does that";
        ApiError::new(ErrorCode::TimestampNotFound, detail)
    })
}
