//! Errors have a type and leave nothing half-written, and the index opens afterwards.

use std::{fs, os::unix::fs::FileExt, path::Path};

use bitcoin::{BlockHash as BitcoinHash, Transaction, hashes::Hash};
use cairn_chaingen::{
    Chain,
    corefiles::{Layout, Location, write_chain},
};
use cairn_model::{BlockHash, Network, Txid};
use cairn_pipeline::{Driver, Engine, NoProgress, Phase, PipelineError, SyncOptions, SyncReport};
use cairn_reader::{Facts, ReadError, Reader};
use cairn_sources::SourceError;
use cairn_stages::StageError;
use cairn_support::forge::*;
use cairn_tables::{
    checkpoints::{Checkpoint, Checkpoints},
    stages::CHAIN,
};
use cairn_testkit::temp_dir;
use cairn_writer::{WriteError, Writer};

use crate::{compare::assert_equal, interrupted::SMALL, support::*};

fn try_sync(index: &mut Index, blocks: &Path, driver: Driver) -> Result<SyncReport, PipelineError> {
    sync_with(&mut index.engine, blocks, &SyncOptions { driver, ..SyncOptions::default() }, &NoProgress)
}

/// Errors of both drivers about a bad block on top of good ones; the index keeps the good ones, or none in bulk.
fn refusals(forge: &Forge, good: u32) -> [PipelineError; 2] {
    [Driver::Bulk, Driver::Tip].map(|driver| {
        let blocks = temp_dir();
        forge.write(blocks.path());
        let mut index = Index::new(&facts(blocks.path()));
        let error = try_sync(&mut index, blocks.path(), driver).expect_err("the block is bad");
        let index = index.reopened();
        assert_eq!(index.height(), (driver == Driver::Tip).then_some(good), "{driver:?}: {error}");
        if driver == Driver::Tip {
            index.view(|view| assert_equal(view, &forge.back_to(good as usize + 1).oracle()));
        }
        // It can be used on: here, up to the bad block.
        let mut index = index.reopened();
        let options = SyncOptions { to: Some(good), ..SyncOptions::default() };
        sync_with(&mut index.engine, blocks.path(), &options, &NoProgress).unwrap();
        index.sums().assert_equal(&Index::up_to(blocks.path(), Driver::Bulk, good).sums(), "the good blocks");
        error
    })
}

const SUBSIDY: u64 = 50 * 100_000_000;

/// Three good blocks; the last coinbase has outputs to spend.
fn good_start() -> (Forge, Transaction) {
    let mut forge = Forge::new();
    forge.empty(2);
    let funding = coinbase(100, vec![pay(1_000, script(100)), pay(2_000, script(101))]);
    forge.block(vec![funding.clone()]);
    (forge, funding)
}

fn with_bad_block(txs: impl FnOnce(&Transaction) -> Vec<Transaction>) -> Forge {
    let (mut forge, funding) = good_start();
    forge.block([vec![coinbase(200, vec![pay(SUBSIDY, script(200))])], txs(&funding)].concat());
    forge.empty(1);
    forge
}

#[test]
fn coins_that_are_not_there() {
    let unknown = |_: &Transaction| {
        vec![spend(&[bitcoin::OutPoint { txid: bitcoin::Txid::all_zeros(), vout: 7 }], vec![pay(1, script(1))])]
    };
    let no_such_output = |f: &Transaction| vec![spend(&[out(f, 2)], vec![pay(1, script(1))])];
    // A coin of the block itself, by a transaction in front of the one that makes it.
    let too_early = |f: &Transaction| {
        let making = spend(&[out(f, 0)], vec![pay(900, script(1))]);
        vec![spend(&[out(&making, 0)], vec![pay(800, script(2))]), making]
    };
    let bad: [(&str, Forge); 3] = [
        ("unknown", with_bad_block(unknown)),
        ("no such output", with_bad_block(no_such_output)),
        ("too early", with_bad_block(too_early)),
    ];
    for (what, forge) in bad {
        let hash = BlockHash(forge.blocks[4].block_hash().to_byte_array());
        for error in refusals(&forge, 3) {
            let named = matches!(&error, PipelineError::MissingCoin { height: 4, hash: h, .. } if *h == hash);
            assert!(named, "{what}: {error:?}");
        }
    }
    let forge = with_bad_block(no_such_output);
    let txid = Txid(forge.blocks[3].txdata[0].compute_txid().to_byte_array());
    for error in refusals(&forge, 3) {
        assert!(matches!(error, PipelineError::MissingCoin { txid: t, vout: 2, .. } if t == txid), "{error:?}");
    }
}

