//! What can go wrong when reading.

use cairn_tables::{DecodeError, stages::CHAIN};

/// A read failed. "Not found" is not an error: it is `None`.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// The database could not be opened or read.
    #[error("database: {0}")]
    Database(#[from] rocksdb::Error),
    /// A row is damaged or of another version.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Nothing is indexed yet.
    #[error("the index is empty: nothing has been indexed yet")]
    Empty,
    /// A stage's tables are being rebuilt: what they would answer is not whole.
    #[error("the tables of stage {0} are being rebuilt")]
    Unfinished(&'static str),
    /// A newer program wrote the index in a format that this one does not know.
    #[error(
        "the index has format {found}, this program knows formats up to {known}: run the version of Cairn that wrote it, \
         or index into another datadir"
    )]
    NewerFormat {
        /// In the index.
        found: u32,
        /// The newest that this program knows.
        known: u32,
    },
    /// A stage's tables are of another version than this program's: their rows would be misread.
    #[error(
        "stage {stage} has tables of version {found}, this program reads version {expected}: {}",
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
    /// Rows that belong together do not: the index is damaged.
    #[error("the index contradicts itself: {0}")]
    Broken(String),
    /// The folder holds no index of this version.
    #[error("{0}")]
    Unusable(String),
}

/// What to do about tables of another version.
fn what_to_do(stage: &str, found: u32, expected: u32) -> &'static str {
    if found > expected {
        "run the version of Cairn that wrote them"
    } else if stage == CHAIN.name {
        "index the blocks into another datadir"
    } else {
        "`cairn index` rebuilds them"
    }
}
