//! Every way to fail has the one shape.

use std::sync::Arc;

use axum::{body::Body, http::Request};
use cairn_link::IndexSlot;
use cairn_model::{MempoolWatch, SourceKind, SourceStatus};
use cairn_operations::{ApiConfig, ApiState, router};
use proptest::{
    prop_assert,
    test_runner::{Config, TestRunner},
};

use crate::support::{assert_problem, assert_valid, everything_world, get, open_config, post, send};

#[tokio::test]
async fn unknown_routes_are_shown_the_way() {
    let world = &everything_world();
    let router = world.open_router();
    for (path, near) in [
        ("/v1/walets/x/overview", "/v1/wallets/{address}/overview"),
        ("/v1/chain/recent_blocks", "/v1/chain/recent-blocks"),
        ("/api/helth", "/api/health"),
        ("/v1/wallets/", "/v1/wallets"),
        ("/%ff/%00", "/v1/wallets"),
    ] {
        let reply = get(&router, path).await;
        assert_problem(&reply, 404, "route_not_found");
        let near_paths: Vec<_> =
            reply.body["did_you_mean"].as_array().unwrap().iter().map(|r| r["path"].as_str().unwrap()).collect();
        assert_eq!(near_paths.len(), 3);
        assert!(path.starts_with("/%") || near_paths[0] == near, "{path}: {near_paths:?}");
        assert!(reply.body["links"]["openapi"].is_string());
        assert_eq!(reply.body["instance"], path);
    }
}

#[tokio::test]
async fn other_methods_are_refused_with_allow() {
    let world = &everything_world();
    let router = world.open_router();
    for path in ["/v1/chain/recent-blocks", "/openapi.json", "/about", "/v1/tx/zz"] {
        for method in ["POST", "DELETE", "PUT", "PATCH", "BREW"] {
            let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
            let reply = send(&router, request).await;
            assert_problem(&reply, 405, "method_not_allowed");
            assert!(reply.header("allow").contains("GET"), "{path}");
        }
        let head = send(&router, Request::head(path).body(Body::empty()).unwrap()).await;
        assert!(head.text.is_empty());
    }
}

#[tokio::test]
async fn malformed_identifiers() {
    let world = &everything_world();
    let router = world.open_router();
    for (path, code) in [
        ("/v1/wallets/xyz/overview", "invalid_address"),
        ("/v1/wallets/1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa/overview", "wrong_network"),
        ("/v1/wallets/scripthash:00/transactions", "invalid_address"),
        ("/v1/wallets/%20/balance-history", "invalid_address"),
        ("/v1/tx/00", "invalid_txid"),
        ("/v1/tx/zz/status", "invalid_txid"),
    ] {
        let reply = get(&router, path).await;
        assert_problem(&reply, 400, code);
        assert_eq!(reply.body["errors"][0]["in"], "path");
    }
    assert_problem(&get(&router, "/v1/tx/%ff").await, 400, "invalid_path");
}

