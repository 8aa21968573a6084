//! An index of a chain with the proportions of mainnet.

use std::path::{Path, PathBuf};

use cairn_chaingen::{
    corefiles::FileOptions,
    mainnet::{MainnetOptions, write_mainnet},
};
use cairn_model::Network;
use cairn_pipeline::{Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use cairn_support::disk_bytes;

/// An index in the folder `data`, and the block files that it was made from.
pub(crate) struct Indexed {
    pub(crate) engine: Engine,
    blocks: PathBuf,
    pub(crate) block_bytes: u64,
}

impl Indexed {
    /// Generates and indexes a chain of `bytes` bytes, and prints its figures.
    pub(crate) fn of(dir: &Path, bytes: u64) -> Self {
        let blocks = dir.join("blocks");
        let options = FileOptions::new(bitcoin::Network::Regtest, [0; 8]);
        let stats = write_mainnet(&blocks, options, &MainnetOptions::new(11, bytes)).unwrap();
        let facts = Facts { blocks_dir: Some(blocks.clone()), ..Facts::of(Network::Regtest) };
        let engine = Engine::open(&dir.join("data"), &facts).unwrap();
        let mut indexed = Indexed { engine, blocks, block_bytes: 0 };
        indexed.sync();
        let (reader, tip) = (indexed.engine.reader(), indexed.tip());
        let view = reader.view().unwrap();
        indexed.block_bytes = view.journal(0, tip).unwrap().map(|block| u64::from(block.unwrap().size)).sum();
        let index = disk_bytes(&dir.join("data/index"));
        println!("{stats:?}; {} bytes of blocks, index {index} bytes", indexed.block_bytes);
        drop(view);
        indexed
    }

    pub(crate) fn tip(&self) -> u32 {
        self.engine.tip().unwrap().unwrap().0
    }

    /// Brings the index to the end of the block files.
    pub(crate) fn sync(&mut self) {
        let files = BlockFiles::open(&self.blocks, Network::Regtest).unwrap();
        let survey = files.survey(&|_| {}).unwrap();
        self.engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
        self.settle();
    }

    /// Takes the newest tenth of the blocks away.
    pub(crate) fn unwind_a_tenth(&mut self) {
        let tip = self.tip();
        self.engine.unwind(tip - tip / 10, &NoProgress).unwrap();
        self.settle();
    }

    fn settle(&self) {
        self.engine.follow_up(&NoProgress, true).unwrap();
        self.engine.settle().unwrap();
    }
}
