//! Generated chains, written the way nodes leave them, read back whole.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod common;

use cairn_chaingen::{
    Chain, Everything, EverythingOptions,
    corefiles::{Layout, write_chain},
    everything,
};
use cairn_sources::{BlockFiles, Survey};
use common::{check_against, open, survey, tidy};

const KEY: [u8; 8] = [0x1f, 0, 0xfa, 7, 0x55, 0xbf, 0xff, 1];

fn chain(seed: u64) -> Chain {
    let options = EverythingOptions { blocks: 130, max_txs: 5, forks: vec![1, 2, 7, 20], showpieces: false };
    everything(seed, &options).unwrap()
}

fn written(chain: &Chain, layout: &Layout) -> (tempfile::TempDir, BlockFiles, Survey) {
    let dir = tempfile::tempdir().unwrap();
    write_chain(dir.path(), chain, layout).unwrap();
    let files = open(dir.path());
    let survey = survey(&files);
    (dir, files, survey)
}

#[test]
fn tidy_files_with_every_kind_of_transaction() {
    let options = EverythingOptions { blocks: 160, max_txs: 8, forks: vec![3], showpieces: true };
    let chain = everything(11, &options).unwrap();
    for key in [[0; 8], KEY] {
        let (_dir, files, survey) = written(&chain, &tidy(key));
        assert_eq!(files.xor_key(), key);
        assert_eq!(survey.tip().unwrap().hash, common::hash_of(chain.tip()));
        assert_eq!(check_against(&files, &survey, &chain), survey.len() - 1);
        let stats = survey.stats();
        assert_eq!(stats.blocks, chain.arrivals().len() as u64);
        assert_eq!(stats.stale_blocks, stats.blocks - stats.chain_blocks);
        assert_eq!((stats.orphan_blocks, stats.duplicates, stats.half_written, stats.damaged), (0, 0, 0, 0));
        assert_eq!((stats.resyncs, stats.missing_undo, stats.missing_undo_files, stats.unfinished), (0, 0, 0, 0));
        assert_eq!(files.unusable_undo(), 0);
    }
}

#[test]
fn several_files_out_of_order_with_stale_branches() {
    for seed in 0..4 {
        let chain = chain(seed);
        let mut layout = tidy(KEY);
        layout.files.max_file_size = 40_000;
        layout.files.preallocate = true;
        layout.shuffle = if seed == 0 { 0 } else { 30 };
        layout.seed = seed;
        let (_dir, files, survey) = written(&chain, &layout);
        println!("seed {seed}");
        assert!(survey.stats().files > 2);
        assert_eq!(check_against(&files, &survey, &chain), survey.len() - 1);
        assert!(survey.stats().zero_bytes > 0);
    }
}

#[test]
fn duplicates_halves_and_strays() {
    for seed in 0..6 {
        println!("seed {seed}");
        let chain = chain(100 + seed);
        let mut layout = tidy(if seed % 2 == 0 { KEY } else { [0; 8] });
        layout.files.max_file_size = 60_000;
        layout.files.preallocate = seed % 3 == 0;
        layout.shuffle = seed as u32 * 5;
        layout.seed = seed;
        layout.duplicate_every = 3;
        layout.half_every = 4;
        layout.stray_every = 5;
        let (_dir, files, survey) = written(&chain, &layout);
        assert_eq!(check_against(&files, &survey, &chain), survey.len() - 1);
        let stats = survey.stats();
        assert_eq!(stats.blocks, chain.arrivals().len() as u64);
        assert_eq!(stats.orphan_blocks, 0);
        assert!(stats.duplicates >= stats.blocks / 4, "{stats:?}");
        assert!(stats.half_written + stats.damaged > 20, "{stats:?}");
        assert!(stats.garbage_bytes > 0 && stats.resyncs > 20, "{stats:?}");
    }
}

