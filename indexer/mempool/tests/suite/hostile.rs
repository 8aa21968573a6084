//! A node whose answers make no sense. Nothing panics, nothing is asked for ever, and the rest is kept all the same.

use std::time::Duration;

use bitcoin::{consensus::serialize, hashes::Hash};
use cairn_mempool::MempoolOptions;
use cairn_model::{BlockHash, MempoolDelta, RemoveReason};
use cairn_node::NodeEvent;
use serde_json::json;

use crate::{
    chain::txid,
    hostile_node::{Hostile, Ours, coin, hex, hostile, tip, tx},
};

#[test]
fn an_idle_watcher_rests() {
    let mut node = hostile();
    node.says().has(&tx(&[coin(0)], &[900]));
    assert!(node.pass(59_000) < 100);
    assert!(node.is_complete());
    assert_eq!((node.calls("getrawmempool"), node.calls("getrawtransaction")), (1, 1));
    node.pass(60_000);
    assert_eq!((node.calls("getrawmempool"), node.calls("getrawtransaction")), (2, 1));
}

#[test]
fn impossible_transactions_are_refused_and_the_rest_is_kept() {
    let mut node = hostile();
    let mut says = node.says();
    let good = says.has(&tx(&[coin(0)], &[900]));
    let mut bad = vec![
        // More is paid than there is.
        says.has(&tx(&[coin(1)], &[1_001])),
        says.has(&tx(&[coin(2)], &[u64::MAX])),
        says.has(&tx(&[coin(3), coin(4)], &[u64::MAX, 5])),
        // A coin is spent twice.
        says.has(&tx(&[coin(5), coin(5)], &[5])),
        // The parent has no such output.
        says.has(&tx(&[(good, 7)], &[5])),
        says.has(&tx(&[(bitcoin::Txid::all_zeros(), u32::MAX)], &[5])),
    ];
    // Its child has nothing to spend.
    let orphan = tx(&[(bad[0], 0)], &[5]);
    let orphan = says.has(&orphan);
    // Another transaction, garbage, an error, another type.
    let other = tx(&[coin(10)], &[1]);
    for (vout, answer) in [
        (6, json!({ "result": hex(&serialize(&other)) })),
        (7, json!({ "result": "00ff" })),
        (8, json!({ "error": { "code": -1, "message": "no" } })),
        (9, json!({ "result": { "hex": 5 } })),
    ] {
        let txid = says.has(&tx(&[coin(vout)], &[1]));
        says.bodies.insert(txid.to_string(), answer);
        bad.push(txid);
    }
    let late = says.has(&tx(&[coin(11)], &[900]));
    drop(says);
    node.pass(50_000);
    assert!(node.is_complete(), "{:?}", node.watcher.status());
    assert!(node.has(good) && node.has(late));
    assert_eq!(node.watcher.len(), 2);
    let status = node.watcher.status();
    assert_eq!((status.refused, status.unresolved, status.pending), (bad.len() as u64, 1, 0), "{status:?}");
    assert!(!node.has(orphan));
    let asked = node.calls("getrawtransaction");
    assert!(asked < 150, "{asked}");
    // A transaction that could not be read is tried again now and then; when it can be read, it is taken in.
    let healed = tx(&[coin(8)], &[1]);
    let answer = json!({ "result": hex(&serialize(&healed)) });
    node.says().bodies.insert(healed.compute_txid().to_string(), answer);
    node.pass(60_000);
    assert!(node.has(healed.compute_txid()) && node.is_complete());
}

#[test]
fn two_that_spend_the_same_coin_are_not_both_kept() {
    let mut node = hostile();
    let (first, second) = (tx(&[coin(0)], &[900]), tx(&[coin(0), coin(1)], &[900]));
    let first = node.says().has(&first);
    let second = node.says().has(&second);
    node.pass(300_000);
    assert!(node.has(first) != node.has(second) && node.is_complete());
    let adds = node.deltas.iter().filter(|delta| matches!(delta, MempoolDelta::Add(_))).count();
    assert_eq!(adds, 1);
    // A message about a third one is newer than the last snapshot.
    node.pass(10_000);
    let third = tx(&[coin(0), coin(2)], &[900]);
    let txid = node.says().has(&third);
    node.says().pool.pop();
    node.watcher.hear(&NodeEvent::Accepted { txid: crate::chain::txid(txid), mempool_sequence: 10 }, node.now);
    node.pass(200);
    let by = crate::chain::txid(txid);
    let replaced = |delta: &MempoolDelta| matches!(delta, MempoolDelta::Remove { reason: RemoveReason::Replaced { by: other }, .. } if *other == by);
    assert!(node.deltas.iter().any(replaced));
    assert!(node.deltas.iter().any(|delta| matches!(delta, MempoolDelta::Add(tx) if tx.txid == by)));
    // The snapshot that follows, as nothing announced the removal, is newer still.
    node.pass(300_000);
    assert!(!node.has(txid) && node.is_complete());
    assert_eq!(node.watcher.len(), 1);
}

