//! `GET /api/health`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    context::Ctx,
    error::ApiError,
    operation::{Freshness, Info, NoInput, Operation, Registered, Tier},
};

/// State of the service.
pub(crate) struct Health;

/// State of the service.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HealthOutput {
    /// `ok`; `syncing` while the index is empty or behind.
    status: &'static str,
    service: &'static str,
    version: &'static str,
    /// `quick`: no diagnosis, only what is at hand.
    mode: &'static str,
    product_mode: &'static str,
    beta: bool,
    beta_mode: bool,
    billing_provider: &'static str,
    billing_mode: &'static str,
    billing_paused: bool,
    beta_pricing_active: bool,
    auth_mode: &'static str,
    auth_header: &'static str,
    checkout_buy_path: &'static str,
    checkout_payment_methods: Vec<&'static str>,
    public_l402_enabled: bool,
    primary_package: Package,
    /// Operations that answer.
    endpoints_available: usize,
    beta_notice: Notice,
    live_data: LiveData,
}

/// Operations by tier.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Package {
    free: Vec<String>,
    premium: Vec<String>,
    /// Operations that need a wallet session for some requests, in the beta too.
    conditional: Vec<String>,
    effective_free: Vec<String>,
    effective_premium: Vec<String>,
    effective_conditional: Vec<String>,
    endpoint_catalog: Vec<CatalogEntry>,
}

/// An operation in the catalog.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CatalogEntry {
    path: &'static str,
    method: &'static str,
    /// The path, with the method before it if that is not GET.
    endpoint: String,
    summary: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    capability: Option<&'static str>,
    post_beta_tier: Tier,
    effective_tier: &'static str,
    live_access_model: &'static str,
    currently_billable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    future_native_l402_price_sats: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    price_unit: Option<&'static str>,
}

/// What the beta means.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Notice {
    message: &'static str,
    active: bool,
    current_access: &'static str,
    /// Operations that need a wallet session for some requests; empty if the gates are switched off.
    conditional_access_exceptions: Vec<&'static str>,
    billing_paused: bool,
}

/// State of the data.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LiveData {
    bitcoin_backend: Backend,
    dashboard_snapshot: Snapshot,
}

/// State of the index.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Backend {
    /// Null before anything is indexed.
    tip_height: Option<u32>,
    tip_hash: Option<String>,
    /// Height of the best known chain; null if nobody knows.
    best_height: Option<u32>,
    snapshot_source: &'static str,
}

/// The precomputed dashboard.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Snapshot {
    /// `missing`: none is computed.
    status: &'static str,
    cache_age_seconds: Option<f64>,
    stale_after_seconds: u32,
    cached_at: Option<String>,
}

const PAUSED: &str = "paused_during_public_beta";

impl Operation for Health {
    const INFO: Info = Info {
        summary: "State of the service and catalog of its operations",
        description: "Fast liveness: the tip of the index, how the service may be used, and every operation with its \
            tier. Answers while the index is still empty, too.",
        source: "service",
        freshness: &[Freshness::Tip, Freshness::State],
        freshness_semantics: "time of the newest block in the index; the rest is current",
        ..Info::get("health", "/api/health", "service")
    };
    type Input = NoInput;
    type Output = HealthOutput;

    fn run(ctx: &Ctx<'_>, _: NoInput) -> Result<HealthOutput, ApiError> {
        let tip = ctx.index.map(|view| *view.tip());
        let gates = ctx.config.gates_enabled;
        let conditional = |op: &Registered| gates && op.info.conditional;
        Ok(HealthOutput {
            status: if ctx.is_behind() { "syncing" } else { "ok" },
            service: "cairn",
            version: env!("CARGO_PKG_VERSION"),
            mode: "quick",
            product_mode: "public_beta",
            beta: true,
            beta_mode: true,
            billing_provider: "none",
            billing_mode: "beta_free",
            billing_paused: true,
            beta_pricing_active: true,
            auth_mode: "beta_public",
            auth_header: "none",
            checkout_buy_path: PAUSED,
            checkout_payment_methods: Vec::new(),
            public_l402_enabled: false,
            primary_package: package(ctx.operations, conditional),
            endpoints_available: ctx.operations.len(),
            beta_notice: Notice {
                message: "Every operation is free during the public beta, but for the listed exceptions.",
                active: true,
                current_access: "beta_free",
                conditional_access_exceptions: ctx
                    .operations
                    .iter()
                    .filter(|op| conditional(op))
                    .map(|op| op.info.name)
                    .collect(),
                billing_paused: true,
            },
            live_data: LiveData {
                bitcoin_backend: Backend {
                    tip_height: tip.map(|t| t.height),
                    tip_hash: tip.map(|t| t.hash.to_string()),
                    best_height: ctx.best_height,
                    snapshot_source: "index",
                },
                dashboard_snapshot: Snapshot {
                    status: "missing",
                    cache_age_seconds: None,
                    stale_after_seconds: 600,
                    cached_at: None,
                },
            },
        })
    }
}

fn package(operations: &[Registered], conditional: impl Fn(&Registered) -> bool) -> Package {
    let of = |wanted: &dyn Fn(&Registered) -> bool| -> Vec<String> {
        operations.iter().filter(|op| wanted(op)).map(|op| op.info.endpoint()).collect()
    };
    let entry = |op: &Registered| CatalogEntry {
        path: op.info.path,
        method: op.info.method.name(),
        endpoint: op.info.endpoint(),
        summary: op.info.summary,
        capability: op.info.capability,
        post_beta_tier: op.info.tier,
        effective_tier: if conditional(op) { "conditional_free_then_wallet_plus" } else { "beta_free" },
        live_access_model: match op.info.tier {
            _ if conditional(op) => "conditional_free_then_wallet_plus",
            Tier::Free => "free",
            Tier::Premium => "beta_free",
        },
        currently_billable: false,
        future_native_l402_price_sats: op.info.price_sats,
        price_unit: op.info.price_sats.map(|_| "request"),
    };
    Package {
        free: of(&|op| op.info.tier == Tier::Free),
        premium: of(&|op| op.info.tier == Tier::Premium),
        conditional: of(&|op| conditional(op)),
        effective_free: of(&|op| !conditional(op)),
        effective_premium: Vec::new(),
        effective_conditional: of(&|op| conditional(op)),
        endpoint_catalog: operations.iter().map(entry).collect(),
    }
}
