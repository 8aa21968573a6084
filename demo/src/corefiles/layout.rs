//! Lays a generated tree out in files, as a node that received it would have done.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use bitcoin::BlockHash;
use bitcoin::consensus::serialize;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::codec::write_undo;
use super::writer::{FileOptions, Location, Writer};
use crate::build::{Chain, Mined};
use crate::error::Error;

/// How a tree is laid out.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The files.
    pub files: FileOptions,
    /// Blocks come out of order: each is moved back by up to this many places. 0: order of arrival.
    pub shuffle: u32,
    /// Seed of the shuffle and of the places where records are cut.
    pub seed: u64,
    /// Whether blocks off the active chain are written.
    pub stale: bool,
    /// Every n-th block and undo record is written twice. 0: none.
    pub duplicate_every: u32,
    /// Every n-th block and undo record is preceded by a half-written copy of itself, which claims its full size.
    /// A reader must resynchronize on the magic inside it (Core's own -reindex does not). 0: none.
    pub half_every: u32,
    /// Every n-th block is preceded by the tail of a record without its head, left by a record that overwrote a longer
    /// one. 0: none.
    pub stray_every: u32,
    /// Every n-th undo record gives height 0 for its coins, as files of nodes before 0.15 can. 0: none.
    pub old_undo_every: u32,
}

impl Layout {
    /// A tidy folder with every block in order of arrival.
    pub fn tidy(files: FileOptions) -> Self {
        Self {
            files,
            shuffle: 0,
            seed: 0,
            stale: true,
            duplicate_every: 0,
            half_every: 0,
            stray_every: 0,
            old_undo_every: 0,
        }
    }
}

/// Locations of the complete records; the first one of duplicates.
#[derive(Clone, Debug, Default)]
pub struct WrittenFiles {
    /// The blocks in file order.
    pub blocks: Vec<(BlockHash, Location)>,
    /// The undo records, in the order in which the blocks were first connected. A block that never was has none.
    pub undo: Vec<(BlockHash, Location)>,
    /// Count of block files.
    pub files: u32,
}

/// Writes the files of a node that received the blocks in the order of the layout. It connects a block as soon as it
/// has all its ancestors and the most work, and writes the undo record then, into the undo file with the number of the
/// block's own file. Blocks that were never connected have no undo record; genesis has none either.
pub fn write_chain(folder: &Path, chain: &Chain, layout: &Layout) -> Result<WrittenFiles, Error> {
    let mut rng = ChaCha8Rng::seed_from_u64(layout.seed);
    let mut writer = Writer::create(folder, layout.files.clone())?;
    let mut node = Node::new(chain);
    let mut written = WrittenFiles::default();
    let mut files: HashMap<usize, u32> = HashMap::new();
    let mut undo_count = 0;
    for (count, index) in arrival_order(chain, layout, &mut rng).into_iter().enumerate() {
        let mined = chain.at(index);
        let raw = serialize(&mined.block);
        if hits(count, layout.half_every) {
            writer.half_block(&raw, rng.random_range(0..raw.len()))?;
        }
        if hits(count, layout.stray_every) {
            writer.stray(&raw[rng.random_range(1..raw.len())..])?;
        }
        let location = writer.block(&raw)?;
        if hits(count, layout.duplicate_every) {
            writer.block(&raw)?;
        }
        written.blocks.push((mined.hash(), location));
        files.insert(index, location.file);
        for connected in node.receive(index) {
            undo_count += 1;
            let mined = chain.at(connected);
            let mut undo = Vec::new();
            if hits(undo_count, layout.old_undo_every) {
                let mut spent = mined.spent.clone();
                for coin in spent.iter_mut().flatten() {
                    (coin.height, coin.coinbase) = (0, false);
                }
                write_undo(&mut undo, &spent);
            } else {
                write_undo(&mut undo, &mined.spent);
            }
            let file = files.get(&connected).copied().unwrap_or(location.file);
            let previous = &mined.block.header.prev_blockhash;
            if hits(undo_count, layout.half_every) {
                writer.half_undo(file, &undo, rng.random_range(0..=undo.len()))?;
            }
            if let Some(location) = writer.undo(file, previous, &undo)? {
                written.undo.push((mined.hash(), location));
            }
            if hits(undo_count, layout.duplicate_every) {
                writer.undo(file, previous, &undo)?;
            }
        }
    }
    written.files = writer.file() + 1;
    writer.finish()?;
    Ok(written)
}

/// Adds a block to the files of a finished, tidy folder, on top of the chain there.
///
/// # Errors
/// Fails if the folder has no block files, or the disk fails.
pub fn append_block(folder: &Path, options: FileOptions, mined: &Mined) -> Result<(), Error> {
    let mut writer = Writer::resume(folder, options)?;
    let location = writer.block(&serialize(&mined.block))?;
    let mut undo = Vec::new();
    write_undo(&mut undo, &mined.spent);
    writer.undo(location.file, &mined.block.header.prev_blockhash, &undo)?;
    writer.finish()?;
    // A power cut must not take a block from the files that an index has.
    for kind in ["blk", "rev"] {
        File::open(folder.join(format!("{kind}{:05}.dat", location.file)))?.sync_all()?;
    }
    Ok(())
}

fn hits(count: usize, every: u32) -> bool {
    every > 0 && count > 0 && count.is_multiple_of(every as usize)
}

/// Indexes of the blocks to write, genesis first.
fn arrival_order(chain: &Chain, layout: &Layout, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let keep: Vec<bool> = if layout.stale {
        vec![true; chain.arrivals().len()]
    } else {
        let mut keep = vec![false; chain.arrivals().len()];
        for mined in chain.active() {
            if let Some(index) = chain.find(&mined.hash()) {
                keep[index] = true;
            }
        }
        keep
    };
    let mut keyed: Vec<(usize, usize)> = (1..keep.len())
        .filter(|&index| keep[index])
        .map(|index| (index + rng.random_range(0..=layout.shuffle as usize), index))
        .collect();
    keyed.sort_unstable();
    std::iter::once(0).chain(keyed.into_iter().map(|(_, index)| index)).collect()
}

/// A node's view: which blocks it has with all ancestors, and which it has connected before.
struct Node<'a> {
    chain: &'a Chain,
    stored: Vec<bool>,
    /// In the order in which the blocks became connectable.
    ready: Vec<bool>,
    children: Vec<Vec<usize>>,
    connected: Vec<bool>,
    tip: usize,
}

impl<'a> Node<'a> {
    fn new(chain: &'a Chain) -> Self {
        let count = chain.arrivals().len();
        let mut children = vec![Vec::new(); count];
        for index in 1..count {
            children[chain.parent(index)].push(index);
        }
        Self {
            chain,
            stored: vec![false; count],
            ready: vec![false; count],
            children,
            connected: vec![false; count],
            tip: 0,
        }
    }

    /// Takes a block and returns those connected for the first time, in order.
    fn receive(&mut self, index: usize) -> Vec<usize> {
        self.stored[index] = true;
        if index == 0 {
            self.ready[0] = true;
            return Vec::new();
        }
        let mut best = self.tip;
        let mut queue = vec![index];
        while let Some(next) = queue.pop() {
            if !self.stored[next] || !self.ready[self.chain.parent(next)] {
                continue;
            }
            self.ready[next] = true;
            if self.chain.at(next).height > self.chain.at(best).height {
                best = next;
            }
            queue.extend(self.children[next].iter().rev());
        }
        let (_, up) = self.chain.path(self.tip, best);
        self.tip = best;
        up.into_iter().filter(|&index| !std::mem::replace(&mut self.connected[index], true)).collect()
    }
}
