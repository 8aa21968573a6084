//! Troubles of the node, the wallet and the chain.

use bitcoin::{Txid as LibraryTxid, hashes::Hash};
use cairn_model::Txid;
use cairn_node::NodeError;
use cairn_standin::{BlockPlan, Restart, Txs};
use cairn_state::{TimestampState, WalletState};

use crate::rig::{Rig, WALLET};

fn library(txid: Txid) -> LibraryTxid {
    LibraryTxid::from_byte_array(txid.0)
}

/// A hash whose transaction is in the mempool.
fn broadcast(rig: &Rig) -> (crate::rig::RigAnchorer, Txid) {
    let mut anchorer = rig.anchorer();
    rig.submit(1);
    anchorer.round(rig.later(60)).unwrap();
    assert_eq!(rig.state_of(1), TimestampState::Broadcast);
    let txid = rig.candidates(1)[0];
    assert_eq!(rig.pool(), [txid]);
    (anchorer, txid)
}

fn until_final(rig: &Rig, anchorer: &mut crate::rig::RigAnchorer) {
    rig.mine(6);
    anchorer.round(rig.later(5)).unwrap();
    rig.assert_final(1);
}

#[test]
fn the_state_of_the_wallet_is_reported_and_hashes_wait() {
    let rig = Rig::new(1);
    let mut anchorer = rig.anchorer();
    rig.submit(1);
    let mut look = |expected: WalletState| {
        anchorer.round(rig.later(60)).unwrap();
        assert_eq!((rig.report().wallet, rig.state_of(1)), (expected, TimestampState::Pending));
    };
    rig.node.borrow().world().load_wallet(WALLET, false).unwrap();
    look(WalletState::WalletMissing);
    rig.node.borrow().world().load_wallet(WALLET, true).unwrap();
    rig.node.borrow().world().lock_wallet(WALLET, true).unwrap();
    look(WalletState::Locked);
    rig.node.borrow().world().lock_wallet(WALLET, false).unwrap();
    anchorer.round(rig.later(1)).unwrap();
    assert_eq!((rig.report().wallet, rig.state_of(1)), (WalletState::Ready, TimestampState::Broadcast));
    until_final(&rig, &mut anchorer);
}

#[test]
fn an_empty_wallet_is_reported_until_it_gets_coins() {
    let rig = Rig::new(0);
    let mut anchorer = rig.anchorer();
    rig.submit(1);
    anchorer.round(rig.later(60)).unwrap();
    assert_eq!((rig.report().wallet, rig.report().anchors_left), (WalletState::Empty, Some(0)));
    assert_eq!(rig.state_of(1), TimestampState::Pending);
    rig.node.borrow().world().fund_wallet(WALLET, 1, 50_000).unwrap();
    anchorer.round(rig.later(1)).unwrap();
    assert_eq!(rig.state_of(1), TimestampState::Broadcast);
    until_final(&rig, &mut anchorer);
}

#[test]
fn the_spending_limit_of_a_day_holds() {
    let mut rig = Rig::new(5);
    // An anchor costs 765 to 770 sat here.
    rig.settings.max_sats_per_day = 1_600;
    let mut anchorer = rig.anchorer();
    for number in 1..=3 {
        rig.submit(number);
        anchorer.round(rig.later(60)).unwrap();
    }
    assert_eq!((rig.report().wallet, rig.state_of(3)), (WalletState::Limit, TimestampState::Pending));
    assert_eq!(rig.state_of(2), TimestampState::Broadcast);
    rig.mine(6);
    anchorer.round(rig.later(86_400)).unwrap();
    assert_eq!((rig.report().wallet, rig.state_of(3)), (WalletState::Ready, TimestampState::Broadcast));
}

#[test]
fn a_node_that_is_away_delays_and_loses_nothing() {
    let rig = Rig::new(1);
    let mut anchorer = rig.anchorer();
    rig.submit(1);
    rig.node.borrow_mut().stop();
    anchorer.round(rig.later(60)).unwrap();
    assert_eq!((rig.report().wallet, rig.state_of(1)), (WalletState::WalletMissing, TimestampState::Pending));
    rig.node.borrow_mut().start_again(&Restart::default()).unwrap();
    anchorer.round(rig.later(5)).unwrap();
    assert_eq!(rig.state_of(1), TimestampState::Broadcast);
    // The next start has no mempool: the same bytes are sent again.
    let txid = rig.candidates(1)[0];
    rig.node.borrow_mut().stop();
    let ended = anchorer.round(rig.later(5));
    assert!(ended.is_err());
    rig.node.borrow_mut().start_again(&Restart { keep_mempool: false, ..Restart::default() }).unwrap();
    assert!(rig.pool().is_empty());
    anchorer.round(rig.later(5)).unwrap();
    assert_eq!((rig.pool(), rig.candidates(1)), (vec![txid], vec![txid]));
    until_final(&rig, &mut anchorer);
}

