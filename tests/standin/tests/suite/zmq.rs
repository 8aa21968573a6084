use std::collections::HashMap;

use bitcoincore_zmq::{Message, SequenceMessage};
use cairn_standin::{Restart, StandIn, StandInOptions, Topic, ZmqOptions};
use serde_json::json;

use crate::client::rpc;
use crate::listener::Listener;
use crate::node;

fn letters(messages: &[SequenceMessage]) -> String {
    messages.iter().map(SequenceMessage::label_char).collect()
}

#[test]
fn a_block_in_all_topics() {
    let node = node(101);
    let listener = Listener::new(&node);
    let txid = node.world().send_chain(1, 3_000).unwrap()[0];
    let tx = node.world().pool()[0].tx.as_ref().clone();
    assert_eq!(listener.next(), Message::HashTx(txid, 0));
    assert_eq!(listener.next(), Message::Tx(tx.clone(), 0));
    let added = SequenceMessage::MempoolAcceptance { txid, mempool_sequence: 1 };
    assert_eq!(listener.next(), Message::Sequence(added, 0));
    let hash = node.world().mine(1).unwrap()[0];
    let block = node.world().block(&hash).unwrap();
    for (number, of_block) in (1..).zip([&block.txdata[0], &tx]) {
        assert_eq!(listener.next(), Message::HashTx(of_block.compute_txid(), number));
        assert_eq!(listener.next(), Message::Tx(of_block.clone(), number));
    }
    assert_eq!(listener.next(), Message::Sequence(SequenceMessage::BlockConnect { blockhash: hash }, 1));
    assert_eq!(listener.next(), Message::HashBlock(hash, 0));
    assert_eq!(listener.next(), Message::Block(block, 0));
    assert_eq!(listener.drain(), []);
    // The block's removal took a number without a message.
    assert_eq!(node.world().pool_sequence(), 3);
    let rows = rpc(&node, "getzmqnotifications", json!([]));
    assert_eq!(rows.as_array().unwrap().len(), 5);
    assert_eq!(rows[4], json!({ "type": "pubsequence", "address": node.zmq_address(Topic::Sequence), "hwm": 0 }));
}

/// In the order of Core: disconnects, then the mempool's changes, then connects, then one tip.
#[test]
fn a_reorganization_as_core_tells_it() {
    let options = ZmqOptions { topics: vec![Topic::Sequence, Topic::HashBlock], shared: false, high_water_mark: 0 };
    let node = StandIn::start(StandInOptions { premine: 110, zmq: options, ..StandInOptions::default() }).unwrap();
    assert_eq!(node.zmq_addresses().len(), 2);
    node.world().send_chain(2, 3_000).unwrap();
    node.world().mine(2).unwrap();
    let listener = Listener::new(&node);
    let before = node.world().pool_sequence();
    let branch = {
        let mut world = node.world();
        let parent = world.hash_at(110).unwrap();
        let mut branch = vec![parent];
        let mut blocks = Vec::new();
        for _ in 0..4 {
            let plan = cairn_standin::BlockPlan {
                parent: branch.last().copied(),
                txs: cairn_standin::Txs::None,
                ..cairn_standin::BlockPlan::default()
            };
            let block = world.build(&plan).unwrap();
            branch.push(block.block_hash());
            blocks.push(block);
        }
        // From high to low the node knows no parent; it takes them from low to high.
        for block in blocks {
            world.connect(block).unwrap();
        }
        branch
    };
    let messages = listener.drain();
    let sequence: Vec<SequenceMessage> = messages
        .iter()
        .filter_map(|message| if let Message::Sequence(message, _) = message { Some(*message) } else { None })
        .collect();
    assert_eq!(letters(&sequence), "DDAACCCC");
    let numbers: Vec<u64> = sequence.iter().filter_map(SequenceMessage::mempool_sequence).collect();
    assert_eq!(numbers, [before, before + 1]);
    let tips: Vec<_> = messages
        .iter()
        .filter_map(|message| if let Message::HashBlock(hash, _) = message { Some(*hash) } else { None })
        .collect();
    // The third block of the branch has more work than the old tip: the first two are never announced as tips.
    assert_eq!(tips, branch[3..]);
    assert_eq!(node.world().pool_txids().len(), 2);
}

#[test]
fn invalidation_takes_off_without_a_new_tip() {
    let node = node(110);
    node.world().send_chain(2, 3_000).unwrap();
    let hash = node.world().mine(3).unwrap()[0];
    let listener = Listener::new(&node);
    node.world().invalidate(&hash).unwrap();
    let messages = listener.drain();
    let sequence = |messages: &[Message]| -> String {
        let label = |message: &Message| match message {
            Message::Sequence(message, _) => Some(message.label_char()),
            Message::HashBlock(..) => Some('h'),
            _ => None,
        };
        messages.iter().filter_map(label).collect()
    };
    assert_eq!(sequence(&messages), "DDDAA");
    node.world().reconsider(&hash).unwrap();
    // One step for each block: each has more work than the tip before.
    assert_eq!(sequence(&listener.drain()), "ChChCh");
    assert_eq!(node.world().height(), 113);
    assert!(node.world().pool_txids().is_empty());
}

#[test]
fn during_the_initial_download_tips_are_not_announced() {
    let node = node(0);
    let listener = Listener::new(&node);
    node.world().set_ibd(true);
    node.world().mine(2).unwrap();
    let messages = listener.drain();
    assert!(!messages.iter().any(|message| matches!(message, Message::HashBlock(..) | Message::Block(..))));
    assert_eq!(messages.iter().filter(|message| matches!(message, Message::Sequence(..))).count(), 2);
}

#[test]
fn restarts_begin_all_numbers_anew() {
    let mut node = node(105);
    let kept = node.world().send_chain(2, 3_000).unwrap();
    let (cookie, url) = (node.authorization(), node.url());
    let listener = Listener::new(&node);
    node.restart(&Restart { slow_load: true, ..Restart::default() }).unwrap();
    assert_ne!(node.authorization(), cookie);
    assert_eq!(node.url(), url);
    assert_eq!(rpc(&node, "getmempoolinfo", json!([]))["loaded"], false);
    // ZMQ subscribers come back by themselves.
    assert!(node.await_subscriptions(1, std::time::Duration::from_secs(10)).unwrap());
    node.world().load_pool();
    assert_eq!(rpc(&node, "getmempoolinfo", json!([]))["loaded"], true);
    let mut numbers: HashMap<&str, Vec<u32>> = HashMap::new();
    let mut sequence = Vec::new();
    for message in &listener.drain() {
        numbers.entry(message.topic_str()).or_default().push(message.sequence());
        if let Message::Sequence(SequenceMessage::MempoolAcceptance { txid, mempool_sequence }, _) = message {
            sequence.push((*txid, *mempool_sequence));
        }
    }
    assert_eq!(numbers["hashtx"], [0, 1]);
    assert_eq!(sequence, [(kept[0], 1), (kept[1], 2)]);
    node.restart(&Restart { keep_mempool: false, ..Restart::default() }).unwrap();
    assert_eq!(rpc(&node, "getrawmempool", json!([false, true])), json!({ "txids": [], "mempool_sequence": 1 }));
}