#[test]
fn coins_that_are_spent_twice() {
    let in_one_block = with_bad_block(|f| {
        vec![spend(&[out(f, 0)], vec![pay(1, script(1))]), spend(&[out(f, 0)], vec![pay(2, script(1))])]
    });
    let in_one_transaction = with_bad_block(|f| vec![spend(&[out(f, 0), out(f, 0)], vec![pay(1, script(1))])]);
    let of_the_block_itself = with_bad_block(|f| {
        let making = spend(&[out(f, 0)], vec![pay(900, script(1))]);
        let again = spend(&[out(&making, 0)], vec![pay(10, script(2))]);
        vec![making.clone(), spend(&[out(&making, 0)], vec![pay(20, script(2))]), again]
    });
    for forge in [in_one_block, in_one_transaction, of_the_block_itself] {
        for error in refusals(&forge, 3) {
            assert!(matches!(error, PipelineError::Stage(StageError::Contradiction { .. })), "{error:?}");
        }
    }
    let (mut forge, funding) = good_start();
    for tag in [1, 2] {
        forge
            .block(vec![coinbase(tag, vec![pay(1, script(1))]), spend(&[out(&funding, 0)], vec![pay(1, script(tag))])]);
    }
    let [bulk, tip] = refusals(&forge, 4);
    assert!(matches!(bulk, PipelineError::Stage(StageError::Contradiction { .. })), "{bulk:?}");
    assert!(matches!(tip, PipelineError::MissingCoin { height: 5, vout: 0, .. }), "{tip:?}");
}

#[test]
fn money_out_of_nothing() {
    const ALL: u64 = 21_000_000 * 100_000_000;
    let more_than_spent = with_bad_block(|f| vec![spend(&[out(f, 0)], vec![pay(1_001, script(1))])]);
    let (mut greedy, _) = good_start();
    greedy.block(vec![coinbase(5, vec![pay(SUBSIDY, script(5)), pay(1, script(6))])]);
    // Sums that do not fit 64 bits, of amounts that each are possible.
    let overflowing = with_bad_block(|f| {
        let mut last = out(f, 0);
        let tx = |_| {
            let tx = spend(&[last], vec![pay(ALL, script(1))]);
            last = out(&tx, 0);
            tx
        };
        (0..9_000).map(tx).collect()
    });
    for (what, forge) in [("spent", more_than_spent), ("created", greedy), ("overflowing", overflowing)] {
        for error in refusals(&forge, 3) {
            assert!(matches!(error, PipelineError::MakesMoney { height: 4, .. }), "{what}: {error:?}");
        }
    }
}

/// Flips a bit of a block's bytes, behind its header.
fn damage(blocks: &Path, at: Location, size: usize, back: bool) {
    let path = blocks.join(format!("blk{:05}.dat", at.file));
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let offset = at.offset + size as u64 - if back { 10 } else { 30 };
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    byte[0] ^= 0x20;
    file.write_all_at(&byte, offset).unwrap();
}

fn place(chain: &Chain, blocks: &Path, height: u32) -> (BitcoinHash, Location, usize) {
    let written = write_chain(blocks, chain, &Layout::tidy(file_options())).unwrap();
    let mined = chain.active()[height as usize];
    let (_, location) = written.blocks.iter().find(|(hash, _)| *hash == mined.hash()).unwrap();
    (mined.hash(), *location, mined.block.total_size())
}

