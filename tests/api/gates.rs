//! Gates, cursors over reorgs, and validators.

use axum::{body::Body, http::Request};
use cairn_chaingen::{EverythingOptions, everything};
use cairn_http::HttpConfig;
use cairn_operations::{ApiConfig, router};
use cairn_pipeline::NoProgress;
use serde_json::{Value, json};

use crate::corpus::Demo;
use crate::support::{DOCUMENT, World, address, assert_problem, everything_world, get, open_config, script_hash, send};

fn busiest(world: &World) -> &bitcoin::Script {
    world.oracle.scripts().max_by_key(|s| world.oracle.history(s).len()).unwrap()
}

#[tokio::test]
async fn later_pages_need_a_session_unless_showcased() {
    let world = &everything_world();
    let script = busiest(world);
    let name = script_hash(script);
    let path = format!("/v1/wallets/{name}/transactions?limit=1");
    let gated = world.router(ApiConfig::from(HttpConfig { gates_enabled: true, ..open_config().http }));
    let first = get(&gated, &path).await;
    assert_eq!(first.status, 200);
    let cursor = first.body["next_cursor"].as_str().unwrap();
    for more in ["offset=1".to_owned(), format!("cursor={cursor}")] {
        let reply = get(&gated, &format!("{path}&{more}")).await;
        assert_problem(&reply, 402, "wallet_session_required");
        for key in ["requested_capability", "payment_required", "how_to_access", "getting_started_url"] {
            assert!(!reply.body[key].is_null(), "{key}");
        }
        assert!(reply.body.get("payment_options").is_none(), "this endpoint takes the bridge pass only");
        assert_payment_required(&reply.body);
        // Whatever versions a client has, it has none of this answer.
        let request = Request::get(format!("{path}&{more}")).header("if-none-match", "*").body(Body::empty()).unwrap();
        assert_problem(&send(&gated, request).await, 402, "wallet_session_required");
        let showcase = vec![address(script).unwrap_or_else(|| name.clone())];
        let shown = world.router(ApiConfig {
            showcase_addresses: showcase,
            ..HttpConfig { gates_enabled: true, ..open_config().http }.into()
        });
        assert_eq!(get(&shown, &format!("{path}&{more}")).await.status, 200);
        assert_eq!(get(&world.open_router(), &format!("{path}&{more}")).await.status, 200);
    }
    let exceptions = |health: &serde_json::Value| health["beta_notice"]["conditional_access_exceptions"].clone();
    let health = get(&gated, "/api/health").await.body;
    assert_eq!(exceptions(&health), json!(["wallet_pnl", "wallet_transactions"]));
    let catalog = health["primary_package"]["endpoint_catalog"].as_array().unwrap();
    for row in catalog {
        let conditional = row["effective_tier"] == "conditional_free_then_wallet_plus";
        assert_eq!(conditional, row["endpoint"] == "/v1/wallets/{address}/transactions", "{row}");
        assert_eq!(conditional, row["conditional_access"].is_object(), "{row}");
        let model = if row["post_beta_tier"] == "free" { "free" } else { "beta_free" };
        assert_eq!(row["live_access_model"], model, "{row}");
    }
    assert!(exceptions(&get(&world.open_router(), "/api/health").await.body).as_array().unwrap().is_empty());
}

#[tokio::test]
async fn an_unusable_authorization_counts_as_absent() {
    let world = &everything_world();
    let path = format!("/v1/wallets/{}/transactions", script_hash(busiest(world)));
    let request = |path: &str| Request::get(path).header("authorization", "Bearer x").body(Body::empty()).unwrap();
    let gated = world.router(ApiConfig::from(HttpConfig { gates_enabled: true, ..open_config().http }));
    let reply = send(&gated, request(&path)).await;
    assert_eq!(reply.status, 200);
    let codes: Vec<_> = reply.body["_meta"]["warnings"].as_array().unwrap().iter().map(|w| w["code"].clone()).collect();
    assert!(codes.contains(&"authorization_ignored".into()));
    for (query, status, code) in [
        ("offset=1", 402, "wallet_session_required"),
        ("limit=0", 422, "validation_error"),
        ("cursor=zz", 422, "validation_error"),
    ] {
        let reply = send(&gated, request(&format!("{path}?{query}&limt=3"))).await;
        assert_problem(&reply, status, code);
        let codes: Vec<_> = reply.body["warnings"].as_array().unwrap().iter().map(|w| w["code"].clone()).collect();
        for code in ["authorization_ignored", "unknown_parameter"] {
            assert!(codes.contains(&code.into()), "{query} {code}: {}", reply.text);
        }
    }
    // A failure without warnings does not speak of them.
    assert!(get(&gated, &format!("{path}?limit=0")).await.body.get("warnings").is_none());
}

/// The members of a 402 as the description has them.
fn assert_payment_required(body: &Value) {
    let mut schema = DOCUMENT["components"]["schemas"]["PaymentRequired"].clone();
    schema["components"] = json!({"schemas": DOCUMENT["components"]["schemas"]});
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(body).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let described = schema["allOf"][1]["properties"]["payment_required"]["properties"].as_object().unwrap();
    for name in body["payment_required"].as_object().unwrap().keys() {
        assert!(described.contains_key(name), "{name} is not described");
    }
}

