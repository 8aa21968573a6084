//! The answer of a tool is bounded; a longer one is reported, with the way to less and the way to all of it.

use bitcoin::ScriptBuf;
use cairn_chaingen::{BlockSpec, ChainBuilder, Lock};
use cairn_http::MAX_TOOL_ANSWER;
use cairn_mcp::{Options, SHORT_TOOL_ANSWER};
use serde_json::{Value, json};

use crate::{
    rig::{app, ask, assert_twice, call, result, result_schema},
    support::{World, everything_world, get, script_hash},
};

fn bounded(world: &World, max_answer_bytes: usize) -> axum::Router {
    app(world, Options { max_answer_bytes, ..Options::default() })
}

/// Checks the failure: what HTTP says in full, and how to ask for less.
async fn assert_too_large(router: &axum::Router, result: &Value, narrow_with: &[&str]) {
    let said = &result["structuredContent"];
    let error = &said["error"];
    assert_eq!((&result["isError"], &said["ok"], &said["data"]), (&true.into(), &false.into(), &Value::Null), "{said}");
    assert_eq!((&said["status_code"], &error["status"]), (&422.into(), &422.into()));
    assert_eq!((&error["error"], &error["retryable"]), (&"answer_too_large".into(), &false.into()));
    assert_eq!(error["docs_url"], "http://cairn.test/api/reference/errors/#answer_too_large");
    assert!(error["request_id"].as_str().unwrap().len() > 10);
    assert_eq!(error["narrow_with"], json!(narrow_with));
    let (detail, url) = (error["detail"].as_str().unwrap(), error["url"].as_str().unwrap());
    assert!(narrow_with.iter().all(|name| detail.contains(name)) && detail.contains(url), "{detail}");
    // Over HTTP it is as long as was said.
    let reply = get(router, url.strip_prefix("http://cairn.test").unwrap()).await;
    assert_eq!(reply.status, 200, "{url}");
    assert!(detail.contains(&format!("{} bytes", reply.text.len())) || reply.text.contains("timestamp"), "{detail}");
    assert_twice(result);
}

#[tokio::test]
async fn answers_beyond_the_bound_are_failures_that_help() {
    let world = &everything_world();
    let router = bounded(world, 3_000);
    let script = world.oracle.scripts().max_by_key(|s| world.oracle.history(s).len()).unwrap();
    let address = script_hash(script);
    let names = ["limit", "offset", "cursor", "view"];
    let schema = result_schema(&router, "wallet_transactions").await;
    let large = call(&router, "wallet_transactions", json!({"address": address, "limit": 50})).await;
    assert_too_large(&router, &large, &names).await;
    let url = format!("http://cairn.test/v1/wallets/{address}/transactions?limit=50");
    assert_eq!(large["structuredContent"]["error"]["url"], url);
    assert_eq!(large["structuredContent"]["endpoint"], "/v1/wallets/{address}/transactions");
    assert!(jsonschema::draft202012::new(&schema).unwrap().is_valid(&large["structuredContent"]));
    // With what it names, it answers.
    let small = call(&router, "wallet_transactions", json!({"address": address, "limit": 1, "view": "compact"})).await;
    assert_eq!(small["structuredContent"]["ok"], true, "{small}");

    // However an endpoint is named.
    for arguments in [
        json!({"endpoint": "wallet_transactions", "arguments": {"address": address, "limit": 50}}),
        json!({"endpoint": "/v1/wallets/{address}/transactions", "arguments": {"address": address}}),
        json!({"endpoint": format!("GET /v1/wallets/{address}/transactions?limit=50")}),
    ] {
        assert_too_large(&router, &call(&router, "call_endpoint", arguments).await, &names).await;
    }
    // An operation that takes no parameters says that, too.
    let result = call(&router, "call_endpoint", json!({"endpoint": "/api/health"})).await;
    assert_too_large(&router, &result, &[]).await;
    assert!(result["structuredContent"]["error"]["detail"].as_str().unwrap().contains("no parameters"));
    // The tool of the same operation gives what an agent needs of it.
    let health = call(&router, "service_health", json!({})).await["structuredContent"].clone();
    assert_eq!(health["data"]["status"], "ok", "{health}");
    assert!(health.to_string().len() < 1_500, "{health}");
    // Documents are named, whatever their length.
    for endpoint in ["/openapi.json", "/llms-full.txt", "/llms.txt", "/api/reference/", "/agents.json"] {
        let said = call(&router, "call_endpoint", json!({"endpoint": endpoint})).await["structuredContent"].clone();
        let url = said["data"]["url"].as_str().unwrap();
        assert_eq!(url, format!("http://cairn.test{endpoint}"));
        assert!(said.to_string().len() < 500, "{said}");
        let reply = get(&router, endpoint).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, said["data"]["content_type"].as_str().unwrap()));
    }
    // Failures do not count as answers.
    let failed = call(&bounded(world, 1), "tx_lookup", json!({"txid": "xyz"})).await;
    assert_eq!(failed["structuredContent"]["error"]["error"], "invalid_txid");
    let posted = call(
        &bounded(world, 1),
        "tx_verify",
        json!({"txid": "00".repeat(32), "address": address,
        "expected_amount_btc": 1}),
    )
    .await;
    let error = &posted["structuredContent"]["error"];
    assert_eq!(error["error"], "answer_too_large", "{error}");
    assert!(error["detail"].as_str().unwrap().contains("the same POST to http://cairn.test/v1/tx/verify"), "{error}");
}

