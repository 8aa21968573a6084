//! A tool's answer is the answer of the same request over HTTP.

use std::net::SocketAddr;

use axum::{Router, body::Body, extract::ConnectInfo};
use bitcoin::{Transaction, consensus::serialize, hashes::Hash};
use cairn_http::HttpConfig;
use cairn_mcp::{Options, SHORT_TOOL_ANSWER};
use cairn_operations::{ApiConfig, ApiState, router_with};
use cairn_state::{State, StateUrl};
use serde_json::{Value, json};

use crate::{
    rig::{app, app_with, ask, assert_twice, call, code, result, result_schema, said, to, tools},
    support::{
        Reply, World, address, assert_problem, everything_world, get, hex, open_config, post, script_hash, send,
    },
    unconfirmed::Waiting,
};

/// The proof of a timestamp: of the first transaction, which leads to the Merkle root of block 0.
const PROOF: &str =
    "AE9wZW5UaW1lc3RhbXBzAABQcm9vZgC/ieLohOiSlAEIJzYuZuAyxzHByFGfQwY/4OXQcNscDDVSuwSvoYoxxr8IAAWIlg1z1xkBAQA=";

/// The subjects of a test's calls.
struct Subjects {
    script: String,
    txid: String,
    waiting: String,
    hex: String,
}

impl Subjects {
    fn of(world: &World, waiting: &mut Waiting<'_>) -> Self {
        let coin = waiting.coins(1_000_000).next().unwrap();
        let tx: &Transaction = &world.oracle.blocks()[3].txdata[0];
        let sent = waiting.send(&[coin], &[], 5_000);
        let coin = &world.oracle.coins()[&coin];
        Subjects {
            script: address(&coin.script).unwrap_or_else(|| script_hash(&coin.script)),
            txid: tx.compute_txid().to_string(),
            waiting: bitcoin::Txid::from_byte_array(sent.txid.0).to_string(),
            hex: hex(&serialize(&waiting.made[0].0)),
        }
    }

