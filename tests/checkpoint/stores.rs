//! Checkpoints in stores: a real server, and what goes wrong with it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use cairn_bucket::{Bucket, Fault};
use cairn_checkpoint::{
    CheckpointError, Placing, Sending, Sent, Source, Target, Trust, prune, prune_as_of, restore, send,
    stored_checkpoints, verify,
};
use cairn_model::CancelToken;
use cairn_store::{Options, Store, StoreError};

use crate::{
    support::{Sums, goes_on, never, sums_in, target},
    world::{World, chain},
};

struct Remote {
    bucket: Bucket,
    store: Store,
}

impl Remote {
    fn start() -> Self {
        let bucket = Bucket::start().unwrap();
        let store = open(&bucket, &never());
        Remote { bucket, store }
    }

    /// Objects below the prefix, with their bytes.
    fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        let found = self.store.list("").unwrap();
        found.into_iter().map(|of| (of.name.clone(), self.store.read(&of.name, u64::MAX).unwrap().unwrap())).collect()
    }

    fn pieces(&self) -> usize {
        self.store.list("pieces").unwrap().len()
    }

    /// The file of an object.
    fn file(&self, name: &str) -> PathBuf {
        self.bucket.folder().join("main").join(name)
    }
}

fn open(bucket: &Bucket, cancel: &CancelToken) -> Store {
    let (patience, timeout) = (Duration::from_secs(1), Duration::from_secs(2));
    let options = Options { patience, timeout, settings: bucket.environment() };
    Store::open(&bucket.location("main").parse().unwrap(), &options, cancel).unwrap()
}

fn send_to(world: &World, store: &Store, cancel: &CancelToken) -> Result<Sent, CheckpointError> {
    send(&world.path("data"), store, &[], None, Sending { workers: 3 }, cancel, &|_, _| {})
}

fn replica(datadir: &Path) -> Target {
    Target { is_replica: true, ..target(datadir, Placing::Copy) }
}

#[test]
fn sent_and_restored_it_is_the_index_and_only_new_pieces_are_sent() {
    let mut world = World::of(&chain(61, 120));
    let (remote, whole) = (Remote::start(), world.sums());
    world.unwind(30);
    let before = world.sums();
    let first = send_to(&world, &remote.store, &never()).unwrap();
    assert!(first.new_bytes > 0 && first.new_bytes <= first.manifest.bytes());
    // Nothing new: nothing but the manifest is sent.
    let requests = remote.bucket.requests();
    let again = send_to(&world, &remote.store, &never()).unwrap();
    assert!(again.new_bytes < first.new_bytes / 10, "{} {}", again.new_bytes, first.new_bytes);
    assert!(remote.bucket.requests() - requests < 30);
    // More blocks: what is new, and no more.
    world.sync(None);
    let last = send_to(&world, &remote.store, &never()).unwrap();
    assert!(last.new_bytes > 0);
    let names: Vec<String> = stored_checkpoints(&remote.store).unwrap().into_iter().map(|kept| kept.name).collect();
    assert_eq!(names.last(), Some(&last.name));
    assert!(names.contains(&first.name));
    for (name, sums) in [(first.name, &before), (last.name, &whole)] {
        let source = Source::Store(&remote.store, Some(name.clone()));
        assert_eq!(verify(&source, &Trust::Any, &never(), &|_, _| {}).unwrap().differences, []);
        let to = world.path(&name);
        restore(&source, &Trust::Any, &target(&to, Placing::Copy), &never(), &|_, _| {}).unwrap();
        assert!(sums_in(&to) == *sums, "{name}");
        assert!(goes_on(&world, &to) == whole, "{name}");
    }
    assert_eq!(remote.store.find("writing").unwrap(), None);
    assert!(fs::read_dir(world.path("data/checkpoints")).unwrap().all(|of| !of.unwrap().path().is_dir()));
}

