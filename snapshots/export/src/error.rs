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
    /// The store, a file or a thread fails, or the work was cancelled.
    #[error("{}", text_of(.0))]
    Store(#[from] StoreError),
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
    /// A mistake in this program.
    #[error("a defect of this program: {0}")]
    Defect(&'static str),
}

impl ExportError {
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| StoreError::File { path, source }.into()
    }

    /// True if the work was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, ExportError::Store(StoreError::Stopped))
    }
}

/// The text of an error of the store, with the advice for an export.
fn text_of(error: &StoreError) -> String {
    match error {
        StoreError::File { .. } => error.to_string(),
        StoreError::Stopped => "the export was stopped; the same command goes on with it".to_owned(),
        StoreError::Panicked => "a thread of the export has panicked".to_owned(),
        other => format!("{other}; the same command goes on"),
    }
}

impl JobError for ExportError {
    fn is_cancelled(&self) -> bool {
        self.is_cancelled()
    }
}
