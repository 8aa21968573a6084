//! The mempool of a real node, step by step: payments, replacements, chains, conflicts, blocks that hold some of it,
//! and reorganizations.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::Transaction;
use serde_json::{Value, json};

use crate::{
    coins::{Coin, Draft, coins_of},
    node::{Node, Settings, bitcoind_or_skip},
    pool::{agrees, first_seen, left},
    served::Served,
    wallet::{KINDS, bare_multisig, op_return, pay_to_public_key},
};

/// Transactions that the node lets hang together.
const CLUSTER: usize = 64;

/// Payments to every type of address and to scripts without one.
fn payments(node: &Node, served: &Served) {
    agrees(node, served);
    for kind in KINDS {
        node.pay(&node.new_address(kind), 1_234_567);
    }
    agrees(node, served);
    // Many signature operations make a transaction larger than its bytes do.
    let multisig = vec![(bare_multisig(), 2_000); 25];
    node.pay_to_scripts(&multisig);
    node.pay_to_scripts(&[(op_return(b"not yet in a block"), 0), (pay_to_public_key(), 6_000)]);
    let before = agrees(node, served);
    assert_eq!(before.txids().len(), 6);
    assert!(before.txids().iter().any(|txid| before.entry(txid)["vsize"].as_u64() > Some(5_000)), "sigops count");
    // The wallet's coins are now in part unconfirmed.
    let all = node.rpc("getbalances", json!([]))["mine"]["trusted"].as_f64().unwrap();
    let most = [(node.new_address("bech32m"), format!("{:.8}", all - 1.0))];
    let swept: String = node.ask("sendtoaddress", json!([most[0].0, most[0].1]));
    let pool = agrees(node, served);
    assert!(pool.entry(&swept)["ancestorcount"].as_u64() > Some(1), "{}", pool.entry(&swept));
    node.mine(1);
    assert!(agrees(node, served).txids().is_empty());
}

/// A payment whose fee is raised several times.
fn replacements(node: &Node, served: &Served) {
    let address = node.new_address("bech32");
    let mut txid = node.pay(&address, 50_000_000);
    agrees(node, served);
    let seen = first_seen(served, &BTreeSet::from([txid.clone()]));
    for rate in [40, 75, 130] {
        let bumped = node.rpc("bumpfee", json!([txid, { "fee_rate": rate }]));
        let by = bumped["txid"].as_str().unwrap().to_owned();
        agrees(node, served);
        assert_eq!(left(served, &txid), ("conflicted".to_owned(), "replaced".to_owned()));
        let status = served.get(&format!("/v1/tx/{txid}/status"));
        assert_eq!(status["departed"]["replaced_by"], *by, "{status}");
        if let Some(seen) = seen.get(&txid) {
            assert_eq!(status["mempool_first_seen"], **seen);
        }
        for path in [format!("/v1/mempool/tx/{by}"), format!("/v1/tx/{by}")] {
            let body = served.get(&path);
            let replaces = if path.contains("mempool") { &body["replaces"] } else { &body["status"]["replaces"] };
            assert_eq!(*replaces, json!([txid]), "{path}: {body}");
        }
        let (_, verdict) = served.post("/v1/tx/verify", &json!({ "txid": txid, "expected_address": address }));
        assert_eq!(verdict["reasons"][0]["code"], "tx_conflicted", "{verdict}");
        let spent = json!({ "kind": "replaced", "by": by, "by_state": "mempool" });
        assert_eq!(verdict["observed"]["double_spend"], spent);
        txid = by;
    }
    // One that replaces a whole family: parent, child and grandchild.
    let coin = node.coins_for_anyone(1, 10_000_000)[0];
    assert!(agrees(node, served).txids().is_empty());
    let parent = Draft { change: 2, ..Draft::of(coin, 1_000) }.make();
    let child = Draft::of(coins_of(&parent)[0], 1_000).make();
    let grandchild = Draft::of(coins_of(&child)[0], 1_000).make();
    let family: Vec<String> = [&parent, &child, &grandchild].map(|tx| node.send(tx)).into();
    agrees(node, served);
    let by = node.send(&Draft { signals: false, ..Draft::of(coin, 9_000) }.make());
    agrees(node, served);
    for txid in &family {
        assert_eq!(left(served, txid), ("conflicted".to_owned(), "replaced".to_owned()), "{txid}");
    }
    let replaces = served.get(&format!("/v1/mempool/tx/{by}"))["replaces"].clone();
    let replaces: BTreeSet<&str> = replaces.as_array().unwrap().iter().map(|txid| txid.as_str().unwrap()).collect();
    assert_eq!(replaces, family.iter().map(String::as_str).collect());
    // It does not signal, but nodes replace it all the same: by one with what it replaced.
    let again = node.send(&Draft::of(coin, 20_000).make());
    agrees(node, served);
    assert_eq!(served.get(&format!("/v1/tx/{by}/status"))["departed"]["replaced_by"], *again);
    node.mine(1);
    agrees(node, served);
    let confirmed = served.get(&format!("/v1/tx/{again}/status"));
    assert_eq!((&confirmed["state"], &confirmed["confirmations"]), (&json!("confirmed"), &json!(1)));
    let (_, verdict) = served.post("/v1/tx/verify", &json!({ "txid": by, "address": node.new_address("bech32") }));
    assert_eq!(verdict["observed"]["double_spend"]["by_state"], "confirmed", "{verdict}");
}