#[test]
fn a_damaged_block_of_the_chain_is_named() {
    let chain = small_chain(91);
    let blocks = temp_dir();
    let height = 131;
    let (hash, location, size) = place(&chain, blocks.path(), height);
    let expected = Index::of(blocks.path(), Driver::Bulk).sums();
    for driver in [Driver::Bulk, Driver::Tip] {
        damage(blocks.path(), location, size, true);
        let mut index = Index::new(&facts(blocks.path()));
        let error = try_sync(&mut index, blocks.path(), driver).unwrap_err();
        match &error {
            PipelineError::Source(SourceError::CorruptBlock { path, offset, hash: h, .. }) => {
                assert!(path.ends_with("blk00000.dat"));
                assert_eq!((*offset, h.0), (location.offset, hash.to_byte_array()));
                assert!(error.to_string().contains("blk00000.dat") && error.to_string().contains(&offset.to_string()));
            }
            other => panic!("{driver:?}: {other:?}"),
        }
        let mut index = index.reopened();
        assert_eq!(index.height(), (driver == Driver::Tip).then_some(height - 1));
        if driver == Driver::Tip {
            index.assert_sound();
            let straight = Index::up_to(blocks.path(), Driver::Bulk, height - 1);
            index.sums().assert_equal(&straight.sums(), "below the damaged block");
        }
        // Repaired, it goes on.
        damage(blocks.path(), location, size, true);
        index.sync(blocks.path(), Driver::Auto);
        index.sums().assert_equal(&expected, "after the file was repaired");
    }
}

/// An index whose bulk run was cut in a phase, opened again.
fn cut_in(phase: Phase, blocks: &Path, options: &SyncOptions) -> Index {
    let mut index = Index::new(&facts(blocks));
    index.engine.set_bulk_sizes(SMALL);
    assert!(is_cut(|| sync_with(&mut index.engine, blocks, options, &Cut::stop(1).of(phase))));
    let mut index = index.reopened();
    index.engine.set_bulk_sizes(SMALL);
    index
}

/// The first pass over the blocks notes their ids for the next one, which hashes nothing but must not be deceived.
#[test]
fn a_block_that_is_damaged_between_two_passes_is_named() {
    let chain = small_chain(91);
    let blocks = temp_dir();
    let (hash, location, size) = place(&chain, blocks.path(), 131);
    let expected = Index::of(blocks.path(), Driver::Bulk).sums();
    for (phase, ignore_undo) in [(Phase::Fold, false), (Phase::Fold, true), (Phase::Coins, true)] {
        let options = SyncOptions { driver: Driver::Bulk, ignore_undo, ..SyncOptions::default() };
        let mut index = cut_in(phase, blocks.path(), &options);
        damage(blocks.path(), location, size, true);
        let error = sync_with(&mut index.engine, blocks.path(), &options, &NoProgress).unwrap_err();
        let PipelineError::Source(SourceError::CorruptBlock { offset, hash: h, .. }) = &error else {
            panic!("{phase:?}: {error:?}");
        };
        assert_eq!((*offset, h.0), (location.offset, hash.to_byte_array()));
        damage(blocks.path(), location, size, true);
        index.sync(blocks.path(), Driver::Auto);
        index.sums().assert_equal(&expected, "after the file was repaired");
    }
}

/// Ids are hashed again where their note is damaged.
#[test]
fn damaged_notes_change_nothing() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(95));
    let expected = Index::of(blocks.path(), Driver::Bulk).sums();
    let mut index = cut_in(Phase::Join, blocks.path(), &SyncOptions::default());
    let mut notes = 0;
    for entry in fs::read_dir(index.path().join("bulk")).unwrap() {
        let path = entry.unwrap().path();
        if path.to_str().unwrap().contains("link-notes") {
            let mut bytes = fs::read(&path).unwrap();
            // Behind the first block's length, height and checksum.
            bytes[20] ^= 1;
            fs::write(&path, &bytes).unwrap();
            notes += 1;
        }
    }
    assert!(notes > 1, "{notes} files of notes");
    index.sync(blocks.path(), Driver::Auto);
    index.sums().assert_equal(&expected, "with damaged notes");
}

