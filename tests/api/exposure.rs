//! Exposure to claimed scripts: amounts against a naive tracer over the ledger, sums that add up, and earlier answers.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Script, ScriptBuf, Transaction};
use cairn_chaingen::Everything;
use cairn_events::{Claim, ClaimType};
use cairn_model::TxNum;
use cairn_pipeline::{NoProgress, SyncOptions};
use cairn_sources::BlockFiles;
use cairn_testkit::Oracle;
use serde_json::{Value, json};

use crate::{
    claims::{claim, contest, listed, take},
    support::{World, address, assert_problem, count_of, everything_world, get, get_ok, script_hash, write_tidy},
};

const RISK: &str = "/v1/wallets/{address}/risk-exposure";
const SANCTIONS: &str = "/v1/wallets/{address}/sanctions-exposure";
const DAY: u32 = 86_400;
const RETRIEVED: u32 = 1_760_000_000;

fn path(template: &str, script: &Script, query: &str) -> String {
    format!("{}?{query}", template.replace("{address}", &script_hash(script)))
}

async fn exposure(router: &axum::Router, template: &str, script: &Script, query: &str) -> Value {
    get_ok(router, template, &path(template, script, query)).await
}

fn rows(side: &Value) -> &Vec<Value> {
    let rows = if side["by_list"].is_array() { &side["by_list"] } else { &side["by_category"] };
    rows.as_array().unwrap_or_else(|| panic!("{side}"))
}

/// Checks what holds of every answer: nothing is lost, and no amount exceeds its bound.
fn assert_sound(answer: &Value, what: &str) {
    for side in [&answer["sources"], &answer["destinations"]].into_iter().filter(|side| !side.is_null()) {
        let examined = &side["examined"];
        let total = examined["received_sats"].as_u64().or(examined["sent_sats"].as_u64()).unwrap();
        for measure in ["haircut_sats", "fifo_sats"] {
            let of_rows: u64 = rows(side)
                .iter()
                .map(|row| count_of(&row["counterparty"], measure) + count_of(&row["indirect"], measure))
                .sum();
            let unresolved: u64 = side["unresolved"].as_array().unwrap().iter().map(|row| count_of(row, measure)).sum();
            let others = ["below_min_share", "mined", "fees"].map(|part| count_of(&side[part], measure));
            assert_eq!(of_rows + unresolved + others.iter().sum::<u64>(), total, "{what}: {measure}: {side}");
        }
        for row in rows(side) {
            for reach in ["ownership", "counterparty", "indirect"] {
                let of = &row[reach];
                let [haircut, fifo, poison] = ["haircut_sats", "fifo_sats", "poison_sats"].map(|of_| count_of(of, of_));
                assert!(haircut <= poison && fifo <= poison, "{what}: {of}");
                assert_eq!(of["claims"].as_array().unwrap().len() as u64, count_of(of, "claims_total").min(10), "{of}");
            }
            let of = &row["sensitivity"];
            let sum = count_of(&row["counterparty"], "haircut_sats") + count_of(&row["indirect"], "haircut_sats");
            if sum > 0 {
                assert_eq!(
                    count_of(of, "haircut_sats") + count_of(&of["without"], "haircut_sats"),
                    sum,
                    "{what}: {row}"
                );
            }
        }
        for path in side["paths"].as_array().unwrap() {
            let hops = path["hops"].as_array().unwrap();
            assert_eq!(hops.len() as u64, count_of(path, "hop_count"), "{what}: {path}");
            assert_eq!(hops.last().unwrap()["haircut_sats"], path["haircut_sats"], "{what}: {path}");
            assert!(count_of(path, "haircut_sats").max(count_of(path, "fifo_sats")) <= count_of(path, "poison_sats"));
        }
    }
}

/// Scripts with the longest histories, and some others.
pub fn scripts(oracle: &Oracle, step: usize) -> Vec<ScriptBuf> {
    let mut all: Vec<ScriptBuf> = oracle.scripts().cloned().collect();
    all.sort_by_key(|script| (std::cmp::Reverse(oracle.history(script).len()), script.clone()));
    all.iter().take(8).chain(all.iter().skip(8).step_by(all.len() / step + 1)).cloned().collect()
}

