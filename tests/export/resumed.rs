//! Exports that are stopped, or whose disk fails, go on; and there is no manifest before all files are there.

use std::{
    fs,
    sync::atomic::{AtomicU64, Ordering},
};

use cairn_export::ExportError;
use cairn_model::CancelToken;
use cairn_store::StoreError;

use crate::support::*;

#[test]
fn stopped_anywhere_it_goes_on_to_the_same_files() {
    let world = World::of(&chain(3, 120));
    let counted = AtomicU64::new(0);
    let count = |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    };
    let index = world.dir.path().join("data/index");
    let never = CancelToken::never();
    let whole = export(&index, &world.out("whole"), &world.work("whole"), &options(), &never, &count).unwrap();
    let steps = counted.into_inner();
    let expected = files(&world.out("whole"));
    for stop_after in [0, 1, 2, 5, steps / 3, steps / 2, steps - 2] {
        let name = format!("stopped-{stop_after}");
        let (mut runs, mut resumed) = (0, 0);
        loop {
            let (cancel, seen) = (CancelToken::new(), AtomicU64::new(0));
            if stop_after == 0 && runs == 0 {
                cancel.cancel();
            }
            let made = export(
                &world.dir.path().join("data/index"),
                &world.out(&name),
                &world.work(&name),
                &options(),
                &cancel,
                &|_| {
                    if runs < 3 && seen.fetch_add(1, Ordering::Relaxed) + 1 >= stop_after {
                        cancel.cancel();
                    }
                },
            );
            runs += 1;
            match made {
                Ok(made) => {
                    resumed += made.resumed;
                    assert_eq!(made.manifest.datasets, whole.manifest.datasets);
                    break;
                }
                Err(error) => {
                    assert!(error.is_cancelled(), "{error}");
                    assert!(!world.out(&name).join("manifest.json").exists());
                }
            }
        }
        assert!(runs > 1 && (stop_after == 0 || resumed > 0), "after {stop_after}: {runs} runs, {resumed} resumed");
        assert!(files(&world.out(&name)) == expected, "after {stop_after}");
        assert!(!world.work(&name).exists());
    }
}

#[test]
fn a_stopped_export_stays_at_its_tip() {
    let mut world = World::of(&chain(4, 120));
    let whole = world.export("whole", &options());
    let cancel = CancelToken::new();
    let stopped = export(
        &world.dir.path().join("data/index"),
        &world.out("out"),
        &world.work("out"),
        &options(),
        &cancel,
        &|_| {
            cancel.cancel();
        },
    );
    assert!(stopped.map(drop).unwrap_err().is_cancelled());
    // Meanwhile a reorganization takes blocks away.
    world.unwind(40);
    let made = world.export("out", &options());
    assert_eq!(made.manifest.tip_height, whole.manifest.tip_height);
    assert!(files(&world.out("out")) == files(&world.out("whole")));
}

#[test]
fn other_options_begin_anew() {
    let world = World::of(&chain(5, 60));
    let cancel = CancelToken::new();
    let (index, out, work) = (world.dir.path().join("data/index"), world.out("out"), world.work("out"));
    let stopped = export(&index, &out, &work, &options(), &cancel, &|_| cancel.cancel());
    assert!(stopped.map(drop).unwrap_err().is_cancelled());
    let fewer = only(&["blocks", "coins"]);
    let made = world.export("out", &fewer);
    assert_eq!(made.resumed, 0);
    world.export("fresh", &fewer);
    assert!(files(&out) == files(&world.out("fresh")), "what the other run left is gone");
}

