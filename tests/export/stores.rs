//! Exports to stores: a real server, and what goes wrong with it.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use cairn_bucket::{Bucket, Fault};
use cairn_export::{Destination, ExportError, ExportOptions, Exported, verify};
use cairn_model::CancelToken;
use cairn_store::{Options, Store, StoreError};
use cairn_testkit::files_in;

use crate::support::*;

fn open(bucket: &Bucket, prefix: &str, cancel: &CancelToken) -> Store {
    let (patience, timeout) = (Duration::from_secs(1), Duration::from_secs(2));
    let options = Options { patience, timeout, settings: bucket.environment() };
    Store::open(&bucket.location(prefix).parse().unwrap(), &options, cancel).unwrap()
}

fn export_to(
    world: &World,
    store: &Store,
    work: &str,
    options: &ExportOptions,
    cancel: &CancelToken,
) -> Result<Exported, ExportError> {
    let index = world.dir.path().join("data/index");
    cairn_export::export(&index, Destination::Store(store), &world.work(work), options, cancel, &|_| {})
}

/// Files of rows, by name.
fn rows_in_folder(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = files_in(folder);
    found.retain(|name, _| name.ends_with(".parquet"));
    found
}

fn rows_in(store: &Store) -> BTreeMap<String, Vec<u8>> {
    let names = store.list("").unwrap().into_iter().map(|object| object.name);
    names
        .filter(|name| name.ends_with(".parquet"))
        .map(|name| (name.clone(), store.read(&name, u64::MAX).unwrap().unwrap()))
        .collect()
}

fn is_whole(store: &Store) {
    assert_eq!(verify(Destination::Store(store), &CancelToken::never(), &|_, _| {}).unwrap().differences, []);
}

#[test]
fn a_store_gets_the_files_that_a_folder_gets() {
    let mut world = World::of(&chain(81, 60));
    let bucket = Bucket::start().unwrap();
    let never = CancelToken::never();
    let store = open(&bucket, "exports/main", &never);
    let made = export_to(&world, &store, "store", &options(), &never).unwrap();
    let usual = world.export("usual", &options());
    assert_eq!(made.manifest.datasets, usual.manifest.datasets);
    assert!(rows_in(&store) == rows_in_folder(&world.out("usual")));
    is_whole(&store);
    assert!(!world.work("store").exists(), "nothing is left of the work");
    let others: Vec<String> = store.list("").unwrap().into_iter().map(|object| object.name).collect();
    assert_eq!(others.iter().filter(|name| !name.ends_with(".parquet")).collect::<Vec<_>>(), ["manifest.json"]);
    // It is not begun again, and continued it is that of a folder.
    let refused = export_to(&world, &store, "store", &options(), &never).map(drop).unwrap_err().to_string();
    assert!(refused.contains("--since s3://cairn/exports/main/manifest.json"), "{refused}");
    world.unwind(15);
    let since = ExportOptions { is_incremental: true, ..options() };
    let made = export_to(&world, &store, "store", &since, &never).unwrap();
    world.export("usual", &since);
    let kept = made.manifest.since.as_ref().unwrap();
    assert!(kept.kept > 0 && !kept.rewritten.is_empty());
    assert!(rows_in(&store) == rows_in_folder(&world.out("usual")));
    is_whole(&store);
    // Another prefix of the bucket is another place; one with files of others is left alone.
    let other = open(&bucket, "other", &never);
    other.write("photo.jpg", b"mine".to_vec()).unwrap();
    let refused = export_to(&world, &other, "other", &options(), &never).map(drop).unwrap_err().to_string();
    assert!(refused.contains("files that are not of an export"), "{refused}");
    assert_eq!(other.list("").unwrap().len(), 1);
}

