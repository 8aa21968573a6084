//! Bitcoin Core's validation accepts every block of the `everything` shape.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use cairn_chaingen::{EverythingOptions, everything};
use common::Kernel;

#[test]
fn accepts_several_seeds_with_forks() {
    for seed in 0..3 {
        let chain = everything(seed, &EverythingOptions::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        Kernel::open(folder.path()).accept(&chain);
        assert!(!chain.stale().is_empty());
    }
}

#[test]
fn accepts_a_fork_of_300_blocks() {
    let options = EverythingOptions { blocks: 420, max_txs: 4, forks: vec![300], showpieces: false };
    let chain = everything(11, &options).unwrap();
    let folder = tempfile::tempdir().unwrap();
    Kernel::open(folder.path()).accept(&chain);
    assert!(chain.stale().iter().any(|branch| branch.len() == 300));
}