#[test]
fn files_that_changed_since_the_survey() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(92));
    let (files, found) = survey(blocks.path(), Network::Regtest);
    // Another chain under the same names.
    write_tidy(blocks.path(), &small_chain(93));
    for driver in [Driver::Bulk, Driver::Tip] {
        let mut index = Index::new(&facts(blocks.path()));
        let options = SyncOptions { driver, ..SyncOptions::default() };
        let error = index.engine.sync(&files, &found, &options, &NoProgress).unwrap_err();
        assert!(matches!(&error, PipelineError::Source(e) if e.is_corruption()), "{driver:?}: {error:?}");
        let mut index = index.reopened();
        index.sync(blocks.path(), driver);
        index.sums().assert_equal(&Index::of(blocks.path(), Driver::Bulk).sums(), "surveyed again");
    }
}

#[test]
fn an_index_of_another_network_is_left_alone() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(94));
    let index = Index::of(blocks.path(), Driver::Bulk);
    let sums = index.sums();
    let Index { engine, dir } = index;
    drop(engine);
    for network in Network::ALL.into_iter().filter(|n| *n != Network::Regtest) {
        let other = Engine::open(dir.path(), &Facts::of(network)).map(drop);
        let Err(PipelineError::WrongNetwork { expected, found }) = &other else { panic!("{other:?}") };
        assert_eq!((*expected, *found), (network.into(), Network::Regtest.into()));
    }
    let index = Index { engine: Engine::open_existing(dir.path()).unwrap(), dir };
    index.sums().assert_equal(&sums, "asked for another network");
    assert_eq!(index.engine.facts(), &facts(blocks.path()));
}

#[test]
fn one_writer_at_a_time() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(95));
    let index = Index::of(blocks.path(), Driver::Bulk);
    let second = Engine::open(index.path(), &facts(blocks.path())).map(drop);
    assert!(matches!(second, Err(PipelineError::Write(WriteError::Locked(_)))), "{second:?}");
    let index = index.reopened();
    index.assert_sound();
    // Reading goes on beside it.
    let reader = Reader::open(&index.path().join("index")).unwrap();
    assert_eq!(Some(reader.view().unwrap().tip().height), index.height());
}

