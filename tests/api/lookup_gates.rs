//! Operations on whole wallets that a session opens: files, cursors, and bounds.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use axum::{Router, body::Body, http::Request};
use bitcoin::{Amount, OutPoint, Script, ScriptBuf, TxOut};
use cairn_chaingen::{BlockSpec, ChainBuilder, EverythingOptions, Lock, Style, everything};
use cairn_http::HttpConfig;
use cairn_operations::{ApiConfig, ApiState, router};
use cairn_pipeline::NoProgress;
use cairn_state::{KeyKind, NewKey, State, StateUrl};
use serde_json::{Value, json};

use crate::{
    gates::assert_payment_required,
    lookup::{LOOKUP, addr, ask, raw},
    lookup_gaps::Account,
    pnl_files::{dollars, years_world},
    priced::now,
    support::{Reply, World, address, assert_problem, everything_world, get, open_config, post, script_hash, send},
    unconfirmed_wallets::fresh,
};

/// The transactions of a chain in which each script is paid: by wallets, how many transactions each has.
const ROUNDS: [Range<u32>; 6] = [0..60, 40..100, 40..101, 0..600, 500..1_000, 500..1_001];

fn gated_config() -> ApiConfig {
    ApiConfig::from(HttpConfig { gates_enabled: true, ..open_config().http })
}

