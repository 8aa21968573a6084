//! Errors of the service state. No message contains a secret.

use std::{fmt, path::PathBuf};

/// Maximum length of a label in characters.
pub const MAX_LABEL_CHARS: usize = 200;
/// Maximum length of a ticket's message in characters.
pub const MAX_MESSAGE_CHARS: usize = 2_000;
/// Maximum length of the other texts of a ticket in characters.
pub const MAX_TEXT_CHARS: usize = 500;
/// Maximum length of a report's description in characters.
pub const MAX_REPORT_CHARS: usize = 2_000;
/// Maximum length of the answer of an address's owner to a report, in characters.
pub const MAX_REPLY_CHARS: usize = 1_000;
/// Maximum number of transactions that a report names.
pub const MAX_REPORT_TXIDS: usize = 20;
/// Maximum length of an approver's name in characters.
pub const MAX_APPROVER_CHARS: usize = 64;
/// Maximum number of approvals that are not withdrawn. At the limit, no more are taken.
pub const MAX_APPROVALS: usize = 50_000;
/// Maximum number of entries that wait for the process that writes the index.
pub const MAX_WAITING: u32 = 1_000;
/// Maximum length of such an entry in bytes. The writer has two copies of it in memory.
pub const MAX_WAITING_ENTRY: u64 = 32 << 20;
/// Maximum length of all of them in bytes.
pub const MAX_WAITING_BYTES: u64 = 128 << 20;
/// Maximum length of a hash to anchor in bytes. Those of the API have 32; the protocol of calendars allows more.
pub const MAX_DIGEST_BYTES: usize = 64;
/// Maximum number of hashes of a network that wait for a batch. Beyond it, new ones are refused.
pub const MAX_WAITING_TIMESTAMPS: u64 = 1_000_000;

/// The state of a database file that was used and is not the expected one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileMismatch {
    /// There is no file.
    Missing,
    /// An empty file.
    Empty,
    /// A database that does not have its id.
    Unknown,
    /// An older copy of it.
    Older {
        /// Number of changes that are missing.
        changes: u64,
    },
}

impl fmt::Display for FileMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileMismatch::Missing => f.write_str("the file is missing"),
            FileMismatch::Empty => f.write_str("the file is empty"),
            FileMismatch::Unknown => f.write_str("it is another database than the one that was used here"),
            FileMismatch::Older { changes } => write!(
                f,
                "it is an older copy, or its -wal file is gone: its last changes ({changes}) are missing, so that keys that were revoked \
                 since are valid again"
            ),
        }
    }
}