#[test]
fn a_replica_takes_what_is_new_and_is_never_without_an_index() {
    let mut world = World::of(&chain(62, 120));
    let remote = Remote::start();
    world.unwind(40);
    send_to(&world, &remote.store, &never()).unwrap();
    let (newest, to) = (Source::Store(&remote.store, None), replica(&world.path("replica")));
    let restored = restore(&newest, &Trust::Any, &to, &never(), &|_, _| {}).unwrap();
    assert!(restored.is_new && restored.kept_bytes == 0);
    assert!(sums_in(&to.datadir) == world.sums());
    let again = restore(&newest, &Trust::Any, &to, &never(), &|_, _| {}).unwrap();
    assert!(!again.is_new);
    // Back by a reorganization, and on: each time the index of the newest checkpoint, with the files that it has
    // already.
    let mut kept_bytes = 0;
    for step in 0..3 {
        if step == 1 {
            world.unwind(10);
        } else {
            world.sync(Some(world.height() + 20));
        }
        // Names have seconds.
        std::thread::sleep(Duration::from_millis(1100));
        send_to(&world, &remote.store, &never()).unwrap();
        let damaged = if step == 2 { damage_all(&world.path("replica/index")) } else { 0 };
        let restored = restore(&newest, &Trust::Any, &to, &never(), &|_, _| {}).unwrap();
        assert!(restored.is_new);
        if step < 2 {
            kept_bytes += restored.kept_bytes;
        } else {
            assert!(damaged > 0 && restored.kept_bytes == 0, "what the disk has damaged is not kept");
        }
        assert!(sums_in(&to.datadir) == world.sums(), "step {step}");
        assert!(!world.path("replica/index.restoring").exists());
    }
    assert!(kept_bytes > 0);
    // It is not taken for anything else.
    let no_mark = target(&to.datadir, Placing::Copy);
    let refused = restore(&newest, &Trust::Any, &no_mark, &never(), &|_, _| {}).map(drop).unwrap_err();
    assert!(refused.to_string().contains("--replica"), "{refused}");
    world.make("folder");
    let refused = restore(&world.folder("folder"), &Trust::Any, &to, &never(), &|_, _| {}).map(drop).unwrap_err();
    assert!(refused.to_string().contains("is a replica of s3://"), "{refused}");
    let ours = replica(&world.path("data"));
    let refused = restore(&newest, &Trust::Any, &ours, &never(), &|_, _| {}).map(drop).unwrap_err();
    assert!(refused.to_string().contains("not a replica"), "{refused}");
}

/// Flips a byte of each table file; their number.
fn damage_all(index: &Path) -> usize {
    let paths = fs::read_dir(index).unwrap().map(|entry| entry.unwrap().path());
    let tables: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "sst")).collect();
    for path in &tables {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).unwrap();
    }
    tables.len()
}

/// Sends until it succeeds, and restores until it succeeds, under faults; what came out.
fn under(fault: impl Fn(u64) -> Option<Fault> + Send + Sync + 'static) -> (Sums, Sums) {
    let world = World::of(&chain(63, 60));
    let remote = Remote::start();
    remote.bucket.fail(move |seen| fault(seen.number));
    let sent = (0..40).find_map(|_| send_to(&world, &remote.store, &never()).ok());
    assert!(sent.is_some());
    let source = Source::Store(&remote.store, None);
    let to = target(&world.path("restored"), Placing::Copy);
    let restored = (0..40).find_map(|_| restore(&source, &Trust::Any, &to, &never(), &|_, _| {}).ok());
    assert!(restored.is_some());
    remote.bucket.heal();
    assert_eq!(verify(&source, &Trust::Any, &never(), &|_, _| {}).unwrap().differences, []);
    (sums_in(&to.datadir), world.sums())
}

#[test]
fn a_store_that_fails_now_and_then_changes_nothing() {
    for fault in [Fault::Status(500), Fault::Status(503), Fault::NoAnswer, Fault::LostAnswer, Fault::CutAnswer] {
        let (restored, whole) = under(move |number| (number % 2 == 1).then_some(fault));
        assert!(restored == whole, "{fault:?}");
    }
}

