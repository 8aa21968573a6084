//! What can go wrong in the pipeline.

use std::{io, path::PathBuf};

use cairn_model::{BlockHash, Height, Network, Txid};
use cairn_reader::ReadError;
use cairn_sources::SourceError;
use cairn_stages::StageError;
use cairn_tables::DecodeError;
use cairn_writer::WriteError;

/// Indexing stopped. What was committed stays, and the index opens at it.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// The source of blocks.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Writing the index.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Reading the index.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A stage.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The index belongs to another network.
    #[error("this index is of {found}, not of {expected}")]
    WrongNetwork {
        /// Asked for.
        expected: Network,
        /// What the index says.
        found: Network,
    },
    /// A block spends what is not there: files or index are damaged.
    #[error("block {hash} at height {height} spends output {vout} of {txid}, which is no unspent coin")]
    MissingCoin {
        /// The block's height.
        height: Height,
        /// The block's hash.
        hash: BlockHash,
        /// The funding transaction.
        txid: Txid,
        /// The output.
        vout: u32,
    },
    /// A block pays more than it may: files are damaged, or no node accepted it.
    #[error("block {hash} at height {height} pays out more than it spends and creates")]
    MakesMoney {
        /// The block's height.
        height: Height,
        /// The block's hash.
        hash: BlockHash,
    },
    /// More scripts share one prefix than ordinals can tell apart.
    #[error("more than 256 scripts share the prefix {0:02x?}")]
    TooManyCollisions([u8; 8]),
    /// No stage has this name.
    #[error("there is no stage {0:?}")]
    UnknownStage(String),
    /// The journal cannot be rebuilt from itself.
    #[error("the chain stage is the journal itself: to rebuild it, index the block files into a new folder")]
    ChainIsTheJournal,
    /// A stage's tables are of another version than this program's.
    #[error("stage {stage} has tables of version {found}, this program writes version {expected}")]
    Version {
        /// The stage.
        stage: &'static str,
        /// In the index.
        found: u32,
        /// In this program.
        expected: u32,
    },
    /// The files' best chain has less work than the index: nothing is undone for it.
    #[error("the block files end at height {files} on a branch with less work than the index, which is at {index}")]
    LessWork {
        /// Height of the files' best chain.
        files: Height,
        /// Height of the index.
        index: Height,
    },
    /// Heights above the tip cannot be unwound to.
    #[error("the index is at height {tip}: it cannot be unwound to {to}")]
    AboveTip {
        /// The tip.
        tip: Height,
        /// Asked for.
        to: Height,
    },
    /// Undo data proved unusable: the blocks it belongs to are resolved without.
    #[error("the undo data of the block at height {0} contradicts the chain")]
    UndoContradicts(Height),
    /// A working file of bulk indexing is damaged.
    #[error("working file {path}: {what}")]
    Spill {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
    /// Asked to stop.
    #[error("stopped")]
    Stopped,
}

impl PipelineError {
    /// Wraps an error of the operating system.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let wrap = WriteError::io(path);
        move |error| PipelineError::Write(wrap(error))
    }

    /// Whether the disk is full.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        matches!(self, PipelineError::Write(WriteError::DiskFull(_)))
    }
}

impl From<DecodeError> for PipelineError {
    fn from(e: DecodeError) -> Self {
        PipelineError::Read(e.into())
    }
}

/// For folds, which speak of writing in their own words.
pub(crate) fn as_stage_write(e: WriteError) -> StageError {
    StageError::Write(Box::new(e))
}

/// A write that failed inside a fold is reported as what it was.
pub(crate) fn unwrap_stage(e: StageError) -> PipelineError {
    match e {
        StageError::Write(inner) => match inner.downcast::<WriteError>() {
            Ok(write) => PipelineError::Write(*write),
            Err(other) => PipelineError::Stage(StageError::Write(other)),
        },
        other => PipelineError::Stage(other),
    }
}
