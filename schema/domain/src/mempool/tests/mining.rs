//! Projected blocks against the naive miner, and data derived from them.

use std::{collections::BTreeSet, sync::Arc};

use cairn_model::{MempoolDelta, MempoolTx, NodeFloor, Txid};
use proptest::prelude::*;

use super::world::{Plan, World, steps, tx, txid};
use crate::{
    FeeRate,
    mempool::{BUCKET_EDGES, Eta, Mempool, Selection, StressParams, Template, recommended_fees, sample},
};

pub(super) fn pool_of(txs: &[Arc<MempoolTx>]) -> Mempool {
    let mut pool = Mempool::default();
    for tx in txs {
        pool.apply(&MempoolDelta::Add(Arc::clone(tx)), 5);
    }
    pool
}

pub(super) fn template() -> impl Strategy<Value = Template> {
    (1u8..9, 1_500u64..12_000, 50u64..600, prop_oneof![Just(0u64), Just(1), Just(999), Just(2_000)]).prop_map(
        |(max_blocks, max_weight, max_sigops, min_rate)| Template {
            selection: Selection::AncestorFeerate,
            max_blocks,
            max_weight,
            reserved_weight: 400,
            max_sigops,
            reserved_sigops: 20,
            min_rate: FeeRate(min_rate),
        },
    )
}

