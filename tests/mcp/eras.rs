//! Every revision of the protocol over Streamable HTTP.

use axum::{body::Body, http::Request};
use cairn_http::HttpConfig;
use cairn_mcp::{Options, routes};
use cairn_operations::{ApiConfig, ApiState, router_with};
use serde_json::{Value, json};

use crate::{
    rig::{NEWEST, WITH_HANDSHAKE, app, ask, ask_newest, code, raw, result, said, to},
    support::{assert_problem, everything_world, open_config, send},
};

fn hello(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
}

#[tokio::test]
async fn revisions_with_a_handshake() {
    let world = &everything_world();
    let router = app(world, Options::default());
    for version in WITH_HANDSHAKE {
        let reply = ask(&router, version, "initialize", hello(version)).await;
        let about = result(&reply);
        assert_eq!(about["protocolVersion"], version);
        assert!(about["capabilities"]["tools"].is_object(), "{about}");
        assert_eq!(about["serverInfo"]["name"], "cairn");
        assert!(about["instructions"].as_str().unwrap().len() > 100);
        assert!(about.get("resultType").is_none(), "{about}");

        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let reply = raw(&router, &[], note.to_string()).await;
        assert_eq!((reply.status, reply.text.as_str()), (202, ""));
        assert_eq!(result(&ask(&router, version, "ping", json!({})).await), &json!({}));

        let reply = ask(&router, version, "tools/list", json!({})).await;
        let list = result(&reply);
        assert!(list["tools"].as_array().unwrap().len() > 15);
        assert!(list.get("ttlMs").is_none() && list.get("nextCursor").is_none());
        let reply =
            ask(&router, version, "tools/call", json!({"name": "block_detail", "arguments": {"height_or_hash": "0"}}))
                .await;
        assert_eq!(said(result(&reply))["ok"], true);
        // Structured content came with 2025-06-18. The text has the answer in every revision.
        let text: serde_json::Value =
            serde_json::from_str(result(&reply)["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, said(result(&reply)));
        assert_eq!(result(&reply).get("structuredContent").is_some(), version >= "2025-06-18");
        assert_eq!(code(&ask(&router, version, "no/such", json!({})).await), -32601);
    }
    // Who wants another one is offered one that exists.
    for version in ["1999-01-01", "2030-01-01", NEWEST, ""] {
        let reply = ask(&router, version, "initialize", hello(version)).await;
        let offered = result(&reply)["protocolVersion"].as_str().unwrap();
        assert!(WITH_HANDSHAKE.contains(&offered), "{version}: {offered}");
    }
    let reply = ask(&router, "2099-01-01", "tools/list", json!({})).await;
    assert_eq!((reply.status, code(&reply)), (400, -32600));
}

#[tokio::test]
async fn the_newest_revision_needs_no_handshake() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let reply = ask_newest(&router, "server/discover", json!({})).await;
    let about = result(&reply);
    let versions: Vec<&str> =
        about["supportedVersions"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
    assert!(versions.contains(&NEWEST) && WITH_HANDSHAKE.iter().all(|v| versions.contains(v)), "{versions:?}");
    assert!(about["capabilities"]["tools"].is_object(), "{about}");

    let reply = ask_newest(&router, "tools/list", json!({})).await;
    let list = result(&reply);
    assert_eq!((&list["resultType"], &list["cacheScope"]), (&"complete".into(), &"public".into()));
    assert!(list["ttlMs"].as_u64().unwrap() > 0);
    let old = ask(&router, "2025-11-25", "tools/list", json!({})).await;
    assert_eq!(list["tools"], result(&old)["tools"]);

    let call = json!({"name": "block_detail", "arguments": {"height_or_hash": "0"}});
    let reply = ask_newest(&router, "tools/call", call.clone()).await;
    assert_eq!(result(&reply)["structuredContent"]["data"]["height"], 0);
    assert_eq!(result(&reply)["resultType"], "complete");

    let reply = ask_newest(&router, "no/such", json!({})).await;
    assert_eq!((reply.status, code(&reply)), (404, -32601));
    // Headers have to say what the body says.
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}).to_string();
    let reply = raw(&router, &[("mcp-protocol-version", NEWEST)], body.clone()).await;
    assert_eq!(reply.status, 400, "{}", reply.text);
    let headers = [("mcp-protocol-version", NEWEST), ("mcp-method", "tools/list")];
    let reply = raw(&router, &headers, body).await;
    assert_eq!((reply.status, code(&reply)), (400, -32020));
}

