//! Blocks come and go.

use cairn_model::RemoveReason;
use cairn_standin::{BlockPlan, Payment, Txs};

use crate::{chain::txid, rig::Rig};

#[test]
fn a_block_confirms_and_excludes() {
    let mut rig = Rig::new(130);
    rig.settle("empty");
    let paid = rig.node.world().send(&Payment::at(2_000)).unwrap();
    let child = rig.node.world().cpfp(&paid, 5_000).unwrap();
    let doomed = rig.node.world().send(&Payment::at(3_000)).unwrap();
    let orphan = rig.node.world().cpfp(&doomed, 5_000).unwrap();
    rig.settle("before");
    let rival = rig.node.world().conflict(&doomed, 20_000).unwrap();
    let parent = rig.node.world().pool().iter().find(|entry| entry.txid == paid).unwrap().tx.as_ref().clone();
    let plan = BlockPlan { txs: Txs::Only(vec![parent, rival]), ..BlockPlan::default() };
    rig.node.world().mine_plan(&plan).unwrap();
    let height = rig.node.world().height();
    rig.settle("after");
    assert_eq!(rig.reader.left.get(&txid(paid)), Some(&RemoveReason::Confirmed { height }));
    assert_eq!(rig.reader.left.get(&txid(doomed)), Some(&RemoveReason::Conflict));
    assert_eq!(rig.reader.left.get(&txid(orphan)), Some(&RemoveReason::Conflict));
    // It was seen while its parent was unconfirmed.
    assert_eq!(rig.reader.txs[&txid(child)].inputs[0].birth, None);
    assert_eq!(rig.watcher.status().corrections, Default::default());
    rig.settle_by_snapshot("snapshot");
}

#[test]
fn what_a_block_holds_stays_until_ours_holds_it() {
    let mut rig = Rig::new(130);
    rig.settle("empty");
    let mut sent = Vec::new();
    for _ in 0..5 {
        sent.push(rig.node.world().send(&Payment::at(2_000)).unwrap());
    }
    rig.settle("before");
    rig.lag = true;
    rig.node.world().mine(1).unwrap();
    // Transactions that come now may spend coins of the block.
    let coins = rig.node.world().active().last().unwrap().block.txdata[1].compute_txid();
    let late = rig.node.world().send(&Payment::of(bitcoin::OutPoint { txid: coins, vout: 1 }, 9_000)).unwrap();
    let free = rig.node.world().send(&Payment::at(2_000)).unwrap();
    rig.turns(40);
    rig.ahead += 61_000;
    rig.turns(40);
    // A snapshot that is not of our tip is not looked at.
    for sent in &sent {
        assert!(rig.reader.txs.contains_key(&txid(*sent)));
    }
    assert!(rig.reader.txs.contains_key(&txid(free)));
    // Its parent is still unconfirmed for us.
    assert!(rig.reader.txs.contains_key(&txid(late)));
    rig.lag = false;
    rig.settle("after");
    for sent in &sent {
        assert!(matches!(rig.reader.left.get(&txid(*sent)), Some(RemoveReason::Confirmed { .. })));
    }
}

#[test]
fn reorganizations_keep_first_seen_times() {
    let mut rig = Rig::new(130);
    rig.settle("empty");
    let mut again = 0;
    for round in 0..6 {
        for _ in 0..4 {
            rig.node.world().send(&Payment::at(2_000)).unwrap();
        }
        rig.settle("sent");
        let seen: Vec<(cairn_model::Txid, u64)> =
            rig.reader.txs.values().map(|tx| (tx.txid, tx.first_seen_ms)).collect();
        rig.node.world().mine(2).unwrap();
        rig.settle("mined");
        let child = rig.node.world().send(&Payment::at(2_000)).unwrap();
        rig.settle("a child");
        assert!(rig.reader.txs.contains_key(&txid(child)));
        rig.ahead += 100_000;
        rig.node.world().reorg(2 + round, 3 + round).unwrap();
        rig.settle("reorganized");
        for (txid, ms) in seen {
            if let Some(tx) = rig.reader.txs.get(&txid) {
                assert_eq!(tx.first_seen_ms, ms);
                again += 1;
            }
        }
        rig.settle_by_snapshot("snapshot");
    }
    assert!(again > 3, "{again} came back");
}

