//! Following the tip, with ZMQ and without, in one process and two.

use serde_json::{Value, json};

use crate::{
    node::{Node, Settings, bitcoind_or_skip},
    served::Served,
    sync::busy,
};

/// Fails unless the node and Cairn agree on the newest blocks.
#[track_caller]
fn blocks_agree(node: &Node, served: &Served) {
    let body = served.get("/v1/chain/recent-blocks?limit=20");
    for block in body["blocks"].as_array().unwrap() {
        let told = node.rpc("getblockstats", json!([block["hash"]]));
        for (ours, theirs) in [("height", "height"), ("tx_count", "txs"), ("fees_sats", "totalfee")] {
            assert_eq!(block[ours], told[theirs], "{ours} of {block}: {told}");
        }
        let told = node.rpc("getblock", json!([block["hash"], 1]));
        for name in ["height", "size", "weight", "hash"] {
            assert_eq!(block[name], told[name], "{name} of {block}: {told}");
        }
        assert_eq!(block["time_unix"], told["time"]);
    }
    assert_eq!(body["_meta"]["tip"]["lag_blocks"], 0);
    assert_eq!(body["_meta"]["tip"]["height"], Value::from(node.height()));
}

fn follows(node: &Node, served: &mut Served) {
    served.settle(node);
    for _ in 0..4 {
        busy(node, 1);
        served.settle(node);
        blocks_agree(node, served);
    }
    // Many at once.
    let address = node.new_address("bech32");
    node.mine_to(50, &address);
    served.settle(node);
    blocks_agree(node, served);
    served.end_and_verify(node);
}

#[test]
fn one_process_by_zmq() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::one_process(&node);
    assert!(!served.said().contains("polling the node"), "{}", served.said());
    follows(&node, &mut served);
}

#[test]
fn one_process_by_polling() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings { zmq: false, rest: false, ..Settings::default() });
    let mut served = Served::one_process(&node);
    assert!(served.said().contains("polling the node"), "{}", served.said());
    follows(&node, &mut served);
}

#[test]
fn two_processes_by_zmq() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::two_processes(&node);
    follows(&node, &mut served);
}

#[test]
fn two_processes_by_polling() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings { zmq: false, ..Settings::default() });
    let mut served = Served::two_processes(&node);
    follows(&node, &mut served);
}
