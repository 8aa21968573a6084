//! Matches undo records to blocks.
//!
//! A block's undo data is in the undo file with the block file's number, in the order in which the node connected the
//! blocks. It does not identify the block. A block connects after its parent, so the records of the chain are in order,
//! with those of stale blocks between them. If the numbers of transactions match one to one, three checksums per file
//! are enough (all are compared when records are read); otherwise each is compared here.

use cairn_model::BlockHash;

use crate::{
    block_ref::UndoRef,
    decode::decode_block,
    error::SourceError,
    evidence,
    folder::{BlockFiles, Kind, check_undo},
    hash::sha256d,
    raw_file::RawFile,
    scan::{UndoRecord, scan_undo},
    tree::{NodeId, Tree},
};

/// Maximum number of records tried for one block, and the maximum when the blocks before it had none.
const WINDOW: usize = 2_100;
const WINDOW_AFTER_MISSES: usize = 16;
/// Maximum number of records tried in one file. It bounds the time for a hostile file.
const MAX_TRIES: usize = 4_000_000;
/// Maximum number of bytes hashed for one file, in multiples of its length.
const MAX_PASSES: u64 = 16;

#[derive(Default)]
pub(crate) struct FileBlocks {
    /// Blocks of the chain except genesis, in order.
    pub(crate) chain: Vec<NodeId>,
    /// Parents of stale blocks and these, in ascending order.
    pub(crate) stale: Vec<(NodeId, NodeId)>,
}

/// Finds undo records for the chain's blocks of a file that have none.
pub(crate) fn match_file(
    files: &BlockFiles,
    tree: &Tree,
    number: u32,
    blocks: &FileBlocks,
) -> Result<Vec<(NodeId, UndoRef)>, SourceError> {
    let mut file = files.open_raw(Kind::Undo, number)?;
    // Records far behind the last block would not be tried.
    let most = blocks.chain.len() + blocks.stale.len() + WINDOW;
    let (records, back_to_back) = scan_undo(&mut file, files.magic(), most)?;
    let undisturbed = back_to_back && blocks.stale.is_empty();
    if undisturbed && one_to_one(tree, blocks, &records) && samples_agree(tree, blocks, &records, &file)? {
        return Ok(blocks.chain.iter().zip(&records).map(|(id, r)| (*id, r.place())).collect());
    }
    let budget = file.len().saturating_mul(MAX_PASSES);
    let used = blocks.chain.iter().filter_map(|id| tree.node(*id).undo().map(|u| u.offset)).collect();
    let mut search = Search { files, tree, blocks, file, records, used, tries: 0, budget, buf: Vec::new() };
    let mut found = search.run()?;
    if undisturbed {
        search.fill_gaps(&mut found);
    }
    let places = blocks.chain.iter().zip(found).filter(|(id, _)| tree.node(**id).undo().is_none());
    Ok(places.filter_map(|(id, i)| Some((*id, search.records[i?].place()))).collect())
}

impl UndoRecord {
    fn place(&self) -> UndoRef {
        UndoRef { offset: self.offset, size: self.size }
    }
}

fn one_to_one(tree: &Tree, blocks: &FileBlocks, records: &[UndoRecord]) -> bool {
    let spending = |id: &NodeId| tree.node(*id).location.tx_count - 1;
    blocks.chain.iter().all(|id| tree.node(*id).undo().is_none())
        && records.len() == blocks.chain.len()
        && blocks.chain.iter().zip(records).all(|(id, record)| record.txs == spending(id))
}