#[tokio::test]
async fn amounts_add_up_for_every_address() {
    let world = &everything_world();
    let router = world.open_router();
    let all = scripts(&world.oracle, 60);
    let claimed: Vec<Claim> = all.iter().step_by(3).map(listed).collect();
    take(world, "ofac-sdn", RETRIEVED, true, &claimed);
    let named: Vec<Claim> = all.iter().skip(1).step_by(5).map(|script| claim(script, "exchange-a")).collect();
    take(world, "study", RETRIEVED, true, &named);
    let mut seen = BTreeSet::new();
    for (number, script) in all.iter().enumerate() {
        for (template, query) in [
            (RISK, "depth=2&path_limit=50&min_share_ppm=0"),
            (RISK, "depth=4&direction=sources"),
            (RISK, "depth=3&categories=exchange"),
            (SANCTIONS, "depth=4&min_share_ppm=300000"),
            (SANCTIONS, "depth=1&as_of=90&labels_as_of=2026-01-01"),
        ] {
            let answer = exposure(&router, template, script, query).await;
            assert_sound(&answer, &format!("{number} {query}"));
            for side in [&answer["sources"], &answer["destinations"]].into_iter().filter(|side| !side.is_null()) {
                let reasons = side["unresolved"].as_array().unwrap().iter();
                seen.extend(reasons.map(|row| row["reason"].as_str().unwrap().to_owned()));
                seen.extend(rows(side).iter().filter_map(|row| row["category"].as_str().map(str::to_owned)));
            }
        }
    }
    // CoinJoins are in the demo chain alone: tests/cli/demo.rs asks for them.
    for name in ["hop_limit", "held", "service", "rounding", "sanctioned", "exchange"] {
        assert!(seen.contains(name), "{name}: {seen:?}");
    }
}

/// Follows the coins of one script, hop by hop, by haircut.
struct Naive<'w> {
    txs: &'w [&'w Transaction],
    oracle: &'w Oracle,
    ends: BTreeSet<&'w ScriptBuf>,
    hops: u8,
}

impl Naive<'_> {
    /// Millionths of a satoshi that a script received from another one, by hop.
    fn received(&self, source: &Script, subject: &Script) -> BTreeMap<u8, u128> {
        let mut coins: BTreeMap<(TxNum, u32), u128> = BTreeMap::new();
        for (number, tx) in (0..).zip(self.txs) {
            for (vout, output) in (0..).zip(&tx.output).filter(|(_, output)| *output.script_pubkey == *source) {
                coins.insert((TxNum(number), vout), u128::from(output.value.to_sat()) * 1_000_000);
            }
        }
        let mut received: BTreeMap<u8, u128> = BTreeMap::new();
        for hop in 1..=self.hops {
            let mut spenders: BTreeMap<TxNum, u128> = BTreeMap::new();
            for ((tx, vout), haircut) in coins {
                if let Some(spender) = self.oracle.spender(tx, vout) {
                    *spenders.entry(spender.tx_num).or_default() += haircut;
                }
            }
            coins = BTreeMap::new();
            for (number, taint) in spenders {
                let total: u64 = self.oracle.spent(number).iter().map(|coin| coin.value_sats).sum();
                for (vout, output) in (0..).zip(&self.txs[number.0 as usize].output) {
                    let haircut = taint * u128::from(output.value.to_sat()) / u128::from(total.max(1));
                    let script = &output.script_pubkey;
                    if **script == *subject {
                        *received.entry(hop).or_default() += haircut;
                    }
                    if **script != *source && !self.ends.contains(script) {
                        coins.insert((number, vout), haircut);
                    }
                }
            }
        }
        received
    }
}

#[tokio::test]
async fn haircuts_equal_those_of_a_naive_tracer_over_the_ledger() {
    let world = &everything_world();
    let router = world.open_router();
    let oracle = &world.oracle;
    let txs: Vec<&Transaction> = oracle.transactions(u32::MAX).map(|(.., tx)| tx).collect();
    let listed_scripts: Vec<ScriptBuf> = scripts(oracle, 40).into_iter().step_by(2).collect();
    take(world, "ofac-sdn", RETRIEVED, true, &listed_scripts.iter().map(listed).collect::<Vec<_>>());
    let mut compared = 0;
    for subject in scripts(oracle, 50).iter().filter(|script| !listed_scripts.contains(script)) {
        for hops in [1, 2, 3] {
            let query = format!("depth={hops}&direction=sources&min_share_ppm=0");
            let answer = exposure(&router, SANCTIONS, subject, &query).await;
            let side = &answer["sources"];
            // The ledger does not know what a CoinJoin is.
            let has = |reason: &str| side["unresolved"].as_array().unwrap().iter().any(|row| row["reason"] == reason);
            if has("coinjoin") || has("busy") || has("service") {
                continue;
            }
            let mut expected = [0u128; 2];
            for source in &listed_scripts {
                let ends = listed_scripts.iter().filter(|script| *script != source).collect();
                let naive = Naive { txs: &txs, oracle, ends, hops };
                for (hop, haircut) in naive.received(source, subject) {
                    expected[usize::from(hop > 1)] += haircut;
                }
            }
            let of = |reach: &str| rows(side).iter().map(|row| count_of(&row[reach], "haircut_sats")).sum::<u64>();
            let expected = expected.map(|haircut| (haircut / 1_000_000) as u64);
            assert_eq!([of("counterparty"), of("indirect")], expected, "{hops} hops: {answer}");
            compared += usize::from(expected != [0, 0]);
        }
    }
    assert!(compared > 5, "{compared}");
}

