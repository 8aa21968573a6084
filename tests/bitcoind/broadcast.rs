//! Transactions that are sent by way of Cairn, and payments that it is asked to confirm.

use bitcoin::consensus::encode::serialize_hex;
use serde_json::{Value, json};

use crate::{
    coins::{Draft, coins_of},
    node::{Node, Settings, bitcoind_or_skip},
    pool::agrees,
    served::Served,
    wallet::btc,
};

/// Sends it and expects this state.
#[track_caller]
fn sends(served: &Served, hex: &str, state: &str) -> Value {
    let (status, body) = served.post("/v1/tx/broadcast", &json!({ "tx_hex": hex }));
    assert_eq!((status, &body["state"]), (200, &json!(state)), "{body}");
    body
}

/// Sends it and expects this refusal.
#[track_caller]
fn refused(served: &Served, hex: &str, code: &str) -> Value {
    let (status, body) = served.post("/v1/tx/broadcast", &json!({ "tx_hex": hex }));
    assert_eq!((status, &body["error"], &body["status"]), (400, &json!(code), &json!(400)), "{body}");
    body
}

/// A payment that the wallet has signed and not sent.
#[track_caller]
fn signed(node: &Node, address: &str, sats: u64, rate: u32) -> String {
    let made = node.rpc("send", json!([[{ address: btc(sats) }], null, "unset", rate, { "add_to_wallet": false }]));
    made["hex"].as_str().unwrap().to_owned()
}

/// A check says what the node says, and sends nothing; the node's own PSBT is sent as its transaction.
fn checks(node: &Node, served: &Served, hex: &str) {
    let (status, body) = served.post("/v1/tx/broadcast", &json!({ "tx_hex": hex, "dry_run": true }));
    let said = &node.rpc("testmempoolaccept", json!([[hex]]))[0];
    assert_eq!(
        (status, &body["state"], &body["check"]["allowed"]),
        (200, &json!("not_sent"), &said["allowed"]),
        "{body}"
    );
    let fee = body["decoded"]["fee_sats"].as_f64().unwrap() / 1e8;
    assert!((fee - said["fees"]["base"].as_f64().unwrap()).abs() < 1e-9, "{body} {said}");
    let decoded = node.rpc("decoderawtransaction", json!([hex]));
    for (own, theirs) in body["decoded"]["outputs"].as_array().unwrap().iter().zip(decoded["vout"].as_array().unwrap())
    {
        assert_eq!(own["address"], theirs["scriptPubKey"]["address"]);
        assert_eq!(own["script_hex"], theirs["scriptPubKey"]["hex"]);
    }
    let address = node.new_address("bech32");
    let funded = node.rpc("walletcreatefundedpsbt", json!([[], [{ address: btc(200_000) }], 0, { "fee_rate": 3 }]));
    let open = funded["psbt"].as_str().unwrap();
    let (_, body) = served.post("/v1/tx/broadcast", &json!({ "tx_hex": open, "dry_run": true }));
    assert_eq!(body["check"]["code"], "invalid_transaction", "{body}");
    // Signed, and left for us to finalize.
    let signed = node.rpc("walletprocesspsbt", json!([open, true, "ALL", true, false]));
    let (_, body) = served.post("/v1/tx/broadcast", &json!({ "tx_hex": signed["psbt"], "dry_run": true }));
    assert_eq!(body["check"]["allowed"], true, "{body}");
    let whole = node.rpc("finalizepsbt", json!([signed["psbt"]]));
    assert_eq!(body["txid"], node.rpc("decoderawtransaction", json!([whole["hex"]]))["txid"]);
    assert_eq!(body["wtxid"], node.rpc("decoderawtransaction", json!([whole["hex"]]))["hash"]);
}

