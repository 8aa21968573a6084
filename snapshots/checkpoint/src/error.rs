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
    /// The store, a file or a thread fails, or the work was cancelled.
    #[error("{}", text_of(.0))]
    Store(#[from] StoreError),
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
    ExtraFile {
        /// Name of the data.
        what: &'static str,
        /// Why it failed.
        why: String,
    },
    /// The audit of a restored index failed.
    #[error("the restored index cannot be checked: {0}")]
    Audit(String),
}

impl CheckpointError {
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| StoreError::File { path, source }.into()
    }

    /// True if the work was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, CheckpointError::Store(StoreError::Stopped))
    }
}

/// The text of an error of the store, with the advice for a checkpoint.
fn text_of(error: &StoreError) -> String {
    match error {
        StoreError::Stopped => "stopped; the same command begins again".to_owned(),
        StoreError::Panicked => "a thread of the checkpoint has panicked; this is a bug".to_owned(),
        other => other.to_string(),
    }
}

impl JobError for CheckpointError {
    fn is_cancelled(&self) -> bool {
        self.is_cancelled()
    }
}