#[tokio::test]
async fn all_bad_fields_at_once() {
    let world = &everything_world();
    let router = world.open_router();
    let address = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";
    let reply = get(&router, &format!("/v1/wallets/{address}/transactions?limit=0&offset=10001&view=huge")).await;
    assert_problem(&reply, 422, "validation_error");
    let names: Vec<_> = reply.body["errors"].as_array().unwrap().iter().map(|e| e["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["limit", "offset", "view"]);
    assert_eq!(reply.body["errors"][0]["allowed"]["maximum"], 100);
    let reply = get(&router, &format!("/v1/wallets/{address}/transactions?limit=0&offset=-1&view=foo&cursor=zz")).await;
    assert_problem(&reply, 422, "validation_error");
    let names: Vec<_> = reply.body["errors"].as_array().unwrap().iter().map(|e| e["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["limit", "offset", "cursor", "view"]);
    for query in ["limit=", "limit=ten", "limit=1&limit=2", "cursor=zz", "cursor=", "cursor=zz&offset=1"] {
        let reply = get(&router, &format!("/v1/wallets/{address}/transactions?{query}")).await;
        assert_problem(&reply, 422, "validation_error");
    }
}

#[tokio::test]
async fn examples_of_addresses_are_of_the_served_network() {
    let world = &everything_world();
    let router = world.open_router();
    for (refused, code) in [("xyz", "invalid_address"), ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "wrong_network")] {
        let reply = get(&router, &format!("/v1/wallets/{refused}/overview")).await;
        assert_problem(&reply, 400, code);
        let example = reply.body["errors"][0]["example"].as_str().unwrap();
        assert_ne!(example, refused);
        assert_eq!(get(&router, &format!("/v1/wallets/{example}/overview")).await.status, 200, "{example}");
    }
}

#[tokio::test]
async fn what_is_not_configured_is_not_worth_another_try() {
    let world = &everything_world();
    let router = world.open_router();
    // Nobody has said yet that there will be none.
    assert_eq!(get(&router, "/v1/mempool/stats").await.body["retryable"], true);
    let files = SourceStatus { kind: SourceKind::Files, mempool: MempoolWatch::Off, ..SourceStatus::default() };
    world.slot.set_source(Some(files));
    let mempool = get(&router, "/v1/mempool/stats").await;
    assert_problem(&mempool, 503, "mempool_unavailable");
    let raw = format!("0200000001{}0000000000ffffffff01e80300000000000001516a000000", "11".repeat(32));
    let broadcast = post(&router, "/v1/tx/broadcast", &serde_json::json!({"tx_hex": raw})).await;
    assert_problem(&broadcast, 503, "node_unavailable");
    let ticket = serde_json::json!({"type": "general", "message": "hello"});
    let feedback = post(&router, "/v1/feedback", &ticket).await;
    assert_problem(&feedback, 503, "state_unavailable");
    for (reply, setting) in [(mempool, "--node"), (broadcast, "--node"), (feedback, "--state-url")] {
        assert_eq!((&reply.body["retryable"], reply.header("retry-after")), (&false.into(), ""), "{}", reply.text);
        assert!(reply.body["detail"].as_str().unwrap().contains(setting), "{}", reply.text);
    }
}

#[tokio::test]
async fn unknown_parameters_of_files_warn_in_a_header() {
    let world = &everything_world();
    let router = world.open_router();
    let wallet = "/v1/wallets/bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080/balance-history?format=csv&frm=2024-01-01";
    let said = "unknown_parameter; the parameter \"frm\" was ignored; did you mean from?";
    assert_eq!(get(&router, wallet).await.header("x-warning"), said);
    let odd = get(&router, &wallet.replace("frm=2", "%C3%BC%0A=2")).await;
    assert_eq!(odd.header("x-warning"), "unknown_parameter; the parameter \"\\u{fc}\\n\" was ignored");
    // JSON says it in `_meta`.
    assert_eq!(get(&router, "/v1/chain/recent-blocks?limt=3").await.header("x-warning"), "");
}

#[tokio::test]
async fn unknown_parameters_pass_with_a_warning() {
    let world = &everything_world();
    let reply = get(&world.open_router(), "/v1/chain/recent-blocks?limt=3&limit=2").await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.body["blocks"].as_array().unwrap().len(), 2);
    assert_eq!(reply.body["_meta"]["warnings"][0]["code"], "unknown_parameter");
}

#[tokio::test]
async fn large_bodies_are_refused() {
    let world = &everything_world();
    let request = Request::get("/api/health").header("content-length", "99999999").body(Body::empty()).unwrap();
    assert_problem(&send(&world.open_router(), request).await, 413, "payload_too_large");
}

/// A private key that a client sends in place of an address or in an unknown path is not repeated, in no part of the
/// answer.
#[tokio::test]
async fn private_keys_are_not_repeated() {
    let world = &everything_world();
    let router = world.open_router();
    let hex_key = "e9873d79c6d87dc0fb6a5778633389f4453213303da61f20bd67fc233aa33262";
    let phrase = "legal winner thank year wave sausage worth useful legal winner thank yellow";
    let keys = [
        "KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn",
        "cMahea7zqjxrtgAbB7LSGbcQUr1uX1ojuat9jZodMN87JcbXMTcA",
        "5HpHagT65TZzG1PH3CSu63k8DbpvD8s5ip4nEB3kEsreAnchuDf",
        "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi",
        "6PRVWUbkzzsbcVac2qwfssoUJAN1Xhrg6bNk8J7Nzm5H7kxEbn2Nh2ZoGg",
        phrase,
        hex_key,
    ];
    for key in keys {
        let sent = key.replace(' ', "%20");
        let mut asked = vec![
            (format!("/v1/wallets/{sent}/overview"), "/v1/wallets/{address}/overview"),
            (format!("/v1/address/{sent}/overview"), "/v1/address/{address}/overview"),
            (format!("/v1/wallets/bitcoin:{sent}/transactions"), "/v1/wallets/{address}/transactions"),
        ];
        // These digits may be a txid or a hash.
        if key != hex_key {
            asked.push((format!("/v1/tx/{sent}"), "/v1/tx/{txid}"));
            asked.push((format!("/v1/wallet/{sent}"), "/v1/wallet/[redacted]"));
            asked.push((format!("/{sent}/x"), "/[redacted]/x"));
            asked.push((format!("/v1/chain/recent-blocks?limit=x&{sent}=1"), "/v1/chain/recent-blocks"));
        }
        for (target, instance) in asked {
            let reply = get(&router, &target).await;
            assert!((400..500).contains(&reply.status), "{target}: {}", reply.text);
            assert_eq!(reply.body["instance"], instance, "{target}");
            let headers = format!("{:?}", reply.headers);
            for text in [&reply.text, &headers] {
                assert!(!text.contains(key) && !text.contains(&sent), "{target}: {text}");
            }
        }
    }
    let rows = post(&router, "/v1/batch/overview", &serde_json::json!({"addresses": keys[..6]})).await;
    assert_eq!(rows.status, 200, "{}", rows.text);
    assert!(keys[..6].iter().all(|key| !rows.text.contains(key)), "{}", rows.text);
    // A public address is shown as it was sent.
    let public = "/v1/wallet/1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
    assert_eq!(get(&router, public).await.body["instance"], public);
}

#[tokio::test]
async fn an_empty_index_is_syncing() {
    let router = router(ApiState::new(Arc::new(IndexSlot::new()), open_config()));
    for path in ["/v1/chain/recent-blocks", "/v1/blocks/0", "/v1/wallets/1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa/overview"] {
        let reply = get(&router, path).await;
        assert_problem(&reply, 503, "index_syncing");
        assert_eq!((reply.header("retry-after"), &reply.body["retryable"]), ("10", &true.into()));
    }
    let health = get(&router, "/api/health").await;
    assert_eq!((health.status, &health.body["status"]), (200, &"syncing".into()));
    assert_valid("/api/health", &health.body);
    assert!(health.body["_meta"]["tip"].is_null());
    assert_eq!(get(&router, "/v1/wallets").await.status, 200);
}

#[tokio::test]
async fn an_index_that_is_behind_says_so() {
    let world = &everything_world();
    let tip = world.oracle.blocks().len() as u32 - 1;
    let slot = Arc::new(IndexSlot::with(world.engine.lock().unwrap().reader()));
    let router = router(ApiState::new(Arc::clone(&slot) as Arc<_>, ApiConfig { max_lag_blocks: 2, ..open_config() }));
    slot.set_best_height(Some(tip + 2));
    let reply = get(&router, "/v1/chain/recent-blocks").await;
    assert_eq!((reply.status, &reply.body["_meta"]["tip"]["lag_blocks"]), (200, &2.into()));
    slot.set_best_height(Some(tip + 3));
    assert_problem(&get(&router, "/v1/chain/recent-blocks").await, 503, "index_syncing");
    // Questions about old blocks are answered, with the tip; blocks that may still come are not denied.
    assert_eq!(get(&router, "/v1/blocks/5").await.status, 200);
    assert_problem(&get(&router, &format!("/v1/blocks/{}", tip + 1)).await, 503, "index_syncing");
    assert_problem(&get(&router, &format!("/v1/tx/{}", "77".repeat(32))).await, 503, "index_syncing");
    assert_eq!(get(&router, "/api/health").await.body["status"], "syncing");
}

#[tokio::test]
async fn answers_have_ids_and_cross_origins() {
    let world = &everything_world();
    let request = Request::get("/api/health").header("origin", "https://example.org").body(Body::empty()).unwrap();
    let reply = send(&world.open_router(), request).await;
    assert_eq!(reply.header("access-control-allow-origin"), "*");
    assert!(reply.header("access-control-expose-headers").contains("x-request-id"));
    let id: uuid::Uuid = reply.header("x-request-id").parse().unwrap();
    assert_eq!(id.get_version_num(), 7);
    let bad = Request::get("/v1/tx/zz").header("origin", "https://example.org").body(Body::empty()).unwrap();
    assert_eq!(send(&world.open_router(), bad).await.header("access-control-allow-origin"), "*");
}

/// Hostile paths and queries: pieces of real ones, put together at random.
#[test]
fn nothing_that_a_client_sends_breaks_the_server() {
    const PIECES: &[&str] = &[
        "/v1/wallets/",
        "/v1/tx/",
        "/v1/blocks/",
        "/v1/chain/recent-blocks",
        "/api/health",
        "overview",
        "transactions",
        "balance-history",
        "status",
        "op-return",
        "/",
        "//",
        "?",
        "&",
        "=",
        "limit",
        "offset",
        "cursor",
        "view",
        "compact",
        "io_limit",
        "tx_offset",
        "0",
        "1",
        "100",
        "99999999999999999999",
        "-1",
        "1e9",
        "%00",
        "%ff",
        "%25",
        "%",
        "{address}",
        "scripthash:",
        "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080",
        "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
        "ü",
        "true",
        "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b",
    ];
    let world = everything_world();
    let router = world.open_router();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::new(Config { cases: 3000, ..Config::default() });
    let paths = proptest::collection::vec(proptest::sample::select(PIECES), 1..8);
    let outcome = runner.run(&paths, |path| {
        let path = format!("/{}", path.concat());
        // Bytes that no HTTP client could send are not a request.
        let Ok(request) = Request::get(&path).body(Body::empty()) else { return Ok(()) };
        let reply = runtime.block_on(send(&router, request));
        prop_assert!(reply.status < 500, "{path}: {}", reply.text);
        prop_assert!(reply.status < 400 || reply.body["error"].is_string(), "{path}: {}", reply.text);
        Ok(())
    });
    outcome.unwrap();
}
