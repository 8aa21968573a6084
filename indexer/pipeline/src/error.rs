//! Errors of the pipeline.

use std::{io, path::PathBuf};

use cairn_model::{BlockHash, CancelToken, ChainParams, Height, Txid};
use cairn_reader::ReadError;
use cairn_sources::SourceError;
use cairn_stages::StageError;
use cairn_tables::DecodeError;
use cairn_writer::WriteError;

/// Indexing failed or was cancelled. Committed blocks stay, and the index opens at the last commit.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// The source of blocks fails.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The index cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The index cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A stage fails: the index and its input contradict each other.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The index belongs to another network, or to another signet.
    #[error("this is an index of {}, not of {}", found.name_beside(*expected), expected.name_beside(*found))]
    WrongNetwork {
        /// The expected network.
        expected: ChainParams,
        /// The index's network.
        found: ChainParams,
    },
    /// The index is a copy that newer copies replace: nothing writes to it.
    #[error(
        "the index in {folder} is a replica of {from}: it is not written here, since the next copy would undo it",
        folder = .datadir.display()
    )]
    Replica {
        /// Its data folder.
        datadir: PathBuf,
        /// Where the copies come from.
        from: String,
    },
    /// A block spends a missing coin: the block files or the index are damaged.
    #[error("block {hash} at height {height} spends output {vout} of {txid}, which is not an unspent coin")]
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
    /// The outputs of a block exceed its inputs and the subsidy: the files are damaged, or no node accepted the block.
    #[error("the outputs of block {hash} at height {height} exceed its inputs and the subsidy")]
    MakesMoney {
        /// The block's height.
        height: Height,
        /// The block's hash.
        hash: BlockHash,
    },
    /// More scripts share a prefix than ordinals can distinguish.
    #[error("more than 256 scripts share the prefix {0:02x?}")]
    TooManyCollisions([u8; 8]),
    /// No stage has this name.
    #[error("unknown stage {0:?}")]
    UnknownStage(String),
    /// The journal cannot be rebuilt from itself.
    #[error("the chain stage is the journal itself and cannot be rebuilt; index the blocks into a new folder")]
    ChainIsTheJournal,
    /// The files' best chain has less work than the index. The index is not unwound for it.
    #[error("the block files end at height {files} on a branch with less work than the index, which is at {index}")]
    LessWork {
        /// Height of the files' best chain.
        files: Height,
        /// Height of the index.
        index: Height,
    },
    /// The requested height is above the tip.
    #[error("cannot unwind to height {to}: the index is at height {tip}")]
    AboveTip {
        /// The tip.
        tip: Height,
        /// The requested height.
        to: Height,
    },
    /// Undo data is unusable: its blocks are resolved without it.
    #[error("the undo data of the block at height {0} contradicts the chain")]
    UndoContradicts(Height),
    /// A working file of bulk indexing is damaged.
    #[error("working file {path}: {what}")]
    Spill {
        /// The file.
        path: PathBuf,
        /// Description of the damage.
        what: &'static str,
    },
    /// The archive of the ledger, beside the index, is of another network.
    #[error(
        "the folder `ledger` of the data folder has input events of {}, but the index is of {}",
        ledger.name_beside(*index),
        index.name_beside(*ledger)
    )]
    ForeignLedger {
        /// Network of the archive.
        ledger: ChainParams,
        /// Network of the index.
        index: ChainParams,
    },
    /// A repair would lose input events, which no chain gives back.
    #[error(
        "the repair would lose input events (imported labels, prices, contests, approvals): {}",
        .missing.join("; ")
    )]
    EventsLost {
        /// Documents that neither the index nor the archive of the ledger has, in words.
        missing: Vec<String>,
    },
    /// The work was cancelled.
    #[error("stopped")]
    Stopped,
}

impl PipelineError {
    /// Wraps an error of the operating system.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let wrap = WriteError::io(path);
        move |error| PipelineError::Write(wrap(error))
    }

    /// An error if the work was cancelled.
    pub(crate) fn if_cancelled(cancel: &CancelToken) -> Result<(), Self> {
        if cancel.is_cancelled() { Err(PipelineError::Stopped) } else { Ok(()) }
    }

    /// True if bytes of the index are wrong or missing, so that only a repair helps.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            PipelineError::Read(error) => error.is_damage(),
            PipelineError::Write(error) => error.is_damage(),
            PipelineError::Stage(StageError::Contradiction { .. } | StageError::Decode(_)) => true,
            PipelineError::MissingCoin { .. } | PipelineError::MakesMoney { .. } => true,
            _ => false,
        }
    }

    /// True if the disk is full.
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

/// Wraps a write error for folds, whose error type is [`StageError`].
pub(crate) fn as_stage_write(e: WriteError) -> StageError {
    StageError::Write(Box::new(e))
}

/// Restores the write error that [`as_stage_write`] wrapped.
pub(crate) fn unwrap_stage(e: StageError) -> PipelineError {
    match e {
        StageError::Write(inner) => match inner.downcast::<WriteError>() {
            Ok(write) => PipelineError::Write(*write),
            Err(other) => match other.downcast::<io::Error>() {
                Ok(error) => PipelineError::io("a working file")(*error),
                Err(other) => PipelineError::Stage(StageError::Write(other)),
            },
        },
        other => PipelineError::Stage(other),
    }
}
