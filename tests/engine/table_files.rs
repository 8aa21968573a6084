//! Table files, read block by block: every damaged byte of a block is found, whatever the block is for.

use std::{convert::Infallible, fs, path::Path};

use cairn_pipeline::{
    Driver, NoProgress,
    verify::{RawCheck, Repair, audit_folder},
};
use cairn_reader::{FileCheck, ReadError, Reader, TableFile, table_files_in};
use cairn_tables::{Family, Table, block_log::BlockLog};
use cairn_testkit::temp_dir;
use cairn_writer::{WriteError, Writer};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::support::*;

/// Bytes at the end of a file that name its version, with some that say nothing.
const FOOTER: usize = 53;

fn check(file: &TableFile) -> FileCheck {
    let Ok(check) = file.check(|_| Ok::<_, Infallible>(()));
    check
}

fn damage(file: &TableFile) -> Option<String> {
    match check(file) {
        FileCheck::Whole => None,
        FileCheck::Damaged(how) => Some(how),
        other => panic!("{}: {other:?}", file.name()),
    }
}

/// An index, made in bulk and then block by block, that nobody has open.
fn closed(seed: u64) -> (tempfile::TempDir, tempfile::TempDir) {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(seed));
    let mut index = Index::up_to(blocks.path(), Driver::Bulk, 100);
    index.sync(blocks.path(), Driver::Tip);
    let Index { engine, dir } = index;
    drop(engine);
    (blocks, dir)
}

fn files(dir: &Path) -> Vec<TableFile> {
    let files = table_files_in(&dir.join("index")).unwrap();
    assert!(files.len() > 10, "{files:?}");
    files
}

#[test]
fn every_byte_of_every_block_counts() {
    let (_blocks, dir) = closed(41);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut places, mut families) = (0, std::collections::BTreeSet::new());
    for file in files(dir.path()) {
        assert_eq!(damage(&file), None, "{}", file.name());
        families.insert(file.family().name());
        let good = fs::read(file.path()).unwrap();
        assert_eq!(good.len() as u64, file.bytes());
        for _ in 0..if long() { 500 } else { 60 } {
            let mut bytes = good.clone();
            let at = rng.random_range(0..good.len() - FOOTER);
            bytes[at] ^= 1 << rng.random_range(0..8);
            fs::write(file.path(), bytes).unwrap();
            assert!(damage(&file).is_some(), "{}: byte {at} of {}", file.name(), good.len());
            places += 1;
        }
        for cut in [0, 1, FOOTER, good.len() / 2, good.len() - 1] {
            fs::write(file.path(), &good[..cut]).unwrap();
            assert!(damage(&file).is_some(), "{}: cut at {cut}", file.name());
        }
        fs::write(file.path(), &good).unwrap();
        assert_eq!(damage(&file), None);
        fs::remove_file(file.path()).unwrap();
        assert!(matches!(check(&file), FileCheck::Gone));
        fs::write(file.path(), &good).unwrap();
    }
    assert!(places > 500 && families.len() >= 9, "{places} places in {families:?}");
}

/// The bytes that were read are reported, so that reading can be slow, and it ends when asked to.
#[test]
fn reading_is_counted_and_ends_when_asked() {
    let (_blocks, dir) = closed(42);
    let file = files(dir.path()).into_iter().max_by_key(TableFile::bytes).unwrap();
    let mut read = 0;
    file.check(|bytes| {
        read += bytes;
        Ok::<_, Infallible>(())
    })
    .unwrap();
    // All of it, and its lists of blocks perhaps twice.
    assert!(read >= file.bytes() && read < file.bytes() * 2, "{read} of {}", file.bytes());
    assert!(matches!(file.check(|_| Err("enough")), Err("enough")));
}

/// Two files of the same length, each in the other's place: all checksums hold.
#[test]
fn rows_of_another_file_are_found() {
    let (_blocks, dir) = closed(43);
    let index = dir.path().join("index");
    let writer = Writer::open(&index).unwrap();
    let mut made = Vec::new();
    for key in [b"\x01aaaaaaa", b"\x01bbbbbbb"] {
        writer
            .commit::<WriteError>(|batch| {
                batch.put(Family::SHARED, key, b"value");
                Ok(())
            })
            .unwrap();
        let before: Vec<TableFile> = table_files_in(&index).unwrap();
        writer.flush().unwrap();
        let after = table_files_in(&index).unwrap();
        made.extend(after.into_iter().filter(|file| file.family() == Family::SHARED && !before.contains(file)));
    }
    drop(writer);
    let [a, b] = made.as_slice() else { panic!("{made:?}") };
    let (one, two) = (fs::read(a.path()).unwrap(), fs::read(b.path()).unwrap());
    if one.len() != two.len() {
        cairn_testkit::skip!("the database wrote {} and {} bytes", one.len(), two.len());
    }
    fs::write(a.path(), two).unwrap();
    fs::write(b.path(), one).unwrap();
    for file in [a, b] {
        assert_eq!(damage(file).as_deref(), Some("it has the rows of another file"));
    }
}