/// Compares the checksums of the first record, the middle one and the last.
fn samples_agree(
    tree: &Tree,
    blocks: &FileBlocks,
    records: &[UndoRecord],
    file: &RawFile,
) -> Result<bool, SourceError> {
    let mut buf = Vec::new();
    let last = records.len().saturating_sub(1);
    for i in [0, last / 2, last] {
        if let (Some(id), Some(record)) = (blocks.chain.get(i), records.get(i)) {
            file.read(record.offset, record.size as usize + 32, &mut buf)?;
            if !binds(&buf, record, &tree.previous(*id)) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// True if the checksum after the undo data binds it to a block's parent.
fn binds(bytes: &[u8], record: &UndoRecord, previous: &BlockHash) -> bool {
    let parts = bytes.split_at_checked(record.size as usize);
    parts.is_some_and(|(data, checksum)| sha256d(&[&previous.0, data]) == *checksum)
}

struct Search<'a> {
    files: &'a BlockFiles,
    tree: &'a Tree,
    blocks: &'a FileBlocks,
    file: RawFile,
    records: Vec<UndoRecord>,
    /// Offsets of records that have their block.
    used: std::collections::HashSet<u64>,
    tries: usize,
    budget: u64,
    buf: Vec<u8>,
}

impl Search<'_> {
    /// The record of each block of the chain, by index.
    fn run(&mut self) -> Result<Vec<Option<usize>>, SourceError> {
        let mut found = Vec::with_capacity(self.blocks.chain.len());
        let mut next = 0;
        let mut misses = 0usize;
        for id in &self.blocks.chain {
            if let Some(undo) = self.tree.node(*id).undo() {
                let at = self.records.partition_point(|r| r.offset < undo.offset);
                found.push(self.records.get(at).filter(|r| r.offset == undo.offset).map(|_| at));
                next = at + 1;
                continue;
            }
            let window = if misses == 0 { WINDOW } else { (WINDOW >> misses.min(12)).max(WINDOW_AFTER_MISSES) };
            let candidates = self.candidates(*id, next, window)?;
            let chosen = self.choose(*id, &candidates)?;
            match chosen {
                Some(i) => {
                    self.used.insert(self.records[i].offset);
                    next = i + 1;
                    misses = 0;
                }
                None => misses += 1,
            }
            found.push(chosen);
        }
        Ok(found)
    }

    /// In a file without stale blocks and leftovers, unmatched records between two matched ones belong to the unmatched
    /// blocks there if their numbers are equal. These records are damaged, so reading them reports damage, not missing
    /// undo data.
    fn fill_gaps(&self, found: &mut [Option<usize>]) {
        let mut start = 0;
        while start < found.len() {
            let gap = found[start..].iter().take_while(|f| f.is_none()).count();
            let first = start.checked_sub(1).and_then(|before| found[before]).map_or(0, |i| i + 1);
            let end = found.get(start + gap).map_or(Some(self.records.len()), |after| *after).unwrap_or(first);
            if gap > 0 && first + gap == end {
                for (i, slot) in found[start..start + gap].iter_mut().enumerate() {
                    *slot = Some(first + i);
                }
            }
            start += gap + 1;
        }
    }

    /// Other blocks of this file with the same parent and number of transactions.
    fn siblings(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let (stale, parent) = (&self.blocks.stale, self.tree.parent(id));
        let from = stale.partition_point(|(p, _)| Some(*p) < parent);
        let siblings = stale[from..].iter().take_while(move |(p, _)| Some(*p) == parent).map(|(_, s)| *s);
        let count = self.tree.node(id).location.tx_count;
        siblings.filter(move |s| self.tree.node(*s).location.tx_count == count)
    }

    /// Records whose checksum binds them to the block's parent: after the record of the block before, then before it.
    fn candidates(&mut self, id: NodeId, next: usize, window: usize) -> Result<Vec<usize>, SourceError> {
        let block = self.tree.block(id);
        let most = 1 + self.siblings(id).count();
        let mut candidates = Vec::new();
        // A record written twice is one candidate.
        let mut checksums: Vec<[u8; 32]> = Vec::new();
        let end = (next + window).min(self.records.len());
        for i in (next..end).chain((next.saturating_sub(window)..next).rev()) {
            let record = self.records[i];
            if record.txs + 1 != block.tx_count || self.used.contains(&record.offset) {
                continue;
            }
            let cost = u64::from(record.size) + 32;
            if self.tries >= MAX_TRIES || self.budget < cost {
                break;
            }
            self.tries += 1;
            self.budget -= cost;
            self.file.read(record.offset, record.size as usize + 32, &mut self.buf)?;
            if binds(&self.buf, &record, &block.previous)
                && let Some(checksum) = self.buf.last_chunk::<32>()
                && !checksums.contains(checksum)
            {
                checksums.push(*checksum);
                candidates.push(i);
                if candidates.len() >= most {
                    break;
                }
            }
        }
        candidates.sort_unstable();
        Ok(candidates)
    }

    fn choose(&mut self, id: NodeId, candidates: &[usize]) -> Result<Option<usize>, SourceError> {
        if candidates.is_empty() || self.siblings(id).next().is_none() {
            return Ok(candidates.first().copied());
        }
        // A sibling's record can be among them: the block itself has to decide.
        let block = self.tree.block(id);
        let mut raw = Vec::new();
        self.files.open_raw(Kind::Block, block.file)?.read(block.offset, block.size as usize, &mut raw)?;
        let Ok(decoded) = decode_block(&raw, 0) else { return Ok(None) };
        let subsidy = self.files.network().subsidy_sats(block.height);
        let mut scored = Vec::new();
        for i in candidates {
            let record = self.records[*i];
            self.file.read(record.offset, record.size as usize + 32, &mut self.buf)?;
            if let Ok(undo) = check_undo(&self.buf, record.size as usize, &block.previous)
                && let Some(proofs) = evidence::proofs(&raw, &decoded, &undo, block.height, subsidy)
            {
                scored.push((proofs, *i));
            }
        }
        let best = scored.iter().map(|(proofs, _)| *proofs).max();
        scored.retain(|(proofs, _)| Some(*proofs) == best);
        // Siblings mostly connect in the order in which they came, which is their order in the block file.
        let earlier = self.siblings(id).filter(|s| self.tree.node(*s).location.offset < block.offset).count();
        Ok(scored.get(earlier).or(scored.last()).map(|(_, i)| *i))
    }
}
