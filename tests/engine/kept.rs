//! Observations of the mempool are kept beside the chain: they survive restarts, rebuilds and reorganizations, and
//! change nothing of the chain's rows.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use bitcoin::consensus::serialize;
use cairn_model::{MempoolInput, MempoolOutput, MempoolSample, MempoolTx, Network, Txid};
use cairn_pipeline::{Driver, Engine, NoProgress, SyncOptions};
use cairn_reader::{Facts, ReadError, Reader, SecondaryReader};
use cairn_sources::decode_block;
use cairn_tables::{
    Table, TableInfo,
    mempool::{KeptMempool, MempoolSamples},
};
use cairn_testkit::temp_dir;
use cairn_writer::Writer;
use tempfile::TempDir;

use crate::{compare::assert_equal, interrupted::SMALL, support::*};

/// An unconfirmed transaction of that number, first seen at that time.
pub fn tx(number: u16, first_seen_ms: u64) -> Arc<MempoolTx> {
    let mut txid = [0xab; 32];
    txid[..2].copy_from_slice(&number.to_be_bytes());
    Arc::new(MempoolTx {
        txid: Txid(txid),
        wtxid: Txid([0xcd; 32]),
        size: 200 + u32::from(number),
        base_size: 120,
        sigop_cost: 1,
        fee_sats: 300,
        version: 2,
        lock_time: 0,
        first_seen_ms,
        inputs: [MempoolInput {
            prev_txid: Txid([1; 32]),
            prev_vout: number.into(),
            sequence: 0xffff_fffd,
            value: 1_000,
            script: [0x51; 25].into(),
            birth: Some(7),
        }]
        .into(),
        outputs: [MempoolOutput { value: 700, script: [0x52; 34].into() }].into(),
        raw: number.is_multiple_of(2).then(|| [number as u8; 90].into()),
    })
}

pub fn txs(numbers: impl IntoIterator<Item = u16>) -> Vec<Arc<MempoolTx>> {
    numbers.into_iter().map(|n| tx(n, 1_700_000_000_000 + u64::from(n))).collect()
}

fn ids(numbers: impl IntoIterator<Item = u16>) -> Vec<Txid> {
    txs(numbers).iter().map(|tx| tx.txid).collect()
}

pub fn sample(time_unix: u64) -> MempoolSample {
    MempoolSample { time_unix, height: Some(5), count: time_unix % 1_000, stress: Some(7), ..MempoolSample::default() }
}

fn times(samples: &[MempoolSample]) -> Vec<u64> {
    samples.iter().for_each(|s| assert_eq!(*s, sample(s.time_unix)));
    samples.iter().map(|s| s.time_unix).collect()
}

/// The files in a folder, with length and time of the last change.
fn files(folder: &Path) -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.metadata() {
            // The database removes files that it no longer needs at any time.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Ok(about) if about.is_dir() => found.extend(files(&entry.path())),
            about => {
                let about = about.unwrap();
                found.insert(entry.path(), (about.len(), about.modified().unwrap()));
            }
        }
    }
    found
}

/// The index as a machine that loses its power now would find it again: files as they are, nothing closed.
fn after_power_loss(index: &Index) -> Index {
    loop {
        let (dir, before) = (scratch(), files(index.path()));
        for path in before.keys().filter(|path| !path.ends_with("LOCK")) {
            let to = dir.path().join(path.strip_prefix(index.path()).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            match fs::copy(path, to) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                copied => {
                    copied.unwrap();
                }
            }
        }
        // Tables are merged in the background: a copy from before and after is what no machine ever had.
        if files(index.path()) == before {
            return Index { engine: Engine::open_existing(dir.path()).unwrap(), dir };
        }
    }
}

pub fn world(seed: u64) -> (TempDir, cairn_chaingen::Chain) {
    let blocks = temp_dir();
    let chain = small_chain(seed);
    write_tidy(blocks.path(), &chain);
    (blocks, chain)
}

