//! Intelligence about an address, against the lists of alerts, the overview, and the reference clusters.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Script, ScriptBuf};
use cairn_domain::transfers::gathers;
use cairn_events::Claim;
use cairn_model::TxNum;
use cairn_support::cospending::{clusters_of, paid_by_tx};
use serde_json::{Value, json};

use crate::{
    claims::{claim, take},
    support::{
        World, address, assert_problem, assert_valid, count_of, everything_world, get, get_ok, post, script_hash,
    },
    surveillance::campaign_world,
};

const INTELLIGENCE: &str = "/v1/wallets/{address}/intelligence";
const BATCH: &str = "/v1/batch/intelligence";

const BTC: u64 = 100_000_000;
const DAY: u32 = 86_400;

fn path(script: &Script) -> String {
    INTELLIGENCE.replace("{address}", &name(script))
}

fn name(script: &Script) -> String {
    address(script).unwrap_or_else(|| script_hash(script))
}

/// The transactions of a script in the 30 days before the newest block, by id.
fn recent(world: &World, script: &Script, height: u32) -> BTreeMap<String, (u64, u64)> {
    let from = world.oracle.monotone_time(height) - 30 * DAY;
    let rows = world.oracle.history(script).iter();
    let rows = rows.filter(|row| row.height <= height && world.oracle.monotone_time(row.height) >= from);
    rows.map(|row| (row.txid.to_string(), (row.spent_sats, row.received_sats))).collect()
}

/// Alerts of the chain by the rules of their definitions: the name of the scanner and the transaction.
fn alerts(world: &World, height: u32) -> BTreeSet<(&'static str, String)> {
    let oracle = &world.oracle;
    let mut found = BTreeSet::new();
    let paid = paid_by_tx(oracle, height);
    for (tx_num, of, tx) in oracle.transactions(height) {
        let txid = tx.compute_txid().to_string();
        let coins = oracle.spent(tx_num);
        let (paid, coinjoin) = paid.get(&tx_num).map_or((0, false), |(paid, coinjoin)| {
            (if *coinjoin { paid.to_scripts } else { paid.to_clusters }, *coinjoin)
        });
        if paid >= 100 * BTC {
            found.insert((if coinjoin { "coinjoin_round" } else { "whale_tx" }, txid.clone()));
        }
        if gathers(coins.len(), tx.output.len()) && !coinjoin {
            found.insert(("consolidation", txid.clone()));
        }
        let is_old = |coin: &cairn_testkit::Coin| {
            coin.value_sats >= 10 * BTC && oracle.age_seconds(coin, of) >= 365 * u64::from(DAY)
        };
        if coins.iter().any(is_old) {
            found.insert(("awakening", txid));
        }
    }
    found
}

#[tokio::test]
async fn signals_are_the_alerts_that_touch_the_address() {
    let world = &World::of(cairn_chaingen::demo::chain(1).unwrap());
    let router = world.open_router();
    // The newest large payments of the chain are older than a month: the blocks above them go.
    let paid = paid_by_tx(&world.oracle, world.oracle.tip().unwrap().0);
    let newest = paid.iter().filter(|(_, (of, coinjoin))| !coinjoin && of.to_clusters >= 100 * BTC).map(|(tx, _)| *tx);
    let newest: TxNum = newest.max().unwrap();
    let height = world.oracle.txs()[newest.0 as usize].height;
    world.engine.lock().unwrap().unwind(height, &cairn_pipeline::NoProgress).unwrap();
    let alerts = alerts(world, height);
    let (mut compared, mut scanners) = (0, BTreeSet::new());
    for script in world.oracle.scripts() {
        let recent = recent(world, script, height);
        let touching = alerts.iter().filter(|(_, txid)| recent.contains_key(txid));
        let expected: BTreeSet<(&str, &str)> = touching.map(|(scanner, txid)| (*scanner, txid.as_str())).collect();
        // Some of those without an alert are looked at, too.
        if expected.is_empty() && (recent.is_empty() || script.as_bytes()[script.len() - 1] % 16 != 0) {
            continue;
        }
        let body = get_ok(&router, INTELLIGENCE, &path(script)).await;
        let signals = body["scanner_signals"].as_array().unwrap();
        let of_clusters = ["dormancy_flush", "whale_wakeup"];
        let found: BTreeSet<(&str, &str)> = signals
            .iter()
            .map(|signal| (signal["scanner"].as_str().unwrap(), signal["txid"].as_str().unwrap()))
            .filter(|(scanner, _)| !of_clusters.contains(scanner))
            .collect();
        assert_eq!(found, expected, "{body}");
        for signal in signals {
            scanners.insert(signal["scanner"].as_str().unwrap().to_owned());
            let role = signal["role"].as_str().unwrap();
            match recent.get(signal["txid"].as_str().unwrap()) {
                Some((spent, received)) => {
                    let expected = match (*spent > 0, *received > 0) {
                        (true, true) => "sender_and_recipient",
                        (true, false) => "sender",
                        _ => "recipient",
                    };
                    let value = if *spent > 0 { *spent } else { *received };
                    assert_eq!((role, count_of(signal, "value_sats")), (expected, value), "{signal}");
                }
                None => assert_eq!(role, "cluster", "{signal}"),
            }
        }
        assert!(signals.iter().is_sorted_by_key(|signal| u64::MAX - count_of(signal, "height")), "{body}");
        compared += 1;
    }
    assert!(compared > 20, "{compared} addresses are too few");
    for scanner in ["whale_tx", "awakening"] {
        assert!(scanners.contains(scanner), "{scanners:?}");
    }
}

