//! The tools that find and call any endpoint.

use cairn_http::HttpConfig;
use cairn_mcp::{Options, routes};
use cairn_operations::{ApiConfig, ApiState, router_with};
use serde_json::{Value, json};

use crate::{
    rig::{app, call, result_schema},
    support::{DOCUMENT, everything_world, get, open_config, post},
};

fn found(result: &Value) -> Vec<&str> {
    let endpoints = result["structuredContent"]["data"]["endpoints"].as_array().unwrap();
    endpoints.iter().map(|e| e["operation"].as_str().or(e["endpoint"].as_str()).unwrap()).collect()
}

#[tokio::test]
async fn endpoints_are_found() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let schema = jsonschema::draft202012::new(&result_schema(&router, "search_endpoints").await).unwrap();
    for (query, first) in [
        ("what feerate is recommended", "fees_recommended"),
        ("balance of an address over time", "wallet_balance_history"),
        ("projected blocks", "projected_blocks"),
        ("send a transaction", "tx_broadcast"),
        ("full health", "health_full"),
    ] {
        let result = call(&router, "search_endpoints", json!({"query": query})).await;
        assert!(schema.is_valid(&result["structuredContent"]), "{result}");
        assert!(found(&result)[..3].contains(&first), "{query}: {:?}", found(&result));
    }
    // Without words: all that are built, and nothing else.
    let result = call(&router, "search_endpoints", json!({"limit": 100})).await;
    let all = found(&result);
    let described = DOCUMENT["paths"].as_object().unwrap().values().flat_map(|m| m.as_object().unwrap().values());
    // An operation with two paths is found once.
    let described = described.filter(|op| op.get("x-alias-of").is_none()).count();
    let private = ["wallet_lookup", "redeem_code", "create_checkout", "checkout", "refresh_checkout"];
    assert!(private.iter().all(|name| !all.contains(name)), "{all:?}");
    let described = described - private.len();
    assert_eq!((all.len(), &result["structuredContent"]["data"]["total"]), (described, &described.into()));
    let result = call(&router, "search_endpoints", json!({"query": "zzzz qqqq"})).await;
    assert!(found(&result).is_empty());
    assert_eq!(found(&call(&router, "search_endpoints", json!({"limit": 1})).await).len(), 1);
    for (bad, field) in [
        (json!({"query": 1}), "query"),
        (json!({"query": "x".repeat(257)}), "query"),
        (json!({"limit": 0}), "limit"),
        (json!({"limit": 101}), "limit"),
        (json!({"limit": "5"}), "limit"),
    ] {
        let said = call(&router, "search_endpoints", bad).await["structuredContent"].clone();
        assert_eq!((&said["status_code"], &said["error"]["errors"][0]["name"]), (&422.into(), &field.into()));
        assert!(schema.is_valid(&said), "{said}");
    }
}

/// An operation with data that only its sender should know goes through no tool, unless the operator allows it.
#[tokio::test]
async fn private_operations_are_no_tools() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let wallet = "addr(mpXwg4jMtRhuSpVq4xS3HFHmCmWp9NyGKt)";
    let arguments = json!({"wallet": [wallet]});
    for endpoint in
        ["wallet_lookup", "POST /v1/wallets/lookup", "POST  /v1/wallets/lookup", "POST /v1/wallets/lookup?x=1"]
    {
        let said = call(&router, "call_endpoint", json!({"endpoint": endpoint, "arguments": arguments})).await;
        let said = &said["structuredContent"];
        assert_eq!(
            (&said["status_code"], &said["error"]["error"]),
            (&403.into(), &"not_as_tool".into()),
            "{endpoint}: {said}"
        );
    }
    let described = call(&router, "describe_endpoint", json!({"endpoint": "wallet_lookup"})).await;
    assert_eq!(described["structuredContent"]["status_code"], 422);
    let over_http = post(&router, "/v1/wallets/lookup", &arguments).await;
    assert_eq!((over_http.status, &over_http.body["address_count"]), (200, &0.into()), "{}", over_http.text);

    let allowed = HttpConfig { private_tools: true, ..open_config().http };
    let api = ApiState::new(std::sync::Arc::clone(&world.slot) as _, ApiConfig { http: allowed, ..open_config() });
    let router = router_with(api, |api| routes(api, Options::default()));
    let said = call(&router, "call_endpoint", json!({"endpoint": "wallet_lookup", "arguments": arguments})).await;
    assert_eq!(said["structuredContent"]["data"]["address_count"], 0, "{said}");
    // Even then nothing of it comes back.
    let wrong = json!({"endpoint": "wallet_lookup", "arguments": {"wallet": ["xprvSecretOfSomebodyWhoHasMoney"], "xprvOther": 1}});
    let said = call(&router, "call_endpoint", wrong).await.to_string();
    assert!(said.contains("private_key_refused") && !said.contains("Secret") && !said.contains("xprvOther"), "{said}");
}