/// A script that no block has: a list without a row is refused.
fn nobodys() -> ScriptBuf {
    ScriptBuf::from_bytes([&[0, 20], &[7; 20][..]].concat())
}

/// Two scripts: the first one paid the second one in a transaction other than a CoinJoin.
async fn payer_and_payee(world: &World) -> (ScriptBuf, ScriptBuf) {
    let router = world.open_router();
    let mut at = RETRIEVED - 1_000_000;
    for (number, height, tx) in world.oracle.transactions(u32::MAX) {
        let spent = world.oracle.spent(number);
        let Some(payer) = spent.first().map(|coin| coin.script.clone()).filter(|_| height > 20) else { continue };
        if spent.iter().any(|coin| coin.coinbase) {
            continue;
        }
        let payee = tx.output.iter().map(|output| &output.script_pubkey);
        let payee = payee.filter(|script| address(script).is_some() && **script != payer && address(&payer).is_some());
        for payee in payee {
            at += 2;
            take(world, "probe", at, true, &[listed(&payer)]);
            let answer = exposure(&router, SANCTIONS, payee, "depth=1&direction=sources").await;
            take(world, "probe", at + 1, true, &[listed(&nobodys())]);
            let found = rows(&answer["sources"]).iter().map(|row| count_of(&row["counterparty"], "haircut_sats"));
            if found.sum::<u64>() > 10_000 {
                return (payer, payee.clone());
            }
        }
    }
    panic!("nobody pays anybody");
}

fn found(answer: &Value) -> Vec<&str> {
    let side = &answer["sources"];
    rows(side).iter().map(|row| row["list"].as_str().or(row["category"].as_str()).unwrap()).collect()
}

#[tokio::test]
async fn a_delisting_changes_the_answer_and_leaves_the_old_one() {
    let world = &everything_world();
    let (payer, payee) = payer_and_payee(world).await;
    let router = world.open_router();
    let at = RETRIEVED + DAY;
    take(world, "ofac-sdn", at, true, &[listed(&payer)]);
    let seq = exposure(&router, SANCTIONS, &payee, "depth=1").await["seq"].as_u64().unwrap();
    let query = "depth=1&min_share_ppm=0";
    let before = exposure(&router, SANCTIONS, &payee, query).await;
    assert_eq!(found(&before), ["ofac-sdn"], "{before}");
    let row = &rows(&before["sources"])[0];
    let claim_id = &row["counterparty"]["claims"][0]["claim_id"];
    assert_eq!(
        (&row["sensitivity"]["claim_id"], &row["sensitivity"]["share_of_row_ppm"]),
        (claim_id, &json!(1_000_000))
    );
    let path = &before["sources"]["paths"][0];
    assert_eq!((&path["source"]["claim_id"], &path["listing"]), (claim_id, &"unknown".into()));
    assert_eq!(path["source"]["address"], address(&payer).unwrap().as_str());
    // The other way round, the payee is not listed.
    let back = exposure(&router, SANCTIONS, &payer, query).await;
    assert!(rows(&back["destinations"]).iter().all(|row| count_of(&row["ownership"], "poison_sats") > 0), "{back}");

    take(world, "ofac-sdn", at + DAY, true, &[listed(&nobodys())]);
    let after = exposure(&router, SANCTIONS, &payee, query).await;
    assert!(found(&after).is_empty(), "{after}");
    assert_eq!(after["caveat_codes"][0]["code"], "list_not_exhaustive");
    for (moment, is_listed) in [
        (cairn_model::rfc3339(at - 1), false),
        (cairn_model::rfc3339(at), true),
        (cairn_model::rfc3339(at + DAY - 1), true),
        (cairn_model::rfc3339(at + DAY), false),
        (seq.to_string(), true),
        ((seq + 1).to_string(), false),
    ] {
        let tip = world.oracle.tip().unwrap().0;
        let old = exposure(&router, SANCTIONS, &payee, &format!("{query}&as_of={tip}&labels_as_of={moment}")).await;
        assert_eq!(!found(&old).is_empty(), is_listed, "{moment}: {old}");
        if is_listed {
            assert_eq!(old["sources"], before["sources"], "{moment}");
        }
    }
}

