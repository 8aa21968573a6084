//! Sorting what does not fit in memory: sorted runs on disk, merged as they are read.

use std::{
    fs::File,
    io::{BufWriter, ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

use cairn_stages::Delta;

use super::spill::remove;
use crate::{
    PipelineError,
    records::{SORT_OVERHEAD, Sorted, put_record, take_record},
};

/// Runs that are merged at a time: each has a file open.
const FAN_IN: usize = 64;
/// Least bytes of a reader's buffer.
const LEAST_BUFFER: u64 = 64 << 10;

/// Bytes of memory that sorting `bytes` bytes of records takes, including their heads. Records of spills are some 20
/// bytes long.
pub(crate) fn sorting_takes(bytes: u64) -> u64 {
    bytes + bytes / 16 * SORT_OVERHEAD
}

/// Reads what there is, however often a signal comes in between; 0 bytes at the end of the file.
pub(crate) fn read_some(file: &mut File, bytes: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match file.read(bytes) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// The records of a file, front to back.
pub(crate) struct Records {
    path: PathBuf,
    file: File,
    bytes: Vec<u8>,
    /// The current record.
    from: usize,
    to: usize,
    filled: usize,
    whole: bool,
}

impl Records {
    /// Opens it at its first record.
    pub(crate) fn open(path: PathBuf, buffer: u64) -> Result<Self, PipelineError> {
        let file = File::open(&path).map_err(PipelineError::io(&path))?;
        let bytes = vec![0; buffer as usize];
        let mut records = Records { path, file, bytes, from: 0, to: 0, filled: 0, whole: false };
        records.advance()?;
        Ok(records)
    }

    /// The bytes of the current record; empty at the end.
    pub(crate) fn current(&self) -> &[u8] {
        &self.bytes[self.from..self.to]
    }

    /// The current record as a delta; `None` at the end.
    pub(crate) fn delta(&self) -> Option<Delta<'_>> {
        take_record(self.current()).map(|(delta, _)| delta)
    }

    /// Goes on to the next.
    pub(crate) fn advance(&mut self) -> Result<(), PipelineError> {
        self.from = self.to;
        loop {
            let rest = &self.bytes[self.from..self.filled];
            if let Some((_, after)) = take_record(rest) {
                self.to = self.filled - after.len();
                return Ok(());
            }
            if self.whole && rest.is_empty() {
                return Ok(());
            }
            if self.whole {
                return Err(PipelineError::Spill { path: self.path.clone(), what: "a record ends early" });
            }
            self.bytes.copy_within(self.from..self.filled, 0);
            (self.filled, self.from, self.to) = (self.filled - self.from, 0, 0);
            if self.filled == self.bytes.len() {
                self.bytes.resize(self.filled * 2, 0);
            }
            let read =
                read_some(&mut self.file, &mut self.bytes[self.filled..]).map_err(PipelineError::io(&self.path))?;
            self.filled += read;
            self.whole = read == 0;
        }
    }
}

/// Several files of sorted records as one.
struct Merge {
    /// By ascending current record; those at their end are gone.
    readers: Vec<Records>,
}

impl Merge {
    fn open(paths: &[PathBuf], memory: u64) -> Result<Self, PipelineError> {
        let buffer = (memory / (paths.len() as u64 + 1)).clamp(LEAST_BUFFER, 4 << 20);
        let mut merge = Merge { readers: Vec::new() };
        for path in paths {
            merge.insert(Records::open(path.clone(), buffer)?);
        }
        Ok(merge)
    }

    fn insert(&mut self, reader: Records) {
        if !reader.current().is_empty() {
            // The smallest is last, where it is taken off without moving the others.
            let at = self.readers.partition_point(|other| other.delta() > reader.delta());
            self.readers.insert(at, reader);
        }
    }

    fn current(&self) -> Option<&Records> {
        self.readers.last()
    }

    fn advance(&mut self) -> Result<(), PipelineError> {
        if let Some(mut reader) = self.readers.pop() {
            reader.advance()?;
            self.insert(reader);
        }
        Ok(())
    }
}

/// Sorts a file of records within `memory` bytes. `take` gets the records in order, a piece at a time: bytes of
/// records, and whether more follow. A piece never ends between two records with one key.
pub(crate) fn sort_file(
    path: &Path,
    memory: u64,
    mut take: impl FnMut(&[u8], bool) -> Result<(), PipelineError>,
) -> Result<(), PipelineError> {
    let mut made = 0;
    let mut runs = write_runs(path, memory, &mut made)?;
    while runs.len() > FAN_IN {
        let few: Vec<PathBuf> = runs.drain(..FAN_IN).collect();
        let mut merge = Merge::open(&few, memory)?;
        let mut run = RunWriter::create(path, &mut made)?;
        while let Some(record) = merge.current() {
            run.put(record.current())?;
            merge.advance()?;
        }
        runs.push(run.finish()?);
        few.iter().try_for_each(|path| remove(path))?;
    }
    let mut merge = Merge::open(&runs, memory / 2)?;
    let most = (memory / 4).max(1) as usize;
    let mut piece = Vec::new();
    let mut last = 0;
    while let Some(record) = merge.current() {
        let full = piece.len() >= most;
        if full && take_record(&piece[last..]).map(|(delta, _)| delta.key) != record.delta().map(|delta| delta.key) {
            take(&piece, true)?;
            piece.clear();
        }
        last = piece.len();
        piece.extend_from_slice(record.current());
        merge.advance()?;
    }
    take(&piece, false)?;
    runs.iter().try_for_each(|path| remove(path))
}

fn write_runs(path: &Path, memory: u64, made: &mut u32) -> Result<Vec<PathBuf>, PipelineError> {
    let mut records = Records::open(path.to_owned(), 1 << 20)?;
    let mut runs = Vec::new();
    // Offsets of 32 bits.
    let most = (memory * 16 / sorting_takes(16)).clamp(1, 1 << 30) as usize;
    let mut bytes = Vec::with_capacity(most + 4096);
    while !records.current().is_empty() {
        bytes.clear();
        while bytes.len() < most && !records.current().is_empty() {
            bytes.extend_from_slice(records.current());
            records.advance()?;
        }
        let cut_short = || PipelineError::Spill { path: path.to_owned(), what: "a record ends early" };
        let sorted = Sorted::new(&bytes).ok_or_else(cut_short)?;
        let mut run = RunWriter::create(path, made)?;
        let mut record = Vec::new();
        for delta in sorted.iter() {
            record.clear();
            put_record(&mut record, delta.key, delta.value);
            run.put(&record)?;
        }
        runs.push(run.finish()?);
    }
    Ok(runs)
}

struct RunWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl RunWriter {
    fn create(of: &Path, made: &mut u32) -> Result<Self, PipelineError> {
        let path = of.with_extension(format!("run{made}"));
        *made += 1;
        let file = File::create(&path).map_err(PipelineError::io(&path))?;
        Ok(RunWriter { path, file: BufWriter::with_capacity(1 << 20, file) })
    }

    fn put(&mut self, record: &[u8]) -> Result<(), PipelineError> {
        self.file.write_all(record).map_err(PipelineError::io(&self.path))
    }

    fn finish(mut self) -> Result<PathBuf, PipelineError> {
        self.file.flush().map_err(PipelineError::io(&self.path))?;
        Ok(self.path)
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn sorted_in_pieces_as_in_one() {
        let dir = cairn_testkit::temp_dir();
        let path = dir.path().join("lane.000.spill");
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(5);
        let mut bytes = Vec::new();
        for _ in 0..30_000 {
            // Few keys, so that many records share one.
            let key = [7, rng.random_range(0..3), rng.random_range(0..40)];
            let value: Vec<u8> = (0..rng.random_range(0..30)).map(|_| rng.random()).collect();
            put_record(&mut bytes, &key, &value);
        }
        std::fs::write(&path, &bytes).unwrap();
        let sorted = Sorted::new(&bytes).unwrap();
        let expected: Vec<_> = sorted.iter().map(|d| (d.key.to_vec(), d.value.to_vec())).collect();
        // The first needs more runs than are merged at a time.
        for memory in [2_000, 20_000, 200_000, 10_000_000] {
            let (mut found, mut pieces) = (Vec::new(), 0);
            let mut last_more = true;
            sort_file(&path, memory, |mut piece, more| {
                assert!(last_more);
                (pieces, last_more) = (pieces + 1, more);
                let mut first = true;
                while let Some((delta, rest)) = take_record(piece) {
                    let before: Option<&(Vec<u8>, Vec<u8>)> = found.last();
                    assert!(!first || before.is_none_or(|(key, _)| *key != delta.key), "a key is torn");
                    found.push((delta.key.to_vec(), delta.value.to_vec()));
                    (piece, first) = (rest, false);
                }
                Ok(())
            })
            .unwrap();
            assert!(!last_more);
            assert!(found == expected, "with {memory} bytes");
            assert!(pieces > 1 || memory > 1_000_000, "{pieces} pieces with {memory} bytes");
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "runs are left over");
        }
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(matches!(sort_file(&path, 2_000, |_, _| Ok(())), Err(PipelineError::Spill { .. })));
    }
}
