//! Files that a node goes on writing while they are read, and crashes of that node.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod common;

use std::{fs, io::Write, path::Path};

use bitcoin::consensus::serialize;
use cairn_chaingen::{Chain, Everything, EverythingOptions, corefiles::write_chain, everything};
use cairn_sources::{BlockFiles, Refreshed};
use common::{check_against, hash_of, open, record, survey, tidy, write};

fn small(seed: u64) -> Chain {
    let options = EverythingOptions { blocks: 125, max_txs: 4, forks: vec![2], showpieces: false };
    everything(seed, &options).unwrap()
}

fn records(chain: &Chain) -> Vec<Vec<u8>> {
    chain.arrivals().iter().map(|m| record(&serialize(&m.block))).collect()
}

fn append(dir: &Path, file: &str, bytes: &[u8]) {
    fs::OpenOptions::new().append(true).create(true).open(dir.join(file)).unwrap().write_all(bytes).unwrap();
}

#[test]
fn every_cut_of_the_last_record_is_harmless() {
    let chain = small(1);
    let records = records(&chain);
    let dir = tempfile::tempdir().unwrap();
    let n = 100;
    let stem = records[..n].concat();
    let last = &records[n];
    for preallocated in [0usize, 4096] {
        for cut in 0..last.len() {
            let mut bytes = [&stem[..], &last[..cut]].concat();
            bytes.resize(bytes.len() + preallocated, 0);
            write(dir.path(), "blk00000.dat", &bytes);
            let files = open(dir.path());
            let mut survey = survey(&files);
            // Lock time zero and zeros allocated ahead: the end of a block can be complete by accident.
            let complete = cut < last.len() && preallocated > 0 && last[cut..].iter().all(|b| *b == 0);
            assert_eq!(survey.len(), n + usize::from(complete), "cut {cut} preallocated {preallocated}");
            // The node finishes the record and writes another.
            let mut bytes = [&stem[..], last, &records[n + 1]].concat();
            bytes.resize(bytes.len() + preallocated, 0);
            write(dir.path(), "blk00000.dat", &bytes);
            let refreshed = survey.refresh(&files).unwrap();
            assert_eq!(
                refreshed,
                Refreshed { kept: n + usize::from(complete), before: n + usize::from(complete), after: n + 2 },
                "cut {cut}"
            );
            let stats = survey.stats();
            assert_eq!((stats.unfinished, stats.half_written, stats.damaged), (0, 0, 0), "cut {cut}");
        }
    }
}

#[test]
fn two_cursors_new_files_and_reorganizations() {
    // Odd blocks go to one file and even ones to another, as with two chain states.
    let chain = small(2);
    let records = records(&chain);
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "blk00000.dat", &records[0]);
    let files = open(dir.path());
    let mut survey = survey(&files);
    let mut reorganized = 0;
    for (i, bytes) in records.iter().enumerate().skip(1) {
        let file = match i {
            0..50 => "blk00000.dat",
            _ if i % 2 == 0 => "blk00003.dat",
            _ => "blk00001.dat",
        };
        append(dir.path(), file, bytes);
        if i % 3 == 0 {
            let refreshed = survey.refresh(&files).unwrap();
            let active = chain.active_after(i + 1);
            assert_eq!(survey.len(), active.len());
            assert_eq!(refreshed.after, active.len());
            assert_eq!(survey.tip().unwrap().hash, hash_of(active[active.len() - 1]));
            reorganized += usize::from(refreshed.kept < refreshed.before);
        }
    }
    survey.refresh(&files).unwrap();
    assert!(reorganized > 0);
    check_against(&files, &survey, &chain);
    assert!(!survey.refresh(&files).unwrap().changed());
    assert_eq!(survey.stats().missing_files, 1);
}

