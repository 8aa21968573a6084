//! A folder of block files: its files, its XOR key and its network.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use bitcoin::{blockdata::constants::genesis_block, hashes::Hash};
use cairn_model::{BlockHash, ChainParams, Network};

use crate::{
    block_ref::BlockRef,
    decode::{Decoded, decode_block},
    error::SourceError,
    hash::sha256d,
    notes::IdNotes,
    raw_file::{RawFile, XorKey},
    undo::{Undo, UndoError, decode_undo},
};

/// Bitcoin Core's `blocks` folder, opened for reading. It keeps no file open and can be shared between threads.
#[derive(Debug)]
pub struct BlockFiles {
    dir: PathBuf,
    chain: ChainParams,
    key: XorKey,
    genesis: BlockHash,
    unusable_undo: AtomicU64,
    survey_memory: u64,
}

cairn_model::words! {
    /// The two kinds of numbered files.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum Kind {
        Block = "blk",
        Undo = "rev",
    }
    fn prefix;
}

impl BlockFiles {
    /// Opens a folder: reads `xor.dat` (absent means no key) and checks the first record.
    ///
    /// # Errors
    /// Fails if the folder is missing, unreadable or has no block; if its first record is of another network or under
    /// another key; or if the first files are missing (pruned).
    pub fn open(dir: &Path, chain: impl Into<ChainParams>) -> Result<Self, SourceError> {
        let (key, chain) = (read_xor_key(dir)?, chain.into());
        let genesis = BlockHash(genesis_block(chain.network().to_bitcoin()).block_hash().to_byte_array());
        let files = BlockFiles {
            dir: dir.to_owned(),
            chain,
            key,
            genesis,
            unusable_undo: AtomicU64::new(0),
            survey_memory: u64::MAX,
        };
        let numbers = files.list(Kind::Block)?;
        match numbers.first() {
            Some(0) => {}
            _ if fs::symlink_metadata(files.block_path(0)).is_ok() => {
                let path = files.block_path(0);
                let dangling = fs::metadata(&path).is_err();
                return Err(SourceError::FirstFileUnusable { path, dangling });
            }
            None => return Err(SourceError::FolderEmpty { path: dir.to_owned() }),
            Some(first) => return Err(SourceError::Pruned { path: dir.to_owned(), first_file: *first }),
        }
        files.check_first_record(&numbers)?;
        Ok(files)
    }

    /// Limits the memory of surveys, in bytes. If there are more blocks, a survey fails with their number.
    #[must_use]
    pub fn with_survey_memory(self, bytes: u64) -> Self {
        BlockFiles { survey_memory: bytes, ..self }
    }

