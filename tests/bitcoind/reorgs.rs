//! Reorganizations of a real node, of 100 blocks and more, while requests are answered.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use cairn_support::{get, wait_until};
use serde_json::{Value, json};

use crate::{
    ledger::Ledger,
    node::{Node, Settings, bitcoind_or_skip},
    served::Served,
    sync::busy,
};

/// Asks all the time, and makes sure that no answer mixes two chains.
struct Reader {
    stop: Arc<AtomicBool>,
    answers: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Looks at the newest blocks, and at a wallet that only ever has what coinbases paid to it.
    fn start(served: &Served, address: String) -> Self {
        let (stop, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, counted, server) = (Arc::clone(&stop), Arc::clone(&answers), served.address.clone());
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let (status, body) = get(&server, "/v1/chain/recent-blocks?limit=50");
                if status == 200 {
                    one_chain(&serde_json::from_str(&body).unwrap());
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                let (status, body) = get(&server, &format!("/v1/wallets/{address}/transactions?limit=100"));
                if status == 200 {
                    one_page(&serde_json::from_str(&body).unwrap());
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                thread::sleep(Duration::from_millis(5));
            }
        });
        Reader { stop, answers, thread: Some(thread) }
    }

    /// Ends it; it has had answers, all of them whole.
    #[track_caller]
    fn end(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
        let answers = self.answers.load(Ordering::Relaxed);
        assert!(answers > 10, "{answers} answers");
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Heights without a step, from the tip that the answer names.
fn one_chain(body: &Value) {
    let blocks = body["blocks"].as_array().unwrap();
    assert_eq!(blocks[0]["hash"], body["_meta"]["tip"]["hash"], "{body}");
    let heights: Vec<u64> = blocks.iter().map(|block| block["height"].as_u64().unwrap()).collect();
    assert!(heights.windows(2).all(|pair| pair[0] == pair[1] + 1), "{heights:?}");
}

/// Every row's depth is counted from the tip that the answer names.
fn one_page(body: &Value) {
    let tip = body["_meta"]["tip"]["height"].as_u64().unwrap();
    for row in body["transactions"].as_array().unwrap() {
        let status = &row["status"];
        if status["state"] == "confirmed" {
            let depth = status["confirmations"].as_u64().unwrap();
            assert_eq!(depth + status["height"].as_u64().unwrap(), tip + 1, "{body}");
        }
    }
}

/// The overview of an address, once the mempool has come to the tip of the index as well.
fn overview(served: &Served, address: &str) -> Value {
    let mut answer = Value::Null;
    wait_until("a mempool at the index's tip", || {
        answer = served.get(&format!("/v1/wallets/{address}/overview"));
        !answer["balance"]["unconfirmed_sats"].is_null()
    });
    answer
}

/// 100 blocks are invalidated and come back, with others in between.
fn hundred_blocks(node: &Node, served: &mut Served) {
    served.settle(node);
    let address = node.new_address("bech32");
    let reader = Reader::start(served, address.clone());
    busy(node, 3);
    let fork = node.height();
    let mut first = Vec::new();
    for _ in 0..10 {
        first.extend(node.mine_to(9, &address));
        busy(node, 1);
    }
    assert_eq!(node.height(), fork + 100);
    served.settle(node);
    let on_first = overview(served, &address);
    assert_eq!(on_first["utxo_count"], 90);

    // Another branch, which pays the address in every block but the first (where it would be the block that was
    // invalidated, byte by byte).
    node.rpc("invalidateblock", json!([first[0]]));
    assert_eq!(node.height(), fork);
    let mut second = node.mine(1);
    second.extend(node.mine_to(100, &address));
    served.settle(node);
    let on_second = overview(served, &address);
    assert_eq!(on_second["tx_count"], 100);

    // The node takes both back and keeps the one with more work; then the first again.
    node.rpc("reconsiderblock", json!([first[0]]));
    assert_eq!(node.best(), second[100]);
    node.rpc("invalidateblock", json!([second[0]]));
    assert_eq!(node.height(), fork + 100);
    served.settle(node);
    let again = overview(served, &address);
    for name in ["balance", "utxo_count", "tx_count", "received_sats", "first_seen", "last_seen"] {
        assert_eq!(again[name], on_first[name], "{name}");
    }
    // And to the second in one step, which is a reorganization of 100 blocks without a pause.
    node.rpc("reconsiderblock", json!([second[0]]));
    assert_eq!(node.best(), second[100]);
    served.settle(node);
    busy(node, 1);
    served.settle(node);
    Ledger::of(node).agrees(served);
    reader.end();
    served.end_and_verify(node);
}

#[test]
fn hundred_blocks_in_one_process() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::one_process(&node);
    hundred_blocks(&node, &mut served);
}

#[test]
fn hundred_blocks_in_two_processes() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::two_processes(&node);
    hundred_blocks(&node, &mut served);
}

/// Two nodes go separate ways and meet again: the followed one reorganizes by what comes from the network.
#[test]
fn a_longer_branch_from_another_node() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::default());
    let other = Node::start(&program, Settings { listen: true, ..Settings::default() });
    node.connect(&other);
    let same = |what: &str| cairn_support::wait_until(what, || node.best() == other.best());
    same("the same chain in both nodes");
    let mut served = Served::one_process(&node);
    served.settle(&node);
    for (here, there) in [(1, 2), (2, 1), (110, 120), (7, 8)] {
        node.rpc("setnetworkactive", json!([false]));
        busy(&node, here.min(3));
        let address = node.new_address("bech32m");
        node.mine_to(here - here.min(3), &address);
        other.mine_to(there, &address);
        served.settle(&node);
        node.rpc("setnetworkactive", json!([true]));
        node.connect(&other);
        same("the longer chain in both nodes");
        served.settle(&node);
    }
    served.end_and_verify(&node);
}
