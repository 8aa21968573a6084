//! The bridge pass in 402 answers: what it opens, and where it is described.

use serde_json::{Map, Value, json};

use super::{headers::PAYMENT_REQUIRED, offer::CallOffer};
use crate::{
    answers::{code::ErrorCode, error::ApiError},
    config::HttpConfig,
    contract::{
        offer::Offer,
        operation::RegisteredOperation,
        pass::{CheckoutPause, PASS_PLAN},
    },
};

/// Path of the checkout page.
pub const CHECKOUT_PAGE: &str = "/checkout";
/// Path of the getting-started page.
pub const GETTING_STARTED_PAGE: &str = "/getting-started";

/// Path of the catalog of plans and prices.
pub(crate) const BILLING_CATALOG: &str = "/v1/billing/catalog";

/// How a key is got, in a sentence.
fn way_to_a_key(config: &HttpConfig) -> String {
    let issued = "operator of this server can issue them, or a code for POST /v1/billing/redeem.";
    match config.pass_for_sale() {
        Ok(offer) => format!(
            "A pass costs {} sats: buy it with POST /v1/billing/checkout, or at checkout_page_url.",
            offer.price_sats
        ),
        Err(CheckoutPause::Beta) => format!("Neither is sold while the checkout is paused; the {issued}"),
        Err(_) => format!("The {issued}"),
    }
}

/// 402 for a request that needs a wallet session. `capability` names what was requested, `detail` explains what needs a
/// session.
pub(crate) fn session_required(config: &HttpConfig, capability: &'static str, detail: &str) -> ApiError {
    let how = format!(
        "Send a wallet session as `Authorization: Bearer <token>`, or the key of a bridge pass as `X-WR-API-Key`. {} First \
         pages and the showcase addresses are free.",
        way_to_a_key(config)
    );
    let bridge = bridge(config, capability, &Offer::FREE);
    let error = ApiError::new(ErrorCode::WalletSessionRequired, detail);
    with_ways(error, config, capability, &how)
        .header(PAYMENT_REQUIRED, &compact(config, &bridge))
        .with("payment_required", bridge)
}

