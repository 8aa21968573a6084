//! Files that a writer leaves behind when it ends: only those in use, and those that a reader has yet to open.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use cairn_model::Network;
use cairn_reader::{Facts, ReadersPaused, TableFile, table_files_in};
use cairn_tables::Family;
use cairn_writer::{WriteError, Writer};

/// Table files in the folder.
fn there(dir: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(dir).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".sst")).collect()
}

/// Those that the newest list of files names.
fn live(dir: &Path) -> BTreeSet<String> {
    table_files_in(dir).unwrap().iter().map(TableFile::name).collect()
}

fn commits(writer: &Writer, from: u32, to: u32) {
    for number in from..to {
        writer
            .commit::<WriteError>(|batch| {
                for family in Family::ALL {
                    batch.put(family, &number.to_be_bytes(), &[7; 200]);
                }
                Ok(())
            })
            .unwrap();
        writer.flush().unwrap();
    }
}

fn written(dir: &Path) -> Writer {
    let writer = Writer::open(dir).unwrap();
    writer.put_facts(&Facts::of(Network::Regtest)).unwrap();
    commits(&writer, 0, 40);
    // Merged files are replaced, and kept for readers that are about to open them.
    assert!(there(dir).len() > live(dir).len(), "nothing was replaced");
    writer
}

#[test]
fn every_table_file_is_in_use_after_the_writer_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = written(dir.path());
    for round in 1..3 {
        drop(writer);
        assert_eq!(there(dir.path()), live(dir.path()), "round {round}");
        writer = Writer::open(dir.path()).unwrap();
        commits(&writer, 40 * round, 40 * round + 20);
    }
}

#[test]
fn rows_that_were_not_flushed_leave_no_file_behind_either() {
    let dir = tempfile::tempdir().unwrap();
    let writer = written(dir.path());
    writer
        .commit::<WriteError>(|batch| {
            batch.put(Family::SHARED, &[0xee, 1], &[7; 200]);
            Ok(())
        })
        .unwrap();
    drop(writer);
    assert_eq!(there(dir.path()), live(dir.path()));
}

/// A reader that has read the list of files and now opens them: nothing is removed, as if the writer had been killed.
#[test]
fn files_that_a_reader_is_about_to_open_stay() {
    let dir = tempfile::tempdir().unwrap();
    let writer = written(dir.path());
    let before = there(dir.path());
    // As a secondary instance that opens, which holds the same lock.
    let opening = fs::File::open(dir.path().join("FAMILIES")).unwrap();
    opening.lock_shared().unwrap();
    drop(writer);
    assert!(before.is_subset(&there(dir.path())));
    drop(opening);
    assert!(ReadersPaused::begin(dir.path(), Duration::ZERO).unwrap().is_some());
    // The next writer removes them.
    drop(Writer::open(dir.path()).unwrap());
    assert_eq!(there(dir.path()), live(dir.path()));
}
