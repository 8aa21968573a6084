//! Calls that are sold by x402, as tools: the offer is the error, and the payment is in `_meta` of the call.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{Router, body::Body, http::Request};
use cairn_access::X402Till;
use cairn_http::{AccessMode, HttpConfig, X402Gate};
use cairn_mcp::{Options, routes};
use cairn_operations::{ApiConfig, ApiState, router_with};
use cairn_state::{State, StateUrl};
use cairn_testkit::temp_dir;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    rig::{app, ask, raw, result, said},
    support::{World, everything_world, open_config, script_hash, send},
    x402_payer::{Fake, TRANSACTION, decoded, encoded, nonce, payment, settings},
};

struct Shop {
    app: Router,
    fake: Arc<Fake>,
    address: String,
    _folder: TempDir,
}

impl Shop {
    async fn over(world: &World) -> Self {
        let folder = temp_dir();
        let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
        let fake = Arc::new(Fake::default());
        let till = X402Till::new(settings(), Arc::<Fake>::clone(&fake), "mcp".to_owned()).unwrap();
        let http = HttpConfig { access_mode: AccessMode::Live, x402: X402Gate::Open, ..open_config().http };
        let api = ApiState::new(Arc::clone(&world.slot) as _, ApiConfig::from(http));
        let api = ApiState { state: Some(state), tills: vec![Arc::new(till)], ..api };
        // Answers are cut almost at once.
        let options = Options { short_answer_bytes: 600, max_answer_bytes: 2_000, ..Options::default() };
        let script = world.oracle.scripts().max_by_key(|s| world.oracle.history(s).len()).unwrap();
        let app = router_with(api, |api| routes(api, options));
        Shop { app, fake, address: script_hash(script), _folder: folder }
    }

    /// The arguments of `call_endpoint` for an operation about the address.
    fn about_address(&self, endpoint: &str) -> Value {
        json!({"endpoint": endpoint, "arguments": {"address": self.address}})
    }

    async fn call(&self, arguments: &Value, payment: Option<&Value>) -> Value {
        let mut params = json!({"name": "call_endpoint", "arguments": arguments});
        if let Some(payment) = payment {
            params["_meta"] = json!({ "x402/payment": payment });
        }
        result(&ask(&self.app, "2025-11-25", "tools/call", params).await).clone()
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// The members of `PaymentRequired` in the result of a refused call.
fn required(refused: &Value) -> Value {
    let structured = &refused["structuredContent"];
    assert_eq!((&refused["isError"], &structured["status_code"]), (&true.into(), &402.into()), "{refused}");
    let required: Value = serde_json::from_str(refused["content"][0]["text"].as_str().unwrap()).unwrap();
    for member in ["x402Version", "accepts", "resource"] {
        assert_eq!(structured[member], required[member], "{member}");
    }
    required
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_call_is_paid_in_its_meta_and_answered_whole() {
    let shop = Shop::over(&everything_world()).await;
    let path = format!("/v1/wallets/{}/summary", shop.address);
    for (arguments, seed) in [(shop.about_address("wallet_summary"), "name"), (json!({ "endpoint": path }), "path")] {
        let required = required(&shop.call(&arguments, None).await);
        let payment = payment(&required, &nonce(seed), now());
        let other = shop.call(&shop.about_address("wallet_detail"), Some(&payment)).await;
        assert_eq!(said(&other)["error"]["warnings"][0]["code"], "resource_mismatch", "{other}");
        assert_eq!(shop.fake.called(), Vec::<String>::new());
        let opened = shop.call(&arguments, Some(&payment)).await;
        let answer = said(&opened);
        assert_eq!((&answer["ok"], &answer["status_code"]), (&true.into(), &200.into()), "{opened}");
        assert!(answer.get("left_out").is_none() && answer["data"].to_string().len() > 600, "{answer}");
        let receipt = &opened["_meta"]["x402/payment-response"];
        assert_eq!((&receipt["success"], &receipt["transaction"]), (&true.into(), &TRANSACTION.into()));
        let again = shop.call(&arguments, Some(&payment)).await;
        assert_eq!(said(&again)["error"]["warnings"][0]["code"], "payment_already_used", "{again}");
        assert_eq!(shop.fake.called(), ["verify", "settle First"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_and_http_take_the_same_payments() {
    let shop = Shop::over(&everything_world()).await;
    let path = format!("/v1/wallets/{}/summary", shop.address);
    let get = async |signature: Option<&Value>| {
        let request = signature
            .iter()
            .fold(Request::get(&path), |request, payment| request.header("payment-signature", encoded(payment)));
        send(&shop.app, request.body(Body::empty()).unwrap()).await
    };
    let arguments = shop.about_address("wallet_summary");
    let over_http = decoded(get(None).await.header("payment-required"));
    assert_eq!(over_http, required(&shop.call(&arguments, None).await));
    let by_http = payment(&over_http, &nonce("offered over http"), now());
    assert_eq!(said(&shop.call(&arguments, Some(&by_http)).await)["ok"], true);
    let by_tool = payment(&over_http, &nonce("offered to a tool"), now());
    assert_eq!(get(Some(&by_tool)).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn useless_payments_open_nothing() {
    let shop = Shop::over(&everything_world()).await;
    let arguments = shop.about_address("wallet_summary");
    for malformed in [json!("x"), json!({}), json!({"x402Version": 1}), json!([null])] {
        let refused = shop.call(&arguments, Some(&malformed)).await;
        assert_eq!(said(&refused)["error"]["error"], "invalid_payment", "{malformed}: {refused}");
    }
    let signed = payment(&required(&shop.call(&arguments, None).await), &nonce("batch"), now());
    // A batch could not hold the whole answer for sure.
    let params = json!({"name": "call_endpoint", "arguments": arguments, "_meta": {"x402/payment": signed}});
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}]);
    let reply = raw(&shop.app, &[("mcp-protocol-version", "2025-03-26")], batch.to_string()).await;
    assert_eq!(reply.body[0]["error"]["code"], -32_600, "{}", reply.text);
    assert!(reply.text.contains("x402/payment"), "{}", reply.text);
    // Free tools do not use it.
    let free = said(&shop.call(&json!({"endpoint": "/v1/chain/recent-blocks"}), Some(&signed)).await);
    assert!(free["data"]["_meta"]["warnings"].to_string().contains("payment_not_used"), "{free}");
    assert_eq!(shop.fake.called(), Vec::<String>::new());
    assert_eq!(said(&shop.call(&arguments, Some(&signed)).await)["ok"], true);
}

/// Agents read how calls are paid, only where they are.
#[tokio::test]
async fn instructions_and_prices_name_x402_where_it_is_open() {
    let world = &everything_world();
    let shop = Shop::over(world).await;
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let instructions = async |app: &Router| {
        let hello = result(&ask(app, "2025-11-25", "initialize", hello.clone()).await).clone();
        hello["instructions"].as_str().unwrap().to_owned()
    };
    assert!(instructions(&shop.app).await.contains("params._meta[\"x402/payment\"]"));
    assert!(!instructions(&app(world, Options::default())).await.contains("x402"));
    let params = json!({"name": "describe_endpoint", "arguments": {"endpoint": "wallet_summary"}});
    let described = said(result(&ask(&shop.app, "2025-11-25", "tools/call", params).await));
    let price = described["data"]["needs_session"].as_str().unwrap();
    assert!(price.contains("0.01 USD per call by x402"), "{price}");
}
