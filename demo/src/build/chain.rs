//! A generated tree of blocks, in the order in which a node would have received them.

use std::collections::HashMap;

use bitcoin::{Block, BlockHash};

use super::coin::Coin;

/// A block with the coins it spends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mined {
    /// The block.
    pub block: Block,
    /// Its height; genesis is 0.
    pub height: u32,
    /// The coins it spends: `spent[i][j]` is spent by input `j` of transaction `i + 1` (the coinbase spends none).
    pub spent: Vec<Vec<Coin>>,
}

impl Mined {
    /// The block hash.
    pub fn hash(&self) -> BlockHash {
        self.block.block_hash()
    }
}

/// One step of a node that follows the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The block becomes the tip.
    Connect(&'a Mined),
    /// The block, which was the tip, is taken off.
    Disconnect(&'a Mined),
}

/// A tree of blocks in order of arrival. All have equal work, so the highest block that arrived first is the tip.
#[derive(Clone, Debug)]
pub struct Chain {
    blocks: Vec<Mined>,
    /// Index of the parent; genesis is its own.
    parents: Vec<usize>,
    index: HashMap<BlockHash, usize>,
    tip: usize,
}

impl Chain {
    pub(crate) fn new(genesis: Block) -> Self {
        let index = HashMap::from([(genesis.block_hash(), 0)]);
        Self { blocks: vec![Mined { block: genesis, height: 0, spent: Vec::new() }], parents: vec![0], index, tip: 0 }
    }

    /// Every block in order of arrival; genesis is first, a parent always comes before its children.
    pub fn arrivals(&self) -> &[Mined] {
        &self.blocks
    }

    /// The block with this hash, on whatever branch.
    pub fn get(&self, hash: &BlockHash) -> Option<&Mined> {
        self.index.get(hash).map(|&index| &self.blocks[index])
    }

    /// The best block.
    pub fn tip(&self) -> &Mined {
        &self.blocks[self.tip]
    }

    /// The active chain, genesis to tip.
    pub fn active(&self) -> Vec<&Mined> {
        self.branch(self.tip).into_iter().map(|index| &self.blocks[index]).collect()
    }

    /// The active chain as it was after the first `arrivals` blocks (at least genesis) had arrived.
    pub fn active_after(&self, arrivals: usize) -> Vec<&Mined> {
        let mut best = 0;
        for (index, mined) in self.blocks.iter().enumerate().take(arrivals) {
            if mined.height > self.blocks[best].height {
                best = index;
            }
        }
        self.branch(best).into_iter().map(|index| &self.blocks[index]).collect()
    }

    /// The blocks off the active chain as branches: each is a run of consecutive blocks, lowest first, whose first
    /// parent is on the active chain or in an earlier branch. Every stale block is in exactly one branch.
    pub fn stale(&self) -> Vec<Vec<&Mined>> {
        let mut active = vec![false; self.blocks.len()];
        for index in self.branch(self.tip) {
            active[index] = true;
        }
        let mut branches: Vec<Vec<usize>> = Vec::new();
        for index in (0..self.blocks.len()).filter(|&index| !active[index]) {
            let parent = self.parents[index];
            match branches.iter_mut().find(|branch| branch.last() == Some(&parent)) {
                Some(branch) => branch.push(index),
                None => branches.push(vec![index]),
            }
        }
        branches.into_iter().map(|branch| branch.into_iter().map(|index| &self.blocks[index]).collect()).collect()
    }

    /// Steps of a node that receives the blocks in order: it connects them, and disconnects blocks at every
    /// reorganization.
    pub fn events(&self) -> Vec<Event<'_>> {
        let mut events = vec![Event::Connect(&self.blocks[0])];
        let mut tip = 0;
        for index in 1..self.blocks.len() {
            if self.blocks[index].height <= self.blocks[tip].height {
                continue;
            }
            let (down, up) = self.path(tip, index);
            events.extend(down.into_iter().map(|index| Event::Disconnect(&self.blocks[index])));
            events.extend(up.into_iter().map(|index| Event::Connect(&self.blocks[index])));
            tip = index;
        }
        events
    }

    pub(crate) fn push(&mut self, parent: usize, mined: Mined) -> usize {
        let index = self.blocks.len();
        if mined.height > self.blocks[self.tip].height {
            self.tip = index;
        }
        self.index.insert(mined.hash(), index);
        self.parents.push(parent);
        self.blocks.push(mined);
        index
    }

    /// Index of the best block.
    pub(crate) fn tip_index(&self) -> usize {
        self.tip
    }

    pub(crate) fn find(&self, hash: &BlockHash) -> Option<usize> {
        self.index.get(hash).copied()
    }

    pub(crate) fn parent(&self, index: usize) -> usize {
        self.parents[index]
    }

    pub(crate) fn at(&self, index: usize) -> &Mined {
        &self.blocks[index]
    }

    /// The blocks to take off (highest first) and to put on (lowest first) to go from one block to another.
    pub(crate) fn path(&self, mut from: usize, mut to: usize) -> (Vec<usize>, Vec<usize>) {
        let (mut down, mut up) = (Vec::new(), Vec::new());
        while from != to {
            if self.blocks[from].height >= self.blocks[to].height {
                down.push(from);
                from = self.parents[from];
            } else {
                up.push(to);
                to = self.parents[to];
            }
        }
        up.reverse();
        (down, up)
    }

    fn branch(&self, mut index: usize) -> Vec<usize> {
        let mut branch = vec![index];
        while self.blocks[index].height > 0 {
            index = self.parents[index];
            branch.push(index);
        }
        branch.reverse();
        branch
    }
}
