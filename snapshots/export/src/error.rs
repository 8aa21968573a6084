//! Why an export ends without a manifest.

use std::{io, path::PathBuf};

use cairn_reader::ReadError;
use cairn_store::{JobError, StoreError};
use cairn_tables::DecodeError;

/// Why an export, or the check of one, failed. Written files stay: the same command continues from there.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The index cannot be read.
    #[error(transparent)]
    Index(#[from] ReadError),
    /// A row of the index is damaged.
    #[error("the index is damaged: {0}; `cairn verify` names the remedy")]
    Row(#[from] DecodeError),
    /// Tables of the index contradict each other.
    #[error("the index contradicts itself: {0}; `cairn verify` names the remedy")]
    Contradiction(String),
    /// A file or folder cannot be written or read.
    #[error("{}: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The store fails.
    #[error("{0}; the same command goes on")]
    Store(StoreError),
    /// Values do not become a Parquet file.
    #[error("a Parquet file cannot be made: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// The folder has something else in it.
    #[error("{0}")]
    Folder(String),
    /// A manifest that cannot be used.
    #[error("{place}: {what}")]
    Manifest {
        /// Its place.
        place: String,
        /// Its defect.
        what: String,
    },
    /// A dataset needs more memory at once than it may take.
    #[error("{dataset} needs more than {bytes} bytes of memory: raise --memory, or leave it out with --datasets")]
    Memory {
        /// The dataset.
        dataset: &'static str,
        /// Bytes that it may take.
        bytes: u64,
    },
    /// The work was cancelled.
    #[error("the export was stopped; the same command goes on with it")]
    Stopped,
    /// A thread ended without a result.
    #[error("a thread of the export has panicked")]
    Panicked,
    /// A mistake in this program.
    #[error("a defect of this program: {0}")]
    Defect(&'static str),
}

impl From<StoreError> for ExportError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Stopped => ExportError::Stopped,
            StoreError::File { path, source } => ExportError::File { path, source },
            other => ExportError::Store(other),
        }
    }
}

impl ExportError {
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| ExportError::File { path, source }
    }

    /// True if the work was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, ExportError::Stopped)
    }
}

impl JobError for ExportError {
    fn stopped() -> Self {
        ExportError::Stopped
    }

    fn panicked() -> Self {
        ExportError::Panicked
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled()
    }
}
