//! Blocks filled by chunks: against a naive miner, and by the invariants of every block.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use cairn_model::{MempoolTx, Txid};
use proptest::{collection::vec, prelude::*};

use super::{
    linearize::assert_best,
    mining::{pool_of, template},
    model::Model,
    world::{Plan, World, steps, tx, txid},
};
use crate::{
    FeeRate,
    mempool::{BUCKET_EDGES, Eta, Mempool, Selection, Template, linearize::Set},
};

fn adjusted_weight(tx: &MempoolTx) -> u64 {
    tx.weight().max(u64::from(tx.sigop_cost) * 20)
}

/// Small clusters: fee, size, signature operations, and which earlier ones of its cluster a transaction spends.
type RawCluster = Vec<(u64, u32, u32, Vec<prop::sample::Index>)>;

fn clusters() -> impl Strategy<Value = Vec<RawCluster>> {
    let tx =
        (0u64..100_000_000, 60u32..700, prop_oneof![Just(0u32), 0u32..200], vec(any::<prop::sample::Index>(), 0..3));
    vec(vec(tx, 1..9), 1..12)
}

fn txs_of(raw: &[RawCluster]) -> Vec<Arc<MempoolTx>> {
    let mut txs = Vec::new();
    for (number, cluster) in raw.iter().enumerate() {
        let id = |at: usize| txid((number * 100 + at) as u64);
        let mut spent = [0; 8];
        for (at, (fee, base_size, sigop_cost, parents)) in cluster.iter().enumerate() {
            let mut coins = vec![(txid((1 << 40) + (number * 100 + at) as u64), 0, 100_000_000_000)];
            for parent in parents.iter().filter(|_| at > 0).map(|parent| parent.index(at)) {
                // Every transaction has outputs enough for all spenders.
                coins.push((id(parent), spent[parent], 1_000_000));
                spent[parent] += 1;
            }
            let (fee, base_size, sigop_cost) = (*fee, *base_size, *sigop_cost);
            let plan = Plan { coins, outputs: 20, fee, base_size, sigop_cost, ..Plan::default() };
            txs.push(tx((number * 100 + at) as u64, &plan));
        }
    }
    txs
}

fn clusters_of(model: &Model) -> Vec<BTreeSet<Txid>> {
    let mut left: BTreeSet<Txid> = model.txs.iter().map(|tx| tx.txid).collect();
    let mut all = Vec::new();
    while let Some(start) = left.first().copied() {
        let mut cluster = BTreeSet::from([start]);
        loop {
            let more: Vec<_> = cluster.iter().flat_map(|t| [model.ancestors(*t), model.descendants(*t)]).collect();
            let before = cluster.len();
            cluster.extend(more.into_iter().flatten());
            if cluster.len() == before {
                break;
            }
        }
        left.retain(|txid| !cluster.contains(txid));
        all.push(cluster);
    }
    all
}