    /// Arguments for a tool, and the same as a path and a body.
    fn ask(&self, tool: &str) -> (Value, String, Option<Value>) {
        let (script, txid) = (&self.script, &self.txid);
        let get = |arguments: Value, path: String| (arguments, path, None);
        let post = |body: Value, path: &str| (body.clone(), path.to_owned(), Some(body));
        match tool {
            "service_health" => get(json!({}), "/api/health".to_owned()),
            "wallet_overview" => get(
                json!({"address": script, "view": "compact"}),
                format!("/v1/wallets/{script}/overview?view=compact"),
            ),
            "wallet_transactions" => {
                get(json!({"address": script, "limit": 3}), format!("/v1/wallets/{script}/transactions?limit=3"))
            }
            "wallet_flow_graph" => {
                get(json!({"address": script, "hops": 2}), format!("/v1/wallets/{script}/flow-graph?hops=2"))
            }
            "wallet_pnl" => get(json!({"address": script}), format!("/v1/wallets/{script}/pnl")),
            "wallet_balance_history" => {
                get(json!({"address": script}), format!("/v1/wallets/{script}/balance-history"))
            }
            "wallet_trust_safety" => get(
                json!({"address": script, "view": "compact"}),
                format!("/v1/wallets/{script}/trust-safety?view=compact"),
            ),
            "wallet_summary" => get(json!({"address": script}), format!("/v1/wallets/{script}/summary")),
            "wallet_detail" => {
                get(json!({"address": script, "limit": 3}), format!("/v1/wallets/{script}/detail?limit=3"))
            }
            "wallet_contributors" => get(json!({"address": script}), format!("/v1/wallets/{script}/contributors")),
            "ofac_compliance_tier" => get(json!({"limit": 5}), "/v1/sanctions/ofac/compliance-tier?limit=5".to_owned()),
            "ofac_coverage" => get(json!({}), "/v1/sanctions/ofac/coverage".to_owned()),
            "batch_trust_safety" => post(json!({"addresses": [script, "x"]}), "/v1/batch/trust-safety"),
            "batch_summary" => post(json!({"addresses": [script, "x"]}), "/v1/batch/summary"),
            "entity_categories" => get(json!({}), "/v1/entities/categories".to_owned()),
            "entity_list" => get(json!({"sort": "name", "limit": 3}), "/v1/entities/list?sort=name&limit=3".to_owned()),
            "entity_lookup" => get(
                json!({"entity_name": "cairn-exchange", "member_limit": 3}),
                "/v1/entities/cairn-exchange?member_limit=3".to_owned(),
            ),
            "entity_recent_activity" => get(
                json!({"entity_name": "cairn-exchange", "since": "30d"}),
                "/v1/entities/cairn-exchange/activity?since=30d".to_owned(),
            ),
            "tx_lookup" => get(json!({"txid": txid}), format!("/v1/tx/{txid}")),
            "tx_status" => get(json!({"txid": txid}), format!("/v1/tx/{txid}/status")),
            "op_return_decode" => get(json!({"txid": txid}), format!("/v1/tx/{txid}/op-return")),
            "tx_verify" => post(
                json!({"txid": txid, "address": script, "expected_amount_btc": 0.01, "min_confirmations": 2}),
                "/v1/tx/verify",
            ),
            "tx_broadcast" => post(json!({"tx_hex": self.hex}), "/v1/tx/broadcast"),
            "timestamp_hash" => post(json!({"hash": "ab".repeat(32)}), "/v1/timestamp"),
            "timestamp_quote" => get(json!({}), "/v1/timestamp/quote".to_owned()),
            "verify_timestamp" => post(json!({"proof": PROOF, "hash": "00".repeat(32)}), "/v1/timestamp/verify"),
            "block_detail" => get(json!({"height_or_hash": 5, "tx_limit": 2}), "/v1/blocks/5?tx_limit=2".to_owned()),
            "recent_blocks" => get(json!({"limit": 2}), "/v1/chain/recent-blocks?limit=2".to_owned()),
            "supply_distribution" => get(json!({"as_of": 3}), "/v1/chain/supply-distribution?as_of=3".to_owned()),
            "onchain_stats" => get(json!({"as_of": 3}), "/v1/onchain?as_of=3".to_owned()),
            "chain_awakenings" => get(
                json!({"since": "0", "address_filter": script}),
                format!("/v1/chain/awakenings?since=0&address_filter={script}"),
            ),
            "exchange_flows_summary" => get(json!({}), "/v1/exchange/flows/summary".to_owned()),
            "surveillance_status" => {
                get(json!({"address": script}), format!("/v1/wallets/{script}/surveillance-status"))
            }
            "whale_alerts" => get(json!({"range": "7d"}), "/v1/chain/whale-alerts?range=7d".to_owned()),
            "pulse_whales" => get(json!({"since": "0"}), "/v1/pulse/whales?since=0".to_owned()),
            "pulse_consolidations" => {
                get(json!({"min_inputs": 12}), "/v1/pulse/consolidations?min_inputs=12".to_owned())
            }
            "pulse_summary" => get(json!({}), "/v1/pulse/summary".to_owned()),
            "pulse_dormant" => get(json!({"min_age_years": 2}), "/v1/pulse/dormant?min_age_years=2".to_owned()),
            "projected_blocks" => get(json!({}), "/v1/chain/projected-blocks".to_owned()),
            "mempool_stats" => get(json!({}), "/v1/mempool/stats".to_owned()),
            "fee_distribution" => get(json!({}), "/v1/mempool/fee-distribution".to_owned()),
            "mempool_tx" => get(json!({"txid": self.waiting}), format!("/v1/mempool/tx/{}", self.waiting)),
            "pool_list" => get(json!({"window": "1m"}), "/v1/pools/list?window=1m".to_owned()),
            "mining_pool_info" => get(json!({"pool_name": "stone-pool"}), "/v1/pools/stone-pool".to_owned()),
            "fees_recommended" => get(json!({}), "/v1/fees/recommended".to_owned()),
            "network_intelligence" => get(json!({}), "/v1/network/summary".to_owned()),
            "bitcoin_price" => get(json!({"currency": "EUR"}), "/v1/price?currency=EUR".to_owned()),
            "mempool_stress" => get(
                json!({"include_components": true}),
                "/v1/network/mempool/stress?include_components=true".to_owned(),
            ),
            "submit_feedback" => {
                post(json!({"type": "missing_label", "address": script, "message": "whose is it?"}), "/v1/feedback")
            }
            "batch_overview" => post(json!({"addresses": [script, "x"]}), "/v1/batch/overview"),
            "address_intelligence" => get(json!({"address": script}), format!("/v1/wallets/{script}/intelligence")),
            "batch_intelligence" => post(json!({"addresses": [script, "x"]}), "/v1/batch/intelligence"),
            "address_risk" => get(json!({"address": script}), format!("/v1/wallets/{script}/risk-signals")),
            "batch_risk_signals" => post(json!({"addresses": [script, "x"]}), "/v1/batch/risk-signals"),
            "risk_exposure" => {
                get(json!({"address": script, "depth": 2}), format!("/v1/wallets/{script}/risk-exposure?depth=2"))
            }
            "sanctions_exposure" => get(json!({"address": script}), format!("/v1/wallets/{script}/sanctions-exposure")),
            "address_evidence_pack" => {
                let path = format!("/v1/wallets/{script}/evidence-pack?depth=1&include_graph=false");
                get(json!({"address": script, "depth": 1, "include_graph": false}), path)
            }
            "risk_check" => get(json!({"address": script, "depth": 2}), format!("/v1/risk-check/{script}?depth=2")),
            "risk_check_batch" => post(json!({"addresses": [script, "x"], "depth": 2}), "/v1/risk-check/batch"),
            other => panic!("the test does not know {other}: add arguments for it"),
        }
    }
}

