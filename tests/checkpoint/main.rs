//! Checkpoints: a restored index equals the original, table by table; damage is reported; a stopped run leaves nothing
//! that looks complete.
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub)]

mod signed;
mod stores;
mod support;
#[path = "../export/world.rs"]
mod world;

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use cairn_checkpoint::{CheckpointError, ExtraFile, Placing, Trust, make, restore};
use cairn_model::CancelToken;
use cairn_store::StoreError;
use support::{differences, goes_on, never, sums_in, target};
use world::{World, chain};

#[test]
fn restored_it_is_the_index_and_goes_on() {
    let mut world = World::of(&chain(41, 120));
    let tip = world.height();
    let whole = world.sums();
    world.unwind(30);
    let (before, manifest) = (world.sums(), world.make("checkpoint"));
    assert_eq!(manifest.tip_height, tip - 30);
    // The index goes on; the checkpoint stays.
    world.sync(None);
    assert_eq!(differences(&world.path("checkpoint")), []);
    for (name, placing) in [("copied", Placing::Copy), ("linked", Placing::Link)] {
        let restored = world.restore("checkpoint", name, placing).unwrap();
        assert_eq!(restored.manifest, manifest);
        assert!(sums_in(&world.path(name)) == before, "{name}");
        // It is written to: what is linked must not change with it.
        assert!(goes_on(&world, &world.path(name)) == whole, "{name}");
        assert_eq!(differences(&world.path("checkpoint")), [], "after {name} was written to");
    }
}

#[test]
fn damage_is_told_and_nothing_is_restored() {
    let world = World::of(&chain(42, 60));
    let manifest = world.make("checkpoint");
    let folder = world.path("checkpoint");
    for file in &manifest.files {
        let path = folder.join(&file.path);
        let bytes = fs::read(&path).unwrap();
        // A link to the index's own file: the damage must stay here.
        fs::remove_file(&path).unwrap();
        let mut damaged = bytes.clone();
        match damaged.len() {
            0 => damaged.push(1),
            length => damaged[length / 2] ^= 8,
        }
        for damaged in [Some(damaged), bytes.get(1..).map(<[u8]>::to_vec), None] {
            match &damaged {
                Some(damaged) => fs::write(&path, damaged).unwrap(),
                None => drop(fs::remove_file(&path)),
            }
            let found = differences(&folder);
            assert!(found.len() == 1 && found[0].0 == file.path, "{found:?}");
            for placing in [Placing::Copy, Placing::Link] {
                if !file.path.starts_with("index/") {
                    continue;
                }
                // Files that an earlier attempt has fetched would be used.
                drop(fs::remove_dir_all(world.path("restored")));
                let refused = world.restore("checkpoint", "restored", placing).map(drop).unwrap_err();
                assert!(
                    matches!(
                        refused,
                        CheckpointError::Damaged { .. } | CheckpointError::Store(StoreError::File { .. })
                    ),
                    "{refused}"
                );
                assert!(!world.path("restored/index").exists());
            }
        }
        fs::write(&path, bytes).unwrap();
    }
    assert_eq!(differences(&folder), []);
    fs::write(folder.join("index/more"), b"").unwrap();
    assert_eq!(differences(&folder), [("index/more".to_owned(), "it is not in the manifest".to_owned())]);
    fs::remove_file(folder.join("index/more")).unwrap();
    // A manifest that leads out of the folder.
    let text = fs::read_to_string(folder.join("checkpoint.json")).unwrap();
    for path in ["../index/CURRENT", "/etc/passwd", "index/../../x", "index//x"] {
        fs::write(folder.join("checkpoint.json"), text.replacen("index/CURRENT", path, 1)).unwrap();
        let refused = world.restore("checkpoint", "restored", Placing::Copy).map(drop).unwrap_err();
        assert!(refused.to_string().contains("outside of the folder"), "{refused}");
    }
    // Lengths that cannot be added up, a file that two threads would write, hashes that leave bytes out.
    let mut lengths: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut twice = lengths.clone();
    lengths["files"].as_array_mut().unwrap().iter_mut().for_each(|file| file["bytes"] = (1u64 << 63).into());
    let first = twice["files"][0].clone();
    twice["files"].as_array_mut().unwrap().push(first);
    let mut hashes: serde_json::Value = serde_json::from_str(&text).unwrap();
    hashes["files"][0]["pieces"] = serde_json::json!([]);
    for (wrong, what) in [(lengths, "more bytes"), (twice, "twice"), (hashes, "is 0; for")] {
        fs::write(folder.join("checkpoint.json"), wrong.to_string()).unwrap();
        let refused = world.restore("checkpoint", "restored", Placing::Copy).map(drop).unwrap_err();
        assert!(matches!(refused, CheckpointError::Manifest { .. }) && refused.to_string().contains(what), "{refused}");
    }
    fs::write(folder.join("checkpoint.json"), text).unwrap();
    world.restore("checkpoint", "restored", Placing::Copy).unwrap();
    let refused = world.restore("checkpoint", "restored", Placing::Copy).map(drop).unwrap_err();
    assert!(refused.to_string().contains("has an index"), "{refused}");
}

