//! Undo data that is missing, old, damaged, or lies: the index is the same, or the error is typed. Never other rows.

use std::{collections::HashMap, fs, path::Path};

use bitcoin::{Amount, BlockHash, consensus::serialize, hashes::Hash};
use cairn_chaingen::{
    Chain, Coin,
    corefiles::{FileOptions, Layout, Writer, write_chain, write_undo},
};
use cairn_pipeline::{Driver, NoProgress, PipelineError, SyncOptions};
use cairn_sources::SourceError;
use cairn_testkit::temp_dir;
use rand::{Rng, SeedableRng, seq::IteratorRandom};
use rand_chacha::ChaCha8Rng;

use crate::{compare::assert_equal, interrupted::SMALL, support::*};

fn bulk(blocks: &Path, ignore_undo: bool) -> Index {
    let mut index = Index::new(&facts(blocks));
    index.engine.set_bulk_sizes(SMALL);
    let options = SyncOptions { ignore_undo, ..SyncOptions::default() };
    assert!(sync_with(&mut index.engine, blocks, &options, &NoProgress).unwrap().bulk);
    index
}

fn rev_files(blocks: &Path) -> Vec<std::path::PathBuf> {
    let files = fs::read_dir(blocks).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("rev")).collect();
    files.sort();
    files
}

#[test]
fn with_fewer_and_fewer_undo_files() {
    let blocks = temp_dir();
    let chain = small_chain(41);
    let files = FileOptions { max_file_size: 12_000, ..file_options() };
    write_chain(blocks.path(), &chain, &Layout::tidy(files)).unwrap();
    let expected = bulk(blocks.path(), false);
    expected.view(|view| assert_equal(view, &oracle_of(&chain)));
    let expected = expected.sums();
    bulk(blocks.path(), true).sums().assert_equal(&expected, "undo data ignored");
    let rng = &mut ChaCha8Rng::seed_from_u64(41);
    assert!(rev_files(blocks.path()).len() > 5);
    while let Some(path) = rev_files(blocks.path()).into_iter().choose(rng) {
        // Gone, cut short, or empty.
        match rng.random_range(0..3) {
            0 => fs::remove_file(&path).unwrap(),
            1 => fs::write(&path, &fs::read(&path).unwrap()[..20]).unwrap(),
            _ => fs::write(&path, []).unwrap(),
        }
        let left = rev_files(blocks.path()).len();
        bulk(blocks.path(), false).sums().assert_equal(&expected, &format!("{left} undo files left"));
        if fs::metadata(&path).is_ok() {
            fs::remove_file(&path).unwrap();
        }
    }
}

#[test]
fn undo_data_of_old_nodes_lacks_heights() {
    for old_undo_every in [1, 2, 40] {
        let blocks = temp_dir();
        let chain = small_chain(42);
        write_tidy(blocks.path(), &chain);
        let expected = bulk(blocks.path(), false).sums();
        write_chain(blocks.path(), &chain, &Layout { old_undo_every, ..Layout::tidy(file_options()) }).unwrap();
        let what = format!("every {old_undo_every}th record is old");
        bulk(blocks.path(), false).sums().assert_equal(&expected, &what);
        Index::of(blocks.path(), Driver::Tip).sums().assert_equal(&expected, &what);
    }
}

/// Writes the active chain, its undo data changed by `change`: checksums are right, so only the content shows it.
fn write_changed(dir: &Path, chain: &Chain, mut change: impl FnMut(&BlockHash, &mut Vec<Vec<Coin>>)) {
    let mut writer = Writer::create(dir, file_options()).unwrap();
    for mined in chain.active() {
        let place = writer.block(&serialize(&mined.block)).unwrap();
        if mined.block.header.prev_blockhash != BlockHash::all_zeros() {
            let (mut spent, mut undo) = (mined.spent.clone(), Vec::new());
            change(&mined.hash(), &mut spent);
            write_undo(&mut undo, &spent);
            writer.undo(place.file, &mined.block.header.prev_blockhash, &undo).unwrap();
        }
    }
    writer.finish().unwrap();
}

/// A lie about one coin.
type Lie = fn(&mut Coin);

