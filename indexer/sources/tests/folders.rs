//! Folders that cannot be used: each has its own error.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::fs;

use bitcoin::{blockdata::constants::genesis_block, consensus::serialize};
use cairn_chaingen::{Chain, ChainBuilder, EverythingOptions, corefiles::write_chain, everything};
use cairn_model::{ChainParams, Network};
use cairn_sources::{BlockFiles, Gap, GapCause, Instead, SourceError, SurveyPhase, decode_block};
use common::{open, record, tidy, write, xor};

fn small() -> Chain {
    everything(31, &EverythingOptions { blocks: 110, max_txs: 2, forks: vec![], showpieces: false }).unwrap()
}

#[test]
fn missing_empty_and_foreign() {
    let dir = tempfile::tempdir().unwrap();
    let open = |d: &std::path::Path| BlockFiles::open(d, Network::Regtest);
    assert!(matches!(open(&dir.path().join("nowhere")), Err(SourceError::FolderMissing { .. })));
    assert!(matches!(open(dir.path()), Err(SourceError::FolderEmpty { .. })));
    let file = dir.path().join("file");
    fs::write(&file, b"x").unwrap();
    assert!(matches!(open(&file), Err(SourceError::Io { .. })));
    // Names that look alike, a folder, and zeros allocated ahead are not blocks.
    write(dir.path(), "blk0.dat", b"x");
    write(dir.path(), "blk00000.dat.bak", b"x");
    fs::create_dir(dir.path().join("blk00007.dat")).unwrap();
    assert!(matches!(open(dir.path()), Err(SourceError::FolderEmpty { .. })));
    write(dir.path(), "blk00000.dat", &[0; 5000]);
    assert!(matches!(open(dir.path()), Err(SourceError::FolderEmpty { .. })));
    write(dir.path(), "blk00000.dat", &[7; 5000]);
    assert!(matches!(open(dir.path()), Err(SourceError::UnknownMagic { magic: [7, 7, 7, 7], .. })));
}

