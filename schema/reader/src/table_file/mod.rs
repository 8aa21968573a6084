//! Reads a table file from the disk, block by block, and compares every checksum in it.
//!
//! The database checks a block when it reads it, and it reads few: never the filters of a table that is only scanned,
//! and nothing that its cache has. Here the whole file is read, past the caches of database and operating system.

mod format;
mod lz4;

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use cairn_tables::Family;
use rocksdb::LiveFile;

use self::format::{FOOTER, Handle};
use crate::{
    Db, ReadError,
    db::{list_only, readers_families, while_written},
};

/// Bytes that are read at a time, if no block is larger.
const SPAN: u64 = 256 << 10;
/// Largest block that is believed.
const LARGEST_BLOCK: u64 = 256 << 20;

/// A table file of the current state of an index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableFile {
    path: PathBuf,
    family: Family,
    bytes: u64,
    first_key: Option<Vec<u8>>,
}

/// Result of reading a table file.
#[derive(Debug)]
pub enum FileCheck {
    /// Every checksum holds.
    Whole,
    /// There is no such file. The database may have replaced it.
    Gone,
    /// It is damaged: how.
    Damaged(String),
    /// The operating system refuses to read it, which says nothing about its bytes.
    Unreadable(io::Error),
}

/// Why reading a file ended.
enum Ended<E> {
    Found(FileCheck),
    Stopped(E),
}

impl<E> Ended<E> {
    fn damaged(how: impl Into<String>) -> Self {
        Ended::Found(FileCheck::Damaged(how.into()))
    }

    fn io(error: io::Error) -> Self {
        Ended::Found(match (error.kind(), error.raw_os_error()) {
            (io::ErrorKind::NotFound, _) => FileCheck::Gone,
            (io::ErrorKind::UnexpectedEof, _) => FileCheck::Damaged("it ends early".to_owned()),
            // EIO: the disk does not give its bytes.
            (_, Some(5)) => FileCheck::Damaged(error.to_string()),
            _ => FileCheck::Unreadable(error),
        })
    }
}

/// The table files of the index in `dir` as the disk has it now, whatever a process that follows it has seen. Table
/// files may be missing.
pub fn table_files_in(dir: &Path) -> Result<Vec<TableFile>, ReadError> {
    let open = |families: &[Family]| while_written(dir, || list_only(dir, families));
    files_of(&open(&Family::ALL).or_else(|_| open(&readers_families()))?)
}

/// Why an index does not open whose files were read with this error: the files that are missing or cut off. `None` if
/// none is, or if the list of files cannot be read.
#[must_use]
pub fn bad_files(dir: &Path) -> Option<ReadError> {
    let wrong = |file: &TableFile| {
        let (name, table) = (file.name(), file.table());
        match std::fs::metadata(&file.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Some(format!("{name} of table {table} is missing"))
            }
            Ok(meta) if meta.len() != file.bytes => {
                Some(format!("{name} of table {table} has {} bytes instead of {}", meta.len(), file.bytes))
            }
            _ => None,
        }
    };
    let wrong: Vec<String> = table_files_in(dir).ok()?.iter().filter_map(wrong).collect();
    let (first, more) = wrong.split_first()?;
    let more = if more.is_empty() { String::new() } else { format!(", and {} more files like it", more.len()) };
    Some(ReadError::Files(format!("table file {first}{more}")))
}

/// The table files that an open database uses.
pub(crate) fn files_of(db: &Db) -> Result<Vec<TableFile>, ReadError> {
    let of = |file: LiveFile| {
        Some(TableFile {
            path: db.path().join(file.name.trim_start_matches('/')),
            family: Family::ALL.into_iter().find(|family| family.name() == file.column_family_name)?,
            bytes: file.size as u64,
            first_key: file.start_key,
        })
    };
    let mut files: Vec<TableFile> = db.live_files()?.into_iter().filter_map(of).collect();
    files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

impl TableFile {
    /// Its name in the index folder.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The family of its rows.
    #[must_use]
    pub fn family(&self) -> Family {
        self.family
    }

    /// The table that it belongs to: a table with a family of its own has its name. `small` for the family that small
    /// tables share.
    #[must_use]
    pub fn table(&self) -> &'static str {
        self.family.name()
    }

    /// Its length.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads all of it. `read` is called after each part with its bytes, and may take its time or end the reading.
    pub fn check<E>(&self, read: impl FnMut(u64) -> Result<(), E>) -> Result<FileCheck, E> {
        let checked = File::open(&self.path).map_err(Ended::io).and_then(|file| {
            // The cache of the operating system may differ from the disk.
            forget(&file);
            let checked = Reading { file: &file, read, table: self }.all();
            forget(&file);
            checked
        });
        match checked {
            Ok(()) => Ok(FileCheck::Whole),
            Err(Ended::Found(check)) => Ok(check),
            Err(Ended::Stopped(error)) => Err(error),
        }
    }
}

/// Lets the operating system forget a file's bytes. It may not.
#[cfg(target_os = "linux")]
fn forget(file: &File) {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

#[cfg(not(target_os = "linux"))]
fn forget(_: &File) {}

struct Reading<'f, R> {
    file: &'f File,
    read: R,
    table: &'f TableFile,
}

