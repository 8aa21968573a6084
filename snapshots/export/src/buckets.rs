//! Files of records between two passes over the index: one file for each group of parts.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use parking_lot::Mutex;

use crate::ExportError;

/// Buffer of a file that is being written.
const BUFFER: usize = 32 << 10;

/// Files that threads write records to.
pub(crate) struct Buckets(Vec<(PathBuf, Mutex<BufWriter<File>>)>);

/// Files that are complete.
pub(crate) struct Filled(Vec<PathBuf>);

impl Buckets {
    /// Creates a number of empty files with a common prefix.
    pub(crate) fn create(folder: &Path, name: &str, count: usize) -> Result<Self, ExportError> {
        fs::create_dir_all(folder).map_err(ExportError::at(folder))?;
        let paths = (0..count).map(|at| folder.join(format!("{name}-{at}")));
        let open = |path: PathBuf| {
            let file = File::create(&path).map_err(ExportError::at(&path))?;
            Ok((path, Mutex::new(BufWriter::with_capacity(BUFFER, file))))
        };
        paths.map(open).collect::<Result<_, ExportError>>().map(Buckets)
    }

    pub(crate) fn put(&self, at: usize, record: &[u8]) -> Result<(), ExportError> {
        let (path, file) = self.0.get(at).ok_or(ExportError::Defect("a record of no group"))?;
        file.lock().write_all(record).map_err(ExportError::at(path))
    }

    /// All records are there.
    pub(crate) fn fill(self) -> Result<Filled, ExportError> {
        let close = |(path, file): (PathBuf, Mutex<BufWriter<File>>)| {
            file.into_inner().flush().map_err(ExportError::at(&path))?;
            Ok(path)
        };
        self.0.into_iter().map(close).collect::<Result<_, ExportError>>().map(Filled)
    }
}

impl Filled {
    /// The records of a file, which is gone then.
    pub(crate) fn take(&self, at: usize) -> Result<Vec<u8>, ExportError> {
        let path = self.0.get(at).ok_or(ExportError::Defect("a group without a file"))?;
        let bytes = fs::read(path).map_err(ExportError::at(path))?;
        fs::remove_file(path).map_err(ExportError::at(path))?;
        Ok(bytes)
    }
}

/// Takes a number of bytes from the front.
pub(crate) fn cut<'b>(bytes: &mut &'b [u8], count: usize) -> Result<&'b [u8], ExportError> {
    let (front, rest) = bytes.split_at_checked(count).ok_or(ExportError::Defect("a record is cut short"))?;
    *bytes = rest;
    Ok(front)
}

pub(crate) fn cut_array<const COUNT: usize>(bytes: &mut &[u8]) -> Result<[u8; COUNT], ExportError> {
    let front = cut(bytes, COUNT)?.first_chunk();
    front.copied().ok_or(ExportError::Defect("a record is cut short"))
}
