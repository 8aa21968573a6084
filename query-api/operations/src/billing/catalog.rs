//! `GET /v1/billing/catalog`.

use std::collections::BTreeMap;

use cairn_http::{
    CHECKOUT_PAGE, CheckoutPause, EffectiveTier, Freshness, GETTING_STARTED_PAGE, PASS_DAYS, PASS_PLAN,
    RegisteredOperation, Tier, Unit,
};

use crate::{operation::prelude::*, service::access::NO_BACKEND};

/// Plans, payment methods and prices.
pub(crate) struct BillingCatalog;

const BETA: &str = "nothing is sold during the public beta";

/// Plans, payment methods and prices.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BillingCatalogOutput {
    /// `public_beta` or `live`.
    product_mode: &'static str,
    /// True while nothing is sold.
    billing_paused: bool,
    /// Null while calls or passes are sold.
    billing_paused_reason: Option<&'static str>,
    checkout_buy_path: &'static str,
    plans: Vec<Plan>,
    /// Ways to pay. `lightning_l402` and `x402` pay for single calls; each plan names its own ways.
    payment_methods: Vec<&'static str>,
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
    /// How the plan can be paid: values of `payment_method_id` of POST /v1/billing/checkout.
    payment_methods: Vec<&'static str>,
    /// The request header that takes the key of the plan.
    header: &'static str,
    /// Operations with requests that need a payment or a wallet session: the plan opens these requests.
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
    /// Ways to pay for a call now, of `payment_methods`; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    payment_methods: Vec<&'static str>,
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
        description: "Lists the pass and the prices per call of the time after the public beta, and says whether they \
            are sold now. Nothing is sold during the beta: plans have no price then, and prices per call are \
            announcements. POST /v1/billing/checkout buys a plan that is for sale. The price list of all operations with their tiers is in /api/health.",
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
        let (config, mode) = (ctx.config, ctx.config.access_mode);
        let at = |path: &str| format!("{}{path}", config.base_url);
        let calls = config.payment_methods().into_iter();
        let payment_methods: Vec<&str> = calls.chain(config.pass_methods()).collect();
        Ok(BillingCatalogOutput {
            product_mode: mode.product_mode(),
            billing_paused: config.billing_paused_reason().is_some(),
            billing_paused_reason: config.billing_paused_reason(),
            checkout_buy_path: config.checkout_buy_path(),
            plans: vec![pass(ctx)],
            payment_methods_reason: payment_methods.is_empty().then(|| mode.word(BETA, NO_BACKEND)),
            payment_methods,
            capabilities: capabilities(ctx),
            test_codes: TestCodes { endpoint: "POST /v1/billing/redeem", issued_by: "the operator of this server" },
            checkout_page_url: at(CHECKOUT_PAGE),
            getting_started_url: at(GETTING_STARTED_PAGE),
        })
    }
}

/// The pass, with its price while it is sold.
fn pass(ctx: &Ctx<'_>) -> Plan {
    let (config, mode) = (ctx.config, ctx.config.access_mode);
    let sold = config.pass_for_sale();
    let opened = ctx.operations.iter().filter(|op| !EffectiveTier::of(op, config).is_open());
    Plan {
        plan_id: PASS_PLAN,
        description: mode.word(
            "Pass of 31 days: its key opens what needs a wallet session",
            "Pass of 31 days: its key opens what needs a payment or a wallet session",
        ),
        duration_days: PASS_DAYS,
        currency: "BTC",
        price_sats: sold.map(|offer| offer.price_sats).ok(),
        price_sats_reason: sold.err().map(CheckoutPause::reason),
        for_sale: sold.is_ok(),
        payment_methods: config.pass_methods(),
        header: "X-WR-API-Key",
        opens: opened.flat_map(endpoints).collect(),
    }
}

/// Capabilities that have a price per call, by name.
fn capabilities(ctx: &Ctx<'_>) -> Vec<PricedCapability> {
    let mut found: BTreeMap<&'static str, Vec<&RegisteredOperation>> = BTreeMap::new();
    for op in ctx.operations.iter().filter(|op| op.offer.price_sats.is_some() || op.offer.x402_usd.is_some()) {
        let Some(name) = op.offer.capability else { continue };
        found.entry(name).or_default().push(op);
    }
    let priced = found.into_iter().filter_map(|(capability, operations)| {
        let first = operations.first()?;
        let offer = first.offer;
        Some(PricedCapability {
            capability,
            post_beta_tier: offer.tier,
            currently_billable: operations.iter().all(|op| ctx.config.is_billable(op)),
            future_native_l402_price_sats: offer.price_sats,
            future_x402_price_usd: offer.x402_usd,
            price_unit: offer.unit,
            payment_methods: ctx.config.payment_methods_of(first),
            endpoints: operations.into_iter().flat_map(endpoints).collect(),
        })
    });
    priced.collect()
}

/// The endpoints of an operation, each prefixed with the method unless it is GET.
fn endpoints(op: &RegisteredOperation) -> impl Iterator<Item = String> {
    op.described_paths().map(move |path| op.info.endpoint_at(path))
}