/// A filter is read by look-ups only: the walk over the rows meets no damage there, and answers would be errors.
#[test]
fn verify_reads_filters_too() {
    let (_blocks, dir) = closed(44);
    let index = dir.path().join("index");
    for (table, repair) in [("totals", Repair::Stage("scripts")), ("tx_nums", Repair::LookUp)] {
        let of_table = |file: &TableFile| file.table() == table;
        let file = files(dir.path()).into_iter().filter(of_table).max_by_key(TableFile::bytes).unwrap();
        let good = fs::read(file.path()).unwrap();
        let whole = |at: usize| {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            fs::write(file.path(), bytes).unwrap();
            let reader = Reader::open(&index).ok()?;
            let rows = reader.view().ok()?.tables().checksums().is_ok();
            rows.then_some(())
        };
        // The last place whose damage no row shows, from the footer back.
        let at = (0..good.len() - FOOTER)
            .rev()
            .step_by(7)
            .find(|at| whole(*at).is_some() && damage(&file).is_some_and(|how| how.contains("checksum")));
        let at = at.unwrap_or_else(|| panic!("{table}: every damage shows in rows"));
        whole(at).unwrap();
        let (_, audit) = audit_folder(&index, RawCheck::None, &NoProgress).unwrap();
        assert!(!audit.ok(), "{table}");
        let found = audit.damages.iter().find(|damage| damage.place == table).unwrap();
        assert_eq!(found.repair, repair);
        assert!(found.what.contains(&file.name()) && found.what.contains("does not hold"), "{}", found.what);
        fs::write(file.path(), &good).unwrap();
    }
}

/// An index with a missing file does not open for writing: the error names the file.
#[test]
fn a_missing_file_is_named() {
    let (_blocks, dir) = closed(45);
    let index = dir.path().join("index");
    let file = files(dir.path()).into_iter().find(|file| file.table() == "spenders").unwrap();
    let good = fs::read(file.path()).unwrap();
    for (bytes, says) in [(None, "is missing".to_owned()), (Some(9), format!("has 9 bytes instead of {}", good.len()))]
    {
        match bytes {
            None => fs::remove_file(file.path()).unwrap(),
            Some(some) => fs::write(file.path(), &good[..some]).unwrap(),
        }
        let expected = format!("the index cannot be opened: table file {} of table spenders {says}", file.name());
        let error = Writer::open(&index).err().unwrap();
        assert!(matches!(&error, WriteError::Read(ReadError::Files(_))) && error.is_damage(), "{error:?}");
        assert_eq!(error.to_string(), expected);
        assert_eq!(Reader::open(&index).err().unwrap().to_string(), expected);
    }
}

/// Merging reads files that nobody has asked for. Damage there stops the program that writes, at the latest some
/// commits later, and is reported as damage; its remedy is a repair.
#[test]
fn damage_that_merging_meets_stops_the_writer() {
    let (_blocks, dir) = closed(45);
    let index = dir.path().join("index");
    let writer = Writer::open(&index).unwrap();
    let commit = |row: u32| {
        writer.commit::<WriteError>(|batch| {
            batch.put(BlockLog::FAMILY, &[&[0xff; 2], &row.to_be_bytes()[..]].concat(), &[row as u8; 300]);
            Ok(())
        })?;
        writer.flush()
    };
    let mut made = Vec::new();
    for row in 0..6 {
        let before = table_files_in(&index).unwrap();
        commit(row).unwrap();
        let new = |file: &TableFile| file.table() == BlockLog::NAME && !before.contains(file);
        made.extend(table_files_in(&index).unwrap().into_iter().filter(new));
    }
    // In the rows, which no commit reads.
    let file = made.get(2).expect("a file for each commit");
    let mut bytes = fs::read(file.path()).unwrap();
    bytes[5] ^= 1;
    fs::write(file.path(), bytes).unwrap();
    assert!(damage(file).is_some());

    let error = (6..60).find_map(|row| commit(row).err()).expect("files are merged, and one of them is damaged");
    assert!(error.is_damage(), "{error}");
}
