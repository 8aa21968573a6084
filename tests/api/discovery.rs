//! Every surface on which the service describes itself: every address that is named answers, every id is explained.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use cairn_http::HttpConfig;
use cairn_model::MempoolDelta;
use cairn_operations::{ApiConfig, ApiState, Featured, router};
use cairn_state::State;
use serde_json::Value;
use tower::ServiceExt;

use crate::{
    description::OF_THE_PAGES,
    mempool_ops::settle,
    support::{DOCUMENT, World, assert_problem, assert_valid, everything_world, get, get_ok, open_config, script_hash},
    unconfirmed::Waiting,
};

const BASE: &str = "http://cairn.test";

/// A router with an example address and a mempool.
pub async fn world_router(world: &World) -> (Router, Waiting<'_>) {
    world_router_with(world, None).await
}

/// The same with service state.
pub async fn world_router_with(world: &World, state: Option<State>) -> (Router, Waiting<'_>) {
    let script = world.oracle.scripts().max_by_key(|s| world.oracle.history(s).len()).unwrap();
    let featured = Featured {
        title: "Someone".to_owned(),
        description: "An example.".to_owned(),
        address: script_hash(script),
        account_key: None,
    };
    let mut waiting = Waiting::at_tip(world);
    let coin = waiting.coins(1_000_000).next().unwrap();
    let tx = waiting.make(&[coin], &[], 1000);
    waiting.tell(vec![MempoolDelta::Add(tx)]);
    settle(&waiting).await;
    let config = ApiConfig { featured: vec![featured], ..open_config() };
    let api = ApiState::new(Arc::clone(&world.slot) as Arc<_>, config);
    (router(ApiState { state, ..api }), waiting)
}

pub async fn fetch(router: &Router, target: &str) -> (u16, String, String) {
    let response = router.clone().oneshot(Request::get(target).body(Body::empty()).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let kind = response.headers().get("content-type").map_or("", |v| v.to_str().unwrap()).to_owned();
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, kind, String::from_utf8_lossy(&bytes).into_owned())
}

/// Addresses of this server that a text names, as targets of requests.
fn addresses(text: &str) -> BTreeSet<String> {
    let absolute = text.split(BASE).skip(1).map(|rest| rest.split(['"', ')', ' ', '\n', '<', '>', '`', ',']).next());
    let mut found: BTreeSet<String> = absolute.flatten().map(str::to_owned).collect();
    for attribute in ["href=\"/", "src=\"/"] {
        let relative = text.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
        found.extend(relative.map(|rest| format!("/{rest}")));
    }
    // An address with a place to fill in is not complete yet.
    let complete = |target: &String| {
        !target.contains(['{', '<']) && !target.contains("&lt;") && !OF_THE_PAGES.contains(&target.as_str())
    };
    found.into_iter().map(|target| target.trim_end_matches(['.', '\'']).to_owned()).filter(complete).collect()
}

#[tokio::test]
async fn every_address_that_is_named_answers() {
    let world = &everything_world();
    let (router, _waiting) = world_router(world).await;
    let begin = [
        "/about",
        "/llms.txt",
        "/llms-full.txt",
        "/.well-known/agent-card.json",
        "/.well-known/api-catalog",
        "/agents.json",
        "/openapi.json",
        "/api/reference/",
        "/api/health",
        "/v1/capabilities",
        "/v1/beta-status",
        "/v1/wallets",
    ];
    let mut queue: VecDeque<String> = begin.map(str::to_owned).into();
    let mut pages: BTreeMap<String, String> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    while let Some(target) = queue.pop_front() {
        let (page, anchor) = target.split_once('#').unwrap_or((&target, ""));
        let page = if page.is_empty() { "/about" } else { page };
        anchors.insert((page.to_owned(), anchor.to_owned()));
        if pages.contains_key(page) {
            continue;
        }
        let (status, kind, text) = fetch(&router, page).await;
        // One is named with a body to send.
        let expected = if page == "/v1/billing/redeem" { 405 } else { 200 };
        assert_eq!(status, expected, "{page}: {text}");
        // Answers about data name what is on the chain; only documents are walked further.
        let is_document = !page.starts_with("/v1/wallets/") && !page.starts_with("/v1/tx/");
        if is_document && (kind.starts_with("text/") || kind.contains("json")) {
            queue.extend(addresses(&text));
        }
        pages.insert(page.to_owned(), text);
    }
    assert!(pages.len() > 30, "{:?}", pages.keys());
    for (page, anchor) in anchors.iter().filter(|(_, anchor)| !anchor.is_empty()) {
        assert!(pages[page].contains(&format!("id=\"{anchor}\"")), "{page}#{anchor}");
    }
    // Where nobody speaks the protocol, nobody is sent there.
    assert!(pages.values().all(|text| !text.contains("/mcp/")));
}

