//! Access and payment in the mode in force, for `/api/health`, `/v1/beta-status` and `/v1/billing/catalog`.

use std::collections::BTreeSet;

use cairn_http::{AccessMode, HttpConfig, Offer, Unit, X402Gate};
use schemars::JsonSchema;
use serde::Serialize;

use super::catalog::is_conditional;
use crate::context::Ctx;

/// Name of the model after the beta.
pub(crate) const PRICING_MODEL: &str = "free_tier_plus_per_call_402";

/// The access rules in force.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "BetaPosture")]
pub(crate) struct Posture {
    /// The access rules in one sentence.
    pub(crate) message: String,
    /// True during the beta.
    pub(crate) active: bool,
    /// Reason for the access model.
    pub(crate) reason: &'static str,
    pub(crate) current_access: &'static str,
    /// Operations that need a wallet session for some requests, by name; empty if the gates are disabled.
    pub(crate) conditional_access_exceptions: Vec<&'static str>,
    pub(crate) billing_paused: bool,
    pub(crate) checkout_buy_path: &'static str,
    pub(crate) rate_limits_active: bool,
    pub(crate) post_beta_pricing_model: &'static str,
    pub(crate) post_beta_model: PostBetaModel,
}

/// Payment model after the beta.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PostBetaModel {
    free_tier_remains: bool,
    paid_access: &'static str,
    native_l402_unit: &'static str,
    x402_asset: &'static str,
    bridge_pass: &'static str,
}

pub(crate) const POST_BETA_MODEL: PostBetaModel = PostBetaModel {
    free_tier_remains: true,
    paid_access: "per_call_402",
    native_l402_unit: "sats",
    x402_asset: "USDC",
    bridge_pass: "fallback_or_founder_testing",
};

/// The access rules under this configuration.
pub(crate) fn posture(ctx: &Ctx<'_>) -> Posture {
    let (config, mode) = (ctx.config, ctx.config.access_mode);
    let gated = ctx.operations.iter().filter(|op| is_conditional(op, config)).map(|op| op.info.name);
    let exceptions: Vec<&'static str> = gated.collect();
    let rule = mode.word(
        "Every operation is free and needs no account during the public beta",
        "The public beta is over: a premium operation needs a payment for each call, a key or a wallet session; every \
         other one is free and needs no account",
    );
    let but = if exceptions.is_empty() { "" } else { ", except for the listed operations" };
    Posture {
        message: format!("{rule}{but}."),
        active: !mode.is_live(),
        reason: mode.product_mode(),
        current_access: mode.billing_mode(),
        conditional_access_exceptions: exceptions,
        billing_paused: config.billing_paused_reason().is_some(),
        checkout_buy_path: config.checkout_buy_path(),
        rate_limits_active: config.limits_clients(),
        post_beta_pricing_model: PRICING_MODEL,
        post_beta_model: POST_BETA_MODEL,
    }
}

/// URLs in answers about the service.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Links {
    pub(crate) beta_status_url: String,
    pub(crate) full_status_url: String,
    pub(crate) checkout_page_url: String,
}

impl Links {
    /// URLs under this base URL.
    pub(crate) fn of(config: &HttpConfig) -> Self {
        let at = |path: &str| format!("{}{path}", config.base_url);
        Links {
            beta_status_url: at("/v1/beta-status"),
            full_status_url: at("/api/health/full"),
            checkout_page_url: at("/checkout"),
        }
    }
}

/// State of payment by L402.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Native402Opening {
    /// `open`; `closed_no_backend` if no Lightning backend is configured; `prepared_but_closed` during the beta.
    status: &'static str,
    status_reason: &'static str,
    /// True if the operator has enabled payment by L402.
    operator_gate_enabled: bool,
    /// Capabilities that the operator has configured for sale.
    configured_capabilities: Vec<&'static str>,
    /// Recommended capabilities that this server has.
    eligible_first_wave_capabilities: Vec<&'static str>,
    /// Configured capabilities without a fixed price.
    unsafe_configured_capabilities: Vec<&'static str>,
    /// Configured but unknown capabilities.
    ignored_configured_capabilities: Vec<&'static str>,
    public_opening_ready: bool,
    /// Sold first: capabilities with a fixed price of at most 100 satoshis per request.
    recommended_first_wave: Vec<&'static str>,
    /// Sold later: expensive capabilities, those priced per address, and those with a variable price.
    blocked_or_later_capabilities: Vec<&'static str>,
    timestamp_submit_quote_model: &'static str,
    debit_model: &'static str,
}

/// State of payment by x402.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct X402Opening {
    /// `prepared_but_closed`: no payment is settled; `open`: payments are settled.
    status: &'static str,
    status_reason: &'static str,
    /// True if the operator has configured a facilitator.
    operator_gate_enabled: bool,
    /// True if the operator has opened the settlement: payments are settled.
    live_gate_enabled: bool,
    /// Capabilities that the operator has configured for sale.
    configured_capabilities: Vec<&'static str>,
    /// Recommended capabilities that this server has.
    eligible_first_wave_capabilities: Vec<&'static str>,
    /// Prepared capabilities that this server has.
    eligible_prepared_capabilities: Vec<&'static str>,
    /// Configured capabilities without a fixed price.
    unsafe_configured_capabilities: Vec<&'static str>,
    /// Live capabilities without a fixed price.
    live_unsafe_configured_capabilities: Vec<&'static str>,
    /// Configured but unknown capabilities.
    ignored_configured_capabilities: Vec<&'static str>,
    public_opening_ready: bool,
    /// Sold first: capabilities with a fixed price per request.
    recommended_first_wave: Vec<&'static str>,
    /// All capabilities with a price in USD.
    recommended_prepared_candidates: Vec<&'static str>,
    debit_model: &'static str,
}