#[test]
fn stopped_it_looks_like_nothing_and_begins_again() {
    let world = World::of(&chain(43, 60));
    for stop_at in 0..4 {
        let (cancel, steps) = (CancelToken::new(), AtomicU64::new(0));
        let stop = |_, _| {
            if steps.fetch_add(1, Ordering::Relaxed) == stop_at {
                cancel.cancel();
            }
        };
        let stopped =
            make(&world.path("data"), &world.path("checkpoint"), &[], None, &cancel, &stop).map(drop).unwrap_err();
        assert!(stopped.is_cancelled(), "{stopped}");
        assert!(!world.path("checkpoint/checkpoint.json").exists());
    }
    world.make("checkpoint");
    let (cancel, index) = (CancelToken::new(), world.path("restored/index"));
    let to = target(&world.path("restored"), Placing::Copy);
    let stopped = restore(&world.folder("checkpoint"), &Trust::Any, &to, &cancel, &|_, _| cancel.cancel());
    assert!(stopped.map(drop).unwrap_err().is_cancelled());
    assert!(!index.exists());
    world.restore("checkpoint", "restored", Placing::Copy).unwrap();
    assert!(sums_in(&world.path("restored")) == world.sums());
}

#[test]
fn what_is_beside_the_index_is_part_of_it() {
    let world = World::of(&chain(44, 30));
    let write = |path: &Path| fs::write(path, b"keys").map_err(|e| e.to_string());
    let beside = [ExtraFile { what: "the database of keys", name: "state.sqlite", write: &write }];
    let manifest = make(&world.path("data"), &world.path("checkpoint"), &beside, None, &never(), &|_, _| {}).unwrap();
    assert!(manifest.files.iter().any(|file| file.path == "state.sqlite" && file.bytes == 4));
    let fails = |_: &Path| Err("it is locked".to_owned());
    let beside = [ExtraFile { what: "the database of keys", name: "state.sqlite", write: &fails }];
    let refused =
        make(&world.path("data"), &world.path("other"), &beside, None, &never(), &|_, _| {}).map(drop).unwrap_err();
    assert_eq!(refused.to_string(), "the database of keys: it is locked");
    assert!(!world.path("other/checkpoint.json").exists());
}

#[test]
fn folders_of_others_are_left_alone() {
    let world = World::of(&chain(45, 20));
    fs::create_dir(world.path("photos")).unwrap();
    fs::write(world.path("photos/a.jpg"), b"mine").unwrap();
    let refused = world.try_make("photos", &never()).map(drop).unwrap_err();
    assert!(refused.to_string().contains("not empty"), "{refused}");
    assert_eq!(fs::read_dir(world.path("photos")).unwrap().count(), 1);
    world.make("checkpoint");
    let refused = world.try_make("checkpoint", &never()).map(drop).unwrap_err();
    assert!(refused.to_string().contains("has a checkpoint"), "{refused}");
    assert_eq!(differences(&world.path("checkpoint")), []);
}
