//! Histories: whatever the order of the deltas, the state is that of the naive model and of a newly built mempool.

use cairn_model::{MempoolDelta, MempoolTx, RemoveReason};
use proptest::prelude::*;

use super::{
    model::Model,
    world::{Plan, World, steps, tx, txid},
};
use crate::mempool::{Applied, Mempool, MempoolLimits, Projection, Selection, Template};

pub(super) fn small() -> Template {
    Template { max_weight: 6_000, reserved_weight: 400, max_sigops: 300, reserved_sigops: 10, ..Template::default() }
}

/// A projection without the marks of where it came from.
pub(super) fn bare(mut projection: Projection) -> Projection {
    projection.generation = 0;
    projection.node_sequence = None;
    projection.tip = None;
    projection
}

fn anew<'a>(txs: impl Iterator<Item = &'a std::sync::Arc<MempoolTx>>) -> Mempool {
    let mut pool = Mempool::default();
    for tx in txs {
        pool.apply(&MempoolDelta::Add(tx.clone()), 5);
    }
    pool
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    #[test]
    fn every_state_is_that_of_the_model(steps in steps(50)) {
        let (mut world, mut pool) = (World::default(), Mempool::default());
        for step in &steps {
            for delta in world.step(step) {
                let before = pool.stats(0).generation;
                let applied = pool.apply(&delta, 5);
                prop_assert!(!matches!(applied, Applied::Refused(_)));
                prop_assert_eq!(applied == Applied::Unchanged, pool.stats(0).generation == before);
            }
        }
        world.model.assert_equals(&pool);
    }

    #[test]
    fn incremental_equals_from_scratch_in_any_order(steps in steps(60), order in any::<u64>()) {
        let (mut world, mut pool, mut across) = (World::default(), Mempool::default(), Mempool::default());
        for delta in steps.iter().flat_map(|step| world.step(step)).collect::<Vec<_>>() {
            pool.apply(&delta, 5);
            // The other process sees the same through bytes.
            let mut bytes = Vec::new();
            delta.encode(&mut bytes);
            across.apply(&MempoolDelta::decode(&bytes).unwrap(), 5);
        }
        let projection = pool.project(&small());
        prop_assert_eq!(&across.project(&small()), &projection);
        prop_assert_eq!(across.stats(100_000_000), pool.stats(100_000_000));
        // Children before parents, too: txids are hashes.
        let mut txs: Vec<_> = pool.iter().collect();
        txs.sort_by_key(|tx| tx.txid.0.map(|byte| byte.wrapping_mul(order as u8 | 1)));
        let scratch = anew(txs.into_iter());
        world.model.assert_equals(&scratch);
        prop_assert_eq!(bare(scratch.project(&small())), bare(projection));
        let of_old = Template { selection: Selection::AncestorFeerate, ..small() };
        prop_assert_eq!(bare(scratch.project(&of_old)), bare(pool.project(&of_old)));
        prop_assert_eq!(scratch.stats(0).usage_bytes, pool.stats(0).usage_bytes);
    }
}

/// A transaction of 100 virtual bytes that spends these coins.
fn spend(number: u64, coins: &[(u64, u32)], fee: u64, outputs: usize) -> std::sync::Arc<MempoolTx> {
    let coins = coins.iter().map(|(number, vout)| (txid(*number), *vout, 10_000_000)).collect();
    tx(number, &Plan { coins, outputs, fee, base_size: 100, seen: number, ..Plan::default() })
}

