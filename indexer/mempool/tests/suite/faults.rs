//! Messages get lost, the node goes away and comes back, requests fail.

use std::{collections::BTreeMap, thread, time::Duration};

use cairn_mempool::{MempoolOptions, MempoolState};
use cairn_model::Txid;
use cairn_node::Topic;
use cairn_standin::{BlockPlan, HttpFault, HttpRule, Match, Payment, Restart, Txs, When, ZmqFault, ZmqRule};

use crate::{
    chain::txid,
    rig::{Rig, node, options},
};

fn seen(rig: &Rig) -> BTreeMap<Txid, u64> {
    rig.reader.txs.values().map(|tx| (tx.txid, tx.first_seen_ms)).collect()
}

#[test]
fn lost_repeated_and_reordered_messages_are_repaired() {
    let mut rig = Rig::new(150);
    rig.settle("empty");
    let sequence = cairn_standin::Topic::Sequence;
    for fault in [ZmqFault::Drop, ZmqFault::Duplicate, ZmqFault::Reorder(3)] {
        let repaired = rig.watcher.status().gaps_repaired;
        rig.node.zmq_faults(1, vec![ZmqRule::once(sequence, fault)]).unwrap();
        for rate in 1..5 {
            rig.node.world().send(&Payment::at(2_000 * rate)).unwrap();
        }
        rig.node.flush().unwrap();
        rig.settle(&format!("{fault:?}"));
        rig.until("repaired", |rig| rig.watcher.status().gaps_repaired > repaired);
        rig.settle(&format!("{fault:?} repaired"));
    }
    // A replacement whose removal is lost, and one whose addition is.
    for skip in [0, 1] {
        let old = rig.node.world().send(&Payment::at(2_000)).unwrap();
        rig.settle("to be replaced");
        rig.node.zmq_faults(1, vec![ZmqRule { skip, ..ZmqRule::once(sequence, ZmqFault::Drop) }]).unwrap();
        let new = rig.node.world().replace(&old, 60_000).unwrap();
        rig.node.world().send(&Payment::at(2_000)).unwrap();
        rig.settle("replaced");
        let by = cairn_model::RemoveReason::Replaced { by: txid(new) };
        assert_eq!(rig.reader.left.get(&txid(old)), Some(&by));
    }
}

#[test]
fn a_lost_last_message_is_found_by_the_next_snapshot() {
    let mut rig = Rig::new(130);
    rig.settle("empty");
    let leaving = rig.node.world().send(&Payment::at(2_000)).unwrap();
    rig.settle("one");
    rig.node.zmq_faults(1, vec![ZmqRule::always(cairn_standin::Topic::Sequence, ZmqFault::Drop)]).unwrap();
    rig.node.world().send(&Payment::at(2_000)).unwrap();
    rig.node.world().evict(&leaving).unwrap();
    rig.turns(30);
    assert!(!rig.is_same_set() && rig.watcher.status().state == MempoolState::Synced);
    rig.settle_by_snapshot("a minute later");
    let corrections = rig.watcher.status().last_corrections;
    assert_eq!((corrections.added, corrections.removed), (1, 1));
    assert_eq!(rig.watcher.status().corrections, corrections);
}

#[test]
fn bytes_that_were_not_published_are_asked_for() {
    let mut rig = Rig::new(130);
    rig.settle("empty");
    rig.node.zmq_faults(1, vec![ZmqRule::always(cairn_standin::Topic::RawTx, ZmqFault::Drop)]).unwrap();
    let first = rig.node.world().send(&Payment::at(2_000)).unwrap();
    rig.node.world().cpfp(&first, 9_000).unwrap();
    rig.node.world().send_chain(25, 3_000).unwrap();
    rig.settle("asked for");
    rig.node.world().replace(&first, 90_000).unwrap();
    rig.settle("replaced");
    assert_eq!((rig.watcher.status().corrections.added, rig.reader.resets), (0, 1));
    // One that leaves before it could be asked for.
    let gone = rig.node.world().send(&Payment::at(2_000)).unwrap();
    rig.node.world().evict(&gone).unwrap();
    rig.settle("gone");
    assert!(!rig.reader.left.contains_key(&txid(gone)));
    rig.node.at_request(Match::Rpc("getrawtransaction"), When::Before, 0, |world| {
        let all = world.pool_txids();
        let _ = world.evict(all.last().unwrap());
    });
    rig.node.world().send(&Payment::at(2_000)).unwrap();
    rig.settle("gone in the middle");
}

