//! A clone is a version: it does not change, and the cost of the next change depends only on the size of that change.

use allocation_counter::measure;
use cairn_model::{MempoolDelta, MempoolTx, RemoveReason};
use proptest::prelude::*;

use super::{
    model::Model,
    sequences::{bare, small},
    world::{Plan, World, steps, tx, txid},
};
use crate::mempool::{Applied, Mempool};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn a_version_equals_the_model_of_its_moment(steps in steps(60), reset in any::<Option<prop::sample::Index>>()) {
        let (mut world, mut pool, mut versions) = (World::default(), Mempool::default(), Vec::new());
        let reset = reset.map(|at| at.index(steps.len()));
        for (number, step) in steps.iter().enumerate() {
            for delta in world.step(step) {
                pool.apply(&delta, 5);
            }
            if reset == Some(number) {
                world = World::default();
                pool.apply(&MempoolDelta::Reset { sequence: 1 }, 5);
            }
            let departed: Vec<_> = (0..200).map(|n| pool.departed(&txid(n)).copied()).collect();
            let before = (pool.stats(0), departed, pool.snapshot(), bare(pool.project(&small())));
            versions.push((pool.clone(), world.model.clone(), before));
        }
        // All are held until the end, and are asked in another order than they were made in.
        for (version, model, (stats, departed, snapshot, projection)) in versions.iter().rev() {
            model.assert_equals(version);
            prop_assert_eq!(&version.stats(0), stats);
            prop_assert_eq!(&(0..200).map(|n| version.departed(&txid(n)).copied()).collect::<Vec<_>>(), departed);
            prop_assert_eq!(&version.snapshot(), snapshot);
            prop_assert_eq!(&bare(version.project(&small())), projection);
        }
    }

    #[test]
    fn two_ways_on_from_a_version_do_not_meet(first in steps(30), second in steps(30)) {
        let (mut world, mut pool) = (World::default(), Mempool::default());
        for delta in first.iter().flat_map(|step| world.step(step)).collect::<Vec<_>>() {
            pool.apply(&delta, 5);
        }
        let (mut other, model) = (pool.clone(), world.model.clone());
        for delta in second.iter().flat_map(|step| world.step(step)).collect::<Vec<_>>() {
            pool.apply(&delta, 5);
        }
        for tx in &model.txs {
            other.apply(&MempoolDelta::Remove { txid: tx.txid, reason: RemoveReason::Evicted }, 5);
        }
        Model::default().assert_equals(&other);
        world.model.assert_equals(&pool);
    }
}

fn plan(coin: u64, fee: u64) -> Plan {
    Plan { coins: vec![(txid(coin), 0, 50_000_000)], outputs: 2, fee, base_size: 200, ..Plan::default() }
}

/// Bytes allocated while a transaction is added and another removed, with the version before held by a reader.
fn change_costs(count: u64) -> u64 {
    let mut pool = Mempool::default();
    for number in 0..count {
        let added = pool.apply(&MempoolDelta::Add(tx(number, &plan(1 << 32 | number, number % 500))), 1);
        assert_eq!(added, Applied::Added { replaced: 0, dropped: 0 });
    }
    let changes: Vec<_> = (0..20)
        .flat_map(|number| {
            let reason = RemoveReason::Confirmed { height: 9 };
            let added = tx(count + number, &plan(1 << 33 | number, 7));
            [MempoolDelta::Add(added), MempoolDelta::Remove { txid: txid(number * 31 % count), reason }]
        })
        .collect();
    let mut most = 0;
    for pair in changes.chunks(2) {
        let held = pool.clone();
        let cost = measure(|| {
            for delta in pair {
                pool.apply(delta, 2);
            }
        });
        assert_eq!(held.len() as u64, pool.stats(0).count);
        most = most.max(cost.bytes_total);
    }
    most
}

#[test]
fn a_held_version_makes_a_change_no_dearer_than_what_it_changes() {
    let (small, large) = (change_costs(1_000), change_costs(30_000));
    assert!(large < 120_000, "{large} bytes");
    assert!(large < small * 3, "30 times the transactions: {large} bytes after {small}");
    // A clone itself copies next to nothing.
    let mut pool = Mempool::default();
    for number in 0..5_000 {
        pool.apply(&MempoolDelta::Add(tx(number, &plan(1 << 32 | number, 5))), 1);
    }
    let mut held = None;
    let cost = measure(|| held = Some(pool.clone()));
    assert!(cost.bytes_total < 4_096, "{}", cost.bytes_total);
}

#[test]
fn the_estimate_covers_what_is_allocated() {
    // Leaves are fullest just before they are split, and emptiest just after.
    for count in [500u64, 1_100, 2_500, 6_000, 12_000, 25_000] {
        for busy in [false, true] {
            let mut pool = None;
            let cost = measure(|| {
                let mut filled = Mempool::default();
                for number in 0..count {
                    let mut made = MempoolTx::clone(&tx(number, &plan(1 << 32 | number, 5)));
                    let scripts = made.inputs.iter_mut().map(|input| &mut input.script);
                    for (place, script) in scripts.chain(made.outputs.iter_mut().map(|o| &mut o.script)).enumerate() {
                        let of = if busy && place > 0 { 1 } else { number * 8 + place as u64 };
                        *script = [&[0x51][..], &of.to_le_bytes()].concat().into();
                    }
                    filled.apply(&MempoolDelta::Add(made.into()), 1);
                }
                pool = Some(filled);
            });
            let stats = pool.unwrap().stats(1);
            assert_eq!(stats.count, count);
            let allocated = u64::try_from(cost.bytes_current).unwrap();
            assert!(allocated <= stats.usage_bytes, "{count}, {busy}: {allocated} bytes, not {}", stats.usage_bytes);
            assert!(busy || allocated * 2 > stats.usage_bytes, "{count}: {allocated} bytes, not {}", stats.usage_bytes);
        }
    }
}