/// Flushes and wake-ups are those of the lists, also for the other scripts of the cluster.
#[tokio::test]
async fn alerts_of_clusters_are_those_of_the_lists() {
    let world = &World::of(cairn_chaingen::demo::chain(1).unwrap());
    let router = world.open_router();
    let mut seen = 0;
    for (list, rows, scanner) in [
        ("/v1/dormancy/whale-wakeups", "wakeups", "whale_wakeup"),
        ("/v1/chain/dormancy-flushes", "flushes", "dormancy_flush"),
    ] {
        let listed = get(&router, &format!("{list}?since=0")).await.body[rows].as_array().unwrap().clone();
        // From the newest on: each look takes the blocks above it away.
        for row in listed.iter().take(2) {
            let height = count_of(row, "height") as u32 + if scanner == "dormancy_flush" { 10 } else { 0 };
            if height > world.oracle.tip().unwrap().0 || height > tip(&router).await {
                continue;
            }
            {
                let mut engine = world.engine.lock().unwrap();
                engine.unwind(height, &cairn_pipeline::NoProgress).unwrap();
                // So deep below the tip, late stages begin again.
                while engine.follow_late(&cairn_pipeline::NoProgress).unwrap() {}
            }
            let holder = row["holder"]["address"].as_str().unwrap();
            let body = get_ok(&router, INTELLIGENCE, &INTELLIGENCE.replace("{address}", holder)).await;
            let signals = body["scanner_signals"].as_array().unwrap().iter();
            let found = signals.filter(|signal| signal["scanner"] == scanner).count();
            assert_eq!(found, 1, "{row} {body}");
            seen += 1;
        }
    }
    assert!(seen >= 2, "{seen}");
}

async fn tip(router: &axum::Router) -> u32 {
    count_of(&get(router, "/api/health").await.body["_meta"]["tip"], "height") as u32
}

#[tokio::test]
async fn activity_is_that_of_the_overview() {
    let world = &everything_world();
    let router = world.open_router();
    let mut compared = 0;
    for script in world.oracle.scripts().step_by(7) {
        let body = get_ok(&router, INTELLIGENCE, &path(script)).await;
        let overview = get(&router, &format!("/v1/wallets/{}/overview", name(script))).await.body;
        let activity = &body["activity"];
        for period in ["as_of", "24h", "7d", "30d"] {
            assert_eq!(activity[period], overview["activity"][period], "{body}");
        }
        for field in ["tx_count", "received_sats", "sent_sats", "first_seen", "last_seen", "unconfirmed_tx_count"] {
            assert_eq!(activity[field], overview[field], "{body}");
        }
        assert_eq!(activity["balance_sats"], overview["balance"]["confirmed_sats"]);
        let trust = get(&router, &format!("/v1/wallets/{}/trust-safety", name(script))).await.body;
        for field in ["confidence_level", "confidence_tier", "evidence_tier", "claim_type", "contested"] {
            assert_eq!(body["best_label"][field], trust[field], "{body}");
        }
        assert_eq!((&body["best_label"]["value"], &body["examined"]), (&trust["label"]["value"], &trust["examined"]));
        compared += 1;
    }
    assert!(compared > 10, "{compared}");
    // No block has it, and no labels are loaded.
    let unseen = format!("scripthash:{}", "ab".repeat(32));
    let body = get_ok(&router, INTELLIGENCE, &INTELLIGENCE.replace("{address}", &unseen)).await;
    assert_eq!((&body["activity"]["tx_count"], &body["best_label"]["state"]), (&0.into(), &"not_examined".into()));
    assert_eq!((&body["cohorts"], &body["scanner_signals"]), (&json!([]), &json!([])));
    let unknown = get(&router, &INTELLIGENCE.replace("{address}", "nonsense")).await;
    assert_problem(&unknown, 400, "invalid_address");
}

