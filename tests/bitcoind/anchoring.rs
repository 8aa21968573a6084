//! Timestamps anchored by a real wallet: its states, a reorg, a lost mempool, a fee that the node refuses.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use cairn_node::NodeClient;
use cairn_support::wait_until;
use serde_json::{Value, json};

use crate::{
    node::{Node, Settings, bitcoind_or_skip},
    served::Served,
    wallet::btc,
};

const WALLET: &str = "stamps";
/// A node that starts with an empty mempool.
const FORGETS: &str = "-persistmempool=0";
const HASH: &str = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";

/// A node whose wallet has coins, and Cairn, which anchors with another wallet of it.
struct Rig {
    node: Node,
    served: Served,
    /// An address of somebody else, to mine to.
    miner: String,
}

impl Rig {
    /// The wallet that anchors does not exist yet.
    fn new(program: &std::ffi::OsString, more: &str) -> Self {
        let node = Node::with_wallet(program, Settings::with(&[FORGETS]));
        let miner = node.new_address("bech32");
        let arguments = format!("--timestamps-wallet {WALLET} --timestamps-interval 1 {more}");
        let served = Served::one_process_with(&node, &arguments);
        served.settle(&node);
        Rig { node, served, miner }
    }

    /// The same with a wallet that has three coins.
    fn funded(program: &std::ffi::OsString, more: &str) -> Self {
        let rig = Rig::new(program, more);
        rig.create_wallet();
        rig.fund();
        rig.wait_for_reason(&Value::Null);
        rig
    }

    fn create_wallet(&self) {
        self.node.rpc("createwallet", json!({ "wallet_name": WALLET, "load_on_startup": true }));
    }

    fn wallet(&self) -> NodeClient {
        self.node.wallet_client(WALLET)
    }

    fn fund(&self) {
        for _ in 0..3 {
            let address: String = self.wallet().call("getnewaddress", &json!(["", "bech32"])).unwrap();
            let payer = self.node.wallet_client("cairn");
            payer.call::<String>("sendtoaddress", &json!([address, btc(100_000)])).unwrap();
        }
        self.mine(1);
    }

    fn mine(&self, blocks: u32) {
        self.node.mine_to(blocks, &self.miner);
        self.served.settle(&self.node);
    }

    /// Waits until hashes are refused for this reason; accepted if it is null.
    fn wait_for_reason(&self, reason: &Value) {
        wait_until(&format!("the reason {reason}"), || {
            let quote = self.served.get("/v1/timestamp/quote");
            quote["reason"] == *reason && quote["available"] == reason.is_null()
        });
    }

    fn submit(&self) -> u16 {
        self.served.post("/v1/timestamp", &json!({ "hash": HASH })).0
    }

    fn stamp(&self) -> Value {
        self.served.get(&format!("/v1/timestamp/{HASH}"))
    }

    fn wait_for_state(&self, state: &str) -> Value {
        wait_until(&format!("the state {state}"), || self.stamp()["state"] == state);
        self.stamp()
    }

    fn pool(&self) -> Vec<String> {
        self.node.ask("getrawmempool", json!([]))
    }

