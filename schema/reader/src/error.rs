//! Errors of reading.

use cairn_tables::{DecodeError, stages::CHAIN};

/// A read failed. "Not found" is not an error: reads return `None`.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// The database could not be opened or read.
    #[error("database: {0}")]
    Database(#[from] rocksdb::Error),
    /// The files of a table are damaged or missing.
    #[error("table {table} is damaged: {error}")]
    Damaged {
        /// The table, as `cairn db stats` names it.
        table: &'static str,
        /// Error of the database.
        error: rocksdb::Error,
    },
    /// Table files are missing or have another length, so that the index cannot be opened.
    #[error("the index cannot be opened: {0}")]
    Files(String),
    /// A table lacks a row that another one names.
    #[error("table {table} is damaged: it lacks {what}")]
    Lacks {
        /// The table that lacks it.
        table: &'static str,
        /// The row.
        what: String,
    },
    /// A row is damaged or of another version.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Nothing is indexed yet.
    #[error("the index is empty: nothing has been indexed yet")]
    Empty,
    /// The work of the request has stopped: it has used up its budget, or nobody waits for it.
    #[error(transparent)]
    Stopped(#[from] cairn_work::Stopped),
    /// A stage's tables are being rebuilt, so they are incomplete.
    #[error("the tables of stage {0} are being rebuilt")]
    Unfinished(&'static str),
    /// A newer program has added tables, which a writer that does not know them would let grow stale.
    #[error(
        "the index has tables that this program does not know ({0}): run the version of Cairn that wrote it, or restore \
         the checkpoint of before the upgrade; nothing in this one was changed"
    )]
    NewerTables(String),
    /// A newer program wrote the index in a format that this one does not support.
    #[error(
        "the index has format {found}, this program supports formats up to {known}: run the version of Cairn that wrote \
         it, or index into another datadir"
    )]
    NewerFormat {
        /// In the index.
        found: u32,
        /// The newest format that this program supports.
        known: u32,
    },
    /// A stage's tables have another version than this program reads, so their rows would be misread.
    #[error(
        "the tables of stage {stage} have version {found}, this program reads version {expected}: {}",
        what_to_do(stage, *found, *expected)
    )]
    StageVersion {
        /// The stage.
        stage: &'static str,
        /// In the index.
        found: u32,
        /// In this program.
        expected: u32,
    },
    /// Rows contradict each other: the index is damaged.
    #[error("the index contradicts itself: {0}")]
    Broken(String),
    /// The folder has no index of this version.
    #[error("{0}")]
    Unusable(String),
}

impl ReadError {
    /// An error of the database while it read a table.
    #[must_use]
    pub fn of_table(table: &'static str, error: rocksdb::Error) -> Self {
        if is_damage(&error) { ReadError::Damaged { table, error } } else { ReadError::Database(error) }
    }

    /// True if bytes on disk are wrong or missing, so that only a repair helps.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            ReadError::Damaged { .. }
            | ReadError::Files(_)
            | ReadError::Lacks { .. }
            | ReadError::Decode(_)
            | ReadError::Broken(_) => true,
            ReadError::Database(error) => is_damage(error),
            _ => false,
        }
    }

    /// The damaged table, if it is known.
    #[must_use]
    pub fn damaged_table(&self) -> Option<&'static str> {
        match self {
            ReadError::Damaged { table, .. } | ReadError::Lacks { table, .. } => Some(table),
            ReadError::Decode(error) => Some(error.table),
            _ => None,
        }
    }
}

/// The binding has the status as a kind; a file that is gone is an error of input and output.
fn is_damage(error: &rocksdb::Error) -> bool {
    match error.kind() {
        rocksdb::ErrorKind::Corruption => true,
        rocksdb::ErrorKind::IOError => error.as_ref().contains("No such file"),
        _ => false,
    }
}

/// Remedy for tables of another version.
fn what_to_do(stage: &str, found: u32, expected: u32) -> &'static str {
    if found > expected {
        "run the version of Cairn that wrote them; nothing was changed"
    } else if stage == CHAIN.name {
        "index the blocks into another datadir; nothing in this one was changed"
    } else {
        "`cairn index` rebuilds them"
    }
}