#[tokio::test]
async fn cohorts_are_the_cluster_and_the_pattern_of_the_label() {
    let world = &everything_world();
    let router = world.open_router();
    let clusters = clusters_of(&world.oracle, world.oracle.tip().unwrap().0);
    let largest: Vec<ScriptBuf> = clusters.all().max_by_key(Vec::len).unwrap().into_iter().cloned().collect();
    assert!(largest.len() > 2, "{}", largest.len());
    let members: BTreeSet<String> = largest.iter().map(|script| name(script)).collect();
    let of = |body: &Value, basis: &str| -> Vec<Value> {
        body["cohorts"].as_array().unwrap().iter().filter(|of| of["basis"] == basis).cloned().collect()
    };
    for script in &largest {
        let body = get_ok(&router, INTELLIGENCE, &path(script)).await;
        let [cohort] = &of(&body, "cluster")[..] else { panic!("{body}") };
        assert_eq!(count_of(cohort, "count"), members.len() as u64, "{cohort}");
        let sample = cohort["sample"].as_array().unwrap();
        assert_eq!(sample.len(), (members.len() - 1).min(5), "{cohort}");
        for other in sample {
            let other = other.as_str().unwrap();
            assert!(members.contains(other) && other != name(script), "{cohort}");
        }
        assert_eq!(of(&body, "label_pattern"), Vec::<Value>::new());
    }
    // As many as are asked for: at the end, all of them.
    for limit in [1, 2, members.len(), 1_000] {
        let body = get_ok(&router, INTELLIGENCE, &format!("{}?sample_limit={limit}", path(&largest[0]))).await;
        let sample = of(&body, "cluster")[0]["sample"].as_array().unwrap().clone();
        let found: BTreeSet<&str> = sample.iter().filter_map(Value::as_str).collect();
        assert_eq!((found.len(), sample.len()), ((members.len() - 1).min(limit), found.len()), "{body}");
        assert!(found.iter().all(|of| members.contains(*of) && *of != name(&largest[0])), "{body}");
    }
    for limit in [0, 1_001] {
        let reply = get(&router, &format!("{}?sample_limit={limit}", path(&largest[0]))).await;
        assert_problem(&reply, 422, "validation_error");
    }
    // A script that no transaction ties to another has no cluster to speak of.
    let alone = world.oracle.scripts().find(|script| clusters.members(script).len() < 2).unwrap().clone();
    let body = get_ok(&router, INTELLIGENCE, &path(&alone)).await;
    assert_eq!(of(&body, "cluster"), Vec::<Value>::new(), "{body}");

    // Two lists: an entity with three scripts, and two scripts with the same words.
    let named: Vec<ScriptBuf> = world.oracle.scripts().filter(|script| script.len() > 20).take(5).cloned().collect();
    let of_entity: Vec<Claim> =
        named[..3].iter().map(|script| Claim { is_inherited: false, ..claim(script, "abc") }).collect();
    let in_words = |script: &ScriptBuf| Claim {
        entity: None,
        entity_name: "".into(),
        label: "hot wallet of somebody".into(),
        is_inherited: false,
        ..claim(script, "nobody")
    };
    take(world, "first", 1_760_000_000, true, &of_entity);
    take(world, "second", 1_760_000_000, true, &named[3..].iter().map(in_words).collect::<Vec<_>>());
    for (scripts, kind, key) in [(&named[..3], "entity", "abc"), (&named[3..], "label_words", "hot wallet of somebody")]
    {
        for script in scripts {
            let body = get_ok(&router, INTELLIGENCE, &path(script)).await;
            let [cohort] = &of(&body, "label_pattern")[..] else { panic!("{body}") };
            assert_eq!((&cohort["key_kind"], &cohort["key"]), (&kind.into(), &key.into()), "{cohort}");
            assert_eq!(count_of(cohort, "count"), scripts.len() as u64, "{cohort}");
            let sample: BTreeSet<&str> =
                cohort["sample"].as_array().unwrap().iter().map(|of| of.as_str().unwrap()).collect();
            let others: BTreeSet<String> = scripts.iter().filter(|of| of != &script).map(|of| name(of)).collect();
            assert_eq!(sample, others.iter().map(String::as_str).collect(), "{cohort}");
        }
    }
    // The label of a natural person gives no cohort.
    let person = Claim { is_person: true, ..in_words(&named[3]) };
    take(
        world,
        "second",
        1_760_000_001,
        true,
        &[person.clone(), Claim { script: named[4].as_bytes().into(), ..person }],
    );
    let body = get_ok(&router, INTELLIGENCE, &path(&named[3])).await;
    assert_eq!(body["cohorts_reason"], "the label is about a natural person", "{body}");
    assert_eq!(of(&body, "label_pattern"), Vec::<Value>::new(), "{body}");
}