fn polled(topics: &[Topic]) {
    let node = node(140);
    for _ in 0..3 {
        node.world().send(&Payment::at(2_000)).unwrap();
    }
    let options = MempoolOptions { poll_every: Duration::from_millis(300), ..options() };
    let mut rig = Rig::with(node, options, topics);
    rig.settle("load");
    assert_eq!(rig.watcher.status().state, MempoolState::Polling);
    for round in 0..3 {
        let paid = rig.node.world().send(&Payment::at(2_000)).unwrap();
        rig.node.world().cpfp(&paid, 8_000).unwrap();
        rig.settle("sent");
        rig.node.world().replace(&paid, 80_000).unwrap();
        rig.settle("replaced");
        let seen = seen(&rig);
        rig.node.world().mine(1).unwrap();
        rig.settle("mined");
        rig.node.world().reorg(1 + round, 2 + round).unwrap();
        rig.settle("reorganized");
        assert!(rig.reader.txs.values().all(|tx| seen.get(&tx.txid).is_none_or(|ms| *ms == tx.first_seen_ms)));
    }
    assert_eq!((rig.reader.sequence, rig.reader.resets), (Some(rig.node.world().pool_sequence()), 1));
}

#[test]
fn without_zmq() {
    polled(&[]);
}

#[test]
fn without_the_sequence_topic() {
    polled(&[Topic::HashBlock, Topic::RawTx]);
}

#[test]
fn published_bytes_hint_at_a_snapshot() {
    let options = MempoolOptions { poll_every: Duration::from_secs(3600), ..options() };
    let mut rig = Rig::with(node(130), options, &[Topic::HashBlock, Topic::RawTx]);
    rig.settle("empty");
    rig.node.world().send(&Payment::at(2_000)).unwrap();
    rig.settle("hinted");
    // A block's transactions are not news of the mempool.
    rig.node.world().mine(1).unwrap();
    rig.settle("mined");
}

#[test]
fn a_lost_subscription_means_polling() {
    let mut rig = Rig::new(130);
    rig.settle("empty");
    rig.node.close_zmq().unwrap();
    rig.until("noticed", |rig| {
        let status = rig.zmq.as_ref().unwrap().status();
        status.topics.iter().all(|topic| !topic.connected)
    });
    rig.hear();
    rig.step();
    rig.watcher.listening(&[]);
    rig.node.world().send(&Payment::at(2_000)).unwrap();
    rig.turns(5);
    rig.ahead += 2_000;
    rig.until("polled", |rig| rig.is_same_set());
    assert_eq!(rig.watcher.status().state, MempoolState::Polling);
    rig.node.open_zmq().unwrap();
    rig.until("subscribed", |rig| rig.watcher.status().state == MempoolState::Synced);
    rig.node.world().send(&Payment::at(2_000)).unwrap();
    rig.settle("heard");
}

#[test]
fn a_restarted_node() {
    for (keep_mempool, slow_load) in [(true, false), (false, false), (true, true)] {
        let mut rig = Rig::new(150);
        rig.settle("empty");
        for _ in 0..8 {
            rig.node.world().send(&Payment::at(2_000)).unwrap();
        }
        rig.settle("before");
        let before = seen(&rig);
        rig.ahead += 10_000;
        let (adds, removes) = (rig.reader.adds, rig.reader.removes);
        rig.node.stop();
        rig.turns(10);
        // Events while it is down are announced to nobody.
        rig.node.world().mine_plan(&BlockPlan { txs: Txs::None, ..BlockPlan::default() }).unwrap();
        rig.node.start_again(&Restart { keep_mempool, slow_load, ..Restart::default() }).unwrap();
        if slow_load {
            rig.turns(100);
            // Nothing is taken from readers while the node has not loaded what it had.
            assert!(matches!(rig.watcher.status().state, MempoolState::Loading { .. }));
            assert_eq!(rig.watcher.status().node_loaded, Some(false));
            assert_eq!(rig.reader.txs.len(), 8, "{:?} {:?}", rig.reader.left, rig.watcher.status());
            let mut world = rig.node.world();
            world.load_pool();
        }
        rig.settle("restarted");
        for _ in 0..3 {
            rig.node.world().send(&Payment::at(2_000)).unwrap();
        }
        rig.settle("after");
        assert_eq!(rig.reader.resets, 1, "{keep_mempool} {slow_load}");
        let kept = rig.reader.txs.values().filter(|tx| before.contains_key(&tx.txid));
        for tx in kept {
            assert_eq!(tx.first_seen_ms, before[&tx.txid]);
        }
        // Only what was lost and what was sent make a difference.
        let lost = if keep_mempool { 0 } else { 8 };
        assert_eq!((rig.reader.adds - adds, rig.reader.removes - removes), (3, lost), "{keep_mempool} {slow_load}");
        rig.settle_by_snapshot("snapshot");
    }
}

