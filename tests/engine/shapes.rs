//! Chains of many shapes, laid out in every way that folders have: bulk and tip agree with the oracle and with each
//! other, table by table.

use cairn_chaingen::{
    Chain, EverythingOptions,
    corefiles::{FileOptions, Layout, write_chain},
    demo, everything,
};
use cairn_pipeline::Driver;
use cairn_testkit::temp_dir;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{compare::assert_equal, support::*};

/// Indexes the folder both ways.
fn check(chain: &Chain, layout: &Layout, what: &str) {
    let dir = temp_dir();
    write_chain(dir.path(), chain, layout).unwrap();
    let oracle = oracle_of(chain);
    let bulk = Index::of(dir.path(), Driver::Bulk);
    bulk.view(|view| assert_equal(view, &oracle));
    bulk.assert_sound();
    let tip = Index::of(dir.path(), Driver::Tip);
    tip.sums().assert_equal(&bulk.sums(), what);
    tip.view(|view| assert_equal(view, &oracle));
    assert!(!bulk.path().join("bulk").exists(), "working files are left over");
}

/// A layout drawn by the seed.
fn any_layout(seed: u64) -> Layout {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed ^ 0x1a70);
    let mut every = |most: u32| if rng.random_bool(0.5) { rng.random_range(2..most) } else { 0 };
    let (duplicate_every, half_every, stray_every, old_undo_every) = (every(20), every(20), every(20), every(60));
    let files = FileOptions {
        xor_key: [None, Some([0; 8]), Some(rng.random())][rng.random_range(0..3)],
        max_file_size: [128 << 20, 200_000, 20_000][rng.random_range(0..3)],
        preallocate: rng.random_bool(0.3),
        undo: rng.random_bool(0.9),
        ..file_options()
    };
    Layout {
        shuffle: [0, 5, 60][rng.random_range(0..3)],
        seed,
        stale: rng.random_bool(0.8),
        duplicate_every,
        half_every,
        stray_every,
        old_undo_every,
        files,
    }
}

#[test]
fn any_chain_in_any_layout() {
    for seed in 100..if long() { 200 } else { 108 } {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let options = EverythingOptions {
            blocks: rng.random_range(105..190),
            max_txs: rng.random_range(1..14),
            forks: (0..rng.random_range(0..4)).map(|_| rng.random_range(1..20)).collect(),
            showpieces: false,
        };
        let layout = any_layout(seed);
        let what = format!("seed {seed}, {options:?}, {layout:?}");
        println!("{what}");
        check(&everything(seed, &options).unwrap(), &layout, &what);
    }
}

#[test]
fn with_showpieces() {
    for seed in 1..if long() { 20 } else { 3 } {
        println!("seed {seed}");
        let chain = everything(seed, &EverythingOptions::default()).unwrap();
        check(&chain, &Layout::tidy(file_options()), &format!("seed {seed}"));
    }
}

#[test]
fn the_untidiest_folder() {
    let chain = everything(5, &EverythingOptions { showpieces: false, ..EverythingOptions::default() }).unwrap();
    let files = FileOptions { max_file_size: 15_000, preallocate: true, ..file_options() };
    let layout = Layout {
        shuffle: 40,
        seed: 5,
        duplicate_every: 3,
        half_every: 4,
        stray_every: 5,
        old_undo_every: 0,
        ..Layout::tidy(files)
    };
    check(&chain, &layout, "the untidiest folder");
}

#[test]
fn nothing_but_genesis() {
    let chain = everything(1, &EverythingOptions { blocks: 0, max_txs: 1, forks: vec![], showpieces: false }).unwrap();
    assert_eq!(chain.arrivals().len(), 1);
    check(&chain, &Layout::tidy(file_options()), "genesis");
}

#[test]
fn the_demo_chain() {
    let chain = demo::chain(1).unwrap();
    check(&chain, &Layout::tidy(file_options()), "demo");
}
