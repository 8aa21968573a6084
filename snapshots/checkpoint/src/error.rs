//! Why a checkpoint was not made or restored.

use std::{io, path::PathBuf};

use cairn_reader::ReadError;
use cairn_store::{JobError, StoreError};

/// Why a checkpoint was not made, compared or restored. Nothing that was there before is changed.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The index cannot be read.
    #[error(transparent)]
    Index(#[from] ReadError),
    /// The store fails.
    #[error(transparent)]
    Store(StoreError),
    /// A file or folder cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A folder has something else in it.
    #[error("{0}")]
    Folder(String),
    /// There is no manifest that can be used.
    #[error("{place}: {what}")]
    Manifest {
        /// Its place.
        place: String,
        /// Its defect.
        what: String,
    },
    /// A manifest does not have the required signature.
    #[error("{place}: {what}; nothing of it is used")]
    Untrusted {
        /// Its place.
        place: String,
        /// The fault: a wrong signature, or none.
        what: String,
    },
    /// A key for signatures cannot be used.
    #[error("the key cannot be used: {0}")]
    Key(String),
    /// A file does not match the manifest.
    #[error("{place}: {what}; the checkpoint is damaged, and nothing was restored from it")]
    Damaged {
        /// The file.
        place: String,
        /// How it differs from the manifest.
        what: String,
    },
    /// Copying data other than the index failed.
    #[error("{what}: {why}")]
    Beside {
        /// Name of the data.
        what: &'static str,
        /// Why it failed.
        why: String,
    },
    /// The audit of a restored index failed.
    #[error("the restored index cannot be checked: {0}")]
    Audit(String),
    /// The work was cancelled.
    #[error("stopped; the same command begins again")]
    Stopped,
    /// A thread ended without a result.
    #[error("a thread of the checkpoint has panicked; this is a bug")]
    Panicked,
}

impl From<StoreError> for CheckpointError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Stopped => CheckpointError::Stopped,
            StoreError::File { path, source } => CheckpointError::File { path, source },
            other => CheckpointError::Store(other),
        }
    }
}

impl CheckpointError {
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| CheckpointError::File { path, source }
    }
}

impl JobError for CheckpointError {
    fn stopped() -> Self {
        CheckpointError::Stopped
    }

    fn panicked() -> Self {
        CheckpointError::Panicked
    }

    fn is_cancelled(&self) -> bool {
        matches!(self, CheckpointError::Stopped)
    }
}
