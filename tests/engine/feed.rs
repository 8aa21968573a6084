//! The feed: every block and every alert is announced once, and taken back once if its block goes, whatever was
//! interrupted.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use bitcoin::hashes::Hash;
use cairn_chaingen::{Chain, Everything, demo};
use cairn_pipeline::{Driver, FIRST_ANNOUNCED, NoProgress};
use cairn_reader::View;
use cairn_support::cospending::paid_by_tx;
use cairn_tables::feed::{Announced, AnnouncedKey, Feed, FeedKind, FeedRow};
use cairn_testkit::{Oracle, temp_dir};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{dust::campaigns, late::Expected, support::*};

const BTC: u64 = 100_000_000;
const YEAR: u64 = 365 * 86_400;

/// An alert of a block: kind, id, satoshis, number.
type Alert = (FeedKind, [u8; 32], u64, u64);

/// The alerts of each block, in order, recomputed from the blocks alone.
fn expected(view: &View<'_>, oracle: &Oracle) -> BTreeMap<u32, Vec<Alert>> {
    let tip = oracle.tip().unwrap().0;
    let (paid, late, campaigns) = (paid_by_tx(oracle, tip), Expected::of(view, oracle), campaigns(oracle));
    let mut alerts: BTreeMap<u32, Vec<Alert>> = BTreeMap::new();
    for (height, block) in oracle.blocks().iter().enumerate() {
        let first = oracle.headers()[height].first_tx.0;
        let fees = (first + 1..first + block.txdata.len() as u64).map(|tx| oracle.txs()[tx as usize].fee_sats).sum();
        let of = alerts.entry(height as u32).or_default();
        of.push((FeedKind::Block, block.block_hash().to_byte_array(), fees, block.txdata.len() as u64));
    }
    for (tx_num, height, tx) in oracle.transactions(tip) {
        if tx.is_coinbase() {
            continue;
        }
        let (paid, coinjoin) = paid[&tx_num];
        let (coins, id) = (oracle.spent(tx_num), tx.compute_txid().to_byte_array());
        let sent: u64 = coins.iter().map(|coin| coin.value_sats).sum();
        let mut of = Vec::new();
        if coinjoin && paid.to_scripts >= 100 * BTC {
            of.push((FeedKind::CoinJoinRound, id, paid.to_scripts, 0));
        } else if !coinjoin && paid.to_clusters >= 100 * BTC {
            of.push((FeedKind::Whale, id, paid.to_clusters, 0));
        }
        for (vin, coin) in (0..).zip(coins) {
            if coin.value_sats >= 10 * BTC && oracle.age_seconds(coin, height) >= YEAR {
                of.push((FeedKind::Awakening, id, coin.value_sats, vin));
            }
        }
        if !coinjoin && coins.len() >= 10 && coins.len() >= 5 * tx.output.len() && sent >= 10 * BTC {
            of.push((FeedKind::Consolidation, id, sent, coins.len() as u64));
        }
        let reached = late.alerts.iter().filter(|((by, _), _)| *by == tx_num);
        of.extend((0..).zip(reached).map(|(number, (_, row))| (FeedKind::DormancyFlush, id, row.sats, number)));
        let woken = late.wakeups.iter().filter(|(key, _)| key.tx_num == tx_num);
        of.extend(woken.map(|(key, row)| (FeedKind::WhaleWakeup, id, row.sats, key.vin.into())));
        of.extend(campaigns.get(&tx_num).map(|scripts| (FeedKind::DustCampaign, id, 0, *scripts)));
        alerts.get_mut(&height).unwrap().extend(of);
    }
    alerts
}

/// The whole feed.
fn feed(index: &Index) -> Vec<FeedRow> {
    index.view(|view| {
        let rows: Vec<(u64, FeedRow)> = view.scan::<Feed>(None).unwrap().map(|row| row.unwrap()).collect();
        assert!((0..).zip(&rows).all(|(seq, row)| row.0 == seq), "a gap in the feed");
        assert_eq!(view.feed().span().unwrap().map(|feed| feed.last + 1), Some(rows.len() as u64));
        rows.into_iter().map(|(_, row)| row).collect()
    })
}

/// Fails unless what stands is what the chain has from the feed's first height on, each announcement was taken back at
/// most once, and only what is gone.
fn assert_feed(index: &Index, oracle: &Oracle, what: &str) -> Vec<FeedRow> {
    let rows = feed(index);
    assert_eq!((rows[0].kind, rows[0].retracts), (FeedKind::Begun, None), "{what}");
    let mut standing: BTreeSet<u64> = BTreeSet::new();
    for (seq, row) in (0..).zip(&rows) {
        match row.retracts {
            Some(of) => {
                assert!(standing.remove(&of), "{what}: {of} is taken back twice, or was never announced");
                let said = &rows[of as usize];
                assert_eq!((said.kind, said.height, said.id, said.sats), (row.kind, row.height, row.id, row.sats));
            }
            None if !matches!(row.kind, FeedKind::Begun | FeedKind::Reorg) && !row.kind.is_of_labels() => {
                standing.insert(seq);
            }
            None => {}
        }
    }
    let kept: BTreeSet<u64> = index.view(|view| {
        let keys = view.scan::<Announced>(None).unwrap().map(|row| row.unwrap().0);
        keys.inspect(|AnnouncedKey { height, seq }| assert_eq!(rows[*seq as usize].height, *height))
            .map(|key| key.seq)
            .collect()
    });
    assert_eq!(kept, standing, "{what}: what stands");
    let mut found: BTreeMap<u32, Vec<Alert>> = BTreeMap::new();
    for seq in &standing {
        let row = &rows[*seq as usize];
        found.entry(row.height).or_default().push((row.kind, row.id, row.sats, row.number));
    }
    let from = found.keys().next().copied().unwrap_or(0);
    let expected: BTreeMap<u32, Vec<Alert>> =
        index.view(|view| expected(view, oracle)).into_iter().filter(|(height, _)| *height >= from).collect();
    assert_eq!(found, expected, "{what}: what stands is not what the chain has");
    rows
}

