//! Exports that continue earlier ones: they equal new ones.

use std::{collections::BTreeSet, fs};

use cairn_export::{ExportOptions, Exported};
use cairn_model::CancelToken;

use crate::support::*;

fn since() -> ExportOptions {
    ExportOptions { is_incremental: true, ..options() }
}

/// Continues the export and compares it with a new one. Returns what it made.
fn continued(world: &World, options: &ExportOptions) -> Exported {
    let made = world.export("out", options);
    drop(fs::remove_dir_all(world.out("fresh")));
    let fresh = world.export("fresh", &ExportOptions { is_incremental: false, ..options.clone() });
    assert_eq!(made.manifest.datasets, fresh.manifest.datasets);
    assert!(files(&world.out("out")) == files(&world.out("fresh")));
    made
}

#[test]
fn new_blocks_are_added_and_the_rest_is_kept() {
    let chain = chain(8, 150);
    let mut world = World::of(&chain);
    let tip = world.height();
    world.unwind(60);
    world.export("out", &options());
    for to in [tip - 59, tip - 44, tip] {
        world.sync(Some(to));
        let made = continued(&world, &since());
        let told = made.manifest.since.unwrap();
        assert!(told.kept > 0 && told.tip_height < made.manifest.tip_height);
        // Only the last part can have grown.
        assert!(told.rewritten.len() <= 1, "{:?}", told.rewritten);
        let kept: BTreeSet<u32> =
            made.manifest.parts.iter().map(|part| part.from).filter(|from| from + 10 <= told.tip_height).collect();
        assert!(told.kept >= 4 * kept.len() as u64, "blocks, transactions, inputs, outputs");
    }
    // Nothing new.
    let made = continued(&world, &since());
    assert_eq!(made.manifest.since.unwrap().rewritten, Vec::<String>::new());
}

#[test]
fn parts_that_a_reorganization_changed_are_written_anew_and_told() {
    let chain = chain(9, 150);
    let mut world = World::of(&chain);
    let tip = world.height();
    world.export("out", &options());
    // Fewer blocks: parts are gone, one is shorter.
    world.unwind(34);
    let made = continued(&world, &since());
    let told = made.manifest.since.unwrap();
    let changed = |from: u32| format!("from_height={from}");
    let expected: Vec<String> =
        (0..=tip / 10).map(|at| at * 10).filter(|from| from + 9 > tip - 34).map(changed).collect();
    let mut told_now = told.rewritten.clone();
    told_now.sort_by_key(|name| name.len());
    let mut expected_now = expected;
    expected_now.sort();
    let mut told_sorted = told.rewritten;
    told_sorted.sort();
    assert_eq!(told_sorted, expected_now);
    world.sync(None);
    continued(&world, &since());
}

#[test]
fn an_export_that_replaced_files_and_was_given_up_is_no_ground_to_keep_them() {
    let mut world = World::of(&chain(10, 120));
    world.export("out", &options());
    let before = world.height();
    world.unwind(25);
    // It is stopped after its first files, and then another one is begun at the first tip again.
    let cancel = CancelToken::new();
    let (index, out, work) = (world.dir.path().join("data/index"), world.out("out"), world.work("out"));
    let stopped = export(&index, &out, &work, &since(), &cancel, &|step| {
        if step.files > 8 {
            cancel.cancel();
        }
    });
    assert!(stopped.map(drop).unwrap_err().is_cancelled());
    assert!(!out.join("manifest.json").exists(), "files have changed: no manifest stands over them");
    fs::remove_dir_all(&work).unwrap();
    world.sync(Some(before));
    // A file of the first export in which a bit has changed, of the same length.
    let path = out.join("blocks/from_height=10/part-0.parquet");
    let mut bytes = fs::read(&path).unwrap();
    bytes[100] ^= 1;
    fs::write(&path, bytes).unwrap();
    continued(&world, &since());
}

#[test]
fn another_form_does_not_continue() {
    let world = World::of(&chain(11, 40));
    world.export("out", &options());
    let before = files(&world.out("out"));
    for other in [
        ExportOptions { datasets: only(&["blocks"]).datasets, ..since() },
        ExportOptions { grid: cairn_export::Grid::Days, ..since() },
        ExportOptions {
            format: cairn_export::Format { hashes: cairn_export::Hashes::Hex, ..Default::default() },
            ..since()
        },
    ] {
        let refused = world.try_export("out", &other, &CancelToken::never()).unwrap_err();
        assert!(refused.to_string().contains("continue it with the same"), "{refused}");
    }
    let refused = world.try_export("none", &since(), &CancelToken::never()).unwrap_err();
    assert!(refused.to_string().contains("no export to continue"), "{refused}");
    assert!(files(&world.out("out")) == before);
}
