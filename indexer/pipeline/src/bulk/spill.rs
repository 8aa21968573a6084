//! Records on disk, cut into partitions by their keys. A spill is written front to back, and can be taken up again at
//! the lengths that it had when it was last made durable.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use super::{Plan, write_behind::WriteBehind};
use crate::PipelineError;

/// Lengths of the partitions of spills, by name of the spill.
pub(crate) type Lengths = BTreeMap<String, Vec<u64>>;

/// Writes records into partitions. Files are made when their first record comes.
pub(crate) struct SpillWriter {
    dir: PathBuf,
    name: String,
    /// Buffer of each partition's file, in bytes.
    buffer: usize,
    files: Vec<Partition>,
    behind: WriteBehind,
}

#[derive(Default)]
struct Partition {
    file: Option<BufWriter<File>>,
    written: u64,
    /// How much it had when it was last begun to be made durable, and when it was.
    begun: u64,
    durable: u64,
}

/// Bytes of a partition that are made durable at a time.
const BEHIND: u64 = 1 << 20;

/// Where a partition lies.
pub(crate) fn partition_path(dir: &Path, name: &str, partition: usize) -> PathBuf {
    dir.join(format!("{name}.{partition:03}.spill"))
}

impl SpillWriter {
    /// Opens a spill of `partitions` partitions, empty or as long as `lengths` says; bytes of an earlier try beyond
    /// that are cut off.
    pub(crate) fn open(
        dir: &Path,
        name: &str,
        partitions: usize,
        buffer: usize,
        lengths: &Lengths,
        behind: WriteBehind,
    ) -> Result<Self, PipelineError> {
        let kept = lengths.get(name).map_or(&[][..], Vec::as_slice);
        let open = |partition: usize| {
            let path = partition_path(dir, name, partition);
            let length = kept.get(partition).copied().unwrap_or(0);
            if length == 0 {
                remove(&path)?;
                return Ok(Partition::default());
            }
            let reopen = || {
                let mut file = OpenOptions::new().write(true).open(&path)?;
                if file.metadata()?.len() < length {
                    return Ok(None);
                }
                file.set_len(length)?;
                file.seek(SeekFrom::End(0))?;
                Ok(Some(file))
            };
            let file = reopen().map_err(PipelineError::io(&path))?.ok_or_else(|| damaged(dir, name, partition))?;
            let file = Some(BufWriter::with_capacity(buffer, file));
            Ok(Partition { file, written: length, begun: length, durable: length })
        };
        let files = (0..partitions).map(open).collect::<Result<_, PipelineError>>()?;
        Ok(SpillWriter { dir: dir.to_owned(), name: name.to_owned(), buffer, files, behind })
    }

    /// Appends bytes as they are.
    pub(crate) fn put(&mut self, partition: usize, bytes: &[u8]) -> Result<(), PipelineError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let path = || partition_path(&self.dir, &self.name, partition);
        let slot = &mut self.files[partition];
        let file = match &mut slot.file {
            Some(file) => file,
            none => {
                let file = File::create(path()).map_err(PipelineError::io(path()))?;
                none.insert(BufWriter::with_capacity(self.buffer, file))
            }
        };
        slot.written += bytes.len() as u64;
        file.write_all(bytes).map_err(PipelineError::io(path()))?;
        if slot.written - slot.begun >= BEHIND {
            slot.begun = slot.written;
            self.behind.begin(file.get_ref());
        }
        Ok(())
    }

    /// Appends a chunk: its length (4, little-endian) and its bytes, which [`Chunks`] gives back.
    pub(crate) fn put_chunk(&mut self, partition: usize, bytes: &[u8]) -> Result<(), PipelineError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let length = u32::try_from(bytes.len()).map_err(|_| damaged(&self.dir, &self.name, partition))?;
        self.put(partition, &length.to_le_bytes())?;
        self.put(partition, bytes)
    }

    /// Makes everything so far durable, and notes how much that is.
    pub(crate) fn save(&mut self, lengths: &mut Lengths) -> Result<(), PipelineError> {
        for (partition, slot) in self.files.iter_mut().enumerate().filter(|(_, slot)| slot.written > slot.durable) {
            if let Some(file) = &mut slot.file {
                let path = || partition_path(&self.dir, &self.name, partition);
                file.flush().map_err(PipelineError::io(path()))?;
                file.get_ref().sync_data().map_err(PipelineError::io(path()))?;
            }
            slot.durable = slot.written;
        }
        self.behind.wait().map_err(PipelineError::io(&self.dir))?;
        lengths.insert(self.name.clone(), self.files.iter().map(|slot| slot.written).collect());
        Ok(())
    }
}

/// A partition read chunk by chunk.
pub(crate) struct Chunks {
    file: Option<BufReader<File>>,
    left: u64,
    dir: PathBuf,
    name: &'static str,
    partition: usize,
    bytes: Vec<u8>,
}

