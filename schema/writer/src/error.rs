//! What can go wrong when writing.

use std::{io, path::PathBuf};

use cairn_reader::ReadError;

/// A write failed. What was committed before is intact.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The disk is full.
    #[error("the disk is full: {0}")]
    DiskFull(String),
    /// Another process writes this index.
    #[error("{0}: another process is writing this index")]
    Locked(PathBuf),
    /// The database refused.
    #[error("database: {0}")]
    Database(rocksdb::Error),
    /// The operating system refused.
    #[error("{path}: {error}")]
    Io {
        /// File or folder.
        path: PathBuf,
        /// Its words.
        error: io::Error,
    },
    /// Reading what is there failed.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl WriteError {
    /// Whether a file holds what cannot be read as what it should be.
    #[must_use]
    pub fn is_corruption(&self) -> bool {
        matches!(self, WriteError::Database(e) if e.kind() == rocksdb::ErrorKind::Corruption)
    }

    /// Wraps an error of the operating system.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| {
            if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
                WriteError::DiskFull(format!("{}: {error}", path.display()))
            } else {
                WriteError::Io { path, error }
            }
        }
    }
}

impl From<rocksdb::Error> for WriteError {
    fn from(error: rocksdb::Error) -> Self {
        // The binding passes RocksDB's status on as text only.
        let text = error.to_string();
        if text.contains("No space left on device") || text.contains("Disk quota exceeded") {
            WriteError::DiskFull(text)
        } else {
            WriteError::Database(error)
        }
    }
}