    /// The proof in base64.
    fn proof(&self) -> Value {
        let mut stream = TcpStream::connect(&self.served.address).unwrap();
        let path = format!("/v1/timestamp/{HASH}/proof");
        let head = "Host: localhost\r\nAccept: application/json\r\nConnection: close";
        write!(stream, "GET {path} HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        body["proof_base64"].clone()
    }

    /// The proof verifies, by the node's own header.
    fn is_proven(&self) {
        let proof = self.proof();
        let (status, verified) =
            self.served.post("/v1/timestamp/verify", &json!({ "hash": HASH, "proof_base64": proof }));
        assert_eq!((status, &verified["verified"]), (200, &json!(true)), "{verified}");
        let attested = &verified["attestations"][0];
        let header = self.node.rpc("getblockheader", json!([self.stamp()["block_hash"]]));
        assert_eq!(attested["computed_root"], header["merkleroot"], "{verified}");
        assert_eq!(attested["height"], header["height"]);
    }
}

#[test]
fn a_wallet_anchors_through_a_reorg() {
    let program = bitcoind_or_skip!();
    let rig = Rig::new(&program, "");
    rig.wait_for_reason(&json!("wallet_missing"));
    assert_eq!(rig.submit(), 503);
    rig.create_wallet();
    rig.wait_for_reason(&json!("empty"));
    rig.fund();
    rig.wait_for_reason(&Value::Null);
    rig.wallet().call::<Value>("encryptwallet", &json!(["secret"])).unwrap();
    rig.wait_for_reason(&json!("locked"));
    assert_eq!(rig.submit(), 503);
    rig.wallet().call::<Value>("walletpassphrase", &json!(["secret", 600])).unwrap();
    rig.wait_for_reason(&Value::Null);

    assert_eq!((rig.submit(), rig.submit()), (202, 200));
    let sent = rig.wait_for_state("broadcast");
    let txid = sent["txid"].as_str().unwrap();
    assert_eq!(rig.pool(), [txid]);
    let tx = rig.node.rpc("getrawtransaction", json!([txid, true]));
    let root = sent["batch"]["root"].as_str().unwrap();
    let outputs = tx["vout"].as_array().unwrap();
    let script = |output: &Value| output["scriptPubKey"]["hex"].as_str().unwrap().to_owned();
    assert!(outputs.iter().any(|output| script(output) == format!("6a20{root}")), "{tx}");
    assert_eq!(outputs.len(), 2, "the root and change: {tx}");

    rig.mine(1);
    let first = rig.wait_for_state("confirmed");
    // Another chain without it is longer: the transaction is in the mempool again.
    rig.node.rpc("invalidateblock", json!([first["block_hash"]]));
    for _ in 0..2 {
        rig.node.rpc("generateblock", json!([rig.miner, []]));
    }
    rig.served.settle(&rig.node);
    rig.wait_for_state("broadcast");
    assert_eq!(rig.pool(), [txid]);
    rig.mine(1);
    let second = rig.wait_for_state("confirmed");
    assert_eq!(second["txid"], first["txid"]);
    assert_ne!(second["block_hash"], first["block_hash"]);
    rig.is_proven();
    rig.mine(5);
    rig.wait_for_state("final");
    rig.is_proven();
}

#[test]
fn a_lost_mempool_gets_the_same_bytes_again() {
    let program = bitcoind_or_skip!();
    let mut rig = Rig::funded(&program, "");
    assert_eq!(rig.submit(), 202);
    let sent = rig.wait_for_state("broadcast");
    rig.node.restart(None);
    let txid = sent["txid"].as_str().unwrap();
    wait_until("the same transaction", || rig.pool() == [txid]);
    rig.mine(6);
    assert_eq!(rig.wait_for_state("final")["txid"], sent["txid"]);
    rig.is_proven();
}

#[test]
fn a_refused_fee_is_raised() {
    let program = bitcoind_or_skip!();
    let mut rig = Rig::funded(&program, "--timestamps-max-feerate 100");
    assert_eq!(rig.submit(), 202);
    let sent = rig.wait_for_state("broadcast");
    let spent = inputs(&rig.node, &sent["txid"]);
    // From now on the node takes only what pays 50 sat/vB.
    rig.node.restart(Some(Settings::with(&[FORGETS, "-minrelaytxfee=0.0005"])));
    wait_until("a transaction with a higher fee", || !rig.pool().is_empty());
    let raised = json!(rig.pool()[0]);
    assert_ne!(raised, sent["txid"]);
    assert_eq!(inputs(&rig.node, &raised), spent, "only one of both can be in the chain");
    let entry = rig.node.rpc("getmempoolentry", json!([raised]));
    let (fee, vsize) = (crate::wallet::sats(&entry["fees"]["base"]), entry["vsize"].as_i64().unwrap());
    assert!(fee >= 50 * vsize && fee <= 101 * vsize, "{entry}");
    rig.mine(6);
    assert_eq!(rig.wait_for_state("final")["txid"], raised);
    rig.is_proven();
}

/// The outputs that a transaction of the mempool spends.
fn inputs(node: &Node, txid: &Value) -> Vec<Value> {
    let tx = node.rpc("getrawtransaction", json!([txid, true]));
    tx["vin"].as_array().unwrap().iter().map(|input| json!([input["txid"], input["vout"]])).collect()
}
