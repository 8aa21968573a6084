//! What can go wrong with a folder of block files.

use std::{io, path::PathBuf};

use cairn_model::{BlockHash, Network};

use crate::{decode::DecodeError, undo::UndoError};

/// Why block files cannot be used, or not further than this.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The folder does not exist.
    #[error("{path}: no such folder")]
    FolderMissing {
        /// The folder asked for.
        path: PathBuf,
    },
    /// The folder holds no block file with a record in it.
    #[error("{path}: no blocks here (expected Bitcoin Core's blocks folder with blk00000.dat)")]
    FolderEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("{path}: {source}")]
    Io {
        /// File or folder.
        path: PathBuf,
        /// Its words.
        source: io::Error,
    },
    /// The blocks belong to another network.
    #[error("{path}: these are blocks of {found}, not of {expected}")]
    WrongNetwork {
        /// First block file.
        path: PathBuf,
        /// The network asked for.
        expected: Network,
        /// The network whose magic the file starts with.
        found: Network,
    },
    /// The first record starts with the magic of no network.
    #[error("{path}: starts with {} instead of a network's magic", Hex(magic))]
    UnknownMagic {
        /// First block file.
        path: PathBuf,
        /// Its first four bytes, after the XOR key was applied.
        magic: [u8; 4],
    },
    /// `xor.dat` is not 8 bytes long.
    #[error("{path}: holds {len} bytes instead of 8")]
    BadXorKey {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        len: u64,
    },
    /// `xor.dat` is absent or belongs to other block files: the first block is genesis under another key.
    #[error("{path}: is XORed with the key {}, which xor.dat does not say", Hex(key))]
    WrongXorKey {
        /// First block file.
        path: PathBuf,
        /// The key that makes its first record the genesis block.
        key: [u8; 8],
    },
    /// The first files are gone: the node prunes.
    #[error("{path}: the first block file here is number {first_file}; a pruned node does not hold the whole chain")]
    Pruned {
        /// The folder.
        path: PathBuf,
        /// Lowest number of a block file.
        first_file: u32,
    },
    /// No file holds the genesis block of the network.
    #[error("{path}: the genesis block {genesis} is in none of the files")]
    NoGenesis {
        /// The folder.
        path: PathBuf,
        /// What was looked for.
        genesis: BlockHash,
    },
    /// A block of the active chain does not decode.
    #[error("{path}, offset {offset}: block {hash} is corrupt: {reason}")]
    CorruptBlock {
        /// The block file.
        path: PathBuf,
        /// Offset of the block's first byte in it.
        offset: u64,
        /// The block expected there.
        hash: BlockHash,
        /// What is wrong.
        reason: DecodeError,
    },
    /// The file no longer holds the block that the survey saw there.
    #[error("{path}, offset {offset}: block {hash} is no longer here")]
    BlockChanged {
        /// The block file.
        path: PathBuf,
        /// Offset of the block's first byte in it.
        offset: u64,
        /// The block expected there.
        hash: BlockHash,
    },
    /// The undo data of a block of the active chain is damaged.
    #[error("{path}, offset {offset}: the undo data of block {hash} is corrupt: {reason}")]
    CorruptUndo {
        /// The undo file.
        path: PathBuf,
        /// Offset of the undo data's first byte in it.
        offset: u64,
        /// The block that it belongs to.
        hash: BlockHash,
        /// What is wrong.
        reason: UndoError,
    },
    /// More blocks than their numbers can count (2^32 − 1).
    #[error("too many blocks")]
    TooManyBlocks,
    /// What is kept of each block takes more memory than there may be.
    #[error(
        "the block files hold {blocks} blocks, copies included, and more; to know them takes {} MiB of memory, of which {} are free for it",
        needed >> 20, allowed >> 20
    )]
    NoMemoryForBlocks {
        /// Blocks and further copies of blocks that were found before it was given up.
        blocks: u64,
        /// Bytes that they take, with a few more.
        needed: u64,
        /// Bytes that they may take.
        allowed: u64,
    },
}

impl SourceError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| SourceError::Io { path, source }
    }

    /// Whether bytes on disk are damaged (as opposed to absent, foreign or unreadable).
    #[must_use]
    pub fn is_corruption(&self) -> bool {
        matches!(
            self,
            SourceError::CorruptBlock { .. } | SourceError::CorruptUndo { .. } | SourceError::BlockChanged { .. }
        )
    }
}

struct Hex<'a, const N: usize>(&'a [u8; N]);

impl<const N: usize> std::fmt::Display for Hex<'_, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}
