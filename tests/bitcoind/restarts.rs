//! Restarts of the node and of Cairn, each under the other.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use crate::{
    node::{Node, Settings, bitcoind_or_skip},
    served::Served,
    sync::busy,
};

/// The node is stopped, started with another cookie, killed, and started with other settings.
fn node_restarts(node: &mut Node, served: &mut Served) {
    served.settle(node);
    busy(node, 2);
    node.restart(None);
    busy(node, 2);
    served.settle(node);
    // Blocks that were mined while Cairn could not see them, behind a killed node.
    busy(node, 1);
    node.kill();
    assert_eq!(served.try_get("/v1/chain/recent-blocks?limit=1").0, 200, "what is indexed is served");
    node.begin();
    busy(node, 1);
    served.settle(node);
    // REST goes away and comes back, and so does ZMQ.
    node.restart(Some(Settings { zmq: false, rest: false, ..Settings::default() }));
    busy(node, 2);
    served.settle(node);
    node.restart(Some(Settings::default()));
    busy(node, 2);
    served.settle(node);
    served.end_and_verify(node);
}

#[test]
fn of_the_node_under_one_process() {
    let program = bitcoind_or_skip!();
    let mut node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::one_process(&node);
    node_restarts(&mut node, &mut served);
}

#[test]
fn of_the_node_under_two_processes() {
    let program = bitcoind_or_skip!();
    let mut node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::two_processes(&node);
    node_restarts(&mut node, &mut served);
}

#[test]
fn of_cairn_in_either_process() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::two_processes(&node);
    served.settle(&node);
    for signal in ["TERM", "KILL"] {
        served.end_writing(signal);
        // Meanwhile the node reorganizes.
        let tip = node.best();
        node.rpc("invalidateblock", serde_json::json!([tip]));
        busy(&node, 3);
        served.start_writing();
        served.settle(&node);
        served.end_serving(signal);
        busy(&node, 1);
        served.start_serving();
        served.settle(&node);
    }
    served.end_and_verify(&node);
}

/// A reader opens the index while the writer commits block after block, and merges and removes files.
#[test]
fn of_readers_under_a_busy_writer() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::default());
    let mut served = Served::two_processes(&node);
    let address = node.new_address("bech32");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let mining = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                node.mine_to(1, &address);
                thread::sleep(Duration::from_millis(10));
            }
        });
        for _ in 0..25 {
            served.end_serving("TERM");
            let started = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                served.start_serving();
                let checked = served.world.run("stages --datadir data");
                checked.success();
            }));
            if let Err(panic) = started {
                stop.store(true, Ordering::Relaxed);
                std::panic::resume_unwind(panic);
            }
        }
        stop.store(true, Ordering::Relaxed);
        mining.join().unwrap();
    });
    served.settle(&node);
    served.end_and_verify(&node);
}
