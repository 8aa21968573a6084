//! What can go wrong when reading.

use cairn_tables::DecodeError;

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
    /// Rows that belong together do not: the index is damaged.
    #[error("the index contradicts itself: {0}")]
    Broken(String),
    /// The folder holds no index of this version.
    #[error("{0}")]
    Unusable(String),
}
