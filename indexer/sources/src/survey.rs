//! The survey: which blocks the files hold, and which of them form the chain of most work.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    ops::Range,
    time::{Duration, SystemTime},
};

use cairn_model::{BlockHash, Height, TxNum};
use rayon::prelude::*;

use crate::{
    block_ref::BlockRef,
    decode::is_sound,
    error::SourceError,
    folder::{BlockFiles, Kind},
    match_undo::{FileBlocks, match_file},
    pow::PowCheck,
    scan::{MAX_RECORDS, Record, Scan, ScanCounts, scan_blocks},
    stats::{DamagedPlace, SurveyPhase, SurveyProgress, SurveyStats},
    tree::{Inserted, NodeId, Place, Tree},
};

/// Bytes of memory of what the survey notes of a further copy of a block, and of what it takes to choose among copies.
const COPY_MEMORY: usize = 112;
/// A file whose last change is younger than this may change again without showing it in its times.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// What a refresh changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refreshed {
    /// Blocks at the start of the chain that stayed; the old chain's later blocks are no longer on it.
    pub kept: usize,
    /// Blocks on the chain before.
    pub before: usize,
    /// Blocks on the chain now.
    pub after: usize,
}

impl Refreshed {
    /// Whether the chain is another than before.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.kept != self.before || self.after != self.before
    }
}

/// All blocks of a folder and the best chain among them. Some 120 bytes of memory per block.
pub struct Survey {
    tree: Tree,
    files: BTreeMap<u32, FileState>,
    /// Further copies of blocks, by place.
    copies: BTreeMap<(u32, u64), (NodeId, Place)>,
    undo_files: HashMap<u32, Stamp>,
}

/// A file as it was when it was last looked at.
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
}

impl BlockFiles {
    /// Finds all blocks and the best chain: by accumulated work, without a node. Reads a hundred bytes or so of each
    /// record, and blocks as a whole only where something looks wrong or a file may still be written to.
    ///
    /// Damage beside the chain is counted, not refused. Damage inside a block of the chain shows when the block is
    /// decoded; where a header is damaged, the chain ends before it and the blocks behind are counted as orphans.
    ///
    /// # Errors
    /// Where files cannot be read, no file holds genesis, or there are more blocks than memory was given for.
    pub fn survey(&self, progress: &dyn Fn(SurveyProgress)) -> Result<Survey, SourceError> {
        let mut survey = Survey {
            tree: Tree::new(self.genesis()),
            files: BTreeMap::new(),
            copies: BTreeMap::new(),
            undo_files: HashMap::new(),
        };
        survey.refresh_with(self, progress)?;
        Ok(survey)
    }
}

impl Survey {
    /// Reads what was added to the folder since, in any of its files, and follows the best chain. Files that did not
    /// change are not opened.
    ///
    /// # Errors
    /// Where files cannot be read. What was known before stays valid then.
    pub fn refresh(&mut self, files: &BlockFiles) -> Result<Refreshed, SourceError> {
        self.refresh_with(files, &|_| {})
    }

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

    /// Blocks of the best chain in order; heights beyond the tip are left out.
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

    /// Number of transactions on the best chain, which is the number of the next one.
    #[must_use]
    pub fn end_tx(&self) -> TxNum {
        self.tip().map_or(TxNum(0), |tip| TxNum(tip.first_tx.0 + u64::from(tip.tx_count)))
    }

    /// Accumulated work of the best chain: the expected number of hashes.
    #[must_use]
    pub fn work(&self) -> u128 {
        self.tree.best_work()
    }

    /// Bytes of memory that it takes.
    #[must_use]
    pub fn memory(&self) -> u64 {
        (self.tree.memory() + self.copies.len() * COPY_MEMORY) as u64
    }

    /// Whether so many more records fit beside what there is.
    fn check_memory(&self, files: &BlockFiles, more: usize) -> Result<(), SourceError> {
        let needed = (self.tree.memory_to_grow(more) + self.copies.len() * COPY_MEMORY) as u64;
        let allowed = files.survey_memory();
        if needed <= allowed {
            return Ok(());
        }
        Err(SourceError::NoMemoryForBlocks { blocks: (self.tree.len() + self.copies.len()) as u64, needed, allowed })
    }

