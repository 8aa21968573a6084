//! Bounded memory and bounded work.

use std::collections::BTreeSet;

use cairn_model::{MempoolDelta, RemoveReason, Txid};

use super::world::{Plan, tx, txid};
use crate::{
    mempool::{Applied, Mempool, MempoolLimits, Selection, Template},
    script_sha256,
};

fn limited(max_bytes: u64) -> Mempool {
    Mempool::new(MempoolLimits { max_bytes, max_departed: 10, ..MempoolLimits::default() })
}

fn plan(coin: (u64, u32), fee: u64, outputs: usize) -> Plan {
    Plan { coins: vec![(txid(coin.0), coin.1, 50_000_000)], outputs, fee, base_size: 200, ..Plan::default() }
}

#[test]
fn above_the_limit_the_worst_paying_leave() {
    for upwards in [true, false] {
        let mut pool = limited(100_000);
        let mut fees: Vec<u64> = (1..=400).collect();
        if !upwards {
            fees.reverse();
        }
        let mut dropped = 0;
        for fee in fees {
            let delta = MempoolDelta::Add(tx(fee, &plan((1_000 + fee, 0), fee, 1)));
            match pool.apply(&delta, 1) {
                Applied::Added { replaced: 0, dropped: n } => dropped += n as u64,
                Applied::TurnedAway => dropped += 1,
                other => panic!("{other:?}"),
            }
            assert!(pool.stats(0).usage_bytes <= 100_000);
        }
        let stats = pool.stats(0);
        assert_eq!((stats.dropped, stats.count + stats.dropped), (dropped, 400));
        assert!(dropped > 200);
        let kept: BTreeSet<u64> = pool.iter().map(|tx| tx.fee_sats).collect();
        assert_eq!(kept, (401 - stats.count..=400).collect(), "the best paying ones are kept");
        // With plenty of room again, the cheap ones may come in.
        for fee in kept.iter().take(kept.len() * 2 / 3) {
            pool.apply(&MempoolDelta::Remove { txid: txid(*fee), reason: RemoveReason::Unknown }, 1);
        }
        let cheap = pool.apply(&MempoolDelta::Add(tx(1, &plan((1_001, 0), 1, 1))), 1);
        assert_eq!(cheap, Applied::Added { replaced: 0, dropped: 0 });
        assert_eq!(pool.stats(0).dropped, dropped, "it is still not whole");
        pool.apply(&MempoolDelta::Reset { sequence: 0 }, 1);
        assert_eq!(pool.stats(0).dropped, 0);
    }
}

#[test]
fn whoever_depends_on_a_dropped_one_is_dropped() {
    let mut pool = limited(60_000);
    for n in 0..100 {
        // Cheap parents, whose children pay sometimes for both, sometimes for neither.
        pool.apply(&MempoolDelta::Add(tx(2 * n, &plan((10_000 + n, 0), 1, 1))), 1);
        let child = Plan { unconfirmed: true, ..plan((2 * n, 0), (n % 7) * 1_000, 1) };
        pool.apply(&MempoolDelta::Add(tx(2 * n + 1, &child)), 1);
    }
    assert!(pool.stats(0).dropped > 50);
    let numbers: std::collections::HashMap<Txid, u64> = (0..200).map(|n| (txid(n), n)).collect();
    let kept: BTreeSet<u64> = pool.iter().map(|tx| numbers[&tx.txid]).collect();
    for child in kept.iter().filter(|n| **n % 2 == 1) {
        assert!(kept.contains(&(child - 1)), "{child} lost its parent");
    }
}

#[test]
fn chains_longer_than_any_package_are_still_mined_in_order() {
    let mut pool = Mempool::default();
    let length = 1_500;
    for n in 0..length {
        let made = tx(n, &plan((if n == 0 { 1_000_000 } else { n - 1 }, 0), n % 50 * 100, 1));
        assert!(matches!(pool.apply(&MempoolDelta::Add(made), 1), Applied::Added { .. }));
    }
    for selection in [Selection::AncestorFeerate, Selection::ChunkFeerate] {
        let projection = pool.project(&Template { selection, min_rate: crate::FeeRate(0), ..Template::default() });
        let order: Vec<Txid> = projection.txids_of(0).copied().collect();
        assert_eq!(order, (0..length).map(txid).collect::<Vec<_>>());
    }
    let relatives = pool.relatives(&txid(700), 100).unwrap();
    assert_eq!((relatives.ancestors.txids.len(), relatives.ancestors.truncated), (100, true));
    assert_eq!(relatives.descendants.txids.len(), 100);
    let exact = pool.relatives(&txid(100), 100).unwrap();
    assert_eq!((exact.ancestors.txids.len(), exact.ancestors.truncated), (100, false));
}

#[test]
fn a_popular_script_and_a_wide_parent_stay_cheap() {
    let mut pool = limited(1 << 30);
    let wide = 3_000;
    pool.apply(&MempoolDelta::Add(tx(0, &plan((1_000_000, 0), 1_000, wide as usize))), 1);
    for n in 1..=wide {
        pool.apply(&MempoolDelta::Add(tx(n, &plan((0, (n - 1) as u32), 100, 1))), 1);
    }
    assert_eq!(pool.relatives(&txid(0), 10).unwrap().children.len(), 10);
    assert_eq!(pool.relatives(&txid(0), 5_000).unwrap().descendants.txids.len(), 3_000);
    let busy: u64 = (1u8..7).map(|n| pool.script_totals(&script_sha256(&[0x51, n])).tx_count).sum();
    assert!(busy > 3_000);
    let projection = pool.project(&Template::default());
    assert_eq!(projection.blocks[0].tx_count, wide + 1);
    for n in 1..=wide {
        pool.apply(&MempoolDelta::Remove { txid: txid(n), reason: RemoveReason::Confirmed { height: 1 } }, 1);
    }
    assert_eq!((pool.len(), pool.stats(0).departed), (1, 10), "only the last ten are remembered");
    assert!(pool.departed(&txid(wide)).is_some() && pool.departed(&txid(wide - 10)).is_none());
}
