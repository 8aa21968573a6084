//! Bulk indexing, cut at every step of every phase and taken up again: the result is that of a straight run.

use std::collections::HashSet;

use cairn_chaingen::{Chain, Everything};
use cairn_pipeline::{BulkSizes, Driver, Engine, NoProgress, Phase, Progress, ProgressStep, SyncOptions};
use cairn_reader::Facts;
use cairn_testkit::temp_dir;

use crate::{compare::assert_equal, support::*};

/// So small that a small chain takes several of everything.
pub const SMALL: BulkSizes = BulkSizes {
    batch_bytes: 20_000,
    partition_bytes: 30_000,
    file_bytes: 10_000,
    sort_bytes: 2_000,
    buffer_bytes: 10_000,
    save_seconds: 0,
};

/// Everything alone.
const ONES: BulkSizes = BulkSizes {
    batch_bytes: 1,
    partition_bytes: 1,
    file_bytes: 1,
    sort_bytes: 1,
    buffer_bytes: 1,
    save_seconds: 1_000,
};

fn small_sized(facts: &Facts) -> Index {
    let mut index = Index::new(facts);
    index.engine.set_bulk_sizes(SMALL);
    index
}

#[test]
fn sizes_do_not_matter() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(31));
    let expected = Index::of(blocks.path(), Driver::Bulk).sums();
    for ignore_undo in [false, true] {
        for sizes in [SMALL, ONES, BulkSizes::of_memory(256 << 20, 2)] {
            let mut index = Index::new(&facts(blocks.path()));
            index.engine.set_bulk_sizes(sizes);
            let options = SyncOptions { ignore_undo, ..SyncOptions::default() };
            sync_with(&mut index.engine, blocks.path(), &options, &NoProgress).unwrap();
            index.sums().assert_equal(&expected, &format!("{sizes:?}, ignoring undo data: {ignore_undo}"));
            for stage in rebuildable() {
                index.engine.reindex(&[stage], &NoProgress).unwrap();
            }
            index.sums().assert_equal(&expected, &format!("rebuilt, {sizes:?}"));
        }
    }
}

/// Cuts at every `stride`-th step until a run goes through.
fn cut_everywhere(blocks: &std::path::Path, ignore_undo: bool, dies: bool, stride: u64) -> u64 {
    let options = SyncOptions { ignore_undo, ..SyncOptions::default() };
    let expected = Index::of(blocks, Driver::Bulk).sums();
    let (mut after, mut cuts) = (0, 0);
    loop {
        let mut index = small_sized(&facts(blocks));
        let cut = if dies { Cut::die(after) } else { Cut::stop(after) };
        if !is_cut(|| sync_with(&mut index.engine, blocks, &options, &cut)) {
            return cuts;
        }
        let mut index = index.reopened();
        index.engine.set_bulk_sizes(SMALL);
        let resumed = sync_with(&mut index.engine, blocks, &options, &NoProgress).unwrap();
        let what = format!("cut after {after} steps (dies: {dies}, ignoring undo data: {ignore_undo}), {resumed:?}");
        index.sums().assert_equal(&expected, &what);
        assert!(!index.path().join("bulk").exists(), "working files are left over");
        after += stride;
        cuts += 1;
    }
}

#[test]
fn cut_after_any_step() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(32));
    let stride = if long() { 1 } else { 11 };
    for ignore_undo in [false, true] {
        for dies in [false, true] {
            let cuts = cut_everywhere(blocks.path(), ignore_undo, dies, stride);
            assert!(cuts * stride > 30, "{cuts} cuts");
        }
    }
}

#[test]
fn cut_again_and_again() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(33));
    let expected = Index::of(blocks.path(), Driver::Bulk).sums();
    let mut index = small_sized(&facts(blocks.path()));
    // More and more steps, or a phase longer than the cut would never end.
    for after in 1.. {
        let cut = if after % 2 == 0 { Cut::die(after) } else { Cut::stop(after) };
        if !is_cut(|| sync_with(&mut index.engine, blocks.path(), &SyncOptions::default(), &cut)) {
            break;
        }
        index = index.reopened();
        index.engine.set_bulk_sizes(SMALL);
    }
    index.sums().assert_equal(&expected, "cut again and again");
}

