//! Coins by the outpoint that a transaction names, against the oracle; and what a name that nobody has costs.

use std::time::Instant;

use cairn_chaingen::{EverythingOptions, everything};
use cairn_model::{Network, Txid};
use cairn_pipeline::{Driver, Engine, NoProgress, SyncOptions};
use cairn_reader::{Facts, ReadError, Reader, SecondaryReader, UnspentCoin, View};
use cairn_testkit::{Oracle, temp_dir};
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use rocksdb::perf::{PerfContext, PerfMetric, PerfStatsLevel, set_perf_stats};

use bitcoin::{OutPoint, hashes::Hash};

use crate::{forge::*, support::*};

fn expected(oracle: &Oracle, outpoint: &OutPoint) -> Option<UnspentCoin> {
    oracle.coins().get(outpoint).map(|coin| UnspentCoin {
        value: coin.value_sats,
        script: coin.script.as_bytes().into(),
        height: coin.height,
        coinbase: coin.coinbase,
    })
}

/// Every output of `blocks`, spent or not, on the chain by now or not any more; and some that nobody made.
fn assert_all(view: &View<'_>, oracle: &Oracle, blocks: &[bitcoin::Block], what: &str) {
    let mut outpoints: Vec<OutPoint> = Vec::new();
    for tx in blocks.iter().flat_map(|block| &block.txdata) {
        let txid = tx.compute_txid();
        // One beyond the last as well.
        outpoints.extend((0..=tx.output.len() as u32).map(|vout| OutPoint { txid, vout }));
        outpoints.push(OutPoint { txid, vout: u32::MAX });
    }
    outpoints.extend((0..50u8).map(|b| OutPoint { txid: bitcoin::Txid::from_byte_array([b; 32]), vout: 0 }));
    outpoints.shuffle(&mut ChaCha8Rng::seed_from_u64(1));
    let named: Vec<(Txid, u32)> = outpoints.iter().map(|o| (Txid(o.txid.to_byte_array()), o.vout)).collect();
    let together = view.transactions().coins(&named).unwrap();
    assert_eq!(together.len(), named.len());
    let mut coins = std::collections::HashSet::new();
    for ((outpoint, (txid, vout)), found) in outpoints.iter().zip(&named).zip(together) {
        let expected = expected(oracle, outpoint);
        assert_eq!(found, expected, "{what}: {outpoint}, among many");
        assert_eq!(view.transactions().coin(txid, *vout).unwrap(), expected, "{what}: {outpoint}");
        if expected.is_some() {
            coins.insert(outpoint);
        }
    }
    assert_eq!(coins.len(), oracle.coins().len(), "{what}: all coins were asked for");
    assert!(view.transactions().coins(&[]).unwrap().is_empty());
}

#[test]
fn every_output_at_several_heights() {
    for (seed, script_prefix, txid_prefix) in [(91, 8, 8), (92, 1, 1), (93, 2, 2)] {
        let blocks = temp_dir();
        let options = EverythingOptions { blocks: 150, max_txs: 8, forks: vec![3], showpieces: seed == 91 };
        let chain = everything(seed, &options).unwrap();
        write_tidy(blocks.path(), &chain);
        let facts = Facts {
            script_prefix,
            txid_prefix,
            blocks_dir: Some(blocks.path().to_owned()),
            ..Facts::of(Network::Regtest)
        };
        let mut index = Index::new(&facts);
        index.sync(blocks.path(), Driver::Bulk);
        let mut oracle = oracle_of(&chain);
        let all = oracle.blocks().to_vec();
        let tip = chain.tip().height;
        for height in [tip, tip - 1, tip - 2, tip - 30, tip / 2, 1, 0] {
            index.engine.unwind(height, &NoProgress).unwrap();
            oracle.truncate(height as usize + 1);
            let what = format!("seed {seed}, txid prefix {txid_prefix}, height {height}");
            index.view(|view| assert_all(view, &oracle, &all, &what));
        }
    }
}

/// A view that is pinned while the chain moves on, a reader of its own, and one that follows.
#[test]
fn readers_of_every_kind() {
    let dir = temp_dir();
    let chain = small_chain(95);
    let blocks = dir.path().join("blocks");
    write_tidy(&blocks, &chain);
    let tip = chain.tip().height;
    let mut engine = Engine::open(dir.path(), &facts(&blocks)).unwrap();
    let options = SyncOptions { to: Some(tip - 5), driver: Driver::Tip, ..SyncOptions::default() };
    sync_with(&mut engine, &blocks, &options, &NoProgress).unwrap();
    let mut oracle = oracle_of(&chain);
    let all = oracle.blocks().to_vec();
    let reader = engine.reader();
    let pinned = reader.view().unwrap();
    let follower = SecondaryReader::open(&dir.path().join("index"), &dir.path().join("serve"), None, 64 << 20).unwrap();
    for height in tip - 4..=tip {
        let options = SyncOptions { to: Some(height), ..options };
        let report = sync_with(&mut engine, &blocks, &options, &NoProgress).unwrap();
        follower.advance(report.tip).unwrap();
    }
    assert_all(&follower.reader().view().unwrap(), &oracle, &all, "a follower");
    let alone = Reader::open(&dir.path().join("index")).unwrap();
    assert_all(&alone.view().unwrap(), &oracle, &all, "a reader");
    oracle.truncate((tip - 5) as usize + 1);
    assert_all(&pinned, &oracle, &all, "a pinned view");
}