#[test]
fn undo_that_comes_later_is_found() {
    let chain = small(3);
    let whole = tempfile::tempdir().unwrap();
    write_chain(whole.path(), &chain, &tidy([0; 8])).unwrap();
    let undo = fs::read(whole.path().join("rev00000.dat")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    fs::copy(whole.path().join("blk00000.dat"), dir.path().join("blk00000.dat")).unwrap();
    let files = open(dir.path());
    let mut survey = survey(&files);
    assert_eq!(check_against(&files, &survey, &chain), 0);
    let mut last = 0;
    for part in 1..=8 {
        let mut bytes = undo[..undo.len() * part / 8].to_vec();
        bytes.resize(1 << 20, 0);
        write(dir.path(), "rev00000.dat", &bytes);
        assert!(!survey.refresh(&files).unwrap().changed());
        let found = check_against(&files, &survey, &chain);
        assert!(found > last, "{part}");
        last = found;
    }
    assert_eq!(last, survey.len() - 1);
}

#[test]
fn a_restarted_node_writes_over_its_last_records() {
    let mut generator = Everything::new(4, 3, false);
    generator.grow(110).unwrap();
    let old = records(generator.chain());
    generator.fork(5, 9).unwrap();
    let chain = generator.into_chain();
    let all = records(&chain);
    let keep = old.len() - 5;
    for shift in [0, 1, 40, 300] {
        // The last five records are overwritten by others; what is longer sticks out at the end.
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "blk00000.dat", &old.concat());
        let files = open(dir.path());
        let mut survey = survey(&files);
        assert_eq!(survey.len(), old.len());
        let mut bytes = old.concat();
        let at = old[..keep].concat().len();
        let new = all[old.len()..].concat();
        bytes.truncate(at + new.len().min(bytes.len() - at) + shift);
        bytes.resize(bytes.len().max(at + new.len()), 0);
        bytes[at..at + new.len()].copy_from_slice(&new);
        write(dir.path(), "blk00000.dat", &bytes);
        survey.refresh(&files).unwrap();
        assert_eq!(survey.tip().unwrap().hash, hash_of(chain.tip()), "shift {shift}");
        check_against(&files, &survey, &chain);
    }
}

#[test]
fn the_good_one_of_two_copies_is_used() {
    let chain = small(6);
    let records = records(&chain);
    let spoiled = 60;
    for twist in [90, 110, records[spoiled].len() - 1] {
        let mut bad = records[spoiled].clone();
        bad[twist] ^= 0x40;
        let mut all: Vec<&[u8]> = records.iter().map(|r| &r[..]).collect();
        all.insert(spoiled, &bad);
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "blk00000.dat", &all.concat());
        let files = open(dir.path());
        let mut survey = survey(&files);
        check_against(&files, &survey, &chain);
        assert_eq!(survey.stats().duplicates, 1);
        assert!(!survey.refresh(&files).unwrap().changed());
        assert_eq!(survey.stats().duplicates, 1);
    }
}

#[test]
fn corruption_inside_the_chain_names_file_and_offset() {
    let options = EverythingOptions { blocks: 125, max_txs: 4, forks: vec![], showpieces: false };
    let chain = everything(7, &options).unwrap();
    let dir = tempfile::tempdir().unwrap();
    write_chain(dir.path(), &chain, &tidy([0; 8])).unwrap();
    // The tip's undo record is among those that the survey itself looks at, that of 115 is not.
    for height in [115, 125] {
        corrupt_everywhere(dir.path(), height);
    }
}

fn corrupt_everywhere(dir: &Path, height: u32) {
    let files = open(dir);
    let clean = survey(&files);
    let target = clean.block(height).unwrap();
    let path = dir.join("blk00000.dat");
    let original = fs::read(&path).unwrap();
    let mut buf = vec![];
    for i in 81..u64::from(target.size) - 4 {
        let mut bytes = original.clone();
        bytes[(target.offset + i) as usize] ^= 0x10;
        fs::write(&path, &bytes).unwrap();
        let survey = survey(&files);
        if Some(target) == clean.tip() {
            // The last record of the last file may still be being written: not there yet, and said.
            assert_eq!(survey.len() + 1, clean.len());
            let stats = survey.stats();
            assert_eq!(stats.half_written, 1);
            assert_eq!(stats.damaged_places, [cairn_sources::DamagedPlace { file: 0, offset: target.offset - 8 }]);
            continue;
        }
        assert_eq!(survey.tip(), clean.tip());
        match files.read_decoded(&target, 8, &mut buf) {
            Err(e @ cairn_sources::SourceError::CorruptBlock { .. }) => {
                assert!(e.is_corruption());
                let text = e.to_string();
                assert!(text.contains("blk00000.dat") && text.contains(&target.offset.to_string()), "{text}");
            }
            other => panic!("byte {i}: {other:?}"),
        }
    }
    fs::write(&path, &original).unwrap();

    let place = target.undo.unwrap();
    let path = dir.join("rev00000.dat");
    let original = fs::read(&path).unwrap();
    let decoded = files.read_decoded(&target, 8, &mut buf).unwrap();
    for i in 0..u64::from(place.size) + 32 {
        let mut bytes = original.clone();
        bytes[(place.offset + i) as usize] ^= 0x10;
        fs::write(&path, &bytes).unwrap();
        let block = survey(&files).block(height).unwrap();
        let error = files.read_undo(&block, &decoded, &mut buf).unwrap_err();
        assert!(error.is_corruption());
        let text = error.to_string();
        assert!(text.contains("rev00000.dat") && text.contains(&place.offset.to_string()), "{text}");
    }
}