#[test]
fn a_store_that_fails_for_good_is_told_and_has_no_manifest_over_missing_pieces() {
    let world = World::of(&chain(64, 60));
    let remote = Remote::start();
    // It fails after `after` requests, each time a little later.
    let mut failures = 0;
    for after in (0..).step_by(4) {
        let began = remote.bucket.requests();
        remote.bucket.fail(move |seen| (seen.number >= began + after).then_some(Fault::Status(503)));
        let sent = send_to(&world, &remote.store, &never());
        remote.bucket.heal();
        // A checkpoint that is listed as complete is complete.
        for kept in stored_checkpoints(&remote.store).unwrap() {
            let source = Source::Store(&remote.store, Some(kept.name));
            assert_eq!(verify(&source, &Trust::Any, &never(), &|_, _| {}).unwrap().differences, []);
        }
        let Err(error) = sent else { break };
        assert!(matches!(error, CheckpointError::Store(StoreError::Failed { .. })), "{error}");
        // Its lease may be left, since it could not be removed: it is known again.
        failures += 1;
    }
    assert!(failures > 2);
    let source = Source::Store(&remote.store, None);
    let to = replica(&world.path("restored"));
    for after in (0..).step_by(9) {
        let began = remote.bucket.requests();
        remote.bucket.fail(move |seen| (seen.number >= began + after).then_some(Fault::Status(500)));
        let restored = restore(&source, &Trust::Any, &to, &never(), &|_, _| {});
        remote.bucket.heal();
        match restored {
            Ok(_) => break,
            Err(error) => assert!(!world.path("restored/index").exists(), "{error}"),
        }
    }
    assert!(sums_in(&to.datadir) == world.sums());
}

#[test]
fn damaged_and_missing_objects_are_told_and_nothing_is_restored() {
    let world = World::of(&chain(65, 40));
    let remote = Remote::start();
    send_to(&world, &remote.store, &never()).unwrap();
    let source = Source::Store(&remote.store, None);
    let names: Vec<String> = remote.objects().into_keys().collect();
    for name in names {
        let (path, is_manifest) = (remote.file(&name), name.ends_with("json"));
        let bytes = fs::read(&path).unwrap();
        let mut flipped = bytes.clone();
        if let Some(byte) = flipped.get_mut(bytes.len() / 2) {
            *byte ^= 4;
        }
        let longer = [bytes.as_slice(), b"x"].concat();
        for damaged in [Some(flipped), bytes.get(1..).map(<[u8]>::to_vec), Some(longer), None] {
            match damaged.filter(|damaged| *damaged != bytes) {
                Some(damaged) => fs::write(&path, damaged).unwrap(),
                None => drop(fs::remove_file(&path)),
            }
            let to = target(&world.path("restored"), Placing::Copy);
            // Files that an earlier attempt has fetched would be used.
            drop(fs::remove_dir_all(&to.datadir));
            let refused = restore(&source, &Trust::Any, &to, &never(), &|_, _| {});
            match verify(&source, &Trust::Any, &never(), &|_, _| {}) {
                Ok(found) if is_manifest && found.differences.is_empty() => drop(fs::remove_dir_all(&to.datadir)),
                Ok(found) => {
                    assert!(!found.differences.is_empty(), "{name}");
                    let refused = refused.map(drop).unwrap_err();
                    assert!(matches!(refused, CheckpointError::Damaged { .. }), "{name}: {refused}");
                    assert!(!world.path("restored/index").exists());
                }
                Err(error) => {
                    assert!(is_manifest && matches!(error, CheckpointError::Manifest { .. }), "{name}: {error}");
                    assert!(refused.is_err() && !world.path("restored/index").exists());
                }
            }
            fs::write(&path, &bytes).unwrap();
        }
    }
    restore(&source, &Trust::Any, &target(&world.path("restored"), Placing::Copy), &never(), &|_, _| {}).unwrap();
}

