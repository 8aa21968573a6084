//! Chains, folders and engines for the tests here.

use std::path::Path;

use cairn_chaingen::{
    Chain, EverythingOptions,
    corefiles::{FileOptions, Layout, write_chain},
    everything,
};
use cairn_model::Network;
use cairn_pipeline::{Driver, Engine, NoProgress, SyncOptions, SyncReport};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use cairn_testkit::Oracle;

/// A chain in which everything occurs, small enough for many runs.
pub fn small_chain(seed: u64) -> Chain {
    everything(seed, &EverythingOptions { blocks: 150, max_txs: 8, forks: vec![1, 5], showpieces: false }).unwrap()
}

/// The oracle at the tip of the active chain.
pub fn oracle_of(chain: &Chain) -> Oracle {
    let blocks: Vec<_> = chain.active().iter().map(|m| m.block.clone()).collect();
    Oracle::of(Network::Regtest, &blocks)
}

/// Writes the chain as a tidy folder of block files.
pub fn write_tidy(dir: &Path, chain: &Chain) {
    let files = FileOptions::new(bitcoin::Network::Regtest, [1, 2, 3, 4, 5, 6, 7, 8]);
    write_chain(dir, chain, &Layout::tidy(files)).unwrap();
}

/// Facts of a regtest index over `blocks`.
pub fn facts(blocks: &Path) -> Facts {
    Facts { blocks_dir: Some(blocks.to_owned()), ..Facts::of(Network::Regtest) }
}

/// Brings an engine to what the folder holds.
pub fn sync(engine: &mut Engine, blocks: &Path, driver: Driver) -> SyncReport {
    let files = BlockFiles::open(blocks, engine.facts().network).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    engine.sync(&files, &survey, &SyncOptions { driver, ..SyncOptions::default() }, &NoProgress).unwrap()
}
