//! The state as deltas gives a late reader the same state.

use std::collections::HashSet;

use cairn_model::{BlockHash, MempoolDelta, MempoolTx};
use proptest::prelude::*;

use super::{
    model::Model,
    sequences::{bare, small},
    world::{World, steps},
};
use crate::mempool::{Applied, Mempool, Stats};

fn late(deltas: &[MempoolDelta], mut reader: Mempool) -> Mempool {
    for delta in deltas {
        let applied = reader.apply(delta, 9);
        assert!(matches!(applied, Applied::Added { replaced: 0, dropped: 0 } | Applied::Noted), "{applied:?}");
    }
    reader
}

/// The state without data that is not in a snapshot.
fn state(pool: &Mempool) -> Stats {
    Stats { generation: 0, inflow: None, departed: 0, ..pool.stats(100_000_000) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    #[test]
    fn a_late_reader_holds_the_same_state(steps in steps(60), start in any::<u64>(), told in any::<bool>()) {
        let (mut world, mut pool) = (World::default(), Mempool::default());
        pool.apply(&MempoolDelta::Reset { sequence: start }, 5);
        if told {
            pool.apply(&MempoolDelta::Block { height: 8, hash: BlockHash([8; 32]), time: 80 }, 5);
        }
        for delta in steps.iter().flat_map(|step| world.step(step)).collect::<Vec<_>>() {
            pool.apply(&delta, 5);
        }
        let deltas = pool.snapshot();
        let reader = late(&deltas, Mempool::default());
        prop_assert_eq!(state(&reader), state(&pool));
        world.model.assert_equals(&reader);
        prop_assert_eq!(bare(reader.project(&small())), bare(pool.project(&small())));
        let mut known = HashSet::new();
        for delta in &deltas {
            if let MempoolDelta::Add(tx) = delta {
                prop_assert!(world.model.parents(tx).iter().all(|parent| known.contains(parent)));
                known.insert(tx.txid);
            }
        }
        prop_assert_eq!(known.len(), pool.len());
        // A reader that held something else does, too, and a snapshot of a snapshot is as good.
        let again = late(&reader.snapshot(), pool);
        prop_assert_eq!(state(&again), state(&reader));
        world.model.assert_equals(&again);
    }
}

#[test]
fn the_transactions_are_shared_and_the_rest_is_in_order() {
    let mut pool = Mempool::default();
    let deltas = [
        MempoolDelta::Reset { sequence: 3 },
        MempoolDelta::NodeFloor(cairn_model::NodeFloor {
            mempool_min_fee: 1,
            min_relay_fee: 2,
            max_bytes: 3,
            usage_bytes: 4,
        }),
        MempoolDelta::Add(super::world::tx(
            1,
            &super::world::Plan {
                coins: vec![(super::world::txid(9), 0, 1_000)],
                outputs: 1,
                base_size: 100,
                ..Default::default()
            },
        )),
        MempoolDelta::Block { height: 5, hash: BlockHash([5; 32]), time: 50 },
        MempoolDelta::Sequence(4),
    ];
    for delta in &deltas[..4] {
        pool.apply(delta, 5);
    }
    assert_eq!(pool.snapshot(), deltas[..4], "it is still being loaded");
    pool.apply(&deltas[4], 5);
    let snapshot = pool.snapshot();
    assert_eq!(snapshot[0], MempoolDelta::Reset { sequence: 4 });
    assert_eq!(snapshot[1..], deltas[1..]);
    let shared = |delta: &MempoolDelta| match delta {
        MempoolDelta::Add(tx) => std::sync::Arc::as_ptr(tx),
        _ => std::ptr::null::<MempoolTx>(),
    };
    assert_eq!(shared(&snapshot[2]), shared(&deltas[2]));
    assert_eq!(Mempool::default().snapshot(), [MempoolDelta::Reset { sequence: 0 }]);
    Model::default().assert_equals(&late(&Mempool::default().snapshot(), Mempool::default()));
}