#[test]
fn every_other_network_is_named() {
    for network in Network::ALL {
        let dir = tempfile::tempdir().unwrap();
        let raw = serialize(&genesis_block(network.to_bitcoin()));
        let bytes = [&network.magic()[..], &(raw.len() as u32).to_le_bytes(), &raw].concat();
        write(dir.path(), "blk00000.dat", &bytes);
        for asked in Network::ALL {
            match BlockFiles::open(dir.path(), asked) {
                Ok(files) => {
                    assert_eq!(asked, network);
                    let survey = files.survey(&|_| {}).unwrap();
                    assert_eq!((survey.len(), survey.tip().unwrap().hash), (1, files.genesis()));
                }
                Err(SourceError::WrongNetwork { expected, found, .. }) => {
                    assert_eq!((expected, found), (asked.into(), network));
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
}

#[test]
fn signets_are_distinguished_by_their_magic() {
    let signet = |challenge: &str| ChainParams::signet(challenge.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let raw = serialize(&genesis_block(bitcoin::Network::Signet));
    let start = |magic: [u8; 4]| [&magic[..], &(raw.len() as u32).to_le_bytes(), &raw].concat();
    let ours = signet("51");
    assert_eq!(ours.magic(), [0x54, 0xd2, 0x6f, 0xbd]);
    let key = [9, 8, 7, 6, 5, 4, 3, 2];
    let mut bytes = start(ours.magic());
    common::xor(&mut bytes, key);
    write(dir.path(), "blk00000.dat", &bytes);
    // Without the key, or with a wrong one, the key is found by the magic of the expected signet.
    let error = BlockFiles::open(dir.path(), ours).unwrap_err();
    assert!(matches!(&error, SourceError::WrongXorKey { key: found, .. } if *found == key), "{error}");
    write(dir.path(), "xor.dat", &key);
    let files = BlockFiles::open(dir.path(), ours).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    assert_eq!((survey.len(), survey.tip().unwrap().hash), (1, files.genesis()));
    assert_eq!(files.network(), Network::Signet);
    for (asked, named) in [
        (signet("52"), "the signet with challenge 52, which has magic 2c798194"),
        (Network::Signet.into(), "the default signet, which has magic 0a03cf40"),
        (Network::Regtest.into(), "regtest, which has magic fabfb5da"),
    ] {
        let error = BlockFiles::open(dir.path(), asked).unwrap_err();
        assert!(matches!(&error, SourceError::OtherSignet { expected, .. } if *expected == asked), "{error}");
        assert!(error.to_string().ends_with(&format!("a signet with magic 54d26fbd, not of {named}")), "{error}");
    }
    // Blocks of the default signet are named as such.
    let mut bytes = start(Network::Signet.magic());
    common::xor(&mut bytes, key);
    write(dir.path(), "blk00000.dat", &bytes);
    let error = BlockFiles::open(dir.path(), ours).unwrap_err();
    assert!(matches!(&error, SourceError::WrongNetwork { found: Network::Signet, .. }), "{error}");
    let said = "these are blocks of the default signet, not of the signet with challenge 51";
    assert!(error.to_string().ends_with(said), "{error}");
}

#[test]
fn pruned_and_without_genesis() {
    let dir = tempfile::tempdir().unwrap();
    let mut layout = tidy([0; 8]);
    layout.files.max_file_size = 10_000;
    write_chain(dir.path(), &small(), &layout).unwrap();
    fs::remove_file(dir.path().join("blk00000.dat")).unwrap();
    let error = BlockFiles::open(dir.path(), Network::Regtest).unwrap_err();
    assert!(matches!(error, SourceError::Pruned { first_file: 1, .. }), "{error}");

    let dir = tempfile::tempdir().unwrap();
    let chain = small();
    let bytes: Vec<u8> = chain.arrivals()[1..].iter().flat_map(|m| record(&serialize(&m.block))).collect();
    write(dir.path(), "blk00000.dat", &bytes);
    assert!(matches!(open(dir.path()).survey(&|_| {}), Err(SourceError::NoGenesis { .. })));
}

#[test]
fn a_missing_file_in_the_middle_shortens_the_chain() {
    let dir = tempfile::tempdir().unwrap();
    let mut layout = tidy([0; 8]);
    layout.files.max_file_size = 10_000;
    let chain = small();
    write_chain(dir.path(), &chain, &layout).unwrap();
    let whole = common::survey(&open(dir.path()));
    let first = whole.blocks(0..u32::MAX).find(|b| b.file == 1).unwrap();
    fs::remove_file(dir.path().join("blk00001.dat")).unwrap();
    let survey = common::survey(&open(dir.path()));
    assert_eq!(survey.len(), first.height as usize);
    let stats = survey.stats();
    assert_eq!(stats.missing_files, 1);
    assert!(stats.orphan_blocks > 0 && stats.missing_parents.len() == 1, "{stats:?}");
    let cause = Some(GapCause::Missing { file: 1, files: 1, instead: Instead::Nothing });
    let (after, orphan_blocks) = (first.height - 1, stats.orphan_blocks);
    let beyond = Some(chain.tip().height);
    let tip = survey.tip().unwrap();
    let end = cairn_sources::DamagedPlace { file: tip.file, offset: tip.offset + u64::from(tip.size) };
    assert_eq!(survey.gap(), Some(&Gap { after, end, orphan_blocks, cause, beyond, certain: true }));
}

#[test]
fn xor_keys_that_do_not_fit() {
    let key = [0x11, 0x22, 0, 0x44, 0x55, 0x66, 0x77, 0x88];
    let chain = small();
    let dir = tempfile::tempdir().unwrap();
    write_chain(dir.path(), &chain, &tidy(key)).unwrap();
    common::check_against(&open(dir.path()), &common::survey(&open(dir.path())), &chain);
    let open = || BlockFiles::open(dir.path(), Network::Regtest);
    // Lost, or of another folder: the key is found from genesis.
    for other in [None, Some([9u8; 8])] {
        match other {
            None => fs::remove_file(dir.path().join("xor.dat")).unwrap(),
            Some(k) => fs::write(dir.path().join("xor.dat"), k).unwrap(),
        }
        let error = open().unwrap_err();
        assert!(matches!(error, SourceError::WrongXorKey { key: k, .. } if k == key), "{error}");
        assert!(error.to_string().contains("1122004455667788"), "{error}");
    }
    for len in [0, 7, 9] {
        fs::write(dir.path().join("xor.dat"), vec![1; len]).unwrap();
        assert!(matches!(open(), Err(SourceError::BadXorKey { len: l, .. }) if l == len as u64));
    }
    // Zeros allocated ahead were never XORed.
    fs::write(dir.path().join("xor.dat"), key).unwrap();
    let path = dir.path().join("blk00000.dat");
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len();
    bytes.resize(end + 100_000, 0);
    fs::write(&path, &bytes).unwrap();
    let survey = common::survey(&open().unwrap());
    assert_eq!((survey.len(), survey.stats().zero_bytes), (chain.active().len(), 100_000));
    // The same zeros under the key are rubbish.
    let mut tail = bytes.clone();
    xor(&mut tail, key);
    bytes[end..].copy_from_slice(&tail[end..]);
    fs::write(&path, &bytes).unwrap();
    let survey = common::survey(&open().unwrap());
    assert_eq!((survey.len(), survey.stats().garbage_bytes), (chain.active().len(), 100_000));
}

#[test]
fn links_to_files_count_links_to_other_things_do_not() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut layout = tidy([0; 8]);
    layout.files.max_file_size = 10_000;
    let chain = small();
    write_chain(dir.path(), &chain, &layout).unwrap();
    fs::rename(dir.path().join("blk00001.dat"), elsewhere.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("moved"), dir.path().join("blk00001.dat")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", dir.path().join("blk99999.dat")).unwrap();
    std::os::unix::fs::symlink("nowhere", dir.path().join("blk99998.dat")).unwrap();
    let files = open(dir.path());
    common::check_against(&files, &common::survey(&files), &chain);
}

#[test]
fn a_tie_goes_to_the_block_that_came_first() {
    let mut builder = ChainBuilder::new(3);
    for _ in 0..5 {
        builder.mine(&Default::default()).unwrap();
    }
    let first = common::hash_of(builder.head());
    let base = builder.ancestor(1);
    builder.checkout(&base).unwrap();
    builder.mine(&Default::default()).unwrap();
    let records: Vec<_> = builder.chain().arrivals().iter().map(|m| record(&serialize(&m.block))).collect();
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "blk00000.dat", &records.concat());
    let files = open(dir.path());
    assert_eq!(common::survey(&files).tip().unwrap().hash, first);
    // And an older tip stays, wherever its rival turns up.
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "blk00000.dat", &[&records[..5].concat()[..], &[0; 4096]].concat());
    write(dir.path(), "blk00001.dat", &records[5]);
    let files = open(dir.path());
    let mut survey = common::survey(&files);
    assert_eq!(survey.tip().unwrap().hash, first);
    write(dir.path(), "blk00000.dat", &[&records[..5].concat()[..], &records[6]].concat());
    assert!(!survey.refresh(&files).unwrap().changed());
    assert_eq!(survey.tip().unwrap().hash, first);
    assert_eq!(survey.stats().stale_blocks, 1);
}

#[test]
fn progress_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut layout = tidy([0; 8]);
    layout.files.max_file_size = 10_000;
    write_chain(dir.path(), &small(), &layout).unwrap();
    let told = std::cell::RefCell::new(Vec::new());
    let survey = open(dir.path()).survey(&|p| told.borrow_mut().push(p)).unwrap();
    let told = told.into_inner();
    let last = |phase| *told.iter().rfind(|p| p.phase == phase).unwrap();
    let blocks = last(SurveyPhase::Blocks);
    assert_eq!((blocks.files_done as u64, blocks.blocks), (survey.stats().files, survey.stats().blocks));
    assert_eq!(last(SurveyPhase::Undo).files_done, last(SurveyPhase::Undo).files_total);
}

/// A file that disappears after it was surveyed keeps its blocks on the chain, and is reported. So is the lack of files
/// before others of which the chain uses none. A file without blocks under a high number is neither.
#[test]
fn files_that_disappear_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut layout = tidy([0; 8]);
    layout.files.max_file_size = 10_000;
    let written = write_chain(dir.path(), &small(), &layout).unwrap();
    let files = open(dir.path());
    let mut survey = common::survey(&files);
    let blocks = survey.len();
    fs::write(dir.path().join("blk99999.dat"), [0; 5_000]).unwrap();
    survey.refresh(&files).unwrap();
    assert_eq!((survey.gap(), survey.stats().missing_files), (None, 100_000 - u64::from(written.files) - 1));
    fs::remove_file(dir.path().join("blk99999.dat")).unwrap();
    let last = written.files - 1;
    let path = files.block_path(last);
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    survey.refresh(&files).unwrap();
    let gap = survey.gap().unwrap();
    let Some(GapCause::Missing { file, instead: Instead::Nothing, .. }) = gap.cause else { panic!("{gap:?}") };
    assert_eq!((file, gap.orphan_blocks, gap.beyond, survey.len()), (last, 0, None, blocks));
    fs::write(&path, bytes).unwrap();
    survey.refresh(&files).unwrap();
    assert_eq!((survey.gap(), survey.len()), (None, blocks));
    fs::write(dir.path().join("blk99999.dat"), [9; 5_000]).unwrap();
    assert!(common::survey(&files).gap().unwrap().certain);
}

#[test]
fn sizes_leave_out_what_is_allocated_and_not_written() {
    let chain = small();
    let (plain, allocated) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut layout = tidy([3; 8]);
    layout.files.max_file_size = 20_000;
    let written = write_chain(plain.path(), &chain, &layout).unwrap();
    layout.files.preallocate = true;
    write_chain(allocated.path(), &chain, &layout).unwrap();
    let expected = open(plain.path()).sizes().unwrap();
    let lengths = |prefix: &str| -> u64 {
        let files = fs::read_dir(plain.path()).unwrap().map(|entry| entry.unwrap());
        files.filter(|f| f.file_name().to_str().unwrap().starts_with(prefix)).map(|f| f.metadata().unwrap().len()).sum()
    };
    assert!(written.files > 2 && expected.block_files == u64::from(written.files), "{expected:?}");
    assert_eq!((expected.block_bytes, expected.unwritten_bytes), (lengths("blk"), 0));
    assert_eq!(expected.undo_bytes, lengths("rev"));
    let found = open(allocated.path()).sizes().unwrap();
    assert_eq!(found.block_bytes, expected.block_bytes);
    assert!(found.unwritten_bytes > 1 << 20, "{found:?}");
    // A file that ends in the middle of a record, or has something else in it, counts with its length.
    let last = plain.path().join(format!("blk{:05}.dat", written.files - 1));
    let mut bytes = fs::read(&last).unwrap();
    bytes.truncate(bytes.len() - 3);
    fs::write(&last, &bytes).unwrap();
    assert_eq!(open(plain.path()).sizes().unwrap().block_bytes, expected.block_bytes - 3);
    fs::write(&last, [7; 5_000]).unwrap();
    assert_eq!(open(plain.path()).sizes().unwrap().unwritten_bytes, 0);
}

#[test]
fn samples_are_whole_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let chain = small();
    write_chain(dir.path(), &chain, &tidy([9; 8])).unwrap();
    let files = open(dir.path());
    let sample = |max_bytes: u64| {
        let mut hashes = vec![];
        files.sample(0, max_bytes, &mut |raw| hashes.push(decode_block(raw, 8).unwrap().hash)).unwrap();
        hashes
    };
    let all = sample(u64::MAX);
    assert_eq!((all.len(), all[0]), (chain.tip().height as usize + 1, files.genesis()));
    assert_eq!(sample(286), all[..2], "a block that begins before the limit is passed");
    assert_eq!(sample(0).len(), 0);
    // A record that is cut off is left out.
    let path = dir.path().join("blk00000.dat");
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - 1);
    fs::write(&path, bytes).unwrap();
    assert_eq!(sample(u64::MAX), all[..all.len() - 1]);
}
