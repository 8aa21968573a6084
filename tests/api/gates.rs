//! Gates, cursors over reorgs, and validators.

use axum::{body::Body, http::Request};
use cairn_chaingen::{EverythingOptions, everything};
use cairn_http::HttpConfig;
use cairn_operations::ApiConfig;
use cairn_pipeline::NoProgress;

use crate::support::{World, address, assert_problem, everything_world, get, open_config, script_hash, send};

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
        for key in ["requested_capability", "payment_options", "how_to_access", "getting_started_url"] {
            assert!(!reply.body[key].is_null(), "{key}");
        }
        let showcase = vec![address(script).unwrap_or_else(|| name.clone())];
        let shown = world.router(ApiConfig {
            showcase_addresses: showcase,
            ..HttpConfig { gates_enabled: true, ..open_config().http }.into()
        });
        assert_eq!(get(&shown, &format!("{path}&{more}")).await.status, 200);
        assert_eq!(get(&world.open_router(), &format!("{path}&{more}")).await.status, 200);
    }
    let exceptions = |health: &serde_json::Value| health["beta_notice"]["conditional_access_exceptions"].clone();
    assert_eq!(exceptions(&get(&gated, "/api/health").await.body)[0], "wallet_transactions");
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
    let reply = send(&gated, request(&format!("{path}?offset=1"))).await;
    assert_problem(&reply, 402, "wallet_session_required");
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
    for path in ["/v1/chain/recent-blocks", "/v1/blocks/7", "/api/health", "/openapi.json", "/v1/wallets"] {
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