const LIES: [(&str, Lie); 11] = [
    ("a satoshi more", |c| c.txout.value = Amount::from_sat(c.txout.value.to_sat() + 1)),
    ("a satoshi less", |c| c.txout.value = Amount::from_sat(c.txout.value.to_sat().saturating_sub(1))),
    ("all money", |c| c.txout.value = Amount::MAX_MONEY),
    ("no money", |c| c.txout.value = Amount::ZERO),
    ("another script", |c| c.txout.script_pubkey = cairn_support::forge::script(0xdead)),
    ("no script", |c| c.txout.script_pubkey = bitcoin::ScriptBuf::new()),
    ("a block older", |c| c.height = c.height.saturating_sub(1).max(1)),
    ("a block younger", |c| c.height += 1),
    ("no height", |c| (c.height, c.coinbase) = (0, false)),
    ("other coinbase flag", |c| c.coinbase = !c.coinbase),
    ("OP_RETURN", |c| c.txout.script_pubkey = bitcoin::ScriptBuf::from_bytes(vec![0x6a])),
];

#[test]
fn undo_data_that_lies_changes_nothing() {
    for (seed, (name, lie)) in (43..).zip(LIES) {
        let chain = small_chain(seed);
        let blocks = temp_dir();
        write_changed(blocks.path(), &chain, |_, _| {});
        let expected = bulk(blocks.path(), false).sums();
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let spending: Vec<BlockHash> =
            chain.active().iter().filter(|m| !m.spent.is_empty()).map(|m| m.hash()).collect();
        let liar = *spending.iter().choose(rng).unwrap();
        let mut lies = 0;
        write_changed(blocks.path(), &chain, |block, spent| {
            if *block == liar {
                let coin = spent.iter_mut().flatten().choose(rng).unwrap();
                let truth = coin.clone();
                lie(coin);
                lies += u32::from(*coin != truth);
            }
        });
        let what = format!("seed {seed}, {name} in block {liar}");
        let mut index = Index::new(&facts(blocks.path()));
        match sync_with(&mut index.engine, blocks.path(), &SyncOptions::default(), &NoProgress) {
            Ok(report) => {
                assert!(report.bulk);
                index.sums().assert_equal(&expected, &what);
                index.assert_sound();
            }
            // Younger than its block: the record itself is wrong, and named.
            Err(PipelineError::Source(SourceError::CorruptUndo { path, .. })) => {
                assert!(name == "a block younger" && path.ends_with("rev00000.dat"), "{what}");
                let without = SyncOptions { ignore_undo: true, ..SyncOptions::default() };
                sync_with(&mut index.engine, blocks.path(), &without, &NoProgress).unwrap();
                index.sums().assert_equal(&expected, &what);
            }
            Err(e) => panic!("{what}: {e}"),
        }
        // The tip does not ask undo data at all.
        Index::of(blocks.path(), Driver::Tip).sums().assert_equal(&expected, &what);
        assert_eq!(lies, u32::from(lies > 0), "{what}");
    }
}

#[test]
fn coins_of_one_block_in_another_order() {
    let chain = small_chain(60);
    let blocks = temp_dir();
    write_changed(blocks.path(), &chain, |_, _| {});
    let expected = bulk(blocks.path(), false).sums();
    let mut swapped = HashMap::new();
    write_changed(blocks.path(), &chain, |block, spent| {
        let coins: Vec<Coin> = spent.iter().flatten().rev().cloned().collect();
        if coins.len() > 1 && coins.first() != coins.last() {
            swapped.insert(*block, coins.len());
            for (coin, other) in spent.iter_mut().flatten().zip(coins) {
                *coin = other;
            }
        }
    });
    assert!(!swapped.is_empty());
    bulk(blocks.path(), false).sums().assert_equal(&expected, "coins in another order");
}

#[test]
fn a_damaged_undo_record_is_named() {
    let chain = small_chain(61);
    let blocks = temp_dir();
    write_changed(blocks.path(), &chain, |_, _| {});
    let expected = bulk(blocks.path(), false).sums();
    let path = blocks.path().join("rev00000.dat");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(&path, bytes).unwrap();
    let mut index = Index::new(&facts(blocks.path()));
    match sync_with(&mut index.engine, blocks.path(), &SyncOptions::default(), &NoProgress) {
        Err(PipelineError::Source(SourceError::CorruptUndo { path, offset, .. })) => {
            assert!(path.ends_with("rev00000.dat") && offset <= middle as u64, "{offset} for damage at {middle}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(index.height(), None);
    fs::remove_file(&path).unwrap();
    index.sync(blocks.path(), Driver::Auto);
    index.sums().assert_equal(&expected, "after the damaged file was removed");
}
