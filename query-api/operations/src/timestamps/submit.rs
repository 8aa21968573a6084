//! `POST /v1/timestamp`.

use cairn_http::Effect;
use cairn_state::{NewTimestamp, TimestampSource};

use super::{
    anchoring::{AnchoringReason, accept},
    hash_param::Sha256Param,
    record::TimestampOutput,
};
use crate::operation::prelude::*;

/// Accepts a hash to anchor.
pub(crate) struct SubmitTimestamp;

/// The hash.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("x-exactly-one" = [["hash", "hash_hex"]]))]
pub(crate) struct SubmitTimestampInput {
    /// SHA-256 hash of the file. The file itself is never sent.
    hash: Option<Sha256Param>,
    /// Alias of `hash`.
    hash_hex: Option<Sha256Param>,
}

impl Operation for SubmitTimestamp {
    const INFO: Info = Info {
        summary: "Timestamp a document: anchor its SHA-256 hash in the chain",
        description: "Stores the SHA-256 hash of a file, to be anchored with others by one transaction: a Merkle tree at \
            a set interval, with its root in an OP_RETURN output. 202 says that the hash is new and on disk; 200, that it \
            was known. Random bytes are added to each hash before the tree, so that the proofs of others show nothing of \
            it. `pending_proof_base64` is a proof that any client of OpenTimestamps completes later. After the first \
            confirmation, GET /v1/timestamp/{hash_hex}/proof has the whole proof. After the state `failed`, the same \
            request puts the hash into another batch. While the server cannot anchor, the answer is 503 \
            `anchoring_unavailable` with a `reason`.",
        accepts_new: true,
        quoted_by: Some("timestamp_quote"),
        cost: Cost::Standard,
        source: "service",
        errors: &[ErrorCode::AnchoringUnavailable, ErrorCode::StateUnavailable],
        tool: Tool::reads(
            "the user wants to prove later that a document existed now, and has or can compute its SHA-256 hash",
            "checking an existing proof (verify_timestamp), or asking what it costs (timestamp_quote)",
        )
        .named("timestamp_hash")
        .with_effect(Effect::Adds),
        ..index_post("submit_timestamp", "/v1/timestamp", "timestamps")
    };
    type Input = SubmitTimestampInput;
    type Output = TimestampOutput;

    fn run(ctx: &Ctx<'_>, input: SubmitTimestampInput) -> Result<TimestampOutput, ApiError> {
        // The validation ensures that one of them is given.
        let Sha256Param(hash) = input.hash.or(input.hash_hex).ok_or_else(ApiError::internal)?;
        let view = ctx.view()?;
        let network = view.facts().chain_params().key();
        let new = NewTimestamp { network, hash: hash.to_vec(), source: TimestampSource::Api };
        let now = ctx.now_ms / 1_000;
        let submitted = ctx.with_state(|state| async move { accept(state, new, now).await })?;
        let submitted = submitted.map_err(AnchoringReason::error)?;
        if submitted.is_new {
            ctx.accepted();
        }
        TimestampOutput::new(ctx, view, &submitted.record)
    }
}
