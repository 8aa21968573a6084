//! Calls that are sold, as tools: the offer is the error, and the proof of payment is in `_meta` of the call.

use std::sync::Arc;

use axum::{Router, body::Body, http::Request};
use cairn_access::LightningTill;
use cairn_http::{AccessMode, HttpConfig};
use cairn_lightning::{BackendKind, MemoryStore, Secret, Simulated};
use cairn_mcp::{Options, routes};
use cairn_model::Network;
use cairn_operations::{ApiConfig, ApiState, router_with};
use cairn_state::{State, StateUrl};
use cairn_testkit::temp_dir;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    rig::{assert_twice, ask, raw, result, said},
    support::{World, everything_world, get, open_config, script_hash, send},
};

struct Shop {
    app: Router,
    wallet: Arc<Simulated>,
    address: String,
    _folder: TempDir,
}

impl Shop {
    async fn over(world: &World) -> Self {
        let folder = temp_dir();
        let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
        let key = Secret::new("e126f68f7eafcc8b74f54d269fe206be715000f94dac067d1c04a8ca3b2db734");
        let wallet = Arc::new(Simulated::new(Network::Regtest, &key, Arc::new(MemoryStore::default())).unwrap());
        let till = LightningTill::new(BackendKind::Simulated, Arc::<Simulated>::clone(&wallet), "mcp".to_owned());
        let http = HttpConfig { access_mode: AccessMode::Live, lightning: Some("simulated"), ..open_config().http };
        let api = ApiState::new(Arc::clone(&world.slot) as _, ApiConfig::from(http));
        let api = ApiState { state: Some(state), tills: vec![Arc::new(till)], ..api };
        // Answers are cut almost at once.
        let options = Options { short_answer_bytes: 600, max_answer_bytes: 2_000, ..Options::default() };
        let script = world.oracle.scripts().max_by_key(|s| world.oracle.history(s).len()).unwrap();
        Shop {
            app: router_with(api, |api| routes(api, options)),
            wallet,
            address: script_hash(script),
            _folder: folder,
        }
    }

    /// Pays an offer. Returns the proof.
    fn pay(&self, error: &Value) -> String {
        let payment = &error["payment_options"]["l402"]["payment"];
        let preimage = self.wallet.pay(payment["invoice"].as_str().unwrap()).unwrap();
        format!("L402 {}:{}", payment["macaroon"].as_str().unwrap(), hex::encode(preimage.as_bytes()))
    }

    async fn call(&self, tool: &str, arguments: &Value, proof: Option<&str>) -> Value {
        let mut params = json!({"name": tool, "arguments": arguments});
        if let Some(proof) = proof {
            params["_meta"] = json!({ "cairn/authorization": proof });
        }
        result(&ask(&self.app, "2025-11-25", "tools/call", params).await).clone()
    }
}

#[tokio::test]
async fn a_tool_call_is_paid_in_its_meta_and_answered_whole() {
    let shop = Shop::over(&everything_world()).await;
    let path = format!("/v1/wallets/{}/summary", shop.address);
    let by_name = ("call_endpoint", json!({"endpoint": "wallet_summary", "arguments": {"address": shop.address}}));
    let by_path = ("call_endpoint", json!({ "endpoint": path }));
    for (tool, arguments) in [by_name, by_path] {
        let refused = shop.call(tool, &arguments, None).await;
        assert_eq!(refused["isError"], true, "{refused}");
        let error = &said(&refused)["error"];
        assert_eq!((&error["error"], &error["status"]), (&"payment_required".into(), &402.into()));
        let proof = shop.pay(error);
        let other = json!({"endpoint": "wallet_contributors", "arguments": {"address": shop.address}});
        assert_eq!(said(&shop.call(tool, &other, Some(&proof)).await)["status_code"], 402, "another call");
        let opened = shop.call(tool, &arguments, Some(&proof)).await;
        let answer = said(&opened);
        assert_eq!((&answer["ok"], &answer["data"]["_meta"]["price_sats"]), (&true.into(), &21.into()), "{opened}");
        assert!(answer.get("left_out").is_none() && answer["data"].to_string().len() > 600, "{answer}");
        assert_twice(&opened);
        assert_eq!(said(&shop.call(tool, &arguments, Some(&proof)).await)["status_code"], 402, "once only");
    }
}

#[tokio::test]
async fn tools_and_http_take_the_same_payments() {
    let shop = Shop::over(&everything_world()).await;
    let path = format!("/v1/wallets/{}/summary", shop.address);
    let arguments = json!({"endpoint": "wallet_summary", "arguments": {"address": shop.address}});
    let proof = shop.pay(&get(&shop.app, &path).await.body);
    assert_eq!(said(&shop.call("call_endpoint", &arguments, Some(&proof)).await)["ok"], true);
    let refused = said(&shop.call("call_endpoint", &arguments, None).await);
    let proof = shop.pay(&refused["error"]);
    let request = Request::get(&path).header("authorization", proof).body(Body::empty()).unwrap();
    let reply = send(&shop.app, request).await;
    assert_eq!((reply.status, &reply.body["_meta"]["price_sats"]), (200, &21.into()), "{}", reply.text);
}

#[tokio::test]
async fn a_useless_proof_is_refused_with_an_offer() {
    let shop = Shop::over(&everything_world()).await;
    let arguments = json!({"endpoint": "wallet_summary", "arguments": {"address": shop.address}});
    for proof in ["L402 nonsense", "Bearer nonsense", "", "\u{fc}"] {
        let refused = said(&shop.call("call_endpoint", &arguments, Some(proof)).await);
        assert_eq!(refused["status_code"], 402, "{proof}: {refused}");
    }
    // A batch could not hold the whole answer for sure.
    let params = json!({"name": "call_endpoint", "arguments": arguments, "_meta": {"cairn/authorization": "L402 x"}});
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}]);
    let reply = raw(&shop.app, &[("mcp-protocol-version", "2025-03-26")], batch.to_string()).await;
    assert_eq!(reply.body[0]["error"]["code"], -32_600, "{}", reply.text);
    // Free tools do not care.
    let free = said(&shop.call("call_endpoint", &json!({"endpoint": "/v1/fees/recommended"}), Some("L402 x")).await);
    assert_ne!(free["status_code"], 402, "{free}");
}
