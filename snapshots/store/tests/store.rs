//! A store over a real server and over a folder, and what goes wrong.
#![allow(clippy::unwrap_used, clippy::unwrap_in_result, missing_docs)]

use std::{
    fs,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use cairn_bucket::{Bucket, Fault};
use cairn_model::CancelToken;
use cairn_store::{Lease, Location, Options, PIECE, Store, StoreError, identity};

/// Longer than a busy machine takes for a request.
fn options(bucket: &Bucket) -> Options {
    Options { patience: Duration::from_secs(20), timeout: Duration::from_secs(10), settings: bucket.environment() }
}

fn store_in(bucket: &Bucket, prefix: &str, cancel: &CancelToken) -> Store {
    Store::open(&bucket.location(prefix).parse().unwrap(), &options(bucket), cancel).unwrap()
}

fn does_all(store: &Store) {
    let dir = cairn_testkit::temp_dir();
    assert_eq!(store.read("a/b=1.json", 100).unwrap(), None);
    store.write("a/b=1.json", b"{}".to_vec()).unwrap();
    assert_eq!(store.read("a/b=1.json", 100).unwrap().unwrap(), b"{}");
    store.write("a/b=1.json", b"[1]".to_vec()).unwrap();
    assert_eq!(store.read("a/b=1.json", 100).unwrap().unwrap(), b"[1]");
    let refused = store.read("a/b=1.json", 2).map(drop).unwrap_err();
    assert!(matches!(refused, StoreError::TooLong { bytes: 3, most: 2, .. }), "{refused}");
    store.write("empty", Vec::new()).unwrap();
    assert_eq!(store.read("empty", 0).unwrap().unwrap(), b"");
    assert!(store.create("a/once", b"1".to_vec()).unwrap());
    assert!(!store.create("a/once", b"2".to_vec()).unwrap());
    assert_eq!(store.read("a/once", 9).unwrap().unwrap(), b"1");
    // Files of several pieces.
    for bytes in [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 77] {
        let path = dir.path().join("file");
        let content: Vec<u8> = (0..bytes).map(|at| u8::try_from(at * 7 % 251).unwrap()).collect();
        fs::write(&path, &content).unwrap();
        let mut seen = 0;
        store.send("files/x", &path, &mut |bytes| seen += bytes).unwrap();
        assert_eq!(seen, bytes as u64);
        let mut read = Vec::new();
        let length = store.scan("files/x", &mut |part| {
            read.extend_from_slice(part);
            Ok(())
        });
        assert!(length.unwrap() == bytes as u64 && read == content, "{bytes}");
        assert_eq!(store.find("files/x").unwrap().unwrap().bytes, bytes as u64);
    }
    let names: Vec<(String, u64)> = store.list("").unwrap().into_iter().map(|of| (of.name, of.bytes)).collect();
    let last = 2 * PIECE as u64 + 77;
    assert_eq!(
        names,
        [("a/b=1.json", 3), ("a/once", 1), ("empty", 0), ("files/x", last)].map(|(n, b)| (n.to_owned(), b))
    );
    assert_eq!(store.list("a").unwrap().len(), 2);
    store.remove("a/once").unwrap();
    store.remove("a/once").unwrap();
    assert_eq!(store.find("a/once").unwrap(), None);
    let absent = store.scan("nothing", &mut |_| Ok(())).map(drop).unwrap_err();
    assert!(matches!(absent, StoreError::Absent { .. }), "{absent}");
    // One process holds a lease.
    let lease = Lease::take(store, "lease", "first").unwrap();
    lease.renew().unwrap();
    let taken = Lease::take(store, "lease", "second").map(drop).unwrap_err();
    assert!(taken.to_string().contains("(first)"), "{taken}");
    drop(lease);
    drop(Lease::take(store, "lease", "second").unwrap());
    assert_eq!(store.find("lease").unwrap(), None);
}

#[test]
fn buckets_do_all() {
    let bucket = Bucket::start().unwrap();
    does_all(&store_in(&bucket, "pre/fix", &CancelToken::never()));
    assert!(bucket.folder().join("pre/fix/a/b=1.json").exists());
    does_all(&store_in(&bucket, "", &CancelToken::never()).also_empty());
}

/// Removes the objects that the first test left before the second one.
trait AlsoEmpty {
    fn also_empty(self) -> Self;
}

impl AlsoEmpty for Store {
    fn also_empty(self) -> Self {
        for object in self.list("").unwrap() {
            self.remove(&object.name).unwrap();
        }
        self
    }
}

#[test]
fn folders_do_all() {
    let dir = cairn_testkit::temp_dir();
    let location: Location = format!("file://{}", dir.path().join("new/folder").display()).parse().unwrap();
    let options = Options { patience: Duration::from_secs(1), timeout: Duration::from_secs(1), settings: Vec::new() };
    does_all(&Store::open(&location, &options, &CancelToken::never()).unwrap());
}

#[test]
fn requests_that_fail_for_a_while_are_repeated() {
    let bucket = Bucket::start().unwrap();
    let store = store_in(&bucket, "x", &CancelToken::never());
    let dir = cairn_testkit::temp_dir();
    let path = dir.path().join("file");
    let content: Vec<u8> = (0..2 * PIECE + 9).map(|at| u8::try_from(at % 253).unwrap()).collect();
    fs::write(&path, &content).unwrap();
    for fault in [
        Fault::Status(500),
        Fault::Status(503),
        Fault::Status(429),
        Fault::NoAnswer,
        Fault::LostAnswer,
        Fault::CutAnswer,
        Fault::Slow(Duration::from_millis(30)),
    ] {
        // One of two requests goes wrong.
        bucket.fail(move |seen| (seen.number % 2 != 0).then_some(fault));
        store.send("file", &path, &mut |_| {}).unwrap();
        let mut read = Vec::new();
        let scanned = store.scan("file", &mut |part| {
            read.extend_from_slice(part);
            Ok(())
        });
        scanned.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert!(read == content, "{fault:?}");
        store.write("small", b"text".to_vec()).unwrap();
        assert_eq!(store.read("small", 9).unwrap().unwrap(), b"text");
        assert_eq!(store.list("").unwrap().len(), 2, "{fault:?}");
        bucket.heal();
        store.remove("file").unwrap();
    }
}

#[test]
fn a_store_that_goes_on_failing_is_told_in_time() {
    let bucket = Bucket::start().unwrap();
    let (patience, timeout) = (Duration::from_secs(2), Duration::from_secs(1));
    let options = Options { patience, timeout, ..options(&bucket) };
    let store = Store::open(&bucket.location("x").parse().unwrap(), &options, &CancelToken::never()).unwrap();
    store.write("there", vec![7; 100_000]).unwrap();
    for fault in [Fault::Status(503), Fault::NoAnswer, Fault::CutAnswer, Fault::Slow(Duration::from_secs(60))] {
        bucket.fail(move |_| Some(fault));
        let began = Instant::now();
        let read = store.read("there", 1 << 20).map(drop).unwrap_err();
        assert!(matches!(read, StoreError::Failed { .. }), "{fault:?}: {read}");
        assert!(read.to_string().chars().count() < 500 && !read.to_string().contains('\n'), "{read}");
        if fault != Fault::CutAnswer {
            let written = store.write("new", b"text".to_vec()).map(drop).unwrap_err();
            assert!(matches!(written, StoreError::Failed { .. }), "{fault:?}: {written}");
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{fault:?}");
    }
    // A part of an upload that cannot be sent: nothing is there.
    let dir = cairn_testkit::temp_dir();
    fs::write(dir.path().join("file"), vec![1; PIECE + 1]).unwrap();
    let pieces = AtomicU64::new(0);
    bucket.fail(move |seen| {
        let is_piece = seen.query.contains("partNumber");
        (is_piece && pieces.fetch_add(1, Ordering::Relaxed) > 0).then_some(Fault::Status(503))
    });
    let sent = store.send("file", &dir.path().join("file"), &mut |_| {}).unwrap_err();
    assert!(matches!(sent, StoreError::Failed { .. }), "{sent}");
    bucket.heal();
    assert_eq!(store.find("file").unwrap(), None);
    assert_eq!(store.read("there", 1 << 20).unwrap().unwrap(), vec![7; 100_000]);
}

#[test]
fn wrong_credentials_are_told_and_not_repeated() {
    let bucket = Bucket::start().unwrap();
    let mut options = options(&bucket);
    options.settings.retain(|(name, _)| name != "AWS_SECRET_ACCESS_KEY");
    options.settings.push(("AWS_SECRET_ACCESS_KEY".to_owned(), "hunter2hunter2".to_owned()));
    let store = Store::open(&bucket.location("x").parse().unwrap(), &options, &CancelToken::never()).unwrap();
    let refused = store.list("").map(drop).unwrap_err();
    assert!(matches!(refused, StoreError::Refused { .. }), "{refused}");
    let refused = store.write("a", b"1".to_vec()).unwrap_err();
    assert!(matches!(refused, StoreError::Refused { .. }), "{refused}");
    let told = format!("{refused} {store:?} {options:?}");
    assert!(!told.contains("hunter2") && !told.contains("AKIA"), "{told}");
    assert_eq!(bucket.requests(), 2);
}

#[test]
fn a_lease_is_known_again_by_its_holder_alone() {
    let bucket = Bucket::start().unwrap();
    let store = store_in(&bucket, "x", &CancelToken::never());
    let dir = cairn_testkit::temp_dir();
    let (ours, others) = (identity(&dir.path().join("ours")).unwrap(), identity(&dir.path().join("others")).unwrap());
    assert!(ours != others && ours.len() == 32);
    assert_eq!(identity(&dir.path().join("ours")).unwrap(), ours);
    // A process that was killed gave nothing back.
    std::mem::forget(Lease::take(&store, "lease", &ours).unwrap());
    assert!(matches!(Lease::take(&store, "lease", &others).map(drop).unwrap_err(), StoreError::Taken(_)));
    drop(Lease::take(&store, "lease", &ours).unwrap());
    assert_eq!(store.find("lease").unwrap(), None);
    // Answers that are lost.
    for fault in [Fault::LostAnswer, Fault::CutAnswer, Fault::NoAnswer, Fault::Status(503)] {
        for turn in 0..2 {
            bucket.fail(move |seen| (seen.number % 2 == turn).then_some(fault));
            let lease = Lease::take(&store, "lease", &ours).unwrap_or_else(|error| panic!("{fault:?}: {error}"));
            bucket.heal();
            drop(lease);
            assert_eq!(store.find("lease").unwrap(), None, "{fault:?}");
        }
    }
}

#[test]
fn a_cancelled_request_ends_at_once() {
    let bucket = Bucket::start().unwrap();
    let cancel = CancelToken::new();
    let store = store_in(&bucket, "x", &cancel);
    bucket.fail(|_| Some(Fault::Slow(Duration::from_secs(60))));
    let began = Instant::now();
    let stopped = std::thread::scope(|scope| {
        let reading = scope.spawn(|| store.read("a", 1));
        std::thread::sleep(Duration::from_millis(100));
        cancel.cancel();
        reading.join().unwrap().map(drop).unwrap_err()
    });
    assert!(matches!(stopped, StoreError::Stopped), "{stopped}");
    assert!(began.elapsed() < Duration::from_secs(10));
}
