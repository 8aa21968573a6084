//! The catalog of operations, by package and tier.

use cairn_http::{EffectiveTier, HttpConfig, RegisteredOperation, Tier, Unit};

use crate::operation::prelude::*;
use crate::wallets::union::{FREE_TXS, MAX_TXS};

/// Operations of a package, by tier.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Package {
    /// Operations that are free after the beta.
    free: Vec<String>,
    /// Operations that are paid after the beta.
    premium: Vec<String>,
    /// Operations that need a wallet session for some requests, also during the beta.
    conditional: Vec<String>,
    /// Operations that are free now.
    effective_free: Vec<String>,
    /// Operations that are paid now.
    effective_premium: Vec<String>,
    /// Operations that need a wallet session for some requests now.
    effective_conditional: Vec<String>,
    /// All operations of the package.
    endpoint_catalog: Vec<CatalogEntry>,
}

/// An operation in the catalog.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CatalogEntry {
    path: &'static str,
    method: &'static str,
    /// The path, prefixed with the method unless it is GET.
    endpoint: String,
    /// The path under which this operation is listed as well; absent unless this entry is an alias.
    #[serde(skip_serializing_if = "Option::is_none")]
    alias_of: Option<&'static str>,
    summary: &'static str,
    /// Name of the capability that is sold.
    #[serde(skip_serializing_if = "Option::is_none")]
    capability: Option<&'static str>,
    post_beta_tier: Tier,
    /// `beta_free` or `conditional_free_then_wallet_plus`; after the beta also `free` and `paid_per_call`.
    effective_tier: &'static str,
    /// `free`, `beta_free` or `conditional_free_then_wallet_plus`; after the beta `paid_per_call`, not `beta_free`.
    live_access_model: &'static str,
    /// True if a call needs a payment, a key or a session now; false throughout the beta.
    currently_billable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    future_native_l402_price_sats: Option<u64>,
    /// Unit of the price.
    #[serde(skip_serializing_if = "Option::is_none")]
    price_unit: Option<Unit>,
    /// Price in USD for x402, if one is planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    future_x402_price_usd: Option<&'static str>,
    /// Ways to pay for a call now; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    payment_methods: Vec<&'static str>,
    /// Requests that need a wallet session; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    conditional_access: Option<ConditionalAccess>,
}

/// Requests of an operation that need a wallet session.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConditionalAccess {
    /// Deciding quantity: `transaction_page`, the position of the page in the history; `wallet_transaction_count`, how
    /// many confirmed transactions there are.
    basis: &'static str,
    /// Number of pages, from the first, that need no session.
    #[serde(skip_serializing_if = "Option::is_none")]
    free_max_pages: Option<u32>,
    /// Maximum number of transactions that need no session.
    #[serde(skip_serializing_if = "Option::is_none")]
    free_max_transactions: Option<u64>,
    /// Addresses whose whole history is public.
    public_showcase_addresses: Vec<String>,
    /// Credentials that give access to the rest.
    upgrade_access: &'static str,
    /// Maximum number of transactions for an answer, except for showcase addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    hard_max_transactions: Option<u64>,
    /// HTTP status of a request above that limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    over_hard_limit_status: Option<u16>,
}

/// Name of the operation whose access stays conditional in the live model.
pub(crate) const WALLET_PNL: &str = "wallet_pnl";

/// True if some requests need a wallet session now.
pub(crate) fn is_conditional(op: &RegisteredOperation, config: &HttpConfig) -> bool {
    EffectiveTier::of(op, config) == EffectiveTier::Conditional
}

pub(crate) fn package(ctx: &Ctx<'_>, which: cairn_http::Package) -> Package {
    let config = ctx.config;
    let members: Vec<&RegisteredOperation> = ctx.operations.iter().filter(|op| op.offer.package == which).collect();
    let of = |wanted: &dyn Fn(&RegisteredOperation) -> bool| -> Vec<String> {
        let wanted = members.iter().filter(|op| wanted(op));
        wanted.flat_map(|op| op.described_paths().map(|path| op.info.endpoint_at(path))).collect()
    };
    Package {
        free: of(&|op| op.offer.tier == Tier::Free),
        premium: of(&|op| op.offer.tier == Tier::Premium),
        conditional: of(&|op| is_conditional(op, config)),
        effective_free: of(&|op| EffectiveTier::of(op, config).is_open()),
        effective_premium: of(&|op| EffectiveTier::of(op, config) == EffectiveTier::PaidPerCall),
        effective_conditional: of(&|op| is_conditional(op, config)),
        endpoint_catalog: members
            .iter()
            .flat_map(|op| op.described_paths().map(|path| entry(op, path, config, &ctx.chain.showcase_addresses)))
            .collect(),
    }
}

fn entry(op: &RegisteredOperation, path: &'static str, config: &HttpConfig, showcase: &[String]) -> CatalogEntry {
    let (info, offer, effective) = (&op.info, &op.offer, EffectiveTier::of(op, config));
    CatalogEntry {
        path,
        method: info.method.name(),
        endpoint: info.endpoint_at(path),
        alias_of: (path != info.path).then_some(info.path),
        summary: info.summary,
        capability: offer.capability,
        post_beta_tier: offer.tier,
        effective_tier: effective.name(),
        live_access_model: live_access_model(op, effective).name(),
        currently_billable: config.is_billable(op),
        future_native_l402_price_sats: offer.price_sats,
        price_unit: offer.unit,
        future_x402_price_usd: offer.x402_usd,
        payment_methods: config.payment_methods_of(op),
        conditional_access: (effective == EffectiveTier::Conditional).then(|| access(info, showcase)),
    }
}

/// Access in the model after the beta. For a premium operation it is that of now, so that it is free during the beta.
fn live_access_model(op: &RegisteredOperation, effective: EffectiveTier) -> EffectiveTier {
    match op.offer.tier {
        _ if effective == EffectiveTier::Conditional && op.info.name == WALLET_PNL => effective,
        Tier::Free => EffectiveTier::Free,
        Tier::Premium => effective,
    }
}

/// Which requests of an operation need a wallet session: those of later pages, or those over long histories.
fn access(info: &Info, showcase: &[String]) -> ConditionalAccess {
    let is_over_histories = info.errors.contains(&ErrorCode::HistoryLimitExceeded);
    let of_histories = |count: u64| is_over_histories.then_some(count);
    ConditionalAccess {
        basis: if is_over_histories { "wallet_transaction_count" } else { "transaction_page" },
        free_max_pages: (!is_over_histories).then_some(1),
        free_max_transactions: of_histories(FREE_TXS),
        public_showcase_addresses: showcase.to_vec(),
        upgrade_access: "wallet_plus",
        hard_max_transactions: of_histories(MAX_TXS),
        over_hard_limit_status: is_over_histories.then(|| ErrorCode::HistoryLimitExceeded.status().as_u16()),
    }
}