#[test]
fn births_follow_the_chain() {
    let mut rig = Rig::new(130);
    rig.settle("empty");
    let parent = rig.node.world().send(&Payment::at(2_000)).unwrap();
    let body = rig.node.world().pool()[0].tx.as_ref().clone();
    rig.node.world().mine(1).unwrap();
    rig.settle("mined");
    let coin = bitcoin::OutPoint { txid: parent, vout: 1 };
    let child = rig.node.world().send(&Payment::of(coin, 9_000)).unwrap();
    rig.settle("a child");
    let birth = |rig: &Rig| rig.reader.txs[&txid(child)].inputs[0].birth;
    assert_eq!(birth(&rig), Some(131));
    let seen = rig.reader.txs[&txid(child)].first_seen_ms;
    // The parent is unconfirmed again.
    let tip = rig.node.world().tip();
    rig.node.world().invalidate(&tip).unwrap();
    rig.settle("invalidated");
    assert_eq!((rig.reader.txs.len(), birth(&rig)), (2, None));
    // And is confirmed elsewhere: the child was seen before that.
    rig.node.world().mine_plan(&BlockPlan { txs: Txs::None, ..BlockPlan::default() }).unwrap();
    rig.node.world().mine_plan(&BlockPlan { txs: Txs::Only(vec![body.clone()]), ..BlockPlan::default() }).unwrap();
    rig.settle("elsewhere");
    assert_eq!(birth(&rig), None);
    // Without a moment in which it is unconfirmed for us.
    let next = bitcoin::OutPoint { txid: parent, vout: 0 };
    let second = rig.node.world().send(&Payment::of(next, 9_000)).unwrap();
    rig.settle("a second child");
    assert_eq!(rig.reader.txs[&txid(second)].inputs[0].birth, Some(132));
    let base = rig.node.world().hash_at(130).unwrap();
    let plan = |parent, txs| BlockPlan { parent: Some(parent), txs: Txs::Only(txs), ..BlockPlan::default() };
    let mut world = rig.node.world();
    let mut top = world.mine_plan(&plan(base, vec![body])).unwrap();
    for _ in 0..2 {
        top = world.mine_plan(&plan(top, vec![])).unwrap();
    }
    drop(world);
    rig.settle("another branch");
    assert_eq!(rig.reader.txs[&txid(second)].inputs[0].birth, Some(131));
    assert_eq!(rig.reader.txs[&txid(child)].first_seen_ms, seen);
}

#[test]
fn what_a_reorganization_makes_impossible_is_a_conflict() {
    let mut rig = Rig::new(130);
    rig.settle("empty");
    // The oldest coin that may be spent: with two blocks less it is too young.
    let mut world = rig.node.world();
    let height = world.height() + 1 - 100;
    let coinbase = world.active()[height as usize].block.txdata[0].compute_txid();
    let young = world.send(&Payment::of(bitcoin::OutPoint { txid: coinbase, vout: 0 }, 5_000)).unwrap();
    let fresh = world.mine_plan(&BlockPlan { txs: Txs::None, ..BlockPlan::default() }).unwrap();
    drop(world);
    rig.settle("before");
    assert!(rig.reader.txs.contains_key(&txid(young)));
    let below = rig.node.world().hash_at(130).unwrap();
    rig.node.world().invalidate(&fresh).unwrap();
    rig.node.world().invalidate(&below).unwrap();
    rig.settle("too young");
    // The coin is still there: what the node thinks of it is not evident.
    assert_eq!(rig.reader.left.get(&txid(young)), Some(&RemoveReason::Unknown));

    // A coin that a block made that is gone with its transaction.
    let payment = rig.node.world().send(&Payment::at(3_000)).unwrap();
    rig.node.world().mine(1).unwrap();
    let coin = bitcoin::OutPoint { txid: payment, vout: 1 };
    let child = rig.node.world().send(&Payment::of(coin, 9_000)).unwrap();
    rig.settle("a child");
    let mut world = rig.node.world();
    let tx = world.active().last().unwrap().block.txdata[1].clone();
    let base = world.hash_at(world.height() - 1).unwrap();
    let rival = bitcoin::OutPoint { ..tx.input[0].previous_output };
    let plan = |parent, txs| BlockPlan { parent: Some(parent), txs: Txs::Only(txs), ..BlockPlan::default() };
    // Spent in another way on the other branch.
    let tip = world.tip();
    world.invalidate(&tip).unwrap();
    let rival = world.pay(&Payment::of(rival, 50_000)).unwrap();
    world.reconsider(&tip).unwrap();
    let first = world.mine_plan(&plan(base, vec![rival])).unwrap();
    world.mine_plan(&plan(first, vec![])).unwrap();
    drop(world);
    rig.settle("the rival branch");
    assert_eq!(rig.reader.left.get(&txid(child)), Some(&RemoveReason::Conflict));
}