async fn over_http(router: &Router, path: &str, body: Option<&Value>) -> Reply {
    match body {
        None => get(router, path).await,
        Some(body) => post(router, path, body).await,
    }
}

/// Removes what differs between any two requests: ids and the moment.
fn settled(value: &Value) -> Value {
    let mut value = value.clone();
    for key in ["request_id", "timestamp", "generated_at", "server_time", "uptime_seconds"] {
        value.as_object_mut().map(|members| members.remove(key));
    }
    if let Some(meta) = value.get_mut("_meta") {
        meta["freshness"] = Value::Null;
    }
    value
}

#[tokio::test]
async fn every_tool_says_what_http_says() {
    let world = &everything_world();
    let mut waiting = Waiting::at_tip(world);
    let subjects = Subjects::of(world, &mut waiting);
    for _ in 0..100 {
        waiting.slot.refresh();
        if waiting.slot.projection().is_some() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
    }
    let router = app(world, Options::default());
    let mut succeeded = 0;
    for tool in tools(&router).await {
        let name = tool["name"].as_str().unwrap();
        if matches!(name, "search_endpoints" | "describe_endpoint" | "call_endpoint" | "qr_code") {
            continue;
        }
        let (arguments, path, body) = subjects.ask(name);
        let input = jsonschema::draft202012::new(&tool["inputSchema"]).unwrap();
        // A height may come as a number: addresses of requests know only text.
        assert!(name == "block_detail" || input.is_valid(&arguments), "{name}: {arguments}");
        let result = call(&router, name, arguments).await;
        let reply = over_http(&router, &path, body.as_ref()).await;
        let said = &result["structuredContent"];
        let output = jsonschema::draft202012::new(&result_schema(&router, name).await).unwrap();
        let faults: Vec<String> = output.iter_errors(said).map(|e| format!("{}: {e}", e.instance_path)).collect();
        assert!(faults.is_empty(), "{name}: {faults:#?}");
        assert_eq!(said["status_code"], reply.status, "{name}: {said}");
        assert_twice(&result);
        assert_eq!(result["isError"], reply.status >= 400, "{name}");
        if reply.status == 200 {
            succeeded += 1;
            let mut whole = reply.body.clone();
            if name == "service_health" {
                // The tool leaves out the catalogs.
                let members = whole.as_object_mut().unwrap();
                members.retain(|key, _| said["data"].get(key).is_some());
                assert!(members.len() == 7 && members.contains_key("live_data"), "{members:?}");
            }
            if said["left_out"].is_null() {
                assert_eq!(settled(&said["data"]), settled(&whole), "{name}");
            } else {
                let is_long = reply.text.len() + 1_200 > SHORT_TOOL_ANSWER;
                assert!(is_long && said.to_string().len() <= SHORT_TOOL_ANSWER, "{name}: {}", said["left_out"]);
            }
            assert_eq!((&said["endpoint"], &said["error"]), (&reply.body["_meta"]["endpoint"], &Value::Null), "{name}");
        } else {
            assert_eq!(settled(&said["error"]), settled(&reply.body), "{name}");
            assert_eq!((&said["ok"], &said["data"]), (&false.into(), &Value::Null), "{name}");
        }
    }
    assert!(succeeded >= 18, "only {succeeded} tools answered with data");
}