#[tokio::test]
async fn a_contest_takes_a_source_away_and_a_listing_stays() {
    let world = &everything_world();
    let (payer, payee) = payer_and_payee(world).await;
    let router = world.open_router();
    let scam = Claim {
        claim_type: ClaimType::ReportedAs,
        behaviour: Some("scam".parse().unwrap()),
        category: None,
        entity: None,
        entity_name: "".into(),
        ..claim(&payer, "nobody")
    };
    take(world, "study", RETRIEVED, true, std::slice::from_ref(&scam));
    let query = "depth=1&min_share_ppm=0";
    let before = exposure(&router, RISK, &payee, query).await;
    assert_eq!(found(&before), ["scam"], "{before}");
    let weak = Claim { level: 30, behaviour: Some("theft".parse().unwrap()), ..scam.clone() };
    take(world, "rumour", RETRIEVED, true, &[weak]);
    assert_eq!(exposure(&router, RISK, &payee, query).await["sources"], before["sources"], "level 30 does not count");
    contest(world, &scam, "study");
    let after = exposure(&router, RISK, &payee, query).await;
    assert!(found(&after).is_empty(), "{after}");
    let tip = world.oracle.tip().unwrap().0;
    let moment = cairn_model::rfc3339(RETRIEVED + 50);
    let old = exposure(&router, RISK, &payee, &format!("{query}&as_of={tip}&labels_as_of={moment}")).await;
    assert_eq!(found(&old), ["scam"], "{old}");
    // A listed exchange is a source, and its name as an exchange stands besides.
    take(world, "ofac-sdn", RETRIEVED, true, &[listed(&payer)]);
    take(world, "exchange-a", RETRIEVED, true, &[claim(&payer, "exchange-a")]);
    let both = exposure(&router, RISK, &payee, query).await;
    assert_eq!(found(&both), ["sanctioned"], "{both}");
    assert_eq!(rows(&both["sources"])[0]["also"][0]["name"], "exchange");
    let chosen = exposure(&router, RISK, &payee, &format!("{query}&categories=exchange,gambling")).await;
    assert_eq!((found(&chosen), &chosen["categories"]), (vec!["exchange"], &json!(["exchange", "gambling"])));
    // Without a claim that was chosen, the exchange ends the trace.
    let stopped = exposure(&router, RISK, &payee, &format!("{query}&categories=gambling")).await;
    let reasons = stopped["sources"]["unresolved"].as_array().unwrap();
    assert!(found(&stopped).is_empty() && reasons.iter().any(|row| row["reason"] == "service"), "{stopped}");
}

#[tokio::test]
async fn a_reorganization_changes_the_answer() {
    let mut making = Everything::new(87, 6, false);
    making.grow(125).unwrap();
    let world = World::of(making.chain().clone());
    let claims = |oracle: &Oracle| scripts(oracle, 30).iter().step_by(2).map(listed).collect::<Vec<_>>();
    let listed_before = claims(&world.oracle);
    take(&world, "ofac-sdn", RETRIEVED, true, &listed_before);
    let router = world.open_router();
    making.fork(12, 14).unwrap();
    write_tidy(&world.blocks_dir, making.chain());
    let files = BlockFiles::open(&world.blocks_dir, cairn_model::Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    let all = scripts(&world.oracle, 60);
    let mut old = Vec::new();
    for script in &all {
        old.push(exposure(&router, RISK, script, "depth=3").await);
    }
    world.engine.lock().unwrap().sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
    let straight = World::of(making.chain().clone());
    take(&straight, "ofac-sdn", RETRIEVED, true, &listed_before);
    let other = straight.open_router();
    let mut changed = 0;
    for (script, old) in all.iter().zip(old) {
        let new = exposure(&router, RISK, script, "depth=3").await;
        let expected = exposure(&other, RISK, script, "depth=3").await;
        for side in ["sources", "destinations"] {
            assert_eq!(new[side], expected[side]);
            changed += usize::from(new[side] != old[side]);
        }
    }
    assert!(changed > 0);
}

#[tokio::test]
async fn wrong_parameters_are_refused_with_the_allowed_ones() {
    let world = &everything_world();
    let router = world.open_router();
    let script = world.oracle.scripts().next().unwrap().clone();
    for (query, code) in [
        ("categories=bank", "validation_error"),
        ("depth=5", "validation_error"),
        ("depth=0", "validation_error"),
        ("path_limit=51", "validation_error"),
        ("min_share_ppm=1000001", "validation_error"),
        ("labels_as_of=yesterday", "validation_error"),
        ("labels_as_of=999999", "validation_error"),
    ] {
        let reply = get(&router, &path(RISK, &script, query)).await;
        assert_problem(&reply, 422, code);
    }
    assert_problem(&get(&router, &path(RISK, &script, "as_of=9999999")).await, 404, "block_not_found");
    // A script that the chain does not have.
    let unknown = ScriptBuf::from_bytes([&[0x00, 0x14][..], &[0xab; 20]].concat());
    let answer = exposure(&router, SANCTIONS, &unknown, "").await;
    assert_sound(&answer, "unknown");
    assert_eq!((&answer["labels_loaded"], &answer["truncated"]), (&false.into(), &false.into()));
    assert_eq!(answer["sources"]["examined"]["of"], 0);
}