/// Chunks in the order of mining, found by trying all subsets.
fn naive_chunks(model: &Model) -> Vec<Vec<Txid>> {
    let sum = |chunk: &[Txid], of: fn(&MempoolTx) -> u64| chunk.iter().map(|txid| of(model.get(*txid))).sum::<u64>();
    let rate = |chunk: &[Txid]| (u128::from(sum(chunk, |tx| tx.fee_sats)), u128::from(sum(chunk, adjusted_weight)));
    let mut all: Vec<(u64, Vec<Txid>)> = Vec::new();
    for cluster in clusters_of(model) {
        let mut rest: Vec<Txid> = cluster.into_iter().collect();
        let (mut prefix, mut last_rate) = (0, None);
        while !rest.is_empty() {
            let subsets = (1u64..1 << rest.len()).map(|mask| {
                rest.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1).map(|(_, t)| *t).collect::<Vec<Txid>>()
            });
            let is_closed = |set: &Vec<Txid>| {
                set.iter().all(|t| model.ancestors(*t).iter().all(|a| set.contains(a) || !rest.contains(a)))
            };
            let best = subsets.filter(is_closed).reduce(|a, b| {
                let ((fee_a, size_a), (fee_b, size_b)) = (rate(&a), rate(&b));
                match (fee_b * size_a).cmp(&(fee_a * size_b)).then(a.len().cmp(&b.len())) {
                    std::cmp::Ordering::Greater => b,
                    _ => a,
                }
            });
            let chunk = best.unwrap();
            rest.retain(|txid| !chunk.contains(txid));
            let (fee, size) = rate(&chunk);
            if last_rate.is_none_or(|(last_fee, last_size)| last_fee * size != fee * last_size) {
                prefix = 0;
            }
            prefix += sum(&chunk, adjusted_weight);
            last_rate = Some((fee, size));
            all.push((prefix, chunk));
        }
    }
    all.sort_by(|a, b| {
        let ((fee_a, size_a), (fee_b, size_b)) = (rate(&a.1), rate(&b.1));
        (fee_b * size_a).cmp(&(fee_a * size_b)).then(a.0.cmp(&b.0)).then(a.1.iter().max().cmp(&b.1.iter().max()))
    });
    all.into_iter().map(|(_, chunk)| chunk).collect()
}

/// Ids of each block, without an order.
fn naive_blocks(model: &Model, template: &Template) -> Vec<BTreeSet<Txid>> {
    let mut chunks = naive_chunks(model);
    let mut blocks = Vec::new();
    while blocks.len() < template.max_blocks.into() {
        let (mut weight, mut sigops) = (template.reserved_weight, template.reserved_sigops);
        let left: BTreeSet<Txid> = chunks.iter().flatten().copied().collect();
        let left = model.txs.iter().filter(|tx| left.contains(&tx.txid)).cloned().collect();
        let clusters = clusters_of(&Model { txs: left });
        let (mut block, mut closed) = (BTreeSet::new(), BTreeSet::new());
        let mut later = Vec::new();
        let mut is_done = false;
        for chunk in chunks {
            let cluster = clusters.iter().position(|cluster| cluster.contains(&chunk[0]));
            let txs: Vec<_> = chunk.iter().map(|txid| model.get(*txid)).collect();
            let adjusted: u64 = txs.iter().map(|tx| adjusted_weight(tx)).sum();
            let cost: u64 = txs.iter().map(|tx| u64::from(tx.sigop_cost)).sum();
            let fee: u64 = txs.iter().map(|tx| tx.fee_sats).sum();
            is_done |= fee * 1000 < template.min_rate.0 * adjusted.div_ceil(4);
            if is_done || closed.contains(&cluster) {
                later.push(chunk);
            } else if weight + adjusted >= template.max_weight || sigops + cost >= template.max_sigops {
                closed.insert(cluster);
                later.push(chunk);
            } else {
                weight += txs.iter().map(|tx| tx.weight()).sum::<u64>();
                sigops += cost;
                block.extend(chunk);
            }
        }
        if block.is_empty() {
            break;
        }
        chunks = later;
        blocks.push(block);
    }
    blocks
}