/// The longest chain that the node takes, and a parent with as many children as it may have. A block takes some of
/// both.
fn chains(node: &Node, served: &Served, coins: &[Coin]) {
    let mut chain: Vec<Transaction> = Vec::new();
    let mut coin = coins[0];
    for place in 0..CLUSTER {
        // Every other pays for the one before it.
        let tx = Draft::of(coin, if place % 2 == 0 { 200 } else { 5_000 }).make();
        coin = coins_of(&tx)[0];
        chain.push(tx);
    }
    let chain: Vec<String> = chain.iter().map(|tx| node.send(tx)).collect();
    let too_long = Draft::of(coin, 10_000).make();
    let hex = bitcoin::consensus::encode::serialize_hex(&too_long);
    let said = node.outcome("sendrawtransaction", json!([hex])).unwrap_err();
    assert!(said.contains("too-large-cluster") || said.contains("too-long-mempool-chain"), "{said}");
    let (status, refused) = served.post("/v1/tx/broadcast", &json!({ "tx_hex": hex }));
    assert_eq!((status, &refused["error"]), (400, &json!("too_long_mempool_chain")), "{refused}");

    let parent = Draft { change: CLUSTER - 2, ..Draft::of(coins[1], 300) }.make();
    let mut fan = vec![node.send(&parent)];
    let outputs = coins_of(&parent);
    for (place, coin) in outputs.iter().enumerate() {
        fan.push(node.send(&Draft::of(*coin, 1_000 + 100 * place as u64).make()));
    }
    let last = Draft { coins: outputs[..2].to_vec(), ..Draft::of(outputs[0], 90_000) }.make();
    fan.push(node.send(&last));
    let pool = agrees(node, served);
    assert_eq!(pool.entry(&chain[CLUSTER - 1])["ancestorcount"], CLUSTER);
    // Two children of the parent were replaced by one of both their coins.
    for txid in &fan[1..3] {
        assert_eq!(left(served, txid), ("conflicted".to_owned(), "replaced".to_owned()));
    }

    let seen = first_seen(served, &pool.txids());
    let mined: Vec<&String> = chain[..10].iter().chain([&fan[0], &fan[7], &fan[9]]).collect();
    let block = node.rpc("generateblock", json!([node.new_address("bech32"), mined]));
    let rest = agrees(node, served);
    assert_eq!(rest.txids().len(), pool.txids().len() - mined.len());
    assert_eq!(rest.entry(&chain[10])["ancestorcount"], 1);
    for txid in mined {
        let status = served.get(&format!("/v1/tx/{txid}/status"));
        assert_eq!((&status["state"], &status["block"]["hash"]), (&json!("confirmed"), &block["hash"]), "{status}");
        assert_eq!(status["mempool_first_seen"], *seen[txid]);
    }
    node.mine(1);
    agrees(node, served);
}

/// A block spends a coin that unconfirmed transactions spend too.
fn conflicts(node: &Node, served: &Served, coin: Coin) {
    let payee = node.new_address("legacy");
    let script = payee.parse::<bitcoin::Address<_>>().unwrap().assume_checked().script_pubkey();
    let parent = Draft { others: vec![(script, 5_000)], ..Draft::of(coin, 3_000) }.make();
    let child = Draft { filler: 300, ..Draft::of(coins_of(&parent)[0], 4_000) }.make();
    let lost = [node.send(&parent), node.send(&child)];
    agrees(node, served);
    let rival = Draft { filler: 10, ..Draft::of(coin, 500) }.make();
    let hex = bitcoin::consensus::encode::serialize_hex(&rival);
    node.rpc("generateblock", json!([node.new_address("bech32"), [hex]]));
    assert!(agrees(node, served).txids().is_empty());
    for txid in &lost {
        assert_eq!(left(served, txid), ("conflicted".to_owned(), "conflict".to_owned()));
    }
    let (_, verdict) =
        served.post("/v1/tx/verify", &json!({ "txid": lost[0], "address": payee, "expected_amount_btc": 0.00005 }));
    assert_eq!(
        (&verdict["verified"], &verdict["observed"]["double_spend"]["kind"]),
        (&json!(false), &json!("conflict"))
    );
    // The block goes, and with it the conflict: the wallet's node has forgotten what was dropped, and gets it again.
    let seen = served.get(&format!("/v1/tx/{}/status", lost[0]))["mempool_first_seen"].clone();
    let tip = node.best();
    node.rpc("invalidateblock", json!([tip]));
    let back = agrees(node, served);
    assert!(back.has(&rival.compute_txid().to_string()), "{:?}", back.txids());
    node.send(&parent);
    node.send(&child);
    agrees(node, served);
    assert_eq!(served.get(&format!("/v1/mempool/tx/{}", lost[0]))["mempool_first_seen"], seen, "it was seen before");
    assert_eq!(left(served, &rival.compute_txid().to_string()).1, "replaced");
    node.mine(1);
    agrees(node, served);
}