    /// What the files hold, in counts. Walks through all blocks of the chain.
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
        stats.missing_files = self.files.keys().next_back().map_or(0, |last| u64::from(*last) + 1 - stats.files);
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
                if !self.undo_files.contains_key(&node.place.file) {
                    without_file.insert(node.place.file);
                }
            }
        }
        stats.missing_undo_files = without_file.len() as u64;
        stats
    }

    fn refresh_with(
        &mut self,
        files: &BlockFiles,
        progress: &dyn Fn(SurveyProgress),
    ) -> Result<Refreshed, SourceError> {
        let before = self.len();
        let copies = self.scan(files, progress)?;
        let Some(kept) = self.tree.connect() else {
            return Err(SourceError::NoGenesis { path: files.dir().to_owned(), genesis: files.genesis() });
        };
        let renumber_from = self.choose_copies(files, &copies)?;
        if let Some(height) = renumber_from {
            self.tree.number(height);
        }
        self.find_undo(files, kept, progress)?;
        Ok(Refreshed { kept, before, after: self.len() })
    }

    /// Scans what is new in the block files. Returns the blocks that turned out to have several copies.
    fn scan(&mut self, files: &BlockFiles, progress: &dyn Fn(SurveyProgress)) -> Result<Vec<NodeId>, SourceError> {
        let numbers = files.list(Kind::Block)?;
        let pow = PowCheck::new(files.network());
        let mut todo = Vec::new();
        for (i, number) in numbers.iter().enumerate() {
            let stamp = Stamp::of(files, Kind::Block, *number)?;
            // Nodes append to the last file, or to the last two where they sync from two ends.
            let last = i + 2 >= numbers.len();
            let known = self.files.get(number);
            let unchanged = known.is_some_and(|f| f.stamp == stamp && stamp.settled && !f.open);
            if !unchanged {
                todo.push((*number, stamp, known.map(|f| (f.resume, f.tail)), last));
            }
        }
        let mut again = Vec::new();
        let mut done = 0;
        let at_once = files.survey_memory() / 8 / (MAX_RECORDS * size_of::<Record>()) as u64;
        for batch in todo.chunks((rayon::current_num_threads() * 2).min(at_once.max(1) as usize)) {
            let scans: Vec<Scan> = batch
                .par_iter()
                .map(|(number, _, known, last)| {
                    let mut file = files.open_raw(Kind::Block, *number)?;
                    let magic = files.network().magic();
                    if let Some((resume, tail)) = known
                        && *resume <= file.len()
                    {
                        let scan = scan_blocks(&mut file, magic, &pow, *resume, *last)?;
                        // New garbage where records should go on: the node fell back and wrote over older records.
                        if scan.counts.resyncs + scan.tail.resyncs <= tail.resyncs {
                            return Ok(scan);
                        }
                    }
                    scan_blocks(&mut file, magic, &pow, 0, *last).map(|scan| Scan { whole: true, ..scan })
                })
                .collect::<Result<_, SourceError>>()?;
            for ((number, stamp, _, last), scan) in batch.iter().zip(scans) {
                let (mut resume, mut more) = (scan.resume, scan.more);
                self.check_memory(files, scan.records.len())?;
                self.take_scan(*number, *stamp, scan, &mut again)?;
                // A file of very small blocks, in parts: what the tree knows of a block takes less than its record.
                while more {
                    let mut file = files.open_raw(Kind::Block, *number)?;
                    let scan = scan_blocks(&mut file, files.network().magic(), &pow, resume, *last)?;
                    (resume, more) = (scan.resume, scan.more);
                    self.tree.find_parents();
                    self.check_memory(files, scan.records.len())?;
                    self.take_scan(*number, *stamp, scan, &mut again)?;
                }
            }
            self.tree.find_parents();
            done += batch.len();
            let blocks = self.tree.len() as u64;
            progress(SurveyProgress { phase: SurveyPhase::Blocks, files_done: done, files_total: todo.len(), blocks });
        }
        again.sort_unstable();
        again.dedup();
        Ok(again)
    }

    fn take_scan(&mut self, number: u32, stamp: Stamp, scan: Scan, again: &mut Vec<NodeId>) -> Result<(), SourceError> {
        for record in &scan.records {
            match self.tree.insert(number, record) {
                Inserted::New | Inserted::Seen => {}
                Inserted::Copy(id) => {
                    let place =
                        Place { offset: record.offset, file: number, size: record.size, tx_count: record.tx_count };
                    if self.copies.insert((number, record.offset), (id, place)).is_none() {
                        again.push(id);
                    }
                }
                Inserted::Full => return Err(SourceError::TooManyBlocks),
            }
        }
        for offset in &scan.damaged_at {
            tracing::debug!(file = number, offset, "damaged or half-written record");
        }
        let old = self.files.remove(&number).filter(|_| !scan.whole);
        let (counts, mut damaged_at, from) = old.map_or_else(Default::default, |f| (f.counts, f.damaged_at, f.resume));
        damaged_at.retain(|at| *at < from);
        damaged_at.extend(scan.damaged_at);
        let state = FileState {
            stamp,
            resume: scan.resume,
            open: scan.open,
            counts: counts.zip(scan.counts, |a, b| a + b),
            tail: scan.tail,
            damaged_at,
        };
        self.files.insert(number, state);
        Ok(())
    }

    /// Blocks with several copies: a crash may have damaged one of them, so the copy in use must decode if any does.
    /// Returns the lowest height of the chain at which the number of transactions may be another now.
    /// `again` are the blocks to look at, in ascending order.
    fn choose_copies(&mut self, files: &BlockFiles, again: &[NodeId]) -> Result<Option<usize>, SourceError> {
        let mut lowest = None;
        let mut places: Vec<(NodeId, Place)> = self.copies.values().copied().collect();
        places.retain(|(id, _)| again.binary_search(id).is_ok());
        // Stable: copies of one block stay in the order of the files.
        places.sort_by_key(|(id, _)| *id);
        let mut buf = Vec::new();
        for places in places.chunk_by(|(a, _), (b, _)| a == b) {
            let id = places[0].0;
            let used = self.tree.node(id).place;
            if decodes(files, &used, &mut buf)? {
                continue;
            }
            for (_, place) in places {
                if decodes(files, place, &mut buf)? {
                    self.copies.remove(&(place.file, place.offset));
                    self.copies.insert((used.file, used.offset), (id, used));
                    let node = self.tree.node_mut(id);
                    node.place = *place;
                    node.set_undo(None);
                    if self.tree.is_active(id) {
                        let height = self.tree.height(id) as usize;
                        lowest = Some(lowest.map_or(height, |l: usize| l.min(height)));
                    }
                    break;
                }
            }
        }
        Ok(lowest)
    }

    /// Finds undo data for blocks of the chain that have none yet, file by file.
    fn find_undo(
        &mut self,
        files: &BlockFiles,
        kept: usize,
        progress: &dyn Fn(SurveyProgress),
    ) -> Result<(), SourceError> {
        // Files with something to find: those that changed, and those that hold blocks new on the chain.
        let mut missing: HashMap<u32, bool> = HashMap::new();
        for (height, id) in self.tree.chain().iter().enumerate().skip(1) {
            let node = self.tree.node(*id);
            if node.undo().is_none() {
                *missing.entry(node.place.file).or_default() |= height >= kept;
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let mut wanted: BTreeMap<u32, FileBlocks> = BTreeMap::new();
        let mut stamps = HashMap::new();
        for number in files.list(Kind::Undo)? {
            if let Some(new) = missing.get(&number) {
                let stamp = Stamp::of(files, Kind::Undo, number)?;
                let unchanged = self.undo_files.get(&number).is_some_and(|old| *old == stamp && stamp.settled);
                if *new || !unchanged {
                    wanted.insert(number, FileBlocks::default());
                    stamps.insert(number, stamp);
                }
            }
        }
        if !wanted.is_empty() {
            for id in self.tree.chain().iter().skip(1) {
                if let Some(file) = wanted.get_mut(&self.tree.node(*id).place.file) {
                    file.chain.push(*id);
                }
            }
        }
        if !wanted.is_empty() {
            for id in self.tree.ids() {
                let node = self.tree.node(id);
                if !self.tree.is_active(id)
                    && let (Some(parent), Some(file)) = (self.tree.parent(id), wanted.get_mut(&node.place.file))
                {
                    file.stale.push((parent, id));
                }
            }
            wanted.values_mut().for_each(|file| file.stale.sort_unstable());
        }
        let wanted: Vec<(u32, FileBlocks)> = wanted.into_iter().collect();
        let mut done = 0;
        for batch in wanted.chunks(rayon::current_num_threads() * 2) {
            let found = batch
                .par_iter()
                .map(|(number, blocks)| match_file(files, &self.tree, *number, blocks))
                .collect::<Result<Vec<_>, SourceError>>()?;
            for (id, undo) in found.into_iter().flatten() {
                self.tree.node_mut(id).set_undo(Some(undo));
            }
            for (number, _) in batch {
                if let Some(stamp) = stamps.get(number) {
                    self.undo_files.insert(*number, *stamp);
                }
            }
            done += batch.len();
            let blocks = self.tree.len() as u64;
            progress(SurveyProgress { phase: SurveyPhase::Undo, files_done: done, files_total: wanted.len(), blocks });
        }
        Ok(())
    }
}

impl Stamp {
    fn of(files: &BlockFiles, kind: Kind, number: u32) -> Result<Self, SourceError> {
        let path = files.path(kind, number);
        let meta = fs::metadata(&path).map_err(SourceError::io(path))?;
        let modified = meta.modified().ok();
        let settled = modified.and_then(|m| m.elapsed().ok()).is_some_and(|age| age > SETTLED_AFTER);
        Ok(Stamp { len: meta.len(), modified, settled })
    }
}

fn decodes(files: &BlockFiles, place: &Place, buf: &mut Vec<u8>) -> Result<bool, SourceError> {
    files.open_raw(Kind::Block, place.file)?.read(place.offset, place.size as usize, buf)?;
    Ok(buf.len() == place.size as usize && is_sound(buf))
}
