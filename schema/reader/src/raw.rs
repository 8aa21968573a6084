//! The raw bytes of blocks, read from Bitcoin Core's block files by position. Only these have scriptSigs and witnesses.

use std::{fs::File, io, os::unix::fs::FileExt, path::PathBuf};

use cairn_model::FilePos;

/// Raw bytes could not be read.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {error}")]
pub struct RawError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

/// A folder of block files.
#[derive(Debug, Clone)]
pub struct RawBlocks {
    dir: PathBuf,
}

impl RawBlocks {
    /// Raw blocks in `dir`. Opens nothing yet.
    #[must_use]
    pub fn new(dir: PathBuf) -> Self {
        RawBlocks { dir }
    }

    /// `len` bytes that begin `skip` bytes into the block at `position`. The caller must check a hash, because the
    /// files may have been replaced.
    pub fn read(&self, position: FilePos, skip: u32, len: usize) -> Result<Vec<u8>, RawError> {
        let path = self.dir.join(format!("blk{:05}.dat", position.file));
        let fail = |error| RawError { path: path.clone(), error };
        let key = self.key()?;
        let offset = position.offset + u64::from(skip);
        let mut bytes = vec![0u8; len];
        File::open(&path).and_then(|f| f.read_exact_at(&mut bytes, offset)).map_err(fail)?;
        for (at, byte) in (offset..).zip(&mut bytes) {
            *byte ^= key[(at % 8) as usize];
        }
        Ok(bytes)
    }

    /// The obfuscation key; read each time, since a node may have rewritten its folder.
    fn key(&self) -> Result<[u8; 8], RawError> {
        let path = self.dir.join("xor.dat");
        match std::fs::read(&path) {
            Ok(bytes) => bytes
                .as_slice()
                .try_into()
                .map_err(|_| RawError { path, error: io::Error::new(io::ErrorKind::InvalidData, "expected 8 bytes") }),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok([0; 8]),
            Err(error) => Err(RawError { path, error }),
        }
    }
}