#[test]
fn a_restart_finds_what_was_kept() {
    let mut index = Index::new(&Facts::of(Network::Regtest));
    // Before the first block already.
    assert!(index.engine.kept_mempool().unwrap().is_empty());
    index.engine.keep_mempool(&[], &[]).unwrap();
    index.engine.keep_mempool(&txs(0..100), &ids(500..510)).unwrap();
    assert_eq!(index.engine.kept_mempool().unwrap(), txs(0..100), "at once");
    index.engine.settle().unwrap();
    index = index.reopened();
    assert_eq!(index.engine.kept_mempool().unwrap(), txs(0..100));
    // Some leave, some come, one leaves and comes again.
    let mut added = txs(200..210);
    added.push(tx(7, 9));
    index.engine.keep_mempool(&added, &ids((0..50).chain([999]))).unwrap();
    index.engine.settle().unwrap();
    index = index.reopened();
    let mut expected = [vec![tx(7, 9)], txs((50..100).chain(200..210))].concat();
    assert_eq!(index.engine.kept_mempool().unwrap(), expected);
    for n in 0..30u16 {
        // As many commits, so that tables are merged.
        index.engine.keep_mempool(&txs([1_000 + n]), &ids([50 + n])).unwrap();
        index.engine.settle().unwrap();
    }
    expected = [vec![tx(7, 9)], txs((80..100).chain(200..210).chain(1_000..1_030))].concat();
    assert_eq!(index.reopened().engine.kept_mempool().unwrap(), expected);
}

#[test]
fn a_crash_leaves_the_last_settled_state() {
    let (_blocks, chain) = world(101);
    let mut index = Index::new(&Facts::of(Network::Regtest));
    let decoded = |at: usize| decode_block(&serialize(&chain.active()[at].block), 8).unwrap();
    index.engine.extend(decoded(0)).unwrap();
    index.engine.keep_mempool(&txs(0..10), &[]).unwrap();
    index.engine.put_sample(&sample(10)).unwrap();
    index.engine.settle().unwrap();
    let state = |index: &Index| {
        let samples = index.view(|view| times(&view.ledger().mempool_samples(0, u64::MAX, 100).unwrap()));
        (index.height(), index.engine.kept_mempool().unwrap(), samples)
    };
    let before = (Some(0), txs(0..10), vec![10]);
    // A block and what it did to the mempool, written and not settled: of all that, nothing.
    index.engine.extend(decoded(1)).unwrap();
    index.engine.keep_mempool(&txs(20..25), &ids(0..5)).unwrap();
    index.engine.put_sample(&sample(20)).unwrap();
    let after = (Some(1), txs((5..10).chain(20..25)), vec![10, 20]);
    assert_eq!(state(&index), after, "visible at once");
    assert_eq!(state(&after_power_loss(&index)), before);
    // Settled: all of it.
    index.engine.settle().unwrap();
    assert_eq!(state(&after_power_loss(&index)), after);
    // And between blocks.
    index.engine.keep_mempool(&txs([30]), &ids(5..10)).unwrap();
    assert_eq!(state(&after_power_loss(&index)), after);
    index.engine.settle().unwrap();
    assert_eq!(state(&after_power_loss(&index)), (Some(1), txs((20..25).chain([30])), vec![10, 20]));
}

#[test]
fn samples_are_read_by_time() {
    let (blocks, _) = world(102);
    let index = Index::of(blocks.path(), Driver::Bulk);
    index.view(|view| {
        assert!(view.ledger().mempool_samples(0, u64::MAX, 10).unwrap().is_empty());
    });
    let now = 1_700_000_000u64;
    // Not in order; both ends of time; one second twice.
    let put = [now + 120, now, 0, now + 60, u64::MAX, now + 180, now + 60];
    let written: Vec<bool> = put.iter().map(|time| index.engine.put_sample(&sample(*time)).unwrap()).collect();
    assert_eq!(written, [true, true, true, true, true, true, false]);
    index.engine.settle().unwrap();
    let index = index.reopened();
    index.view(|view| {
        let read = |from, to, max| times(&view.ledger().mempool_samples(from, to, max).unwrap());
        assert_eq!(read(0, u64::MAX, 100), [0, now, now + 60, now + 120, now + 180, u64::MAX]);
        assert_eq!(read(now, now + 120, 100), [now, now + 60, now + 120], "both ends are included");
        assert_eq!(read(now + 1, now + 119, 100), [now + 60]);
        assert_eq!(read(now, u64::MAX, 2), [now, now + 60], "the first ones");
        assert_eq!(read(now + 1, now + 59, 100), [0u64; 0]);
        assert_eq!(read(now, now - 1, 100), [0u64; 0]);
        assert_eq!(read(now, now, 1), [now]);
        assert_eq!(read(0, u64::MAX, 0), [0u64; 0]);
        let before = view.rows_read();
        read(now, now + 120, 2);
        assert!(view.rows_read() - before <= 3);
    });
    // A sample is never changed: a clock that was set back writes no second sample of the same second.
    let other = MempoolSample { fees_sats: 1, ..sample(u64::MAX) };
    assert!(!index.engine.put_sample(&other).unwrap());
    assert_eq!(index.view(|view| view.ledger().mempool_samples(u64::MAX, u64::MAX, 10).unwrap()), [sample(u64::MAX)]);
}

