//! Indexes of chains. The tests of checkpoints have this file, too.

use cairn_chaingen::{
    Chain, EverythingOptions,
    corefiles::{FileOptions, Layout, write_chain},
    everything,
};
use cairn_model::Network;
use cairn_pipeline::{Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use cairn_testkit::temp_dir;
use tempfile::TempDir;

/// A chain in which everything occurs.
pub fn chain(seed: u64, blocks: u32) -> Chain {
    everything(seed, &EverythingOptions { blocks, max_txs: 8, forks: vec![1, 5], showpieces: true }).unwrap()
}

/// An index of a chain, and its block files.
pub struct World {
    pub engine: Engine,
    pub dir: TempDir,
}

impl World {
    pub fn of(chain: &Chain) -> Self {
        let dir = temp_dir();
        let blocks = dir.path().join("blocks");
        write_chain(&blocks, chain, &Layout::tidy(FileOptions::new(bitcoin::Network::Regtest, [7; 8]))).unwrap();
        let facts = Facts { blocks_dir: Some(blocks), ..Facts::of(Network::Regtest) };
        let engine = Engine::open(&dir.path().join("data"), &facts).unwrap();
        let mut world = World { engine, dir };
        world.sync(None);
        world
    }

    /// Brings the index to the tip of the block files, or to a height.
    pub fn sync(&mut self, to: Option<u32>) {
        let files = BlockFiles::open(&self.dir.path().join("blocks"), Network::Regtest).unwrap();
        let survey = files.survey(&|_| {}).unwrap();
        let options = SyncOptions { to, ..SyncOptions::default() };
        self.engine.sync(&files, &survey, &options, &NoProgress).unwrap();
        self.settle();
    }

    pub fn settle(&self) {
        self.engine.follow_up(&NoProgress, true).unwrap();
        self.engine.settle().unwrap();
    }

    pub fn unwind(&mut self, blocks: u32) {
        let to = self.engine.tip().unwrap().unwrap().0 - blocks;
        self.engine.unwind(to, &NoProgress).unwrap();
        self.settle();
    }

    pub fn height(&self) -> u32 {
        self.engine.tip().unwrap().unwrap().0
    }
}
