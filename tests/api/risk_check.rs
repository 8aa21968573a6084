//! The risk check: its parts are the answers of their own operations, a part that fails stands alone, and a batch reads
//! what its addresses have in common once.

use std::sync::Arc;

use axum::Router;
use bitcoin::{Amount, OutPoint, ScriptBuf, TxOut};
use cairn_chaingen::{BlockSpec, ChainBuilder, Lock, Style};
use cairn_events::Claim;
use cairn_link::IndexSlot;
use cairn_operations::{ApiState, router};
use cairn_reader::Reader;
use serde_json::{Value, json};

use crate::{
    claims::{claim, listed, take},
    damaged::{closed, damage},
    support::{
        World, address, assert_problem, assert_valid, everything_world, get, get_ok, open_config, post, script_hash,
    },
};

const CHECK: &str = "/v1/risk-check/{address}";
const BATCH: &str = "/v1/risk-check/batch";

fn name(script: &ScriptBuf) -> String {
    address(script).unwrap_or_else(|| script_hash(script))
}

/// An answer without what differs from call to call.
fn bare(mut body: Value) -> Value {
    body.as_object_mut().unwrap().shift_remove("_meta");
    body
}

async fn own(router: &Router, address: &str, operation: &str) -> Value {
    let reply = get(router, &format!("/v1/wallets/{address}/{operation}")).await;
    assert_eq!(reply.status, 200, "{operation}: {}", reply.text);
    bare(reply.body)
}

/// Deposit addresses of an exchange: paid together, and swept together.
struct Exchange {
    world: World,
    deposits: Vec<ScriptBuf>,
}

impl Exchange {
    fn new(count: u32) -> Self {
        let mut builder = ChainBuilder::new(77);
        let mut script = |key| builder.keyring().script(&Lock::P2wpkh { key }).unwrap();
        let (bank, hot) = (script(1), script(2));
        let deposits: Vec<ScriptBuf> = (0..count).map(|at| script(1_000 + at)).collect();
        for _ in 0..3 {
            builder.mine(&BlockSpec::paying(bank.clone())).unwrap();
        }
        for _ in 0..101 {
            builder.mine(&BlockSpec::default()).unwrap();
        }
        let sats = Amount::from_sat;
        for value in [1_000_000, 2_000_000] {
            let coins: Vec<OutPoint> = coins(&builder, |script| *script == bank);
            let pays = deposits.iter().map(|script| TxOut { value: sats(value), script_pubkey: script.clone() });
            let all = builder.coin(&coins[0]).unwrap().txout.value;
            let rest = all - sats(value * u64::from(count)) - sats(100_000);
            let back = TxOut { value: rest, script_pubkey: bank.clone() };
            let tx = builder.spend(&coins[..1], pays.chain([back]).collect(), &Style::default()).unwrap();
            builder.add(tx).unwrap();
            builder.mine(&BlockSpec::default()).unwrap();
            let paid = coins_of(&builder, &deposits);
            let sum: Amount = paid.iter().map(|coin| builder.coin(coin).unwrap().txout.value).sum();
            let swept = TxOut { value: sum - sats(100_000), script_pubkey: hot.clone() };
            let tx = builder.spend(&paid, vec![swept], &Style::default()).unwrap();
            builder.add(tx).unwrap();
            builder.mine(&BlockSpec::default()).unwrap();
        }
        let world = World::of(builder.into_chain());
        let claims: Vec<Claim> = deposits.iter().step_by(3).map(|script| claim(script, "abc")).collect();
        take(&world, "first", 1_760_000_000, true, &claims);
        take(&world, "second", 1_760_000_000, true, &[listed(&bank)]);
        Exchange { world, deposits }
    }
}

fn coins(builder: &ChainBuilder, is_own: impl Fn(&ScriptBuf) -> bool) -> Vec<OutPoint> {
    let has = |at: &&OutPoint| builder.coin(at).is_some_and(|coin| is_own(&coin.txout.script_pubkey));
    let mut coins: Vec<OutPoint> = builder.spendable().iter().filter(has).copied().collect();
    coins.sort_by_key(|at| std::cmp::Reverse(builder.coin(at).unwrap().txout.value));
    coins
}

