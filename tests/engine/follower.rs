//! A reader in another process: two secondaries that swap. Nothing it serves is stale, torn or mixed.

use std::sync::atomic::{AtomicBool, Ordering};

use cairn_pipeline::{Driver, Engine, NoProgress, SyncOptions, verify};
use cairn_reader::SecondaryReader;
use cairn_sources::BlockFiles;
use cairn_testkit::temp_dir;

use crate::{compare::assert_equal, support::*};

/// Sets a flag when it is dropped, also by a panic.
struct SetAtTheEnd<'a>(&'a AtomicBool);

impl Drop for SetAtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Block by block, with a rival reading: after each announcement the announced tip is served, whole.
#[test]
fn every_announced_tip_is_served_whole() {
    let dir = temp_dir();
    let chain = small_chain(11);
    let blocks = dir.path().join("blocks");
    write_tidy(&blocks, &chain);
    let files = BlockFiles::open(&blocks, cairn_model::Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    let mut engine = Engine::open(dir.path(), &facts(&blocks)).unwrap();
    let to = |to| SyncOptions { driver: Driver::Tip, to: Some(to), ..SyncOptions::default() };
    let start = 100;
    engine.sync(&files, &survey, &to(start), &NoProgress).unwrap();
    let scratch = dir.path().join("serve");
    let follower = SecondaryReader::open(&dir.path().join("index"), &scratch, None, 64 << 20).unwrap();
    let mut oracle = oracle_of(&chain);
    let all = oracle.blocks().to_vec();
    oracle.truncate(start as usize + 1);
    let tip = survey.tip().unwrap().height;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // A failed comparison ends the reading too: the scope waits for it.
        let _ended = SetAtTheEnd(&done);
        // Requests of all kinds while the instances swap: each must see one tip from its start to its end.
        let reading = scope.spawn(|| {
            let mut audits = 0;
            while !done.load(Ordering::Relaxed) {
                let reader = follower.reader();
                let view = reader.view().unwrap();
                let audit = verify::audit(&view, &NoProgress).unwrap();
                assert!(audit.ok(), "at {}: {:#?}", audit.height, audit.checks);
                audits += 1;
            }
            audits
        });
        for height in start + 1..=tip {
            let report = engine.sync(&files, &survey, &to(height), &NoProgress).unwrap();
            let advanced = follower.advance(report.tip).unwrap();
            assert_eq!(Some((advanced.tip.height, advanced.tip.hash)), report.tip);
            assert!(advanced.moved);
            oracle.connect(&all[height as usize]);
            if height % 16 == 0 || height == tip {
                assert_equal(&follower.reader().view().unwrap(), &oracle);
            }
        }
        // A reorg is an announcement like any other.
        engine.unwind(tip - 20, &NoProgress).unwrap();
        oracle.truncate((tip - 20) as usize + 1);
        let advanced = follower.advance(engine.tip().unwrap()).unwrap();
        assert_eq!(advanced.tip.height, tip - 20);
        assert_equal(&follower.reader().view().unwrap(), &oracle);
        done.store(true, Ordering::Relaxed);
        assert!(reading.join().unwrap() > 0);
    });
    drop(follower);
    assert!(!scratch.exists());
}