#[tokio::test]
async fn pictures_come_as_pictures() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let result = call(&router, "qr_code", json!({"data": "bitcoin:x"})).await;
    let said = &result["structuredContent"];
    assert_eq!((&said["ok"], &said["data"]["content_type"]), (&true.into(), &"image/png".into()));
    assert_eq!(said["endpoint"], "/v1/qr");
    let picture = &result["content"][1];
    assert_eq!((&picture["type"], &picture["mimeType"]), (&"image".into(), &"image/png".into()));
    // The signature of PNG.
    assert!(picture["data"].as_str().unwrap().starts_with("iVBORw0KGgo"));
    // Once.
    let whole = result.to_string();
    assert_eq!(whole.matches(picture["data"].as_str().unwrap()).count(), 1);
    assert!(said["data"]["bytes"].as_u64().unwrap() > 100 && said["data"].get("base64").is_none(), "{said}");
    let schema = result_schema(&router, "qr_code").await;
    assert!(jsonschema::draft202012::new(&schema).unwrap().is_valid(said));
}

#[tokio::test]
async fn clients_pay_for_calls_as_over_http() {
    let world = &everything_world();
    let config = ApiConfig::from(HttpConfig { rate_limit: 60, ..open_config().http });
    let state = ApiState::new(std::sync::Arc::clone(&world.slot) as _, config);
    let router = router_with(state, |api| cairn_mcp::routes(api, Options::default()));
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "block_detail", "arguments": {"height_or_hash": "0"}}});
    let ask = |peer: &str| {
        let mut request = to("/mcp/").body(Body::from(message.to_string())).unwrap();
        request.extensions_mut().insert(ConnectInfo::<SocketAddr>(peer.parse().unwrap()));
        request
    };
    let mut refused = None;
    for _ in 0..60 {
        let reply = send(&router, ask("192.0.2.1:5")).await;
        if reply.status == 429 {
            // The message itself is one request too many.
            assert_problem(&reply, 429, "rate_limited");
            break;
        }
        let said = said(result(&reply));
        if said["status_code"] == 429 {
            refused = Some(said);
        }
    }
    let refused = refused.expect("a call that the budget does not cover");
    assert_eq!((&refused["error"]["error"], &refused["error"]["retryable"]), (&"rate_limited".into(), &true.into()));
    // Nobody else is the poorer.
    let reply = send(&router, ask("192.0.2.2:5")).await;
    assert_eq!(said(result(&reply))["status_code"], 200);
}

#[tokio::test]
async fn failures_are_those_of_http() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let unknown = "00".repeat(32);
    let nobody = script_hash(&bitcoin::ScriptBuf::new());
    for (tool, arguments, status, error) in [
        ("tx_lookup", json!({"txid": unknown}), 404, "tx_not_found"),
        ("tx_lookup", json!({}), 422, "validation_error"),
        ("tx_lookup", json!({"txid": null}), 422, "validation_error"),
        ("tx_lookup", json!({"txid": ""}), 422, "validation_error"),
        ("tx_lookup", json!({"txid": "xyz"}), 400, "invalid_txid"),
        ("tx_lookup", json!({"txid": ["a", {"b": 1}]}), 400, "invalid_txid"),
        ("tx_lookup", json!({"txid": "../../api/health"}), 400, "invalid_txid"),
        ("tx_lookup", json!({"txid": "é/%00?x=1#\u{0}"}), 400, "invalid_txid"),
        ("tx_lookup", json!({"txid": "a".repeat(100_000)}), 400, "invalid_txid"),
        ("block_detail", json!({"height_or_hash": 99_999_999}), 404, "block_not_found"),
        ("wallet_transactions", json!({"address": nobody, "limit": 0}), 422, "validation_error"),
        ("wallet_transactions", json!({"address": nobody, "limit": "many"}), 422, "validation_error"),
        ("wallet_transactions", json!({"limit": 0}), 422, "validation_error"),
        ("tx_verify", json!({}), 422, "validation_error"),
        ("tx_verify", json!({"txid": 5}), 422, "validation_error"),
        ("tx_broadcast", json!({"tx_hex": "00"}), 400, "invalid_transaction"),
        ("verify_timestamp", json!({"proof_base64": "AAAA"}), 400, "invalid_proof"),
        ("timestamp_hash", json!({"hash": "AAAA"}), 400, "invalid_hash"),
    ] {
        let result = call(&router, tool, arguments.clone()).await;
        let said = &result["structuredContent"];
        assert_eq!(
            (&said["status_code"], &said["error"]["error"]),
            (&status.into(), &error.into()),
            "{arguments}: {said}"
        );
        assert_eq!((&said["ok"], &result["isError"]), (&false.into(), &true.into()));
        assert_eq!(said["error"]["status"], status);
        assert!(said["error"]["request_id"].as_str().unwrap().len() > 10);
    }
    // All that is wrong is said at once, what is missing in the path among it.
    let result = call(&router, "wallet_transactions", json!({"limit": 0, "offset": -1})).await;
    let errors = result["structuredContent"]["error"]["errors"].as_array().unwrap().clone();
    let names: Vec<_> = errors.iter().map(|e| (e["in"].as_str().unwrap(), e["name"].as_str().unwrap())).collect();
    assert_eq!(names, [("path", "address"), ("query", "limit"), ("query", "offset")]);
    // A required argument that is missing only by its name.
    for (tool, arguments, wrong, right) in [
        ("tx_lookup", json!({"transaction": "00"}), "transaction", "txid"),
        ("wallet_overview", json!({"adress": "x", "view": "compact"}), "adress", "address"),
        ("wallet_transactions", json!({"address": "x", "limt": 3, "offset": -1}), "limt", "limit"),
        ("tx_verify", json!({"tx_id": "00"}), "tx_id", "txid"),
    ] {
        let error = call(&router, tool, arguments).await["structuredContent"]["error"].clone();
        let told = error["errors"].as_array().unwrap().iter().find(|e| e["name"] == wrong).unwrap();
        assert!(told["message"].as_str().unwrap().contains(&format!("did you mean {right}?")), "{told}");
        assert!(told["allowed"]["enum"].as_array().unwrap().contains(&right.into()), "{told}");
        assert!(error["detail"].as_str().unwrap().contains(right), "{error}");
    }
    // An unknown argument is ignored, with a warning.
    let result = call(&router, "block_detail", json!({"height_or_hash": "1", "tx_limt": 3})).await;
    let warning = &result["structuredContent"]["data"]["_meta"]["warnings"][0];
    assert_eq!(warning["code"], "unknown_parameter");
    assert!(warning["message"].as_str().unwrap().contains("tx_limit"), "{warning}");
}

