//! `GET /v1/l402/challenges/{challenge_id}`.

use cairn_http::Freshness;
use cairn_state::ChallengeState;

use crate::{operation::prelude::*, values::rfc3339_ms};

const MAX_ID_CHARS: usize = 64;

pub(crate) struct GetChallenge;

/// The challenge.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ChallengeInput {
    /// Id of the challenge, from the 402 answer.
    #[schemars(length(min = 1, max = MAX_ID_CHARS), example = &"ch_00000000000000000000000000000000")]
    challenge_id: String,
}

/// A challenge, without its invoice and macaroon: only the client that was given them has them.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChallengeOutput {
    challenge_id: String,
    /// `pending` while it can be paid and used.
    status: Status,
    capability: String,
    method: String,
    /// The path of the request that it opens.
    resource_path: String,
    price_sats: u64,
    /// Kind of the Lightning node that made the invoice; `simulated` if nothing is paid in truth.
    provider: String,
    created_at: String,
    /// End of the challenge. A proof of a payment before it is accepted for ten more minutes.
    expires_at: String,
    /// When it opened its answer; null if it has not.
    redeemed_at: Option<String>,
}

/// States of a challenge.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    /// It can be paid and used, or is in use.
    Pending,
    /// It has opened its answer.
    Redeemed,
    /// Its time is over.
    Expired,
}

impl From<ChallengeState> for Status {
    fn from(state: ChallengeState) -> Self {
        match state {
            ChallengeState::Pending => Status::Pending,
            ChallengeState::Redeemed => Status::Redeemed,
            ChallengeState::Expired => Status::Expired,
        }
    }
}

impl Operation for GetChallenge {
    const INFO: Info = Info {
        summary: "State of an L402 challenge: pending, redeemed or expired",
        description: "Says whether a challenge of a 402 answer can still be used. It does not say whether the invoice is \
            paid: the wallet that pays has the proof. Everyone who knows the id may ask; invoice, macaroon and preimage are \
            not in the answer.",
        source: "service",
        freshness: &[Freshness::NOW],
        has_ages: true,
        freshness_semantics: "time of the request",
        errors: &[ErrorCode::ChallengeNotFound, ErrorCode::StateUnavailable],
        tool: Tool::UNLISTED,
        ..Info::get("l402_challenge", "/v1/l402/challenges/{challenge_id}", "billing")
    };
    type Input = ChallengeInput;
    type Output = ChallengeOutput;

    fn run(ctx: &Ctx<'_>, input: ChallengeInput) -> Result<ChallengeOutput, ApiError> {
        let (id, now) = (input.challenge_id.trim(), ctx.now_ms / 1_000);
        let found = ctx.with_state(async |state| state.challenge_status(id, now).await)?.ok_or_else(|| {
            ApiError::new(
                ErrorCode::ChallengeNotFound,
                "this server has no challenge with the id; take challenge.id from the 402 answer",
            )
        })?;
        let time = |at: u64| rfc3339_ms(at.saturating_mul(1_000));
        Ok(ChallengeOutput {
            challenge_id: found.id,
            status: found.state.into(),
            capability: found.capability,
            method: found.method,
            resource_path: found.resource_path,
            price_sats: found.price_sats,
            provider: found.provider,
            created_at: time(found.created_at),
            expires_at: time(found.expires_at),
            redeemed_at: found.redeemed_at.map(time),
        })
    }
}