#[test]
fn an_evicted_transaction_is_sent_again_as_it_was() {
    let rig = Rig::new(1);
    let (mut anchorer, txid) = broadcast(&rig);
    rig.node.borrow().world().evict(&library(txid)).unwrap();
    anchorer.round(rig.later(5)).unwrap();
    assert_eq!((rig.pool(), rig.candidates(1)), (vec![txid], vec![txid]));
    until_final(&rig, &mut anchorer);
}

#[test]
fn a_floor_above_its_fee_leads_to_a_replacement_of_the_same_coins() {
    let rig = Rig::new(3);
    let (mut anchorer, first) = broadcast(&rig);
    rig.node.borrow().world().evict(&library(first)).unwrap();
    rig.node.borrow().world().set_min_fee(20_000);
    anchorer.round(rig.later(5)).unwrap();
    let candidates = rig.candidates(1);
    assert_eq!((candidates.len(), candidates[0]), (2, first));
    assert_eq!(rig.pool(), [candidates[1]]);
    assert_eq!(rig.batch_of(1).txid, Some(candidates[1].0));
    until_final(&rig, &mut anchorer);
}

#[test]
fn a_fee_is_bumped_after_some_blocks_and_either_transaction_counts() {
    for is_old_mined in [false, true] {
        let rig = Rig::new(3);
        let (mut anchorer, first) = broadcast(&rig);
        let old = rig.node.borrow().world().pool()[0].tx.as_ref().clone();
        rig.mine_empty(2);
        anchorer.round(rig.later(5)).unwrap();
        assert_eq!(rig.candidates(1), [first], "feerates have not risen");
        rig.feerate.set(30_000);
        anchorer.round(rig.later(5)).unwrap();
        let candidates = rig.candidates(1);
        assert_eq!((candidates.len(), rig.pool()), (2, vec![candidates[1]]));
        // Both are kept: a miner may have the first one.
        if is_old_mined {
            let plan = BlockPlan { txs: Txs::Only(vec![old]), ..BlockPlan::default() };
            rig.node.borrow().world().mine_plan(&plan).unwrap();
            rig.mine(5);
        } else {
            rig.mine(6);
        }
        anchorer.round(rig.later(5)).unwrap();
        rig.assert_final(1);
        let expected = if is_old_mined { first } else { candidates[1] };
        assert_eq!(rig.batch_of(1).txid, Some(expected.0));
        assert_eq!(rig.candidates(1), [expected]);
    }
}

#[test]
fn a_bump_beyond_the_highest_feerate_is_stuck_and_goes_on_when_it_may() {
    let mut rig = Rig::new(3);
    rig.settings.max_feerate = 6_000;
    let (mut anchorer, first) = broadcast(&rig);
    rig.node.borrow().world().evict(&library(first)).unwrap();
    rig.node.borrow().world().set_min_fee(20_000);
    rig.submit(2);
    anchorer.round(rig.later(60)).unwrap();
    // Another batch would spend the same coins: it waits.
    assert_eq!((rig.candidates(1), rig.state_of(2)), (vec![first], TimestampState::Pending));
    rig.node.borrow().world().set_min_fee(0);
    anchorer.round(rig.later(5)).unwrap();
    assert!(rig.pool().contains(&first));
    until_final(&rig, &mut anchorer);
}

#[test]
fn coins_that_a_block_spends_otherwise_lead_to_another_transaction() {
    let rig = Rig::new(2);
    let (mut anchorer, first) = broadcast(&rig);
    let rival = rig.node.borrow().world().conflict(&library(first), 50_000).unwrap();
    // While the rival is only in the mempool, it is outbid.
    let plan = BlockPlan { txs: Txs::Only(vec![rival]), ..BlockPlan::default() };
    rig.node.borrow().world().mine_plan(&plan).unwrap();
    assert!(rig.pool().is_empty());
    anchorer.round(rig.later(5)).unwrap();
    let candidates = rig.candidates(1);
    assert_eq!((candidates.len(), rig.pool()), (2, vec![candidates[1]]));
    until_final(&rig, &mut anchorer);
}