fn floor(mempool_min_fee: u64) -> NodeFloor {
    NodeFloor { mempool_min_fee, min_relay_fee: 100, max_bytes: 300_000_000, usage_bytes: 0 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn blocks_are_those_of_the_naive_miner(steps in steps(70), template in template()) {
        let mut world = World::default();
        for step in &steps {
            world.step(step);
        }
        let pool = pool_of(&world.model.txs);
        let projection = pool.project(&template);
        let expected = world.model.mine(&template);
        prop_assert_eq!(projection.blocks.len(), expected.len());
        let mut mined: BTreeSet<Txid> = BTreeSet::new();
        for (index, (block, expected)) in projection.blocks.iter().zip(&expected).enumerate() {
            let txids: Vec<Txid> = projection.txids_of(index).copied().collect();
            prop_assert_eq!(&txids, &expected.iter().map(|(txid, _)| *txid).collect::<Vec<_>>());
            // Template rules, and parents first.
            let txs: Vec<_> = txids.iter().map(|txid| world.model.get(*txid)).collect();
            prop_assert_eq!(block.weight, txs.iter().map(|tx| tx.weight()).sum::<u64>());
            prop_assert!(block.weight + template.reserved_weight <= template.max_weight);
            prop_assert_eq!(block.sigop_cost, txs.iter().map(|tx| u64::from(tx.sigop_cost)).sum::<u64>());
            prop_assert!(block.sigop_cost + template.reserved_sigops <= template.max_sigops);
            prop_assert_eq!(block.fees_sats, txs.iter().map(|tx| tx.fee_sats).sum::<u64>());
            prop_assert_eq!(block.tx_count, txs.len() as u64);
            for tx in txs {
                prop_assert!(world.model.parents(tx).is_subset(&mined));
                prop_assert!(mined.insert(tx.txid));
            }
            let rates = || expected.iter().map(|(_, rate)| *rate);
            prop_assert_eq!((rates().min(), rates().max()), (Some(block.rates.min), Some(block.rates.max)));
            prop_assert!(block.rates.percentiles.is_sorted());
            for (txid, rate) in expected {
                let position = projection.position(txid).unwrap();
                prop_assert_eq!((position.block, position.rate), (Some(index as u32), *rate));
                prop_assert_eq!(projection.eta(txid), Some(Eta::Blocks(index as u32 + 1)));
            }
        }
        for tx in world.model.txs.iter().filter(|tx| !mined.contains(&tx.txid)) {
            prop_assert_eq!(projection.position(&tx.txid).unwrap().block, None);
            match projection.eta(&tx.txid).unwrap() {
                Eta::Blocks(_) => prop_assert!(false, "it is in no block"),
                Eta::Beyond { at_least, estimate } => {
                    prop_assert_eq!(at_least as usize, expected.len() + 1);
                    prop_assert!(estimate >= at_least);
                }
                Eta::BelowMinimum => prop_assert!(projection.position(&tx.txid).unwrap().rate < template.min_rate),
            }
        }
        let buckets = &projection.histogram;
        prop_assert_eq!(buckets.len(), BUCKET_EDGES.len());
        prop_assert_eq!((buckets[0].count_from_top, buckets[0].vsize_from_top), (projection.count, projection.vsize));
    }

    #[test]
    fn recommended_fees_never_rise_and_keep_the_floor(
        steps in steps(70), template in template(), min in prop_oneof![0u64..4_000, any::<u64>()], chunks in any::<bool>(),
    ) {
        let mut world = World::default();
        for step in &steps {
            world.step(step);
        }
        let selection = if chunks { Selection::ChunkFeerate } else { Selection::AncestorFeerate };
        let projection = pool_of(&world.model.txs).project(&Template { selection, ..template });
        let fees = recommended_fees(&projection, Some(&floor(min))).unwrap();
        let all = [fees.fastest, fees.half_hour, fees.hour, fees.economy, fees.minimum];
        prop_assert!(all.is_sorted_by(|faster, slower| faster >= slower));
        prop_assert_eq!(fees.minimum, FeeRate(min.max(100)).max(template.min_rate));
        prop_assert_eq!(recommended_fees(&projection, None), None);
    }
}

/// `count` transactions of 500 virtual bytes at this feerate (in sat/vB).
fn batch(first: u64, count: u64, rate: u64) -> Vec<Arc<MempoolTx>> {
    let plan = |n: u64| Plan {
        coins: vec![(txid(1_000_000 + n), 0, 10_000_000)],
        outputs: 1,
        fee: rate * 500,
        base_size: 500,
        ..Plan::default()
    };
    (first..first + count).map(|n| tx(n, &plan(n))).collect()
}

#[test]
fn fees_follow_how_full_the_blocks_are() {
    // 1 995 of them would fill a block to the last byte, which the miner never does.
    let full = 1_995;
    let fees = |txs: &[Arc<MempoolTx>]| {
        let projection = pool_of(txs).project(&Template::default());
        let fees = recommended_fees(&projection, Some(&floor(1_000))).unwrap();
        [fees.fastest, fees.half_hour, fees.hour, fees.economy, fees.minimum].map(|rate| rate.0)
    };
    assert_eq!(fees(&[]), [1_000; 5], "nothing waits: the floor is enough");
    assert_eq!(fees(&batch(0, full / 3, 50)), [1_000; 5], "there is room for everyone");
    assert_eq!(fees(&batch(0, full, 50)), [50_000, 1_000, 1_000, 1_000, 1_000]);
    let at = |share: u64| fees(&batch(0, 1_996 * share / 1000, 51))[0];
    assert!(at(500) <= 1_200 && at(600) > 5_000 && at(725) > 24_000 && at(725) < 27_000 && at(951) == 51_000);
    let mut ladder: Vec<_> = (0..8).flat_map(|n| batch(n * full, full, 80 - 10 * n)).collect();
    assert_eq!(fees(&ladder), [80_000, 60_000, 30_000, 10_000, 1_000]);
    ladder.truncate(full as usize * 6);
    assert_eq!(fees(&ladder), [80_000, 60_000, 30_000, 1_000, 1_000]);
}

#[test]
fn fees_never_rise_even_where_blocks_do() {
    let ladder: Vec<_> = (0..8).flat_map(|n| batch(n * 1_995, 1_995, 80 - 10 * n)).collect();
    let mut projection = pool_of(&ladder).project(&Template::default());
    let mut fees = |order: [usize; 8]| {
        // Packages that did not fit can make a later block pay better.
        let sorted = projection.blocks.clone();
        projection.blocks = order.map(|at| sorted[at]).to_vec();
        let fees = recommended_fees(&projection, Some(&floor(1_000))).unwrap();
        projection.blocks = sorted;
        [fees.fastest, fees.half_hour, fees.hour, fees.economy].map(|rate| rate.0 / 1000)
    };
    assert_eq!(fees([7, 6, 5, 4, 3, 2, 1, 0]), [10; 4]);
    assert_eq!(fees([3, 1, 4, 0, 0, 1, 1, 2]), [50, 40, 40, 40]);
    assert_eq!(fees([0, 1, 2, 3, 4, 6, 6, 5]), [80, 60, 20, 20]);
}

#[test]
fn a_child_pays_for_its_parent() {
    let spend = |number: u64, coin: (u64, u32), fee: u64| {
        let coins = vec![(txid(coin.0), coin.1, 10_000_000)];
        tx(number, &Plan { coins, outputs: 2, fee, base_size: 200, ..Plan::default() })
    };
    // Two of them fit in a block of 400 virtual bytes and some.
    let template = Template { max_weight: 2_000, reserved_weight: 0, ..Template::default() };
    let pool = pool_of(&[
        spend(1, (100, 0), 200),
        spend(2, (1, 0), 3_800),
        spend(3, (101, 0), 1_800),
        spend(4, (102, 0), 400),
        spend(5, (1, 1), 300),
    ]);
    for selection in [Selection::AncestorFeerate, Selection::ChunkFeerate] {
        let projection = pool.project(&Template { selection, ..template });
        let block = |number| projection.position(&txid(number)).unwrap().block;
        assert_eq!([1, 2, 3, 4, 5].map(block), [Some(0), Some(0), Some(1), Some(1), Some(2)]);
        assert_eq!(projection.position(&txid(1)).unwrap().rate, FeeRate(10_000));
        assert_eq!(projection.txids_of(0).copied().collect::<Vec<_>>(), [txid(1), txid(2)]);
        assert_eq!(projection.blocks[0].fees_sats, 4_000);
        assert_eq!(projection.next_block_median(), FeeRate(10_000));
        assert_eq!(projection.position(&txid(9)), None);
        assert_eq!(projection.eta(&txid(9)), None);
    }
}

#[test]
fn signature_operations_fill_a_block_too() {
    let heavy = |number: u64| {
        let coins = vec![(txid(100 + number), 0, 10_000_000)];
        tx(number, &Plan { coins, outputs: 1, fee: 100_000, base_size: 200, sigop_cost: 30_000, ..Plan::default() })
    };
    for selection in [Selection::AncestorFeerate, Selection::ChunkFeerate] {
        let template = Template { selection, ..Template::default() };
        let projection = pool_of(&[heavy(1), heavy(2), heavy(3)]).project(&template);
        // 400 are kept for the coinbase, so a third does not fit.
        assert_eq!(projection.blocks.iter().map(|block| block.tx_count).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(projection.blocks[0].weight, 1_600);
        assert_eq!(projection.vsize, 450_000, "each counts as 150 000 virtual bytes");
    }
}

#[test]
fn samples_say_what_is_known() {
    let mut pool = Mempool::default();
    let take = |pool: &Mempool, now: u64| {
        let projection = pool.project(&Template::default());
        sample(&projection, &pool.stats(now * 1000), &[], now, &StressParams::default())
    };
    let empty = take(&pool, 5_000);
    assert_eq!((empty.stress, empty.inflow_milli_vb_s, empty.min_relay_fee), (None, None, None));
    pool.apply(&MempoolDelta::Reset { sequence: 1 }, 5_000_000);
    for tx in batch(0, 1_996, 7) {
        pool.apply(&MempoolDelta::Add(tx), 5_000_000);
    }
    pool.apply(&MempoolDelta::Sequence(1), 5_000_000);
    pool.apply(&MempoolDelta::NodeFloor(floor(1_000)), 5_000_000);
    let known = take(&pool, 5_700);
    assert_eq!((known.count, known.next_block_median, known.vsize), (1_996, 7_000, 998_000));
    // One block of backlog, no inflow, ten times the fee for relay; no history.
    assert_eq!((known.stress_backlog, known.stress_feerate), (Some(139_278), None));
    assert_eq!((known.stress_inflow, known.stress_entry), (Some(0), Some(500_000)));
    assert_eq!(known.stress, Some((139_278 * 35 + 500_000 * 15 + 35) / 70));
}
