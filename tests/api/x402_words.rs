//! The words of access where calls are sold by x402, and where they are not yet.

use std::collections::BTreeSet;

use cairn_http::{AccessMode, HttpConfig, X402Gate};
use serde_json::{Value, json};

use crate::{
    live_words::{Said, Texts, assert_billable, assert_explained, assert_words, endpoint_of, strings, texts},
    support::{World, everything_world, open_config},
};

/// The endpoints that are sold by x402, and their capabilities.
const SOLD: [&str; 4] =
    ["/v1/chain/awakenings", "/v1/wallets/{address}/detail", "/v1/wallets/{address}/summary", "POST /v1/tx/verify"];
const CAPABILITIES: [&str; 4] = ["chain_awakenings", "tx_verify", "wallet_detail", "wallet_summary"];

async fn said(world: &World, access_mode: AccessMode, lightning: Option<&'static str>, x402: X402Gate) -> Said {
    Said::with(world, HttpConfig { access_mode, lightning, x402, ..open_config().http }).await
}

/// Names of the rows of a list that have a payment method.
fn with_method<'v>(rows: impl Iterator<Item = &'v Value>, name: &str, method: &str) -> Texts {
    let has = |row: &&Value| row["payment_methods"].as_array().into_iter().flatten().any(|of| of == method);
    rows.filter(has).map(|row| row[name].as_str().unwrap().to_owned()).collect()
}

/// Every document says that exactly these endpoints are sold by x402.
fn assert_sold_by_x402(said: &Said) {
    let (sold, capabilities) = (texts(SOLD), texts(CAPABILITIES));
    assert_eq!(said.takes("x402"), sold);
    let scheme = &said.openapi["components"]["securitySchemes"]["x402"];
    assert_words(scheme, &json!({"type": "apiKey", "in": "header", "name": "PAYMENT-SIGNATURE"}));
    assert_eq!(said.described_with(|op| op["responses"]["200"]["headers"].get("PAYMENT-RESPONSE").is_some()), sold);
    for (status, code) in [
        ("400", "invalid_payment"),
        ("409", "payment_in_use"),
        ("503", "payment_pending"),
        ("503", "facilitator_unavailable"),
    ] {
        let has =
            |op: &Value| op["responses"][status]["description"].as_str().is_some_and(|codes| codes.contains(code));
        assert!(sold.is_subset(&said.described_with(has)), "{code}");
    }
    let components = &said.openapi["components"];
    for header in ["PAYMENT-REQUIRED", "PAYMENT-RESPONSE"] {
        let reference = &components["responses"]["CallPaymentRequired"]["headers"][header]["$ref"];
        assert_eq!(reference, &format!("#/components/headers/{header}"), "{components}");
        assert!(components["headers"][header]["description"].as_str().unwrap().contains("base64"), "{header}");
    }
    let card = &said.card["securitySchemes"]["x402"]["apiKeySecurityScheme"];
    assert_words(card, &json!({"name": "PAYMENT-SIGNATURE", "location": "header"}));
    let names = said.names(&sold);
    let skills = said.card["skills"].as_array().unwrap().iter().filter(|skill| {
        let ways = skill["securityRequirements"].as_array();
        ways.is_some_and(|ways| ways.iter().any(|way| way["schemes"].get("x402").is_some()))
    });
    assert_eq!(skills.map(|skill| skill["id"].as_str().unwrap().to_owned()).collect::<Texts>(), names);

    let lines = said.lines_under("Operations that are paid per call");
    let by_x402 = lines.iter().filter(|line| line.contains(" USD per call by x402")).map(|line| endpoint_of(line));
    assert_eq!(by_x402.collect::<Texts>(), sold);
    assert!(said.llms_full.contains("503 `payment_pending`"));

    assert_eq!(with_method(said.rows(), "endpoint", "x402"), sold);
    let priced = said.catalog["capabilities"].as_array().unwrap().iter();
    assert_eq!(with_method(priced, "capability", "x402"), capabilities);
    let areas = said.capabilities["areas"].as_array().unwrap().iter();
    let operations = areas.flat_map(|area| area["operations"].as_array().unwrap());
    assert_eq!(with_method(operations, "name", "x402"), names);

    assert_eq!(strings(&said.health["live_x402_capabilities"]), capabilities);
    let opening = &said.health["x402_opening"];
    let words = json!({
        "status": "open",
        "operator_gate_enabled": true,
        "live_gate_enabled": true,
        "public_opening_ready": true,
    });
    assert_words(opening, &words);
    assert_eq!(strings(&opening["configured_capabilities"]), capabilities);
}

