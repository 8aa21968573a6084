//! Every stage but the journal is rebuilt from the journal: without block files, to the same rows.

use std::fs;

use cairn_pipeline::{Driver, NoProgress, PipelineError};
use cairn_testkit::temp_dir;

use crate::{compare::assert_equal, support::*};

/// Every pair of stages, and all of them.
fn together() -> Vec<Vec<&'static str>> {
    let stages: Vec<&str> = rebuildable().collect();
    let pairs = stages.iter().flat_map(|a| stages.iter().filter(move |b| *b > a).map(|b| vec![*a, *b]));
    pairs.chain([stages.clone()]).collect()
}

#[test]
fn rebuilt_without_block_files_equals_incremental() {
    for (seed, driver) in [(21, Driver::Bulk), (22, Driver::Tip)] {
        let blocks = temp_dir();
        let chain = small_chain(seed);
        let folder = blocks.path().join("blocks");
        write_tidy(&folder, &chain);
        let mut index = Index::of(&folder, driver);
        fs::rename(&folder, blocks.path().join("elsewhere")).unwrap();
        let expected = index.sums();
        assert!(rebuildable().count() >= 3);
        for stage in rebuildable() {
            index.engine.reindex(&[stage], &NoProgress).unwrap();
            index.sums().assert_equal(&expected, &format!("seed {seed}, {stage} rebuilt"));
            index.assert_sound();
        }
        for stages in together() {
            index.engine.reindex(&stages, &NoProgress).unwrap();
            index.sums().assert_equal(&expected, &format!("seed {seed}, {stages:?} rebuilt together"));
        }
        index.assert_sound();
        index.view(|view| assert_equal(view, &oracle_of(&chain)));
        index = index.reopened();
        index.sums().assert_equal(&expected, "rebuilt and reopened");
    }
}

#[test]
fn after_a_fork_as_well() {
    let blocks = temp_dir();
    let chain = small_chain(23);
    write_tidy(blocks.path(), &chain);
    let mut index = Index::of(blocks.path(), Driver::Bulk);
    index.engine.unwind(chain.tip().height - 8, &NoProgress).unwrap();
    index.sync(blocks.path(), Driver::Tip);
    let expected = index.sums();
    for stage in rebuildable() {
        index.engine.reindex(&[stage], &NoProgress).unwrap();
    }
    index.sums().assert_equal(&expected, "rebuilt after a reorganization");
}

#[test]
fn what_cannot_be_rebuilt_is_refused() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(24));
    let mut empty = Index::new(&facts(blocks.path()));
    assert!(matches!(empty.engine.reindex(&["coins"], &NoProgress), Err(PipelineError::Read(_))));
    let mut index = Index::of(blocks.path(), Driver::Bulk);
    let expected = index.sums();
    assert!(matches!(index.engine.reindex(&["chain"], &NoProgress), Err(PipelineError::ChainIsTheJournal)));
    let unknown = index.engine.reindex(&["no-such-stage"], &NoProgress);
    assert!(matches!(&unknown, Err(PipelineError::UnknownStage(name)) if name == "no-such-stage"), "{unknown:?}");
    index.sums().assert_equal(&expected, "nothing changed");
    index.assert_sound();
}

#[test]
fn cut_short_anywhere_it_is_finished_later() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(25));
    let mut index = Index::of(blocks.path(), Driver::Bulk);
    let expected = index.sums();
    let all: Vec<&str> = rebuildable().collect();
    for stages in rebuildable().map(|stage| vec![stage]).chain([all]) {
        for dies in [false, true] {
            let mut after = 0;
            loop {
                let cut = if dies { Cut::die(after) } else { Cut::stop(after) };
                if !is_cut(|| index.engine.reindex(&stages, &cut)) {
                    break;
                }
                index = index.reopened();
                // By turns: the next sync repairs it, or the same command again.
                if after % 2 == 0 {
                    index.sync(blocks.path(), Driver::Auto);
                } else {
                    index.engine.reindex(&stages, &NoProgress).unwrap();
                }
                index.sums().assert_equal(&expected, &format!("{stages:?}, cut after {after} steps (dies: {dies})"));
                index.assert_sound();
                after += 1;
            }
            assert!(after > 2, "{stages:?} were never cut");
        }
    }
}