#[tokio::test]
async fn what_speaks_the_protocol_says_so() {
    let world = &everything_world();
    let versions = vec!["2026-07-28".to_owned(), "2025-11-25".to_owned()];
    let router = world.router(ApiConfig::from(HttpConfig { mcp_versions: versions, ..open_config().http }));
    let card = get(&router, "/.well-known/agent-card.json").await.body;
    let interfaces = card["supportedInterfaces"].as_array().unwrap();
    assert_eq!(
        (&interfaces[0]["protocolBinding"], &interfaces[0]["url"]),
        (&"MCP".into(), &"http://cairn.test/mcp/".into())
    );
    assert_eq!(interfaces[0]["protocolVersion"], "2026-07-28");
    let mcp = get(&router, "/.well-known/mcp.json").await.body;
    assert!(mcp["servers"].as_array().unwrap().iter().all(|s| s["url"] == "http://cairn.test/mcp/"));
    for path in ["/llms.txt", "/v1/capabilities"] {
        assert!(get(&router, path).await.text.contains("http://cairn.test/mcp/"), "{path}");
    }
    assert_problem(&get(&world.open_router(), "/.well-known/mcp.json").await, 404, "route_not_found");
}

#[tokio::test]
async fn the_catalog_of_apis_is_a_linkset() {
    let world = &everything_world();
    let reply = get(&world.open_router(), "/.well-known/api-catalog").await;
    assert!(reply.header("content-type").starts_with("application/linkset+json"));
    assert!(reply.header("link").contains("rel=\"api-catalog\""));
    let linkset = reply.body["linkset"].as_array().unwrap();
    assert!(linkset.iter().all(|context| context["anchor"].is_string()));
    assert_eq!(linkset[1]["service-desc"][0]["href"], "http://cairn.test/openapi.json");
}

