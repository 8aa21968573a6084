//! Block and undo files that Bitcoin Core's own kernel wrote: the index over them equals the one over ours.

use cairn_chaingen::{
    EverythingOptions,
    corefiles::{FileOptions, Layout, write_chain},
    everything,
};
use cairn_pipeline::Driver;
use cairn_testkit::temp_dir;

use crate::{bitcoin_kernel::Kernel, compare::assert_equal, support::*};

/// The folder of the kernel, indexed.
fn check(root: &std::path::Path, ours: &Index, what: &str) {
    let blocks = root.join("blocks");
    let bulk = Index::of(&blocks, Driver::Bulk);
    bulk.assert_sound();
    let tip = Index::of(&blocks, Driver::Tip);
    tip.sums().assert_equal(&bulk.sums(), what);
    // Where the blocks lie is the only thing that may differ.
    bulk.sums().assert_equal_but(&ours.sums(), &["headers"], what);
}

#[test]
fn files_that_the_kernel_wrote() {
    for seed in 111..if long() { 116 } else { 112 } {
        let chain = everything(seed, &EverythingOptions { blocks: 160, ..EverythingOptions::default() }).unwrap();
        let root = temp_dir();
        let kernel = Kernel::open(root.path());
        kernel.accept(&chain);
        drop(kernel);
        let folder = temp_dir();
        write_tidy(folder.path(), &chain);
        let ours = Index::of(folder.path(), Driver::Bulk);
        check(root.path(), &ours, &format!("seed {seed}"));
        // The kernel was given the blocks in the same order, so even the places are the same.
        let theirs = Index::of(&root.path().join("blocks"), Driver::Bulk);
        theirs.sums().assert_equal(&ours.sums(), &format!("seed {seed}, with places"));
        theirs.view(|view| assert_equal(view, &oracle_of(&chain)));
    }
}

#[test]
fn undo_files_that_the_kernel_wrote_for_an_untidy_folder() {
    let chain = everything(119, &EverythingOptions { showpieces: false, ..EverythingOptions::default() }).unwrap();
    let root = temp_dir();
    let files = FileOptions { max_file_size: 60_000, preallocate: true, undo: false, ..file_options() };
    let layout = Layout { shuffle: 30, seed: 5, duplicate_every: 17, stray_every: 29, ..Layout::tidy(files) };
    write_chain(&root.path().join("blocks"), &chain, &layout).unwrap();
    // No undo data yet.
    let without = Index::of(&root.path().join("blocks"), Driver::Bulk);
    let kernel = Kernel::reindex(root.path());
    assert_eq!(kernel.height(), chain.tip().height as i32);
    drop(kernel);
    assert!(root.path().join("blocks/rev00000.dat").exists());
    check(root.path(), &without, "untidy");
}