impl Chunks {
    /// Opens a partition; one that does not exist has no chunks.
    pub(crate) fn open(dir: &Path, name: &'static str, partition: usize) -> Result<Self, PipelineError> {
        let (file, left) = match open_partition(dir, name, partition)? {
            Some((file, left)) => (Some(BufReader::new(file)), left),
            None => (None, 0),
        };
        Ok(Chunks { file, left, dir: dir.to_owned(), name, partition, bytes: Vec::new() })
    }

    /// Bytes that are not read yet.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, PipelineError> {
        if self.left == 0 {
            return Ok(None);
        }
        let mut length = [0u8; 4];
        self.read(|file| file.read_exact(&mut length))?;
        let length = u32::from_le_bytes(length);
        self.left = self.left.checked_sub(4 + u64::from(length)).ok_or_else(|| self.damaged())?;
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.resize(length as usize, 0);
        self.read(|file| file.read_exact(&mut bytes))?;
        self.bytes = bytes;
        Ok(Some(&self.bytes))
    }

    fn read(&mut self, read: impl FnOnce(&mut BufReader<File>) -> std::io::Result<()>) -> Result<(), PipelineError> {
        match self.file.as_mut().map(read) {
            Some(Ok(())) => Ok(()),
            Some(Err(e)) if e.kind() != std::io::ErrorKind::UnexpectedEof => {
                Err(PipelineError::io(partition_path(&self.dir, self.name, self.partition))(e))
            }
            _ => Err(self.damaged()),
        }
    }

    /// The error for bytes that cannot be decoded.
    pub(crate) fn damaged(&self) -> PipelineError {
        damaged(&self.dir, self.name, self.partition)
    }
}

/// A partition's file and its length in bytes; `None` if it has none.
fn open_partition(dir: &Path, name: &str, partition: usize) -> Result<Option<(File, u64)>, PipelineError> {
    let path = partition_path(dir, name, partition);
    match File::open(&path) {
        Ok(file) => {
            let bytes = file.metadata().map_err(PipelineError::io(&path))?.len();
            Ok(Some((file, bytes)))
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(PipelineError::io(path)(e)),
    }
}

/// How many bytes a partition has.
pub(crate) fn partition_bytes(dir: &Path, name: &str, partition: usize) -> Result<u64, PipelineError> {
    Ok(open_partition(dir, name, partition)?.map_or(0, |(_, bytes)| bytes))
}

/// Shows each of a partition's records, which have `N` bytes.
pub(crate) fn for_each_record<const N: usize>(
    dir: &Path,
    name: &str,
    partition: usize,
    mut show: impl FnMut([u8; N]),
) -> Result<(), PipelineError> {
    let Some((file, _)) = open_partition(dir, name, partition)? else { return Ok(()) };
    let path = partition_path(dir, name, partition);
    let mut file = BufReader::with_capacity(64 << 10, file);
    let mut record = [0u8; N];
    while !file.fill_buf().map_err(PipelineError::io(&path))?.is_empty() {
        match file.read_exact(&mut record) {
            Ok(()) => show(record),
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Err(damaged(dir, name, partition)),
            Err(e) => return Err(PipelineError::io(path)(e)),
        }
    }
    Ok(())
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

/// Writes a partition as a whole, durably. Without bytes there is none.
pub(crate) fn write_partition(dir: &Path, name: &str, partition: usize, bytes: &[u8]) -> Result<(), PipelineError> {
    let path = partition_path(dir, name, partition);
    if bytes.is_empty() {
        return remove(&path);
    }
    let write = || {
        let mut file = File::create(&path)?;
        file.write_all(bytes)?;
        file.sync_data()
    };
    write().map_err(PipelineError::io(&path))
}

pub(crate) fn remove_partition(dir: &Path, name: &str, partition: usize) -> Result<(), PipelineError> {
    remove(&partition_path(dir, name, partition))
}

/// Removes partitions of a spill that is cut by transaction number, as far as nothing from `tx` on needs them.
pub(crate) fn remove_before(dir: &Path, name: &str, plan: &Plan, tx: u64) -> Result<(), PipelineError> {
    let end = if tx >= plan.tx_end { plan.partitions } else { plan.by_tx(tx) };
    (0..end).try_for_each(|partition| remove_partition(dir, name, partition))
}

pub(crate) fn remove(path: &Path) -> Result<(), PipelineError> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(PipelineError::io(path)(e)),
        _ => Ok(()),
    }
}

/// A partition whose records are cut short.
pub(crate) fn damaged(dir: &Path, name: &str, partition: usize) -> PipelineError {
    PipelineError::Spill { path: partition_path(dir, name, partition), what: "a record ends early" }
}