#[test]
fn deep_forks_keep_their_undo_data_apart() {
    // Both branches share transactions, and many blocks hold one or two: siblings look alike.
    let mut generator = Everything::new(5, 2, false);
    generator.grow(130).unwrap();
    for depth in [1, 1, 1, 2, 3, 30] {
        generator.fork(depth, depth + 1).unwrap();
        generator.fork(1, 1).unwrap();
        generator.grow(2).unwrap();
        generator.fork(2, 2).unwrap();
        generator.grow(1).unwrap();
    }
    let chain = generator.into_chain();
    let (_dir, files, survey) = written(&chain, &tidy(KEY));
    assert_eq!(check_against(&files, &survey, &chain), survey.len() - 1);
}

#[test]
fn missing_undo_is_counted() {
    let chain = chain(7);
    let mut layout = tidy(KEY);
    layout.files.max_file_size = 40_000;
    let dir = tempfile::tempdir().unwrap();
    write_chain(dir.path(), &chain, &layout).unwrap();
    std::fs::remove_file(dir.path().join("rev00001.dat")).unwrap();
    let files = open(dir.path());
    let one_missing = survey(&files);
    let in_file = one_missing.blocks(1..u32::MAX).filter(|b| b.file == 1).count();
    let stats = one_missing.stats();
    assert_eq!((stats.missing_undo_files, stats.missing_undo as usize), (1, in_file));
    assert_eq!(check_against(&files, &one_missing, &chain), one_missing.len() - 1 - in_file);

    layout.files.undo = false;
    let (_dir, files, survey) = written(&chain, &layout);
    assert_eq!(check_against(&files, &survey, &chain), 0);
    assert_eq!(survey.stats().missing_undo, survey.len() as u64 - 1);
    let with_chain: std::collections::BTreeSet<u32> = survey.blocks(1..u32::MAX).map(|b| b.file).collect();
    assert_eq!(survey.stats().missing_undo_files as usize, with_chain.len());
}

#[test]
fn undo_without_heights_is_as_good_as_none() {
    let chain = chain(8);
    let layout = Layout { old_undo_every: 3, ..tidy(KEY) };
    let (_dir, files, survey) = written(&chain, &layout);
    let read = check_against(&files, &survey, &chain);
    assert!(files.unusable_undo() > 0);
    assert_eq!(read as u64 + files.unusable_undo(), survey.len() as u64 - 1);
}

#[test]
fn undo_files_with_holes_and_leftovers() {
    // The first half of the records is gone, as after a crash; behind the end lies the rest of an older file.
    let chain = chain(9);
    let dir = tempfile::tempdir().unwrap();
    let written = write_chain(dir.path(), &chain, &tidy([0; 8])).unwrap();
    let path = dir.path().join("rev00000.dat");
    let mut bytes = std::fs::read(&path).unwrap();
    let (third, half) = (bytes.len() / 3, bytes.len() / 2);
    let leftover = bytes[third..half].to_vec();
    bytes[..half].fill(0);
    bytes.extend(&leftover);
    std::fs::write(&path, &bytes).unwrap();
    let files = open(dir.path());
    let survey = survey(&files);
    let mut expected = 0;
    for (i, (hash, place)) in written.undo.iter().enumerate() {
        let start = place.offset as usize - 8;
        let end = written.undo.get(i + 1).map_or(usize::MAX, |(_, next)| next.offset as usize - 8);
        let there = start >= half || (start >= third && end <= half);
        let hash = cairn_model::BlockHash(bitcoin::hashes::Hash::to_byte_array(*hash));
        expected += usize::from(there && survey.height_of(&hash).is_some());
    }
    assert!(expected > 10, "{expected}");
    // Each record that is used is the block's own. A record without a certain block (a coinbase-only block's says
    // nothing, and a sibling's has the same checksum) may count as missing in a file as disturbed as this.
    let used = check_against(&files, &survey, &chain);
    assert!(used <= expected && used * 10 >= expected * 9, "{used} of {expected}");
    assert_eq!(survey.stats().missing_undo as usize, survey.len() - 1 - used);
}
