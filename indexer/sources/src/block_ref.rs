//! A block of the active chain, as found by the survey.

use cairn_model::{BlockHash, FilePos, Height, MonoTime, TxNum};

/// A block of the active chain and its position in the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockRef {
    /// Height; genesis is 0.
    pub height: Height,
    /// Hash of the header.
    pub hash: BlockHash,
    /// Hash of the block before; zeros for genesis.
    pub previous: BlockHash,
    /// Compact target of the header (`nBits`).
    pub bits: u32,
    /// Number of the block file, and of the undo file.
    pub file: u32,
    /// Offset of the block's first byte in the file.
    pub offset: u64,
    /// Length of the block in bytes.
    pub size: u32,
    /// Number of its transactions.
    pub tx_count: u32,
    /// Number of its coinbase.
    pub first_tx: TxNum,
    /// Largest header time up to and including this block.
    pub mono_time: MonoTime,
    /// Its undo data; `None` if the files have none.
    pub undo: Option<UndoRef>,
}

/// Position of undo data in the `rev` file with the block file's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UndoRef {
    /// Offset of the first byte after magic and size.
    pub offset: u64,
    /// Length in bytes, without the checksum that follows.
    pub size: u32,
}

impl BlockRef {
    /// Position of the block's bytes.
    #[must_use]
    pub fn position(&self) -> FilePos {
        FilePos { file: self.file, offset: self.offset }
    }
}