#[tokio::test]
async fn calls_that_are_none_fail_as_messages() {
    let world = &everything_world();
    let router = app(world, Options::default());
    for params in [
        json!({"name": "no_such_tool", "arguments": {}}),
        json!({"name": "l402_challenge", "arguments": {}}),
        json!({"name": "", "arguments": {}}),
        json!({"name": "x".repeat(10_000)}),
        json!({"name": "tx_lookup", "arguments": [1]}),
        json!({"name": "tx_lookup", "arguments": "x"}),
        json!({"name": 1}),
        json!({}),
        json!([]),
    ] {
        let reply = ask(&router, "2025-11-25", "tools/call", params.clone()).await;
        assert_eq!(code(&reply), -32602, "{params}");
        assert!(reply.text.len() < 500);
    }
    for (name, meant) in
        [("tx_lokup", "tx_lookup"), ("get_wallet_balance", "wallet_overview"), ("recommended_fees", "fees_recommended")]
    {
        let reply = ask(&router, "2025-11-25", "tools/call", json!({"name": name, "arguments": {}})).await;
        let error = &reply.body["error"];
        let names = error["data"]["did_you_mean"].as_array().unwrap();
        assert!(names.contains(&meant.into()) && names.len() <= 3, "{name}: {error}");
        assert!(error["message"].as_str().unwrap().contains(meant), "{error}");
    }
    let reply = ask(&router, "2025-11-25", "tools/list", json!({"cursor": "x"})).await;
    assert_eq!(code(&reply), -32602);
}

/// A tool that writes: what it adds is there, and says so again.
#[tokio::test]
async fn feedback_is_taken() {
    let world = &everything_world();
    let folder = cairn_testkit::temp_dir();
    let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
    let router = app_with(world, Some(state.clone()), Options::default());
    let arguments = json!({"type": "general", "message": "from an agent"});
    let first = call(&router, "submit_feedback", arguments.clone()).await["structuredContent"].clone();
    assert_eq!((&first["ok"], &first["data"]["already_received"]), (&json!(true), &json!(false)), "{first}");
    let tickets = state.tickets(None, 9).await.unwrap();
    assert_eq!((tickets.len(), tickets[0].id.as_str()), (1, first["data"]["ticket_id"].as_str().unwrap()));
    let again = call(&router, "submit_feedback", arguments).await;
    assert_eq!(again["structuredContent"]["data"]["already_received"], true);
}
