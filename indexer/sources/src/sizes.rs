//! Sizes of the files of a folder, and samples of its blocks, without a survey.

use std::{fs, io};

use crate::{
    decode::MAX_BLOCK_SIZE,
    error::SourceError,
    folder::{BlockFiles, Kind},
};

/// Bytes before a block: magic and size.
const PREFIX: u64 = 8;
/// A node writes to few files at a time; older files have their final length.
const OPEN_FILES: usize = 2;

/// Sizes of the block files and undo files of a folder.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FolderSizes {
    /// Number of block files.
    pub block_files: u64,
    /// Bytes of the block files without `unwritten_bytes`.
    pub block_bytes: u64,
    /// Bytes at the end of the newest block files that the node has allocated and not written.
    pub unwritten_bytes: u64,
    /// Number of undo files.
    pub undo_files: u64,
    /// Bytes of the undo files.
    pub undo_bytes: u64,
}

impl BlockFiles {
    /// Numbers of the block files, ascending.
    pub fn block_numbers(&self) -> Result<Vec<u32>, SourceError> {
        self.list(Kind::Block)
    }

    /// Adds up the sizes of the files. Reads the lengths of all files, and the records of the two newest block files.
    pub fn sizes(&self) -> Result<FolderSizes, SourceError> {
        let (blocks, undo) = (self.list(Kind::Block)?, self.list(Kind::Undo)?);
        let mut sizes = FolderSizes { block_files: blocks.len() as u64, ..FolderSizes::default() };
        for (at, number) in blocks.iter().enumerate() {
            let length = self.length(Kind::Block, *number)?;
            let is_open = at + OPEN_FILES >= blocks.len();
            let written = if is_open { self.written(*number)?.min(length) } else { length };
            sizes.block_bytes += written;
            sizes.unwritten_bytes += length - written;
        }
        sizes.undo_files = undo.len() as u64;
        for number in undo {
            sizes.undo_bytes += self.length(Kind::Undo, number)?;
        }
        Ok(sizes)
    }

    /// Length of a file in bytes; 0 if it was removed meanwhile.
    fn length(&self, kind: Kind, number: u32) -> Result<u64, SourceError> {
        let path = self.path(kind, number);
        match fs::metadata(&path) {
            Ok(meta) => Ok(meta.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(SourceError::io(&path)(error)),
        }
    }

    /// Bytes of a block file up to the end of its last record; its whole length if something else is in it.
    fn written(&self, number: u32) -> Result<u64, SourceError> {
        let mut file = self.open_raw(Kind::Block, number)?;
        let mut at = 0;
        while at < file.len() {
            if file.is_unwritten(at)? {
                return Ok(at);
            }
            let (head, got) = file.head::<{ PREFIX as usize }>(at)?;
            match size_of_record(&head, got, self.magic()) {
                Some(size) => at += PREFIX + u64::from(size),
                None => return Ok(file.len()),
            }
        }
        Ok(file.len())
    }

    /// Passes the raw blocks at the start of a block file to `visit` until they have `max_bytes` bytes together or the
    /// file has no further record. Blocks of all branches are passed; nothing but their size is checked.
    pub fn sample(&self, number: u32, max_bytes: u64, visit: &mut dyn FnMut(&[u8])) -> Result<(), SourceError> {
        let mut file = self.open_raw(Kind::Block, number)?;
        let (mut at, mut done, mut block) = (0, 0, Vec::new());
        while done < max_bytes && !file.is_unwritten(at)? {
            let (head, got) = file.head::<{ PREFIX as usize }>(at)?;
            let Some(size) = size_of_record(&head, got, self.magic()) else { break };
            file.read(at + PREFIX, size as usize, &mut block)?;
            if block.len() < size as usize {
                break;
            }
            visit(&block);
            at += PREFIX + u64::from(size);
            done += u64::from(size);
        }
        Ok(())
    }
}

/// The size of a block by the bytes before it; `None` if they are not magic and a possible size.
fn size_of_record(head: &[u8; PREFIX as usize], got: usize, magic: [u8; 4]) -> Option<u32> {
    let size = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
    let is_record = got == head.len() && head[..4] == magic && size <= MAX_BLOCK_SIZE && size > 0;
    is_record.then_some(size)
}
