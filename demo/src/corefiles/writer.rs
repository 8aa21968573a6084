//! Streams records into block and undo files.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use bitcoin::hashes::{Hash, HashEngine, sha256d};
use bitcoin::{BlockHash, Network};

use crate::error::Error;

/// Size at which Bitcoin Core starts the next block file, in bytes.
pub const MAX_FILE_SIZE: u64 = 128 << 20;
/// Core grows the current block file in steps of this size, in bytes.
const BLOCK_CHUNK: u64 = 16 << 20;
/// Core grows the current undo file in steps of this size, in bytes.
const UNDO_CHUNK: u64 = 1 << 20;
const BUFFER: usize = 1 << 20;

/// How the files are written.
#[derive(Clone, Debug)]
pub struct FileOptions {
    /// The four bytes in front of each record.
    pub magic: [u8; 4],
    /// Obfuscation key. Some: `xor.dat` is written (a zero key is normal). None: no `xor.dat`, plain files, as
    /// nodes before version 28 left them.
    pub xor_key: Option<[u8; 8]>,
    /// A record that would reach this file size starts the next file, in bytes.
    pub max_file_size: u64,
    /// Whether the last block and undo file end in preallocated zeros. These are zeros on disk, not obfuscated ones.
    pub preallocate: bool,
    /// Whether undo files are written.
    pub undo: bool,
}

impl FileOptions {
    /// Options of a fresh node of this network, with the given key.
    pub fn new(network: Network, xor_key: [u8; 8]) -> Self {
        Self {
            magic: network.magic().to_bytes(),
            xor_key: Some(xor_key),
            max_file_size: MAX_FILE_SIZE,
            preallocate: false,
            undo: true,
        }
    }
}

/// Start of the payload of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// File number.
    pub file: u32,
    /// Offset of the payload (behind magic and size), in bytes.
    pub offset: u64,
}

/// Writes one folder of block files. Call [`Writer::finish`] at the end; dropping it loses buffered records.
#[derive(Debug)]
pub struct Writer {
    folder: PathBuf,
    options: FileOptions,
    blocks: Obfuscated,
    number: u32,
    /// Length of every undo file begun.
    undo_lengths: BTreeMap<u32, u64>,
    undo: Option<(u32, Obfuscated)>,
}

impl Writer {
    /// Creates the folder if it is missing, and begins `blk00000.dat`, replacing such a file.
    pub fn create(folder: &Path, options: FileOptions) -> Result<Self, Error> {
        std::fs::create_dir_all(folder)?;
        if let Some(key) = options.xor_key {
            std::fs::write(folder.join("xor.dat"), key)?;
        }
        let key = options.xor_key.unwrap_or_default();
        let blocks = Obfuscated::create(&folder.join("blk00000.dat"), key)?;
        Ok(Self { folder: folder.to_owned(), options, blocks, number: 0, undo_lengths: BTreeMap::new(), undo: None })
    }

    /// Goes on with a folder that an earlier writer has finished without preallocated zeros.
    ///
    /// # Errors
    /// Fails if the folder has no block files.
    pub fn resume(folder: &Path, options: FileOptions) -> Result<Self, Error> {
        let named = |kind: &str, number: u32| folder.join(format!("{kind}{number:05}.dat"));
        let mut number = 0;
        while named("blk", number + 1).exists() {
            number += 1;
        }
        let (key, path) = (options.xor_key.unwrap_or_default(), named("blk", number));
        let length = path.metadata()?.len();
        let blocks = Obfuscated::append(&path, key, length)?;
        let mut undo_lengths = BTreeMap::new();
        if let Ok(undo) = named("rev", number).metadata() {
            undo_lengths.insert(number, undo.len());
        }
        Ok(Self { folder: folder.to_owned(), options, blocks, number, undo_lengths, undo: None })
    }

    /// Writes a block, given serialized, and returns where.
    ///
    /// # Errors
    /// Returns [`Error::Parameters`] if the block is longer than 4 GiB.
    pub fn block(&mut self, raw: &[u8]) -> Result<Location, Error> {
        self.make_room(raw.len())?;
        self.record_header(raw.len())?;
        let location = Location { file: self.number, offset: self.blocks.length };
        self.blocks.write(raw)?;
        Ok(location)
    }

    /// Writes a block as a crash leaves it: its magic and full size, but only the first `keep` bytes.
    pub fn half_block(&mut self, raw: &[u8], keep: usize) -> Result<(), Error> {
        self.make_room(raw.len())?;
        self.record_header(raw.len())?;
        self.blocks.write(&raw[..keep.min(raw.len())])
    }

    /// Writes bytes without any frame into the current block file, such as the tail of an overwritten record.
    pub fn stray(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.blocks.write(bytes)
    }

    /// Writes the undo record of a block that is in block file `file`; `undo` is the serialized CBlockUndo and
    /// `previous` the hash of the parent block, which the checksum covers. Returns where, or none if the options
    /// leave undo files out.
    ///
    /// # Errors
    /// Returns [`Error::Parameters`] if the record is longer than 4 GiB.
    pub fn undo(&mut self, file: u32, previous: &BlockHash, undo: &[u8]) -> Result<Option<Location>, Error> {
        if !self.options.undo {
            return Ok(None);
        }
        let magic = self.options.magic;
        let out = self.undo_file(file)?;
        out.write(&magic)?;
        out.write(&size_field(undo.len())?)?;
        let location = Location { file, offset: out.length };
        out.write(undo)?;
        let mut engine = sha256d::Hash::engine();
        engine.input(previous.as_byte_array());
        engine.input(undo);
        out.write(sha256d::Hash::from_engine(engine).as_byte_array())?;
        let length = out.length;
        self.undo_lengths.insert(file, length);
        Ok(Some(location))
    }

