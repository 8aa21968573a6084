//! The forest as arrays, for a range of transactions: its nodes, and the roots before it that they refer to.
//!
//! Nodes are numbered by the order of transactions: first the roots from before the window, then the nodes of the
//! window. A node that is not a root has a number to climb to; paths get shorter as they are walked.

use cairn_model::TxNum;
use cairn_tables::clusters::{ClusterRow, Counts};

use super::{
    FOREST,
    connect::{Effects, Forest},
    contradiction,
};
use crate::deltas::StageError;

/// A set of transactions, with the number of members before each.
#[derive(Default, Debug)]
pub(super) struct Ranked {
    bits: Vec<u64>,
    /// Members before every eighth word.
    before: Vec<u32>,
    count: u32,
    /// One past the last member.
    end: u64,
}

const WORDS: usize = 8;

impl Ranked {
    /// Takes the memory for members up to `end` at once.
    fn reserve(&mut self, end: u64) {
        let words = end.div_ceil(64) as usize;
        self.bits.reserve_exact(words);
        self.before.reserve_exact(words.div_ceil(WORDS));
    }

    /// Adds a member behind all others.
    fn insert(&mut self, at: u64) {
        let word = (at / 64) as usize;
        while self.bits.len() <= word {
            if self.bits.len().is_multiple_of(WORDS) {
                push(&mut self.before, self.count);
            }
            push(&mut self.bits, 0);
        }
        self.bits[word] |= 1 << (at % 64);
        (self.count, self.end) = (self.count + 1, at + 1);
    }

    /// Bytes of a set whose last member is the one before `end`.
    pub(super) fn bytes(end: u64) -> u64 {
        end.div_ceil(64) * 9
    }

    /// The rank of a member; `None` if it is not in the set.
    pub(super) fn rank(&self, at: u64) -> Option<u32> {
        let word = (at / 64) as usize;
        let bit = 1u64 << (at % 64);
        let here = *self.bits.get(word)?;
        if here & bit == 0 {
            return None;
        }
        let from = word / WORDS * WORDS;
        let words: u32 = self.bits[from..word].iter().map(|word| word.count_ones()).sum();
        Some(self.before[word / WORDS] + words + (here & (bit - 1)).count_ones())
    }

    /// The members, ascending.
    pub(super) fn members(&self) -> impl Iterator<Item = u64> + '_ {
        (0u64..).zip(&self.bits).flat_map(|(at, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| u64::from(left.trailing_zeros()))?;
                left &= left - 1;
                Some(at * 64 + bit)
            })
        })
    }
}

/// A root that there was before the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OuterRoot {
    pub(super) node: TxNum,
    pub(super) counts: Counts,
}

/// Flag of a root; without it, the value is the number of another node to climb to.
const ROOT: u32 = 1 << 31;

/// Appends to a list that may have hundreds of millions: it grows by a part of its length only.
fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() {
        list.reserve_exact((list.len() / GROWTH).max(1 << 10));
    }
    list.push(item);
}

const GROWTH: usize = 8;

/// Nodes that a window may have, with those from before that they refer to.
pub(super) const MAX_NODES: u64 = 1 << 30;

/// Bytes per non-root node, and the extra bytes of a root.
pub(super) const NODE_BYTES: u64 = size_of::<u32>() as u64;
pub(super) const ROOT_BYTES: u64 = size_of::<OuterRoot>() as u64;
/// Bytes that a node from before the window takes that nodes of the window refer to, if each has a root of its own.
pub(super) const OUTER_BYTES: u64 = (size_of::<u64>() + size_of::<u32>()) as u64 + NODE_BYTES + ROOT_BYTES;

/// The numbers of transactions, nodes and roots to come in a window, where they are known: its lists do not grow then.
#[derive(Clone, Copy, Default)]
pub(super) struct ExpectedSizes {
    pub(super) transactions: u64,
    pub(super) nodes: u64,
    pub(super) roots: u64,
}

pub(super) struct Window {
    /// The first transaction.
    start: u64,
    /// Nodes from before that are referred to, ascending, and the numbers of their roots.
    outer: Vec<u64>,
    outer_roots: Vec<u32>,
    /// How many roots there are from before.
    outer_count: u32,
    /// Nodes of the window, less `start`.
    nodes: Ranked,
    parents: Vec<u32>,
    roots: Vec<OuterRoot>,
    free: Vec<u32>,
}

impl Window {
    /// Of transactions from `start` on. `outer` are the nodes from before, ascending, each with the place of its root
    /// in `roots`.
    pub(super) fn new(
        start: u64,
        outer: Vec<u64>,
        outer_roots: Vec<u32>,
        mut roots: Vec<OuterRoot>,
        expected: ExpectedSizes,
    ) -> Self {
        let outer_count = roots.len() as u32;
        let mut parents: Vec<u32> = Vec::with_capacity(roots.len() + expected.nodes as usize);
        parents.extend((0..outer_count).map(|root| ROOT | root));
        roots.reserve_exact(expected.roots as usize);
        let (mut nodes, free) = (Ranked::default(), Vec::new());
        nodes.reserve(expected.transactions);
        Window { start, outer, outer_roots, outer_count, nodes, parents, roots, free }
    }

