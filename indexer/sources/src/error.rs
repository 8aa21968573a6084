//! Errors of a folder of block files.

use std::{io, path::PathBuf};

use cairn_model::{BlockHash, ChainParams, Height, Network};

use crate::{decode::DecodeError, undo::UndoError};

/// Why block files cannot be used, or not beyond some point.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The folder does not exist.
    #[error("{path}: no such folder")]
    FolderMissing {
        /// The given folder.
        path: PathBuf,
    },
    /// The folder has no block file with a record.
    #[error("{path}: no blocks here; expected Bitcoin Core's blocks folder with blk00000.dat")]
    FolderEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// An operating system error.
    #[error("{path}: {source}")]
    Io {
        /// File or folder.
        path: PathBuf,
        /// Its message.
        source: io::Error,
    },
    /// The blocks belong to another network.
    #[error(
        "{path}: these are blocks of {}, not of {expected}",
        ChainParams::from(*found).name_beside(*expected)
    )]
    WrongNetwork {
        /// First block file.
        path: PathBuf,
        /// The expected network.
        expected: ChainParams,
        /// The network whose magic the file starts with.
        found: Network,
    },
    /// The blocks belong to another signet: they begin with the genesis block of signet under another magic.
    #[error(
        "{path}: these are blocks of a signet with magic {}, not of {}, which has magic {}",
        Hex(magic),
        expected.name_among_signets(),
        Hex(&expected.magic())
    )]
    OtherSignet {
        /// First block file.
        path: PathBuf,
        /// Its first four bytes, after the XOR key was applied.
        magic: [u8; 4],
        /// The expected network.
        expected: ChainParams,
    },
    /// The first record does not start with the magic of a known network.
    #[error("{path}: starts with {}, which is not the magic of a known network", Hex(magic))]
    UnknownMagic {
        /// First block file.
        path: PathBuf,
        /// Its first four bytes, after the XOR key was applied.
        magic: [u8; 4],
    },
    /// `xor.dat` is not 8 bytes long.
    #[error("{path}: has {len} bytes instead of 8")]
    BadXorKey {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        len: u64,
    },
    /// `xor.dat` is absent or belongs to other block files: the first block is genesis under another key.
    #[error("{path}: is XORed with the key {}, which is not the key in xor.dat", Hex(key))]
    WrongXorKey {
        /// First block file.
        path: PathBuf,
        /// The key that makes its first record the genesis block.
        key: [u8; 8],
    },
    /// The first files are missing: the node is pruned.
    #[error("{path}: the first block file is number {first_file}; a pruned node does not have the whole chain")]
    Pruned {
        /// The folder.
        path: PathBuf,
        /// Lowest number of a block file.
        first_file: u32,
    },
    /// The first block file is not a file.
    #[error("{path}: is {}; the first blocks are missing", if *dangling { "a link to a file that does not exist" } else { "not a file" })]
    FirstFileUnusable {
        /// Its path.
        path: PathBuf,
        /// True for a link to nothing.
        dangling: bool,
    },
    /// No file contains the genesis block of the network.
    #[error("{path}: no file contains the genesis block {genesis}")]
    NoGenesis {
        /// The folder.
        path: PathBuf,
        /// The genesis block.
        genesis: BlockHash,
    },
    /// A block of the active chain does not decode.
    #[error("{path}, offset {offset}: block {hash} at height {height} is corrupt: {reason}")]
    CorruptBlock {
        /// The block file.
        path: PathBuf,
        /// Offset of the block's first byte in it.
        offset: u64,
        /// The block expected there.
        hash: BlockHash,
        /// Its height.
        height: Height,
        /// Description of the error.
        reason: DecodeError,
    },
    /// The block that the survey found here is no longer in the file.
    #[error("{path}, offset {offset}: block {hash} at height {height} is no longer here")]
    BlockChanged {
        /// The block file.
        path: PathBuf,
        /// Offset of the block's first byte in it.
        offset: u64,
        /// The block expected there.
        hash: BlockHash,
        /// Its height.
        height: Height,
    },
    /// The undo data of a block of the active chain is damaged.
    #[error("{path}, offset {offset}: the undo data of block {hash} at height {height} is corrupt: {reason}")]
    CorruptUndo {
        /// The undo file.
        path: PathBuf,
        /// Offset of the undo data's first byte in it.
        offset: u64,
        /// The block that it belongs to.
        hash: BlockHash,
        /// Its height.
        height: Height,
        /// Description of the error.
        reason: UndoError,
    },
    /// More blocks than their numbers can count (2^32 − 1).
    #[error("too many blocks")]
    TooManyBlocks,
    /// The list of blocks needs more memory than its limit.
    #[error(
        "the block files have more than {blocks} blocks, copies included; listing them needs {} MiB of memory, the limit is {} MiB",
        needed >> 20, allowed >> 20
    )]
    NoMemoryForBlocks {
        /// Blocks, and further copies of blocks, found before the survey stopped.
        blocks: u64,
        /// Bytes that they and a few more need.
        needed: u64,
        /// The limit in bytes.
        allowed: u64,
    },
}

impl SourceError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| SourceError::Io { path, source }
    }

    /// True if bytes on disk are damaged, not merely missing, unreadable or of another network.
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