fn broadcasts(node: &mut Node, served: &mut Served) {
    served.settle(node);
    let address = node.new_address("bech32m");
    let hex = signed(node, &address, 12_345_678, 5);
    let txid = node.rpc("decoderawtransaction", json!([hex]))["txid"].as_str().unwrap().to_owned();
    let unknown = served.get(&format!("/v1/tx/{txid}/status"));
    assert_eq!(unknown["state"], "unknown");
    checks(node, served, &hex);
    let accepted = sends(served, &hex, "accepted");
    assert_eq!(accepted["txid"], *txid);
    let pool = agrees(node, served);
    assert!(pool.has(&txid));
    assert_eq!(accepted["wtxid"], pool.entry(&txid)["wtxid"]);
    assert_eq!((&accepted["vsize"], &accepted["weight"]), (&pool.entry(&txid)["vsize"], &pool.entry(&txid)["weight"]));
    let again = sends(served, &hex, "already_in_mempool");
    assert_eq!(again["mempool_first_seen"], served.get(&format!("/v1/mempool/tx/{txid}"))["mempool_first_seen"]);
    let (status, body) = served.post_as("/v1/tx/broadcast", "text/plain", &format!("{hex}\n"));
    assert_eq!((status, &body["state"]), (200, &json!("already_in_mempool")), "{body}");

    let coins = node.coins_for_anyone(6, 1_000_000);
    served.settle(node);
    assert_eq!(sends(served, &hex, "already_confirmed")["confirmations"], 1);
    refusals(node, served, &coins);

    // A transaction in a block, with every output spent: only the index knows it.
    let spent = Draft::of(coins[4], 1_000).make();
    node.send(&spent);
    node.send(&Draft::of(coins_of(&spent)[0], 1_000).make());
    node.mine(1);
    served.settle(node);
    assert_eq!(sends(served, &serialize_hex(&spent), "already_confirmed")["confirmations"], 1);

    // Without the node nobody can say.
    let last = serialize_hex(&Draft::of(coins[5], 1_000).make());
    node.stop();
    let (status, body) = served.post("/v1/tx/broadcast", &json!({ "tx_hex": last }));
    assert_eq!((status, &body["error"], &body["retryable"]), (503, &json!("node_unavailable"), &json!(true)), "{body}");
    sends(served, &hex, "already_confirmed");
    node.begin();
    sends(served, &last, "accepted");
    agrees(node, served);
    served.end_and_verify(node);
}

