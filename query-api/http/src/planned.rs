//! Operations of the interface that are not built yet: the one list of them. Each answers 501 until it is built, and is
//! named nowhere else: neither in the catalog nor in the description of the interface.

use axum::http::StatusCode;

use crate::{
    error::ApiError,
    offer::{Offer, Unit},
    operation::Method,
};

/// An operation that is not built yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    /// Method.
    pub(crate) method: Method,
    /// Path template.
    pub(crate) path: &'static str,
    /// How it will be offered.
    pub(crate) offer: Offer,
}

const fn get(path: &'static str, offer: Offer) -> Planned {
    Planned { method: Method::Get, path, offer }
}

const fn post(path: &'static str, offer: Offer) -> Planned {
    Planned { method: Method::Post, path, offer }
}

const FREE: Offer = Offer::FREE;

const fn premium(capability: &'static str, price_sats: u64) -> Offer {
    Offer::premium(capability, price_sats)
}

/// All of them.
pub(crate) const PLANNED: &[Planned] = &[
    get("/v1/sanctions/ofac/compliance-tier", FREE),
    get("/v1/sanctions/ofac/coverage", FREE),
    get("/v1/wallets/{address}/trust-safety", FREE),
    get("/v1/wallets/{address}/surveillance-status", FREE),
    get("/v1/wallets/{address}/flow-graph", FREE),
    get("/v1/wallets/{address}/pnl", FREE),
    get("/v1/wallets/{address}/dashboard", FREE),
    get("/v1/wallets/{address}/summary", premium("wallet_summary", 21).x402("0.01")),
    get("/v1/wallets/{address}/detail", premium("wallet_detail", 21).x402("0.01")),
    get("/v1/wallets/{address}/contributors", premium("wallet_contributors", 21)),
    get("/v1/wallets/{address}/intelligence", premium("address_intelligence", 100)),
    get("/v1/wallets/{address}/risk-signals", premium("address_risk_signals", 50)),
    get("/v1/address/{address}/risk-signals", premium("address_risk_signals", 50)),
    get("/v1/wallets/{address}/evidence-pack", FREE),
    get("/v1/wallets/{address}/risk-exposure", premium("risk_exposure_oracle", 5000)),
    get("/v1/wallets/{address}/sanctions-exposure", premium("sanctions_exposure", 5000)),
    post("/v1/community/reports", FREE),
    get("/v1/community/reports/{report_id}/status", FREE),
    post("/v1/community/reports/{report_id}/vote", FREE),
    get("/v1/community/reports/{address}", FREE),
    post("/v1/feedback", FREE),
    get("/v1/chain/activity-feed", premium("activity_feed", 50)),
    get("/v1/chain/awakenings", premium("chain_awakenings", 1000).x402("0.01")),
    get("/v1/chain/dormant-alerts", premium("dormant_movements", 21)),
    get("/v1/chain/dormant-movements", premium("dormant_movements", 21)),
    get("/v1/chain/supply-distribution", premium("supply_distribution", 21)),
    get("/v1/chain/whale-alerts/labeled", premium("whale_alerts_labeled", 21)),
    get("/v1/chain/whale-alerts", FREE),
    get("/v1/chain/dormancy-flushes", FREE),
    get("/v1/exchange/flows", premium("exchange_flows", 21)),
    get("/v1/exchange/flows/summary", FREE),
    get("/v1/miner/flows", premium("miner_flows", 21)),
    post("/v1/batch/trust-safety", premium("batch_trust_safety", 21).per_address()),
    post("/v1/batch/summary", premium("batch_summary", 21).per_address()),
    post("/v1/batch/intelligence", premium("batch_intelligence", 21)),
    post("/v1/batch/risk-signals", premium("batch_risk_signals", 500)),
    post("/v1/addresses/risk-signals", premium("batch_risk_signals", 500)),
    post("/v1/timestamp", premium("timestamp_submit", 21).timestamp()),
    get("/v1/timestamp/quote", FREE.timestamp()),
    get("/v1/timestamp/{hash_hex}", FREE.timestamp()),
    get("/v1/timestamp/{hash_hex}/proof", premium("timestamp_proof_download", 21).timestamp()),
    post("/v1/timestamp/verify", FREE.timestamp()),
    get("/v1/dormancy/watchlist", FREE),
    get("/v1/dormancy/weekly.json", FREE),
    get("/v1/dormancy/weekly.md", FREE),
    get("/v1/dormancy/whale-wakeups", FREE),
    get("/v1/entities/categories", FREE),
    get("/v1/entities/directory", FREE),
    get("/v1/entities/list", FREE),
    get("/v1/entities/{entity_name}", FREE),
    get("/v1/entities/{entity_name}/activity", FREE),
    get("/v1/labels/search", FREE),
    get("/v1/market/fx-history", FREE),
    get("/v1/market/price-history", FREE),
    get("/v1/onchain", FREE),
    get("/v1/pools/list", FREE),
    get("/v1/pools/{pool_name}", FREE),
    get("/v1/price", FREE),
    get("/v1/pulse/consolidations", FREE),
    get("/v1/pulse/dormant", FREE),
    get("/v1/pulse/summary", FREE),
    get("/v1/pulse/whales", FREE),
    get("/v1/risk-check/{address}", FREE.sold("risk_check", Unit::Request).x402("0.05")),
    post("/v1/risk-check/batch", FREE.sold("risk_check_batch", Unit::Address).x402("0.05")),
    get("/v1/billing/catalog", FREE),
    post("/v1/billing/checkout", FREE),
    get("/v1/billing/checkout/{checkout_id}", FREE),
    post("/v1/billing/checkout/{checkout_id}/refresh", FREE),
    post("/v1/billing/redeem", FREE),
    get("/v1/l402/challenges/{challenge_id}", FREE),
];

