//! Bitcoin Core's own validation as the judge of generated chains.

#![allow(clippy::unwrap_used, clippy::expect_used, dead_code)]

use std::path::Path;
use std::sync::{Arc, Mutex};

use bitcoin::consensus::serialize;
use bitcoin::hashes::Hash;
use bitcoinkernel::core::BlockHashExt;
use bitcoinkernel::prelude::*;
use bitcoinkernel::{Block, ChainType, ChainstateManager, Context, ContextBuilder};
use cairn_chaingen::Chain;

/// A kernel on a folder of its own.
pub(crate) struct Kernel {
    manager: ChainstateManager,
    reasons: Arc<Mutex<Vec<String>>>,
    _context: Context,
}

impl Kernel {
    /// Opens a kernel whose block files are in `root/blocks`.
    pub(crate) fn open(root: &Path) -> Self {
        Self::start(root, false)
    }

    /// Opens a kernel that takes the block files of `root/blocks` in, as a node does with -reindex.
    pub(crate) fn reindex(root: &Path) -> Self {
        let kernel = Self::start(root, true);
        kernel.manager.import_blocks().unwrap();
        assert!(kernel.reasons.lock().unwrap().is_empty());
        kernel
    }

    /// The same for a folder with blocks that the kernel is to refuse when it connects them.
    pub(crate) fn reindex_invalid(root: &Path) -> Self {
        let kernel = Self::start(root, true);
        kernel.manager.import_blocks().unwrap();
        assert!(!kernel.reasons.lock().unwrap().is_empty());
        kernel
    }

    fn start(root: &Path, wipe: bool) -> Self {
        let blocks = root.join("blocks");
        std::fs::create_dir_all(&blocks).unwrap();
        let reasons = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&reasons);
        let context = ContextBuilder::new()
            .chain_type(ChainType::Regtest)
            .with_block_checked_validation(move |block: Block, state: bitcoinkernel::BlockValidationStateRef<'_>| {
                if state.mode() != bitcoinkernel::ValidationMode::Valid {
                    seen.lock().unwrap().push(format!("{:?}: {:?}", block.hash(), state.result()));
                }
            })
            .build()
            .unwrap();
        let manager = ChainstateManager::builder(&context, root.to_str().unwrap(), blocks.to_str().unwrap())
            .unwrap()
            .chainstate_db_in_memory(true)
            .block_tree_db_in_memory(true)
            .worker_threads(1)
            .wipe_db(wipe, wipe)
            .unwrap()
            .build()
            .unwrap();
        Self { manager, reasons, _context: context }
    }

    /// Gives the kernel every block in order of arrival; each must be new and valid, and the tip must follow.
    pub(crate) fn accept(&self, chain: &Chain) {
        let mut tip = 0;
        for mined in chain.arrivals().iter().skip(1) {
            let block = Block::new(&serialize(&mined.block)).unwrap();
            let result = self.manager.process_block(&block);
            let reasons = self.reasons.lock().unwrap();
            assert!(result.is_new_block() && reasons.is_empty(), "height {}: {result:?} {reasons:?}", mined.height);
            tip = tip.max(mined.height);
            assert_eq!(self.height(), tip as i32, "height {} was stored but not connected", mined.height);
        }
        assert_eq!(self.tip(), chain.tip().hash().to_byte_array());
    }

    pub(crate) fn height(&self) -> i32 {
        self.manager.active_chain().height()
    }

    pub(crate) fn tip(&self) -> [u8; 32] {
        self.manager.active_chain().tip().block_hash().to_bytes()
    }

    pub(crate) fn manager(&self) -> &ChainstateManager {
        &self.manager
    }
}