impl<E, R: FnMut(u64) -> Result<(), E>> Reading<'_, R> {
    fn all(mut self) -> Result<(), Ended<E>> {
        let bytes = self.file.metadata().map_err(Ended::io)?.len();
        if bytes != self.table.bytes {
            return Err(Ended::damaged(format!("it has {bytes} bytes, the list of files says {}", self.table.bytes)));
        }
        let end = bytes.checked_sub(FOOTER as u64).ok_or_else(|| Ended::damaged("it ends early"))?;
        let (meta_index, index) = format::footer(&self.bytes(end, FOOTER as u64)?).map_err(Ended::damaged)?;
        let meta = self.parsed(meta_index, end, format::pairs)?;
        let (mut delta, mut parts, mut has_ranges) = (false, false, false);
        let mut filters = Vec::new();
        for (name, value) in &meta {
            let at = format::handle(value).ok_or_else(|| no_index(meta_index))?;
            if name == b"rocksdb.properties" {
                for (name, value) in self.parsed(at, end, format::pairs)? {
                    match name.as_slice() {
                        b"rocksdb.index.value.is.delta.encoded" => delta = value != [0],
                        b"rocksdb.block.based.table.index.type" => parts = value.first() == Some(&2),
                        _ => {}
                    }
                }
            } else {
                has_ranges |= name == b"rocksdb.range_del";
                filters.extend(name.starts_with(b"partitionedfilter.").then_some(at));
                self.blocks(&[at], end)?;
            }
        }
        for list in filters {
            let of_filter = self.parsed(list, end, |content| format::handles(content, delta))?;
            self.blocks(&of_filter, end)?;
        }
        let top = self.parsed(index, end, |content| format::handles(content, delta))?;
        let (lists, data) = if parts { (top, Vec::new()) } else { (Vec::new(), top) };
        let mut first = data.first().copied();
        self.blocks(&data, end)?;
        for list in lists {
            let data = self.parsed(list, end, |content| format::handles(content, delta))?;
            first = first.or(data.first().copied());
            self.blocks(&data, end)?;
        }
        match first {
            // A deleted range may begin before the first row.
            Some(first) if !has_ranges => self.begins_rightly(first, end),
            _ => Ok(()),
        }
    }

    /// A whole file in the place of another one has the wrong rows.
    fn begins_rightly(&mut self, first: Handle, end: u64) -> Result<(), Ended<E>> {
        let key = self.parsed(first, end, format::first_key)?;
        match &self.table.first_key {
            Some(expected) if *expected != key => Err(Ended::damaged("it has the rows of another file")),
            _ => Ok(()),
        }
    }

    /// The checked content of a block.
    fn parsed<T>(&mut self, at: Handle, end: u64, parse: impl Fn(&[u8]) -> Option<T>) -> Result<T, Ended<E>> {
        let block = self.block(at, end)?;
        format::content(&block).and_then(|content| parse(&content)).ok_or_else(|| no_index(at))
    }

    fn block(&mut self, at: Handle, end: u64) -> Result<Vec<u8>, Ended<E>> {
        if at.end() > end || at.size > LARGEST_BLOCK {
            return Err(no_index(at));
        }
        let block = self.bytes(at.offset, at.end() - at.offset)?;
        if format::holds(&block) { Ok(block) } else { Err(wrong(at)) }
    }

    /// Checks blocks, those that lie one behind the other in one read.
    fn blocks(&mut self, at: &[Handle], end: u64) -> Result<(), Ended<E>> {
        let mut from = 0;
        while from < at.len() {
            let (begin, mut to) = (at[from].offset, from + 1);
            while to < at.len() && at[to].offset == at[to - 1].end() && at[to].end() - begin <= SPAN {
                to += 1;
            }
            let few = &at[from..to];
            if to == from + 1 {
                self.block(few[0], end)?;
            } else {
                let last = few[few.len() - 1].end();
                if last > end {
                    return Err(no_index(few[few.len() - 1]));
                }
                let bytes = self.bytes(begin, last - begin)?;
                let of = |at: &Handle| &bytes[(at.offset - begin) as usize..(at.end() - begin) as usize];
                if let Some(bad) = few.iter().find(|at| !format::holds(of(at))) {
                    return Err(wrong(*bad));
                }
            }
            from = to;
        }
        Ok(())
    }

    fn bytes(&mut self, offset: u64, size: u64) -> Result<Vec<u8>, Ended<E>> {
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
        self.file.read_exact_at(&mut bytes, offset).map_err(Ended::io)?;
        (self.read)(size).map_err(Ended::Stopped)?;
        Ok(bytes)
    }
}

fn wrong<E>(at: Handle) -> Ended<E> {
    Ended::damaged(format!("the checksum of its block at byte {} does not hold", at.offset))
}

fn no_index<E>(at: Handle) -> Ended<E> {
    Ended::damaged(format!("its block at byte {} is not what its index needs", at.offset))
}