    /// Whether its lists, which grow, may take more than `memory` bytes with a node of that transaction.
    pub(super) fn is_full(&self, tx: TxNum, memory: u64) -> bool {
        let nodes = self.parents.len() as u64;
        let held = nodes * NODE_BYTES + self.roots.len() as u64 * ROOT_BYTES + Ranked::bytes(tx.0 + 1 - self.start);
        // The old list is there until the new one is filled.
        held * 2 + held / GROWTH as u64 > memory || nodes >= MAX_NODES
    }

    fn number(&self, node: TxNum) -> Result<u32, StageError> {
        let unknown = || contradiction("a move of an unknown node");
        match node.0.checked_sub(self.start) {
            Some(at) => Ok(self.outer_count + self.nodes.rank(at).ok_or_else(unknown)?),
            None => self.outer.binary_search(&node.0).map(|at| self.outer_roots[at]).map_err(|_| unknown()),
        }
    }

    fn find(&mut self, mut number: u32) -> u32 {
        loop {
            let parent = self.parents[number as usize];
            if parent & ROOT != 0 {
                return number;
            }
            let above = self.parents[parent as usize];
            if above & ROOT != 0 {
                return parent;
            }
            self.parents[number as usize] = above;
            number = above;
        }
    }

    fn slot(&self, root: u32) -> usize {
        (self.parents[root as usize] & !ROOT) as usize
    }

    /// Shows the nodes of the window, ascending, each with its root.
    pub(super) fn for_each_node(
        &mut self,
        mut show: impl FnMut(TxNum, TxNum) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let nodes = std::mem::take(&mut self.nodes);
        let shown = (self.outer_count..).zip(nodes.members()).try_for_each(|(number, at)| {
            let root = self.find(number);
            show(TxNum(self.start + at), self.node(root))
        });
        self.nodes = nodes;
        shown
    }

    pub(super) fn root_of_outer(&mut self, place: u32) -> &OuterRoot {
        let root = self.find(place);
        let slot = self.slot(root);
        &self.roots[slot]
    }

    /// The roots that are left of those from before, and those that there are since; ascending.
    pub(super) fn roots(&self) -> impl Iterator<Item = &OuterRoot> {
        let of = self.parents.iter().filter(|parent| **parent & ROOT != 0);
        of.map(|parent| &self.roots[(*parent & !ROOT) as usize])
    }

    fn add(&mut self, node: TxNum, parent: u32) -> Result<u32, StageError> {
        let number = self.parents.len() as u32;
        let at = node.0.checked_sub(self.start).filter(|at| self.nodes.end <= *at);
        let at = at.ok_or_else(|| contradiction("nodes are not in order"))?;
        if number >= ROOT {
            return Err(contradiction("more nodes than a window may have"));
        }
        self.nodes.insert(at);
        push(&mut self.parents, parent);
        Ok(number)
    }
}

impl Forest for Window {
    type Root = u32;

    fn root_of(&mut self, node: TxNum) -> Result<u32, StageError> {
        let number = self.number(node)?;
        Ok(self.find(number))
    }

    fn node(&self, root: u32) -> TxNum {
        self.roots[self.slot(root)].node
    }

    fn counts(&mut self, root: u32) -> Result<&mut Counts, StageError> {
        let slot = self.slot(root);
        Ok(&mut self.roots[slot].counts)
    }

    fn found(&mut self, node: TxNum) -> Result<u32, StageError> {
        let root = OuterRoot { node, counts: Counts::default() };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.roots[slot as usize] = root;
                slot
            }
            None => {
                push(&mut self.roots, root);
                self.roots.len() as u32 - 1
            }
        };
        self.add(node, ROOT | slot)
    }

    fn join(&mut self, node: TxNum, parent: u32, effects: &mut Effects<'_, '_>) -> Result<(), StageError> {
        self.add(node, parent)?;
        let parent = self.node(parent);
        effects.emit.row(&FOREST, &node, &ClusterRow::Newcomer { parent });
        Ok(())
    }

    fn merge(&mut self, child: u32, parent: u32, by: TxNum, effects: &mut Effects<'_, '_>) -> Result<(), StageError> {
        let slot = self.slot(child);
        let OuterRoot { node, counts } = self.roots[slot];
        let row = ClusterRow::Merged { parent: self.node(parent), by, counts };
        effects.emit.row(&FOREST, &node, &row);
        self.parents[child as usize] = parent;
        self.free.push(slot as u32);
        Ok(())
    }
}
