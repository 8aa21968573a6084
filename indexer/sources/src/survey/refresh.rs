//! Updates a survey: new parts of the files, the best chain, and the undo data of its blocks.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    time::Duration,
};

use cairn_model::BlockHash;
use rayon::prelude::*;

use super::{FileState, Refreshed, Stamp, Survey};
use crate::{
    decode::decode_block,
    error::SourceError,
    folder::{BlockFiles, Kind},
    match_undo::{FileBlocks, match_file},
    pow::PowCheck,
    scan::{MAX_RECORDS, Record, Scan, scan_blocks},
    stats::{SurveyPhase, SurveyProgress},
    tree::{BlockLocation, Inserted, NodeId},
};

/// A file whose last change is younger than this may change again without a change of its times.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

impl Survey {
    /// Reads the new parts of all files in the folder, and updates the best chain. Unchanged files are not opened.
    ///
    /// # Errors
    /// Leaves the survey as it was.
    pub fn refresh(&mut self, files: &BlockFiles) -> Result<Refreshed, SourceError> {
        self.refresh_with(files, &|_| {})
    }

    /// Leaves out a block that breaks a rule, with its descendants, for as long as this survey is used: the best chain
    /// is the best of the others.
    pub fn reject(&mut self, files: &BlockFiles, hash: &BlockHash) -> Result<Refreshed, SourceError> {
        let before = self.len();
        let Some(kept) = self.tree.reject(&hash.0) else {
            return Ok(Refreshed { kept: before, before, after: before });
        };
        self.find_undo(files, kept, &|_| {})?;
        Ok(Refreshed { kept, before, after: self.len() })
    }

    pub(super) fn refresh_with(
        &mut self,
        files: &BlockFiles,
        progress: &dyn Fn(SurveyProgress),
    ) -> Result<Refreshed, SourceError> {
        let before = self.len();
        let listed = files.list(Kind::Block)?;
        let copies = self.scan(files, &listed, progress)?;
        let Some(kept) = self.tree.connect() else {
            return Err(SourceError::NoGenesis { path: files.dir().to_owned(), genesis: files.genesis() });
        };
        let renumber_from = self.choose_copies(files, &copies)?;
        if let Some(height) = renumber_from {
            self.tree.number(height);
        }
        self.find_undo(files, kept, progress)?;
        self.look_for_gap(files, &listed);
        Ok(Refreshed { kept, before, after: self.len() })
    }

    /// Scans the new parts of the block files. Returns the blocks with several copies.
    fn scan(
        &mut self,
        files: &BlockFiles,
        numbers: &[u32],
        progress: &dyn Fn(SurveyProgress),
    ) -> Result<Vec<NodeId>, SourceError> {
        let pow = PowCheck::new(files.network());
        let mut todo = Vec::new();
        for (i, number) in numbers.iter().enumerate() {
            let stamp = Stamp::of(files, Kind::Block, *number)?;
            // Nodes append to the last file, or to the last two where they sync from two ends.
            let last = i + 2 >= numbers.len();
            let known = self.files.get(number);
            let unchanged = known.is_some_and(|f| f.stamp == stamp && stamp.settled && !f.open);
            if !unchanged {
                // Nodes only append. While there is a gap, a file that changed may have been repaired: it is read
                // again.
                let appended = known.filter(|f| self.gap.is_none() || f.stamp.modified == stamp.modified);
                todo.push((*number, stamp, appended.map(|f| (f.resume, f.tail)), last));
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
                    let magic = files.magic();
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
                    let scan = scan_blocks(&mut file, files.magic(), &pow, resume, *last)?;
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
                    let location = BlockLocation {
                        offset: record.offset,
                        file: number,
                        size: record.size,
                        tx_count: record.tx_count,
                    };
                    if self.copies.insert((number, record.offset), (id, location)).is_none() {
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
        let (counts, mut damaged_at, mut skipped_at, from) =
            old.map_or_else(Default::default, |f| (f.counts, f.damaged_at, f.skipped_at, f.resume));
        for (places, found) in [(&mut damaged_at, scan.damaged_at), (&mut skipped_at, scan.skipped_at)] {
            places.retain(|at| *at < from);
            places.extend(found);
        }
        let state = FileState {
            stamp,
            resume: scan.resume,
            open: scan.open,
            counts: counts.zip(scan.counts, |a, b| a + b),
            tail: scan.tail,
            damaged_at,
            skipped_at,
        };
        self.files.insert(number, state);
        Ok(())
    }

    /// Selects among several copies of a block: a crash may have damaged one of them, so the copy in use must decode if
    /// any does. Returns the lowest height of the chain at which the number of transactions may have changed. `again`
    /// are the blocks to check, in ascending order.
    fn choose_copies(&mut self, files: &BlockFiles, again: &[NodeId]) -> Result<Option<usize>, SourceError> {
        let mut lowest = None;
        let mut copies: Vec<(NodeId, BlockLocation)> = self.copies.values().copied().collect();
        copies.retain(|(id, _)| again.binary_search(id).is_ok());
        // Stable: copies of one block stay in the order of the files.
        copies.sort_by_key(|(id, _)| *id);
        let mut buf = Vec::new();
        for copies in copies.chunk_by(|(a, _), (b, _)| a == b) {
            let id = copies[0].0;
            let used = self.tree.node(id).location;
            if decodes(files, &used, &mut buf)? {
                continue;
            }
            for (_, location) in copies {
                if decodes(files, location, &mut buf)? {
                    self.copies.remove(&(location.file, location.offset));
                    self.copies.insert((used.file, used.offset), (id, used));
                    let node = self.tree.node_mut(id);
                    node.location = *location;
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
                *missing.entry(node.location.file).or_default() |= height >= kept;
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
                if let Some(file) = wanted.get_mut(&self.tree.node(*id).location.file) {
                    file.chain.push(*id);
                }
            }
        }
        if !wanted.is_empty() {
            for id in self.tree.ids() {
                let node = self.tree.node(id);
                if !self.tree.is_active(id)
                    && let (Some(parent), Some(file)) = (self.tree.parent(id), wanted.get_mut(&node.location.file))
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

fn decodes(files: &BlockFiles, location: &BlockLocation, buf: &mut Vec<u8>) -> Result<bool, SourceError> {
    files.open_raw(Kind::Block, location.file)?.read(location.offset, location.size as usize, buf)?;
    Ok(buf.len() == location.size as usize && decode_block(buf, 0).is_ok())
}
