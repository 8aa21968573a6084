//! The gate for requests that need a wallet session, and its 402 answer.

use axum::http::HeaderName;
use serde_json::{Value, json};

use crate::answers::{code::ErrorCode, error::ApiError};

/// The header with the requirements of a bridge pass, as compact JSON.
pub(crate) const PAYMENT_REQUIRED: HeaderName = HeaderName::from_static("payment-required");
/// Path of the checkout page.
pub const CHECKOUT_PAGE: &str = "/checkout";
/// Path of the getting-started page.
pub const GETTING_STARTED_PAGE: &str = "/getting-started";

/// Path of the catalog of plans and prices.
const BILLING_CATALOG: &str = "/v1/billing/catalog";

/// 402. `capability` names what was requested, `detail` explains what needs a session.
pub(crate) fn session_required(base_url: &str, capability: &'static str, detail: &str) -> ApiError {
    let bridge = bridge(base_url, capability);
    let mut requirements = bridge.clone();
    requirements["amount_sats"] = Value::Null;
    requirements["amount_sats_reason"] = "the checkout sets the price, and it is paused".into();
    let how = "Send a wallet session as `Authorization: Bearer <token>`, or the key of a bridge pass as `X-WR-API-Key`. \
               Neither is sold while the checkout is paused; the operator of this server can issue them, or a code \
               for POST /v1/billing/redeem. First pages and the showcase addresses are free.";
    ApiError::new(ErrorCode::WalletSessionRequired, detail)
        .header(PAYMENT_REQUIRED, &requirements.to_string())
        .with("requested_capability", capability)
        // Endpoints that also take a payment for the call have `payment_options` instead.
        .with("payment_required", bridge)
        .with("how_to_access", how)
        .with("checkout_page_url", format!("{base_url}{CHECKOUT_PAGE}"))
        .with("getting_started_url", format!("{base_url}{GETTING_STARTED_PAGE}"))
}

/// The bridge pass that gives access.
fn bridge(base_url: &str, capability: &str) -> Value {
    json!({
        "scheme": "api_key_bridge",
        "plan_id": "wallet-monthly",
        "header": "X-WR-API-Key",
        "currency": "BTC",
        "checkout_url": format!("{base_url}{CHECKOUT_PAGE}"),
        "catalog_url": format!("{base_url}{BILLING_CATALOG}"),
        "description": "31-day pass; the checkout is paused during the public beta",
        "bridge_access": true,
        "requested_capability": capability,
        "future_native_l402_price_sats": null,
        "future_native_price_unit": null,
        "future_native_reason": "this capability is part of the pass and has no price per call",
        "pricing_status": "paused_during_public_beta",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_body_says_how_to_pass_and_the_header_the_same_in_short() {
        let error = session_required("http://x", "some_capability", "this needs a session");
        let response = error.render("http://x", "id", "/v1/y");
        assert_eq!(response.status(), 402);
        let header: Value = serde_json::from_str(response.headers()["payment-required"].to_str().unwrap()).unwrap();
        let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["error"], "wallet_session_required");
        assert!(body.get("payment_options").is_none(), "one of the two, not both");
        for object in [&body["payment_required"], &header] {
            for (name, _) in object.as_object().unwrap().iter().filter(|(_, value)| value.is_null()) {
                let reason = if name.starts_with("future_native") { "future_native" } else { name.as_str() };
                assert!(object[format!("{reason}_reason")].is_string(), "{name}");
            }
        }
        assert_eq!(body["payment_required"]["requested_capability"], "some_capability");
        assert_eq!(body["checkout_page_url"], "http://x/checkout");
        assert_eq!(body["getting_started_url"], "http://x/getting-started");
        assert_eq!(header["amount_sats"], Value::Null);
        for (key, value) in body["payment_required"].as_object().unwrap() {
            assert_eq!(&header[key], value, "{key}");
        }
    }
}