    pub(crate) fn survey_memory(&self) -> u64 {
        self.survey_memory
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The network that it was opened for.
    #[must_use]
    pub fn network(&self) -> Network {
        self.chain.network()
    }

    /// The bytes that begin every record.
    pub(crate) fn magic(&self) -> [u8; 4] {
        self.chain.magic()
    }

    /// The key of `xor.dat`; zeros if there is none.
    #[must_use]
    pub fn xor_key(&self) -> [u8; 8] {
        self.key.0
    }

    /// Hash of the network's genesis block.
    #[must_use]
    pub fn genesis(&self) -> BlockHash {
        self.genesis
    }

    /// How often [`BlockFiles::read_undo`] read undo data without birth heights, from a very old node, since the folder
    /// was opened.
    #[must_use]
    pub fn unusable_undo(&self) -> u64 {
        self.unusable_undo.load(Ordering::Relaxed)
    }

    /// Path of a block file.
    #[must_use]
    pub fn block_path(&self, file: u32) -> PathBuf {
        self.path(Kind::Block, file)
    }

    /// Path of an undo file.
    #[must_use]
    pub fn undo_path(&self, file: u32) -> PathBuf {
        self.path(Kind::Undo, file)
    }

    fn read_bytes(&self, block: &BlockRef, buf: &mut Vec<u8>) -> Result<(), SourceError> {
        RawFile::open(&self.block_path(block.file), self.key)?.read(block.offset, block.size as usize, buf)
    }

    fn check_hash(&self, block: &BlockRef, raw: &[u8]) -> Result<(), SourceError> {
        let is_block = raw.get(..80).is_some_and(|header| sha256d(&[header]) == block.hash.0);
        if raw.len() == block.size as usize && is_block { Ok(()) } else { Err(self.changed(block)) }
    }

    fn changed(&self, block: &BlockRef) -> SourceError {
        let (offset, hash, height) = (block.offset, block.hash, block.height);
        SourceError::BlockChanged { path: self.block_path(block.file), offset, hash, height }
    }

    /// Reads and decodes a block; `buf` receives its raw bytes. `prefix_len` as in [`decode_block`]. It reads by
    /// position, so any number of threads may call it at once.
    ///
    /// # Errors
    /// Fails if the file no longer contains that block, or if the block does not decode: then with file and offset.
    pub fn read_decoded(&self, block: &BlockRef, prefix_len: usize, buf: &mut Vec<u8>) -> Result<Decoded, SourceError> {
        self.read_bytes(block, buf)?;
        self.decode(block, prefix_len, buf)
    }

    /// As [`BlockFiles::read_decoded`], with the ids from a note of the block. If the bytes no longer match the note,
    /// they are decoded and checked without it.
    pub fn read_noted(
        &self,
        block: &BlockRef,
        (notes, note): (&IdNotes, &[u8]),
        prefix_len: usize,
        buf: &mut Vec<u8>,
    ) -> Result<Decoded, SourceError> {
        self.read_bytes(block, buf)?;
        match notes.decode(buf, note, block.tx_count) {
            Some(decoded) if decoded.hash == block.hash => Ok(decoded),
            _ => self.decode(block, prefix_len, buf),
        }
    }

    fn decode(&self, block: &BlockRef, prefix_len: usize, raw: &[u8]) -> Result<Decoded, SourceError> {
        self.check_hash(block, raw)?;
        let decoded = decode_block(raw, prefix_len).map_err(|reason| SourceError::CorruptBlock {
            path: self.block_path(block.file),
            offset: block.offset,
            hash: block.hash,
            height: block.height,
            reason,
        })?;
        if decoded.txs.len() == block.tx_count as usize { Ok(decoded) } else { Err(self.changed(block)) }
    }

    /// Reads the coins that a block spent; `buf` is used for the raw bytes. `None` if there is no undo record, or if it
    /// lacks birth heights (counted in [`BlockFiles::unusable_undo`]). Genesis has none and needs none.
    ///
    /// The checksum binds the coins to the block's parent; their counts are compared with `decoded`. A sibling of the
    /// block with the same counts would pass, so a caller that knows the spent coins must also compare their scripts.
    ///
    /// # Errors
    /// Fails with file and offset if the record is damaged.
    pub fn read_undo(
        &self,
        block: &BlockRef,
        decoded: &Decoded,
        buf: &mut Vec<u8>,
    ) -> Result<Option<Undo>, SourceError> {
        let Some(place) = block.undo else { return Ok(None) };
        let path = self.undo_path(block.file);
        RawFile::open(&path, self.key)?.read(place.offset, place.size as usize + 32, buf)?;
        let undo = check_undo(buf, place.size as usize, &block.previous)
            .and_then(|undo| if undo.fits(decoded) { Ok(undo) } else { Err(UndoError::ShapeMismatch) })
            .and_then(|undo| match undo.coins.iter().all(|c| c.birth <= block.height) {
                true => Ok(undo),
                false => Err(UndoError::BadHeight),
            })
            .map_err(|reason| SourceError::CorruptUndo {
                path,
                offset: place.offset,
                hash: block.hash,
                height: block.height,
                reason,
            })?;
        if !undo.heights_known() {
            self.unusable_undo.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        }
        Ok(Some(undo))
    }

    pub(crate) fn open_raw(&self, kind: Kind, file: u32) -> Result<RawFile, SourceError> {
        RawFile::open(&self.path(kind, file), self.key)
    }

    pub(crate) fn path(&self, kind: Kind, file: u32) -> PathBuf {
        self.dir.join(format!("{}{file:05}.dat", kind.prefix()))
    }

    /// Numbers of the files of one kind, ascending. Only regular files under Bitcoin Core's names count; everything
    /// else in the folder is ignored.
    pub(crate) fn list(&self, kind: Kind) -> Result<Vec<u32>, SourceError> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(SourceError::io(&self.dir))? {
            let entry = entry.map_err(SourceError::io(&self.dir))?;
            let name = entry.file_name();
            let Some(number) = name.to_str().and_then(|n| number_of(n, kind.prefix())) else { continue };
            // Node operators link old files to other disks, so links to regular files count; links to anything else,
            // pipes and devices do not.
            match fs::metadata(entry.path()) {
                Ok(meta) if meta.is_file() => numbers.push(number),
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(looked_up(&self.dir, entry.path(), e)),
            }
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn check_first_record(&self, numbers: &[u32]) -> Result<(), SourceError> {
        for number in numbers {
            let path = self.block_path(*number);
            let mut file = RawFile::open(&path, self.key)?;
            // Allocated but never written, or shorter than any record.
            if file.len() < 88 || file.is_unwritten(0)? {
                continue;
            }
            let (head, _) = file.head::<88>(0)?;
            return self.check_head(&head, path);
        }
        Err(SourceError::FolderEmpty { path: self.dir.clone() })
    }

    fn check_head(&self, head: &[u8; 88], path: PathBuf) -> Result<(), SourceError> {
        let magic = [head[0], head[1], head[2], head[3]];
        let expected = self.chain;
        if magic == expected.magic() {
            return Ok(());
        }
        if let Some(found) = Network::ALL.into_iter().find(|n| n.magic() == magic) {
            return Err(SourceError::WrongNetwork { path, expected, found });
        }
        // The genesis block is that of signet for every challenge.
        let genesis = genesis_block(Network::Signet.to_bitcoin());
        if head[8..] == bitcoin::consensus::serialize(&genesis.header) {
            return Err(SourceError::OtherSignet { path, magic, expected });
        }
        // The first record is genesis, so its magic and size reveal the key.
        let known = Network::ALL.into_iter().map(ChainParams::from);
        for chain in known.chain([expected]) {
            let genesis = bitcoin::consensus::serialize(&genesis_block(chain.network().to_bitcoin()));
            let mut start = [0u8; 8];
            start[..4].copy_from_slice(&chain.magic());
            start[4..].copy_from_slice(&(genesis.len() as u32).to_le_bytes());
            let mut plain = *head;
            self.key.apply(&mut plain, 0);
            let mut key = [0u8; 8];
            for i in 0..8 {
                key[i] = plain[i] ^ start[i];
            }
            XorKey(key).apply(&mut plain, 0);
            if plain[8..] == genesis[..80] {
                return Err(SourceError::WrongXorKey { path, key });
            }
        }
        Err(SourceError::UnknownMagic { path, magic })
    }
}

/// Decodes `size` bytes of undo data after comparing the checksum that follows them.
pub(crate) fn check_undo(bytes: &[u8], size: usize, previous: &BlockHash) -> Result<Undo, UndoError> {
    let (Some(data), Some(checksum)) = (bytes.get(..size), bytes.get(size..size + 32)) else {
        return Err(UndoError::ChecksumMismatch);
    };
    if sha256d(&[&previous.0, data]) != *checksum {
        return Err(UndoError::ChecksumMismatch);
    }
    decode_undo(data)
}

fn read_xor_key(dir: &Path) -> Result<XorKey, SourceError> {
    match fs::metadata(dir) {
        Ok(meta) if meta.is_dir() => {}
        Ok(_) => return Err(SourceError::io(dir)(io::ErrorKind::NotADirectory.into())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(SourceError::FolderMissing { path: dir.to_owned() });
        }
        Err(e) => return Err(SourceError::io(dir)(e)),
    }
    let path = dir.join("xor.dat");
    let len = match fs::metadata(&path) {
        Ok(meta) => meta.len(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(XorKey::default()),
        Err(e) => return Err(looked_up(dir, path, e)),
    };
    if len != 8 {
        return Err(SourceError::BadXorKey { path, len });
    }
    let bytes = fs::read(&path).map_err(SourceError::io(&path))?;
    let key = bytes.try_into().map_err(|b: Vec<u8>| SourceError::BadXorKey { path, len: b.len() as u64 })?;
    Ok(XorKey(key))
}

/// The error of looking up a file in the folder. Looking up needs a permission of the folder, not of the file.
fn looked_up(dir: &Path, path: PathBuf, error: io::Error) -> SourceError {
    let denied = error.kind() == io::ErrorKind::PermissionDenied;
    SourceError::io(if denied { dir.to_owned() } else { path })(error)
}

/// The number in `<prefix>00042.dat`; only names in Bitcoin Core's form count.
fn number_of(name: &str, prefix: &str) -> Option<u32> {
    let digits = name.strip_prefix(prefix)?.strip_suffix(".dat")?;
    let number: u32 = digits.parse().ok()?;
    (format!("{number:05}") == digits).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_denies_is_named_itself() {
        let (dir, file) = (Path::new("blocks"), PathBuf::from("blocks/xor.dat"));
        let named = |kind: io::ErrorKind| looked_up(dir, file.clone(), kind.into()).to_string();
        assert_eq!(named(io::ErrorKind::PermissionDenied), "blocks: permission denied");
        assert!(named(io::ErrorKind::TimedOut).starts_with("blocks/xor.dat: "));
    }

    #[test]
    fn only_cores_names_count() {
        assert_eq!(number_of("blk00000.dat", "blk"), Some(0));
        assert_eq!(number_of("blk123456.dat", "blk"), Some(123_456));
        for other in ["blk0.dat", "blk000001.dat", "blk+0001.dat", "rev00001.dat", "blk00001.dat.bak", "blk.dat", "é"]
        {
            assert_eq!(number_of(other, "blk"), None, "{other}");
        }
    }
}