#[tokio::test]
async fn files_count_as_what_they_become() {
    let world = &everything_world();
    let picture = app(world, Options::default());
    let picture = call(&picture, "qr_code", json!({"data": "x".repeat(500)})).await;
    let wrapped =
        picture["structuredContent"]["data"].to_string().len() + picture["content"][1]["data"].as_str().unwrap().len();
    for (max, ok) in [(wrapped, true), (wrapped - 1, false)] {
        let result = call(&bounded(world, max), "qr_code", json!({"data": "x".repeat(500)})).await;
        assert_eq!(result["structuredContent"]["ok"], ok, "{max}");
        assert_eq!(result["content"].as_array().unwrap().len(), if ok { 2 } else { 1 });
    }
}

/// A chain in which a script is paid, and again years later.
fn years() -> (World, ScriptBuf) {
    let mut builder = ChainBuilder::new(9);
    let script = builder.keyring().script(&Lock::P2wpkh { key: 0 }).unwrap();
    builder.mine(&BlockSpec::paying(script.clone())).unwrap();
    let later = builder.head().block.header.time + 5_000 * 86_400;
    builder.mine(&BlockSpec { time: Some(later), ..BlockSpec::paying(script.clone()) }).unwrap();
    (World::of(builder.into_chain()), script)
}

#[tokio::test]
async fn a_long_life_is_asked_for_in_parts() {
    let (world, script) = years();
    let router = app(&world, Options::default());
    let address = script_hash(&script);
    let whole = get(&router, &format!("/v1/wallets/{address}/balance-history")).await;
    let points = whole.body["points"].as_array().unwrap();
    assert!(points.len() == 5_001 && whole.text.len() > MAX_TOOL_ANSWER, "HTTP answers in full");
    // Part by part, each with the newest days that fit, until all are there.
    let (mut until, mut parts, mut found) = (None, 0, Vec::new());
    loop {
        let mut arguments = json!({"address": address});
        if let Some(until) = &until {
            arguments["to"] = Value::clone(until);
        }
        let params = json!({"name": "wallet_balance_history", "arguments": arguments});
        let reply = ask(&router, "2025-11-25", "tools/call", params).await;
        let result = result(&reply);
        assert_twice(result);
        let (text, said) = (result["content"][0]["text"].as_str().unwrap(), &result["structuredContent"]);
        assert!(text.len() <= SHORT_TOOL_ANSWER && said["ok"] == true, "{} bytes", text.len());
        let part = said["data"]["points"].as_array().unwrap();
        found.splice(0..0, part.iter().cloned());
        parts += 1;
        let left_out = &said["left_out"];
        if left_out.is_null() {
            break;
        }
        let shown = points.len() - (found.len() - part.len());
        assert_eq!(left_out["lists"], json!([{"list": "points", "shown": part.len(), "of": shown}]));
        assert_eq!(left_out["arguments"], json!(["from", "to", "format"]));
        assert!(left_out["url"].as_str().unwrap().contains("/balance-history"), "{left_out}");
        let first = points.len() - found.len();
        assert_eq!(part[0], points[first], "the newest days");
        until = Some(points[first - 1]["date"].clone());
    }
    assert_eq!(&found, points);
    assert!(parts > 10, "{parts}");
}

