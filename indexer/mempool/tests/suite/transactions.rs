//! Transactions come, go and replace each other, while no block comes.

use cairn_model::RemoveReason;
use cairn_standin::Payment;

use crate::{
    chain::txid,
    rig::{Rig, node, options},
};
use cairn_node::Topic;

#[test]
fn the_mempool_is_loaded() {
    let node = node(130);
    for rate in 0..20 {
        node.world().send(&Payment::at(2_000 + 500 * rate)).unwrap();
    }
    node.world().send_chain(25, 3_000).unwrap();
    let mut rig = Rig::with(node, options(), &Topic::ALL);
    rig.settle("load");
    assert_eq!((rig.reader.resets, rig.reader.adds, rig.reader.removes), (1, 45, 0));
    assert_eq!(rig.reader.sequence, Some(rig.node.world().pool_sequence()));
    // The node knows since when it has them.
    let time = rig.node.world().pool()[0].time * 1000;
    assert!(rig.reader.txs.values().all(|tx| tx.first_seen_ms.abs_diff(time) < 20_000));
    let status = rig.watcher.status();
    assert_eq!((status.corrections.added, status.transactions), (0, 45));
}

#[test]
fn arrivals_chains_and_children_that_pay() {
    let mut rig = Rig::new(130);
    rig.settle("empty");
    let requests = rig.node.requests();
    let first = rig.node.world().send(&Payment::at(2_000)).unwrap();
    rig.node.world().cpfp(&first, 30_000).unwrap();
    rig.node.world().send_chain(25, 4_000).unwrap();
    rig.settle("arrivals");
    // Published with their bytes: nothing had to be asked for but what the poller asks.
    assert!(rig.node.requests() - requests < 10, "{} requests", rig.node.requests() - requests);
    assert_eq!((rig.reader.adds, rig.reader.resets), (27, 1));
    assert_eq!(rig.reader.sequence, Some(rig.node.world().pool_sequence()));
    assert_eq!(rig.watcher.status().corrections.added, 0);
}

#[test]
fn replacements_are_told_with_what_depended_on_them() {
    let mut rig = Rig::new(130);
    rig.settle("empty");
    let first = rig.node.world().send(&Payment::at(2_000)).unwrap();
    let child = rig.node.world().cpfp(&first, 5_000).unwrap();
    let other = rig.node.world().send(&Payment::at(2_000)).unwrap();
    rig.settle("before");
    let by = rig.node.world().replace(&first, 50_000).unwrap();
    rig.settle("after");
    let replaced = Some(&RemoveReason::Replaced { by: txid(by) });
    assert_eq!(rig.reader.left.get(&txid(first)), replaced);
    assert_eq!(rig.reader.left.get(&txid(child)), replaced);
    // If nothing was published of the first version yet, only the last one is published.
    let again = rig.node.world().replace(&by, 90_000).unwrap();
    let last = rig.node.world().replace(&again, 200_000).unwrap();
    rig.settle("twice");
    assert!(rig.reader.txs.contains_key(&txid(last)) && rig.reader.txs.contains_key(&txid(other)));
    assert_eq!(rig.watcher.status().corrections.removed, 0);
}

#[test]
fn evictions_have_evidence() {
    let mut rig = Rig::new(130);
    rig.settle("empty");
    let mut cheap = Vec::new();
    for _ in 0..5 {
        cheap.push(rig.node.world().send(&Payment::at(1_100)).unwrap());
    }
    let child = rig.node.world().cpfp(&cheap[0], 1_050).unwrap();
    let rich = rig.node.world().send(&Payment::at(80_000)).unwrap();
    rig.settle("before");
    // Removed without any sign of a full mempool.
    rig.node.world().evict(&cheap[4]).unwrap();
    rig.settle("without a word");
    assert_eq!(rig.reader.left.get(&txid(cheap[4])), Some(&RemoveReason::Unknown));
    rig.node.world().trim(1_000);
    rig.settle("trimmed");
    for gone in cheap[..4].iter().chain([&child]) {
        assert_eq!(rig.reader.left.get(&txid(*gone)), Some(&RemoveReason::Evicted));
    }
    assert!(rig.reader.txs.contains_key(&txid(rich)));
    let floor = rig.reader.floor.unwrap();
    assert!(floor.mempool_min_fee > floor.min_relay_fee, "{floor:?}");
    // One that pays more than enters now was not evicted for its feerate.
    rig.node.world().evict(&rich).unwrap();
    rig.settle("removed");
    assert_eq!(rig.reader.left.get(&txid(rich)), Some(&RemoveReason::Unknown));
}

#[test]
fn old_transactions_expire() {
    let mut rig = Rig::new(130);
    rig.settle("empty");
    let old = rig.node.world().send(&Payment::at(2_000)).unwrap();
    rig.settle("before");
    rig.ahead += 336 * 3_600_000;
    rig.settle("two weeks");
    // Too young itself, it goes with its parent.
    let child = rig.node.world().cpfp(&old, 5_000).unwrap();
    rig.settle("a child");
    let later = rig.node.world().now() + 10;
    rig.node.world().expire(later);
    rig.settle("expired");
    for gone in [old, child] {
        assert_eq!(rig.reader.left.get(&txid(gone)), Some(&RemoveReason::Expired));
    }
}

/// Prints how long it takes to load many transactions: `--ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn many_transactions() {
    let node = node(130);
    node.world().fan_out(6_000, 60_000).unwrap();
    for rate in 0..5_000 {
        node.world().send(&Payment::at(2_000 + rate)).unwrap();
    }
    let mut rig = Rig::with(node, options(), &Topic::ALL);
    let (started, mut longest, mut steps) = (std::time::Instant::now(), std::time::Duration::ZERO, 0);
    while rig.reader.sequence.is_none() {
        let step = std::time::Instant::now();
        rig.turn();
        longest = longest.max(step.elapsed());
        steps += 1;
    }
    let bytes = rig.watcher.status().usage_bytes;
    println!("{} in {:?}, {steps} steps, longest {longest:?}, {bytes} bytes", rig.reader.adds, started.elapsed());
}