#[test]
fn a_reorganization_while_the_mempool_is_loaded() {
    let node = crate::rig::node(140);
    for _ in 0..12 {
        node.world().send(&Payment::at(2_000)).unwrap();
    }
    node.world().mine(2).unwrap();
    for _ in 0..15 {
        node.world().send(&Payment::at(3_000)).unwrap();
    }
    let options = cairn_mempool::MempoolOptions { fetch_batch: 2, ..crate::rig::options() };
    let mut rig = Rig::with(node, options, &cairn_node::Topic::ALL);
    for round in 0..4 {
        rig.turns(2);
        match round {
            0 => drop(rig.node.world().reorg(1, 3).unwrap()),
            1 => drop(rig.node.world().mine(1).unwrap()),
            2 => drop(rig.node.world().reorg(4, 5).unwrap()),
            _ => drop(rig.node.world().send(&Payment::at(9_000)).unwrap()),
        }
    }
    rig.settle("loaded");
    assert_eq!(rig.reader.resets, 1);
    rig.settle_by_snapshot("snapshot");
}

#[test]
fn a_chain_that_was_not_told_of_is_found_out() {
    let mut rig = Rig::new(130);
    rig.settle("empty");
    for _ in 0..5 {
        rig.node.world().send(&Payment::at(2_000)).unwrap();
    }
    rig.settle("sent");
    rig.node.world().mine(1).unwrap();
    for _ in 0..3 {
        rig.node.world().send(&Payment::at(2_000)).unwrap();
    }
    // The index moves, and nobody says so but the next step.
    rig.chain.follow(&rig.node.world(), usize::MAX);
    rig.reader.forgives = true;
    rig.settle("found out");
    assert_eq!(rig.reader.txs.len(), 3);
    rig.settle_by_snapshot("snapshot");
}

#[test]
fn a_coin_of_a_block_that_we_do_not_have_yet() {
    let mut rig = Rig::new(130);
    rig.settle("empty");
    // The first message of a connection makes a snapshot necessary.
    let other = rig.node.world().send(&Payment::at(2_000)).unwrap();
    rig.until("told", |rig| rig.reader.txs.len() == 1);
    rig.settle("one");
    let snapshots = rig.watcher.status().reconciliations;
    rig.lag = true;
    let mut world = rig.node.world();
    let tx = world.pay(&Payment::at(2_000)).unwrap();
    let coin = bitcoin::OutPoint { txid: tx.compute_txid(), vout: 1 };
    world.mine_plan(&BlockPlan { txs: Txs::Only(vec![tx]), ..BlockPlan::default() }).unwrap();
    let early = world.send(&Payment::of(coin, 9_000)).unwrap();
    world.cpfp(&early, 9_000).unwrap();
    drop(world);
    rig.turns(30);
    rig.ahead += 5_000;
    rig.turns(10);
    let status = rig.watcher.status();
    assert_eq!((status.unresolved, status.transactions), (2, 1), "{status:?}");
    // The block brings the coin, and no snapshot is needed.
    rig.lag = false;
    rig.turns(2);
    assert_eq!((rig.reader.txs.len(), rig.watcher.status().reconciliations), (3, snapshots));
    assert!(rig.reader.txs.contains_key(&txid(other)));
    rig.settle("after");
}

#[test]
fn a_removal_waits_for_the_block_that_explains_it() {
    let mut rig = Rig::new(130);
    rig.settle("empty");
    let doomed = rig.node.world().send(&Payment::at(3_000)).unwrap();
    rig.settle("before");
    rig.lag = true;
    let rival = rig.node.world().conflict(&doomed, 20_000).unwrap();
    rig.node.world().mine_plan(&BlockPlan { txs: Txs::Only(vec![rival]), ..BlockPlan::default() }).unwrap();
    rig.until("heard", |rig| rig.watcher.status().departing == 1);
    rig.turns(60);
    assert!(rig.reader.txs.contains_key(&txid(doomed)));
    rig.lag = false;
    rig.settle("after");
    assert_eq!(rig.reader.left.get(&txid(doomed)), Some(&RemoveReason::Conflict));
}