/// Asserts the invariants of every projection by chunks.
fn assert_valid(model: &Model, pool: &Mempool, template: &Template) {
    let projection = pool.project(template);
    let mut mined: BTreeSet<Txid> = BTreeSet::new();
    for (index, block) in projection.blocks.iter().enumerate() {
        let txs: Vec<_> = projection.txids_of(index).map(|txid| model.get(*txid)).collect();
        assert_eq!(block.tx_count, txs.len() as u64);
        assert_eq!(block.weight, txs.iter().map(|tx| tx.weight()).sum::<u64>());
        assert_eq!(block.sigop_cost, txs.iter().map(|tx| u64::from(tx.sigop_cost)).sum::<u64>());
        assert_eq!(block.fees_sats, txs.iter().map(|tx| tx.fee_sats).sum::<u64>());
        assert!(block.weight + template.reserved_weight < template.max_weight);
        assert!(block.sigop_cost + template.reserved_sigops < template.max_sigops);
        for tx in txs {
            assert!(model.parents(tx).is_subset(&mined), "parents come first");
            assert!(mined.insert(tx.txid));
            let position = projection.position(&tx.txid).unwrap();
            assert_eq!(position.block, Some(index as u32));
            assert!(position.rate >= template.min_rate);
            assert_eq!(projection.eta(&tx.txid), Some(Eta::Blocks(index as u32 + 1)));
        }
    }
    for tx in model.txs.iter().filter(|tx| !mined.contains(&tx.txid)) {
        assert_eq!(projection.position(&tx.txid).unwrap().block, None);
    }
    assert_eq!(projection.histogram.len(), BUCKET_EDGES.len());
    assert_eq!(projection.histogram[0].count_from_top, model.txs.len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn blocks_are_those_of_the_naive_miner(raw in clusters(), template in template(), roomy in any::<bool>()) {
        let template = Template {
            selection: Selection::ChunkFeerate,
            max_sigops: if roomy { 80_000 } else { template.max_sigops },
            ..template
        };
        let model = Model { txs: txs_of(&raw) };
        let pool = pool_of(&model.txs);
        assert_valid(&model, &pool, &template);
        let projection = pool.project(&template);
        let blocks: Vec<BTreeSet<Txid>> =
            (0..projection.blocks.len()).map(|at| projection.txids_of(at).copied().collect()).collect();
        prop_assert_eq!(blocks, naive_blocks(&model, &template));
        // Each at the feerate of its chunk, whether in a block or not.
        for chunk in naive_chunks(&model) {
            let fee = chunk.iter().map(|txid| model.get(*txid).fee_sats).sum();
            let weight: u64 = chunk.iter().map(|txid| adjusted_weight(model.get(*txid))).sum();
            for txid in chunk {
                prop_assert_eq!(projection.position(&txid).unwrap().rate, FeeRate::of(fee, weight.div_ceil(4)).unwrap());
            }
        }
    }

    #[test]
    fn whatever_the_history_the_blocks_are_valid(steps in steps(120), template in template()) {
        let mut world = World::default();
        for step in &steps {
            world.step(step);
        }
        let template = Template { selection: Selection::ChunkFeerate, ..template };
        assert_valid(&world.model, &pool_of(&world.model.txs), &template);
    }
}

fn spend(number: u64, coin: (u64, u32), fee: u64) -> Arc<MempoolTx> {
    let coins = vec![(txid(coin.0), coin.1, 10_000_000)];
    tx(number, &Plan { coins, outputs: 3, fee, base_size: 200, ..Plan::default() })
}

#[test]
fn two_children_together_pay_for_a_parent() {
    // Neither child lifts the parent over the single one alone; both do.
    let pool = pool_of(&[
        spend(1, (100, 0), 0),
        spend(2, (1, 0), 3_000),
        spend(3, (1, 1), 3_000),
        spend(4, (101, 0), 1_800),
        spend(5, (102, 0), 1_700),
        spend(6, (103, 0), 1_600),
    ]);
    // Three of them fit.
    let template = Template { max_weight: 2_401, reserved_weight: 0, max_blocks: 1, ..Template::default() };
    let by = |selection| pool.project(&Template { selection, ..template });
    let (old, new) = (by(Selection::AncestorFeerate), by(Selection::ChunkFeerate));
    assert_eq!((old.blocks[0].fees_sats, new.blocks[0].fees_sats), (5_100, 6_000));
    assert_eq!(new.position(&txid(1)).unwrap().rate, FeeRate(10_000));
}

#[test]
fn a_cluster_whose_chunk_does_not_fit_is_closed_for_the_block() {
    let heavy = |number: u64, coin: u64, vout: u32, fee: u64, base_size: u32| {
        let coins = vec![(txid(coin), vout, 10_000_000)];
        tx(number, &Plan { coins, outputs: 2, fee, base_size, ..Plan::default() })
    };
    // The second of the chain does not fit any more; the third, which would, must wait for it.
    let pool = pool_of(&[
        heavy(1, 100, 0, 10_000, 400),
        heavy(2, 1, 0, 20_000, 1_000),
        heavy(3, 2, 0, 1_000, 100),
        heavy(4, 101, 0, 50, 100),
    ]);
    let template = Template { max_weight: 4_401, reserved_weight: 0, ..Template::default() };
    let projection = pool.project(&template);
    let block = |number| projection.position(&txid(number)).unwrap().block;
    // 1 alone pays better than with 2.
    assert_eq!([1, 2, 3, 4].map(block), [Some(0), Some(1), Some(1), Some(0)]);
}

/// Clusters of every kind in plenty, with the feerates of a busy day.
fn busy(count: u64) -> Vec<Arc<MempoolTx>> {
    let mut state = 7u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut txs: Vec<Arc<MempoolTx>> = Vec::new();
    let mut spent: BTreeMap<u64, u32> = BTreeMap::new();
    for n in 0..count {
        let mut coins = vec![(txid((1 << 40) + n), 0, 90_000_000_000)];
        // Groups of 25, in which one in two spends outputs of earlier ones.
        for _ in 0..random(4) / 2 + random(2) {
            let group = n - n % 25;
            if n > group {
                let parent = group + random(n - group);
                let vout = spent.entry(parent).or_default();
                coins.push((txid(parent), *vout, 1_000_000));
                *vout += 1;
            }
        }
        let base_size = 100 + random(400) as u32;
        let fee = u64::from(base_size) * (1 + random(8) * random(8) * random(8));
        txs.push(tx(n, &Plan { coins, outputs: 60, fee, base_size, sigop_cost: 4, ..Plan::default() }));
    }
    txs
}

#[test]
fn chunks_earn_no_less_than_ancestor_packages() {
    let pool = pool_of(&busy(6_000));
    for max_weight in [400_000, 1_000_000, 4_000_000] {
        let fees = |selection| {
            pool.project(&Template { selection, max_weight, max_blocks: 1, ..Template::default() }).blocks[0].fees_sats
        };
        let (old, new) = (fees(Selection::AncestorFeerate), fees(Selection::ChunkFeerate));
        assert!(new >= old, "{new} < {old} at {max_weight}");
        assert!(new - old < old / 20, "{new} and {old} differ too much");
    }
}

#[test]
fn chunks_of_a_cluster_that_is_too_large_are_still_in_order() {
    // 100 children pay together for a parent; more than can be put in order exactly.
    let mut txs = vec![tx(
        0,
        &Plan { coins: vec![(txid(9_999), 0, 10_000_000)], outputs: 120, fee: 0, base_size: 4_000, ..Plan::default() },
    )];
    for n in 1..=100 {
        let plan = Plan {
            coins: vec![(txid(0), n as u32, 100_000)],
            outputs: 1,
            fee: 1_000 + n,
            base_size: 100,
            ..Plan::default()
        };
        txs.push(tx(n, &plan));
    }
    let model = Model { txs };
    let pool = pool_of(&model.txs);
    for max_weight in [5_000, 21_000, 100_000] {
        let template = Template { max_weight, reserved_weight: 0, ..Template::default() };
        assert_valid(&model, &pool, &template);
    }
    assert_eq!(pool.project(&Template::default()).blocks[0].tx_count, 101);
}

#[test]
fn the_naive_chunks_are_the_best() {
    let model = Model { txs: txs_of(&[vec![(5, 100, 0, vec![]), (9, 100, 0, vec![])]]) };
    assert_eq!(naive_chunks(&model).len(), 2);
    let all: Vec<(u64, u64, Set)> = vec![(5, 400, 1), (9, 400, 2)];
    assert_best(&all, &[2, 1]);
}