/// Lists with a limit are asked for again with a lower one, so that pages and cursors fit together.
#[tokio::test]
async fn long_lists_are_pages_with_a_lower_limit() {
    let world = &everything_world();
    let router = app(world, Options { short_answer_bytes: 6_000, ..Options::default() });
    let script = world.oracle.scripts().max_by_key(|s| world.oracle.history(s).len()).unwrap();
    let (address, mut found, mut cursor) = (script_hash(script), Vec::new(), Value::Null);
    loop {
        let mut arguments = json!({"address": address});
        if !cursor.is_null() {
            arguments["cursor"] = cursor.clone();
        }
        let result = call(&router, "wallet_transactions", arguments).await;
        let (text, said) = (result["content"][0]["text"].as_str().unwrap(), &result["structuredContent"]);
        assert!(text.len() <= 6_000, "{} bytes", text.len());
        let page = said["data"]["transactions"].as_array().unwrap();
        if let Some(limit) = said["left_out"]["limits"]["limit"].as_u64() {
            assert!(page.len() as u64 == limit && said["left_out"]["lists"] == json!([]), "{}", said["left_out"]);
        }
        found.extend(page.iter().map(|tx| tx["txid"].clone()));
        cursor = said["data"]["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(found.len(), world.oracle.history(script).len());
    // Who names a limit gets it.
    let named = call(&router, "wallet_transactions", json!({"address": address, "limit": 25})).await;
    let said = &named["structuredContent"];
    assert!(said["left_out"].is_null() && said["data"]["transactions"].as_array().unwrap().len() == 25, "{said}");
}

/// Values that models write in place of the types that a schema asks for.
#[tokio::test]
async fn what_models_write_is_read() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let script = world.oracle.scripts().max_by_key(|s| world.oracle.history(s).len()).unwrap();
    let address = script_hash(script);
    let said = async |tool, arguments| call(&router, tool, arguments).await["structuredContent"]["data"].clone();
    let plain = said("wallet_transactions", json!({"address": address, "limit": 3})).await;
    for arguments in [
        json!({"address": address, "limit": 3.0}),
        json!({"address": address, "limit": "3"}),
        json!(json!({"address": address, "limit": 3}).to_string()),
    ] {
        assert_eq!(said("wallet_transactions", arguments).await["transactions"], plain["transactions"]);
    }
    let inner = json!({"address": address, "limit": 3.0}).to_string();
    let called = said("call_endpoint", json!({"endpoint": "wallet_transactions", "arguments": inner})).await;
    assert_eq!(called["transactions"], plain["transactions"]);
    let batch = said("batch_overview", json!({"addresses": json!([address]).to_string()})).await;
    assert_eq!(batch["results"].as_array().unwrap().len(), 1, "{batch}");
    let found = said("search_endpoints", json!({"query": "balance", "limit": 2.0})).await;
    assert_eq!(found["endpoints"].as_array().unwrap().len(), 2, "{found}");
    let reply = ask(&router, "2025-11-25", "tools/call", json!({"name": "mempool_stats", "arguments": "[1]"})).await;
    assert_eq!(reply.body["error"]["code"], -32602, "{}", reply.text);
}

#[tokio::test]
async fn the_lists_of_endpoints_fit() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let result = call(&router, "search_endpoints", json!({"limit": 100})).await;
    assert!(result["structuredContent"]["data"].to_string().len() < MAX_TOOL_ANSWER);
}