#[test]
fn stopped_at_any_point_it_goes_on_and_sends_nothing_twice() {
    let world = World::of(&chain(66, 60));
    let remote = Remote::start();
    let mut sent = None;
    let mut new_bytes = Vec::new();
    for stop_at in (0..).step_by(5) {
        let cancel = CancelToken::new();
        let store = open(&remote.bucket, &cancel);
        let steps = AtomicU64::new(0);
        let stop = |_, _| {
            if steps.fetch_add(1, Ordering::Relaxed) >= stop_at {
                cancel.cancel();
            }
        };
        let pieces = remote.pieces();
        match send(&world.path("data"), &store, &[], None, Sending { workers: 2 }, &cancel, &stop) {
            Err(error) => assert!(error.is_cancelled(), "{error}"),
            Ok(found) => {
                new_bytes.push(found.new_bytes);
                sent = Some(found);
                break;
            }
        }
        assert!(stored_checkpoints(&remote.store).unwrap().is_empty());
        assert!(remote.pieces() >= pieces);
    }
    let sent = sent.unwrap();
    // The last attempt had only the rest to send.
    assert!(new_bytes[0] < sent.manifest.bytes());
    let to = target(&world.path("restored"), Placing::Copy);
    let mut restored = None;
    for stop_at in (0..).step_by(5) {
        let (cancel, steps) = (CancelToken::new(), AtomicU64::new(0));
        let stop = |_, _| {
            if steps.fetch_add(1, Ordering::Relaxed) >= stop_at {
                cancel.cancel();
            }
        };
        match restore(&Source::Store(&remote.store, None), &Trust::Any, &to, &cancel, &stop) {
            Err(error) => assert!(error.is_cancelled(), "{error}"),
            Ok(found) => {
                restored = Some(found);
                break;
            }
        }
        assert!(!world.path("restored/index").exists());
    }
    assert!(restored.unwrap().kept_bytes > 0);
    assert!(sums_in(&to.datadir) == world.sums());
}

#[test]
fn old_checkpoints_go_and_no_piece_of_a_new_one_does() {
    let mut world = World::of(&chain(67, 100));
    let remote = Remote::start();
    world.unwind(50);
    let mut names = Vec::new();
    for _ in 0..4 {
        names.push(send_to(&world, &remote.store, &never()).unwrap().name);
        world.sync(Some(world.height() + 10));
        std::thread::sleep(Duration::from_millis(1100));
    }
    let pieces = remote.pieces();
    // Pieces that are young stay.
    let pruned = prune(&world.path("data"), &remote.store, 3).unwrap();
    assert_eq!((pruned.checkpoints, pruned.pieces), (1, 0));
    assert_eq!(remote.pieces(), pieces);
    let tomorrow = SystemTime::now() + Duration::from_secs(25 * 60 * 60);
    // A manifest that cannot be read: nobody knows what it needs.
    let manifest = remote.file(&format!("checkpoints/{}/checkpoint.json", names[3]));
    let text = fs::read(&manifest).unwrap();
    fs::write(&manifest, b"{").unwrap();
    let refused = prune_as_of(&world.path("data"), &remote.store, 2, tomorrow).unwrap_err();
    assert!(matches!(refused, CheckpointError::Manifest { .. }), "{refused}");
    assert_eq!(remote.pieces(), pieces);
    fs::write(&manifest, text).unwrap();
    let pruned = prune_as_of(&world.path("data"), &remote.store, 2, tomorrow).unwrap();
    assert!(pruned.pieces > 0 && remote.pieces() < pieces, "{pruned:?}");
    let left: Vec<String> = stored_checkpoints(&remote.store).unwrap().into_iter().map(|kept| kept.name).collect();
    assert_eq!(left, names[2..]);
    for name in left {
        let source = Source::Store(&remote.store, Some(name));
        assert_eq!(verify(&source, &Trust::Any, &never(), &|_, _| {}).unwrap().differences, []);
    }
    // All that is there is needed: the newest stays whatever is asked for.
    assert_eq!(prune_as_of(&world.path("data"), &remote.store, 0, tomorrow).unwrap().checkpoints, 1);
    let source = Source::Store(&remote.store, None);
    assert_eq!(verify(&source, &Trust::Any, &never(), &|_, _| {}).unwrap().differences, []);
    assert_eq!(
        prune_as_of(&world.path("data"), &remote.store, 1, tomorrow).unwrap(),
        cairn_checkpoint::Pruned::default()
    );
}

#[test]
fn one_process_writes_to_a_store() {
    let world = World::of(&chain(68, 20));
    let remote = Remote::start();
    remote.store.write("writing", b"another".to_vec()).unwrap();
    for refused in
        [send_to(&world, &remote.store, &never()).map(drop), prune(&world.path("data"), &remote.store, 1).map(drop)]
    {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("another process writes there (another)"), "{refused}");
    }
    assert_eq!(remote.objects().len(), 1);
}
