//! Plans, prices, and codes for keys.

use std::{collections::BTreeMap, sync::Arc};

use axum::{Router, body::Body, http::Request};
use cairn_http::HttpConfig;
use cairn_operations::{ApiConfig, ApiState, router};
use cairn_state::{Code, CodeSecret, KeyKind, NewCode, State, StateUrl};
use cairn_testkit::temp_dir;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    priced,
    support::{
        Reply, World, assert_problem, assert_valid, everything_world, get, get_ok, open_config, post, script_hash, send,
    },
};

pub const CATALOG: &str = "/v1/billing/catalog";
pub const REDEEM: &str = "/v1/billing/redeem";
const SPEC: &str = include_str!("../../query-api/operations/agreed.tsv");

fn now() -> u64 {
    priced::now().into()
}

/// A gated server with service state.
struct Shop {
    router: Router,
    state: State,
    /// A page that needs a key.
    gated: String,
    _folder: TempDir,
}

impl Shop {
    async fn over(world: &World) -> Self {
        let folder = temp_dir();
        let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
        let config = ApiConfig::from(HttpConfig { gates_enabled: true, ..open_config().http });
        let api = ApiState::new(Arc::clone(&world.slot) as Arc<_>, config);
        let busiest = world.oracle.scripts().max_by_key(|s| world.oracle.history(s).len()).unwrap();
        Shop {
            router: router(ApiState { state: Some(state.clone()), ..api }),
            state,
            gated: format!("/v1/wallets/{}/transactions?limit=1&offset=1", script_hash(busiest)),
            _folder: folder,
        }
    }

    async fn code(&self, kind: KeyKind, expires_at: u64) -> (Code, CodeSecret) {
        let new = NewCode { kind, label: "for a test".to_owned(), valid_secs: 86_400, expires_at };
        self.state.issue_code(new, now()).await.unwrap()
    }

    async fn redeem(&self, code: &str) -> Reply {
        post(&self.router, REDEEM, &json!({ "code": code })).await
    }

    /// The page that needs a key, with this header.
    async fn page_with(&self, header: &str, value: &str) -> Reply {
        send(&self.router, Request::get(&self.gated).header(header, value).body(Body::empty()).unwrap()).await
    }
}

/// The answer to a code that gives a key, for the description.
pub async fn example(path: &str) -> Option<Reply> {
    if path != REDEEM {
        return None;
    }
    let shop = Shop::over(&everything_world()).await;
    let (_, code) = shop.code(KeyKind::Bridge, now() + 60).await;
    let mut reply = shop.redeem(code.expose()).await;
    // No secret stands in the repository, not even one of a database that is gone.
    reply.body["key_id"] = "0".repeat(12).into();
    reply.body["api_key"] =
        "cairn_key_000000000000_00000000000000000000000000000000000000000000000000000000000000000844bb28".into();
    Some(reply)
}

#[tokio::test]
async fn a_code_gives_a_key_that_opens_what_a_pass_opens() {
    let shop = Shop::over(&everything_world()).await;
    assert_problem(&get(&shop.router, &shop.gated).await, 402, "wallet_session_required");
    for (kind, said, header) in
        [(KeyKind::Bridge, "bridge_key", "X-WR-API-Key"), (KeyKind::Session, "wallet_session", "Authorization")]
    {
        let (code, secret) = shop.code(kind, now() + 60).await;
        let reply = shop.redeem(&format!(" {}\n", secret.expose())).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        assert_valid(REDEEM, &reply.body);
        assert_eq!(reply.header("cache-control"), "no-store");
        assert_eq!((&reply.body["kind"], &reply.body["header"]), (&said.into(), &header.into()));
        let key = reply.body["api_key"].as_str().unwrap();
        let value = if kind == KeyKind::Bridge { key.to_owned() } else { format!("Bearer {key}") };
        assert_eq!(shop.page_with(header, &value).await.status, 200);
        // The code itself opens nothing.
        assert_eq!(shop.page_with(header, secret.expose()).await.status, 402);
        let stored = shop.state.codes().await.unwrap().into_iter().find(|of| of.id == code.id).unwrap();
        assert_eq!(stored.redeemed.unwrap().1, reply.body["key_id"].as_str().unwrap());
        let again = shop.redeem(secret.expose()).await;
        assert_problem(&again, 409, "code_not_redeemable");
        assert_eq!((&again.body["state"], &again.body["retryable"]), (&"redeemed".into(), &false.into()));
        assert!(!again.text.contains(key) && !again.text.contains(secret.expose()));
    }
    assert_eq!(shop.state.keys().await.unwrap().len(), 2);
}