#[test]
fn a_rival_in_the_mempool_is_outbid_once_in_a_block() {
    let rig = Rig::new(2);
    let (mut anchorer, first) = broadcast(&rig);
    let rival = rig.node.borrow().world().conflict(&library(first), 8_000).unwrap();
    rig.node.borrow().world().add_tx(rival).unwrap();
    anchorer.round(rig.later(5)).unwrap();
    // 6,250 sat/kvB do not replace 8,000; the next try comes with the next block.
    anchorer.round(rig.later(5)).unwrap();
    assert_eq!(rig.candidates(1).len(), 2);
    for blocks in 1..=6 {
        rig.mine_empty(1);
        anchorer.round(rig.later(5)).unwrap();
        let candidates = rig.candidates(1);
        assert_eq!(candidates.len(), 2 + blocks);
        if rig.pool() == [candidates[1 + blocks]] {
            break;
        }
    }
    assert!(rig.candidates(1).contains(&rig.pool()[0]));
    until_final(&rig, &mut anchorer);
}

#[test]
fn reorganizations_take_the_block_back_and_forth() {
    let rig = Rig::new(2);
    let (mut anchorer, txid) = broadcast(&rig);
    rig.mine(1);
    for depth in 1..=5 {
        anchorer.round(rig.later(5)).unwrap();
        assert_eq!(rig.state_of(1), TimestampState::Confirmed, "{depth}");
        let height = rig.batch_of(1).confirmation.unwrap().height;
        let top = rig.node.borrow().world().height();
        // A longer branch without any transaction.
        let mut parent = rig.node.borrow().world().hash_at(height - 1);
        for _ in height..=top + 1 {
            let node = rig.node.borrow();
            let mut world = node.world();
            let plan = BlockPlan { parent, txs: Txs::None, ..BlockPlan::default() };
            parent = Some(world.mine_plan(&plan).unwrap());
        }
        anchorer.round(rig.later(5)).unwrap();
        assert_eq!(rig.state_of(1), TimestampState::Broadcast, "{depth}");
        assert_eq!((rig.pool(), rig.candidates(1)), (vec![txid], vec![txid]));
        rig.mine(depth.min(4));
    }
    until_final(&rig, &mut anchorer);
}

#[test]
fn a_wallet_of_small_coins_takes_fewer_larger_ones() {
    let rig = Rig::with_coins(80, 850);
    rig.node.borrow().world().fund_wallet(WALLET, 1, 100_000).unwrap();
    rig.node.borrow().world().take_small_coins_first(WALLET, true).unwrap();
    rig.feerate.set(12_000);
    // The wallet would spend 80 coins and the large one.
    let (mut anchorer, _) = broadcast(&rig);
    assert_eq!(rig.node.borrow().world().pool()[0].tx.input.len(), 1);
    until_final(&rig, &mut anchorer);
}

#[test]
fn a_fragmented_wallet_is_reported_and_signs_nothing() {
    let rig = Rig::with_coins(80, 720);
    rig.feerate.set(10_000);
    let mut anchorer = rig.anchorer();
    rig.submit(1);
    anchorer.round(rig.later(60)).unwrap();
    assert_eq!((rig.report().wallet, rig.report().anchors_left), (WalletState::Empty, Some(0)));
    assert_eq!(rig.state_of(1), TimestampState::Pending);
    assert!(rig.pool().is_empty());
    // One coin that pays by itself ends it.
    rig.node.borrow().world().fund_wallet(WALLET, 1, 100_000).unwrap();
    anchorer.round(rig.later(5)).unwrap();
    assert_eq!(rig.state_of(1), TimestampState::Broadcast);
}

#[test]
fn errors_name_the_request_and_the_code() {
    let rig = Rig::new(0);
    rig.node.borrow().world().load_wallet(WALLET, false).unwrap();
    let error = cairn_anchoring::Node::wallet_info(&rig.wallet_node()).unwrap_err();
    assert!(matches!(error, NodeError::Rpc { code: -18, .. }), "{error}");
}