#[test]
fn a_restarted_node_without_a_block_in_between() {
    for keep_mempool in [true, false] {
        let mut rig = Rig::new(150);
        rig.settle("empty");
        for _ in 0..8 {
            rig.node.world().send(&Payment::at(2_000)).unwrap();
        }
        rig.settle("before");
        let removes = rig.reader.removes;
        let sequence = rig.reader.sequence;
        rig.node.restart(&Restart { keep_mempool, ..Restart::default() }).unwrap();
        rig.settle("restarted");
        rig.until("repaired", |rig| rig.reader.sequence.is_some_and(|now| Some(now) <= sequence));
        rig.settle("restarted");
        assert_eq!(rig.reader.removes - removes, if keep_mempool { 0 } else { 8 });
        rig.node.world().send(&Payment::at(2_000)).unwrap();
        rig.settle_by_snapshot("after");
    }
}

#[test]
fn a_node_that_never_loads_is_not_waited_for_for_ever() {
    let options = MempoolOptions { load_wait: Duration::from_secs(600), ..options() };
    let mut rig = Rig::with(node(130), options, &Topic::ALL);
    rig.settle("empty");
    rig.node.world().send(&Payment::at(2_000)).unwrap();
    rig.settle("before");
    rig.node.restart(&Restart { slow_load: true, ..Restart::default() }).unwrap();
    rig.until("heard of", |rig| rig.watcher.status().node_loaded == Some(false));
    assert_eq!(rig.reader.txs.len(), 1);
    rig.ahead += 601_000;
    rig.settle("enough");
    assert_eq!(rig.reader.txs.len(), 0);
}

#[test]
fn our_own_restart_keeps_bytes_and_times() {
    let mut rig = Rig::new(150);
    rig.settle("empty");
    for _ in 0..6 {
        rig.node.world().send(&Payment::at(2_000)).unwrap();
    }
    rig.node.world().send_chain(10, 3_000).unwrap();
    rig.settle("before");
    let before = seen(&rig);
    let kept: Vec<_> = rig.watcher.txs().cloned().collect();
    let gone = rig.node.world().pool_txids()[0];
    rig.node.world().evict(&gone).unwrap();
    let node = rig.node;
    thread::sleep(Duration::from_millis(20));
    let mut again = Rig::with(node, options(), &Topic::ALL);
    again.ahead = 1_000_000;
    again.watcher.restore(kept);
    // No bytes are to be asked for.
    again.node.http_faults(1, vec![HttpRule::always(Match::Rpc("getrawtransaction"), HttpFault::Reset)]);
    again.settle("restored");
    assert!(seen(&again).iter().all(|(txid, ms)| before.get(txid) == Some(ms)));
    assert_eq!(again.reader.txs.len(), again.node.world().pool_txids().len());
}

#[test]
fn requests_that_fail_lose_nothing() {
    let faults = [
        HttpFault::Reset,
        HttpFault::ResetInBody,
        HttpFault::Truncate,
        HttpFault::QueueFull,
        HttpFault::WarmUp("Loading…"),
        HttpFault::Status(500, "oops"),
        HttpFault::Status(200, "{}"),
        HttpFault::Status(200, "[]"),
        HttpFault::Delay(Duration::from_millis(30)),
        HttpFault::Trickle(200, Duration::from_millis(1)),
        HttpFault::CloseAfter,
    ];
    for fault in faults {
        let mut rig = Rig::new(130);
        rig.node.zmq_faults(1, vec![ZmqRule::always(cairn_standin::Topic::RawTx, ZmqFault::Drop)]).unwrap();
        for _ in 0..5 {
            rig.node.world().send(&Payment::at(2_000)).unwrap();
        }
        for method in ["getbestblockhash", "getrawmempool", "getmempoolinfo", "getmempoolentry", "getrawtransaction"] {
            rig.node.http_faults(1, vec![HttpRule::times(2, Match::Rpc(method), fault.clone())]);
            rig.turns(5);
            rig.ahead += 61_000;
            let paid = rig.node.world().send(&Payment::at(2_000)).unwrap();
            rig.node.world().cpfp(&paid, 5_000).unwrap();
            rig.turns(5);
            rig.node.world().evict(&paid).unwrap();
            rig.ahead += 5_000;
            rig.settle(&format!("{fault:?} of {method}"));
        }
    }
}

