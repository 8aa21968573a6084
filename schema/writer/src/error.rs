//! Errors of writing.

use std::{io, path::PathBuf};

use cairn_reader::ReadError;

/// A write failed. Earlier commits are intact.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The disk is full.
    #[error("the disk is full: {0}")]
    DiskFull(String),
    /// Another process writes this index.
    #[error("{0}: another process is writing this index")]
    Locked(PathBuf),
    /// A database error.
    #[error("database: {0}")]
    Database(rocksdb::Error),
    /// An operating system error.
    #[error("{path}: {error}")]
    Io {
        /// File or folder.
        path: PathBuf,
        /// Its message.
        error: io::Error,
    },
    /// Reading the index failed.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl WriteError {
    /// True if bytes on disk differ from those written, not if the disk fails.
    #[must_use]
    pub fn is_corruption(&self) -> bool {
        matches!(self, WriteError::Database(e) if e.kind() == rocksdb::ErrorKind::Corruption)
    }

    /// True if bytes on disk are wrong or missing, so that only a repair helps.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            WriteError::Read(error) => error.is_damage(),
            WriteError::Database(error) => ReadError::of_table("", error.clone()).is_damage(),
            _ => false,
        }
    }

    /// Wraps an error of the operating system that names its file.
    pub(crate) fn of_file((path, error): (PathBuf, io::Error)) -> Self {
        Self::io(path)(error)
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
        // The binding exposes RocksDB's status only as text.
        let text = error.to_string();
        if text.contains("No space left on device") || text.contains("Disk quota exceeded") {
            WriteError::DiskFull(text)
        } else {
            WriteError::Database(error)
        }
    }
}