#[tokio::test]
async fn capabilities_name_every_operation() {
    let world = &everything_world();
    let router = world.open_router();
    let full = get_ok(&router, "/v1/capabilities", "/v1/capabilities").await;
    let compact = get_ok(&router, "/v1/capabilities", "/v1/capabilities?compact=true").await;
    let names = |body: &Value| -> BTreeSet<String> {
        let areas = body["areas"].as_array().unwrap().iter();
        let operations = areas.flat_map(|area| area["operations"].as_array().unwrap().clone());
        operations.map(|op| op["name"].as_str().unwrap().to_owned()).collect()
    };
    let described: BTreeSet<String> = DOCUMENT["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|methods| methods.as_object().unwrap().values())
        .filter(|operation| operation.get("x-alias-of").is_none())
        .map(|operation| operation["operationId"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!((names(&full), names(&compact)), (described.clone(), described));
    assert!(compact.to_string().len() * 2 < full.to_string().len());
    let status = get_ok(&router, "/v1/beta-status", "/v1/beta-status").await;
    assert_eq!((&status["active"], &status["billing_paused"]), (&true.into(), &true.into()));
    let limits: Vec<_> = status["guardrails"].as_array().unwrap().iter().map(|g| g["name"].clone()).collect();
    for name in ["rate_limit", "queued_requests", "connections", "connections_per_client"] {
        assert!(limits.contains(&name.into()), "{limits:?}");
    }
}

#[tokio::test]
async fn health_says_all_that_was_agreed() {
    let world = &everything_world();
    let body = get_ok(&world.open_router(), "/api/health", "/api/health").await;
    assert_valid("/api/health", &body);
    let agreed = "status service mode product_mode beta_mode billing_provider billing_mode beta_pricing_active auth_mode \
        auth_header primary_package timestamp_package endpoints_available beta_notice beta_posture billing_paused \
        billing_paused_reason checkout_buy_path post_beta_pricing_model post_beta_model beta_status_url full_status_url \
        checkout_page_url public_l402_enabled native_l402_live_capabilities live_x402_capabilities \
        prepared_x402_capabilities native_402_opening x402_opening checkout_payment_methods live_data _meta beta";
    let has = |body: &Value, names: &str| {
        for name in names.split_whitespace() {
            assert!(body.get(name).is_some(), "{name}");
        }
    };
    has(&body, agreed);
    has(
        &body["native_402_opening"],
        "status status_reason operator_gate_enabled configured_capabilities \
        eligible_first_wave_capabilities unsafe_configured_capabilities ignored_configured_capabilities \
        public_opening_ready recommended_first_wave blocked_or_later_capabilities timestamp_submit_quote_model debit_model",
    );
    has(
        &body["x402_opening"],
        "status status_reason operator_gate_enabled live_gate_enabled configured_capabilities \
        eligible_first_wave_capabilities eligible_prepared_capabilities unsafe_configured_capabilities \
        live_unsafe_configured_capabilities ignored_configured_capabilities public_opening_ready \
        recommended_first_wave recommended_prepared_candidates debit_model",
    );
    for package in ["primary_package", "timestamp_package"] {
        has(
            &body[package],
            "free premium conditional effective_free effective_premium effective_conditional \
            endpoint_catalog",
        );
    }
    for notice in ["beta_notice", "beta_posture"] {
        has(
            &body[notice],
            "active reason current_access conditional_access_exceptions billing_paused \
            checkout_buy_path rate_limits_active post_beta_pricing_model post_beta_model",
        );
    }
    has(&body["post_beta_model"], "free_tier_remains paid_access native_l402_unit x402_asset bridge_pass");
    assert_eq!(body["x402_opening"]["status"], "prepared_but_closed");
    let premium = body["primary_package"]["premium"].as_array().unwrap();
    assert!(premium.contains(&"/v1/tx/{txid}".into()) && premium.contains(&"POST /v1/tx/verify".into()));
    assert_eq!(
        body["prepared_x402_capabilities"],
        serde_json::json!([
            "chain_awakenings",
            "mempool_stress_history",
            "risk_check",
            "risk_check_batch",
            "tx_verify",
            "wallet_detail",
            "wallet_summary"
        ])
    );
    assert_eq!(
        body["native_402_opening"]["eligible_first_wave_capabilities"],
        serde_json::json!([
            "activity_feed",
            "address_intelligence",
            "address_risk_signals",
            "batch_intelligence",
            "dormant_movements",
            "exchange_flows",
            "mempool_stress_history",
            "miner_flows",
            "supply_distribution",
            "timestamp_proof_download",
            "tx_lookup",
            "tx_verify",
            "wallet_contributors",
            "wallet_detail",
            "wallet_summary",
            "whale_alerts_labeled"
        ])
    );
}

/// Every `definition` in an answer.
fn definitions(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("definition").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|value| definitions(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| definitions(value, found)),
        _ => {}
    }
}

#[tokio::test]
async fn every_definition_and_every_failure_is_explained() {
    let world = &everything_world();
    let (router, waiting) = world_router(world).await;
    let mut named = BTreeSet::new();
    let paths = DOCUMENT["paths"].as_object().unwrap().keys().filter(|path| !path.contains('{'));
    for path in paths {
        definitions(&get(&router, path).await.body, &mut named);
    }
    let txid = waiting.made[0].1.txid;
    definitions(&get(&router, &format!("/v1/mempool/tx/{txid}")).await.body, &mut named);
    assert!(named.len() >= 6, "{named:?}");
    for id in &named {
        let reply = get(&router, &format!("/api/reference/definitions/{id}")).await;
        assert_eq!(reply.status, 200, "{id}");
    }
    for path in ["/v1/tx/zz", "/nothing", "/v1/l402/challenges/x", "/v1/qr"] {
        let reply = get(&router, path).await;
        let docs = reply.body["docs_url"].as_str().unwrap().strip_prefix(BASE).unwrap().to_owned();
        let (page, anchor) = docs.split_once('#').unwrap();
        assert_eq!(reply.body["error"], anchor, "{path}");
        assert!(get(&router, page).await.text.contains(&format!("id=\"{anchor}\"")), "{docs}");
    }
}

#[tokio::test]
async fn pages_may_load_nothing_from_elsewhere() {
    let world = &everything_world();
    let router = world.open_router();
    for path in ["/api/reference/", "/api/reference/errors/", "/api/reference/definitions/mempool-stress"] {
        let reply = get(&router, path).await;
        assert!(reply.header("content-security-policy").starts_with("default-src 'none'"), "{path}");
        assert!(!reply.text.contains("onclick") && !reply.text.contains("<script>"), "{path}");
    }
    let script = get(&router, "/api/reference/try.js").await;
    assert!(script.header("content-type").starts_with("text/javascript"));
}

/// A router with or without gates, with the Model Context Protocol's document.
fn documents_of(world: &World, gates_enabled: bool) -> Router {
    let http = HttpConfig { gates_enabled, mcp_versions: vec!["2025-11-25".to_owned()], ..open_config().http };
    world.router(ApiConfig::from(http))
}

#[tokio::test]
async fn documents_agree_on_authentication() {
    let world = &everything_world();
    for gates in [true, false] {
        let router = documents_of(world, gates);
        let flows = get(&router, "/agents.json").await.body;
        let mcp = get(&router, "/.well-known/mcp.json").await.body;
        let card = get(&router, "/.well-known/agent-card.json").await.body;
        let said = &flows["authentication"];
        assert_eq!(said, &mcp["authentication"]);
        assert_eq!(said["required"], false);
        let needed_for: Vec<&str> = said["needed_for"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let gated = vec!["wallet_transactions", "wallet_pnl", "wallet_dashboard", "wallet_lookup"];
        assert_eq!(needed_for, if gates { gated } else { vec![] });
        let schemes = said["schemes"].as_array().unwrap();
        assert_eq!(schemes.len(), card["securitySchemes"].as_object().unwrap().len());
        for scheme in schemes {
            let of_card = &card["securitySchemes"][scheme["id"].as_str().unwrap()];
            let of_card = of_card.as_object().unwrap().values().next().unwrap();
            assert_eq!(of_card["description"], scheme["description"]);
        }
        // The service itself says the same.
        let status = get(&router, "/v1/beta-status").await.text;
        assert_eq!(status.contains("wallet_transactions"), gates);
    }
}

#[tokio::test]
async fn models_are_told_what_is_gated() {
    let world = &everything_world();
    let (gated, open) = (documents_of(world, true), documents_of(world, false));
    for document in ["/llms.txt", "/llms-full.txt"] {
        let (_, _, text) = fetch(&gated, document).await;
        let access = text.split("\n## ").find(|part| part.starts_with("Access")).unwrap();
        assert!(access.contains("402") && access.contains("Authorization: Bearer"), "{access}");
        assert!(access.contains("- GET /v1/wallets/{address}/transactions: Pages after the first"), "{access}");
        assert_eq!(access.lines().filter(|line| line.starts_with("- ")).count(), 4, "{access}");
        let (_, _, text) = fetch(&open, document).await;
        assert!(
            text.contains("Every operation of this server is open")
                && !text.contains("(gated")
                && !text.contains("Gated:"),
            "{document}"
        );
    }
}

#[tokio::test]
async fn models_are_told_everything_at_length() {
    let world = &everything_world();
    let (_, _, text) = fetch(&documents_of(world, true), "/llms-full.txt").await;
    let part = |heading: &str| {
        let mut parts = text.split("\n### ").filter(|part| part.lines().next() == Some(heading));
        parts.next().unwrap_or_else(|| panic!("{heading} is missing")).to_owned()
    };
    let mut described = 0;
    for (path, methods) in DOCUMENT["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let part = part(&format!("{} {path}", method.to_uppercase()));
            described += 1;
            if let Some(of) = operation.get("x-alias-of").and_then(Value::as_str) {
                let same = format!("The same operation as `{} {of}`", method.to_uppercase());
                assert!(part.contains(&same), "{part}");
                continue;
            }
            // Every parameter has a type, its bounds and its default.
            let of_body = &operation["requestBody"]["content"]["application/json"]["schema"]["properties"];
            let of_body = of_body.as_object().into_iter().flatten().map(|(name, schema)| (name.as_str(), schema));
            let others = operation["parameters"].as_array().unwrap().iter();
            let others = others.map(|parameter| (parameter["name"].as_str().unwrap(), &parameter["schema"]));
            for (name, schema) in of_body.chain(others) {
                let line = part.lines().find(|line| line.starts_with(&format!("- `{name}` ("))).unwrap();
                if let Some(kind) = schema["type"].as_str() {
                    assert!(line.contains(kind), "{line}");
                }
                for key in ["minimum", "maximum", "default"] {
                    if let Some(value) = schema.get(key).filter(|value| !value.is_null()) {
                        assert!(line.contains(&value.to_string()), "{key}: {line}");
                    }
                }
                for word in schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                    assert!(line.contains(word), "{line}");
                }
            }
            assert_eq!(part.contains("\nBody: `{"), operation["requestBody"].is_object(), "{path}");
            // An example answer that is JSON with `_meta`, or the type of a file.
            match part.split("```json\n").nth(1) {
                Some(example) => {
                    let example: Value = serde_json::from_str(example.split("\n```").next().unwrap()).unwrap();
                    assert!(example.is_object(), "{path}");
                }
                None => assert!(part.contains("Answer: a file of type "), "{path}"),
            }
        }
    }
    // Some 2 KB for each operation.
    assert!(text.len() < described * 3_500, "{} bytes for {described} operations", text.len());
}
