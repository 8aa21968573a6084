//! Reorganizations and unwinding leave no trace: the tables equal those of a straight run.

use std::path::Path;

use cairn_chaingen::{Chain, Everything};
use cairn_pipeline::{Driver, NoProgress, PipelineError};
use cairn_testkit::temp_dir;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{compare::assert_equal, support::*};

/// A chain before and after a fork of `depth` blocks.
fn before_and_after(seed: u64, depth: u32) -> (Chain, Chain) {
    let mut making = Everything::new(seed, 5, false);
    making.grow(depth.max(105) + 10).unwrap();
    let before = making.chain().clone();
    making.fork(depth, depth + 1).unwrap();
    making.grow(2).unwrap();
    (before, making.into_chain())
}

/// The index follows the fork and equals one that never saw the old branch.
fn follow(seed: u64, depth: u32, first: Driver) {
    let what = format!("seed {seed}, fork of {depth}, first {first:?}");
    let blocks = temp_dir();
    let (before, after) = before_and_after(seed, depth);
    write_tidy(blocks.path(), &before);
    let mut index = Index::of(blocks.path(), first);
    index.view(|view| assert_equal(view, &oracle_of(&before)));
    write_tidy(blocks.path(), &after);
    let report = index.sync(blocks.path(), Driver::Auto);
    assert_eq!((report.disconnected, report.connected), (u64::from(depth), u64::from(depth) + 3), "{what}");
    index.view(|view| assert_equal(view, &oracle_of(&after)));
    index.assert_sound();
    index.sums().assert_equal(&Index::of(blocks.path(), Driver::Bulk).sums(), &what);
}

#[test]
fn forks_of_any_depth_are_followed() {
    let depths = if long() { (1..=300).step_by(7).collect() } else { vec![1, 2, 3, 9, 31, 100] };
    for (seed, depth) in (1..).zip(depths) {
        follow(seed, depth, Driver::Bulk);
        follow(seed, depth, Driver::Tip);
    }
}

#[test]
fn a_fork_of_300_blocks_is_followed() {
    follow(300, 300, Driver::Bulk);
}

#[test]
fn a_chain_of_forks_is_followed_step_by_step() {
    let blocks = temp_dir();
    let mut making = Everything::new(9, 6, false);
    making.grow(112).unwrap();
    write_tidy(blocks.path(), making.chain());
    let mut index = Index::of(blocks.path(), Driver::Bulk);
    for (depth, length, grow) in [(1, 2, 0), (3, 4, 2), (2, 2, 1), (12, 13, 1), (1, 1, 0), (40, 41, 0), (41, 60, 3)] {
        making.fork(depth, length).unwrap();
        making.grow(grow).unwrap();
        write_tidy(blocks.path(), making.chain());
        // Reopened each time: nothing may depend on what an engine remembers.
        index = index.reopened();
        index.sync(blocks.path(), Driver::Auto);
        index.view(|view| assert_equal(view, &oracle_of(making.chain())));
        let straight = Index::of(blocks.path(), Driver::Bulk);
        index.sums().assert_equal(&straight.sums(), &format!("after a fork of {depth} by {length}"));
    }
}

fn assert_like_straight_run(index: &Index, blocks: &Path, height: u32, what: &str) {
    let straight = Index::up_to(blocks, Driver::Bulk, height);
    assert_eq!(index.height(), Some(height));
    index.sums().assert_equal(&straight.sums(), &format!("{what}, height {height}"));
}

#[test]
fn unwinding_equals_a_straight_run_to_that_height() {
    for (seed, driver) in [(1, Driver::Bulk), (2, Driver::Tip)] {
        let blocks = temp_dir();
        let chain = small_chain(seed);
        write_tidy(blocks.path(), &chain);
        let mut index = Index::of(blocks.path(), driver);
        let whole = index.sums();
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut height = chain.tip().height;
        let mut oracle = oracle_of(&chain);
        while height > 0 {
            height = [height - 1, rng.random_range(0..height), height.saturating_sub(10)][rng.random_range(0..3)];
            index.engine.unwind(height, &NoProgress).unwrap();
            let what = format!("seed {seed}");
            assert_like_straight_run(&index, blocks.path(), height, &what);
            oracle.truncate(height as usize + 1);
            index.view(|view| assert_equal(view, &oracle));
        }
        index = index.reopened();
        index.sync(blocks.path(), Driver::Auto);
        index.sums().assert_equal(&whole, "unwound to genesis and synced again");
    }
}

#[test]
fn unwinding_partly_then_syncing_again() {
    let blocks = temp_dir();
    let chain = small_chain(3);
    write_tidy(blocks.path(), &chain);
    let mut index = Index::of(blocks.path(), Driver::Bulk);
    let whole = index.sums();
    for height in [chain.tip().height, 120, 101, 100, 3] {
        index.engine.unwind(height, &NoProgress).unwrap();
        index.sync(blocks.path(), Driver::Auto);
        index.sums().assert_equal(&whole, &format!("unwound to {height} and synced again"));
    }
    let above = index.engine.unwind(chain.tip().height + 1, &NoProgress);
    assert!(matches!(above, Err(PipelineError::AboveTip { .. })), "{above:?}");
}

#[test]
fn stopping_while_unwinding_or_following_loses_nothing() {
    let (before, after) = before_and_after(4, 20);
    let blocks = temp_dir();
    write_tidy(blocks.path(), &after);
    let expected = Index::of(blocks.path(), Driver::Bulk).sums();
    for steps in [0, 1, 7, 19, 20, 21, 30, 42] {
        write_tidy(blocks.path(), &before);
        let mut index = Index::of(blocks.path(), Driver::Bulk);
        write_tidy(blocks.path(), &after);
        let stopped = sync_with(&mut index.engine, blocks.path(), &Default::default(), &Cut::stop(steps));
        assert!(matches!(stopped, Err(PipelineError::Stopped)), "{stopped:?} after {steps} steps");
        index = index.reopened();
        index.assert_sound();
        index.sync(blocks.path(), Driver::Auto);
        index.sums().assert_equal(&expected, &format!("stopped after {steps} steps"));
    }
}
