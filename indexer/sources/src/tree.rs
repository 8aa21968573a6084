//! The tree of all block headers in the files, and the chain of most work in it.
//!
//! Each block in the files needs 104 bytes for its node and about 6 to 12 for its index entry. Only time and target of
//! the header are stored: its hash proves what is read later, and the previous hash is that of the parent.

use cairn_model::{BlockHash, Height, TxNum};

use hashbrown::HashTable;

use crate::{
    block_ref::{BlockRef, UndoRef},
    hash::Hash32,
    pow::work_of,
    scan::Record,
    segments::Segments,
};

pub(crate) type NodeId = u32;
const NONE: u32 = u32::MAX;

/// Position of a copy of a block. Packed, which saves four bytes in every node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, packed(4))]
pub(crate) struct BlockLocation {
    pub(crate) offset: u64,
    pub(crate) file: u32,
    pub(crate) size: u32,
    pub(crate) tx_count: u32,
}

/// Expected number of hashes. An alignment of 16 bytes would make every node longer.
#[derive(Clone, Copy)]
#[repr(C, packed(8))]
struct PackedWork(u128);

impl PackedWork {
    fn get(self) -> u128 {
        self.0
    }
}

pub(crate) struct HeaderNode {
    hash: Hash32,
    /// Work up to and including this block; 0 until it is known to descend from genesis.
    work: PackedWork,
    parent: NodeId,
    height: Height,
    pub(crate) location: BlockLocation,
    /// Undo data; `undo_size` 0 means none.
    undo_offset: u64,
    undo_size: u32,
    /// The header's own time; once the block is numbered, the latest of its and its ancestors'.
    time: u32,
    bits: u32,
    /// Known for blocks that are, or once were, on the best chain.
    first_tx: u64,
}

impl HeaderNode {
    pub(crate) fn undo(&self) -> Option<UndoRef> {
        (self.undo_size > 0).then_some(UndoRef { offset: self.undo_offset, size: self.undo_size })
    }

    pub(crate) fn set_undo(&mut self, undo: Option<UndoRef>) {
        (self.undo_offset, self.undo_size) = undo.map_or((0, 0), |u| (u.offset, u.size));
    }

    /// The header's own time; once the block is numbered, the latest of its and its ancestors'.
    pub(crate) fn time(&self) -> u32 {
        self.time
    }