/// Everything that changes the chain's rows leaves these alone, and the other way round.
#[test]
fn chain_and_observations_do_not_touch_each_other() {
    let (blocks, chain) = world(103);
    let expected = Index::of(blocks.path(), Driver::Bulk).sums();
    let kept = txs(0..300);
    for driver in [Driver::Bulk, Driver::Tip] {
        let mut index = Index::new(&facts(blocks.path()));
        index.engine.set_bulk_sizes(SMALL);
        index.engine.keep_mempool(&kept, &[]).unwrap();
        (0..50).for_each(|n| assert!(index.engine.put_sample(&sample(n * 60)).unwrap()));
        index.engine.settle().unwrap();
        assert_eq!(index.height(), None, "samples make no tip");
        let check = |index: &Index, what: &str| {
            assert_eq!(index.engine.kept_mempool().unwrap(), kept, "{what}");
            let samples = index.view(|view| view.ledger().mempool_samples(0, u64::MAX, 100).unwrap());
            assert_eq!(times(&samples), (0..50).map(|n| n * 60).collect::<Vec<u64>>(), "{what}");
        };
        index.sync(blocks.path(), driver);
        check(&index, "indexed");
        index.sums().assert_equal(&expected, "an index with samples");
        index.assert_sound();
        for stage in rebuildable() {
            index.engine.reindex(&[stage], &NoProgress).unwrap();
            check(&index, stage);
        }
        index.sums().assert_equal(&expected, "rebuilt");
        index = index.reopened();
        let tip = chain.tip().height;
        for height in [tip - 1, tip - 30, 0] {
            index.engine.unwind(height, &NoProgress).unwrap();
            check(&index, &format!("unwound to {height}"));
        }
        index.sync(blocks.path(), Driver::Auto);
        index = index.reopened();
        check(&index, "synced again");
        index.sums().assert_equal(&expected, "synced again");
        index.view(|view| assert_equal(view, &oracle_of(&chain)));
        let tables: Vec<&str> = expected.0.iter().map(|(name, _)| *name).collect();
        assert!(!tables.contains(&KeptMempool::NAME) && !tables.contains(&MempoolSamples::NAME), "{tables:?}");
    }
}

/// Bulk indexing that is given up clears what it had taken in: not these.
#[test]
fn bulk_that_is_cut_short_leaves_them() {
    let (blocks, _) = world(104);
    let expected = Index::of(blocks.path(), Driver::Bulk).sums();
    let mut cuts = 0;
    for after in (0..).step_by(3) {
        let mut index = Index::new(&facts(blocks.path()));
        index.engine.set_bulk_sizes(SMALL);
        index.engine.keep_mempool(&txs(0..5), &[]).unwrap();
        index.engine.put_sample(&sample(60)).unwrap();
        index.engine.settle().unwrap();
        let cut = Cut::die(after);
        if !is_cut(|| sync_with(&mut index.engine, blocks.path(), &SyncOptions::default(), &cut)) {
            break;
        }
        cuts += 1;
        let mut index = index.reopened();
        // The tip driver begins with discarding.
        index.sync(blocks.path(), if after % 2 == 0 { Driver::Tip } else { Driver::Auto });
        index.sums().assert_equal(&expected, &format!("cut after {after} steps"));
        assert_eq!(index.engine.kept_mempool().unwrap(), txs(0..5));
        assert_eq!(times(&index.view(|view| view.ledger().mempool_samples(0, 99, 9).unwrap())), [60]);
    }
    assert!(cuts > 5);
}

/// An index of before these tables had a place.
fn old_index(blocks: &Path) -> TempDir {
    let Index { engine, dir } = Index::of(blocks, Driver::Bulk);
    drop(engine);
    let writer = Writer::open(&dir.path().join("index")).unwrap();
    writer.db().drop_cf(KeptMempool::FAMILY.name()).unwrap();
    drop(writer);
    dir
}