#[tokio::test]
async fn batches_belong_to_one_revision() {
    let world = &everything_world();
    let router = app(world, Options { max_batch: 3, ..Options::default() });
    let message = |id: u64, method: &str| json!({"jsonrpc": "2.0", "id": id, "method": method});
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let batch = json!([message(1, "ping"), note, message(2, "no/such")]).to_string();
    for headers in [&[][..], &[("mcp-protocol-version", "2025-03-26")]] {
        let reply = raw(&router, headers, batch.clone()).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        let answers = reply.body.as_array().unwrap();
        assert_eq!(answers.len(), 2);
        assert_eq!((&answers[0]["id"], &answers[0]["result"]), (&1.into(), &json!({})));
        assert_eq!((&answers[1]["id"], &answers[1]["error"]["code"]), (&2.into(), &(-32601).into()));
    }
    let reply = raw(&router, &[], json!([note, note]).to_string()).await;
    assert_eq!((reply.status, reply.text.as_str()), (202, ""));
    // One bad message does not spoil the others.
    let hello = json!({"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": hello("2025-03-26")});
    let reply = raw(&router, &[], json!([[1], message(2, "ping"), hello]).to_string()).await;
    let answers = reply.body.as_array().unwrap();
    let codes: Vec<_> = answers.iter().map(|a| a["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [Some(-32600), None, Some(-32600)]);
    let four = Value::Array(vec![message(1, "ping"); 4]).to_string();
    for (headers, body) in [
        (&[][..], "[]".to_owned()),
        (&[][..], four),
        (&[("mcp-protocol-version", "2025-06-18")], batch.clone()),
        (&[("mcp-protocol-version", NEWEST)], batch),
    ] {
        let reply = raw(&router, headers, body).await;
        assert_eq!((reply.status, code(&reply)), (400, -32600));
    }
}

#[tokio::test]
async fn the_endpoint_has_a_second_name_and_says_what_it_is() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}).to_string();
    for path in cairn_mcp::PATHS {
        let reply = send(&router, to(path).body(Body::from(body.clone())).unwrap()).await;
        assert_eq!(result(&reply), &json!({}), "{path}");
        let request = Request::get(path).header("host", "localhost:8080");
        let reply = send(&router, request.body(Body::empty()).unwrap()).await;
        assert_eq!((reply.status, &reply.body["url"]), (200, &"http://cairn.test/mcp/".into()), "{path}");
        assert_eq!(reply.body["protocol_versions"][0], NEWEST);
    }
    // It is surrounded like every route.
    let request = Request::delete("/mcp/").header("host", "cairn.test");
    let reply = send(&router, request.body(Body::empty()).unwrap()).await;
    assert_problem(&reply, 405, "method_not_allowed");
    assert!(reply.header("allow").contains("POST"));
    let request = Request::get("/mcp/nothing").header("host", "cairn.test");
    assert_problem(&send(&router, request.body(Body::empty()).unwrap()).await, 404, "route_not_found");
}

#[tokio::test]
async fn strange_hosts_and_pages_are_refused() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}).to_string();
    for (host, origin, code) in
        [("evil.test", None, "host_not_allowed"), ("cairn.test", Some("https://evil.test"), "origin_not_allowed")]
    {
        for path in ["/mcp/", "/mcp/messages?session_id=1"] {
            let mut request = Request::post(path).header("host", host).header("content-type", "application/json");
            if let Some(origin) = origin {
                request = request.header("origin", origin);
            }
            assert_problem(&send(&router, request.body(Body::from(body.clone())).unwrap()).await, 403, code);
        }
    }
    // Unless the operator allows them, which is said to browsers too.
    let http = HttpConfig { browser_origins: vec!["https://app.example".to_owned()], ..open_config().http };
    let api = ApiState::new(std::sync::Arc::clone(&world.slot) as _, ApiConfig { http, ..open_config() });
    let allowing = router_with(api, |api| routes(api, Options::default()));
    for (origin, status) in [("https://app.example", 200), ("https://evil.test", 403)] {
        let request = Request::post("/mcp/").header("host", "cairn.test").header("content-type", "application/json");
        let request = request.header("origin", origin).body(Body::from(body.clone())).unwrap();
        assert_eq!(send(&allowing, request).await.status, status, "{origin}");
        let request = Request::builder().method("OPTIONS").uri("/mcp/").header("host", "cairn.test");
        let request = request.header("origin", origin).header("access-control-request-method", "POST");
        let reply = send(&allowing, request.body(Body::empty()).unwrap()).await;
        assert_eq!(reply.status, if status == 200 { 204 } else { 403 }, "{origin}");
    }
    let mut request = Request::get("/mcp/").header("host", "evil.test");
    request = request.header("accept", "text/event-stream");
    assert_problem(&send(&router, request.body(Body::empty()).unwrap()).await, 403, "host_not_allowed");
}