fn oracle_at(index: &Index, chain: &Chain) -> Oracle {
    let mut oracle = oracle_of(chain);
    oracle.truncate(index.height().unwrap() as usize + 1);
    oracle
}

/// Brings the feed to the tip, after what it reads.
fn follow(index: &Index, now: u32) {
    index.engine.follow_late(&NoProgress).unwrap();
    index.engine.follow_feed(now).unwrap();
}

/// Blocks, reorganizations, and looks at the feed in random order. An engine that is closed has lost what was not
/// flushed.
fn any_order(seed: u64, blocks: &Path) -> [usize; 3] {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut making = Everything::new(seed, 6, false);
    making.grow(112).unwrap();
    write_tidy(blocks, making.chain());
    let mut index = Index::of(blocks, [Driver::Bulk, Driver::Tip][seed as usize % 2]);
    let mut looks = 0;
    for step in 0..24 {
        let what = format!("seed {seed}, step {step}");
        match rng.random_range(0..6) {
            0 => making.grow(rng.random_range(1..4)).unwrap(),
            1 | 2 => {
                let depth = rng.random_range(1..9);
                making.fork(depth, depth + rng.random_range(1..3)).unwrap();
            }
            3 => index = index.reopened(),
            4 => {
                let to = index.height().unwrap() - rng.random_range(1..5);
                index.engine.unwind(to, &NoProgress).unwrap();
            }
            _ => {
                // Written, and lost: nothing was flushed.
                follow(&index, 1_800_000_000 + step);
                index = index.reopened();
            }
        }
        write_tidy(blocks, making.chain());
        if rng.random_bool(0.7) {
            index.sync(blocks, Driver::Auto);
        }
        if rng.random_bool(0.7) {
            follow(&index, 1_900_000_000 + step);
            assert!(!index.engine.follow_feed(0).unwrap(), "{what}: there is nothing to announce");
            index.engine.settle().unwrap();
            // After an unwound index lacks blocks of the newest chain.
            let oracle = oracle_at(&index, making.chain());
            if oracle.tip().map(|(height, hash)| (height, hash.to_byte_array()))
                == index.engine.tip().unwrap().map(|(height, hash)| (height, hash.0))
            {
                assert_feed(&index, &oracle, &what);
                looks += 1;
            }
        }
    }
    index.sync(blocks, Driver::Auto);
    follow(&index, 2_000_000_000);
    let rows = assert_feed(&index, &oracle_of(making.chain()), &format!("seed {seed}, at the end"));
    index.assert_sound();
    let retracted = rows.iter().filter(|row| row.retracts.is_some()).count();
    let reorgs = rows.iter().filter(|row| row.kind == FeedKind::Reorg).count();
    [looks, retracted, reorgs]
}

#[test]
fn announced_once_and_taken_back_once() {
    let mut sums = [0; 3];
    for seed in 0..if long() { 40 } else { 4 } {
        let of_seed = any_order(seed, temp_dir().path());
        sums.iter_mut().zip(of_seed).for_each(|(sum, of)| *sum += of);
    }
    assert!(sums.iter().all(|sum| *sum > 8), "{sums:?}: looks, retractions and reorgs are too few");
}

#[test]
fn the_demo_chain_is_announced() {
    let chain = demo::chain(1).unwrap();
    let blocks = temp_dir();
    write_tidy(blocks.path(), &chain);
    let mut index = Index::of(blocks.path(), Driver::Bulk);
    let oracle = oracle_of(&chain);
    follow(&index, 1_900_000_000);
    let rows = assert_feed(&index, &oracle, "the demo chain");
    let tip = index.height().unwrap();
    assert_eq!(rows[1].height, tip + 1 - FIRST_ANNOUNCED);
    for kind in FeedKind::ALL
        .into_iter()
        .filter(|kind| !matches!(kind, FeedKind::CoinJoinRound | FeedKind::Reorg) && !kind.is_of_labels())
    {
        assert!(rows.iter().any(|row| row.kind == kind), "{kind:?}");
    }
    // A deep reorganization takes all of it back, and says once how deep it was.
    index.engine.unwind(tip - 300, &NoProgress).unwrap();
    follow(&index, 1_900_000_001);
    let mut cut = oracle_of(&chain);
    cut.truncate((tip - 300) as usize + 1);
    let rows = assert_feed(&index, &cut, "unwound by 300 blocks");
    let reorgs: Vec<&FeedRow> = rows.iter().filter(|row| row.kind == FeedKind::Reorg).collect();
    assert_eq!(reorgs.len(), 1);
    assert_eq!((reorgs[0].height, reorgs[0].number), (tip - 300, 300));
    index.sync(blocks.path(), Driver::Auto);
    follow(&index, 1_900_000_002);
    assert_feed(&index, &oracle, "the demo chain again");
    // All that was ever announced is gone: the feed goes on from where it began.
    index.engine.unwind(tip - FIRST_ANNOUNCED - 5, &NoProgress).unwrap();
    follow(&index, 1_900_000_003);
    let left = index.view(|view| view.scan::<Announced>(None).unwrap().count());
    assert!(left > 0, "the tip itself is announced");
}
