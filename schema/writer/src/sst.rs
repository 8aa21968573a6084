//! Table files written directly, for bulk indexing: rows in ascending order of keys, no log, no memory table.

use std::{path::PathBuf, sync::OnceLock};

use cairn_reader::family_options;
use cairn_tables::Family;
use rocksdb::{Options, SstFileWriter};

use crate::WriteError;

/// A table file being written.
pub struct SstWriter {
    writer: SstFileWriter<'static>,
    path: PathBuf,
    bytes: u64,
}

/// RocksDB's writer borrows its options, so they are made once and kept.
fn options(family: Family) -> &'static Options {
    static OPTIONS: OnceLock<Vec<Options>> = OnceLock::new();
    &OPTIONS.get_or_init(|| Family::ALL.map(family_options).into_iter().collect())[family.index()]
}

impl SstWriter {
    /// Starts a file of a family. One without rows cannot be finished, so start it with the first row.
    pub fn create(family: Family, path: PathBuf) -> Result<Self, WriteError> {
        let writer = SstFileWriter::create(options(family));
        writer.open(&path)?;
        Ok(SstWriter { writer, path, bytes: 0 })
    }

    /// Appends a row; its key must be above the last one.
    ///
    /// # Errors
    /// Fails if the key is not above the last one, or the file cannot be written.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), WriteError> {
        self.bytes += (key.len() + value.len()) as u64;
        Ok(self.writer.put(key, value)?)
    }

    /// Bytes of the rows so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Completes the file; RocksDB syncs it.
    pub fn finish(mut self) -> Result<PathBuf, WriteError> {
        self.writer.finish()?;
        Ok(self.path)
    }
}
