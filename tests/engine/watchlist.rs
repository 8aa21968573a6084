//! The watchlist is what follows from the blocks, whenever it is made, and it is made again when it is time.

use std::collections::BTreeMap;

use cairn_chaingen::demo;
use cairn_pipeline::{Driver, NoProgress};
use cairn_reader::View;
use cairn_tables::watchlist::{WatchHead, WatchKey, WatchRow, Watchlist};
use cairn_testkit::{Oracle, temp_dir};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{
    late::{BTC, Expected, holder, oracle_at, rows},
    late_hoards::Hoards,
    support::*,
};

const YEARS: u64 = 5 * 365 * 86_400;

/// The watchlist as of the newest block of the oracle, which the view has.
fn expected(view: &View<'_>, oracle: &Oracle) -> BTreeMap<WatchKey, WatchRow> {
    let tip = oracle.tip().unwrap().0;
    let then = u64::from(oracle.monotone_time(tip)) - YEARS;
    let old = (0..tip).rev().find(|height| u64::from(oracle.monotone_time(*height)) <= then);
    let Some(old) = old else { return BTreeMap::new() };
    let since = oracle.headers()[old as usize + 1].first_tx;
    let mut all = Expected::of(view, oracle);
    // Those that never spent are holders of their own.
    for script in oracle.scripts() {
        all.holders.of(script);
    }
    let mut list = BTreeMap::new();
    for scripts in all.holders.scripts.iter().filter(|scripts| !scripts.is_empty()) {
        let rows = || scripts.iter().flat_map(|script| oracle.history(script));
        if rows().any(|row| row.tx_num >= since && row.spent_sats > 0) {
            continue;
        }
        let before = || rows().filter(|row| row.tx_num < since);
        let sats = before().map(|row| row.received_sats).sum::<u64>() - before().map(|row| row.spent_sats).sum::<u64>();
        if sats < 500 * BTC {
            continue;
        }
        let spent = rows().filter(|row| row.spent_sats > 0).map(|row| row.tx_num).max();
        let since = spent.or(rows().map(|row| row.tx_num).min()).unwrap();
        let key = WatchKey { sats, holder: holder(view, &scripts[0], view.as_of(tip).unwrap()) };
        list.insert(key, WatchRow { scripts: scripts.len() as u64, since, never: spent.is_none() });
    }
    list
}

/// Fails unless the watchlist is of the tip and has what follows from the blocks. Gives the numbers of scripts and
/// clusters on it.
fn assert_watchlist(index: &Index, oracle: &Oracle, what: &str) -> [usize; 2] {
    index.view(|view| {
        let found = rows::<Watchlist>(view);
        assert_eq!(found, expected(view, oracle), "{what}");
        let head = view.movements().watch_head().unwrap().expect("a watchlist");
        assert_eq!((head.height, head.hash), (view.tip().height, view.tip().hash), "{what}");
        assert_eq!(head.clusters, found.len() as u64, "{what}");
        assert_eq!(head.sats, found.keys().map(|key| key.sats).sum::<u64>(), "{what}");
        let least = found.keys().map(|key| key.sats).nth(1).unwrap_or(1);
        let (some, has_more) = view.movements().watched(least, 1, 1).unwrap();
        let some_expected: Vec<_> = found.iter().filter(|(key, _)| key.sats >= least).skip(1).collect();
        assert_eq!(some.iter().map(|(key, row)| (key, row)).collect::<Vec<_>>(), some_expected[..some.len()], "{what}");
        assert_eq!(has_more, some_expected.len() > 1, "{what}");
        let clusters = found.values().filter(|row| row.scripts > 1).count();
        [found.len() - clusters, clusters]
    })
}

#[test]
fn the_watchlist_agrees_with_the_blocks() {
    let mut sums = [0; 2];
    for seed in 0..if long() { 40 } else { 4 } {
        let (rng, blocks) = (&mut ChaCha8Rng::seed_from_u64(seed), temp_dir());
        let mut making = Hoards::of(&[]);
        for step in 0..4 {
            let what = format!("seed {seed}, step {step}");
            // Another branch each time: the list of before is of a block that is gone.
            let keep = making.forge.blocks.len() * 2 / 3;
            making = Hoards::of(&making.forge.blocks[1.min(keep)..keep]);
            making.grow(120 + rng.random_range(0..60), rng);
            making.hoard(30, 20_000 + step, 0);
            making.hoard(1, 9_999, rng.random_range(4..7));
            making.grow(rng.random_range(0..12), rng);
            making.forge.write(blocks.path());
            let index = Index::of(blocks.path(), Driver::Bulk);
            assert!(index.engine.follow_watchlist(&NoProgress, true).unwrap(), "{what}");
            assert!(!index.engine.follow_watchlist(&NoProgress, true).unwrap(), "{what}: it is made");
            let oracle = oracle_at(&index, &making.forge).expect("the blocks");
            let found = assert_watchlist(&index, &oracle, &what);
            sums.iter_mut().zip(found).for_each(|(sum, of)| *sum += of);
            index.engine.settle().unwrap();
            index.assert_sound();
        }
    }
    println!("scripts, clusters: {sums:?}");
    assert!(sums.iter().all(|sum| *sum > 4), "{sums:?}: scripts and clusters are too few");
}

#[test]
fn it_is_made_anew_when_it_is_time() {
    let chain = demo::chain(1).unwrap();
    let blocks = temp_dir();
    write_tidy(blocks.path(), &chain);
    let mut index = Index::of(blocks.path(), Driver::Bulk);
    let tip = index.height().unwrap();
    assert!(index.engine.follow_watchlist(&NoProgress, true).unwrap());
    let newest = index.view(rows::<Watchlist>);
    assert!(!newest.is_empty());
    // The block of the list is gone, so there is no list until it is made again. While blocks go on, that takes two
    // calls.
    index.engine.unwind(tip - 300, &NoProgress).unwrap();
    assert!(index.view(|view| view.movements().watch_head().unwrap().is_none()));
    assert!(!index.engine.follow_watchlist(&NoProgress, false).unwrap(), "it is being made");
    for tried in 0.. {
        if index.engine.follow_watchlist(&NoProgress, false).unwrap() {
            break;
        }
        assert!(tried < 60_000, "it was not made");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let mut cut = oracle_of(&chain);
    cut.truncate((tip - 300) as usize + 1);
    assert_watchlist(&index, &cut, "300 blocks below");
    // Few blocks later it stays.
    sync_to(&mut index, blocks.path(), tip - 157);
    assert!(!index.engine.follow_watchlist(&NoProgress, true).unwrap(), "143 blocks later");
    assert_eq!(index.view(|view| view.get::<WatchHead>(&()).unwrap().unwrap().height), tip - 300);
    sync_to(&mut index, blocks.path(), tip - 156);
    assert!(index.engine.follow_watchlist(&NoProgress, true).unwrap(), "144 blocks later");
    index.sync(blocks.path(), Driver::Auto);
    assert!(index.engine.follow_watchlist(&NoProgress, true).unwrap(), "at the tip");
    assert_eq!(index.view(rows::<Watchlist>), newest);
    // An engine that is closed while a list is being made waits for nobody.
    index.engine.unwind(tip - 1, &NoProgress).unwrap();
    assert!(!index.engine.follow_watchlist(&NoProgress, false).unwrap());
    index = index.reopened();
    assert!(index.engine.follow_watchlist(&NoProgress, true).unwrap());
}