#[tokio::test]
async fn everything_says_what_is_sold_by_x402() {
    let world = &everything_world();
    for lightning in [Some("simulated"), None] {
        let said = said(world, AccessMode::Live, lightning, X402Gate::Open).await;
        assert_billable(&said);
        assert_sold_by_x402(&said);
        let explained = assert_explained(&said);
        assert!(explained.contains("`PAYMENT-SIGNATURE`") && explained.contains("`PAYMENT-RESPONSE`"), "{explained}");
        assert_eq!(explained.contains("Authorization: L402"), lightning.is_some(), "{explained}");
        assert_eq!(said.takes("l402").is_empty(), lightning.is_none());

        let sold_at_all = json!({"billing_paused": false, "billing_paused_reason": null});
        assert_words(&said.health, &sold_at_all);
        assert_words(&said.catalog, &sold_at_all);
        assert_eq!(said.catalog["payment_methods_reason"], Value::Null);
        let l402 = lightning.map(|_| "l402");
        let methods: Vec<&str> = lightning.map(|_| "lightning_l402").into_iter().chain(["x402"]).collect();
        assert_eq!(said.catalog["payment_methods"], json!(methods));
        let schemes = ["bridge_key", "wallet_session", "x402"].into_iter().chain(l402);
        assert_eq!(said.schemes(), schemes.map(str::to_owned).collect::<BTreeSet<_>>());
        assert_words(&said.health, &json!({"public_l402_enabled": lightning.is_some()}));
    }
}

#[tokio::test]
async fn a_closed_settlement_changes_health_alone() {
    let world = &everything_world();
    for lightning in [Some("simulated"), None] {
        let off = said(world, AccessMode::Live, lightning, X402Gate::Off).await;
        let closed = said(world, AccessMode::Live, lightning, X402Gate::Closed).await;
        assert_billable(&closed);
        assert_same_documents(&off, &closed);
        assert_eq!(closed.takes("x402"), Texts::new());
        let paused = lightning.is_none();
        assert_words(&closed.health, &json!({"live_x402_capabilities": [], "billing_paused": paused}));
        let words = json!({
            "status": "prepared_but_closed",
            "status_reason": "the operator has not opened the settlement of x402 payments",
            "operator_gate_enabled": true,
            "live_gate_enabled": false,
            "public_opening_ready": false,
            "configured_capabilities": [],
        });
        assert_words(&closed.health["x402_opening"], &words);
    }
}

#[tokio::test]
async fn an_open_settlement_changes_nothing_during_the_beta() {
    let world = &everything_world();
    let plain = said(world, AccessMode::Beta, None, X402Gate::Off).await;
    let ready = said(world, AccessMode::Beta, None, X402Gate::Open).await;
    assert_same_documents(&plain, &ready);
    assert_eq!(plain.health["x402_opening"], ready.health["x402_opening"]);
    assert_words(
        &ready.health["x402_opening"],
        &json!({"status": "prepared_but_closed", "operator_gate_enabled": false}),
    );
}

fn assert_same_documents(one: &Said, other: &Said) {
    assert_eq!((&one.openapi, &one.card, &one.flows), (&other.openapi, &other.card, &other.flows));
    assert_eq!((&one.llms, &one.llms_full), (&other.llms, &other.llms_full));
    for (one, other) in [(&one.catalog, &other.catalog), (&one.capabilities, &other.capabilities)] {
        let bare = |answer: &Value| {
            let mut answer = answer.clone();
            answer.as_object_mut().unwrap().remove("_meta");
            answer
        };
        assert_eq!(bare(one), bare(other));
    }
}