/// The writer goes and comes back; a stage is rebuilt under the reader; the reader stays on its tip until it is asked
/// to advance.
#[test]
fn the_writer_may_restart_and_rebuild() {
    let dir = temp_dir();
    let chain = small_chain(12);
    let blocks = dir.path().join("blocks");
    write_tidy(&blocks, &chain);
    let files = BlockFiles::open(&blocks, cairn_model::Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    let tip = survey.tip().unwrap().height;
    let to = |to| SyncOptions { to: Some(to), ..SyncOptions::default() };
    let mut engine = Engine::open(dir.path(), &facts(&blocks)).unwrap();
    engine.sync(&files, &survey, &to(tip - 10), &NoProgress).unwrap();
    let follower = SecondaryReader::open(&dir.path().join("index"), &dir.path().join("serve"), None, 64 << 20).unwrap();
    drop(engine);
    assert_eq!(follower.advance(None).unwrap().tip.height, tip - 10);
    let mut engine = Engine::open(dir.path(), &facts(&blocks)).unwrap();
    for stage in ["scripts", "coins", "spends"] {
        engine.reindex(&[stage], &NoProgress).unwrap();
    }
    let report = engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
    let advanced = follower.advance(report.tip).unwrap();
    // The instance that stood by had the families that were dropped.
    assert!(advanced.reopened);
    assert_eq!(advanced.tip.height, tip);
    let reader = follower.reader();
    let view = reader.view().unwrap();
    assert_equal(&view, &oracle_of(&chain));
}

/// Stops at the first step of the second phase: the stage is dropped and not rebuilt.
#[derive(Default)]
struct StopSoon(cairn_model::CancelToken);

impl cairn_pipeline::Progress for StopSoon {
    fn step(&self, _: cairn_pipeline::ProgressStep) {
        self.0.cancel();
    }

    fn cancel_token(&self) -> &cairn_model::CancelToken {
        &self.0
    }
}

/// A stage that is being rebuilt has no answer, neither in this process nor in another: never an empty one.
#[test]
fn an_unfinished_stage_answers_nothing() {
    let dir = temp_dir();
    let chain = small_chain(13);
    let blocks = dir.path().join("blocks");
    write_tidy(&blocks, &chain);
    let mut engine = Engine::open(dir.path(), &facts(&blocks)).unwrap();
    let report = sync(&mut engine, &blocks, Driver::Auto);
    let follower = SecondaryReader::open(&dir.path().join("index"), &dir.path().join("serve"), None, 64 << 20).unwrap();
    let oracle = oracle_of(&chain);
    let script = oracle.all_totals().keys().next().unwrap().clone();
    let unfinished = |reader: &cairn_reader::Reader| {
        let view = reader.view().unwrap();
        matches!(view.scripts().find(script.as_bytes()), Err(cairn_reader::ReadError::Unfinished("scripts")))
    };
    assert!(!unfinished(&engine.reader()));
    let stopped = engine.reindex(&["scripts"], &StopSoon::default());
    assert!(matches!(stopped, Err(cairn_pipeline::PipelineError::Stopped)), "{stopped:?}");
    assert!(unfinished(&engine.reader()));
    // The other process has not looked yet: it serves what it has, whole. Once it looks, it knows.
    assert!(!unfinished(&follower.reader()));
    let fresh = SecondaryReader::open(&dir.path().join("index"), &dir.path().join("other"), None, 64 << 20).unwrap();
    assert!(unfinished(&fresh.reader()));
    // Questions that need other stages are answered.
    let view_reader = engine.reader();
    let view = view_reader.view().unwrap();
    assert!(view.transactions().spenders(cairn_model::TxNum(1)).is_ok());
    drop(view);
    engine.reindex(&["scripts"], &NoProgress).unwrap();
    assert!(!unfinished(&engine.reader()));
    follower.advance(report.tip).unwrap();
    assert_equal(&engine.reader().view().unwrap(), &oracle);
}

/// RocksDB crashes an instance that was opened over a dropped family and catches up.
#[test]
fn after_a_rebuild_it_opens_anew_until_the_writer_begins_a_new_manifest() {
    let dir = temp_dir();
    let chain = small_chain(11);
    let blocks = dir.path().join("blocks");
    write_tidy(&blocks, &chain);
    let files = BlockFiles::open(&blocks, cairn_model::Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    let mut engine = Engine::open(dir.path(), &facts(&blocks)).unwrap();
    let mut tip = 100;
    let to = |to| SyncOptions { driver: Driver::Tip, to: Some(to), ..SyncOptions::default() };
    engine.sync(&files, &survey, &to(tip), &NoProgress).unwrap();
    let index = dir.path().join("index");
    let follower = SecondaryReader::open(&index, &dir.path().join("serve"), None, 64 << 20).unwrap();
    let mut oracle = oracle_of(&chain);
    let all = oracle.blocks().to_vec();
    oracle.truncate(tip as usize + 1);
    // Which of the next blocks made it open an instance.
    let mut follow = |engine: &mut Engine, blocks: u32| -> Vec<bool> {
        let mut opened = Vec::new();
        for _ in 0..blocks {
            tip += 1;
            let report = engine.sync(&files, &survey, &to(tip), &NoProgress).unwrap();
            opened.push(follower.advance(report.tip).unwrap().reopened);
            oracle.connect(&all[tip as usize]);
            assert_equal(&follower.reader().view().unwrap(), &oracle);
        }
        opened
    };
    assert_eq!(follow(&mut engine, 4), [true, false, false, false], "the second instance");
    engine.reindex(&["scripts"], &NoProgress).unwrap();
    assert_eq!(follow(&mut engine, 4), [true; 4], "the manifest tells of a drop");
    drop(engine);
    let mut engine = Engine::open_existing(dir.path()).unwrap();
    assert_eq!(follow(&mut engine, 4), [true, true, false, false], "both instances, once");
}
