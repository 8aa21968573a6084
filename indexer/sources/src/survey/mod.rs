//! The survey: the blocks in the files, and the chain of most work among them.

mod gap;
mod refresh;

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
    time::SystemTime,
};

use cairn_model::{BlockHash, Height};

use crate::{
    block_ref::BlockRef,
    error::SourceError,
    folder::BlockFiles,
    scan::ScanCounts,
    stats::{DamagedPlace, SurveyProgress, SurveyStats},
    tree::{BlockLocation, NodeId, Tree},
};

pub use gap::{Gap, GapCause, Instead};

/// Bytes of memory for a further copy of a block, including the choice among copies.
const COPY_MEMORY: usize = 112;

/// Changes by a refresh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refreshed {
    /// Number of blocks at the start of the chain that stayed; the old chain's later blocks are no longer on it.
    pub kept: usize,
    /// Blocks on the chain before.
    pub before: usize,
    /// Blocks on the chain now.
    pub after: usize,
}

impl Refreshed {
    /// True if the chain changed.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.kept != self.before || self.after != self.before
    }
}

/// All blocks of a folder and the best chain among them. About 120 bytes of memory per block.
pub struct Survey {
    tree: Tree,
    files: BTreeMap<u32, FileState>,
    /// Further copies of blocks, by place.
    copies: BTreeMap<(u32, u64), (NodeId, BlockLocation)>,
    undo_files: HashMap<u32, Stamp>,
    /// Missing file numbers below the highest.
    missing_files: u64,
    gap: Option<Gap>,
    /// The highest height that these orphans state, so that it is read once.
    claimed: Option<(Vec<NodeId>, Option<Height>)>,
}

/// State of a file at the last check.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
    settled: bool,
}

struct FileState {
    stamp: Stamp,
    resume: u64,
    open: bool,
    counts: ScanCounts,
    tail: ScanCounts,
    damaged_at: Vec<u64>,
    skipped_at: Vec<u64>,
}

impl FileState {
    /// True if nothing was written to it.
    fn is_blank(&self) -> bool {
        self.counts.zero_bytes + self.tail.zero_bytes == self.stamp.len
    }
}

impl BlockFiles {
    /// Finds all blocks and the best chain by accumulated work, without a node. It reads about a hundred bytes of each
    /// record, and whole blocks only if something looks wrong or a file may still be written to.
    ///
    /// Damage outside the chain is only counted. Damage inside a block of the chain is found when the block is decoded.
    /// At a damaged header, the chain ends, and the blocks after it are counted as orphans; see [`Survey::gap`].
    pub fn survey(&self, progress: &dyn Fn(SurveyProgress)) -> Result<Survey, SourceError> {
        let mut survey = Survey {
            tree: Tree::new(self.genesis()),
            files: BTreeMap::new(),
            copies: BTreeMap::new(),
            undo_files: HashMap::new(),
            missing_files: 0,
            gap: None,
            claimed: None,
        };
        survey.refresh_with(self, progress)?;
        Ok(survey)
    }
}

impl Survey {
    /// Number of blocks on the best chain: its height plus one.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tree.chain().len()
    }

    /// Never: a survey has genesis at least.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tree.chain().is_empty()
    }

    /// The block at a height of the best chain.
    #[must_use]
    pub fn block(&self, height: Height) -> Option<BlockRef> {
        self.tree.chain().get(height as usize).map(|id| self.tree.block(*id))
    }

    /// Blocks of the best chain in order; heights above the tip are left out.
    pub fn blocks(&self, heights: Range<Height>) -> impl ExactSizeIterator<Item = BlockRef> + '_ {
        let len = self.len();
        let (from, to) = ((heights.start as usize).min(len), (heights.end as usize).min(len));
        self.tree.chain()[from..to.max(from)].iter().map(|id| self.tree.block(*id))
    }

    /// The last block of the best chain.
    #[must_use]
    pub fn tip(&self) -> Option<BlockRef> {
        self.tree.chain().last().map(|id| self.tree.block(*id))
    }

    /// Height of a block if it is on the best chain.
    #[must_use]
    pub fn height_of(&self, hash: &BlockHash) -> Option<Height> {
        let id = self.tree.find(&hash.0)?;
        self.tree.is_active(id).then(|| self.tree.height(id))
    }

    /// Accumulated work of the best chain: the expected number of hashes.
    #[must_use]
    pub fn work(&self) -> u128 {
        self.tree.best_work()
    }

    /// True if a branch with more work than the best chain is left out, because one of its blocks was rejected.
    #[must_use]
    pub fn ignores_more_work(&self) -> bool {
        self.tree.ignores_more_work()
    }

    /// Its memory in bytes.
    #[must_use]
    pub fn memory(&self) -> u64 {
        (self.tree.memory() + self.copies.len() * COPY_MEMORY) as u64
    }

    /// True if this many more records fit in the memory limit.
    fn check_memory(&self, files: &BlockFiles, more: usize) -> Result<(), SourceError> {
        let needed = (self.tree.memory_to_grow(more) + self.copies.len() * COPY_MEMORY) as u64;
        let allowed = files.survey_memory();
        if needed <= allowed {
            return Ok(());
        }
        Err(SourceError::NoMemoryForBlocks { blocks: (self.tree.len() + self.copies.len()) as u64, needed, allowed })
    }

    /// Statistics of the files. Walks through all blocks of the chain.
    #[must_use]
    pub fn stats(&self) -> SurveyStats {
        let mut counts = ScanCounts::default();
        let mut stats = SurveyStats::default();
        for (number, file) in &self.files {
            counts = counts.zip(file.counts, |a, b| a + b).zip(file.tail, |a, b| a + b);
            stats.bytes += file.stamp.len;
            let places = file.damaged_at.iter().map(|offset| DamagedPlace { file: *number, offset: *offset });
            stats.damaged_places.extend(places);
        }
        stats.files = self.files.len() as u64;
        stats.missing_files = self.missing_files;
        stats.blocks = self.tree.len() as u64;
        stats.chain_blocks = self.len() as u64;
        stats.orphan_blocks = self.tree.detached() as u64;
        stats.stale_blocks = stats.blocks - stats.chain_blocks - stats.orphan_blocks;
        stats.missing_parents = self.tree.missing_parents().take(16).collect();
        stats.duplicates = self.copies.len() as u64;
        stats.half_written = counts.half_written;
        stats.unfinished = counts.unfinished;
        stats.damaged = counts.damaged;
        stats.resyncs = counts.resyncs;
        stats.zero_bytes = counts.zero_bytes;
        stats.garbage_bytes = counts.garbage_bytes;
        let mut without_file = std::collections::BTreeSet::new();
        for id in self.tree.chain().iter().skip(1) {
            let node = self.tree.node(*id);
            if node.undo().is_none() {
                stats.missing_undo += 1;
                if !self.undo_files.contains_key(&node.location.file) {
                    without_file.insert(node.location.file);
                }
            }
        }
        stats.missing_undo_files = without_file.len() as u64;
        stats
    }
}