#[test]
fn a_damaged_header_ends_the_chain_before_it() {
    let chain = small(8);
    let dir = tempfile::tempdir().unwrap();
    write_chain(dir.path(), &chain, &tidy([0; 8])).unwrap();
    let clean = survey(&open(dir.path()));
    let target = clean.block(80).unwrap();
    let path = dir.path().join("blk00000.dat");
    let original = fs::read(&path).unwrap();
    for i in [-8i64, -5, -1, 0, 10, 40, 70, 75] {
        let mut bytes = original.clone();
        bytes[(target.offset as i64 + i) as usize] ^= 0x80;
        fs::write(&path, &bytes).unwrap();
        let survey = survey(&open(dir.path()));
        // On this network every other header has proof of work: then another block stands in its place.
        let other = survey.block(80).filter(|b| b.hash != target.hash);
        assert_eq!(survey.len(), 80 + usize::from(other.is_some()), "byte {i}");
        let stats = survey.stats();
        assert!(stats.orphan_blocks > 30, "{stats:?}");
        assert!(stats.missing_parents.contains(&target.hash), "{stats:?}");
    }
}

#[test]
fn random_damage_never_panics_and_never_lies() {
    use rand::{Rng, SeedableRng};
    let chain = small(9);
    let dir = tempfile::tempdir().unwrap();
    let key = [3, 1, 4, 1, 5, 9, 2, 6];
    let mut layout = tidy(key);
    layout.files.max_file_size = 30_000;
    write_chain(dir.path(), &chain, &layout).unwrap();
    let names: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.file_name().unwrap() != "xor.dat")
        .collect();
    let originals: Vec<_> = names.iter().map(|p| fs::read(p).unwrap()).collect();
    let (mut blocks, mut undos) = (0, 0);
    for seed in 0..150u64 {
        println!("seed {seed}");
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        for (path, original) in names.iter().zip(&originals) {
            let mut bytes = original.clone();
            for _ in 0..rng.random_range(0..6) {
                let at = rng.random_range(100..bytes.len());
                let len = rng.random_range(1..400).min(bytes.len() - at);
                match rng.random_range(0..5) {
                    0 => bytes[at..at + len].fill(0),
                    1 => rng.fill(&mut bytes[at..at + len]),
                    2 => drop(bytes.drain(at..at + len)),
                    3 => bytes.truncate(at.max(400)),
                    _ => {
                        let from = rng.random_range(0..bytes.len() - len);
                        bytes.copy_within(from..from + len, at);
                    }
                }
            }
            fs::write(path, &bytes).unwrap();
        }
        let files: BlockFiles = open(dir.path());
        let survey = match files.survey(&|_| {}) {
            Ok(survey) => survey,
            Err(cairn_sources::SourceError::NoGenesis { .. }) => continue,
            Err(other) => panic!("{other}"),
        };
        let (mut raw, mut undo_raw) = (vec![], vec![]);
        for block in survey.blocks(0..u32::MAX) {
            let mined = chain.get(&bitcoin::hashes::Hash::from_byte_array(block.hash.0));
            let decoded = match files.read_decoded(&block, 8, &mut raw) {
                Ok(decoded) => decoded,
                Err(e) => {
                    assert!(e.is_corruption(), "{e}");
                    continue;
                }
            };
            // Proof of work is cheap here: a header with another time or nonce is another block.
            let Some(mined) = mined else { continue };
            blocks += 1;
            assert_eq!(decoded.txs.len(), mined.block.txdata.len());
            match files.read_undo(&block, &decoded, &mut undo_raw) {
                Ok(None) => {}
                Ok(Some(undo)) => {
                    undos += 1;
                    let made: Vec<u64> = mined.spent.iter().flatten().map(|c| c.txout.value.to_sat()).collect();
                    assert_eq!(undo.coins.iter().map(|c| c.value).collect::<Vec<_>>(), made);
                }
                Err(e) => assert!(e.is_corruption(), "{e}"),
            }
        }
    }
    // Most of it is still there.
    assert!(blocks > 5_000 && undos > 3_000, "{blocks} {undos}");
}

/// The last record does not decode and is read again with every look, and so is what lies behind the place where that
/// begins: its damage counts once. (Found by fuzzing: each look counted it once more.)
#[test]
fn damage_before_an_unfinished_end_counts_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut records = records(&small(9));
    records.truncate(4);
    for at in [1, 3] {
        // The lock time of the last transaction.
        *records[at].last_mut().unwrap() ^= 1;
    }
    // No block has this target.
    records[2][8 + 72..8 + 76].fill(0);
    write(dir.path(), "blk00000.dat", &records.concat());
    let files = open(dir.path());
    let mut survey = survey(&files);
    let stats = survey.stats();
    assert_eq!((stats.damaged, stats.half_written, survey.len()), (1, 2, 1));
    for _ in 0..3 {
        assert!(!survey.refresh(&files).unwrap().changed());
        assert_eq!(survey.stats(), stats);
    }
}