/// What all of them answer.
pub(crate) fn not_implemented(planned: &Planned) -> ApiError {
    let detail = format!(
        "{} {} is part of the interface, but this version of the server does not answer it yet",
        planned.method.name(),
        planned.path
    );
    ApiError::new(StatusCode::NOT_IMPLEMENTED, "not_implemented", detail)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        offer::{Package, Tier},
        routes::operations,
    };

    /// The operations of the interface as it was agreed upon: one a line, tab-separated.
    const AGREED: &str = include_str!("../../../tests/api/endpoints.tsv");

    /// Every operation, built or planned, with its offer.
    fn known() -> BTreeMap<(&'static str, &'static str), (bool, Offer)> {
        let mut known = BTreeMap::new();
        let built = operations().into_iter().map(|op| ((op.info.path, op.info.method.name()), (true, op.info.offer)));
        let planned = PLANNED.iter().map(|p| ((p.path, p.method.name()), (false, p.offer)));
        for (route, offer) in built.chain(planned) {
            assert!(known.insert(route, offer).is_none(), "{route:?} is listed twice");
        }
        known
    }

    #[test]
    fn every_agreed_operation_is_built_or_planned_as_agreed() {
        let mut known = known();
        for line in AGREED.lines().skip(1) {
            let columns: Vec<&str> = line.split('\t').collect();
            let [method, path, package, tier, capability, sats, unit, usd, ..] = columns[..] else {
                panic!("{line} has too few columns")
            };
            if package.is_empty() {
                // A document, not an operation.
                continue;
            }
            let (_, offer) = known.remove(&(path, method)).unwrap_or_else(|| panic!("{method} {path} is missing"));
            let text = |value: Option<&'static str>| value.unwrap_or_default().to_owned();
            let found = (
                if offer.package == Package::Primary { "primary" } else { "timestamp" },
                if offer.tier == Tier::Free { "free" } else { "premium" },
                text(offer.capability),
                offer.price_sats.map(|p| p.to_string()).unwrap_or_default(),
                offer.unit.map_or("", |unit| if unit == Unit::Request { "request" } else { "address" }),
                text(offer.x402_usd),
            );
            let agreed = (package, tier, capability.to_owned(), sats.to_owned(), unit, usd.to_owned());
            assert_eq!(found, agreed, "{method} {path}");
        }
        assert!(known.is_empty(), "not agreed upon: {known:?}");
    }

    #[test]
    fn planned_operations_are_not_described() {
        let config = crate::ApiConfig::default();
        let document = crate::openapi_document(&config);
        for planned in PLANNED {
            let method = planned.method.name().to_lowercase();
            assert!(document["paths"][planned.path][&method].is_null(), "{} is described", planned.path);
        }
    }
}