#[tokio::test]
async fn every_endpoint_that_is_found_can_be_called() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let schema = jsonschema::draft202012::new(&result_schema(&router, "call_endpoint").await).unwrap();
    let result = call(&router, "search_endpoints", json!({"limit": 100})).await;
    for endpoint in result["structuredContent"]["data"]["endpoints"].as_array().unwrap() {
        for name in [&endpoint["endpoint"], &endpoint["operation"]] {
            let said = call(&router, "call_endpoint", json!({"endpoint": name})).await["structuredContent"].clone();
            assert!(schema.is_valid(&said), "{said}");
            assert_eq!(said["endpoint"], endpoint["endpoint"], "{said}");
            // It was reached: what fails, fails for want of arguments or of a mempool.
            assert!([200, 422, 503].contains(&said["status_code"].as_u64().unwrap()), "{said}");
        }
    }
}

#[tokio::test]
async fn endpoints_are_called_by_name_template_and_path() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let expected = get(&router, "/v1/blocks/3?tx_limit=1").await.body;
    for arguments in [
        json!({"endpoint": "block_detail", "arguments": {"height_or_hash": "3", "tx_limit": 1}}),
        json!({"endpoint": "/v1/blocks/{height_or_hash}", "arguments": {"height_or_hash": 3, "tx_limit": 1}}),
        json!({"endpoint": "GET /v1/blocks/{height_or_hash}", "arguments": {"height_or_hash": 3, "tx_limit": "1"}}),
        json!({"endpoint": "/v1/blocks/3?tx_limit=1"}),
        json!({"endpoint": " GET  /v1/blocks/3?tx_limit=1 ", "arguments": null}),
    ] {
        let said = call(&router, "call_endpoint", arguments.clone()).await["structuredContent"].clone();
        assert_eq!((&said["status_code"], &said["data"]), (&200.into(), &expected), "{arguments}");
    }
    let txid = world.oracle.blocks()[2].txdata[0].compute_txid().to_string();
    let arguments = json!({"endpoint": "POST /v1/tx/verify", "arguments": {"txid": txid, "address": "x"}});
    let said = call(&router, "call_endpoint", arguments).await["structuredContent"].clone();
    assert_eq!((&said["status_code"], &said["endpoint"]), (&400.into(), &"POST /v1/tx/verify".into()), "{said}");
    for (arguments, status, error) in [
        (json!({}), 422, "validation_error"),
        (json!({"endpoint": 1}), 422, "validation_error"),
        (json!({"endpoint": ""}), 422, "validation_error"),
        (json!({"endpoint": "no_such"}), 422, "validation_error"),
        (json!({"endpoint": "http://127.0.0.1/"}), 422, "validation_error"),
        (json!({"endpoint": "DELETE /v1/wallets"}), 422, "validation_error"),
        (json!({"endpoint": "block_detail", "arguments": "3"}), 422, "validation_error"),
        (json!({"endpoint": "/v1/blocks/3", "arguments": {"tx_limit": 1}}), 422, "validation_error"),
        (json!({"endpoint": "/v1/blocks/3 4"}), 422, "validation_error"),
        (json!({"endpoint": "/v1/blocks/<\u{7f}"}), 400, "invalid_path"),
        (json!({"endpoint": "//evil.test/x"}), 404, "route_not_found"),
        (json!({"endpoint": "/v1/nothing"}), 404, "route_not_found"),
        (json!({"endpoint": "/mcp/"}), 404, "route_not_found"),
        (json!({"endpoint": "POST /v1/blocks/3"}), 405, "method_not_allowed"),
        (json!({"endpoint": "/v1/billing/checkout/x"}), 403, "not_as_tool"),
        (json!({"endpoint": "/v1/l402/challenges/x"}), 503, "state_unavailable"),
        (json!({"endpoint": format!("/{}", "x".repeat(70_000))}), 414, "uri_too_long"),
    ] {
        let said = call(&router, "call_endpoint", arguments.clone()).await["structuredContent"].clone();
        assert_eq!(
            (&said["status_code"], &said["error"]["error"]),
            (&status.into(), &error.into()),
            "{arguments}: {said}"
        );
    }
}
