//! Gates, cursors over reorgs, validators, and parameters of gains.

use std::sync::Arc;

use axum::{body::Body, http::Request};
use bitcoin::{Amount, OutPoint, ScriptBuf, TxOut};
use cairn_chaingen::{BlockSpec, ChainBuilder, EverythingOptions, Lock, Style, everything};
use cairn_events::Interval;
use cairn_http::HttpConfig;
use cairn_operations::{ApiConfig, ApiState, router};
use cairn_pipeline::NoProgress;
use cairn_state::{KeyKind, NewKey, State, StateUrl};
use serde_json::{Value, json};

use crate::corpus::Demo;
use crate::pnl::PNL;
use crate::priced::{DAY, now, row, series, take};
use crate::support::{
    DOCUMENT, Reply, World, address, assert_problem, everything_world, get, open_config, script_hash, send,
};

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
    assert_eq!(exceptions(&health), json!(["wallet_transactions", "wallet_pnl", "wallet_dashboard", "wallet_lookup"]));
    let catalog = health["primary_package"]["endpoint_catalog"].as_array().unwrap();
    let pages = json!({
        "basis": "transaction_page",
        "free_max_pages": 1,
        "public_showcase_addresses": [],
        "upgrade_access": "wallet_plus",
    });
    let histories = json!({
        "basis": "wallet_transaction_count",
        "free_max_transactions": 100,
        "public_showcase_addresses": [],
        "upgrade_access": "wallet_plus",
        "hard_max_transactions": 1_000,
        "over_hard_limit_status": 503,
    });
    let mut found = 0;
    for row in catalog {
        let endpoint = row["endpoint"].as_str().unwrap();
        let access = match endpoint {
            "/v1/wallets/{address}/transactions" => Some(&pages),
            PNL | "/v1/wallets/{address}/dashboard" | "POST /v1/wallets/lookup" => Some(&histories),
            _ => None,
        };
        found += usize::from(access.is_some());
        assert_eq!(row.get("conditional_access"), access, "{row}");
        let conditional = row["effective_tier"] == "conditional_free_then_wallet_plus";
        assert_eq!(conditional, access.is_some(), "{row}");
        let model = match row["post_beta_tier"] == "free" {
            // The one whose access stays as it is after the beta.
            _ if endpoint == PNL => "conditional_free_then_wallet_plus",
            true => "free",
            false => "beta_free",
        };
        assert_eq!(row["live_access_model"], model, "{row}");
    }
    assert_eq!(found, 4);
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
pub fn assert_payment_required(body: &Value) {
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
    for path in ["/v1/blocks/7", "/v1/chain/recent-blocks", "/v1/qr?data=x", "/openapi.json", "/about"] {
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
    for path in [
        "/v1/chain/recent-blocks",
        "/v1/blocks/7",
        "/v1/dashboard",
        "/openapi.json",
        "/v1/wallets",
        "/about",
        "/favicon.svg",
    ] {
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
    // These have ages, which are of the moment: they have no version, and nobody keeps them.
    for path in ["/api/health", "/api/health/full"] {
        let reply = get(&router, path).await;
        assert_eq!(
            (reply.status, reply.header("etag"), reply.header("cache-control")),
            (200, "", "no-store"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn what_is_public_is_shown() {
    let world = &everything_world();
    let shown = script_hash(busiest(world));
    let config = || ApiConfig { showcase_addresses: vec![shown.clone()], ..open_config() };
    let router = world.router(config());
    assert_eq!(get(&router, "/v1/capabilities").await.body["showcase_addresses"], json!([shown]));
    assert!(get(&router, "/v1/capabilities?compact=true").await.body.get("showcase_addresses").is_none());
    assert!(get(&router, "/about").await.text.contains(&format!("<code>{shown}</code>")));
    let gated = world.router(ApiConfig { http: HttpConfig { gates_enabled: true, ..open_config().http }, ..config() });
    let health = get(&gated, "/api/health").await.body;
    let rows = health["primary_package"]["endpoint_catalog"].as_array().unwrap();
    let access = rows.iter().find_map(|row| row.get("conditional_access")).unwrap();
    assert_eq!(access["public_showcase_addresses"], json!([shown]));
    // A null has a reason next to it.
    for (place, value) in [("dashboard_snapshot", "cached_at"), ("bitcoin_backend", "best_height")] {
        let row = &health["live_data"][place];
        assert!(row[value].is_null() && row["reason"].is_string(), "{row}");
    }
}

/// Transactions that the addresses of [`counted_world`] have: about the numbers up to which something is open.
const COUNTS: [u32; 4] = [100, 101, 1_000, 1_001];

/// A chain in which one script pays others, each as often as its number says.
fn counted_world() -> (World, [String; 4]) {
    let mut builder = ChainBuilder::new(23);
    let mut script = |key| builder.keyring().script(&Lock::P2wpkh { key }).unwrap();
    let payer = script(1);
    let paid: [ScriptBuf; 4] = COUNTS.map(|count| script(1_000 + count));
    builder.mine(&BlockSpec::paying(payer.clone())).unwrap();
    for _ in 0..101 {
        builder.mine(&BlockSpec::default()).unwrap();
    }
    let mut coin = builder.spendable()[0];
    for round in 0..COUNTS[3] {
        let wanted = COUNTS.iter().zip(&paid).filter(|(count, _)| round < **count);
        let pay = |value, script: &ScriptBuf| TxOut { value, script_pubkey: script.clone() };
        let mut outputs: Vec<TxOut> = wanted.map(|(_, script)| pay(Amount::from_sat(600), script)).collect();
        let left = builder.coin(&coin).unwrap().txout.value - Amount::from_sat(3_000);
        outputs.insert(0, pay(left, &payer));
        let tx = builder.spend(&[coin], outputs, &Style::default()).unwrap();
        coin = OutPoint { txid: builder.add(tx).unwrap(), vout: 0 };
        if round % 200 == 199 {
            builder.mine(&BlockSpec::default()).unwrap();
        }
    }
    builder.mine(&BlockSpec::default()).unwrap();
    (World::of(builder.into_chain()), paid.map(|script| PNL.replace("{address}", &address(&script).unwrap())))
}

/// A history that is too long is reported with both numbers, and without a time to ask again.
fn assert_too_long(reply: &Reply) {
    assert_problem(reply, 503, "history_limit_exceeded");
    assert_eq!(
        (&reply.body["transaction_count"], &reply.body["hard_max_transactions"]),
        (&json!(1_001), &json!(1_000))
    );
    assert_eq!((&reply.body["retryable"], reply.header("retry-after")), (&json!(false), ""));
}

#[tokio::test]
async fn gains_over_long_histories_need_a_session_and_over_the_longest_there_are_none() {
    let (world, paths) = counted_world();
    let gated_config = || ApiConfig::from(HttpConfig { gates_enabled: true, ..open_config().http });
    let folder = cairn_testkit::temp_dir();
    let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
    let new = NewKey { kind: KeyKind::Session, label: String::new(), expires_at: None };
    let (_, secret) = state.issue(new, now().into()).await.unwrap();
    let api = ApiState::new(Arc::clone(&world.slot) as Arc<_>, gated_config());
    let gated = router(ApiState { state: Some(state), ..api });
    let shown = paths.iter().map(|path| path.split('/').nth(3).unwrap().to_owned()).collect();
    let showcase = world.router(ApiConfig { showcase_addresses: shown, ..gated_config() });
    let open = world.open_router();
    let session = |path: &str| {
        let request = Request::get(path).header("authorization", format!("Bearer {}", secret.expose()));
        request.body(Body::empty()).unwrap()
    };
    for (count, path) in COUNTS.into_iter().zip(&paths) {
        for suffix in ["", "?format=csv", "?format=csv&csv_profile=koinly", "?explain=true&year=2011"] {
            let (target, is_file) = (format!("{path}{suffix}"), suffix.contains("csv"));
            // The longest come first, then the long ones, then files.
            let any = Request::get(&target).header("if-none-match", "*").body(Body::empty()).unwrap();
            for (reply, has_session) in [
                (get(&gated, &target).await, false),
                (send(&gated, any).await, false),
                (send(&gated, session(&target)).await, true),
            ] {
                match count {
                    1_001 => assert_too_long(&reply),
                    _ if has_session => assert_eq!(reply.status, 200, "{target}: {}", reply.text),
                    101.. => {
                        assert_problem(&reply, 402, "wallet_session_required");
                        let told = ["transaction_count", "free_max_transactions"].map(|name| &reply.body[name]);
                        assert_eq!(told, [&json!(count), &json!(100)], "{target}");
                        assert_payment_required(&reply.body);
                    }
                    _ if is_file => {
                        assert_problem(&reply, 402, "wallet_session_required");
                        assert_payment_required(&reply.body);
                    }
                    _ => assert!([200, 304].contains(&reply.status), "{target}: {}", reply.text),
                }
            }
            for router in [&showcase, &open] {
                let reply = get(router, &target).await;
                assert_eq!(reply.status, 200, "{target}: {}", reply.text);
                if !is_file {
                    let counts =
                        ["transaction_count", "explained_omitted"].map(|name| reply.body[name].as_u64().unwrap());
                    let omitted = if suffix.is_empty() { 0 } else { count.saturating_sub(500) };
                    assert_eq!(counts, [count, omitted].map(u64::from), "{target}");
                }
            }
        }
    }
    // A wrong request is reported before a missing session.
    let reply = get(&gated, &format!("{}?csv_profile=koinly", paths[3])).await;
    assert_problem(&reply, 422, "validation_error");
    // An address that the chain does not know is not a showcase address either.
    let unknown = PNL.replace("{address}", &format!("scripthash:{}", "5a".repeat(32)));
    assert_eq!(get(&gated, &unknown).await.status, 200);
    assert_problem(&get(&gated, &format!("{unknown}?format=csv")).await, 402, "wallet_session_required");
}

#[tokio::test]
async fn gains_stay_the_same_until_a_price_comes_in() {
    let world = &everything_world();
    let router = world.open_router();
    let day = series("BTC", "USD", Interval::Day);
    let start = world.oracle.monotone_time(0) / DAY * DAY;
    take(world, "one", 5, vec![row(day, start, "5"), row(day, now() / DAY * DAY, "90")]);
    let path = PNL.replace("{address}", &script_hash(busiest(world)));
    for suffix in ["?method=fifo", "?explain=true", "?format=csv", "?format=csv&csv_profile=koinly"] {
        let target = &format!("{path}{suffix}");
        let first = get(&router, target).await;
        let tag = first.header("etag").to_owned();
        assert!(first.status == 200 && tag.len() > 10, "{target}: {}", first.text);
        let again = get(&router, target).await;
        assert_eq!((&again.text, again.header("etag")), (&first.text, &*tag), "{target}");
        let known = || Request::get(target).header("if-none-match", &tag).body(Body::empty()).unwrap();
        assert_eq!(send(&router, known()).await.status, 304, "{target}");
        // One more price, of the time in which it happened.
        let close = format!("{}.25", 7 + suffix.len());
        take(world, "two", 6, vec![row(day, start + DAY * suffix.len() as u32, &close), row(day, start + DAY, &close)]);
        let after = send(&router, known()).await;
        assert_eq!(after.status, 200, "{target}");
        assert_ne!((after.header("etag"), &after.text), (&*tag, &first.text), "{target}");
        assert_ne!(after.text, first.text, "{target}");
    }
}

#[tokio::test]
async fn parameters_of_gains_that_are_none() {
    let world = &everything_world();
    let router = world.open_router();
    let path = PNL.replace("{address}", &script_hash(busiest(world)));
    for (name, values) in [
        ("csv_profile", &["koinly", "koinly&format=json", "turbotax&format=csv"][..]),
        ("method", &["lifo", ""]),
        ("format", &["xml"]),
        ("year", &["2008", "2201", "-1", "last", "2012.5"]),
        ("currency", &["X", "DOLLAR", "BTC", "%24%24%24"]),
        ("explain", &["perhaps"]),
    ] {
        for value in values {
            let reply = get(&router, &format!("{path}?{name}={value}")).await;
            assert_problem(&reply, 422, "validation_error");
            let error = &reply.body["errors"][0];
            assert_eq!((&error["in"], &error["name"]), (&json!("query"), &json!(name)), "{value}");
        }
    }
    for query in ["year=2009", "year=2200", "currency=eur", "method=average&format=json&explain=false"] {
        assert_eq!(get(&router, &format!("{path}?{query}")).await.status, 200, "{query}");
    }
}
