//! Reasons why a document cannot be taken.

use std::{io, path::PathBuf};

use cairn_events::{BadDocument, DocumentHash};

use crate::PipelineError;

/// A document that cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// It breaks a rule.
    #[error("{0}")]
    Bad(#[from] BadDocument),
    /// The hash of another document begins alike.
    #[error(
        "the hash of the document, {new}, begins like that of document {known}, which the ledger has: change a byte of the file, for example by a line break at its end, and import it again"
    )]
    Alike {
        /// The document.
        new: DocumentHash,
        /// The other one.
        known: DocumentHash,
    },
    /// A file of the inbox cannot be read or removed.
    #[error("{}: {error}: the process that writes the index must be able to read, rename and remove files of the inbox", path.display())]
    Inbox {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The archive of the ledger cannot be read or written.
    #[error("{}: {error}: the process that writes the index must be able to read and write the archive of the ledger", path.display())]
    Archive {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A request has been reading since before something was blanked. It is blanked in every answer; in files it stays
    /// until the document is taken again.
    #[error(
        "a request still reads what is blanked, so that files keep it: take the document again when the request has ended; a running writer does that by itself"
    )]
    StillRead,
    /// The index or the disk fails.
    #[error(transparent)]
    Index(#[from] Box<PipelineError>),
}

impl<E: Into<PipelineError>> From<E> for LedgerError {
    fn from(error: E) -> Self {
        LedgerError::Index(Box::new(error.into()))
    }
}
