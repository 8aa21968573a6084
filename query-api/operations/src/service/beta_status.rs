//! `GET /v1/beta-status`.

use cairn_http::{Freshness, WINDOW};

use super::access::{self, Links, Posture};
use crate::operation::prelude::*;

/// The access rules and limits in force.
pub(crate) struct BetaStatus;

/// The access rules and limits in force.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BetaStatusOutput {
    /// `public_beta` or `live`.
    product_mode: &'static str,
    billing_mode: &'static str,
    /// `beta_public`: no account is needed. `payment_or_key`: premium operations need a payment, a key or a session.
    auth_mode: &'static str,
    #[serde(flatten)]
    posture: Posture,
    guardrails: Vec<Guardrail>,
    #[serde(flatten)]
    links: Links,
}

/// A limit in force.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Guardrail {
    /// Stable name.
    name: &'static str,
    /// The limit, in `unit`; null if it is disabled.
    limit: Option<u64>,
    unit: &'static str,
    /// Behaviour above the limit.
    beyond: &'static str,
}

/// The limits under this configuration.
pub(crate) fn guardrails(ctx: &Ctx<'_>) -> Vec<Guardrail> {
    let config = ctx.config;
    let guardrail = |name, limit: u64, unit, beyond| Guardrail { name, limit: Some(limit), unit, beyond };
    vec![
        Guardrail {
            name: "rate_limit",
            limit: config.limits_clients().then_some(config.rate_limit.into()),
            unit: "cost units per client and minute",
            beyond: "429 rate_limited, with Retry-After",
        },
        guardrail("rate_limit_window", WINDOW.as_secs(), "seconds", "the budget is full again"),
        guardrail("request_timeout", config.request_timeout.as_secs(), "seconds", "504 timeout"),
        guardrail("request_body", config.max_body_bytes as u64, "bytes", "413 payload_too_large"),
        guardrail(
            "concurrent_requests",
            config.max_concurrent_reads as u64,
            "requests per cost class; a quarter of it for heavy requests",
            "the request waits",
        ),
        guardrail("queued_requests", config.max_queued_requests as u64, "requests", "503 overloaded, with Retry-After"),
        guardrail(
            "connections",
            config.max_connections as u64,
            "open connections of all clients",
            "503 overloaded, and the connection is closed",
        ),
        guardrail(
            "connections_per_client",
            config.max_connections_per_client as u64,
            "open connections of one client",
            "429 too_many_connections, and the connection is closed",
        ),
    ]
}

impl Operation for BetaStatus {
    const INFO: Info = Info {
        summary: "State of the public beta and the limits in force",
        description: "The free operations, those that need a session even during the beta, the changes after it, and \
            the limits in force with their values. For the catalog of operations use /api/health.",
        cost: Cost::Light,
        source: "service",
        freshness: &[Freshness::STATE, TIP],
        freshness_semantics: "time of the newest block in the index; the rest is current",
        tool: Tool::UNLISTED,
        ..index_get("beta_status", "/v1/beta-status", "service")
    };
    type Input = NoInput;
    type Output = BetaStatusOutput;

    fn run(ctx: &Ctx<'_>, _: NoInput) -> Result<BetaStatusOutput, ApiError> {
        let mode = ctx.config.access_mode;
        Ok(BetaStatusOutput {
            product_mode: mode.product_mode(),
            billing_mode: mode.billing_mode(),
            auth_mode: mode.auth_mode(),
            posture: access::posture(ctx),
            guardrails: guardrails(ctx),
            links: Links::of(ctx.config),
        })
    }
}
