//! Wallet payments of every address type: what is served of each address is what the node says.

use std::collections::BTreeMap;

use bitcoin::ScriptBuf;
use serde_json::{Value, json};

use crate::{
    ledger::{Ledger, script_hash},
    node::{Node, Settings, bitcoind_or_skip},
    served::Served,
    wallet::{KINDS, address_of, bare_multisig, op_return, pay_to_public_key, sats},
};

/// Coins and their sum, as the node finds them by a walk through its whole coin set.
#[track_caller]
fn scanned(node: &Node, descriptor: &str) -> (usize, i64) {
    let found = node.rpc("scantxoutset", json!(["start", [descriptor]]));
    assert_eq!(found["success"], true);
    (found["unspents"].as_array().unwrap().len(), sats(&found["total_amount"]))
}

/// An address, or a script by its hash, has the coins that the node finds.
#[track_caller]
fn coins_agree(node: &Node, served: &Served, subject: &str, descriptor: &str) -> Value {
    let overview = served.get(&format!("/v1/wallets/{subject}/overview"));
    let (coins, sum) = scanned(node, descriptor);
    assert_eq!(overview["utxo_count"], coins, "{subject}: {overview}");
    assert_eq!(overview["balance"]["confirmed_sats"], sum, "{subject}: {overview}");
    let count = |name: &str| overview[name].as_i64().unwrap();
    assert_eq!(count("received_sats") - count("sent_sats"), sum, "{overview}");
    overview
}

/// Fails unless the wallet and Cairn agree on a transaction.
#[track_caller]
fn transaction_agrees(node: &Node, served: &Served, txid: &str) {
    let told = node.rpc("gettransaction", json!([txid, true, true]));
    let tx = served.get(&format!("/v1/tx/{txid}?include_hex=true"));
    let decoded = &told["decoded"];
    for name in ["size", "vsize", "weight"] {
        assert_eq!(tx[name], decoded[name], "{name} of {txid}");
    }
    let state = if told["confirmations"].as_i64() > Some(0) { "confirmed" } else { "mempool" };
    assert_eq!(tx["status"]["state"], state, "{tx}");
    let status = served.get(&format!("/v1/tx/{txid}/status"));
    assert_eq!(status["state"], state);
    if state == "confirmed" {
        assert_eq!(status["block"]["hash"], told["blockhash"]);
        assert_eq!(status["block"]["height"], told["blockheight"]);
        assert_eq!(status["confirmations"], told["confirmations"]);
    }
    if !told["fee"].is_null() {
        assert_eq!(tx["fee_sats"], -sats(&told["fee"]), "{txid}");
    }
    let outputs = tx["outputs"].as_array().unwrap();
    let theirs = decoded["vout"].as_array().unwrap();
    assert_eq!(outputs.len(), theirs.len());
    for (ours, theirs) in outputs.iter().zip(theirs) {
        assert_eq!(ours["value_sats"], sats(&theirs["value"]), "{ours}: {theirs}");
        assert_eq!(ours["address"], theirs["scriptPubKey"]["address"], "{ours}: {theirs}");
        assert_eq!(ours["script_type"], theirs["scriptPubKey"]["type"], "{ours}: {theirs}");
        assert_eq!(ours["asm"], theirs["scriptPubKey"]["asm"], "{ours}: {theirs}");
        assert_eq!(ours["script_hex"], theirs["scriptPubKey"]["hex"], "{ours}: {theirs}");
    }
}

#[test]
fn every_type_has_the_nodes_coins_and_movements() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::one_process(&node);
    let mut addresses: Vec<(&str, String)> = Vec::new();
    for round in 0..3u64 {
        for kind in KINDS {
            let address = node.new_address(kind);
            for part in 0..=round {
                node.pay(&address, 100_000 + 1_000 * round + part);
            }
            addresses.push((kind, address));
        }
        node.mine(1);
    }
    // Scripts that no wallet makes: bare multisig, a bare key, pay to anchor, a script hash of nobody's, data.
    let anchor = ScriptBuf::from_hex("51024e73").unwrap();
    let multisig_hash = ScriptBuf::new_p2wsh(&bare_multisig().wscript_hash());
    let odd = [
        (bare_multisig(), 7_000),
        (pay_to_public_key(), 8_000),
        (anchor.clone(), 9_000),
        (multisig_hash.clone(), 11_000),
        (op_return(b"to whom it may concern"), 0),
    ];
    let of_odd = [node.pay_to_scripts(&odd), node.pay_to_scripts(&odd)];
    node.mine(1);
    // Everything that the wallet has of some types is spent: their addresses have a history and no coins.
    let swept = node.new_address("bech32m");
    let all = node.rpc("sendall", json!([[swept]]));
    node.mine(1);
    served.settle(&node);
    Ledger::of(&node).agrees(&served);

    let spent = all["txid"].as_str().unwrap();
    for (kind, address) in &addresses {
        let overview = coins_agree(&node, &served, address, &format!("addr({address})"));
        assert_eq!(overview["utxo_count"], 0, "{kind}: the wallet was swept");
        // The node's wallet counts what was received, whatever became of it.
        let received = sats(&node.rpc("getreceivedbyaddress", json!([address, 1])));
        assert_eq!(overview["received_sats"], received, "{kind}");
        assert_eq!(overview["sent_sats"], received, "{kind}");
        let core = match *kind {
            "legacy" => "pubkeyhash",
            "p2sh-segwit" => "scripthash",
            "bech32" => "witness_v0_keyhash",
            _ => "witness_v1_taproot",
        };
        assert_eq!(overview["script_type"], core);
    }
    // Coins of the wallet, each address on its own.
    let mut by_address: BTreeMap<String, i64> = BTreeMap::new();
    for coin in node.rpc("listunspent", json!([1, 9_999_999, [], true])).as_array().unwrap() {
        *by_address.entry(coin["address"].as_str().unwrap().to_owned()).or_default() += sats(&coin["amount"]);
    }
    assert!(by_address.contains_key(&swept));
    for (address, sum) in by_address {
        let overview = coins_agree(&node, &served, &address, &format!("addr({address})"));
        assert_eq!(overview["balance"]["confirmed_sats"], sum, "{address}");
    }
    // Scripts by their hash; those with an address by that too.
    for (script, _) in &odd[..4] {
        let overview = coins_agree(&node, &served, &script_hash(script), &format!("raw({})", script.to_hex_string()));
        assert_eq!(overview["utxo_count"], 2, "{overview}");
    }
    for script in [anchor, multisig_hash] {
        let address = address_of(&script);
        coins_agree(&node, &served, &address, &format!("addr({address})"));
    }
    for txid in of_odd.iter().map(String::as_str).chain([spent]) {
        transaction_agrees(&node, &served, txid);
    }
    let texts = served.get(&format!("/v1/tx/{}/op-return", of_odd[0]));
    assert!(texts.to_string().contains("to whom it may concern"), "{texts}");
    served.end_and_verify(&node);
}