    /// Writes an undo record as a crash leaves it: its magic and full size, but only the first `keep` bytes.
    pub fn half_undo(&mut self, file: u32, undo: &[u8], keep: usize) -> Result<(), Error> {
        if self.options.undo {
            let magic = self.options.magic;
            let out = self.undo_file(file)?;
            out.write(&magic)?;
            out.write(&size_field(undo.len())?)?;
            out.write(&undo[..keep.min(undo.len())])?;
            let length = out.length;
            self.undo_lengths.insert(file, length);
        }
        Ok(())
    }

    /// Number of the current block file.
    pub fn file(&self) -> u32 {
        self.number
    }

    /// Hands all written bytes to the system, so that others can read them.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.blocks.flush()?;
        if let Some((_, undo)) = &mut self.undo {
            undo.flush()?;
        }
        Ok(())
    }

    /// Flushes everything to the operating system and ends.
    pub fn finish(mut self) -> Result<(), Error> {
        self.flush()?;
        if self.options.preallocate {
            grow(&self.path("blk", self.number), BLOCK_CHUNK)?;
            if self.undo_lengths.contains_key(&self.number) {
                grow(&self.path("rev", self.number), UNDO_CHUNK)?;
            }
        }
        Ok(())
    }

    fn path(&self, kind: &str, number: u32) -> PathBuf {
        self.folder.join(format!("{kind}{number:05}.dat"))
    }

    fn make_room(&mut self, payload: usize) -> Result<(), Error> {
        let length = self.blocks.length;
        if length > 0 && length + payload as u64 + 8 >= self.options.max_file_size {
            self.blocks.flush()?;
            self.number += 1;
            self.blocks = Obfuscated::create(&self.path("blk", self.number), self.blocks.key)?;
        }
        Ok(())
    }

    fn record_header(&mut self, payload: usize) -> Result<(), Error> {
        self.blocks.write(&self.options.magic)?;
        self.blocks.write(&size_field(payload)?)
    }

    fn undo_file(&mut self, file: u32) -> Result<&mut Obfuscated, Error> {
        if let Some((number, mut other)) = self.undo.take_if(|(number, _)| *number != file) {
            other.flush()?;
            self.undo_lengths.insert(number, other.length);
        }
        let path = self.path("rev", file);
        let entry = match self.undo.take() {
            Some(open) => open,
            None => (
                file,
                match self.undo_lengths.get(&file) {
                    Some(&length) => Obfuscated::append(&path, self.blocks.key, length)?,
                    None => Obfuscated::create(&path, self.blocks.key)?,
                },
            ),
        };
        Ok(&mut self.undo.insert(entry).1)
    }
}

/// The size field of a record.
fn size_field(payload: usize) -> Result<[u8; 4], Error> {
    let size = u32::try_from(payload).map_err(|_| Error::Parameters("a record exceeds 4 GiB"))?;
    Ok(size.to_le_bytes())
}

/// Extends a file by zeros to a multiple of `chunk`.
fn grow(path: &Path, chunk: u64) -> Result<(), Error> {
    let file = OpenOptions::new().write(true).open(path)?;
    let length = file.metadata()?.len();
    file.set_len(length.div_ceil(chunk) * chunk)?;
    Ok(())
}

/// A file whose bytes are XORed with the key by their absolute offset.
#[derive(Debug)]
struct Obfuscated {
    out: BufWriter<File>,
    key: [u8; 8],
    length: u64,
    scratch: Vec<u8>,
}

impl Obfuscated {
    fn create(path: &Path, key: [u8; 8]) -> Result<Self, Error> {
        Ok(Self::new(File::create(path)?, key, 0))
    }

    fn append(path: &Path, key: [u8; 8], length: u64) -> Result<Self, Error> {
        Ok(Self::new(OpenOptions::new().append(true).open(path)?, key, length))
    }

    fn new(file: File, key: [u8; 8], length: u64) -> Self {
        Self { out: BufWriter::with_capacity(BUFFER, file), key, length, scratch: Vec::new() }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.key == [0; 8] {
            self.out.write_all(bytes)?;
        } else {
            // The key turned so that it starts at this offset, applied eight bytes at a time.
            let turned: [u8; 8] = std::array::from_fn(|index| self.key[(self.length as usize + index) % 8]);
            let word = u64::from_ne_bytes(turned);
            self.scratch.clear();
            self.scratch.extend_from_slice(bytes);
            let (words, rest) = self.scratch.as_chunks_mut::<8>();
            for chunk in words {
                *chunk = (u64::from_ne_bytes(*chunk) ^ word).to_ne_bytes();
            }
            for (byte, key) in rest.iter_mut().zip(turned) {
                *byte ^= key;
            }
            self.out.write_all(&self.scratch)?;
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        Ok(self.out.flush()?)
    }
}