/// Blocks go back into the mempool, and other blocks take what was in them.
fn reorganizations(node: &Node, served: &Served, coins: &[Coin], depth: u32) {
    let mut ours = BTreeSet::new();
    let mut seen = BTreeMap::new();
    let mut first_block = String::new();
    for round in 0..depth {
        for kind in KINDS {
            node.pay(&node.new_address(kind), 700_000 + u64::from(round));
        }
        let parent = Draft { change: 3, ..Draft::of(coins[round as usize], 2_500) }.make();
        ours.insert(node.send(&parent));
        let child = Draft { coins: coins_of(&parent)[..2].to_vec(), ..Draft::of(coins[0], 7_000) }.make();
        ours.insert(node.send(&child));
        seen.extend(first_seen(served, &agrees(node, served).txids()));
        let block = node.mine(1).remove(0);
        if round == 0 {
            first_block = block;
        }
    }
    // Something is unconfirmed meanwhile, and spends what is about to be unconfirmed.
    node.pay(&node.new_address("bech32m"), 900_000);
    seen.extend(first_seen(served, &agrees(node, served).txids()));
    node.rpc("invalidateblock", json!([first_block]));
    // The node drops those of the wallet that spend coinbases which are too young again.
    let back = agrees(node, served).txids();
    assert!(back.is_superset(&ours), "{ours:?} came back: {back:?}");
    for (txid, time) in first_seen(served, &back) {
        assert_eq!(seen[&txid], time, "{txid}");
    }
    // They confirm in other blocks.
    node.mine(1);
    agrees(node, served);
    node.mine(depth);
    agrees(node, served);
    // And again in those that held them first, which now are the longer chain.
    let second = node.hash_at(node.height() - depth);
    node.rpc("reconsiderblock", json!([first_block]));
    node.rpc("invalidateblock", json!([second]));
    agrees(node, served);
    for (txid, time) in seen.iter().filter(|(txid, _)| ours.contains(*txid)) {
        let status = served.get(&format!("/v1/tx/{txid}/status"));
        assert_eq!(status["state"], "confirmed", "{status}");
        assert_eq!(status["mempool_first_seen"], **time, "{status}");
    }
    node.mine(1);
    agrees(node, served);
}

fn lives(node: &Node, served: &mut Served) {
    served.settle(node);
    payments(node, served);
    replacements(node, served);
    let coins = node.coins_for_anyone(20, 20_000_000);
    chains(node, served, &coins[..2]);
    conflicts(node, served, coins[2]);
    reorganizations(node, served, &coins[3..], 8);
    assert_eq!(served.get("/v1/mempool/stats")["whole"], true);
    served.end_and_verify(node);
}

#[test]
fn by_zmq_in_one_process() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::one_process(&node);
    lives(&node, &mut served);
}

#[test]
fn by_zmq_in_two_processes() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::two_processes(&node);
    lives(&node, &mut served);
}

/// Without messages the reasons are found out where that can be, and the contents are the same.
#[test]
fn by_polling() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings { zmq: false, ..Settings::default() });
    let mut served = Served::two_processes(&node);
    served.settle(&node);
    payments(&node, &served);
    let coins = node.coins_for_anyone(8, 20_000_000);
    conflicts(&node, &served, coins[0]);
    reorganizations(&node, &served, &coins[1..], 3);
    let health = served.get("/api/health/full");
    let node_row = health["components"].as_array().unwrap().iter().find(|row| row["name"] == "node").unwrap();
    assert_eq!((&node_row["status"], &node_row["details"]["news"]), (&Value::from("ok"), &Value::from("polling")));
    served.end_and_verify(&node);
}
