//! `GET /v1/billing/catalog`.

use std::collections::BTreeMap;

use cairn_http::{
    ApiError, CHECKOUT_PAGE, Cost, Freshness, GETTING_STARTED_PAGE, Info, NoInput, Offer, Tier, Tool, Unit,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    context::Ctx,
    operation::Operation,
    service::{access, catalog::is_conditional},
};

/// Plans, payment methods and prices.
pub(crate) struct BillingCatalog;

/// Days of the pass.
const PASS_DAYS: u32 = 31;

/// Plans, payment methods and prices.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BillingCatalogOutput {
    /// `public_beta`.
    product_mode: &'static str,
    /// True while nothing is sold.
    billing_paused: bool,
    billing_paused_reason: &'static str,
    checkout_buy_path: &'static str,
    plans: Vec<Plan>,
    /// Ways to pay for a plan.
    payment_methods: Vec<String>,
    /// Reason for an empty list.
    payment_methods_reason: Option<&'static str>,
    /// Capabilities that have a price per call, by name.
    capabilities: Vec<PricedCapability>,
    /// How a test code of the operator becomes a key; works while nothing is sold.
    test_codes: TestCodes,
    checkout_page_url: String,
    getting_started_url: String,
}

/// A plan.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Plan {
    plan_id: &'static str,
    description: &'static str,
    duration_days: u32,
    currency: &'static str,
    /// Price of the plan; null if the operator has set none.
    price_sats: Option<u64>,
    price_sats_reason: Option<&'static str>,
    /// True if the plan can be bought now.
    for_sale: bool,
    /// The request header that takes the key of the plan.
    header: &'static str,
    /// Operations with requests that need a wallet session: the plan opens these requests.
    opens: Vec<String>,
}

/// A capability with a price for each call.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PricedCapability {
    capability: &'static str,
    /// Its operations, each prefixed with the method unless it is GET.
    endpoints: Vec<String>,
    /// Tier after the beta: `free` for a price that is prepared and not asked for.
    post_beta_tier: Tier,
    /// True if a call has to be paid now.
    currently_billable: bool,
    /// Price in satoshis; null if there is only one in US dollars.
    future_native_l402_price_sats: Option<u64>,
    /// Price in US dollars; null if there is only one in satoshis.
    future_x402_price_usd: Option<&'static str>,
    /// Unit of the price.
    price_unit: Option<Unit>,
}

/// How a test code becomes a key.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TestCodes {
    endpoint: &'static str,
    /// Who issues test codes.
    issued_by: &'static str,
}

impl Operation for BillingCatalog {
    const INFO: Info = Info {
        summary: "Plans, payment methods and prices per call, and whether they are sold now",
        description: "Lists the pass and the prices per call, as they will be after the public beta. Nothing is sold \
            during the beta: plans have no price then, and prices per call are announcements. The price list of all \
            operations with their tiers is in /api/health.",
        cost: Cost::Light,
        source: "service",
        freshness: &[Freshness::STATE],
        freshness_semantics: "start of the server; prices change with its version and its settings",
        tool: Tool::UNLISTED,
        ..Info::get("billing_catalog", "/v1/billing/catalog", "billing")
    };
    type Input = NoInput;
    type Output = BillingCatalogOutput;

    fn run(ctx: &Ctx<'_>, _: NoInput) -> Result<BillingCatalogOutput, ApiError> {
        let at = |path: &str| format!("{}{path}", ctx.config.base_url);
        Ok(BillingCatalogOutput {
            product_mode: access::PRODUCT_MODE,
            billing_paused: true,
            billing_paused_reason: access::PAUSED_REASON,
            checkout_buy_path: access::BUY_PATH,
            plans: vec![pass(ctx)],
            payment_methods: Vec::new(),
            payment_methods_reason: Some("nothing is sold during the public beta"),
            capabilities: capabilities(ctx),
            test_codes: TestCodes { endpoint: "POST /v1/billing/redeem", issued_by: "the operator of this server" },
            checkout_page_url: at(CHECKOUT_PAGE),
            getting_started_url: at(GETTING_STARTED_PAGE),
        })
    }
}

/// The pass, as the beta has it.
fn pass(ctx: &Ctx<'_>) -> Plan {
    let opened = ctx.operations.iter().filter(|op| is_conditional(op, ctx.config));
    Plan {
        plan_id: "wallet-monthly",
        description: "Pass of 31 days: its key opens what needs a wallet session",
        duration_days: PASS_DAYS,
        currency: "BTC",
        price_sats: None,
        price_sats_reason: Some("nothing is sold during the public beta"),
        for_sale: false,
        header: "X-WR-API-Key",
        opens: opened.flat_map(|op| op.described_paths().map(|path| op.info.endpoint_at(path))).collect(),
    }
}

/// Capabilities that have a price per call, by name.
fn capabilities(ctx: &Ctx<'_>) -> Vec<PricedCapability> {
    let mut found: BTreeMap<&'static str, (Offer, Vec<String>)> = BTreeMap::new();
    for op in ctx.operations {
        let Some(name) = op.offer.capability else { continue };
        let endpoints = op.described_paths().map(|path| op.info.endpoint_at(path));
        found.entry(name).or_insert_with(|| (op.offer, Vec::new())).1.extend(endpoints);
    }
    let priced = found.into_iter().map(|(capability, (offer, endpoints))| PricedCapability {
        capability,
        endpoints,
        post_beta_tier: offer.tier,
        currently_billable: false,
        future_native_l402_price_sats: offer.price_sats,
        future_x402_price_usd: offer.x402_usd,
        price_unit: offer.unit,
    });
    priced.collect()
}
