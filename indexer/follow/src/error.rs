//! Errors of following a source.

use std::{io, path::PathBuf};

use cairn_mempool::CoinsError;
use cairn_model::{BlockHash, Height, Part};
use cairn_node::NodeError;
use cairn_pipeline::{LedgerError, PipelineError};
use cairn_reader::ReadError;
use cairn_sources::{Gap, SourceError};

/// Following failed. Committed blocks stay, and the next run resumes from there.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The block files cannot be used.
    #[error(transparent)]
    Files(#[from] SourceError),
    /// The node cannot be used.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The index cannot be written.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// Input events cannot be taken.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The index cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The coins that unconfirmed transactions spend cannot be read.
    #[error("{0}")]
    Coins(CoinsError),
    /// A folder cannot be used.
    #[error("{}: {error}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Message of the operating system.
        error: io::Error,
    },
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// A metric could not be registered.
    #[error("cannot register a metric: {0}")]
    Counters(#[from] prometheus::Error),
    /// A thread panicked.
    #[error("the {0} panicked; this is a bug")]
    Panicked(&'static str),
    /// The files' chain breaks off before the requested height.
    #[error("{gap}; indexed up to {}", up_to(*tip))]
    CutShort {
        /// Where, and why.
        gap: Gap,
        /// Height of the index; `None` if it is empty.
        tip: Option<Height>,
    },
    /// No source was given.
    #[error("no source of blocks; this is a bug")]
    NoSource,
}

impl FollowError {
    /// True if nothing failed and the work was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, FollowError::Pipeline(PipelineError::Stopped) | FollowError::Node(NodeError::Stopped))
    }
}

impl FollowError {
    /// True if it may pass without a restart: the source is at fault, the disk, or the index.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            FollowError::Files(_)
            | FollowError::Node(_)
            | FollowError::Pipeline(_)
            | FollowError::Ledger(_)
            | FollowError::Read(_)
            | FollowError::Coins(_)
            | FollowError::Folder { .. }
            | FollowError::Thread(_) => !self.is_cancelled(),
            FollowError::Counters(_)
            | FollowError::Panicked(_)
            | FollowError::CutShort { .. }
            | FollowError::NoSource => false,
        }
    }

    /// True if the disk of the index is full.
    pub(crate) fn is_disk_full(&self) -> bool {
        let is_full =
            |error: &io::Error| matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        match self {
            FollowError::Pipeline(error) => error.is_disk_full(),
            FollowError::Ledger(LedgerError::Index(error)) => error.is_disk_full(),
            FollowError::Ledger(LedgerError::Inbox { error, .. } | LedgerError::Archive { error, .. })
            | FollowError::Folder { error, .. } => is_full(error),
            _ => false,
        }
    }

    /// The part of the service that does not work; `source` is the one that blocks come from.
    pub(crate) fn part(&self, source: Part) -> Part {
        match self {
            _ if self.is_disk_full() => Part::Disk,
            FollowError::Files(_)
            | FollowError::Pipeline(
                PipelineError::Source(_)
                | PipelineError::LessWork { .. }
                | PipelineError::MissingCoin { .. }
                | PipelineError::MakesMoney { .. },
            ) => source,
            FollowError::Node(error) if error.is_of_node() => source,
            _ => Part::Index,
        }
    }

    /// The block that breaks a rule.
    pub(crate) fn refused_block(&self) -> Option<BlockHash> {
        match self {
            FollowError::Pipeline(PipelineError::MissingCoin { hash, .. } | PipelineError::MakesMoney { hash, .. }) => {
                Some(*hash)
            }
            _ => None,
        }
    }
}

fn up_to(tip: Option<Height>) -> String {
    tip.map_or("no block".to_owned(), |height| format!("height {height}"))
}

#[cfg(test)]
mod tests {
    use cairn_sources::{DamagedPlace, GapCause};

    use super::*;

    #[test]
    fn only_a_cancelled_run_has_not_failed() {
        for error in [FollowError::from(PipelineError::Stopped), NodeError::Stopped.into()] {
            assert!(error.is_cancelled(), "{error}");
        }
        for error in [FollowError::from(ReadError::Empty), FollowError::NoSource] {
            assert!(!error.is_cancelled(), "{error}");
        }
    }

    #[test]
    fn damage_names_its_place_and_what_is_indexed() {
        let cause = Some(GapCause::Unreadable(DamagedPlace { file: 1, offset: 8 }));
        let gap = Gap {
            after: 7,
            end: DamagedPlace { file: 1, offset: 8 },
            orphan_blocks: 3,
            cause,
            beyond: None,
            certain: true,
        };
        let cut = |tip| FollowError::CutShort { gap: gap.clone(), tip }.to_string();
        let text = "the block files break off after height 7: damaged record in blk00001.dat, offset 8; \
            3 later blocks in the files do not connect; indexed up to ";
        assert_eq!(cut(None), format!("{text}no block"));
        assert_eq!(cut(Some(7)), format!("{text}height 7"));
    }
}
