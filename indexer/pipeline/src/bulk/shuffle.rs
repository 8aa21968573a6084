//! Deltas that come of one partition and belong to others: each partition's work writes files of its own, with a part
//! for each partition that they belong to.
//!
//! ```text
//! NAME.from000.000.spill   length of each part (8, little-endian) │ parts: records
//! ```
//!
//! Deltas that do not fit in memory make several files, in rounds.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use cairn_writer::WriteError;

use super::{Plan, spill::remove};
use crate::{PipelineError, records::put_record};

/// Deltas that one partition's work emits into a lane.
pub(crate) struct Shuffle {
    dir: PathBuf,
    name: String,
    from: usize,
    round: usize,
    /// Bytes that are held at most.
    most: u64,
    bytes: u64,
    parts: Vec<Vec<u8>>,
}

fn path(dir: &Path, name: &str, from: usize, round: usize) -> PathBuf {
    dir.join(format!("{name}.from{from:03}.{round:03}.spill"))
}

/// The files that one partition's work has written.
fn files<'p>(dir: &'p Path, name: &'p str, from: usize) -> impl Iterator<Item = PathBuf> + 'p {
    (0..).map(move |round| path(dir, name, from, round)).take_while(|path| path.exists())
}

impl Shuffle {
    /// Files of an earlier try are removed.
    pub(crate) fn begin(dir: &Path, name: &str, from: usize, plan: &Plan) -> Result<Self, PipelineError> {
        remove_of(dir, name, from)?;
        Ok(Shuffle {
            dir: dir.to_owned(),
            name: name.to_owned(),
            from,
            round: 0,
            most: plan.sizes.buffer_bytes,
            bytes: 0,
            parts: vec![Vec::new(); plan.partitions],
        })
    }

    pub(crate) fn put(&mut self, partition: usize, key: &[u8], value: &[u8]) -> Result<(), WriteError> {
        let part = &mut self.parts[partition];
        let before = part.len();
        put_record(part, key, value);
        self.bytes += (part.len() - before) as u64;
        if self.bytes > self.most { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), WriteError> {
        let path = path(&self.dir, &self.name, self.from, self.round);
        let write = || {
            let mut file = File::create(&path)?;
            let lengths: Vec<u8> = self.parts.iter().flat_map(|part| (part.len() as u64).to_le_bytes()).collect();
            file.write_all(&lengths)?;
            self.parts.iter().try_for_each(|part| file.write_all(part))?;
            file.sync_data()
        };
        write().map_err(WriteError::io(&path))?;
        self.parts.iter_mut().for_each(Vec::clear);
        (self.bytes, self.round) = (0, self.round + 1);
        Ok(())
    }

    /// Everything is durable afterwards.
    pub(crate) fn finish(mut self) -> Result<(), WriteError> {
        if self.bytes > 0 { self.write() } else { Ok(()) }
    }
}

/// Shows all parts that belong to a partition, and first how many bytes they have together.
pub(crate) fn gather(
    dir: &Path,
    name: &str,
    plan: &Plan,
    partition: usize,
    begin: impl FnOnce(u64) -> Result<(), PipelineError>,
    mut show: impl FnMut(&[u8]) -> Result<(), PipelineError>,
) -> Result<(), PipelineError> {
    let mut parts = Vec::new();
    for path in (0..plan.partitions).flat_map(|from| files(dir, name, from)) {
        let read = || {
            let mut file = File::open(&path)?;
            let mut lengths = vec![0; plan.partitions * 8];
            file.read_exact(&mut lengths)?;
            let whole = file.metadata()?.len();
            Ok((lengths, whole))
        };
        let (lengths, whole) = read().map_err(PipelineError::io(&path))?;
        let length = |part: &[u8]| part.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let lengths: Vec<u64> = lengths.chunks(8).map(length).collect();
        let header = plan.partitions as u64 * 8;
        if lengths.iter().fold(header, |sum, length| sum.saturating_add(*length)) != whole {
            return Err(PipelineError::Spill { path, what: "a part ends early" });
        }
        let at = header + lengths[..partition].iter().sum::<u64>();
        if lengths[partition] > 0 {
            parts.push((path, at, lengths[partition]));
        }
    }
    begin(parts.iter().map(|(_, _, length)| length).sum())?;
    for (path, at, length) in parts {
        let read = || {
            let mut file = File::open(&path)?;
            file.seek(SeekFrom::Start(at))?;
            let mut bytes = vec![0; length as usize];
            file.read_exact(&mut bytes)?;
            Ok(bytes)
        };
        show(&read().map_err(PipelineError::io(&path))?)?;
    }
    Ok(())
}

fn remove_of(dir: &Path, name: &str, from: usize) -> Result<(), PipelineError> {
    let files: Vec<PathBuf> = files(dir, name, from).collect();
    // The last first: a search for them stops at the first gap.
    files.iter().rev().try_for_each(|path| remove(path))
}

/// Removes all files of a lane.
pub(crate) fn remove_all(dir: &Path, name: &str, partitions: usize) -> Result<(), PipelineError> {
    (0..partitions).try_for_each(|from| remove_of(dir, name, from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BulkSizes, records::take_record};

    #[test]
    fn parts_come_together_whatever_the_rounds() {
        for buffer_bytes in [1, 100, 1 << 20] {
            let dir = cairn_testkit::temp_dir();
            let plan = Plan { sizes: BulkSizes { buffer_bytes, ..BulkSizes::default() }, partitions: 3, tx_end: 90 };
            // An earlier try left more rounds than this one makes.
            for round in 0..200 {
                std::fs::write(path(dir.path(), "lane", 1, round), "old").unwrap();
            }
            for from in 0..3 {
                let mut shuffle = Shuffle::begin(dir.path(), "lane", from, &plan).unwrap();
                for number in 0..50u8 {
                    shuffle.put(usize::from(number) % 3, &[number], &[from as u8; 2]).unwrap();
                }
                shuffle.finish().unwrap();
            }
            for partition in 0..3 {
                let (mut found, mut expected, mut announced) = (Vec::new(), Vec::new(), 0);
                let mut bytes = 0;
                gather(
                    dir.path(),
                    "lane",
                    &plan,
                    partition,
                    |bytes| {
                        announced = bytes;
                        Ok(())
                    },
                    |mut part| {
                        bytes += part.len() as u64;
                        while let Some((delta, rest)) = take_record(part) {
                            found.push((delta.value[0], delta.key[0]));
                            part = rest;
                        }
                        Ok(())
                    },
                )
                .unwrap();
                for from in 0..3u8 {
                    expected.extend((0..50).filter(|n| n % 3 == partition as u8).map(|n| (from, n)));
                }
                assert_eq!(found, expected);
                assert_eq!(bytes, announced);
            }
            let cut = path(dir.path(), "lane", 2, 0);
            let bytes = std::fs::read(&cut).unwrap();
            std::fs::write(&cut, &bytes[..bytes.len() - 1]).unwrap();
            let damaged = gather(dir.path(), "lane", &plan, 0, |_| Ok(()), |_| Ok(()));
            assert!(matches!(damaged, Err(PipelineError::Spill { .. })));
            remove_all(dir.path(), "lane", 3).unwrap();
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        }
    }
}