/// 402 for a call that is sold; with the offers of the call itself by name, if it is sold one by one.
pub(crate) fn payment_required(
    config: &HttpConfig,
    op: &RegisteredOperation,
    offers: Vec<(&'static str, CallOffer)>,
) -> ApiError {
    let capability = op.offer.capability.unwrap_or(op.info.name);
    let bridge = bridge(config, capability, &op.offer);
    let (detail, how) = match offers.is_empty() {
        false => {
            let ways: Vec<&str> = offers.iter().map(|(_, offer)| offer.how).collect();
            let how = format!(
                "{} A payment opens one answer. Or send the key of a bridge pass as `X-WR-API-Key`, or a wallet \
                 session as `Authorization: Bearer <token>`.",
                ways.join(" Or: ")
            );
            ("this call must be paid, or made with the key of a pass", how)
        }
        true => (
            "this call needs the key of a pass: it is not sold one by one",
            "Send the key of a bridge pass as `X-WR-API-Key`, or a wallet session as `Authorization: Bearer <token>`."
                .to_owned(),
        ),
    };
    let how = format!("{how} {}", way_to_a_key(config));
    let mut error = with_ways(ApiError::new(ErrorCode::PaymentRequired, detail), config, capability, &how);
    // The header has one value: an offer of x402 takes the place of the pass.
    if !offers.iter().any(|(_, offer)| offer.headers.iter().any(|(name, _)| *name == PAYMENT_REQUIRED)) {
        error = error.header(PAYMENT_REQUIRED, &compact(config, &bridge));
    }
    if offers.is_empty() {
        return error.with("payment_required", bridge);
    }
    let mut options = Map::new();
    options.insert("bridge".to_owned(), bridge);
    for (name, CallOffer { body, headers, .. }) in offers {
        options.insert(name.to_owned(), body);
        error = headers.into_iter().fold(error, |error, (name, value)| error.header(name, &value));
    }
    error.with("payment_options", options)
}

/// The requirements of the pass as compact JSON, for a header.
fn compact(config: &HttpConfig, bridge: &Value) -> String {
    let mut requirements = bridge.clone();
    if let Err(pause) = config.pass_for_sale() {
        requirements["amount_sats"] = Value::Null;
        requirements["amount_sats_reason"] = words(pause).no_amount.into();
    }
    requirements.to_string()
}

/// Adds the ways to get access.
fn with_ways(error: ApiError, config: &HttpConfig, capability: &str, how: &str) -> ApiError {
    let base_url = &config.base_url;
    error
        .with("requested_capability", capability)
        .with("how_to_access", how)
        .with("checkout_page_url", format!("{base_url}{CHECKOUT_PAGE}"))
        .with("getting_started_url", format!("{base_url}{GETTING_STARTED_PAGE}"))
}

/// Texts about a pass that is not sold.
struct Words {
    description: &'static str,
    no_amount: &'static str,
    status: &'static str,
}

fn words(pause: CheckoutPause) -> Words {
    match pause {
        CheckoutPause::Beta => Words {
            description: "31-day pass; the checkout is paused during the public beta",
            no_amount: "the checkout sets the price, and it is paused",
            status: "paused_during_public_beta",
        },
        CheckoutPause::NoPrice | CheckoutPause::NoMethod => Words {
            description: "31-day pass; this server does not sell it at present, but its operator can issue a key or a code",
            no_amount: "the pass has no price at present",
            status: "not_for_sale",
        },
    }
}

/// The bridge pass that gives access. It has its price while it is sold.
fn bridge(config: &HttpConfig, capability: &str, offer: &Offer) -> Value {
    let (base_url, sold) = (&config.base_url, config.pass_for_sale());
    let (description, status) = match sold.map_err(words) {
        Ok(_) => ("31-day pass; POST /v1/billing/checkout and the page at checkout_url sell it", "for_sale"),
        Err(words) => (words.description, words.status),
    };
    let mut bridge = json!({
        "scheme": "api_key_bridge",
        "plan_id": PASS_PLAN,
        "header": "X-WR-API-Key",
        "currency": "BTC",
        "checkout_url": format!("{base_url}{CHECKOUT_PAGE}"),
        "catalog_url": format!("{base_url}{BILLING_CATALOG}"),
        "description": description,
        "bridge_access": true,
        "requested_capability": capability,
        "future_native_l402_price_sats": offer.price_sats,
        "future_native_price_unit": offer.unit,
    });
    if offer.price_sats.is_none() {
        bridge["future_native_reason"] = "this capability is part of the pass and has no price per call".into();
    }
    bridge["pricing_status"] = status.into();
    if let Ok(pass) = sold {
        bridge["amount_sats"] = pass.price_sats.into();
        bridge["payment_methods"] = config.pass_methods().into();
    }
    bridge
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{
        mode::AccessMode,
        pass::{PassMethod, PassOffer},
    };

    fn of_x() -> HttpConfig {
        HttpConfig { base_url: "http://x".to_owned(), ..HttpConfig::default() }
    }

    #[tokio::test]
    async fn the_body_says_how_to_pass_and_the_header_the_same_in_short() {
        let error = session_required(&of_x(), "some_capability", "this needs a session");
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

    #[test]
    fn a_pass_that_is_sold_has_its_price_and_says_where() {
        let pass = Some(PassOffer { price_sats: 9_000, methods: vec![PassMethod::Onchain] });
        let config = HttpConfig { access_mode: AccessMode::Live, pass, ..of_x() };
        let error = session_required(&config, "some_capability", "this needs a session");
        let bridge = &error.extra["payment_required"];
        assert_eq!((&bridge["amount_sats"], &bridge["pricing_status"]), (&9_000.into(), &"for_sale".into()));
        assert_eq!(bridge["payment_methods"], json!(["onchain"]));
        let how = error.extra["how_to_access"].as_str().unwrap();
        assert!(how.contains("9000 sats") && how.contains("POST /v1/billing/checkout"), "{how}");
        let header = error.headers.iter().find(|(name, _)| *name == PAYMENT_REQUIRED).unwrap();
        let header: Value = serde_json::from_slice(header.1.as_bytes()).unwrap();
        assert_eq!(header, *bridge);
    }
}
