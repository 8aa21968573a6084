//! Why commits go without a write-ahead log: a secondary serves stale values out of one.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::path::Path;

use rocksdb::{DB, Options, WriteOptions};

fn options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_max_open_files(-1);
    options.set_atomic_flush(true);
    options
}

/// Writes v1, lets a secondary see it, writes v2, flushes, lets the secondary catch up; what does it say now?
fn second_value(dir: &Path, log: bool) -> Vec<u8> {
    let (primary, own) = (dir.join("primary"), dir.join("secondary"));
    let mut writing = WriteOptions::default();
    writing.disable_wal(!log);
    let db = DB::open(&options(), &primary).unwrap();
    let commit = |value: &[u8]| {
        db.put_opt(b"key", value, &writing).unwrap();
        if !log {
            db.flush().unwrap();
        }
    };
    commit(b"v1");
    let secondary = DB::open_as_secondary(&options(), &primary, &own).unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(secondary.get(b"key").unwrap().as_deref(), Some(&b"v1"[..]));
    commit(b"v2");
    db.flush().unwrap();
    for _ in 0..3 {
        secondary.try_catch_up_with_primary().unwrap();
    }
    secondary.get(b"key").unwrap().unwrap()
}

/// The day this fails, RocksDB has mended it (facebook/rocksdb #14444, #15051), and rule 3 of the architecture may be
/// thought over.
#[test]
fn with_a_log_the_secondary_is_stale() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(second_value(dir.path(), true), b"v1");
}

#[test]
fn with_a_flush_for_each_commit_it_is_fresh() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(second_value(dir.path(), false), b"v2");
}