/// An error of the service state.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The URL is invalid. The message does not repeat it, because it may contain a password.
    #[error("invalid URL of the service state: {0}")]
    Url(String),
    /// The database file cannot be created or used.
    #[error("{path}: {reason}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Message of the operating system.
        reason: std::io::Error,
    },
    /// A database was used here, and another file, or none, is in its place.
    #[error(
        "the database of the service state is lost: {path}: {what} ({path}.mark remembers it): keys, sessions, feedback and \
         approvals are in it",
        path = path.display()
    )]
    Lost {
        /// The file.
        path: PathBuf,
        /// The state of the file.
        what: FileMismatch,
    },
    /// The database is unreachable, or returned an error.
    #[error("the database of the service state {what}: {reason}")]
    Database {
        /// The failed action, as the end of a sentence.
        what: &'static str,
        /// Message of the database.
        reason: String,
        /// True if the disk is full.
        disk_full: bool,
    },
    /// The database was written by a newer version.
    #[error(
        "the service state has schema version {found}, made by a newer Cairn; this one supports versions up to {known}"
    )]
    Newer {
        /// Version of the database.
        found: u32,
        /// Newest supported version.
        known: u32,
    },
    /// A migration differs from this program's.
    #[error("step {version} of the service state's schema differs from the one of this Cairn")]
    Foreign {
        /// Number of the migration.
        version: u32,
    },
    /// The service state is in PostgreSQL, so there is no file to copy or to replace.
    #[error("the service state is in PostgreSQL, which has its own tool for backups: pg_dump")]
    NotAFile,
    /// The file for the copy, or for the new database, exists.
    #[error("{}: the file exists and is not overwritten", .0.display())]
    Exists(PathBuf),
    /// The label of a key is too long, or has control characters.
    #[error("invalid label: at most {max} characters and no control characters are allowed", max = MAX_LABEL_CHARS)]
    Label,
    /// An invalid text of a ticket.
    #[error(
        "invalid feedback: a message has 1 to {message} characters, other texts at most {text}; control characters are not allowed",
        message = MAX_MESSAGE_CHARS, text = MAX_TEXT_CHARS
    )]
    Feedback,
    /// An invalid text of a report, of its answer, or of an operator's reason.
    #[error(
        "invalid report: a description has 1 to {description} characters, a reason 1 to {text}, and {txids} transactions are allowed; \
         control characters are not",
        description = MAX_REPORT_CHARS, text = MAX_TEXT_CHARS, txids = MAX_REPORT_TXIDS
    )]
    Report,
    /// No index of the descriptor can be given out.
    #[error("no address of the payment descriptor can be given out")]
    NoAddress,
    /// An invalid name of an approver.
    #[error(
        "invalid name of an approver: 1 to {max} letters from a to z, digits, spaces and . - _ @ + are allowed",
        max = MAX_APPROVER_CHARS
    )]
    Approver,
    /// There would be more than [`MAX_APPROVALS`].
    #[error("there would be more than {max} approvals: withdraw those that are no longer needed", max = MAX_APPROVALS)]
    TooManyApprovals,
    /// Too much waits for the process that writes the index.
    #[error(
        "too many documents wait for the machine that writes the index (at most {max} entries of {mib} MiB in all): it must \
         run, with this database as its state_url",
        max = MAX_WAITING, mib = MAX_WAITING_BYTES >> 20
    )]
    QueueFull,
    /// An entry is too large to wait.
    #[error("the documents have {bytes} bytes; at most {max} can wait in one entry: split the file", max = MAX_WAITING_ENTRY)]
    EntryTooLarge {
        /// Its length.
        bytes: u64,
    },
    /// A challenge or a payment, or an operator's reason, that cannot be stored.
    #[error(
        "invalid sale: texts must not be empty, too long or have control characters, prices and amounts are above 0, addresses of \
         tokens are 0x and 40 hexadecimal digits in small letters, and a reason has 1 to {text} characters",
        text = MAX_TEXT_CHARS
    )]
    Sale,
    /// The range of a report about sales is empty or too long.
    #[error("invalid range: a report about sales has 1 to {max} days", max = crate::MAX_SALES_DAYS)]
    SalesRange,
    /// A hash to anchor has a wrong length.
    #[error("a hash to anchor has 1 to {max} bytes", max = MAX_DIGEST_BYTES)]
    Digest,
    /// Too many hashes wait to be anchored.
    #[error("{max} hashes wait to be anchored; no more are accepted until the next anchor", max = MAX_WAITING_TIMESTAMPS)]
    TooManyTimestamps,
    /// Too many requests wait for the database.
    #[error("too many requests wait for the database of the service state; try again")]
    Busy,
    /// Another process holds the lease of the anchorer.
    #[error("another process anchors now: its lease replaced this one")]
    LeaseLost,
    /// A time or a number is out of range for the database.
    #[error("a time is out of range")]
    Time,
    /// No random numbers from the operating system.
    #[error("cannot get random numbers from the operating system: {0}")]
    Random(String),
    /// A stored row is invalid.
    #[error("invalid row in the service state: {0}")]
    Row(String),
}

impl StateError {
    /// True if it may be temporary, for example if the database is unreachable or busy.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self, StateError::Database { .. } | StateError::File { .. } | StateError::Lost { .. })
    }

    /// True if the disk is full.
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

    /// Why the database cannot be used at present, for clients: without paths, addresses and names.
    #[must_use]
    pub fn brief(&self) -> &'static str {
        match self {
            _ if self.is_disk_full() => "its disk is full",
            StateError::File { reason, .. } if reason.kind() == std::io::ErrorKind::NotFound => "its file is missing",
            StateError::File { .. } => "its file cannot be used",
            StateError::Lost { what: FileMismatch::Missing, .. } => "its file is missing",
            StateError::Lost { what: FileMismatch::Empty, .. } => "its file is empty",
            StateError::Lost { what: FileMismatch::Unknown, .. } => "it is another database",
            StateError::Lost { what: FileMismatch::Older { .. }, .. } => "it is an older copy",
            StateError::Database { reason, .. } if reason.contains("locked") => "another process has locked it",
            StateError::Database { reason, .. } if reason.contains("readonly") => "it is read-only",
            StateError::Database { .. } => "it does not answer",
            _ => "it cannot be used",
        }
    }

    /// The same error for another one who waited for the same transaction.
    pub(crate) fn repeated(&self) -> StateError {
        match self {
            StateError::Database { what, reason, disk_full } => {
                StateError::Database { what, reason: reason.clone(), disk_full: *disk_full }
            }
            other => StateError::Database {
                what: "cannot be used",
                reason: other.to_string(),
                disk_full: other.is_disk_full(),
            },
        }
    }

    /// Wraps an error of the database; `what` is the failed action.
    pub(crate) fn database(what: &'static str) -> impl FnOnce(sqlx::Error) -> StateError {
        // SQLite's code for a full disk.
        const SQLITE_FULL: &str = "13";
        // PostgreSQL's.
        const PG_DISK_FULL: &str = "53100";
        move |error| {
            let code = error.as_database_error().and_then(|e| e.code().map(std::borrow::Cow::into_owned));
            let disk_full = code.is_some_and(|code| code == SQLITE_FULL || code == PG_DISK_FULL);
            // Only the message: sqlx adds positions in the database's own source.
            let reason = error.as_database_error().map_or_else(|| error.to_string(), |e| e.message().to_owned());
            StateError::Database { what, reason, disk_full }
        }
    }
}
