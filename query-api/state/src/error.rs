//! What can go wrong with the service state, in words that name no secret.

use std::path::PathBuf;

/// Longest label, in characters.
pub const MAX_LABEL_CHARS: usize = 200;
/// Longest message of a ticket, in characters.
pub const MAX_MESSAGE_CHARS: usize = 2_000;
/// Longest of the other texts of a ticket, in characters.
pub const MAX_TEXT_CHARS: usize = 500;

/// A failure of the service state.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The URL names no database. The text never repeats the URL, which may hold a password.
    #[error("the URL of the service state is wrong: {0}")]
    Url(String),
    /// The file of the database cannot be made or used.
    #[error("{path}: {reason}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: std::io::Error,
    },
    /// The database does not answer, or refuses.
    #[error("the database of the service state {what}: {reason}")]
    Database {
        /// What was tried.
        what: &'static str,
        /// What the database says.
        reason: String,
        /// Whether the disk is full.
        disk_full: bool,
    },
    /// A newer program has been at work.
    #[error(
        "the service state has schema version {found}, made by a newer Cairn; this one knows versions up to {known}"
    )]
    Newer {
        /// Version of the database.
        found: u32,
        /// Newest version that this program knows.
        known: u32,
    },
    /// A step of the schema is not the one that this program knows.
    #[error("step {version} of the service state's schema is not the one that this Cairn knows")]
    Foreign {
        /// Its number.
        version: u32,
    },
    /// A label that cannot be kept.
    #[error("a label has at most {max} characters, and no control characters", max = MAX_LABEL_CHARS)]
    Label,
    /// A text of a ticket that cannot be kept.
    #[error(
        "a message has 1 to {message} characters and other texts at most {text}; control characters are not allowed",
        message = MAX_MESSAGE_CHARS, text = MAX_TEXT_CHARS
    )]
    Feedback,
    /// A time that cannot be kept.
    #[error("a time is out of range")]
    Time,
    /// The operating system gives no random numbers.
    #[error("the operating system gives no random numbers: {0}")]
    Random(String),
    /// A row is not what this program writes.
    #[error("a row of the service state cannot be read: {0}")]
    Row(String),
}

impl StateError {
    /// Whether it may pass by itself: the database is away or busy, say.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self, StateError::Database { .. } | StateError::File { .. })
    }

    /// Whether the disk is full.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        match self {
            StateError::Database { disk_full, .. } => *disk_full,
            StateError::File { reason, .. } => {
                matches!(reason.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }

    /// Wraps what the database says about something that was tried.
    pub(crate) fn database(what: &'static str) -> impl FnOnce(sqlx::Error) -> StateError {
        // SQLite's code for a full disk.
        const SQLITE_FULL: &str = "13";
        // PostgreSQL's.
        const PG_DISK_FULL: &str = "53100";
        move |error| {
            let code = error.as_database_error().and_then(|e| e.code().map(std::borrow::Cow::into_owned));
            let disk_full = code.is_some_and(|code| code == SQLITE_FULL || code == PG_DISK_FULL);
            // What the database says alone; the rest is where in its own source it said so.
            let reason = error.as_database_error().map_or_else(|| error.to_string(), |e| e.message().to_owned());
            StateError::Database { what, reason, disk_full }
        }
    }
}