#[test]
fn what_cannot_be_had_is_not_asked_for_without_end() {
    let mut node = hostile();
    for n in 0..50 {
        node.says().pool.push(bitcoin::Txid::from_byte_array([n + 100; 32]));
    }
    node.pass(59_000);
    assert!(node.is_complete() && node.watcher.is_empty());
    assert_eq!((node.calls("getrawmempool"), node.calls("getrawtransaction")), (1, 50));
}

#[test]
fn unknown_coins_are_said_to_be_unknown() {
    let mut node = hostile();
    let unknown = bitcoin::Txid::from_byte_array([99; 32]);
    let lost = tx(&[coin(0), (unknown, 3)], &[900]);
    let child = tx(&[(lost.compute_txid(), 0)], &[800]);
    let child = node.says().has(&child);
    let lost = node.says().has(&lost);
    node.pass(59_000);
    assert!(node.is_complete() && !node.has(lost) && !node.has(child));
    assert_eq!(node.watcher.status().unresolved, 2);
    let snapshots = node.calls("getrawmempool");
    assert!(snapshots <= 2, "{snapshots}");
    // The parent comes after all.
    let parent = tx(&[coin(1)], &[1, 1, 1, 500]);
    let mut says = node.says();
    says.pool.clear();
    let parent = says.has(&parent);
    let replaced = tx(&[coin(0), (parent, 3)], &[900]);
    let replaced = says.has(&replaced);
    drop(says);
    node.pass(60_000);
    assert!(node.has(parent) && node.has(replaced), "{:?}", node.watcher.status());
    assert_eq!((node.watcher.status().unresolved, node.watcher.len()), (0, 2));
}

#[test]
fn there_is_a_limit_to_the_number_of_transactions() {
    let mut node = Hostile::new(MempoolOptions { max_transactions: 5, ..MempoolOptions::default() });
    node.watcher.listening(&[cairn_node::Topic::Sequence]);
    for vout in 0..20 {
        node.says().has(&tx(&[coin(vout)], &[900]));
    }
    node.pass(1_000);
    assert_eq!((node.watcher.len(), node.watcher.status().left_out), (5, 15));
    node.says().pool.truncate(7);
    // One snapshot makes room, the next one fills it.
    node.pass(130_000);
    assert_eq!((node.watcher.len(), node.watcher.status().left_out), (5, 2));
}

#[test]
fn stale_messages_change_nothing() {
    let mut node = hostile();
    let here = node.says().has(&tx(&[coin(0)], &[900]));
    let gone = tx(&[coin(1)], &[900]);
    node.says().bodies.insert(gone.compute_txid().to_string(), json!({ "result": hex(&serialize(&gone)) }));
    node.pass(1_000);
    let told = node.deltas.len();
    let accepted = |tx, n| NodeEvent::Accepted { txid: txid(tx), mempool_sequence: n };
    let removed = |tx, n| NodeEvent::Removed { txid: txid(tx), mempool_sequence: n };
    node.watcher.hear(&removed(here, 9), node.now);
    node.watcher.hear(&accepted(gone.compute_txid(), 8), node.now);
    node.pass(5_000);
    assert_eq!((node.deltas.len(), node.watcher.len()), (told, 1));
    // From the number of the snapshot on, they count.
    node.watcher.hear(&accepted(gone.compute_txid(), 10), node.now);
    node.pass(100);
    assert_eq!(node.watcher.len(), 2);
    assert_eq!(node.deltas.last(), Some(&MempoolDelta::Sequence(11)));
    node.watcher.hear(&removed(here, 15), node.now);
    // Repeated, it changes nothing either.
    node.watcher.hear(&accepted(here, 12), node.now);
    node.pass(1_000);
    assert!(!node.has(here));
    assert_eq!(node.deltas.last(), Some(&MempoolDelta::Sequence(16)));
    // A number that cannot be is a reason to look, not to believe.
    node.says().pool = vec![here];
    node.watcher.hear(&accepted(here, u64::MAX), node.now);
    node.pass(2_000);
    assert!(node.has(here) && node.watcher.len() == 1);
    assert_eq!(node.watcher.status().node_sequence, Some(10));
    // A message that a snapshot had overtaken explains what the snapshot found.
    node.says().sequence = 20;
    node.says().pool.push(gone.compute_txid());
    node.pass(61_000);
    assert_eq!(node.watcher.status().corrections.added, 2);
    node.watcher.hear(&accepted(gone.compute_txid(), 19), node.now);
    node.pass(100);
    assert_eq!(node.watcher.status().corrections.added, 1);
    assert_eq!(node.watcher.status().last_corrections.added, 0);
}

