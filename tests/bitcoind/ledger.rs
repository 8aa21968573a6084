//! Changes of each script by the node's blocks, computed from the node's own answers: the oracle of what is served.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{
    ScriptBuf,
    hashes::{Hash, sha256},
};
use serde_json::{Value, json};

use crate::{node::Node, served::Served, wallet::sats};

/// Satoshis that a script received and sent in a transaction.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Movement {
    pub(crate) received: i64,
    pub(crate) sent: i64,
    pub(crate) fee: i64,
    height: u64,
}

/// A script that the chain knows.
#[derive(Clone, Default, Debug)]
pub(crate) struct Script {
    /// The node's word for its type, and its address if it has one.
    kind: String,
    pub(crate) address: Option<String>,
    pub(crate) coins: BTreeSet<(String, u64)>,
    pub(crate) movements: BTreeMap<String, Movement>,
}

/// All scripts by their hexadecimal bytes.
#[derive(Default, Debug)]
pub(crate) struct Ledger {
    pub(crate) scripts: BTreeMap<String, Script>,
}

impl Ledger {
    /// Reads the node's chain from its first block.
    #[track_caller]
    pub(crate) fn of(node: &Node) -> Self {
        let mut ledger = Ledger::default();
        // The output of the first block's coinbase is not a coin, but a movement: it is left out here.
        for height in 1..=node.height() {
            let block = node.rpc("getblock", json!([node.hash_at(height), 3]));
            for tx in block["tx"].as_array().unwrap() {
                ledger.connect(tx, u64::from(height));
            }
        }
        ledger
    }

    fn connect(&mut self, tx: &Value, height: u64) {
        let txid = tx["txid"].as_str().unwrap();
        let fee = if tx["fee"].is_null() { 0 } else { sats(&tx["fee"]) };
        for input in tx["vin"].as_array().unwrap().iter().filter(|input| input["coinbase"].is_null()) {
            let script = self.script(&input["prevout"]["scriptPubKey"]);
            assert!(
                script.coins.remove(&(input["txid"].as_str().unwrap().to_owned(), input["vout"].as_u64().unwrap()))
            );
            script.movement(txid, height, fee).sent += sats(&input["prevout"]["value"]);
        }
        for output in tx["vout"].as_array().unwrap() {
            let script = self.script(&output["scriptPubKey"]);
            script.movement(txid, height, fee).received += sats(&output["value"]);
            if output["scriptPubKey"]["type"] != "nulldata" {
                script.coins.insert((txid.to_owned(), output["n"].as_u64().unwrap()));
            }
        }
    }

    fn script(&mut self, told: &Value) -> &mut Script {
        let script = self.scripts.entry(told["hex"].as_str().unwrap().to_owned()).or_default();
        script.kind = told["type"].as_str().unwrap().to_owned();
        script.address = told["address"].as_str().map(str::to_owned);
        script
    }

    /// Fails unless Cairn serves the same about every script.
    #[track_caller]
    pub(crate) fn agrees(&self, served: &Served) {
        for (hex, script) in self.scripts.iter().filter(|(_, script)| script.kind != "nulldata") {
            script.agrees(served, &script_hash(&ScriptBuf::from_hex(hex).unwrap()));
            if let Some(address) = &script.address {
                script.agrees(served, address);
            }
        }
    }
}

impl Script {
    fn movement(&mut self, txid: &str, height: u64, fee: i64) -> &mut Movement {
        let movement = self.movements.entry(txid.to_owned()).or_default();
        (movement.height, movement.fee) = (height, fee);
        movement
    }

    #[track_caller]
    fn agrees(&self, served: &Served, subject: &str) {
        let received: i64 = self.movements.values().map(|movement| movement.received).sum();
        let sent: i64 = self.movements.values().map(|movement| movement.sent).sum();
        let overview = served.get(&format!("/v1/wallets/{subject}/overview"));
        assert_eq!(overview["script_type"], *self.kind, "{subject}");
        assert_eq!(overview["balance"]["confirmed_sats"], received - sent, "{subject}: {overview}");
        assert_eq!(overview["received_sats"], received, "{subject}: {overview}");
        assert_eq!(overview["sent_sats"], sent, "{subject}: {overview}");
        assert_eq!(overview["utxo_count"], self.coins.len(), "{subject}: {overview}");
        assert_eq!(overview["tx_count"], self.movements.len(), "{subject}: {overview}");
        if self.movements.len() > 100 {
            return; // More than the first page.
        }
        let body = served.get(&format!("/v1/wallets/{subject}/transactions?limit=100"));
        let rows = body["transactions"].as_array().unwrap();
        let ours: BTreeMap<String, Movement> =
            rows.iter().filter(|row| row["status"]["state"] == "confirmed").map(movement).collect();
        assert_eq!(ours, self.movements, "{subject}");
        let heights = rows.iter().filter_map(|row| row["status"]["height"].as_u64());
        assert!(heights.is_sorted_by(|a, b| a >= b), "newest first: {body}");
    }
}

fn movement(row: &Value) -> (String, Movement) {
    let number = |value: &Value| value.as_i64().unwrap_or_else(|| panic!("{row}"));
    let movement = Movement {
        received: number(&row["received_sats"]),
        sent: number(&row["sent_sats"]),
        fee: number(&row["fee_sats"]),
        height: row["status"]["height"].as_u64().unwrap(),
    };
    assert_eq!(number(&row["net_sats"]), movement.received - movement.sent, "{row}");
    (row["txid"].as_str().unwrap().to_owned(), movement)
}

/// How a script without address is asked for.
pub(crate) fn script_hash(script: &ScriptBuf) -> String {
    let hash = sha256::Hash::hash(script.as_bytes()).to_byte_array();
    format!("scripthash:{}", hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}
