//! How far an audit has come, by the bytes of the table files that it has read.

use cairn_model::CancelToken;
use cairn_reader::Reader;
use cairn_tables::{Family, Table};

use crate::{Phase, PipelineError, Progress, ProgressStep, bulk::step};

/// Tables' bytes read so far, of all.
pub(crate) struct Meter<'p> {
    progress: &'p dyn Progress,
    bytes: [u64; Family::ALL.len()],
    total: u64,
    /// Of the files, which are read once more than their rows.
    files: u64,
    before: u64,
    part: u64,
}

impl<'p> Meter<'p> {
    /// Without sizes, all tables count the same.
    pub(crate) fn new(reader: Option<&Reader>, progress: &'p dyn Progress) -> Self {
        // One KiB more for each: a table without files is still a part of the work.
        let bytes = Family::ALL.map(|family| 1 + reader.map_or(0, |reader| reader.family_bytes(family) >> 10));
        let files = if reader.is_some() { bytes.iter().sum() } else { 0 };
        Meter { progress, bytes, total: bytes.iter().sum::<u64>() + files, files, before: 0, part: 0 }
    }

    /// Work on the next tables begins.
    pub(crate) fn begin(&mut self, families: &[Family]) {
        self.before += self.part;
        self.part = families.iter().map(|family| self.bytes[family.index()]).sum();
    }

    /// As [`Meter::begin`], with a table's own family; a table of the shared one is part of that.
    pub(crate) fn begin_table<T: Table>(&mut self) {
        self.begin(if T::TAG.is_some() { &[] } else { &[T::FAMILY] });
    }

    /// Work on the files themselves begins.
    pub(crate) fn begin_files(&mut self) {
        self.before += self.part;
        self.part = self.files;
    }

    pub(crate) fn cancel(&self) -> &CancelToken {
        self.progress.cancel_token()
    }

    /// So much of the tables is read.
    pub(crate) fn at(&self, done: u64, of: u64) -> Result<(), PipelineError> {
        let within = u128::from(self.part) * u128::from(done.min(of)) / u128::from(of.max(1));
        let done = (self.before + within as u64).min(self.total);
        step(self.progress, ProgressStep { phase: Phase::Verify, done, total: self.total, bytes: 0, of_bytes: 0 })
    }
}

/// Where a key lies among all keys of its length, of 2^16.
pub(crate) fn place(key: &[u8]) -> u64 {
    let byte = |at: usize| key.get(at).map_or(0, |b| u64::from(*b));
    byte(0) << 8 | byte(1)
}