#[test]
fn what_left_is_remembered_with_its_reason() {
    let mut pool = Mempool::default();
    let mut add = |tx| pool.apply(&MempoolDelta::Add(tx), 50);
    add(spend(1, &[(100, 0)], 10, 2));
    add(spend(2, &[(1, 0)], 10, 1));
    // It takes the coin of 1, and so its child goes as well.
    assert_eq!(add(spend(3, &[(100, 0)], 99, 1)), Applied::Added { replaced: 2, dropped: 0 });
    add(spend(4, &[(100, 0)], 200, 1));
    let by = |number| RemoveReason::Replaced { by: txid(number) };
    let reason = |pool: &Mempool, number| pool.departed(&txid(number)).map(|departed| departed.reason);
    assert_eq!([1, 2, 3, 4].map(|n| reason(&pool, n)), [Some(by(3)), Some(by(3)), Some(by(4)), None]);
    assert_eq!(pool.replaced_by(&txid(3)).copied().collect::<Vec<_>>(), [txid(1), txid(2)]);
    // 1 comes back: it is not gone any more, and 4 is.
    pool.apply(&MempoolDelta::Add(spend(1, &[(100, 0)], 10, 2)), 60);
    assert_eq!([1, 2, 4].map(|n| reason(&pool, n)), [None, Some(by(3)), Some(by(1))]);
    assert_eq!(
        pool.departed(&txid(4)).map(|d| (d.first_seen_ms, d.left_ms, d.fee_sats, d.vsize)),
        Some((4, 60, 200, 100))
    );
    assert_eq!(pool.replaced_by(&txid(3)).count(), 1);
    let gone = MempoolDelta::Remove { txid: txid(1), reason: RemoveReason::Confirmed { height: 5 } };
    assert_eq!([pool.apply(&gone, 70), pool.apply(&gone, 70)], [Applied::Removed, Applied::Unchanged]);
    assert_eq!(reason(&pool, 1), Some(RemoveReason::Confirmed { height: 5 }));
    assert!(pool.is_empty());
}

#[test]
fn whoever_left_twice_is_remembered_by_the_second_time() {
    let mut pool = Mempool::new(MempoolLimits { max_departed: 3, ..MempoolLimits::default() });
    for (number, now) in [(1, 10), (2, 20), (3, 30), (1, 40)] {
        pool.apply(&MempoolDelta::Add(spend(number, &[(100 + number, 0)], 10, 2)), now);
        pool.apply(&MempoolDelta::Remove { txid: txid(number), reason: RemoveReason::Evicted }, now);
    }
    assert_eq!(pool.departed(&txid(1)).map(|departed| departed.left_ms), Some(40));
    assert_eq!(pool.stats(0).departed, 3);
}

#[test]
fn a_reset_empties_and_counts_as_loading() {
    let mut pool = Mempool::default();
    assert!(pool.stats(0).loading);
    pool.apply(&MempoolDelta::Add(spend(1, &[(100, 0)], 10, 2)), 50);
    pool.apply(&MempoolDelta::Sequence(8), 50);
    assert_eq!((pool.stats(0).loading, pool.stats(0).node_sequence), (false, Some(8)));
    pool.apply(&MempoolDelta::Reset { sequence: 12 }, 50);
    let stats = pool.stats(0);
    assert_eq!((stats.loading, stats.count, stats.usage_bytes, stats.node_sequence), (true, 0, 0, Some(12)));
    Model::default().assert_equals(&pool);
    assert_eq!(pool.project(&small()).blocks, []);
}

#[test]
fn a_confirmed_parent_leaves_its_child_behind() {
    let mut pool = Mempool::default();
    for tx in [spend(2, &[(1, 1)], 10, 1), spend(1, &[(100, 0)], 10, 2), spend(3, &[(1, 7)], 10, 1)] {
        pool.apply(&MempoolDelta::Add(tx), 50);
    }
    assert_eq!(pool.relatives(&txid(2), 9).unwrap().parents, [txid(1)]);
    assert!(pool.relatives(&txid(3), 9).unwrap().parents.is_empty(), "there is no output 7");
    pool.apply(&MempoolDelta::Remove { txid: txid(1), reason: RemoveReason::Confirmed { height: 5 } }, 60);
    assert_eq!(pool.relatives(&txid(2), 9), Some(Default::default()));
    assert_eq!(pool.relatives(&txid(1), 9), None);
    assert_eq!(pool.spender(&txid(1), 1), Some(txid(2)));
    assert_eq!(pool.len(), 2);
}