#[tokio::test]
async fn no_version_matches_an_answer_that_there_is_not() {
    let world = &everything_world();
    let router = world.open_router();
    let request = |path: &str| Request::get(path).header("if-none-match", "*").body(Body::empty()).unwrap();
    let unknown = format!("/v1/tx/{}", "77".repeat(32));
    for (path, status, code) in [
        (unknown.as_str(), 404, "tx_not_found"),
        ("/v1/blocks/4000000", 404, "block_not_found"),
        ("/v1/mempool/stats", 503, "mempool_unavailable"),
        ("/v1/blocks/x", 400, "invalid_hash"),
    ] {
        assert_problem(&send(&router, request(path)).await, status, code);
    }
    for path in ["/v1/blocks/7", "/v1/chain/recent-blocks", "/v1/qr?data=x", "/openapi.json", "/", "/api/health/full"] {
        let reply = send(&router, request(path)).await;
        assert_eq!((reply.status, reply.text.as_str()), (304, ""), "{path}");
        assert!(reply.header("etag").len() > 10, "{path}");
    }
}

#[tokio::test]
async fn cursors_expire_with_the_block_that_they_know() {
    let options = EverythingOptions { blocks: 120, max_txs: 4, forks: vec![], showpieces: false };
    let world = World::of(everything(5, &options).unwrap());
    let router = world.open_router();
    let wallet = format!("/v1/wallets/{}/transactions?limit=2", script_hash(busiest(&world)));
    let next = |body: &serde_json::Value| body["next_cursor"].as_str().unwrap().to_owned();
    let blocks_cursor = next(&get(&router, "/v1/chain/recent-blocks").await.body);
    let wallet_cursor = next(&get(&router, &wallet).await.body);
    let blocks = format!("/v1/chain/recent-blocks?cursor={blocks_cursor}");
    let pages = [blocks.clone(), format!("{wallet}&cursor={wallet_cursor}")];
    for page in &pages {
        assert_eq!(get(&router, page).await.status, 200);
    }
    // A cursor belongs to its list.
    let foreign = get(&router, &format!("{wallet}&cursor={blocks_cursor}")).await;
    assert_problem(&foreign, 422, "validation_error");
    let before = get(&router, &blocks).await;
    world.engine.lock().unwrap().unwind(115, &NoProgress).unwrap();
    for page in &pages {
        assert_problem(&get(&router, page).await, 409, "cursor_expired");
    }
    let tip = &get(&router, "/api/health").await.body["_meta"]["tip"];
    assert_eq!(tip["height"], 115);
    assert_ne!(before.body["_meta"]["tip"], *tip);
}

#[tokio::test]
async fn unchanged_answers_are_not_sent_again() {
    let world = &everything_world();
    let router = world.open_router();
    for path in
        ["/v1/chain/recent-blocks", "/v1/blocks/7", "/api/health", "/openapi.json", "/v1/wallets", "/", "/favicon.svg"]
    {
        let first = get(&router, path).await;
        let etag = first.header("etag").to_owned();
        assert!(etag.len() > 10, "{path}");
        let request = |tag: &str| Request::get(path).header("if-none-match", tag).body(Body::empty()).unwrap();
        let again = send(&router, request(&format!("\"x\", {etag}"))).await;
        assert_eq!((again.status, again.text.as_str(), again.header("etag")), (304, "", etag.as_str()), "{path}");
        assert_eq!(send(&router, request("\"x\"")).await.status, 200);
    }
    let (seven, eight) = (get(&router, "/v1/blocks/7").await, get(&router, "/v1/blocks/8").await);
    assert_ne!(seven.header("etag"), eight.header("etag"));
    assert_eq!(get(&router, "/v1/blocks/7").await.text, seven.text);
}

/// The version of an answer that depends on the time changes when the answer does, not with the clock.
#[tokio::test]
async fn versions_follow_the_body() {
    let demo = Demo::new();
    let waiting = demo.unconfirmed();
    let router = router(demo.with_node(&waiting, demo.config()));
    let path = "/v1/network/mempool/stress";
    let first = get(&router, path).await;
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    let again = get(&router, path).await;
    assert_eq!((&again.text, again.header("etag")), (&first.text, first.header("etag")));
    let request = Request::get(path).header("if-none-match", first.header("etag")).body(Body::empty()).unwrap();
    assert_eq!(send(&router, request).await.status, 304);
    // This one says when it looked.
    let full = "/api/health/full";
    let first = get(&router, full).await;
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    let again = get(&router, full).await;
    assert_ne!(again.text, first.text);
    assert_ne!(again.header("etag"), first.header("etag"));
}

#[tokio::test]
async fn what_is_public_is_shown() {
    let world = &everything_world();
    let shown = script_hash(busiest(world));
    let config = || ApiConfig { showcase_addresses: vec![shown.clone()], ..open_config() };
    let router = world.router(config());
    assert_eq!(get(&router, "/v1/capabilities").await.body["showcase_addresses"], json!([shown]));
    assert!(get(&router, "/v1/capabilities?compact=true").await.body.get("showcase_addresses").is_none());
    assert!(get(&router, "/").await.text.contains(&format!("<code>{shown}</code>")));
    let gated = world.router(ApiConfig { http: HttpConfig { gates_enabled: true, ..open_config().http }, ..config() });
    let health = get(&gated, "/api/health").await.body;
    let rows = health["primary_package"]["endpoint_catalog"].as_array().unwrap();
    let access = rows.iter().find_map(|row| row.get("conditional_access")).unwrap();
    assert_eq!(access["public_showcase_addresses"], json!([shown]));
    // What is null has a reason beside it.
    for (place, value) in [("dashboard_snapshot", "cached_at"), ("bitcoin_backend", "best_height")] {
        let row = &health["live_data"][place];
        assert!(row[value].is_null() && row["reason"].is_string(), "{row}");
    }
}