#[tokio::test]
async fn dust_is_a_signal_with_a_caveat() {
    let (world, victim) = campaign_world();
    let router = world.open_router();
    let body = get_ok(&router, INTELLIGENCE, &INTELLIGENCE.replace("{address}", &victim)).await;
    let signals = body["scanner_signals"].as_array().unwrap();
    let dust: Vec<&Value> = signals.iter().filter(|signal| signal["scanner"] == "dust_campaign").collect();
    let status = get(&router, &format!("/v1/wallets/{victim}/surveillance-status")).await.body;
    assert_eq!((dust.len(), &dust[0]["txid"]), (1, &status["campaigns"][0]["pings"][0]["txid"]), "{body}");
    assert_eq!((&dust[0]["role"], &dust[0]["value_sats"]), (&"recipient".into(), &600.into()));
    let codes: Vec<&Value> = body["caveat_codes"].as_array().unwrap().iter().map(|of| &of["code"]).collect();
    assert!(codes.contains(&&"unsolicited_dust".into()), "{codes:?}");
    assert_eq!(codes.len(), body["caveats"].as_array().unwrap().len());
    let scanners = body["scanners"].as_array().unwrap();
    assert_eq!(scanners.len(), 7, "{body}");
    assert!(scanners.iter().all(|scanner| scanner["state"] == "examined" && scanner["reason"].is_null()), "{body}");
}

#[tokio::test]
async fn a_batch_has_the_same_rows_and_reads_less() {
    let world = &everything_world();
    let router = world.open_router();
    let clusters = clusters_of(&world.oracle, world.oracle.tip().unwrap().0);
    let largest: Vec<ScriptBuf> = clusters.all().max_by_key(Vec::len).unwrap().into_iter().cloned().collect();
    let claims: Vec<Claim> = largest.iter().map(|script| claim(script, "abc")).collect();
    take(world, "first", 1_760_000_000, true, &claims);
    let mut asked: Vec<String> = largest.iter().take(12).map(|script| name(script)).collect();
    let (mut single, mut rows) = (Vec::new(), 0);
    for address in &asked {
        let reply = get(&router, &INTELLIGENCE.replace("{address}", address)).await;
        let mut body = reply.body.clone();
        body.as_object_mut().unwrap().shift_remove("_meta");
        rows += reply.rows_read();
        single.push(body);
    }
    // An address that is given again is answered again, and costs nothing; so does an invalid one.
    let first = asked[0].clone();
    asked.extend([first.clone(), "nonsense".to_owned(), first]);
    let reply = post(&router, BATCH, &json!({"addresses": asked})).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_valid(BATCH, &reply.body);
    assert_eq!(reply.body["addresses"], json!(asked));
    let results = reply.body["results"].as_array().unwrap();
    assert_eq!((&results[..single.len()], &results[single.len()]), (&single[..], &single[0]));
    assert_eq!(results.last().unwrap(), &single[0]);
    let failed = &results[single.len() + 1];
    assert_eq!((&failed["error"], &failed["retryable"]), (&"invalid_address".into(), &false.into()), "{failed}");
    let in_batch = reply.rows_read();
    assert!(in_batch * 2 < rows, "{in_batch} rows in a batch, {rows} one by one");
}
