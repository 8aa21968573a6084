//! A block as the node keeps it.

use bitcoin::{Block, BlockHash, Work};

/// A block as received.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) block: Block,
    pub(crate) hash: BlockHash,
    pub(crate) height: u32,
    /// The serialized block.
    pub(crate) raw: Vec<u8>,
    /// Work of the chain up to here.
    pub(crate) work: Work,
    /// Median time past, Unix seconds, this block included.
    pub(crate) median: u32,
}