#[test]
fn a_node_that_does_not_answer_is_waited_for() {
    let mut rig = Rig::new(130);
    rig.settle("empty");
    rig.node.http_faults(1, vec![HttpRule::always(Match::AnyRpc, HttpFault::Reset)]);
    for _ in 0..3 {
        rig.node.world().send(&Payment::at(2_000)).unwrap();
    }
    rig.ahead += 61_000;
    rig.turns(30);
    // The bytes were published: no request is needed for these.
    assert_eq!(rig.reader.txs.len(), 3);
    let status = rig.watcher.status();
    assert!(status.error.is_some(), "{status:?}");
    let requests = rig.node.requests();
    rig.turns(30);
    assert!(rig.node.requests() - requests < 10);
    rig.node.http_faults(1, vec![]);
    rig.ahead += 5_000;
    rig.settle("answers again");
    assert_eq!(rig.watcher.status().error, None);
}

#[test]
fn an_index_that_cannot_be_read_is_an_error_that_loses_nothing() {
    let mut rig = Rig::new(130);
    rig.settle("empty");
    for _ in 0..3 {
        rig.node.world().send(&Payment::at(2_000)).unwrap();
    }
    rig.node.settle().unwrap();
    rig.chain.broken.set(3);
    let mut errors = 0;
    for _ in 0..200 {
        rig.hear();
        let now = rig.now();
        match rig.watcher.step(&rig.chain, rig.chain.tip(), now) {
            Ok(step) => rig.reader.apply(&step.deltas, &rig.chain),
            Err(error) => {
                assert!(error.to_string().contains("the disk is gone"));
                errors += 1;
            }
        }
        thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(errors, 3);
    rig.settle("readable");
}

#[test]
fn an_event_queue_that_overflows_is_repaired() {
    let options = MempoolOptions { max_queue_events: 3, max_queue_bytes: 100, ..options() };
    let mut rig = Rig::with(node(130), options, &Topic::ALL);
    rig.settle("empty");
    for _ in 0..10 {
        rig.node.world().send(&Payment::at(2_000)).unwrap();
    }
    rig.node.settle().unwrap();
    thread::sleep(Duration::from_millis(100));
    rig.settle("repaired");
    assert!(rig.watcher.status().reconciliations > 1);
}

#[test]
fn a_chain_that_moves_during_a_snapshot_postpones_it() {
    for method in ["getbestblockhash", "getrawmempool"] {
        for when in [When::Before, When::After, When::InBody] {
            let mut rig = Rig::new(130);
            for _ in 0..5 {
                rig.node.world().send(&Payment::at(2_000)).unwrap();
            }
            rig.node.at_request(Match::Rpc(method), when, 0, |world| {
                world.mine(1).unwrap();
                world.send(&Payment::at(2_000)).unwrap();
            });
            rig.settle(method);
            rig.node.at_request(Match::Rpc(method), when, 0, |world| drop(world.reorg(2, 3).unwrap()));
            rig.settle_by_snapshot(method);
        }
    }
}

#[test]
fn memory_has_a_limit() {
    let standin = node(160);
    for rate in 0..30 {
        standin.world().send(&Payment::at(2_000 + 1_000 * rate)).unwrap();
    }
    let options = MempoolOptions { max_bytes: 20_000, ..options() };
    let mut rig = Rig::with(standin, options, &Topic::ALL);
    rig.until("loaded", |rig| rig.reader.sequence.is_some());
    let status = rig.watcher.status();
    assert!(status.left_out > 5 && status.transactions > 5, "{status:?}");
    assert_eq!(status.left_out + status.transactions, 30);
    let bytes = |rig: &Rig| rig.watcher.txs().map(|tx| tx.raw.as_ref().unwrap().len()).sum::<usize>();
    assert!(bytes(&rig) < 20_000);
    let rate = |fee: u64, vsize: u64| fee * 1_000_000 / vsize;
    let least = rig.reader.txs.values().map(|tx| rate(tx.fee_sats, tx.adjusted_vsize())).min().unwrap();
    let pool = rig.node.world().pool();
    let out = pool.iter().filter(|entry| !rig.reader.txs.contains_key(&txid(entry.txid)));
    let most = out.map(|entry| rate(entry.fee, entry.vsize)).max().unwrap();
    assert!(most <= least, "{most} is left out, {least} is not");
    // When there is room again, the rest comes.
    rig.node.world().mine(1).unwrap();
    for rate in 0..4 {
        rig.node.world().send(&Payment::at(2_000 + 100 * rate)).unwrap();
    }
    rig.turns(10);
    rig.settle_by_snapshot("room");
    assert_eq!(rig.watcher.status().left_out, 0);
}
