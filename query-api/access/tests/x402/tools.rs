//! Calls of tools that are sold by x402.

use axum::{body::Body, http::Request};
use serde_json::{Value, json};

use crate::{
    payer::{Outcome, TRANSACTION, decoded, nonce, payment},
    shop::{NOW, Shop, THING},
};

/// Calls the operation as a tool, with a payment if it is given: the result.
async fn call(shop: &Shop, payment: Option<&Value>, version: &str) -> Value {
    let mut params = json!({"name": "call_endpoint", "arguments": {"endpoint": THING}});
    if let Some(payment) = payment {
        params["_meta"] = json!({ "x402/payment": payment });
    }
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    let request = Request::post("/mcp/")
        .header("host", "cairn.test")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", version);
    let reply = shop.send(request.body(Body::from(body.to_string())).unwrap()).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.body["result"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_offered_and_paid() {
    let shop = Shop::new().await;
    let offered = call(&shop, None, "2025-11-25").await;
    let structured = &offered["structuredContent"];
    assert_eq!((&offered["isError"], &structured["ok"]), (&true.into(), &false.into()), "{offered}");
    assert_eq!((&structured["status_code"], &structured["x402Version"]), (&402.into(), &2.into()));
    assert_eq!(structured["error"]["error"], "payment_required");
    let text = offered["content"][0]["text"].as_str().unwrap();
    let required: Value = serde_json::from_str(text).unwrap();
    let over_http = shop.get(THING).await;
    assert_eq!(required, decoded(over_http.headers["payment-required"].to_str().unwrap()));
    for member in ["accepts", "resource", "extensions"] {
        assert_eq!(structured[member], required[member], "{member}");
    }
    let payment = payment(&required, &nonce("tool"), NOW);
    let paid = call(&shop, Some(&payment), "2025-11-25").await;
    assert_eq!((&paid["isError"], &paid["structuredContent"]["ok"]), (&false.into(), &true.into()), "{paid}");
    assert_eq!(paid["structuredContent"]["data"]["text"], "the goods");
    let receipt = &paid["_meta"]["x402/payment-response"];
    assert_eq!((&receipt["success"], &receipt["transaction"]), (&true.into(), &TRANSACTION.into()));
    // Clients of the first revision have texts only.
    let again = call(&shop, Some(&payment), "2025-03-26").await;
    let text: Value = serde_json::from_str(again["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text["error"], "payment_already_used", "{again}");
    let own: Value = serde_json::from_str(again["content"][1]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&own["ok"], &own["accepts"]), (&false.into(), &text["accepts"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_and_malformed_payments_of_a_tool() {
    let shop = Shop::new().await;
    let payment = shop.payment(THING, "tool refused").await;
    shop.fake.settles(&[Outcome::Refused]);
    let refused = call(&shop, Some(&payment), "2025-11-25").await;
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(refused["_meta"]["x402/payment-response"]["success"], false);
    assert!(refused["structuredContent"]["accepts"].is_array());
    for malformed in [json!("x"), json!({}), json!(7)] {
        let result = call(&shop, Some(&malformed), "2025-11-25").await;
        assert_eq!(result["structuredContent"]["error"]["error"], "invalid_payment", "{result}");
        assert!(result.get("_meta").is_none() && result["structuredContent"].get("accepts").is_none());
    }
}