#[test]
fn no_index_and_no_usable_index() {
    let dir = temp_dir();
    let none = Engine::open_existing(dir.path()).map(drop);
    assert!(matches!(none, Err(PipelineError::Read(ReadError::Unusable(_)))), "{none:?}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "looking for an index made one");
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(96));
    let index = Index::of(blocks.path(), Driver::Bulk);
    let Index { engine, dir } = index;
    let (height, hash) = engine.tip().unwrap().unwrap();
    drop(engine);
    // As a program with another journal would leave it, and as this one does.
    for (version, usable) in [(99, false), (CHAIN.version, true)] {
        let writer = Writer::open(&dir.path().join("index")).unwrap();
        let row = Checkpoint { version, ..Checkpoint::of(&CHAIN, height, hash) };
        let fill = |batch: &mut cairn_writer::Batch<'_>| {
            batch.put_row::<Checkpoints>(&"chain".to_owned(), &row);
            Ok(())
        };
        writer.commit::<WriteError>(fill).unwrap();
        writer.flush().unwrap();
        drop(writer);
        match Engine::open_existing(dir.path()).map(drop) {
            Ok(()) => assert!(usable),
            Err(PipelineError::Read(ReadError::StageVersion { stage: "chain", found: 99, .. })) => assert!(!usable),
            Err(other) => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_folder_with_less_work_undoes_nothing() {
    let (trunk, _) = good_start();
    let branch = |tag: u32, blocks: u32| {
        let mut forge = trunk.clone();
        (0..blocks).for_each(|i| {
            forge.block(vec![coinbase(tag + i, vec![pay(1, script(tag))])]);
        });
        forge
    };
    let (ours, shorter, equal, longer) = (branch(1_000, 5), branch(2_000, 3), branch(3_000, 5), branch(4_000, 6));
    let blocks = temp_dir();
    ours.write(blocks.path());
    let mut index = Index::of(blocks.path(), Driver::Bulk);
    let sums = index.sums();
    shorter.write(blocks.path());
    let error = try_sync(&mut index, blocks.path(), Driver::Auto).unwrap_err();
    assert!(matches!(error, PipelineError::LessWork { files: 6, index: 8 }), "{error:?}");
    // The same chain, shorter: nothing to do. A tie: the branch that was there first stays.
    for folder in [&trunk, &equal] {
        folder.write(blocks.path());
        let report = index.sync(blocks.path(), Driver::Auto);
        assert_eq!((report.connected, report.disconnected, report.tip.unwrap().0), (0, 0, 8));
        index.sums().assert_equal(&sums, "nothing changed");
    }
    longer.write(blocks.path());
    let report = index.sync(blocks.path(), Driver::Auto);
    assert_eq!((report.disconnected, report.connected), (5, 6));
    index.view(|view| assert_equal(view, &longer.oracle()));
}

#[test]
fn up_to_a_height() {
    let blocks = temp_dir();
    let chain = small_chain(97);
    write_tidy(blocks.path(), &chain);
    let tip = chain.tip().height;
    for driver in [Driver::Bulk, Driver::Tip] {
        let mut index = Index::new(&facts(blocks.path()));
        let mut to = |to: u32| {
            let options = SyncOptions { driver, to: Some(to), ..SyncOptions::default() };
            let report = sync_with(&mut index.engine, blocks.path(), &options, &NoProgress).unwrap();
            let sums = index.sums();
            (report.tip.unwrap().0, report.connected, sums)
        };
        let (height, connected, _) = to(0);
        assert_eq!((height, connected), (0, 1));
        let (height, connected, sums) = to(119);
        assert_eq!((height, connected), (119, 119));
        sums.assert_equal(&Index::up_to(blocks.path(), Driver::Bulk, 119).sums(), "to 119");
        // Below the tip of the index: nothing to do, nothing undone.
        assert_eq!((to(50).0, to(50).1), (119, 0));
        let (height, _, sums) = to(u32::MAX);
        assert_eq!(height, tip);
        sums.assert_equal(&Index::of(blocks.path(), Driver::Bulk).sums(), "to the end");
    }
}

#[test]
fn a_damaged_working_file_is_named_and_not_used_again() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(98));
    let expected = Index::of(blocks.path(), Driver::Bulk).sums();
    for (phase, pattern) in [
        (Phase::Join, "link-edges"),
        (Phase::Fold, "join-prevouts"),
        (Phase::Fold, "link-notes"),
        (Phase::Tables, "lane-"),
    ] {
        let mut index = cut_in(phase, blocks.path(), &SyncOptions::default());
        let names = fs::read_dir(index.path().join("bulk")).unwrap().map(|entry| entry.unwrap().path());
        let spill = names
            .filter(|p| p.extension() == Some("spill".as_ref()) && p.to_str().unwrap().contains(pattern))
            .max_by_key(|p| fs::metadata(p).unwrap().len());
        let spill = spill.expect("a working file");
        let bytes = fs::read(&spill).unwrap();
        fs::write(&spill, &bytes[..bytes.len() - 1]).unwrap();
        let error = try_sync(&mut index, blocks.path(), Driver::Auto).unwrap_err();
        assert!(matches!(&error, PipelineError::Spill { path, .. } if *path == spill), "{error:?}");
        let mut index = index.reopened();
        index.engine.set_bulk_sizes(SMALL);
        index.sync(blocks.path(), Driver::Auto);
        index.sums().assert_equal(&expected, pattern);
    }
}

/// The database would take it in as it is.
#[test]
fn a_table_file_damaged_between_two_runs_is_made_again() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(97));
    let expected = Index::of(blocks.path(), Driver::Bulk).sums();
    for pattern in ["rows-block_log", "lane-"] {
        let mut index = cut_in(Phase::Tables, blocks.path(), &SyncOptions::default());
        let names = fs::read_dir(index.path().join("bulk")).unwrap().map(|entry| entry.unwrap().path());
        let file = names
            .filter(|p| p.extension() == Some("sst".as_ref()) && p.to_str().unwrap().contains(pattern))
            .max_by_key(|p| fs::metadata(p).unwrap().len());
        let file = file.expect("a table file that was not taken in yet");
        let mut bytes = fs::read(&file).unwrap();
        let at = bytes.len() / 4;
        bytes[at] ^= 1;
        fs::write(&file, bytes).unwrap();
        index.sync(blocks.path(), Driver::Auto);
        index.sums().assert_equal(&expected, pattern);
        index.assert_sound();
    }
}
