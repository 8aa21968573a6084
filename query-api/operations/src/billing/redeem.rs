//! `POST /v1/billing/redeem`.

use cairn_http::{Effect, Freshness, Location, Method};
use cairn_state::{CodeSecret, CodeState, Key, KeyKind, Redemption};

use crate::{operation::prelude::*, values::rfc3339_ms};

/// Longest text of a code, with spaces around it.
const MAX_CODE_CHARS: usize = 200;

pub(crate) struct RedeemCode;

/// The code.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RedeemInput {
    /// The code that the operator of this server issued. It gives one key.
    #[schemars(
        length(min = 1, max = MAX_CODE_CHARS),
        example = &"cairn_code_000000000000_00000000000000000000000000000000000000000000000000000000000000003e0673e4"
    )]
    code: String,
}

/// The key. It is in no other answer: keep it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RedeemOutput {
    /// The key, or the token of the wallet session. It cannot be shown again.
    api_key: String,
    /// Public id of the key, by which the operator knows it.
    key_id: String,
    kind: RedeemedKind,
    /// The request header that takes the key.
    header: &'static str,
    /// The whole header, with a placeholder for the key.
    header_example: &'static str,
    /// Time at which the key ends.
    expires_at: String,
}

/// Kind of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RedeemedKind {
    /// The key of a bridge pass.
    BridgeKey,
    /// A wallet session.
    WalletSession,
}

impl Operation for RedeemCode {
    const INFO: Info = Info {
        method: Method::Post,
        summary: "Redeem a test code for the key of a pass",
        description: "Takes a code that the operator of this server issued, and answers with a key that gives the access \
            of a bridge pass. The key is in this answer only, and the code gives no second one. The time of the key \
            begins now.",
        cost: Cost::Heavy,
        source: "service",
        freshness: &[Freshness::NOW],
        freshness_semantics: "time of the request",
        errors: &[
            ErrorCode::CodeNotFound,
            ErrorCode::CodeNotRedeemable,
            ErrorCode::RateLimited,
            ErrorCode::StateUnavailable,
        ],
        private: true,
        tool: Tool { effect: Effect::Adds, ..Tool::UNLISTED },
        ..Info::get("redeem_code", "/v1/billing/redeem", "billing")
    };
    type Input = RedeemInput;
    type Output = RedeemOutput;

    fn run(ctx: &Ctx<'_>, input: RedeemInput) -> Result<RedeemOutput, ApiError> {
        let code: CodeSecret = input.code.trim().parse().map_err(|bad| {
            let message = format!("is {bad}: give the whole code as it was issued, beginning with cairn_code_");
            ApiError::validation(Location::Body, "code", &message)
        })?;
        match ctx.with_state(async |state| state.redeem(&code, ctx.now_ms / 1_000).await)? {
            Redemption::Done(key, secret) => Ok(answer(key, secret.expose().to_owned())),
            Redemption::Not(state) => Err(refusal(state)),
            Redemption::Unknown => Err(ApiError::new(
                ErrorCode::CodeNotFound,
                "this server has not issued the code; ask its operator for one, or send it to the server that issued it",
            )),
        }
    }
}

fn answer(key: Key, api_key: String) -> RedeemOutput {
    let (kind, header, header_example) = match key.kind {
        KeyKind::Bridge => (RedeemedKind::BridgeKey, "X-WR-API-Key", "X-WR-API-Key: <key>"),
        KeyKind::Session => (RedeemedKind::WalletSession, "Authorization", "Authorization: Bearer <token>"),
    };
    // A code always gives a key with an end.
    let expires_at = rfc3339_ms(key.expires_at.unwrap_or(key.created_at).saturating_mul(1_000));
    RedeemOutput { api_key, key_id: key.id, kind, header, header_example, expires_at }
}

fn refusal(state: CodeState) -> ApiError {
    let (word, detail) = match state {
        CodeState::Revoked => ("revoked", "the operator has revoked the code; ask for another one"),
        CodeState::Expired => ("expired", "the time of the code is over; ask the operator for another one"),
        CodeState::Redeemed | CodeState::Open => (
            "redeemed",
            "the code has given its key already; if the key is lost, the operator can revoke it and issue another code",
        ),
    };
    ApiError::new(ErrorCode::CodeNotRedeemable, detail).with("state", word)
}