const CLOSED: &str = "prepared_but_closed";
const CLOSED_REASON: &str = "nothing is billed during the public beta";
/// Why nothing is sold in live mode.
pub(crate) const NO_BACKEND: &str = "the operator has configured no Lightning backend";
const DEBIT_MODEL: &str = "one_payment_per_request";
/// A capability whose price depends on current fees.
const MOVING_PRICE: &str = "timestamp_submit";
/// Highest price in the first wave, in satoshis.
const FIRST_WAVE_SATS: u64 = 100;

/// Names of capabilities, unique and sorted.
fn names<'a>(offers: impl Iterator<Item = &'a Offer>, wanted: impl Fn(&Offer) -> bool) -> Vec<&'static str> {
    let found: BTreeSet<&'static str> = offers.filter(|o| wanted(o)).filter_map(|o| o.capability).collect();
    found.into_iter().collect()
}

fn first_wave(offer: &Offer) -> bool {
    let cheap = offer.price_sats.is_some_and(|price| price <= FIRST_WAVE_SATS);
    cheap && offer.unit == Some(Unit::Request) && offer.capability != Some(MOVING_PRICE)
}

fn x402_first_wave(offer: &Offer) -> bool {
    offer.x402_usd.is_some() && offer.unit == Some(Unit::Request)
}

/// Status of payment by L402, and its reason.
fn native_status(config: &HttpConfig) -> (&'static str, &'static str) {
    match (config.access_mode, config.payment_backend()) {
        (AccessMode::Beta, _) => (CLOSED, CLOSED_REASON),
        (AccessMode::Live, None) => ("closed_no_backend", NO_BACKEND),
        (AccessMode::Live, Some(_)) => ("open", "calls of the configured capabilities are sold over Lightning"),
    }
}

/// State of payments for the operations of this server.
pub(crate) struct Openings {
    pub(crate) native: Native402Opening,
    pub(crate) x402: X402Opening,
    /// Capabilities that are sold over Lightning now.
    pub(crate) sold: Vec<&'static str>,
    pub(crate) sold_by_x402: Vec<&'static str>,
    /// Capabilities of this server that have a price in dollars.
    pub(crate) prepared_x402: Vec<&'static str>,
}

/// Both payment protocols.
pub(crate) fn openings(ctx: &Ctx<'_>) -> Openings {
    let (config, mode) = (ctx.config, ctx.config.access_mode);
    let built = || ctx.operations.iter().map(|op| &op.offer);
    let all = || built().chain(ctx.planned.iter().map(|p| &p.offer));
    let sold = ctx.operations.iter().filter(|op| config.sells_over_lightning(op)).map(|op| &op.offer);
    let sold = names(sold, |_| true);
    let prepared = names(built(), |o| o.x402_usd.is_some());
    let sold_by_x402 = ctx.operations.iter().filter(|op| config.sells_by_x402(op)).map(|op| &op.offer);
    let sold_by_x402 = names(sold_by_x402, |_| true);
    let (x402_gate, is_x402_open) = (config.x402_gate(), config.is_x402_open());
    let (status, status_reason) = native_status(config);
    Openings {
        native: Native402Opening {
            status,
            status_reason,
            operator_gate_enabled: mode.is_live(),
            configured_capabilities: sold.clone(),
            eligible_first_wave_capabilities: names(built(), first_wave),
            unsafe_configured_capabilities: Vec::new(),
            ignored_configured_capabilities: Vec::new(),
            public_opening_ready: config.payment_backend().is_some(),
            recommended_first_wave: names(all(), first_wave),
            blocked_or_later_capabilities: names(all(), |o| o.price_sats.is_some() && !first_wave(o)),
            timestamp_submit_quote_model: "service_fee_plus_dynamic_anchor_fee_share",
            debit_model: DEBIT_MODEL,
        },
        x402: X402Opening {
            status: if is_x402_open { "open" } else { CLOSED },
            status_reason: match x402_gate {
                X402Gate::Open => "a call is paid with the token that its 402 answer names",
                X402Gate::Closed => "the operator has not opened the settlement of x402 payments",
                X402Gate::Off => mode.word(CLOSED_REASON, "the operator has configured no facilitator of x402"),
            },
            operator_gate_enabled: x402_gate != X402Gate::Off,
            live_gate_enabled: is_x402_open,
            configured_capabilities: sold_by_x402.clone(),
            eligible_first_wave_capabilities: names(built(), x402_first_wave),
            eligible_prepared_capabilities: prepared.clone(),
            unsafe_configured_capabilities: Vec::new(),
            live_unsafe_configured_capabilities: Vec::new(),
            ignored_configured_capabilities: Vec::new(),
            public_opening_ready: is_x402_open,
            recommended_first_wave: names(all(), x402_first_wave),
            recommended_prepared_candidates: names(all(), |o| o.x402_usd.is_some()),
            debit_model: DEBIT_MODEL,
        },
        sold,
        sold_by_x402,
        prepared_x402: prepared,
    }
}
