//! A pass that is sold: what answers and documents say of it, and the page with its forms.

use axum::{
    Router,
    body::Body,
    http::{Method, Request},
};
use cairn_http::{HttpConfig, PassMethod, PassOffer};
use cairn_operations::ApiConfig;
use serde_json::{Value, json};

use crate::{
    billing::CATALOG,
    checkout::{example_shop, selling},
    support::{Reply, assert_problem, everything_world, get, get_ok, send},
};

const PRICE: u64 = 9_000;

#[tokio::test]
async fn a_pass_that_is_sold_has_one_price_everywhere() {
    let world = everything_world();
    let methods = vec![PassMethod::Onchain];
    let pass = Some(PassOffer { price_sats: PRICE, methods });
    let router = world.router(ApiConfig::from(HttpConfig { pass, ..selling(PRICE) }));
    let catalog = get_ok(&router, CATALOG, CATALOG).await;
    let plan = &catalog["plans"][0];
    assert_eq!((&plan["price_sats"], &plan["price_sats_reason"]), (&json!(PRICE), &Value::Null));
    assert_eq!((&plan["for_sale"], &plan["payment_methods"]), (&json!(true), &json!(["onchain"])));
    assert_eq!(catalog["payment_methods"], json!(["onchain"]), "no call is sold over Lightning");
    let health = get_ok(&router, "/api/health", "/api/health").await;
    let status = get_ok(&router, "/v1/beta-status", "/v1/beta-status").await;
    for answer in [&catalog, &health, &status] {
        assert_eq!((&answer["checkout_buy_path"], &answer["billing_paused"]), (&json!("open"), &json!(false)));
    }
    assert_eq!(health["checkout_payment_methods"], json!(["onchain"]));
    assert_eq!(health["billing_paused_reason"], Value::Null);
    let refused = get(&router, "/v1/miner/flows").await;
    assert_problem(&refused, 402, "payment_required");
    let bridge = &refused.body["payment_required"];
    assert_eq!((&bridge["amount_sats"], &bridge["pricing_status"]), (&json!(PRICE), &json!("for_sale")));
    let header: Value = serde_json::from_str(refused.header("payment-required")).unwrap();
    assert_eq!(&header, bridge);
    let how = refused.body["how_to_access"].as_str().unwrap();
    assert!(how.contains("9000 sats") && how.contains("POST /v1/billing/checkout"), "{how}");
    let llms = get(&router, "/llms.txt").await.text;
    assert!(llms.contains("31 days costs 9000 sats (onchain)"), "{llms}");
}

/// Sends a form, as a browser does.
async fn form(router: &Router, path: &str, fields: &str, origin: &str) -> Reply {
    let request = Request::post(path).header("host", "cairn.test").header("origin", origin);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    send(router, request.body(Body::from(fields.to_owned())).unwrap()).await
}

/// The value of a field that a page hides in its form.
fn hidden<'p>(page: &'p Reply, name: &str) -> &'p str {
    let rest = page.text.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap_or_else(|| panic!("{}", page.text));
    rest.split('"').next().unwrap()
}

#[tokio::test]
async fn the_page_sells_without_a_script() {
    let (router, wallet, _shop) = example_shop().await;
    let page = get(&router, "/checkout").await;
    // The policy of all pages: forms and scripts of this server alone, and nothing inline. This page has no script.
    let policy = page.header("content-security-policy");
    assert!(policy.contains("form-action 'self'") && policy.contains("script-src 'self'"), "{policy}");
    assert!(!policy.contains("unsafe") && !page.text.contains("<script") && !page.text.contains("<style"), "{policy}");
    let origin = "http://cairn.test";
    let opened = form(&router, "/checkout/open", "payment_method_id=lightning", origin).await;
    assert_eq!(opened.status, 200, "{}", opened.text);
    assert!(opened.header("content-type").starts_with("text/html"));
    assert_eq!(
        (opened.header("cache-control"), opened.header("referrer-policy")),
        ("private, no-store", "same-origin")
    );
    assert!(opened.text.contains("<img class=\"qr\" src=\"/v1/qr?data=LIGHTNING:LNBCRT"), "{}", opened.text);
    let (id, secret) = (hidden(&opened, "checkout_id"), hidden(&opened, "checkout_secret"));
    let fields = format!("checkout_id={id}&checkout_secret={secret}");
    let waiting = form(&router, "/checkout/payment", &fields, origin).await;
    assert!(waiting.text.contains("<strong>open</strong>") && waiting.text.contains(secret), "{}", waiting.text);
    let invoice = opened.text.split("lightning:").nth(1).unwrap().split('"').next().unwrap();
    wallet.pay(invoice).unwrap();
    let paid = form(&router, "/checkout/payment", &fields, origin).await;
    assert!(paid.text.contains("cairn_key_") && paid.text.contains("shown once"), "{}", paid.text);
    let again = form(&router, "/checkout/payment", &fields, origin).await;
    assert!(!again.text.contains("cairn_key_") && again.text.contains("shown before"), "{}", again.text);

    // Problems are pages, too.
    let unknown = form(&router, "/checkout/payment", "checkout_id=co_0&checkout_secret=%3Cb%3E", origin).await;
    assert_eq!(unknown.status, 404);
    assert!(unknown.text.contains("Checkout not found") && !unknown.text.contains("<b>"), "{}", unknown.text);
    let wrong = form(&router, "/checkout/open", "payment_method_id=cash", origin).await;
    assert_eq!(wrong.status, 422);
    assert_eq!(form(&router, "/checkout/open", &"x".repeat(3_000), origin).await.status, 422);
    // Pages of other sites sell nothing.
    let foreign = form(&router, "/checkout/open", "payment_method_id=onchain", "http://evil.example").await;
    assert_problem(&foreign, 403, "origin_not_allowed");
    for path in ["/checkout/open", "/checkout/payment"] {
        let reply = get(&router, path).await;
        assert_eq!((reply.status, reply.header("location")), (303, "../checkout"));
        let request = Request::builder().method(Method::PUT).uri(path).body(Body::empty()).unwrap();
        assert_problem(&send(&router, request).await, 405, "method_not_allowed");
    }
}
