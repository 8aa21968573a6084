//! `GET /v1/dashboard`: the precomputed dashboard of the network, and its state for `/api/health`.

use cairn_http::Versions;
use serde_json::{Map, Value};

use crate::{
    context::SNAPSHOT,
    operation::prelude::*,
    values::{Decimal, rfc3339_ms},
};

pub(crate) struct Dashboard;

/// Operations whose answers it has, by name.
pub(crate) const PARTS: [&str; 3] = ["network_summary", "onchain_stats", "pulse_summary"];
/// Age in seconds above which it is stale.
const STALE_AFTER: u32 = 600;

/// The state of the precomputed dashboard.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SnapshotState {
    /// `fresh`; `stale` if it is older than `stale_after_seconds`; `missing` if there is none.
    status: &'static str,
    cache_age_seconds: Option<Decimal<3>>,
    stale_after_seconds: u32,
    cached_at: Option<String>,
    /// Why the times are null; otherwise null.
    reason: Option<&'static str>,
}

/// The precomputed dashboard.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DashboardOutput {
    snapshot: SnapshotState,
    /// Answer of `/v1/network/summary` at the time of the dashboard.
    summary: Option<Map<String, Value>>,
    /// Why `summary` is null; otherwise null.
    summary_reason: Option<String>,
    /// Answer of `/v1/onchain` at the time of the dashboard.
    onchain: Option<Map<String, Value>>,
    /// Why `onchain` is null; otherwise null.
    onchain_reason: Option<String>,
    /// Answer of `/v1/pulse/summary` at the time of the dashboard.
    pulse: Option<Map<String, Value>>,
    /// Why `pulse` is null; otherwise null.
    pulse_reason: Option<String>,
}

const NONE_YET: &str = "no dashboard has been computed yet";

impl SnapshotState {
    pub(crate) fn add_version(ctx: &Ctx<'_>, versions: &mut Versions) {
        let made = ctx.snapshot.as_ref().map_or(u64::MAX, |snapshot| snapshot.made_at_ms);
        versions.add(&made.to_be_bytes());
        versions.add(SnapshotState::of(ctx).status.as_bytes());
    }

    pub(crate) fn of(ctx: &Ctx<'_>) -> Self {
        let made = ctx.snapshot.as_ref().map(|snapshot| snapshot.made_at_ms);
        // A clock that was set back does not make it younger than new.
        let age_ms = made.map(|made| ctx.now_ms.saturating_sub(made));
        SnapshotState {
            status: match age_ms {
                None => "missing",
                Some(age) if age / 1000 > u64::from(STALE_AFTER) => "stale",
                Some(_) => "fresh",
            },
            cache_age_seconds: age_ms.map(|age| Decimal(age.into())),
            stale_after_seconds: STALE_AFTER,
            cached_at: made.map(rfc3339_ms),
            reason: made.is_none().then_some(NONE_YET),
        }
    }
}

impl Operation for Dashboard {
    const INFO: Info = Info {
        summary: "The state of the network at a glance, computed in advance",
        description: "The answers of /v1/network/summary, /v1/onchain and /v1/pulse/summary of the last minute. The \
            server computes them each minute, so that this answer costs almost nothing. `snapshot` has their age; each \
            part has its own `_meta`.",
        cost: Cost::Light,
        source: "index+mempool",
        // The age of the answer alone does not make another version of it.
        freshness: &[SNAPSHOT, TIP],
        freshness_semantics: "time of the newest block in the index; `snapshot.cached_at` is when the parts were computed",
        tool: Tool::UNLISTED,
        ..index_get("dashboard", "/v1/dashboard", "service")
    };
    type Input = NoInput;
    type Output = DashboardOutput;

    fn run(ctx: &Ctx<'_>, _: NoInput) -> Result<DashboardOutput, ApiError> {
        let part = |name| -> Result<Map<String, Value>, String> {
            let snapshot = ctx.snapshot.as_ref().ok_or(NONE_YET)?;
            let answer = snapshot.answers.get(name).ok_or("this server does not have the operation")?;
            serde_json::from_slice(answer.as_ref().map_err(String::clone)?).map_err(|error| {
                tracing::error!(%error, name, "a precomputed answer is not a JSON object");
                "the answer could not be read".to_owned()
            })
        };
        let told = |part: Result<_, String>| match part {
            Ok(part) => (Some(part), None),
            Err(reason) => (None, Some(reason)),
        };
        let [(summary, summary_reason), (onchain, onchain_reason), (pulse, pulse_reason)] =
            PARTS.map(|name| told(part(name)));
        Ok(DashboardOutput {
            snapshot: SnapshotState::of(ctx),
            summary,
            summary_reason,
            onchain,
            onchain_reason,
            pulse,
            pulse_reason,
        })
    }
}