#[test]
fn what_cannot_be_written_is_told_with_its_path() {
    let world = World::of(&chain(5, 30));
    let out = world.out("out");
    fs::create_dir(&out).unwrap();
    fs::create_dir(world.out("elsewhere")).unwrap();
    // A file where a folder has to be.
    let cancel = CancelToken::new();
    let index = world.dir.path().join("data/index");
    let stopped = export(&index, &out, &world.work("out"), &options(), &cancel, &|_| cancel.cancel());
    assert!(stopped.map(drop).unwrap_err().is_cancelled());
    fs::remove_dir_all(out.join("transactions")).ok();
    fs::write(out.join("transactions"), b"").unwrap();
    match world.try_export("out", &options(), &CancelToken::never()) {
        Err(ExportError::Store(StoreError::File { path, .. })) => {
            assert!(path.starts_with(out.join("transactions")), "{}", path.display())
        }
        other => panic!("{other:?}"),
    }
    assert!(!out.join("manifest.json").exists());
    fs::remove_file(out.join("transactions")).unwrap();
    world.export("out", &options());
}

#[test]
fn folders_of_others_are_left_alone() {
    let world = World::of(&chain(5, 30));
    let out = world.out("photos");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("a.jpg"), b"mine").unwrap();
    let refused = world.try_export("photos", &options(), &CancelToken::never()).unwrap_err();
    assert!(refused.to_string().contains("name an empty folder"), "{refused}");
    assert_eq!(files(&out).len(), 1);
    world.export("out", &options());
    let before = files(&world.out("out"));
    let refused = world.try_export("out", &options(), &CancelToken::never()).unwrap_err();
    assert!(refused.to_string().contains("--since"), "{refused}");
    assert!(files(&world.out("out")) == before);
}

#[test]
fn a_link_is_not_followed_and_two_do_not_write_to_one_folder() {
    let world = World::of(&chain(5, 30));
    let (out, mine) = (world.out("out"), world.out("mine"));
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("a.parquet"), b"mine").unwrap();
    let (index, work, cancel) = (world.dir.path().join("data/index"), world.work("out"), CancelToken::new());
    let stopped = export(&index, &out, &work, &options(), &cancel, &|_| cancel.cancel());
    assert!(stopped.map(drop).unwrap_err().is_cancelled());
    fs::create_dir_all(out.join("blocks")).unwrap();
    std::os::unix::fs::symlink(&mine, out.join("blocks/link")).unwrap();
    let second = std::sync::Mutex::new(None);
    let begin_another = |_| {
        let mut second = second.lock().unwrap();
        if second.is_none() {
            *second = Some(world.try_export("out", &options(), &CancelToken::never()).map(drop));
        }
    };
    export(&index, &out, &work, &options(), &CancelToken::never(), &begin_another).unwrap();
    let refused = second.into_inner().unwrap().unwrap().unwrap_err();
    assert!(refused.to_string().contains("another process exports"), "{refused}");
    assert_eq!(fs::read(mine.join("a.parquet")).unwrap(), b"mine");
    assert!(!out.join("blocks/link").exists());
    world.export("fresh", &options());
    assert!(files(&out) == files(&world.out("fresh")));
}

#[test]
fn a_damaged_index_gives_no_manifest() {
    let mut refused = 0;
    for at in 1..8 {
        let world = World::of(&chain(6, 60));
        let index = world.dir.path().join("data/index");
        let tables = fs::read_dir(&index).unwrap().map(|entry| entry.unwrap().path());
        let tables = tables.filter(|path| path.extension().is_some_and(|end| end == "sst"));
        // The largest has the blocks.
        let largest = tables.max_by_key(|path| fs::metadata(path).map_or(0, |found| found.len())).unwrap();
        let mut bytes = fs::read(&largest).unwrap();
        let place = bytes.len() * at / 9;
        bytes[place] ^= 0x10;
        fs::write(&largest, bytes).unwrap();
        match world.try_export("out", &options(), &CancelToken::never()) {
            Ok(_) => {}
            Err(ExportError::Index(_) | ExportError::Row(_) | ExportError::Contradiction(_)) => {
                assert!(!world.out("out").join("manifest.json").exists());
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(refused >= 4, "{refused} of 7 damages were met");
}