/// A chain in which one script pays the others in each of their rounds.
fn counted_world() -> (World, Vec<ScriptBuf>) {
    let mut builder = ChainBuilder::new(29);
    let mut script = |key| builder.keyring().script(&Lock::P2wpkh { key }).unwrap();
    let payer = script(1);
    let paid: Vec<ScriptBuf> = (100..106).map(&mut script).collect();
    builder.mine(&BlockSpec::paying(payer.clone())).unwrap();
    for _ in 0..101 {
        builder.mine(&BlockSpec::default()).unwrap();
    }
    let mut coin = builder.spendable()[0];
    for round in 0..1_001 {
        let wanted = ROUNDS.iter().zip(&paid).filter(|(rounds, _)| rounds.contains(&round));
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
    (World::of(builder.into_chain()), paid)
}

/// A router with gates, and the secret of a session.
async fn with_session(world: &World, folder: &tempfile::TempDir) -> (Router, String) {
    let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
    let new = NewKey { kind: KeyKind::Session, label: String::new(), expires_at: None };
    let (_, secret) = state.issue(new, now().into()).await.unwrap();
    let api = ApiState::new(Arc::clone(&world.slot) as Arc<_>, gated_config());
    (router(ApiState { state: Some(state), ..api }), secret.expose().to_owned())
}

async fn post_with(router: &Router, secret: &str, body: &Value) -> Reply {
    let request = Request::post(LOOKUP).header("content-type", "application/json");
    let request = request.header("authorization", format!("Bearer {secret}"));
    send(router, request.body(Body::from(body.to_string())).unwrap()).await
}

/// 402 with all its fields; nothing may store it.
fn assert_gated(reply: &Reply) {
    assert_problem(reply, 402, "wallet_session_required");
    for key in ["requested_capability", "payment_required", "how_to_access", "getting_started_url"] {
        assert!(!reply.body[key].is_null(), "{key}");
    }
    assert_payment_required(&reply.body);
    assert_eq!((reply.header("cache-control"), reply.header("etag")), ("no-store", ""));
}

#[tokio::test]
async fn lookup_of_long_histories_needs_a_session() {
    let (world, paid) = counted_world();
    let folder = cairn_testkit::temp_dir();
    let (gated, secret) = with_session(&world, &folder).await;
    let name = |script: &ScriptBuf| address(script).unwrap();
    let showing = |scripts: &[ScriptBuf]| {
        let showcase_addresses = scripts.iter().map(name).collect();
        world.router(ApiConfig { showcase_addresses, ..gated_config() })
    };
    let (all_shown, some_shown, open) = (showing(&paid), showing(&paid[1..]), world.open_router());
    for of in [vec![0], vec![0, 1], vec![0, 2], vec![0, 1, 2, 2], vec![3, 4], vec![3, 5], vec![5, 0, 3]] {
        let rounds: BTreeSet<u32> = of.iter().flat_map(|at| ROUNDS[*at].clone()).collect();
        let count = rounds.len();
        let items: Vec<String> = of.iter().map(|at| addr(&paid[*at])).chain([raw(&fresh(5))]).collect();
        for extra in [
            json!({"include": ["pnl"]}),
            json!({"include": ["dashboard"]}),
            json!({"include": ["addresses", "pnl", "dashboard"]}),
        ] {
            let mut body = json!({"wallet": items});
            body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            let mut replies =
                vec![(post(&gated, LOOKUP, &body).await, false), (post_with(&gated, &secret, &body).await, true)];
            if of.contains(&0) {
                // Of these, one address is not shown.
                replies.push((post(&some_shown, LOOKUP, &body).await, false));
            }
            for (reply, has_session) in replies {
                let told = ["transaction_count", "free_max_transactions", "hard_max_transactions"]
                    .map(|name| &reply.body[name]);
                match count {
                    1_001.. => {
                        assert_problem(&reply, 503, "history_limit_exceeded");
                        assert_eq!(told, [&json!(count), &Value::Null, &json!(1_000)], "{body}");
                        assert_eq!((&reply.body["retryable"], reply.header("retry-after")), (&json!(false), ""));
                    }
                    101.. if !has_session => {
                        assert_gated(&reply);
                        assert_eq!(told, [&json!(count), &json!(100), &Value::Null], "{body}");
                    }
                    _ => assert_eq!(reply.status, 200, "{body}: {}", reply.text),
                }
            }
            for router in [&all_shown, &open] {
                let told = ask(router, &body).await;
                for part in ["pnl", "dashboard"].map(|part| &told[part]).into_iter().filter(|part| !part.is_null()) {
                    assert_eq!(part["transaction_count"], count, "{body}");
                }
            }
        }
        // Balance, addresses, days and the first page are free.
        let body = json!({"wallet": items, "include": ["addresses", "balance_history", "transactions"], "limit": 100});
        let told = ask(&gated, &body).await;
        assert_eq!(told["transactions"]["total"], count);
        assert_eq!(
            told["balance"]["confirmed_sats"],
            600 * BTreeSet::from_iter(&of).into_iter().map(|at| ROUNDS[*at].len()).sum::<usize>()
        );
    }
}

#[tokio::test]
async fn lookup_pages_after_the_first_need_a_session() {
    let world = &everything_world();
    let folder = cairn_testkit::temp_dir();
    let (gated, secret) = with_session(world, &folder).await;
    let mut scripts: Vec<&ScriptBuf> =
        world.oracle.scripts().filter(|script| (1..4_000).contains(&script.len())).collect();
    scripts.sort_by_key(|script| std::cmp::Reverse(world.oracle.history(script).len()));
    let items = [raw(scripts[0]), raw(scripts[1])];
    let mut body = json!({"wallet": items, "include": ["transactions"], "limit": 2});
    body["cursor"] = ask(&gated, &body).await["transactions"]["next_cursor"].clone();
    assert_gated(&post(&gated, LOOKUP, &body).await);
    assert_eq!(post_with(&gated, &secret, &body).await.status, 200);
    assert_eq!(post(&world.open_router(), LOOKUP, &body).await.status, 200);
    let showing = |shown: &[&ScriptBuf]| {
        let showcase_addresses =
            shown.iter().map(|script| address(script).unwrap_or_else(|| script_hash(script))).collect();
        world.router(ApiConfig { showcase_addresses, ..gated_config() })
    };
    assert_eq!(post(&showing(&scripts[..2]), LOOKUP, &body).await.status, 200);
    assert_gated(&post(&showing(&scripts[..1]), LOOKUP, &body).await);
    // A wallet that the chain does not know is not in the showcase.
    let unknown = json!({"wallet": [raw(&fresh(5))], "include": ["pnl"], "format": "csv"});
    assert_gated(&post(&showing(&scripts[..2]), LOOKUP, &unknown).await);
}

#[tokio::test]
async fn lookup_files_are_those_of_the_address() {
    let world = &years_world();
    dollars(world);
    let folder = cairn_testkit::temp_dir();
    let (gated, secret) = with_session(world, &folder).await;
    let open = world.open_router();
    let scripts: Vec<&ScriptBuf> =
        world.oracle.scripts().filter(|s| !s.is_empty() && world.oracle.history(s).len() > 3).collect();
    let mut lines = 0;
    for script in scripts.iter().filter(|script| (1..4_000).contains(&script.len())).step_by(9) {
        for (query, options) in [
            ("", json!({})),
            ("&method=fifo&year=2012", json!({"method": "fifo", "year": 2012})),
            ("&csv_profile=koinly", json!({"csv_profile": "koinly"})),
            ("&csv_profile=cointracking", json!({"csv_profile": "cointracking"})),
        ] {
            let mut body = json!({"wallet": [raw(script)], "include": ["pnl"], "format": "csv"});
            body.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
            assert_gated(&post(&gated, LOOKUP, &body).await);
            let file = post_with(&gated, &secret, &body).await;
            assert_eq!(file.status, 200, "{}", file.text);
            assert!(file.header("content-type").starts_with("text/csv"));
            assert_eq!((file.header("cache-control"), file.header("etag")), ("no-store", ""));
            let one = get(&open, &format!("/v1/wallets/{}/pnl?format=csv{query}", script_hash(script))).await;
            assert_eq!(file.text, one.text, "{body}");
            lines += file.text.lines().count() - 1;
        }
    }
    assert!(lines > 60, "{lines}");
    for include in [json!(null), json!([]), json!(["addresses"]), json!(["pnl", "addresses"]), json!(["pnl", "pnl"])] {
        let mut body = json!({"wallet": [raw(scripts[0])], "include": include, "format": "csv"});
        if include.is_null() {
            body.as_object_mut().unwrap().remove("include");
        }
        let reply = post(&open, LOOKUP, &body).await;
        assert_problem(&reply, 422, "validation_error");
        assert_eq!(
            (&reply.body["errors"][0]["in"], &reply.body["errors"][0]["name"]),
            (&json!("body"), &json!("format"))
        );
    }
}

fn assert_no_cursor(reply: &Reply) {
    assert_problem(reply, 422, "validation_error");
    assert_eq!((&reply.body["errors"][0]["in"], &reply.body["errors"][0]["name"]), (&json!("body"), &json!("cursor")));
}

#[tokio::test]
async fn lookup_cursors_are_of_one_wallet_and_of_one_chain() {
    let options = EverythingOptions { blocks: 120, max_txs: 4, forks: vec![], showpieces: false };
    let world = World::of(everything(5, &options).unwrap());
    let open = world.open_router();
    let mut scripts: Vec<&ScriptBuf> = world.oracle.scripts().collect();
    scripts.sort_by_key(|script| std::cmp::Reverse(world.oracle.history(script).len()));
    let texts: Vec<String> = scripts[..3].iter().map(|script| raw(script)).collect();
    let mut body = json!({"wallet": texts[..2], "include": ["transactions"], "limit": 2});
    let cursor = ask(&open, &body).await["transactions"]["next_cursor"].as_str().unwrap().to_owned();
    body["cursor"] = json!(cursor);
    assert_eq!(post(&open, LOOKUP, &body).await.status, 200);
    for wallet in [
        json!([texts[0]]),
        json!([texts[1], texts[0]]),
        json!(texts),
        json!([texts[0], texts[2]]),
        json!([texts[0].clone() + "#", texts[1]]),
    ] {
        let mut other = body.clone();
        other["wallet"] = wallet;
        let reply = post(&open, LOOKUP, &other).await;
        if other["wallet"][0].as_str().unwrap().ends_with('#') {
            assert_problem(&reply, 400, "invalid_descriptor");
        } else {
            assert_no_cursor(&reply);
        }
    }
    let one = get(&open, &format!("/v1/wallets/{}/transactions?limit=2", script_hash(scripts[0]))).await;
    for token in [one.body["next_cursor"].as_str().unwrap(), &cursor[1..], "zz", "-", &cursor.replace('-', "--")] {
        assert_no_cursor(
            &post(&open, LOOKUP, &json!({"wallet": [texts[0]], "include": ["transactions"], "cursor": token})).await,
        );
    }
    // It is for pages of transactions only.
    assert_no_cursor(&post(&open, LOOKUP, &json!({"wallet": texts[..2], "include": ["pnl"], "cursor": cursor})).await);
    world.engine.lock().unwrap().unwind(115, &NoProgress).unwrap();
    assert_problem(&post(&open, LOOKUP, &body).await, 409, "cursor_expired");
    body.as_object_mut().unwrap().remove("cursor");
    ask(&open, &body).await;
}

#[tokio::test]
async fn lookup_has_bounds() {
    let mut builder = ChainBuilder::new(2);
    let account = Account::new(4, 0);
    // More used addresses than an answer lists.
    let scripts: Vec<ScriptBuf> = (0..1_007).map(|index| account.script(2, 0, index)).collect();
    for some in scripts.chunks(300) {
        builder
            .mine(&BlockSpec {
                payees: some.iter().map(|script| (script.clone(), 1)).collect(),
                ..BlockSpec::default()
            })
            .unwrap();
    }
    let world = World::of(builder.into_chain());
    let (open, key) = (world.open_router(), account.key);
    let wpkh = format!("wpkh({key}/<0;1>/*)");
    let told = ask(&open, &json!({"wallet": [wpkh]})).await;
    assert_eq!(told["addresses"].as_array().unwrap().len(), 1_000);
    assert_eq!((&told["address_count"], &told["addresses_omitted"]), (&json!(1_007), &json!(7)));
    let own: BTreeSet<&Script> = scripts.iter().map(|script| script.as_script()).collect();
    let coins = world.oracle.coins().values().filter(|coin| own.contains(&*coin.script)).map(|coin| coin.value_sats);
    assert_eq!(told["balance"]["confirmed_sats"], coins.sum::<u64>());
    let told = ask(&open, &json!({"wallet": [wpkh], "include": []})).await;
    assert_eq!((&told["addresses"], &told["addresses_omitted"]), (&Value::Null, &json!(0)));
    // 20 000 scripts, 64 branches, 20 items, and values of parameters.
    let range =
        |last: u32| json!({"wallet": [{"desc": format!("wpkh({key}/5/*)"), "range": [0, last]}], "include": []});
    assert_eq!(ask(&open, &range(19_999)).await["branches"][0]["scanned"], 20_000);
    let keys = |count: usize| json!({"wallet": vec![key.to_string(); count], "gap_limit": 1, "include": []});
    assert_eq!(ask(&open, &keys(8)).await["branches"].as_array().unwrap().len(), 64);
    for (body, name) in [
        (range(20_000), "wallet"),
        (keys(9), "wallet"),
        (keys(21), "wallet"),
        (json!({"wallet": []}), "wallet"),
        (json!({}), "wallet"),
        (json!({"wallet": [wpkh], "gap_limit": 0}), "gap_limit"),
        (json!({"wallet": [wpkh], "gap_limit": 1_001}), "gap_limit"),
        (json!({"wallet": [wpkh], "limit": 101}), "limit"),
        (json!({"wallet": [wpkh], "include": ["everything"]}), "include[0]"),
        (json!({"wallet": [{"desc": wpkh, "range": [5, 4]}]}), "wallet[0].range"),
        (json!({"wallet": [{"desc": wpkh, "range": [5]}]}), "wallet[0].range"),
        (json!({"wallet": [{"desc": wpkh, "range": [0, 2_147_483_648u32]}]}), "wallet[0].range[1]"),
        (json!({"wallet": [wpkh], "include": ["dashboard"], "range": "7d", "from": "2012-01-01"}), "range"),
        (json!({"wallet": [wpkh], "include": ["dashboard"], "from": "2012-01-02", "to": "2012-01-01"}), "to"),
    ] {
        let reply = post(&open, LOOKUP, &body).await;
        assert_problem(&reply, 422, "validation_error");
        assert_eq!(
            (&reply.body["errors"][0]["in"], &reply.body["errors"][0]["name"]),
            (&json!("body"), &json!(name)),
            "{}",
            reply.text
        );
    }
    // The last index that is not hardened.
    let last = (1u32 << 31) - 1;
    let told = ask(&open, &json!({"wallet": [{"desc": wpkh, "range": [last - 1, last]}]})).await;
    assert_eq!((&told["branches"][0]["scanned"], &told["branches"][0]["next_index"]), (&json!(2), &json!(last - 1)));
}
