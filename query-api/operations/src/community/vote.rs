//! `POST /v1/community/reports/{report_id}/vote`.

use cairn_http::{Effect, Freshness, Method};
use cairn_state::{VOTE_WINDOW, Voting};

use super::judged::{JudgedReport, ReportState};
use crate::{client_hashes::client_hashes, config::VotesPer, operation::prelude::*, values::rfc3339_ms};

/// How often a vote is counted again after the key of clients' hashes has changed.
const TRIES: usize = 3;

pub(crate) struct VoteReport;

/// The vote.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct VoteReportInput {
    /// Id of the report.
    #[schemars(length(min = 1, max = 64), example = &"rp_00000000000000000000000000000000")]
    report_id: String,
    /// `up`: the report is right; `down`: it is not.
    #[schemars(example = &"up")]
    vote: Vote,
}

/// A vote.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Vote {
    /// For the report.
    Up,
    /// Against it.
    Down,
}

/// The votes after this one.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VoteReportOutput {
    report_id: String,
    /// `up` less `down`.
    score: i64,
    /// Votes for the report.
    up: u64,
    /// Votes against it.
    down: u64,
    /// Time from which on this client can vote again.
    next_vote_at: String,
}

impl Operation for VoteReport {
    const INFO: Info = Info {
        method: Method::Post,
        summary: "Vote for or against a published community report",
        description: "Counts a vote about a published community report. A client (an IPv4 address, or a /64 of IPv6) has one \
            vote in 24 hours, over all reports unless the operator has set otherwise. A second one is 429 `vote_limit` \
            with `Retry-After`. Of the address only a keyed hash is stored, which is deleted when the key changes after the vote's 24 hours.",
        source: "service",
        freshness: &[Freshness::NOW, TIP, MEMPOOL],
        freshness_semantics: "time of the request",
        errors: &[
            ErrorCode::ReportNotFound,
            ErrorCode::ReportNotPublished,
            ErrorCode::VoteLimit,
            ErrorCode::StateUnavailable,
            ErrorCode::PaymentsNotConfigured,
        ],
        tool: Tool { effect: Effect::Adds, ..Tool::UNLISTED },
        ..Info::get("vote_report", "/v1/community/reports/{report_id}/vote", "community")
    };
    type Input = VoteReportInput;
    type Output = VoteReportOutput;

    fn run(ctx: &Ctx<'_>, input: VoteReportInput) -> Result<VoteReportOutput, ApiError> {
        let judged = JudgedReport::find(ctx, &input.report_id)?;
        let now = ctx.now_ms / 1_000;
        if judged.state() == ReportState::Pending {
            let note = judged.note(now).unwrap_or_else(|| "Its payment is not confirmed.".to_owned());
            return Err(ApiError::new(ErrorCode::ReportNotPublished, format!("the report is not published: {note}")));
        }
        let id = judged.report.id;
        let scope = match ctx.chain.payments.votes_per {
            VotesPer::Client => "vote".to_owned(),
            VotesPer::ClientAndReport => format!("vote:{id}"),
        };
        for _ in 0..TRIES {
            let client = client_hashes(ctx, &scope)?;
            let is_up = input.vote == Vote::Up;
            match ctx.with_state(async |state| state.vote(&id, &client, is_up, now).await)? {
                Voting::KeysChanged => {}
                Voting::Unknown => return Err(ApiError::new(ErrorCode::ReportNotFound, "the report is gone")),
                Voting::TooSoon { next } => return Err(too_soon(next, now)),
                Voting::Counted { up, down } => {
                    let signed = |votes: u64| i64::try_from(votes).unwrap_or(i64::MAX);
                    let next = now.saturating_add(VOTE_WINDOW);
                    return Ok(VoteReportOutput {
                        report_id: id,
                        score: signed(up).saturating_sub(signed(down)),
                        up,
                        down,
                        next_vote_at: rfc3339_ms(next.saturating_mul(1_000)),
                    });
                }
            }
        }
        Err(ApiError::unavailable(ErrorCode::StateUnavailable, "the key of votes is changing; nothing was counted", 5))
    }
}

fn too_soon(next: u64, now: u64) -> ApiError {
    let at = rfc3339_ms(next.saturating_mul(1_000));
    let wait = u32::try_from(next.saturating_sub(now)).unwrap_or(u32::MAX).max(1);
    let detail = format!("this client has voted already; it can vote again at {at}");
    ApiError::new(ErrorCode::VoteLimit, detail).retryable(Some(wait)).with("next_vote_at", at)
}