fn coins_of(builder: &ChainBuilder, scripts: &[ScriptBuf]) -> Vec<OutPoint> {
    coins(builder, |script| scripts.contains(script))
}

#[tokio::test]
async fn parts_are_the_answers_of_their_operations() {
    let world = &everything_world();
    let router = world.open_router();
    let some: Vec<ScriptBuf> = world.oracle.scripts().filter(|script| script.len() > 20).take(40).cloned().collect();
    take(world, "first", 1_760_000_000, true, &[claim(&some[0], "abc"), listed(&some[1]), listed(&some[7])]);
    for script in some.iter().step_by(5).chain([&some[1]]) {
        let address = name(script);
        for depth in [1, 2] {
            let path = format!("/v1/risk-check/{address}?depth={depth}");
            let body = get_ok(&router, CHECK, &path).await;
            assert_eq!((&body["not_a_recommendation"], &body["depth"]), (&true.into(), &depth.into()), "{body}");
            for (part, operation) in [
                ("trust_card", "trust-safety".to_owned()),
                ("risk_signals", "risk-signals".to_owned()),
                ("risk_exposure", format!("risk-exposure?depth={depth}")),
                ("sanctions_exposure", format!("sanctions-exposure?depth={depth}")),
            ] {
                let found = &body[part];
                assert_eq!((&found["status"], &found["reason"]), (&"ok".into(), &Value::Null), "{part}: {found}");
                assert_eq!(found["data"], own(&router, &address, &operation).await, "{part}");
            }
        }
    }
    let default = bare(get(&router, &format!("/v1/risk-check/{}", name(&some[0]))).await.body);
    assert_eq!(default["depth"], 1);
    for wrong in ["depth=0", "depth=3", "depth=x"] {
        let reply = get(&router, &format!("/v1/risk-check/{}?{wrong}", name(&some[0]))).await;
        assert_problem(&reply, 422, "validation_error");
    }
    assert_problem(&get(&router, "/v1/risk-check/nonsense").await, 400, "invalid_address");
}

#[tokio::test]
async fn a_part_that_fails_stands_alone() {
    let (data, script) = closed();
    damage(&data, "history");
    let slot = IndexSlot::with(Arc::new(Reader::open(&data.path().join("index")).unwrap()));
    let api = router(ApiState::new(Arc::new(slot), open_config()));
    let body = get_ok(&api, CHECK, &format!("/v1/risk-check/{script}")).await;
    assert_eq!((&body["trust_card"]["status"], &body["trust_card"]["retryable"]), (&"ok".into(), &false.into()));
    let signals = &body["risk_signals"];
    assert_eq!((&signals["status"], &signals["reason"]), (&"unavailable".into(), &"index_damaged".into()), "{body}");
    assert!(signals["data"].is_null() && signals["detail"].as_str().unwrap().contains("history"), "{signals}");
    // The damage is known to the operator, as after any other request.
    assert_eq!(get_ok(&api, "/api/health", "/api/health").await["status"], "degraded");
}

#[tokio::test]
async fn a_batch_reads_what_its_addresses_share_once() {
    let Exchange { world, deposits } = Exchange::new(100);
    let router = world.open_router();
    let asked: Vec<String> = deposits.iter().map(name).collect();
    let reply = post(&router, BATCH, &json!({"addresses": asked})).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_valid(BATCH, &reply.body);
    let rows = reply.body["results"].as_array().unwrap();
    assert_eq!(rows.len(), 100);
    let (mut single, mut counted) = (0, 0);
    for (address, row) in asked.iter().zip(rows).step_by(10) {
        let one = get(&router, &format!("/v1/risk-check/{address}")).await;
        single += one.rows_read();
        counted += 1;
        assert_eq!(row, &bare(one.body), "{address}");
    }
    let each = single / counted;
    let in_batch = reply.rows_read();
    println!("{in_batch} rows in a batch of 100, {each} for one");
    assert!(in_batch * 4 < each * 100, "{in_batch} rows in a batch of 100, {each} for one");
    // The first transaction pays them from a listed script.
    let listed = &rows[0]["sanctions_exposure"]["data"]["sources"]["by_list"];
    assert!(!listed.as_array().unwrap().is_empty(), "{}", rows[0]);
}

