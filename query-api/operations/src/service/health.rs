//! `GET /api/health`.

use cairn_http::Freshness;

use super::{
    access::{self, Links, Native402Opening, PostBetaModel, Posture, X402Opening, openings},
    catalog::{Package, package},
    dashboard::SnapshotState,
};
use crate::{context::has_gap, operation::prelude::*, troubles::TroubleRow};

pub(crate) struct Health;

/// State of the service.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HealthOutput {
    /// `ok`; `syncing` while the index is empty or behind; `degraded` if a part of the service does not work
    /// (`troubles`), if block files are missing or damaged, if tables of the index are damaged, or if the newest block
    /// is older than a day. `full_status_url` has the reason.
    status: &'static str,
    /// Parts that do not work at present; empty if all work. Indexed data is still served.
    troubles: Vec<TroubleRow>,
    /// Identifier of the service.
    service: &'static str,
    version: &'static str,
    /// `quick`: no diagnosis, only data that is immediately available.
    mode: &'static str,
    product_mode: &'static str,
    beta: bool,
    beta_mode: bool,
    billing_provider: &'static str,
    billing_mode: &'static str,
    billing_paused: bool,
    /// Null while calls are sold.
    billing_paused_reason: Option<&'static str>,
    beta_pricing_active: bool,
    auth_mode: &'static str,
    /// Headers: a paid request needs one of them; `none` during the beta.
    auth_header: &'static str,
    checkout_buy_path: &'static str,
    /// Payment methods of the checkout; empty while it is paused.
    checkout_payment_methods: Vec<&'static str>,
    post_beta_pricing_model: &'static str,
    post_beta_model: PostBetaModel,
    primary_package: Package,
    timestamp_package: Package,
    /// `open` if clients of OpenTimestamps may use this server as a calendar; otherwise `off`.
    timestamp_calendar: &'static str,
    /// Number of operations; one with two paths counts twice.
    endpoints_available: usize,
    beta_notice: Posture,
    beta_posture: Posture,
    #[serde(flatten)]
    links: Links,
    public_l402_enabled: bool,
    /// Capabilities sold through L402 now.
    native_l402_live_capabilities: Vec<&'static str>,
    /// Capabilities sold through x402 now.
    live_x402_capabilities: Vec<&'static str>,
    /// Capabilities of this server that have a price in USD.
    prepared_x402_capabilities: Vec<&'static str>,
    native_402_opening: Native402Opening,
    x402_opening: X402Opening,
    live_data: LiveData,
}

/// State of the data.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LiveData {
    bitcoin_backend: Backend,
    dashboard_snapshot: SnapshotState,
}

/// State of the index.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Backend {
    /// Height of the tip; null before anything is indexed.
    tip_height: Option<u32>,
    tip_hash: Option<String>,
    /// Height of the best known chain; null if unknown.
    best_height: Option<u32>,
    /// Why a height is null; otherwise null.
    reason: Option<&'static str>,
    snapshot_source: &'static str,
}

impl Operation for Health {
    const INFO: Info = Info {
        summary: "State of the service and catalog of its operations",
        description: "Fast liveness check: the tip of the index, the access model, and every operation with its tier. \
            It also answers while the index is empty.",
        cost: Cost::Light,
        source: "service",
        freshness: &[TIP, Freshness::NOW],
        has_ages: true,
        freshness_semantics: "time of the newest block in the index; the rest is current",
        tool: Tool::reads(
            "another tool fails, or you are asked if the service is up to date",
            "the state of the Bitcoin network (network_intelligence)",
        )
        .named("service_health")
        // The catalogs are for programs: search_endpoints answers what agents look for in them.
        .only(&["status", "troubles", "service", "version", "endpoints_available", "live_data", "_meta"]),
        ..index_get("health", "/api/health", "service")
    };
    type Input = NoInput;
    type Output = HealthOutput;

    fn run(ctx: &Ctx<'_>, _: NoInput) -> Result<HealthOutput, ApiError> {
        let tip = ctx.index.map(|view| *view.tip());
        let (config, mode) = (ctx.config, ctx.config.access_mode);
        let openings = openings(ctx);
        let package = |which| package(ctx, which);
        Ok(HealthOutput {
            troubles: TroubleRow::all(ctx.troubles),
            status: match has_gap(ctx.source) || !ctx.damages.tables().is_empty() || !ctx.troubles.is_empty() {
                true => "degraded",
                false if ctx.is_behind() => "syncing",
                false if ctx.old_tip().is_some() => "degraded",
                false => "ok",
            },
            service: "cairn",
            version: env!("CARGO_PKG_VERSION"),
            mode: "quick",
            product_mode: mode.product_mode(),
            beta: !mode.is_live(),
            beta_mode: !mode.is_live(),
            billing_provider: config.payment_backend().unwrap_or("none"),
            billing_mode: mode.billing_mode(),
            billing_paused: config.billing_paused_reason().is_some(),
            billing_paused_reason: config.billing_paused_reason(),
            beta_pricing_active: !mode.is_live(),
            auth_mode: mode.auth_mode(),
            auth_header: mode.auth_header(),
            checkout_buy_path: config.checkout_buy_path(),
            checkout_payment_methods: config.pass_methods(),
            post_beta_pricing_model: access::PRICING_MODEL,
            post_beta_model: access::POST_BETA_MODEL,
            primary_package: package(cairn_http::Package::Primary),
            timestamp_package: package(cairn_http::Package::Timestamp),
            timestamp_calendar: if ctx.has_state() && ctx.chain.timestamps.is_calendar() { "open" } else { "off" },
            endpoints_available: ctx.operations.iter().map(|op| op.described_paths().count()).sum(),
            beta_notice: access::posture(ctx),
            beta_posture: access::posture(ctx),
            links: Links::of(config),
            public_l402_enabled: config.payment_backend().is_some(),
            native_l402_live_capabilities: openings.sold,
            live_x402_capabilities: openings.sold_by_x402,
            prepared_x402_capabilities: openings.prepared_x402,
            native_402_opening: openings.native,
            x402_opening: openings.x402,
            live_data: LiveData {
                bitcoin_backend: Backend {
                    tip_height: tip.map(|t| t.height),
                    tip_hash: tip.map(|t| t.hash.to_string()),
                    best_height: ctx.best_height,
                    reason: match (tip, ctx.best_height) {
                        (None, _) if !ctx.damages.tables().is_empty() => Some("the index is damaged"),
                        (None, _) => Some("nothing has been indexed yet"),
                        (_, None) => Some("no indexer has reported the height of the best known chain"),
                        _ => None,
                    },
                    snapshot_source: "index",
                },
                dashboard_snapshot: SnapshotState::of(ctx),
            },
        })
    }
}