#[test]
fn a_removal_that_nothing_explains_is_not_held_for_long() {
    let mut node = hostile();
    let here = node.says().has(&tx(&[coin(0)], &[900]));
    node.pass(1_000);
    node.watcher.hear(&NodeEvent::Removed { txid: txid(here), mempool_sequence: 10 }, node.now);
    node.says().pool.clear();
    let tip = node.tip;
    let mut held = 0;
    while node.has(here) {
        let step = node.watcher.step(&Ours, tip, node.now + held).unwrap();
        assert!(!node.has(here) || step.again_in <= Duration::from_millis(50));
        held += 1;
    }
    assert_eq!(held, 51);
}

impl Hostile {
    /// Our index and the node connect a block of such transactions.
    fn block(&mut self, height: u32, txids: &[bitcoin::Txid]) {
        self.tip = tip(height, BlockHash([height as u8; 32]));
        self.says().tip = self.tip.hash;
        let txids = txids.iter().map(|of| txid(*of));
        self.deltas.extend(self.watcher.connected(self.tip, txids, [], self.now));
    }
}

#[test]
fn what_our_chain_holds_is_not_unconfirmed_before_a_block_is_taken_off() {
    let mut node = hostile();
    node.pass(1_000);
    let confirmed = tx(&[coin(0)], &[900]);
    node.block(10, &[confirmed.compute_txid()]);
    let other = tx(&[coin(1)], &[900]);
    node.block(11, &[other.compute_txid()]);
    // The node is on another branch already.
    let confirmed = node.says().has(&confirmed);
    let other = node.says().has(&other);
    for (of, number) in [(confirmed, 10), (other, 11)] {
        node.watcher.hear(&NodeEvent::Accepted { txid: txid(of), mempool_sequence: number }, node.now);
    }
    node.pass(1_000);
    assert!(node.is_complete() && node.watcher.is_empty());
    assert_eq!((node.calls("getrawmempool"), node.calls("getrawtransaction")), (1, 0));
    // So are we.
    node.tip = tip(10, BlockHash([10; 32]));
    node.says().tip = node.tip.hash;
    node.says().pool.clear();
    node.says().pool.push(other);
    node.deltas.extend(node.watcher.disconnected(node.tip, node.now));
    node.pass(1_000);
    assert!(node.has(other) && !node.has(confirmed) && node.watcher.len() == 1);
    // If a snapshot of our own tip holds it, we are wrong about it.
    node.says().pool.push(confirmed);
    node.watcher.hear(&NodeEvent::Accepted { txid: txid(confirmed), mempool_sequence: 12 }, node.now);
    node.pass(1_000);
    assert!(!node.has(confirmed));
    node.pass(60_000);
    assert!(node.has(confirmed));
}

#[test]
fn a_parent_that_goes_does_not_keep_its_child_waiting() {
    let mut node = Hostile::new(MempoolOptions { fetch_batch: 1, ..MempoolOptions::default() });
    node.watcher.listening(&[cairn_node::Topic::Sequence]);
    node.pass(1_000);
    let child = node.says().has(&tx(&[coin(0)], &[900]));
    // Its parent is confirmed by now.
    for (of, number) in [(child, 10), (coin(0).0, 11)] {
        node.watcher.hear(&NodeEvent::Accepted { txid: txid(of), mempool_sequence: number }, node.now);
    }
    node.pass(200);
    assert!(node.has(child) && node.is_complete());
    assert_eq!(node.calls("getrawmempool"), 1);
}

#[test]
fn what_a_snapshot_showed_at_another_tip_excuses_nothing() {
    let mut node = hostile();
    let unknown = tx(&[(bitcoin::Txid::from_byte_array([99; 32]), 0)], &[900]);
    let body = json!({ "result": hex(&serialize(&unknown)) });
    let unknown = node.says().has(&unknown);
    node.says().bodies.insert(unknown.to_string(), json!({ "error": { "code": -1, "message": "later" } }));
    node.pass(50);
    node.block(10, &[]);
    node.says().bodies.insert(unknown.to_string(), body);
    node.pass(2_000);
    // Only a snapshot at the new tip does.
    assert_eq!((node.calls("getrawmempool"), node.watcher.status().unresolved), (2, 1));
    assert!(node.is_complete());
}