/// A run that dies, and what was heard of it.
struct Heard {
    cut: Cut,
    steps: std::sync::Mutex<Vec<ProgressStep>>,
}

impl Heard {
    fn new(cut: Cut) -> Self {
        Heard { cut, steps: std::sync::Mutex::default() }
    }

    fn steps(&self) -> Vec<ProgressStep> {
        self.steps.lock().unwrap().clone()
    }
}

impl Progress for Heard {
    fn step(&self, step: ProgressStep) {
        self.steps.lock().unwrap().push(step);
        self.cut.step(step);
    }
}

/// Nothing that was made durable is done again.
#[test]
fn a_phase_goes_on_where_it_was_cut() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(39));
    let expected = Index::of(blocks.path(), Driver::Bulk).sums();
    let options = SyncOptions { ignore_undo: true, ..SyncOptions::default() };
    for phase in [Phase::Link, Phase::Join, Phase::Coins, Phase::Fold, Phase::Tables] {
        let mut index = small_sized(&facts(blocks.path()));
        // Not in the very first step.
        let cut = Heard::new(Cut::die(1).of(phase));
        assert!(is_cut(|| sync_with(&mut index.engine, blocks.path(), &options, &cut)), "{phase:?}");
        let mut index = index.reopened();
        index.engine.set_bulk_sizes(SMALL);
        let resumed = Heard::new(Cut::die(u64::MAX));
        sync_with(&mut index.engine, blocks.path(), &options, &resumed).unwrap();
        let before = cut.steps().into_iter().rfind(|step| step.phase == phase).unwrap();
        let first = resumed.steps()[0];
        // Threads that were at their tables finish them, and may finish all.
        let all = phase == Phase::Tables && before.done == before.total && first.phase == Phase::Ingest;
        assert!(all || first.phase == phase && first.done > before.done, "{before:?}, and then {first:?}");
        index.sums().assert_equal(&expected, &format!("{phase:?}"));
    }
}

/// With more or less memory than before.
#[test]
fn a_run_goes_on_with_other_sizes() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(40));
    let expected = Index::of(blocks.path(), Driver::Bulk).sums();
    for after in (0..60).step_by(6) {
        let mut index = small_sized(&facts(blocks.path()));
        if !is_cut(|| sync_with(&mut index.engine, blocks.path(), &SyncOptions::default(), &Cut::die(after))) {
            break;
        }
        let mut index = index.reopened();
        index.engine.set_bulk_sizes(BulkSizes { sort_bytes: 1 << 20, batch_bytes: 1 << 20, ..SMALL });
        index.sync(blocks.path(), Driver::Auto);
        index.sums().assert_equal(&expected, &format!("cut after {after} steps"));
    }
}

/// A run that was cut goes on if the next one finds the same folder, and is dropped if it finds another.
fn cut_then_changed(before: &Chain, after: &Chain, next: Driver) {
    let folder = temp_dir();
    let changed = temp_dir();
    write_tidy(folder.path(), before);
    write_tidy(changed.path(), after);
    let expected = Index::of(changed.path(), Driver::Bulk).sums();
    for phase in [Phase::Link, Phase::Join, Phase::Fold, Phase::Tables, Phase::Ingest] {
        for steps in [0, 3, 9] {
            let mut index = small_sized(&facts(folder.path()));
            let cut = Cut::die(steps).of(phase);
            if !is_cut(|| sync_with(&mut index.engine, folder.path(), &SyncOptions::default(), &cut)) {
                continue;
            }
            let mut index = index.reopened();
            index.engine.set_bulk_sizes(SMALL);
            index.sync(changed.path(), next);
            let what = format!("{next:?} after a cut in {phase:?} at {steps}");
            index.sums().assert_equal(&expected, &what);
            assert!(!index.path().join("bulk").exists(), "{what}: working files are left over");
            index.assert_sound();
        }
    }
}