/// Everything that a node refuses, with its words.
fn refusals(node: &Node, served: &Served, coins: &[crate::coins::Coin]) {
    agrees(node, served);
    let good = Draft::of(coins[0], 2_000);
    let mut forged = good.make();
    forged.input[0].witness = bitcoin::Witness::from_slice(&[vec![0x52]]);
    refused(served, &serialize_hex(&forged), "script_failed");
    // A wallet's signature over other amounts.
    let hex = signed(node, &node.new_address("bech32"), 1_000_000, 3);
    let mut tampered: bitcoin::Transaction = bitcoin::consensus::encode::deserialize_hex(&hex).unwrap();
    tampered.output[0].value -= bitcoin::Amount::from_sat(1);
    let body = refused(served, &serialize_hex(&tampered), "script_failed");
    assert!(body["reject_reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{body}");

    let free = Draft { rate: 0, ..good.clone() }.make();
    let body = refused(served, &serialize_hex(&free), "insufficient_fee");
    assert_eq!(body["retryable"], false, "{body}");
    let unknown = Draft::of(coins_of(&good.make())[0], 2_000).make();
    let body = refused(served, &serialize_hex(&unknown), "missing_inputs");
    assert_eq!(body["retryable"], true, "{body}");
    let mut inflated = good.make();
    inflated.output[0].value = bitcoin::Amount::from_sat(1_000_001);
    refused(served, &serialize_hex(&inflated), "invalid_transaction");
    let mut odd = good.make();
    odd.version = bitcoin::transaction::Version(9);
    refused(served, &serialize_hex(&odd), "non_standard");
    let dust = Draft { others: vec![(crate::coins::anyone(), 10)], ..good.clone() }.make();
    refused(served, &serialize_hex(&dust), "non_standard");
    let mut early = good.make();
    early.lock_time = bitcoin::absolute::LockTime::from_consensus(100_000);
    let body = refused(served, &serialize_hex(&early), "non_final");
    assert_eq!(body["retryable"], true, "{body}");
    let mut costly = good.make();
    costly.output[0].value = bitcoin::Amount::from_sat(1_000);
    refused(served, &serialize_hex(&costly), "max_fee_exceeded");
    refused(served, &hex[..hex.len() - 2], "invalid_transaction");
    // The client's own limits, in place of the node's.
    let within = |tx: &bitcoin::Transaction, name: &str, value: u64| {
        served.post("/v1/tx/broadcast", &json!({ "tx_hex": serialize_hex(tx), name: value }))
    };
    let (status, body) = within(&good.make(), "max_fee_rate_sat_vb", 1);
    let limit = json!({ "name": "max_fee_rate_sat_vb", "set_by": "request", "value": 1 });
    assert_eq!((status, &body["error"], &body["limit"]), (400, &json!("max_fee_exceeded"), &limit), "{body}");
    let burn = bitcoin::ScriptBuf::new_op_return([7; 4]);
    let burns = Draft { others: vec![(burn, 700)], ..Draft::of(coins[3], 2_000) }.make();
    assert_eq!(refused(served, &serialize_hex(&burns), "max_burn_exceeded")["limit"]["set_by"], "node");
    let (status, body) = within(&burns, "max_burn_sats", 699);
    assert_eq!((status, &body["error"], &body["limit"]["value"]), (400, &json!("max_burn_exceeded"), &json!(699)));
    assert!(agrees(node, served).txids().is_empty(), "none of these was taken");

    // The children were sent before the parent.
    sends(served, &serialize_hex(&good.make()), "accepted");
    sends(served, &serialize_hex(&unknown), "accepted");
    // Another with the same coin, which does not pay for what it would replace.
    let rival = Draft { filler: 20, rate: 1_000, ..good.clone() }.make();
    refused(served, &serialize_hex(&rival), "insufficient_fee");
    let pays = Draft { rate: 9_000, ..good }.make();
    sends(served, &serialize_hex(&pays), "accepted");
    let (status, body) = within(&burns, "max_burn_sats", 700);
    assert_eq!((status, &body["state"]), (200, &json!("accepted")), "{body}");
    agrees(node, served);
    refused(served, &serialize_hex(&unknown), "missing_inputs");
}

/// A verdict on a payment.
#[track_caller]
fn verdict(served: &Served, body: &Value) -> (bool, Vec<String>, Value) {
    let (status, answer) = served.post("/v1/tx/verify", body);
    assert_eq!(status, 200, "{answer}");
    let codes = answer["reasons"].as_array().unwrap().iter().map(|r| r["code"].as_str().unwrap().to_owned());
    (answer["verified"].as_bool().unwrap(), codes.collect(), answer["observed"].clone())
}

fn verifies(node: &Node, served: &mut Served) {
    served.settle(node);
    for kind in crate::wallet::KINDS {
        let (address, other) = (node.new_address(kind), node.new_address(kind));
        let txid = node.pay(&address, 250_000);
        agrees(node, served);
        let exact = json!({ "txid": txid, "expected_address": address, "min_amount_sats": 250_000 });
        let with = |name: &str, value: Value| {
            let mut body = exact.clone();
            body[name] = value;
            body
        };
        let (verified, codes, seen) = verdict(served, &exact);
        assert_eq!((verified, codes), (false, vec!["unconfirmed".to_owned()]), "{seen}");
        assert_eq!((&seen["state"], &seen["received_sats"]), (&json!("mempool"), &json!(250_000)));
        let (verified, codes, seen) = verdict(served, &with("min_confirmations", json!(0)));
        assert_eq!((verified, codes), (true, vec!["paid".to_owned()]), "{seen}");
        let in_btc = json!({ "txid": txid, "address": address, "expected_amount_btc": 0.0025 });
        assert!(!verdict(served, &in_btc).0, "one confirmation is asked for");
        node.mine(2);
        agrees(node, served);
        let (verified, codes, seen) = verdict(served, &exact);
        assert_eq!((verified, codes), (true, vec!["paid".to_owned()]), "{seen}");
        assert_eq!((&seen["confirmations"], &seen["overpaid_sats"]), (&json!(2), &json!(0)));
        let told = node.rpc("gettransaction", json!([txid]));
        assert_eq!(seen["block"]["hash"], told["blockhash"]);
        let (verified, _, seen) = verdict(served, &in_btc);
        assert!(verified, "{seen}");
        let (verified, codes, _) = verdict(served, &with("min_confirmations", json!(3)));
        assert_eq!((verified, codes), (false, vec!["not_enough_confirmations".to_owned()]));
        let (verified, codes, _) = verdict(served, &with("min_amount_sats", json!(250_001)));
        assert_eq!((verified, codes), (false, vec!["amount_too_low".to_owned()]));
        let (verified, codes, _) = verdict(served, &with("expected_address", json!(other)));
        assert_eq!((verified, codes), (false, vec!["address_not_paid".to_owned()]));
        let less = json!({ "txid": txid, "address": address, "expected_amount_btc": "0.002" });
        let (verified, codes, seen) = verdict(served, &less);
        assert_eq!((verified, codes), (true, vec!["paid".to_owned(), "overpaid".to_owned()]));
        assert_eq!(seen["overpaid_sats"], 50_000);
    }
    let nobody = json!({ "txid": "00".repeat(31) + "01", "address": node.new_address("bech32") });
    assert_eq!(verdict(served, &nobody).1[0], "tx_not_found");
    served.end_and_verify(node);
}

#[test]
fn in_one_process() {
    let program = bitcoind_or_skip!();
    let mut node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::one_process(&node);
    broadcasts(&mut node, &mut served);
}

#[test]
fn in_two_processes() {
    let program = bitcoind_or_skip!();
    let mut node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::two_processes(&node);
    broadcasts(&mut node, &mut served);
}

#[test]
fn payments_are_verified_in_one_process() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::one_process(&node);
    verifies(&node, &mut served);
}

#[test]
fn payments_are_verified_in_two_processes() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::two_processes(&node);
    verifies(&node, &mut served);
}
