//! Every operation with payments of x402: what they open, and that nothing free uses one.

use std::collections::BTreeSet;

use axum::{body::Body, http::Request};
use serde_json::{Value, json};

use crate::{
    sold::warnings,
    sold_table::{Example, examples, premium},
    support::{everything_world, get, post, send},
    x402::{Shop, is_of_another_call, signed},
    x402_payer::{decoded, encoded, settings},
};

/// The operations that are sold in dollars.
const SOLD: [(&str, &str); 4] = [
    ("GET", "/v1/chain/awakenings"),
    ("GET", "/v1/wallets/{address}/detail"),
    ("GET", "/v1/wallets/{address}/summary"),
    ("POST", "/v1/tx/verify"),
];

fn name_of(example: &Example) -> String {
    format!("{} {}", example.method, example.template)
}

fn is_sold(example: &Example) -> bool {
    SOLD.contains(&(example.method.as_str(), example.template.as_str()))
}

#[tokio::test]
async fn garbage_in_place_of_a_payment_opens_nothing_and_costs_nothing() {
    let shop = Shop::both(&everything_world()).await;
    let router = &shop.sold.router;
    let document = get(router, "/openapi.json").await.body;
    let (premium, key) = (premium(), shop.sold.key().await);
    let mut offered = BTreeSet::new();
    for example in examples(&document) {
        let (method, name) = (example.method.as_str(), name_of(&example));
        let is_premium = premium.contains(&(example.method.clone(), example.template.clone()));
        let without = example.send(router, method, &[]).await;
        for garbage in ["garbage", "e30=", &encoded(&json!({"x402Version": 1}))] {
            let garbage = ("payment-signature", garbage);
            let reply = example.send(router, method, &[garbage]).await;
            let is_malformed = (reply.status, &reply.body["error"]) == (400, &"invalid_payment".into());
            assert_eq!(is_malformed, is_sold(&example), "{name}: {}", reply.text);
            assert_eq!(reply.status == 402, is_premium && !is_malformed, "{name}: {}", reply.text);
            let opened = example.send(router, method, &[garbage, ("x-wr-api-key", &key)]).await;
            assert!(opened.status != 402 && opened.body["error"] != "invalid_payment", "{name}: {}", opened.text);
            for reply in [&reply, &opened] {
                let has_warnings = reply.status == 402 || reply.body["_meta"]["warnings"].is_array();
                let warns = warnings(reply).contains(&"payment_not_used");
                assert!(warns || !has_warnings, "{name}: {}", reply.text);
            }
        }
        let required = without.body["payment_options"]["x402"]["accepts"].as_array();
        if required.is_some_and(|accepts| accepts.len() == 1) {
            assert_eq!(decoded(without.header("payment-required"))["accepts"][0], required.unwrap()[0], "{name}");
            offered.insert((example.method, example.template));
        }
    }
    let sold = SOLD.map(|(method, template)| (method.to_owned(), template.to_owned()));
    assert_eq!(offered, sold.into());
    assert_eq!(shop.fake.called(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_opens_its_call_once_and_no_other() {
    let shop = Shop::over(&everything_world(), settings()).await;
    let router = &shop.sold.router;
    let document = get(router, "/openapi.json").await.body;
    for example in examples(&document).into_iter().filter(is_sold) {
        let (method, name) = (example.method.as_str(), name_of(&example));
        let payment = signed(&example.send(router, method, &[]).await, &name);
        let signature = encoded(&payment);
        let paid = [("payment-signature", signature.as_str())];
        let elsewhere = shop.summary.replace("/summary", "/detail");
        let elsewhere = if example.target == elsewhere { shop.summary.clone() } else { elsewhere };
        let reply = shop.pay(&elsewhere, &payment).await;
        assert_eq!((reply.status, warnings(&reply)), (402, vec!["resource_mismatch"]), "{name}");
        if method == "GET" && example.has_view {
            let end = if example.target.contains('?') { '&' } else { '?' };
            let reply = shop.pay(&format!("{}{end}view=compact", example.target), &payment).await;
            assert_eq!((reply.status, warnings(&reply)), (402, vec!["resource_mismatch"]), "{name}: {}", reply.text);
        }
        if method == "GET" {
            assert_eq!(example.send(router, "HEAD", &paid).await.status, 402, "{name}");
        }
        assert_eq!(shop.fake.called(), Vec::<String>::new(), "{name}");
        let headers = [paid[0], ("if-none-match", "*")];
        let reply = example.send(router, method, &headers).await;
        assert_eq!((reply.status, &reply.body["_meta"]["price_sats"]), (200, &0.into()), "{name}: {}", reply.text);
        assert_eq!(decoded(reply.header("payment-response"))["success"], true, "{name}");
        assert_eq!((reply.header("cache-control"), reply.header("etag")), ("private, no-store", ""), "{name}");
        assert_eq!(shop.fake.called(), ["verify", "settle First"], "{name}");
        let reply = example.send(router, method, &paid).await;
        assert_eq!((reply.status, warnings(&reply)), (402, vec!["payment_already_used"]), "{name}");
        // A forged resource does not help: the row of the payment has its request.
        let mut forged = payment.clone();
        forged["resource"] = decoded(get(router, &elsewhere).await.header("payment-required"))["resource"].clone();
        for payment in [&forged, &payment] {
            let reply = shop.pay(&elsewhere, payment).await;
            assert!(reply.status == 402 && is_of_another_call(&reply), "{name}: {}", reply.text);
        }
        assert_eq!(shop.fake.called(), Vec::<String>::new(), "{name}");
    }
}

/// All bodies of an operation have one URL: the row alone distinguishes them.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_for_one_body_opens_no_other() {
    let shop = Shop::over(&everything_world(), settings()).await;
    let (router, path) = (&shop.sold.router, "/v1/tx/verify");
    let document = get(router, "/openapi.json").await.body;
    let body = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["example"].clone();
    let mut other = body.clone();
    other["txid"] = "0".repeat(64).into();
    let payment = signed(&post(router, path, &body).await, "a body");
    let pay = async |body: &Value| {
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.header("payment-signature", encoded(&payment));
        send(router, request.body(Body::from(body.to_string())).unwrap()).await
    };
    let reply = pay(&body).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    for body in [&other, &body] {
        let reply = pay(body).await;
        let word = if *body == other { "payment_used_elsewhere" } else { "payment_already_used" };
        assert_eq!((reply.status, warnings(&reply)), (402, vec![word]), "{}", reply.text);
    }
    assert_eq!(shop.fake.called(), ["verify", "settle First"]);
}
