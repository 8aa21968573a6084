//! The mempool: single scenes.

use std::{
    thread,
    time::{Duration, Instant},
};

use bitcoin::{Amount, ScriptBuf, TxOut, Txid, hashes::Hash};
use cairn_standin::{BlockPlan, HttpFault, HttpRule, Match, Payment, Restart, StandIn, StandInOptions, Txs};
use cairn_support::{Cast, Client, Form, name_of};
use serde_json::Value;

use crate::CAIRN;

fn node() -> StandIn {
    let node = StandIn::start(StandInOptions { premine: 105, ..StandInOptions::default() }).unwrap();
    node.world().fan_out(20, 5_000_000).unwrap();
    node
}

/// A script that nobody has the key of.
fn foreign() -> ScriptBuf {
    ScriptBuf::new_p2wpkh(&bitcoin::WPubkeyHash::from_raw_hash(bitcoin::hashes::hash160::Hash::hash(b"foreign")))
}

/// A payment to a script.
fn pay(node: &StandIn, script: &ScriptBuf, sats: u64) -> Txid {
    let outputs = vec![TxOut { value: Amount::from_sat(sats), script_pubkey: script.clone() }];
    node.world().send(&Payment { outputs, ..Payment::at(9_000) }).unwrap()
}

fn mine_nothing(node: &StandIn) {
    node.world().mine_plan(&BlockPlan { txs: Txs::None, ..BlockPlan::default() }).unwrap();
}

fn overview(client: &mut Client, script: &ScriptBuf) -> Value {
    client.ok(&format!("/v1/wallets/{}/overview", name_of(script))).unwrap()
}

fn total(client: &mut Client, script: &ScriptBuf) -> Option<u64> {
    overview(client, script)["balance"]["total_sats"].as_u64()
}

fn status(client: &mut Client, txid: &Txid) -> Value {
    client.ok(&format!("/v1/tx/{txid}/status")).unwrap()
}

fn count(client: &mut Client) -> Option<u64> {
    client.ok("/v1/mempool/stats").ok()?["count"].as_u64()
}

/// Whether the writer says that its copy of the mempool lacks nothing.
fn is_synced(client: &mut Client) -> bool {
    let health = client.ok("/api/health/full").unwrap();
    let mut components = health["components"].as_array().unwrap().iter();
    components.any(|component| component["name"] == "mempool" && component["details"]["state"] == "synced")
}

/// The mempool cannot be read, and that is said everywhere.
#[track_caller]
fn assert_absent(client: &mut Client, script: &ScriptBuf, words: &str) {
    let (code, body) = client.get("/v1/mempool/stats").unwrap();
    assert_eq!((code, &body["error"]), (503, &"mempool_unavailable".into()), "{body}");
    assert!(body["detail"].as_str().unwrap().contains(words), "{body}");
    let balance = overview(client, script)["balance"].take();
    assert!(balance["confirmed_sats"].is_u64(), "{balance}");
    assert!(balance["total_sats"].is_null() && balance["unconfirmed_sats"].is_null(), "{balance}");
    assert!(balance["unconfirmed_reason"].as_str().unwrap().contains(words), "{balance}");
}

#[test]
fn first_seen_times_survive_whatever_ends_the_writer() {
    for form in [Form::One, Form::Two] {
        let mut node = node();
        let mut cast = Cast::start(CAIRN, &node, form);
        let (txid, mut client) = (pay(&node, &foreign(), 70_000), cast.client());
        cast.wait_until("the payment", || status(&mut client, &txid)["state"] == "mempool");
        let seen = status(&mut client, &txid)["mempool_first_seen"].clone();
        assert!(seen.is_string());
        // The mempool is kept with every block, once nothing may be missing.
        cast.wait_until("a synced mempool", || is_synced(&mut client));
        mine_nothing(&node);
        let tip = node.world().tip().to_string();
        cast.wait_until("the block", || status(&mut client, &txid)["_meta"]["tip"]["hash"] == tip.as_str());
        // In one process it is served before it is durable.
        thread::sleep(Duration::from_millis(500));
        for signal in ["KILL", "TERM"] {
            cast.end_writer(signal);
            node.restart(&Restart::default()).unwrap();
            cast.start_writer();
            client = cast.client();
            cast.wait_until("the mempool", || count(&mut client) == Some(1));
            assert_eq!(status(&mut client, &txid)["mempool_first_seen"], seen, "{form:?} {signal}: {}", cast.said());
        }
        // It is known of the confirmed transaction, too.
        node.world().mine(1).unwrap();
        cast.wait_until("its block", || status(&mut client, &txid)["state"] == "confirmed");
        assert_eq!(status(&mut client, &txid)["mempool_first_seen"], seen, "{form:?}");
        cast.stop();
    }
}