#[tokio::test]
async fn batches_answer_each_input_and_bound_the_depth() {
    let Exchange { world, deposits } = Exchange::new(12);
    let router = world.open_router();
    let all: Vec<String> = deposits.iter().map(name).collect();
    let body = json!({"addresses": [all[0], "nonsense", all[1], all[0]], "depth": 2});
    let reply = post(&router, BATCH, &body).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_valid(BATCH, &reply.body);
    let rows = reply.body["results"].as_array().unwrap();
    assert_eq!((&rows[0]["address"], &rows[0], &rows[0]["depth"]), (&json!(all[0]), &rows[3], &2.into()));
    assert_eq!((&rows[1]["error"], &rows[1]["retryable"]), (&"invalid_address".into(), &false.into()));
    assert_eq!(rows[2]["address"], json!(all[1]));
    let deep = |count: usize| json!({"addresses": all[..count], "depth": 2});
    assert_eq!(post(&router, BATCH, &deep(10)).await.status, 200);
    let refused = post(&router, BATCH, &deep(11)).await;
    assert_problem(&refused, 422, "validation_error");
    assert_eq!(refused.body["errors"][0]["name"], "depth");
    assert_eq!(post(&router, BATCH, &json!({"addresses": all[..11]})).await.status, 200);
    for wrong in [json!({"addresses": []}), json!({"addresses": vec!["x"; 101]}), json!({"depth": 1})] {
        assert_problem(&post(&router, BATCH, &wrong).await, 422, "validation_error");
    }
}

/// A row that is asked for again takes as many bytes again, up to the bound of all rows.
#[tokio::test]
async fn repeated_addresses_do_not_make_an_answer_without_bound() {
    let Exchange { world, deposits } = Exchange::new(100);
    let router = world.open_router();
    let one = get(&router, &format!("/v1/risk-check/{}", name(&deposits[0]))).await;
    let reply = post(&router, BATCH, &json!({"addresses": vec![name(&deposits[0]); 100]})).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_valid(BATCH, &reply.body);
    let rows = reply.body["results"].as_array().unwrap();
    assert_eq!(rows.len(), 100);
    assert!(reply.text.len() < (4 << 20) + 100_000, "{} bytes", reply.text.len());
    let bytes = bare(one.body).to_string().len();
    let fitting = ((4 << 20) / bytes).min(100);
    assert!(rows[..fitting].iter().all(|row| row == &rows[0] && row["error"].is_null()), "{fitting}");
    assert!(rows[fitting..].iter().all(|row| row["error"] == "unavailable" && row["retryable"] == true), "{fitting}");
}

/// One operation under two paths: the same answers, and one tool.
#[tokio::test]
async fn risk_signals_have_two_paths() {
    let Exchange { world, deposits } = Exchange::new(5);
    let router = world.open_router();
    let address = name(&deposits[0]);
    let alias = get(&router, &format!("/v1/address/{address}/risk-signals")).await;
    assert_eq!(alias.status, 200, "{}", alias.text);
    assert_eq!(alias.header("deprecation"), "");
    assert_valid("/v1/address/{address}/risk-signals", &alias.body);
    assert_eq!(bare(alias.body.clone()), own(&router, &address, "risk-signals").await);
    let body = json!({"addresses": [address, "x"]});
    let [first, second] = ["/v1/batch/risk-signals", "/v1/addresses/risk-signals"];
    let (first, second) = (post(&router, first, &body).await, post(&router, second, &body).await);
    assert_eq!((first.status, second.status), (200, 200), "{}", second.text);
    assert_valid("/v1/addresses/risk-signals", &second.body);
    assert_eq!(bare(first.body), bare(second.body));
    let health = get(&router, "/api/health").await.body;
    let catalog = health["primary_package"]["endpoint_catalog"].as_array().unwrap();
    for (path, of) in [
        ("/v1/address/{address}/risk-signals", "/v1/wallets/{address}/risk-signals"),
        ("/v1/addresses/risk-signals", "/v1/batch/risk-signals"),
    ] {
        let of_path = |path: &str| catalog.iter().find(|row| row["path"] == path).unwrap();
        let (row, original) = (of_path(path), of_path(of));
        assert_eq!((&row["alias_of"], original.get("alias_of")), (&of.into(), None), "{row}");
        assert_eq!(row["future_native_l402_price_sats"], original["future_native_l402_price_sats"], "{row}");
    }
}
