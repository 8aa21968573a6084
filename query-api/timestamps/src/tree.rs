//! The Merkle tree of a batch, as calendars make it: neighbours are put together and hashed with SHA-256; the last node
//! of a level without a neighbour goes up as it is.
//!
//! For a proof, the leaves of a large batch are not read again: of each eighth level all nodes are stored, in parts of
//! up to 256. A path needs one part of each of these levels.

use bitcoin::hashes::{Hash, sha256};
use thiserror::Error;

use crate::operation::{HashFunction, Operation};

/// Levels from one stored level to the next.
const LEVELS: u8 = 8;
const PART_NODES: usize = 1 << LEVELS;
const HASH_BYTES: usize = 32;

/// A tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tree {
    root: [u8; 32],
    parts: Vec<TreePart>,
}

/// Up to 256 neighbouring nodes of a stored level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreePart {
    /// Its place.
    pub place: PartPlace,
    /// The hashes, 32 bytes each.
    pub hashes: Vec<u8>,
}

/// The place of a part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PartPlace {
    /// Its level: 0 for leaves, 8 for the roots of 256 leaves each, and so on.
    pub level: u8,
    /// Its number: the first node has the position `256 × part` in its level.
    pub part: u32,
}

/// Why parts are not those of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum TreeError {
    /// There is no such leaf.
    #[error("the tree has no leaf at this position")]
    Position,
    /// A part is missing or has another length.
    #[error("a part of the tree is missing, or has another length than the number of leaves requires")]
    Parts,
}

impl Tree {
    /// Computes the tree of `leaves`; `None` without leaves, or with more than 2³².
    #[must_use]
    pub fn new(leaves: &[[u8; 32]]) -> Option<Self> {
        u32::try_from(leaves.len().checked_sub(1)?).ok()?;
        let mut nodes = leaves.to_vec();
        let (mut parts, mut level) = (Vec::new(), 0u8);
        while nodes.len() > 1 || level == 0 {
            if level.is_multiple_of(LEVELS) {
                let part = |(part, nodes): (usize, &[[u8; 32]])| TreePart {
                    place: PartPlace { level, part: part as u32 },
                    hashes: nodes.concat(),
                };
                parts.extend(nodes.chunks(PART_NODES).enumerate().map(part));
            }
            nodes = above(&nodes);
            level += 1;
        }
        Some(Tree { root: *nodes.first()?, parts })
    }

    /// Its root.
    #[must_use]
    pub fn root(&self) -> [u8; 32] {
        self.root
    }

    /// The parts to store, from which every path can be computed.
    #[must_use]
    pub fn into_parts(self) -> Vec<TreePart> {
        self.parts
    }
}

/// The level above.
fn above(nodes: &[[u8; 32]]) -> Vec<[u8; 32]> {
    let node = |pair: &[[u8; 32]]| match pair {
        [left, right] => sha256::Hash::hash(&[*left, *right].concat()).to_byte_array(),
        _ => pair.first().copied().unwrap_or_default(),
    };
    nodes.chunks(2).map(node).collect()
}

/// The parts that the path of a leaf needs, from below.
#[must_use]
pub fn path_parts(leaves: u32, position: u32) -> Vec<PartPlace> {
    let (mut places, mut count, mut at, mut level) = (Vec::new(), leaves, position, 0u8);
    while count > 1 || level == 0 {
        places.push(PartPlace { level, part: at >> LEVELS });
        count = count.div_ceil(PART_NODES as u32);
        at >>= LEVELS;
        level += LEVELS;
    }
    places
}

/// The operations from a leaf to the root. `parts` are those of [`path_parts`], in its order.
///
/// # Errors
/// Fails if there is no such leaf, or if a part has another length.
pub fn path(leaves: u32, position: u32, parts: &[TreePart]) -> Result<Vec<Operation>, TreeError> {
    if position >= leaves {
        return Err(TreeError::Position);
    }
    let places = path_parts(leaves, position);
    if parts.len() != places.len() {
        return Err(TreeError::Parts);
    }
    let (mut operations, mut count) = (Vec::new(), leaves as usize);
    for (part, place) in parts.iter().zip(places) {
        let first = (place.part as usize) << LEVELS;
        let expected = count.saturating_sub(first).min(PART_NODES);
        if part.place != place || part.hashes.len() != expected * HASH_BYTES {
            return Err(TreeError::Parts);
        }
        let nodes: Vec<[u8; 32]> =
            part.hashes.chunks_exact(HASH_BYTES).filter_map(|hash| hash.try_into().ok()).collect();
        let at = ((position >> place.level) as usize) - first;
        climb(nodes, at, &mut operations);
        count = count.div_ceil(PART_NODES);
    }
    Ok(operations)
}

/// Adds the operations from a node of a part to the root of the part.
fn climb(mut nodes: Vec<[u8; 32]>, mut at: usize, operations: &mut Vec<Operation>) {
    // The last part of a level may have few nodes: its root goes up as it is.
    while nodes.len() > 1 {
        let sibling = nodes.get(at ^ 1).map(|hash| hash.to_vec());
        if let Some(sibling) = sibling {
            operations.push(if at & 1 == 0 { Operation::Append(sibling) } else { Operation::Prepend(sibling) });
            operations.push(Operation::Hash(HashFunction::Sha256));
        }
        nodes = above(&nodes);
        at >>= 1;
    }
}