#[tokio::test]
async fn codes_that_give_no_key_say_why_and_are_not_repeated() {
    let shop = Shop::over(&everything_world()).await;
    let (_, late) = shop.code(KeyKind::Bridge, now() - 1).await;
    let (revoked, taken_back) = shop.code(KeyKind::Bridge, now() + 60).await;
    shop.state.revoke_code(&revoked.id, now()).await.unwrap().unwrap();
    let unknown = "cairn_code_000000000000_00000000000000000000000000000000000000000000000000000000000000003e0673e4";
    let mistyped = format!("{}x", &unknown[..unknown.len() - 1]);
    let key = "cairn_key_000000000000_00000000000000000000000000000000000000000000000000000000000000003e0673e4";
    for (code, status, error) in [
        (late.expose(), 409, "code_not_redeemable"),
        (taken_back.expose(), 409, "code_not_redeemable"),
        (unknown, 404, "code_not_found"),
        (&mistyped, 422, "validation_error"),
        (key, 422, "validation_error"),
        ("hunter2", 422, "validation_error"),
        ("", 422, "validation_error"),
        (&"x".repeat(201), 422, "validation_error"),
    ] {
        let reply = shop.redeem(code).await;
        assert_problem(&reply, status, error);
        assert!(code.is_empty() || !reply.text.contains(code), "{}", reply.text);
    }
    assert_eq!(shop.redeem(late.expose()).await.body["state"], "expired");
    assert_eq!(shop.redeem(taken_back.expose()).await.body["state"], "revoked");
    for body in [json!({}), json!({ "code": 5 }), json!({ "code": ["x"] }), json!({ "code": null })] {
        assert_problem(&post(&shop.router, REDEEM, &body).await, 422, "validation_error");
    }
    assert_eq!(shop.state.keys().await.unwrap(), []);
    // Without service state nothing is redeemed.
    let world = everything_world();
    assert_problem(&post(&world.open_router(), REDEEM, &json!({ "code": unknown })).await, 503, "state_unavailable");
}

#[tokio::test]
async fn of_many_requests_with_a_code_one_gets_the_key() {
    let shop = Shop::over(&everything_world()).await;
    let (_, code) = shop.code(KeyKind::Bridge, now() + 60).await;
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let (router, body) = (shop.router.clone(), json!({ "code": code.expose() }));
            tokio::spawn(async move { post(&router, REDEEM, &body).await.status })
        })
        .collect();
    let mut statuses: BTreeMap<u16, u32> = BTreeMap::new();
    for task in tasks {
        *statuses.entry(task.await.unwrap()).or_default() += 1;
    }
    assert_eq!(statuses, BTreeMap::from([(200, 1), (409, 49)]));
    assert_eq!(shop.state.keys().await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_catalog_has_every_price_of_the_table() {
    let shop = Shop::over(&everything_world()).await;
    let catalog = get_ok(&shop.router, CATALOG, CATALOG).await;
    assert_eq!((&catalog["billing_paused"], &catalog["payment_methods"]), (&true.into(), &json!([])));
    let mut expected: BTreeMap<&str, (Vec<String>, &str, Value, Value, Value)> = BTreeMap::new();
    for line in SPEC.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [method, path, _, tier, capability, sats, unit, usd, ..] = cells[..] else { panic!("{line}") };
        if capability.is_empty() {
            continue;
        }
        let or_null = |text: &str| if text.is_empty() { Value::Null } else { text.into() };
        let sats = sats.parse::<u64>().map_or(Value::Null, Value::from);
        let row = expected.entry(capability).or_insert((Vec::new(), tier, sats, or_null(unit), or_null(usd)));
        row.0.push(if method == "GET" { path.to_owned() } else { format!("{method} {path}") });
    }
    assert!(expected.len() > 20);
    let listed = catalog["capabilities"].as_array().unwrap();
    assert_eq!(listed.len(), expected.len());
    for of in listed {
        let (endpoints, tier, sats, unit, usd) = &expected[of["capability"].as_str().unwrap()];
        let mut said: Vec<String> = serde_json::from_value(of["endpoints"].clone()).unwrap();
        let mut endpoints = endpoints.clone();
        said.sort_unstable();
        endpoints.sort_unstable();
        assert_eq!(said, endpoints);
        assert_eq!((&of["post_beta_tier"], &of["currently_billable"]), (&(*tier).into(), &false.into()));
        assert_eq!((&of["future_native_l402_price_sats"], &of["price_unit"]), (sats, unit), "{of}");
        assert_eq!(&of["future_x402_price_usd"], usd, "{of}");
    }
    // Free, though they have a price: prepared, and never asked for.
    let free = listed.iter().filter(|of| of["post_beta_tier"] == "free").map(|of| of["capability"].as_str().unwrap());
    assert_eq!(free.collect::<Vec<_>>(), ["mempool_stress_history", "risk_check", "risk_check_batch"]);
    let plan = &catalog["plans"][0];
    assert_eq!((&plan["plan_id"], &plan["for_sale"]), (&"wallet-monthly".into(), &false.into()));
    assert!(plan["price_sats"].is_null() && plan["price_sats_reason"].is_string());
    let opens = plan["opens"].as_array().unwrap();
    assert!(opens.contains(&"/v1/wallets/{address}/transactions".into()), "{opens:?}");
    // The gate names the catalog.
    let refused = get(&shop.router, &shop.gated).await;
    let url = refused.body["payment_required"]["catalog_url"].as_str().unwrap();
    assert_eq!(url, format!("http://cairn.test{CATALOG}"));
}