#[test]
fn damage_in_a_store_is_told() {
    let world = World::of(&chain(82, 30));
    let bucket = Bucket::start().unwrap();
    let store = open(&bucket, "x", &CancelToken::never());
    let made = export_to(&world, &store, "x", &only(&["blocks", "coins"]), &CancelToken::never()).unwrap();
    let check = || verify(Destination::Store(&store), &CancelToken::never(), &|_, _| {}).unwrap().differences;
    for file in made.manifest.files() {
        let bytes = store.read(&file.path, u64::MAX).unwrap().unwrap();
        let mut flipped = bytes.clone();
        flipped[bytes.len() / 3] ^= 1;
        for damaged in [Some(flipped), Some(bytes[1..].to_vec()), None] {
            match damaged {
                Some(damaged) => store.write(&file.path, damaged).unwrap(),
                None => store.remove(&file.path).unwrap(),
            }
            let found = check();
            assert!(found.len() == 1 && found[0].path == file.path, "{found:?}");
        }
        store.write(&file.path, bytes).unwrap();
    }
    assert_eq!(check(), []);
    store.write("blocks/more.parquet", Vec::new()).unwrap();
    assert_eq!(check().len(), 1);
}

#[test]
fn stops_and_failures_at_any_point_leave_no_manifest_and_the_same_files_in_the_end() {
    let world = World::of(&chain(83, 60));
    world.export("usual", &options());
    let whole = rows_in_folder(&world.out("usual"));
    for (name, fault) in [("status", Fault::Status(503)), ("none", Fault::NoAnswer)] {
        let bucket = Bucket::start().unwrap();
        let store = open(&bucket, "x", &CancelToken::never());
        let (mut failures, mut after) = (0, 0);
        let made = loop {
            let (began, from) = (bucket.requests(), after);
            bucket.fail(move |seen| (seen.number >= began + from).then_some(fault));
            // The manifest is the last but two.
            after = after * 3 + 7;
            match export_to(&world, &store, name, &options(), &CancelToken::never()) {
                Ok(made) => break made,
                Err(error) => {
                    assert!(matches!(error, ExportError::Store(StoreError::Failed { .. })), "{name}: {error}");
                    failures += 1;
                }
            }
            bucket.heal();
            if store.find("manifest.json").unwrap().is_some() {
                is_whole(&store);
            }
        };
        bucket.heal();
        assert!(failures > 1, "{name}: {failures}");
        assert!(made.written + made.resumed == whole.len() as u64, "{name}");
        assert!(rows_in(&store) == whole, "{name}");
        is_whole(&store);
    }
}

#[test]
fn cancelled_it_goes_on() {
    let world = World::of(&chain(84, 60));
    let bucket = Bucket::start().unwrap();
    let (index, work) = (world.dir.path().join("data/index"), world.work("x"));
    let mut resumed = 0;
    for stop_after in [0, 2, 4, 6] {
        let (cancel, steps) = (CancelToken::new(), AtomicU64::new(0));
        let store = open(&bucket, "x", &cancel);
        let stopped = cairn_export::export(&index, Destination::Store(&store), &work, &options(), &cancel, &|_| {
            if steps.fetch_add(1, Ordering::Relaxed) >= stop_after {
                cancel.cancel();
            }
        });
        assert!(stopped.map(drop).unwrap_err().is_cancelled());
        let store = open(&bucket, "x", &CancelToken::never());
        assert_eq!(store.find("manifest.json").unwrap(), None);
        let there = rows_in(&store).len();
        assert!(there >= resumed);
        resumed = there;
    }
    assert!(resumed > 5, "{resumed}");
    let store = open(&bucket, "x", &CancelToken::never());
    // Another machine does not mix in.
    let refused = export_to(&world, &store, "../another/x", &options(), &CancelToken::never()).map(drop).unwrap_err();
    assert!(refused.to_string().contains("another process writes there"), "{refused}");
    let made = export_to(&world, &store, "x", &options(), &CancelToken::never()).unwrap();
    assert!(made.resumed > 5, "{}", made.resumed);
    world.export("usual", &options());
    assert!(rows_in(&store) == rows_in_folder(&world.out("usual")));
    is_whole(&store);
}