#[test]
fn an_index_of_before_is_read_and_goes_on() {
    let (blocks, chain) = world(105);
    let dir = old_index(blocks.path());
    let oracle = oracle_of(&chain);
    let open = || Reader::open(&dir.path().join("index")).unwrap();
    let mempool = TableInfo::of::<KeptMempool>();
    {
        // Read as it is.
        let reader = open();
        let view = reader.view().unwrap();
        assert_equal(&view, &oracle);
        assert!(view.ledger().mempool_samples(0, u64::MAX, 10).unwrap().is_empty());
        assert_eq!(reader.table_size(&mempool).unwrap().rows, 0);
        let refused = view.get::<KeptMempool>(&Txid([1; 32]));
        assert!(matches!(&refused, Err(ReadError::Unusable(text)) if text.contains("mempool")), "{refused:?}");
        let follower =
            SecondaryReader::open(&dir.path().join("index"), &dir.path().join("serve"), None, 64 << 20).unwrap();
        assert_equal(&follower.reader().view().unwrap(), &oracle);
    }
    // Written: made again, while a reader follows from before.
    let follower = SecondaryReader::open(&dir.path().join("index"), &dir.path().join("serve"), None, 64 << 20).unwrap();
    let mut engine = Engine::open_existing(dir.path()).unwrap();
    assert!(engine.kept_mempool().unwrap().is_empty());
    engine.keep_mempool(&txs(0..9), &[]).unwrap();
    engine.put_sample(&sample(5)).unwrap();
    engine.settle().unwrap();
    assert!(!follower.refresh().unwrap().moved);
    assert_eq!(times(&follower.reader().view().unwrap().ledger().mempool_samples(0, 99, 9).unwrap()), [5]);
    // The instance of before the upgrade does not know of the new family and is opened again; then both just follow.
    for back in 1..6 {
        engine.unwind(chain.tip().height - back, &NoProgress).unwrap();
        engine.keep_mempool(&txs([100]), &[]).unwrap();
        engine.settle().unwrap();
        engine.keep_mempool(&[], &ids([100])).unwrap();
        engine.settle().unwrap();
        let advanced = follower.advance(engine.tip().unwrap()).unwrap();
        assert!(advanced.moved && (back == 1 || !advanced.reopened), "{back}: {advanced:?}");
    }
    sync(&mut engine, blocks.path(), Driver::Auto);
    drop(engine);
    let reader = open();
    assert_equal(&reader.view().unwrap(), &oracle);
    assert_eq!(times(&reader.view().unwrap().ledger().mempool_samples(0, 99, 9).unwrap()), [5]);
    let view = reader.view().unwrap();
    assert_eq!(view.get::<KeptMempool>(&tx(3, 0).txid).unwrap().as_ref(), Some(&*txs([3])[0]));
    assert_eq!(Engine::open_existing(dir.path()).unwrap().kept_mempool().unwrap(), txs(0..9));
}

#[test]
fn a_reader_in_another_process_sees_samples() {
    let (blocks, chain) = world(106);
    let dir = temp_dir();
    let mut engine = Engine::open(dir.path(), &facts(blocks.path())).unwrap();
    let tip = chain.tip().height;
    let to = |to| SyncOptions { driver: Driver::Tip, to: Some(to), ..SyncOptions::default() };
    sync_with(&mut engine, blocks.path(), &to(tip - 10), &NoProgress).unwrap();
    let follower = SecondaryReader::open(&dir.path().join("index"), &dir.path().join("serve"), None, 64 << 20).unwrap();
    let seen = || times(&follower.reader().view().unwrap().ledger().mempool_samples(0, u64::MAX, 1_000).unwrap());
    let mut expected = Vec::new();
    let mut oracle = oracle_of(&chain);
    let all = oracle.blocks().to_vec();
    oracle.truncate((tip - 10) as usize + 1);
    for height in tip - 9..=tip {
        // With a block…
        let time = u64::from(height) * 600;
        engine.keep_mempool(&txs([height as u16]), &ids([height as u16 - 2])).unwrap();
        engine.put_sample(&sample(time)).unwrap();
        let report = sync_with(&mut engine, blocks.path(), &to(height), &NoProgress).unwrap();
        assert_eq!(seen(), expected, "not before it is told");
        let advanced = follower.advance(report.tip).unwrap();
        // At first there is but one instance.
        assert!(advanced.moved && (height == tip - 9 || !advanced.reopened), "{height}: {advanced:?}");
        expected.push(time);
        assert_eq!(seen(), expected);
        oracle.connect(&all[height as usize]);
        // … and between blocks.
        engine.put_sample(&sample(time + 60)).unwrap();
        engine.settle().unwrap();
        let refreshed = follower.refresh().unwrap();
        assert!(!refreshed.moved && refreshed.tip.height == height);
        expected.push(time + 60);
        assert_eq!(seen(), expected);
        let reader = follower.reader();
        let view = reader.view().unwrap();
        assert_eq!(view.ledger().mempool_samples(0, u64::MAX, 100).unwrap().last(), Some(&sample(time + 60)));
        assert_eq!(view.tip().height, height);
    }
    assert_equal(&follower.reader().view().unwrap(), &oracle);
}
