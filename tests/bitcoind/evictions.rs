//! Transactions that leave the mempool without a block: pushed out of a full one, or too old.

use std::{
    collections::BTreeSet,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use cairn_support::wait_until;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use crate::{
    coins::{Draft, coins_of},
    node::{Node, Settings, bitcoind_or_skip},
    pool::{NodeMempool, agrees, left},
    served::Served,
};

/// Refusals of a full mempool: of transactions that pay too little, and of those whose parent it did not take or pushed
/// out.
const REFUSALS: [&str; 3] = ["mempool min fee not met", "mempool full", "bad-txns-inputs-missingorspent"];

/// Bytes of an amount by 1 000 virtual bytes as thousandths of a satoshi by virtual byte, which is the same number.
#[track_caller]
fn rate(value: &serde_json::Value) -> i64 {
    crate::wallet::sats(value)
}

/// The floor is the node's.
#[track_caller]
fn floor_agrees(node: &Node, served: &Served) {
    let told = node.rpc("getmempoolinfo", json!([]));
    let theirs = (rate(&told["mempoolminfee"]), rate(&told["minrelaytxfee"]));
    wait_until("the node's floor", || {
        // It has no floor while the mempool is being read.
        let floor = served.try_get("/v1/mempool/stats").1["floor"].clone();
        let ours = |name: &str| (floor[name].as_f64().unwrap_or(-1.0) * 1000.0).round() as i64;
        (ours("mempool_min_fee_sat_vb"), ours("min_relay_fee_sat_vb")) == theirs
            && floor["node_max_bytes"] == told["maxmempool"]
    });
}

/// More than 5 MB of transactions, at rising feerates.
fn fills(node: &Node, served: &mut Served) {
    served.settle(node);
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let coins = node.coins_for_anyone(90, 20_000_000);
    floor_agrees(node, served);
    let mut sent = BTreeSet::new();
    let mut checked = 0;
    for (place, coin) in coins.iter().enumerate() {
        // Families: a parent, and a child that is pushed out with it or keeps it in.
        let low = 300 + 100 * place as u64;
        let parent = Draft { filler: random.random_range(20_000..45_000), ..Draft::of(*coin, low) }.make();
        let generous = random.random_bool(0.3);
        let rate = if generous { 3 * low } else { low.saturating_sub(150) };
        let child = Draft { filler: random.random_range(20_000..45_000), ..Draft::of(coins_of(&parent)[0], rate) };
        for tx in [parent, child.make()] {
            match node.try_send(&tx) {
                Ok(txid) => drop(sent.insert(txid)),
                Err(said) => assert!(REFUSALS.iter().any(|words| said.contains(words)), "{said}"),
            }
        }
        if place % 30 == 29 {
            checked += agrees(node, served).txids().len();
            floor_agrees(node, served);
        }
    }
    let pool = agrees(node, served);
    assert!(checked > 100, "{checked}");
    let info = node.rpc("getmempoolinfo", json!([]));
    assert!(rate(&info["mempoolminfee"]) > 1_000, "nothing was pushed out: {info}");
    let out: Vec<&String> = sent.iter().filter(|txid| !pool.has(txid)).collect();
    assert!(out.len() > 20, "{} of {} were pushed out", out.len(), sent.len());
    for txid in out {
        assert_eq!(left(served, txid), ("unknown".to_owned(), "evicted".to_owned()), "{txid}");
        let status = served.get(&format!("/v1/tx/{txid}/status"));
        assert!(status["reason"].as_str().unwrap().contains("full mempool"), "{status}");
    }
    // A transaction that pays too little now is refused, and may be sent again later.
    let spare = node.coins_for_anyone(1, 1_000_000)[0];
    let info = node.rpc("getmempoolinfo", json!([]));
    let cheap = Draft::of(spare, 110).make();
    if rate(&info["mempoolminfee"]) > 200 {
        let hex = bitcoin::consensus::encode::serialize_hex(&cheap);
        let (status, refused) = served.post("/v1/tx/broadcast", &json!({ "tx_hex": hex }));
        assert_eq!((status, &refused["error"]), (400, &json!("insufficient_fee")), "{refused}");
        assert_eq!(refused["retryable"], true, "{refused}");
    }
    agrees(node, served);
    node.mine(2);
    agrees(node, served);
    served.end_and_verify(node);
}

#[test]
fn from_a_full_mempool_in_one_process() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::with(&["-maxmempool=5"]));
    let mut served = Served::one_process(&node);
    fills(&node, &mut served);
}

#[test]
fn from_a_full_mempool_in_two_processes() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::with(&["-maxmempool=5"]));
    let mut served = Served::two_processes(&node);
    fills(&node, &mut served);
}

/// The node's clock goes ahead, and what is older than an hour goes. Cairn cannot know the node's limit, and does not
/// guess.
#[test]
fn of_the_old() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::with(&["-mempoolexpiry=1"]));
    let mut served = Served::one_process(&node);
    served.settle(&node);
    let coins = node.coins_for_anyone(3, 1_000_000);
    let parent = Draft::of(coins[0], 2_000).make();
    let old = [node.send(&parent), node.send(&Draft::of(coins_of(&parent)[0], 2_000).make())];
    agrees(&node, &served);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    node.rpc("setmocktime", json!([(now + Duration::from_secs(2 * 3600)).as_secs()]));
    // The old ones go when a new one comes.
    let new = node.send(&Draft::of(coins[1], 2_000).make());
    assert_eq!(NodeMempool::of(&node).txids(), BTreeSet::from([new]));
    agrees(&node, &served);
    for txid in &old {
        let (state, reason) = left(&served, txid);
        assert_eq!(state, "unknown");
        assert!(["unknown", "expired"].contains(&reason.as_str()), "{reason}");
    }
    node.mine(1);
    agrees(&node, &served);
    served.end_and_verify(&node);
}
