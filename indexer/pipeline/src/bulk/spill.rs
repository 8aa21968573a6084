//! Records on disk, cut into partitions by their keys.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use crate::{PipelineError, groups::put_record};

/// Buffer of each partition's file.
const BUFFER: usize = 128 << 10;

/// Writes records into partitions. Files are made when their first record comes.
pub(crate) struct SpillWriter {
    dir: PathBuf,
    name: String,
    files: Vec<Option<BufWriter<File>>>,
    record: Vec<u8>,
}

/// Where a partition lies.
pub(crate) fn partition_path(dir: &Path, name: &str, partition: usize) -> PathBuf {
    dir.join(format!("{name}.{partition:03}.spill"))
}

impl SpillWriter {
    /// A spill of so many partitions; what an earlier try left is removed.
    pub(crate) fn create(dir: &Path, name: &str, partitions: usize) -> Result<Self, PipelineError> {
        for partition in 0..partitions {
            remove(&partition_path(dir, name, partition))?;
        }
        let files = (0..partitions).map(|_| None).collect();
        Ok(SpillWriter { dir: dir.to_owned(), name: name.to_owned(), files, record: Vec::new() })
    }

    /// Appends a record.
    pub(crate) fn put(&mut self, partition: usize, key: &[u8], value: &[u8]) -> Result<(), PipelineError> {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        put_record(&mut record, key, value);
        let result = self.put_raw(partition, &record);
        self.record = record;
        result
    }

    /// Appends records that are in the form of `put_record` already.
    pub(crate) fn put_raw(&mut self, partition: usize, records: &[u8]) -> Result<(), PipelineError> {
        let path = || partition_path(&self.dir, &self.name, partition);
        let slot = &mut self.files[partition];
        let file = match slot {
            Some(file) => file,
            None => {
                let file = File::create(path()).map_err(PipelineError::io(path()))?;
                slot.insert(BufWriter::with_capacity(BUFFER, file))
            }
        };
        file.write_all(records).map_err(PipelineError::io(path()))
    }

    /// Makes everything durable.
    pub(crate) fn finish(self) -> Result<(), PipelineError> {
        for (partition, file) in self.files.into_iter().enumerate() {
            let path = partition_path(&self.dir, &self.name, partition);
            if let Some(file) = file {
                let file = file.into_inner().map_err(|e| PipelineError::io(&path)(e.into_error()))?;
                file.sync_all().map_err(PipelineError::io(path))?;
            }
        }
        Ok(())
    }
}

/// The bytes of a partition; empty if it has none.
pub(crate) fn read_partition(dir: &Path, name: &str, partition: usize) -> Result<Vec<u8>, PipelineError> {
    let path = partition_path(dir, name, partition);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(bytes),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(PipelineError::io(path)(e)),
    }
}

/// Removes a partition that is done with.
pub(crate) fn remove_partition(dir: &Path, name: &str, partition: usize) -> Result<(), PipelineError> {
    remove(&partition_path(dir, name, partition))
}

fn remove(path: &Path) -> Result<(), PipelineError> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(PipelineError::io(path)(e)),
        _ => Ok(()),
    }
}

/// A partition whose records are cut short.
pub(crate) fn damaged(dir: &Path, name: &str, partition: usize) -> PipelineError {
    PipelineError::Spill { path: partition_path(dir, name, partition), what: "a record is cut short" }
}