    fn connected(&self) -> bool {
        self.work.get() > 0
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Inserted {
    New,
    /// The block is already there, at another position.
    Copy(NodeId),
    /// This record was seen before.
    Seen,
    /// No number is left for it.
    Full,
}

pub(crate) struct Tree {
    genesis: Hash32,
    nodes: Segments<HeaderNode>,
    /// All nodes, by their hash.
    index: HashTable<NodeId>,
    /// Nodes whose parent is not known, with its hash.
    waiting: Vec<(NodeId, Hash32)>,
    /// Nodes not yet known to descend from genesis.
    detached: Vec<NodeId>,
    /// Nodes of the best chain by height.
    chain: Vec<NodeId>,
    /// Blocks that break a rule. They and their descendants are never on the best chain.
    rejected: Vec<NodeId>,
    /// The most work of a block that is left out for that.
    rejected_work: u128,
    last_bits: (u32, u128),
}

impl Tree {
    pub(crate) fn new(genesis: BlockHash) -> Self {
        Tree {
            genesis: genesis.0,
            nodes: Segments::new(),
            index: HashTable::new(),
            waiting: Vec::new(),
            detached: Vec::new(),
            chain: Vec::new(),
            rejected: Vec::new(),
            rejected_work: 0,
            last_bits: (0, 0),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn chain(&self) -> &[NodeId] {
        &self.chain
    }

    pub(crate) fn node(&self, id: NodeId) -> &HeaderNode {
        &self.nodes[id]
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> &mut HeaderNode {
        &mut self.nodes[id]
    }

    /// Number of blocks whose chain of parents does not reach genesis.
    pub(crate) fn detached(&self) -> usize {
        self.detached.len()
    }

    /// The `most` of them with the latest times, the latest first.
    pub(crate) fn newest_detached(&self, most: usize) -> Vec<NodeId> {
        let mut ids = self.detached.clone();
        let latest = |id: &NodeId| std::cmp::Reverse(self.node(*id).time);
        if ids.len() > most {
            ids.select_nth_unstable_by_key(most, latest);
            ids.truncate(most);
        }
        ids.sort_by_key(latest);
        ids
    }

    /// Parent hashes of detached blocks that no record has.
    pub(crate) fn missing_parents(&self) -> impl Iterator<Item = BlockHash> {
        self.waiting.iter().map(|(_, hash)| BlockHash(*hash))
    }

    pub(crate) fn find(&self, hash: &Hash32) -> Option<NodeId> {
        self.index.find(key_of(hash), |id| self.node(*id).hash == *hash).copied()
    }

    pub(crate) fn insert(&mut self, file: u32, record: &Record) -> Inserted {
        let location = BlockLocation { offset: record.offset, file, size: record.size, tx_count: record.tx_count };
        if let Some(id) = self.find(&record.hash) {
            let old = self.node(id).location;
            let same = (old.file, old.offset) == (location.file, location.offset);
            return if same { Inserted::Seen } else { Inserted::Copy(id) };
        }
        let id = self.nodes.len() as NodeId;
        if self.nodes.len() >= NONE as usize {
            return Inserted::Full;
        }
        self.nodes.push(HeaderNode {
            hash: record.hash,
            time: record.time,
            bits: record.bits,
            work: PackedWork(0),
            parent: NONE,
            height: 0,
            location,
            undo_offset: 0,
            undo_size: 0,
            first_tx: 0,
        });
        let nodes = &self.nodes;
        self.index.insert_unique(key_of(&record.hash), id, |id| key_of(&nodes[*id].hash));
        self.waiting.push((id, record.previous));
        self.detached.push(id);
        Inserted::New
    }

    /// Finds parents for the waiting blocks. Calling it regularly keeps the list of waiting blocks short.
    pub(crate) fn find_parents(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|(id, parent)| match self.find(parent) {
            Some(found) => {
                self.nodes[*id].parent = found;
                false
            }
            None => self.nodes[*id].hash != self.genesis,
        });
        waiting.shrink_to_fit();
        self.waiting = waiting;
    }

    /// Finds the best chain: most work, then the block that is first in the files, which a node usually saw first.
    /// Returns the number of blocks that old and new chain share, or `None` if genesis is missing.
    pub(crate) fn connect(&mut self) -> Option<usize> {
        self.find_parents();
        let genesis = self.find(&self.genesis)?;
        let mut best = self.chain.last().copied().unwrap_or(genesis);
        let mut path = Vec::new();
        let mut hopeless = vec![false; self.nodes.len()];
        let detached = std::mem::take(&mut self.detached);
        for id in &detached {
            self.attach(*id, genesis, &mut path, &mut hopeless);
            if self.is_rejected(*id) {
                self.rejected_work = self.rejected_work.max(self.node(*id).work.get());
                continue;
            }
            let (node, tip) = (self.node(*id), self.node(best));
            let location = |n: &HeaderNode| (n.location.file, n.location.offset);
            // A tie never moves an older tip: the node does not move either.
            let earlier = location(node) < location(tip) && self.chain.last().is_none_or(|old| *old != best);
            let (work, most) = (node.work.get(), tip.work.get());
            if work > most || (work == most && earlier) {
                best = *id;
            }
        }
        self.detached = detached;
        self.detached.retain(|id| !self.nodes[*id].connected());
        self.detached.shrink_to_fit();
        Some(self.activate(best))
    }

    /// Leaves out a block and its descendants, and finds the best chain without them. Returns the number of blocks that
    /// old and new chain share; `None` if nothing changes: genesis cannot be left out.
    pub(crate) fn reject(&mut self, hash: &Hash32) -> Option<usize> {
        let rejected = self.find(hash).filter(|id| self.node(*id).connected() && self.height(*id) > 0)?;
        if !self.rejected.contains(&rejected) {
            self.rejected.push(rejected);
        }
        let mut best = *self.chain.get((self.height(rejected) as usize).min(self.chain.len()).checked_sub(1)?)?;
        for id in self.ids() {
            let work = self.node(id).work.get();
            if work <= self.node(best).work.get() && work <= self.rejected_work {
                continue;
            }
            if self.is_rejected(id) {
                self.rejected_work = self.rejected_work.max(work);
            } else if work > self.node(best).work.get() {
                best = id;
            }
        }
        Some(self.activate(best))
    }

    /// True if a block that is left out has more work than the best chain.
    pub(crate) fn ignores_more_work(&self) -> bool {
        self.rejected_work > self.best_work()
    }

    /// True if a block or one of its ancestors is left out.
    fn is_rejected(&self, id: NodeId) -> bool {
        let Some(lowest) = self.rejected.iter().map(|id| self.height(*id)).min() else { return false };
        if !self.node(id).connected() {
            return false;
        }
        let mut at = id;
        while self.height(at) >= lowest {
            if self.rejected.contains(&at) {
                return true;
            }
            match self.parent(at) {
                Some(parent) => at = parent,
                None => return false,
            }
        }
        false
    }

    /// Sets height and work of a block and its ancestors if they descend from genesis; otherwise marks them, so that no
    /// path is walked twice.
    fn attach(&mut self, id: NodeId, genesis: NodeId, path: &mut Vec<NodeId>, hopeless: &mut [bool]) {
        path.clear();
        let mut at = id;
        while !self.node(at).connected() {
            path.push(at);
            if at == genesis {
                break;
            }
            at = self.node(at).parent;
            if at == NONE || hopeless[at as usize] {
                path.drain(..).for_each(|p| hopeless[p as usize] = true);
                return;
            }
        }
        while let Some(next) = path.pop() {
            let parent = self.node(next).parent;
            let (height, work) = match parent {
                _ if next == genesis => (0, 0),
                parent => (self.node(parent).height + 1, self.node(parent).work.get()),
            };
            let own = self.work(next);
            let node = self.node_mut(next);
            node.height = height;
            node.work = PackedWork(work.saturating_add(own));
        }
    }

    fn work(&mut self, id: NodeId) -> u128 {
        let bits = self.node(id).bits;
        if self.last_bits.0 != bits {
            self.last_bits = (bits, work_of(bits));
        }
        self.last_bits.1
    }

    /// Makes the chain end in `tip`; returns the number of blocks that stayed.
    fn activate(&mut self, tip: NodeId) -> usize {
        let mut branch = Vec::new();
        let mut at = tip;
        let mut kept = 0;
        loop {
            let height = self.node(at).height as usize;
            if self.chain.get(height) == Some(&at) {
                kept = height + 1;
                break;
            }
            branch.push(at);
            if height == 0 {
                break;
            }
            at = self.node(at).parent;
        }
        self.chain.truncate(kept);
        self.chain.reserve_exact(branch.len());
        self.chain.extend(branch.iter().rev());
        self.number(kept);
        kept
    }

    /// Sets first transaction number and monotone time of the chain's blocks from `height` on.
    pub(crate) fn number(&mut self, height: usize) {
        let before = height.checked_sub(1).map(|h| self.node(self.chain[h]));
        let (mut next_tx, mut time) = before.map_or((0, 0), |n| (n.first_tx + u64::from(n.location.tx_count), n.time));
        for h in height..self.chain.len() {
            let id = self.chain[h];
            let node = self.node_mut(id);
            // A block's ancestors never change, so it may be done again.
            time = time.max(node.time);
            (node.first_tx, node.time) = (next_tx, time);
            next_tx += u64::from(node.location.tx_count);
        }
    }

    pub(crate) fn parent(&self, id: NodeId) -> Option<NodeId> {
        Some(self.node(id).parent).filter(|p| *p != NONE)
    }

    pub(crate) fn height(&self, id: NodeId) -> Height {
        self.node(id).height
    }

    /// True if a block is on the best chain.
    pub(crate) fn is_active(&self, id: NodeId) -> bool {
        self.chain.get(self.node(id).height as usize) == Some(&id)
    }

    /// Hash of the block before; zeros for genesis.
    pub(crate) fn previous(&self, id: NodeId) -> BlockHash {
        BlockHash(self.parent(id).map_or([0; 32], |parent| self.node(parent).hash))
    }

    /// Peak memory in bytes while `more` blocks are added: growing lists temporarily have a second copy.
    pub(crate) fn memory_to_grow(&self, more: usize) -> usize {
        let nodes = (self.nodes.len() + more) * size_of::<HeaderNode>();
        let grows = self.index.len() + more > self.index.capacity();
        let index = self.index.allocation_size() * if grows { 3 } else { 1 };
        let waiting = (self.waiting.len() + more) * size_of::<(NodeId, Hash32)>();
        let detached = (self.detached.len() + more) * size_of::<NodeId>();
        nodes + index + 2 * (waiting + detached) + self.chain.len() * size_of::<NodeId>()
    }

    /// Its memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.nodes.memory()
            + self.index.allocation_size()
            + self.waiting.capacity() * size_of::<(NodeId, Hash32)>()
            + (self.detached.capacity() + self.chain.capacity()) * size_of::<NodeId>()
    }

    /// A block that descends from genesis. Numbers and times are valid only for blocks of the best chain.
    pub(crate) fn block(&self, id: NodeId) -> BlockRef {
        let node = self.node(id);
        BlockRef {
            height: node.height,
            hash: BlockHash(node.hash),
            previous: self.previous(id),
            bits: node.bits,
            file: node.location.file,
            offset: node.location.offset,
            size: node.location.size,
            tx_count: node.location.tx_count,
            first_tx: TxNum(node.first_tx),
            mono_time: node.time,
            undo: node.undo(),
        }
    }

    /// Work of the best chain: the expected number of hashes.
    pub(crate) fn best_work(&self) -> u128 {
        self.chain.last().map_or(0, |id| self.node(*id).work.get())
    }

    /// All nodes, in the order of insertion.
    pub(crate) fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        0..self.nodes.len() as NodeId
    }
}

/// The leading 8 bytes in protocol order, which are the random ones. A collision costs an attacker 2^32 hashes.
fn key_of(hash: &Hash32) -> u64 {
    let mut bytes = [0u8; 8];
    bytes.copy_from_slice(&hash[..8]);
    u64::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(previous: Hash32, hash: Hash32) -> Record {
        Record { hash, previous, time: 0, bits: 0x207f_ffff, offset: 0, size: 200, tx_count: 1 }
    }

    fn hash(n: u32) -> Hash32 {
        let mut hash = [0u8; 32];
        hash[..4].copy_from_slice(&n.to_le_bytes());
        hash
    }

    #[test]
    fn a_node_is_small() {
        assert!(size_of::<HeaderNode>() <= 104);
    }

    #[test]
    fn a_long_branch_without_its_root_takes_linear_time() {
        let mut tree = Tree::new(BlockHash(hash(1)));
        let last = 200_000;
        for n in (1..=last).rev().filter(|n| *n != 5) {
            assert_eq!(tree.insert(n, &record(hash(n - 1), hash(n))), Inserted::New);
        }
        assert_eq!(tree.connect(), Some(0));
        assert_eq!((tree.chain().len(), tree.detached()), (4, last as usize - 5));
        assert_eq!(tree.missing_parents().collect::<Vec<_>>(), [BlockHash(hash(5))]);
        assert_eq!(tree.insert(0, &record(hash(4), hash(5))), Inserted::New);
        assert_eq!(tree.connect(), Some(4));
        assert_eq!((tree.chain().len(), tree.detached()), (last as usize, 0));
        assert_eq!(tree.best_work(), 2 * u128::from(last));
    }

    #[test]
    fn a_rejected_block_takes_its_descendants_with_it() {
        // 1 - 2 - 3 - 4 - 5, and 13 - 14 on 2.
        let mut tree = Tree::new(BlockHash(hash(1)));
        for (n, previous) in [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (13, 2), (14, 13)] {
            assert_eq!(tree.insert(n, &record(hash(previous), hash(n))), Inserted::New);
        }
        let chain = |tree: &Tree| tree.chain().iter().map(|id| tree.block(*id).hash.0[0]).collect::<Vec<_>>();
        tree.connect().unwrap();
        assert_eq!(chain(&tree), [1, 2, 3, 4, 5]);
        assert!(tree.reject(&hash(99)).is_none() && tree.reject(&hash(1)).is_none());
        assert!(!tree.ignores_more_work());
        // Of two chains with the same work, the one that was there stays.
        assert_eq!(tree.reject(&hash(5)), Some(4));
        assert_eq!(chain(&tree), [1, 2, 3, 4]);
        assert_eq!(tree.reject(&hash(4)), Some(2));
        assert_eq!(chain(&tree), [1, 2, 13, 14]);
        assert!(tree.ignores_more_work());
        // Blocks on what is left out change nothing; those on the chain do.
        for (n, previous) in [(6, 5), (15, 14), (16, 15)] {
            assert_eq!(tree.insert(n, &record(hash(previous), hash(n))), Inserted::New);
        }
        assert_eq!(tree.connect(), Some(4));
        assert_eq!(chain(&tree), [1, 2, 13, 14, 15, 16]);
        assert!(!tree.ignores_more_work(), "six blocks each");
        assert_eq!(tree.insert(7, &record(hash(6), hash(7))), Inserted::New);
        assert_eq!(tree.connect(), Some(6));
        assert!(tree.ignores_more_work());
    }

    #[test]
    fn hashes_that_begin_alike_stay_apart() {
        let mut tree = Tree::new(BlockHash([7; 32]));
        let mut previous = [0; 32];
        for n in 0..20u8 {
            let mut hash = [7; 32];
            hash[31] = if n == 0 { 7 } else { n + 10 };
            assert_eq!(tree.insert(u32::from(n), &record(previous, hash)), Inserted::New);
            assert_eq!(tree.insert(u32::from(n), &record(previous, hash)), Inserted::Seen);
            assert_eq!(tree.insert(99, &record(previous, hash)), Inserted::Copy(u32::from(n)));
            previous = hash;
        }
        assert_eq!(tree.connect(), Some(0));
        assert_eq!(tree.chain().len(), 20);
        assert_eq!(tree.block(tree.chain()[19]).previous.0[31], 28);
    }
}