#[test]
fn cut_and_then_the_folder_is_another() {
    let mut making = Everything::new(34, 5, false);
    making.grow(120).unwrap();
    let before = making.chain().clone();
    making.fork(8, 10).unwrap();
    cut_then_changed(&before, making.chain(), Driver::Bulk);
    cut_then_changed(&before, making.chain(), Driver::Tip);
}

#[test]
fn cut_and_then_without_undo_files() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(35));
    let expected = Index::of(blocks.path(), Driver::Bulk).sums();
    for steps in (0..60).step_by(7) {
        write_tidy(blocks.path(), &small_chain(35));
        let mut index = small_sized(&facts(blocks.path()));
        if !is_cut(|| sync_with(&mut index.engine, blocks.path(), &SyncOptions::default(), &Cut::stop(steps))) {
            break;
        }
        std::fs::remove_file(blocks.path().join("rev00000.dat")).unwrap();
        index.sync(blocks.path(), Driver::Auto);
        index.sums().assert_equal(&expected, &format!("cut after {steps} steps, then without undo data"));
    }
}

#[test]
fn what_a_killed_run_left_behind_is_removed() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(38));
    let mut index = Index::of(blocks.path(), Driver::Bulk);
    let expected = index.sums();
    // Killed after the commit and before it could clean up.
    let left = index.path().join("bulk");
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("lane-scripts.000.spill"), [1; 100]).unwrap();
    index.sync(blocks.path(), Driver::Auto);
    assert!(!left.exists());
    index.sums().assert_equal(&expected, "cleaned up");
}

/// Remembers the phases it heard of.
#[derive(Default)]
struct Phases(std::sync::Mutex<HashSet<Phase>>);

impl Progress for Phases {
    fn step(&self, step: ProgressStep) {
        assert!(step.total == 0 || step.done <= step.total, "{step:?}");
        self.0.lock().unwrap().insert(step.phase);
    }
}

#[test]
fn every_phase_is_told_and_an_unfinished_index_reads_as_empty() {
    let blocks = temp_dir();
    let chain = small_chain(36);
    write_tidy(blocks.path(), &chain);
    let mut index = small_sized(&facts(blocks.path()));
    assert!(is_cut(|| sync_with(
        &mut index.engine,
        blocks.path(),
        &Default::default(),
        &Cut::die(5).of(Phase::Ingest)
    )));
    let mut index = index.reopened();
    assert_eq!(index.height(), None);
    assert!(matches!(index.engine.reader().view().map(drop), Err(cairn_reader::ReadError::Empty)));
    let phases = Phases::default();
    let options = SyncOptions { ignore_undo: true, ..SyncOptions::default() };
    sync_with(&mut index.engine, blocks.path(), &options, &phases).unwrap();
    let mut expected = vec![Phase::Link, Phase::Join, Phase::Coins, Phase::Fold, Phase::Tables, Phase::Ingest];
    expected.retain(|phase| !phases.0.lock().unwrap().contains(phase));
    assert!(expected.is_empty(), "not heard of: {expected:?}");
    index.view(|view| assert_equal(view, &oracle_of(&chain)));
}

#[test]
fn block_by_block_from_genesis_cut_anywhere() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(37));
    let expected = Index::of(blocks.path(), Driver::Bulk).sums();
    let tip = SyncOptions { driver: Driver::Tip, ..SyncOptions::default() };
    for after in [0, 1, 2, 60, 130, 150] {
        for dies in [false, true] {
            let mut index = Index::new(&facts(blocks.path()));
            let cut = if dies { Cut::die(after) } else { Cut::stop(after) };
            assert!(is_cut(|| sync_with(&mut index.engine, blocks.path(), &tip, &cut)));
            let mut index = index.reopened();
            if index.height().is_some() {
                index.assert_sound();
            }
            index.sync(blocks.path(), Driver::Auto);
            index.sums().assert_equal(&expected, &format!("cut after {after} blocks (dies: {dies})"));
        }
    }
    drop(Engine::open_existing(blocks.path()).map(drop).unwrap_err());
}