#[test]
fn a_reader_that_is_there_first_finds_the_writer() {
    let node = node();
    let mut cast = Cast::new(CAIRN, &node, Form::Two);
    cast.index_once();
    cast.start_reader();
    let (script, mut client) = (foreign(), cast.client());
    let txid = pay(&node, &script, 80_000);
    assert_absent(&mut client, &script, "does not run");
    assert_eq!(status(&mut client, &txid)["state"], "unknown");
    cast.start_writer();
    cast.wait_until("the mempool", || count(&mut client) == Some(1));
    assert_eq!(total(&mut client, &script), Some(80_000));
    assert_eq!(status(&mut client, &txid)["state"], "mempool");
    cast.stop();
}

#[test]
fn without_its_writer_a_reader_serves_what_is_confirmed() {
    let node = node();
    let mut cast = Cast::start(CAIRN, &node, Form::Two);
    let (script, mut client) = (foreign(), cast.client());
    pay(&node, &script, 10_000);
    node.world().mine(1).unwrap();
    pay(&node, &script, 30_000);
    cast.wait_until("both payments", || {
        let balance = overview(&mut client, &script)["balance"].take();
        balance["confirmed_sats"] == 10_000 && balance["total_sats"] == 40_000
    });
    for signal in ["KILL", "TERM"] {
        cast.end_writer(signal);
        cast.wait_until("the loss", || count(&mut client).is_none());
        assert_absent(&mut client, &script, "does not run");
        assert_eq!(overview(&mut client, &script)["balance"]["confirmed_sats"], 10_000);
        cast.start_writer();
        cast.wait_until("the mempool", || count(&mut client) == Some(1));
        assert_eq!(total(&mut client, &script), Some(40_000));
    }
    cast.stop();
}

#[test]
fn a_look_at_the_node_that_fails_hides_no_mempool() {
    let node = node();
    let mut cast = Cast::new(CAIRN, &node, Form::One);
    cast.index_once();
    pay(&node, &foreign(), 50_000);
    // The first look fails, and the next one comes ten seconds later; the node answers everything else.
    node.http_faults(1, vec![HttpRule::times(1, Match::Rpc("getbestblockhash"), HttpFault::Reset)]);
    let started = Instant::now();
    cast.start_writer();
    let mut client = cast.client();
    cast.wait_until("the mempool", || count(&mut client) == Some(1));
    thread::sleep(Duration::from_millis(500));
    assert_eq!(count(&mut client), Some(1));
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    cast.stop();
}

#[test]
fn what_a_reorganization_takes_off_is_unconfirmed_again() {
    for form in [Form::One, Form::Two] {
        let node = node();
        let mut cast = Cast::start(CAIRN, &node, form);
        let (script, mut client) = (foreign(), cast.client());
        let txid = pay(&node, &script, 60_000);
        node.world().mine(1).unwrap();
        cast.wait_until("the block", || status(&mut client, &txid)["state"] == "confirmed");
        for _ in 0..5 {
            let mut world = node.world();
            let parent = world.hash_at(world.height() - 1).unwrap();
            let plan = BlockPlan { parent: Some(parent), txs: Txs::None, ..BlockPlan::default() };
            let rival = world.mine_plan(&plan).unwrap();
            world.mine_plan(&BlockPlan { parent: Some(rival), txs: Txs::None, ..BlockPlan::default() }).unwrap();
            let tip = world.tip().to_string();
            drop(world);
            // It is on the node all the time: one answer or the other has it, or says that it does not know.
            cast.wait_until("the other branch", || {
                let answer = overview(&mut client, &script);
                let total = answer["balance"]["total_sats"].as_u64();
                assert!(matches!(total, None | Some(60_000)), "{form:?}: {answer}");
                answer["_meta"]["tip"]["hash"] == tip.as_str() && total.is_some()
            });
            assert_eq!(status(&mut client, &txid)["state"], "mempool");
            node.world().mine(1).unwrap();
            cast.wait_until("its block", || status(&mut client, &txid)["state"] == "confirmed");
        }
        cast.stop();
    }
}