/// Two coinbases with one txid (BIP 30): the coin is the later one's, until that is unwound.
#[test]
fn of_two_transactions_with_one_id_the_newer_counts() {
    let blocks = temp_dir();
    let mut forge = Forge::new();
    let twin = coinbase(7, vec![pay(5, script(1)), pay(6, script(2))]);
    forge.block(vec![twin.clone()]);
    forge.empty(3);
    forge.block(vec![twin.clone()]);
    forge.empty(1);
    forge.write(blocks.path());
    for driver in [Driver::Bulk, Driver::Tip] {
        let mut index = Index::of(blocks.path(), driver);
        let mut oracle = forge.oracle();
        for (height, made) in [(6, 5), (5, 5), (4, 1), (1, 1)] {
            index.engine.unwind(height, &NoProgress).unwrap();
            oracle.truncate(height as usize + 1);
            index.view(|view| {
                let coin = view.transactions().coin(&Txid(twin.compute_txid().to_byte_array()), 1).unwrap().unwrap();
                assert_eq!((coin.height, coin.value), (made, 6), "at {height}");
                assert_all(view, &oracle, &forge.blocks, &format!("height {height}"));
            });
        }
    }
}

#[test]
fn an_unfinished_coin_set_answers_nothing() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(94));
    let mut index = Index::of(blocks.path(), Driver::Bulk);
    assert!(is_cut(|| index.engine.reindex(&["coins"], &Cut::stop(1))));
    index.view(|view| {
        let unfinished = |found| matches!(found, Err(ReadError::Unfinished("coins")));
        assert!(unfinished(view.transactions().coin(&Txid([1; 32]), 0).map(|_| ())));
        assert!(unfinished(view.transactions().coins(&[]).map(|_| ())));
    });
}

/// A chain of transactions with two outputs each, of which one is spent at once.
fn long_forge(txs: u32) -> (Forge, Vec<OutPoint>) {
    let mut forge = Forge::new();
    let first = coinbase(1, vec![pay(50 * 100_000_000, script(1))]);
    forge.block(vec![first.clone()]);
    let (mut purse, mut left, mut coins) = (out(&first, 0), 50 * 100_000_000u64, Vec::new());
    while coins.len() < txs as usize {
        let mut block = vec![coinbase(forge.blocks.len() as u32, vec![pay(1, script(2))])];
        for _ in 0..2_500 {
            left -= 1_000;
            let tag = coins.len() as u32;
            let tx = spend(&[purse], vec![pay(left, script(1)), pay(900, script(1_000 + tag))]);
            let txid = tx.compute_txid();
            purse = OutPoint { txid, vout: 0 };
            coins.push(OutPoint { txid, vout: 1 });
            block.push(tx);
        }
        forge.block(block);
    }
    (forge, coins)
}

/// Measures reads for the inputs of a block's worth of unconfirmed transactions. A txid that nobody has costs no block
/// of a table: the filter answers.
#[test]
fn the_filter_spares_reads() {
    let (forge, coins) = long_forge(if long() { 200_000 } else { 50_000 });
    let blocks = temp_dir();
    forge.write(blocks.path());
    let index = Index::of(blocks.path(), Driver::Bulk).reopened();
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    set_perf_stats(PerfStatsLevel::EnableCount);
    let mut perf = PerfContext::default();
    let blocks_used =
        |perf: &PerfContext| perf.metric(PerfMetric::BlockReadCount) + perf.metric(PerfMetric::BlockCacheHitCount);
    // A reader of its own: a writer's handle also has rows that are not in table files yet.
    let apart = Reader::open(&index.path().join("index")).unwrap();
    let look = |view: &View<'_>, perf: &mut PerfContext, rng: &mut ChaCha8Rng| {
        view.transactions().coin(&Txid([0; 32]), 0).unwrap();
        let absent: Vec<Txid> = (0..2_000).map(|_| Txid(rng.random())).collect();
        perf.reset();
        for txid in &absent {
            assert!(view.transactions().by_txid(txid).unwrap().is_none());
            assert!(view.transactions().coin(txid, 0).unwrap().is_none());
        }
        // Each look uses one part of a filter; one in a hundred passes a filter of 10 bits a key.
        let looks = absent.len() as u64 * 2;
        let used = blocks_used(perf).saturating_sub(looks);
        println!("{used} blocks beside the parts of filters for {looks} looks at absent ids");
        assert!(used < looks / 20, "{used} blocks beside the parts of filters for {looks} looks at absent ids");
    };
    look(&apart.view().unwrap(), &mut perf, rng);
    let wanted: Vec<(Txid, u32)> = (0..6_000)
        .map(|_| coins[rng.random_range(0..coins.len())])
        .map(|o| (Txid(o.txid.to_byte_array()), o.vout))
        .collect();
    for round in ["cold", "warm"] {
        index.view(|view| {
            perf.reset();
            let started = Instant::now();
            let found = view.transactions().coins(&wanted).unwrap();
            let together = started.elapsed();
            assert!(found.iter().all(|coin| coin.as_ref().is_some_and(|c| c.value == 900)));
            let used = blocks_used(&perf);
            assert!(used > 0, "the counters count");
            println!("{round}: {} coins together {together:?}, {used} blocks, {} rows", wanted.len(), view.rows_read());
        });
        index.view(|view| {
            let started = Instant::now();
            wanted.iter().for_each(|(txid, vout)| assert!(view.transactions().coin(txid, *vout).unwrap().is_some()));
            println!("{round}: one by one {:?}, {} rows", started.elapsed(), view.rows_read());
        });
    }
}
