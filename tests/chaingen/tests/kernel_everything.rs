//! Bitcoin Core's validation accepts every block of the `everything` shape.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use cairn_chaingen::{EverythingOptions, Joint, Owners, everything, owned_everything};
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

#[test]
fn accepts_chains_of_several_owners() {
    let joint = vec![Joint::CoinJoin, Joint::Pledge, Joint::PayJoin, Joint::Mixer];
    for (seed, keyless) in [(0, false), (1, true)] {
        let owners = Owners { count: 12, joint: joint.clone(), keyless };
        let (chain, _) = owned_everything(seed, &EverythingOptions::default(), owners).unwrap();
        let folder = tempfile::tempdir().unwrap();
        Kernel::open(folder.path()).accept(&chain);
        assert!(!chain.stale().is_empty());
    }
}
