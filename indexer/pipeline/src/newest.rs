//! The newest block after a step of the chain.

use cairn_model::{Block, BlockHash, Height};
use cairn_stages::FoldDirection;

/// The newest block of the stages' tables, once a block is connected or disconnected.
pub(crate) fn newest_after(block: &Block, direction: FoldDirection) -> (Height, BlockHash) {
    match direction {
        FoldDirection::Forward => (block.height, block.hash),
        FoldDirection::Back => (block.height - 1, block.previous()),
    }
}
