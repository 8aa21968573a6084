//! Files: hashed and copied.

use std::{
    fs::File,
    io::{self, Read, Write},
    path::Path,
};

use cairn_model::CancelToken;
use cairn_store::StoreError;

use crate::{
    CheckpointError,
    cut::{FileHashes, Pieces},
};

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 20;

/// Reads a file to its end, and hashes its pieces. `seen` is called with each chunk.
pub(crate) fn read_all(
    path: &Path,
    cancel: &CancelToken,
    mut seen: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<FileHashes, CheckpointError> {
    let mut file = File::open(path).map_err(CheckpointError::at(path))?;
    let (mut pieces, mut chunk) = (Pieces::default(), vec![0; CHUNK]);
    loop {
        if cancel.is_cancelled() {
            return Err(StoreError::Stopped.into());
        }
        let read = file.read(&mut chunk).map_err(CheckpointError::at(path))?;
        let Some(part) = chunk.get(..read).filter(|part| !part.is_empty()) else { break };
        pieces.more(part);
        seen(part).map_err(CheckpointError::at(path))?;
    }
    Ok(pieces.finish())
}

/// Copies a file, makes the copy durable, and hashes its pieces.
pub(crate) fn copy(
    from: &Path,
    to: &Path,
    cancel: &CancelToken,
    mut seen: impl FnMut(u64),
) -> Result<FileHashes, CheckpointError> {
    let mut file = File::create(to).map_err(CheckpointError::at(to))?;
    let mut failed = None;
    let found = read_all(from, cancel, |part| {
        seen(part.len() as u64);
        file.write_all(part).inspect_err(|error| failed = Some(error.kind()))
    });
    // An error of the disk that is written to names the path there.
    let found = match (found, failed) {
        (Err(CheckpointError::Store(StoreError::File { source, .. })), Some(_)) => Err(CheckpointError::at(to)(source)),
        (found, _) => found,
    }?;
    file.sync_all().map_err(CheckpointError::at(to))?;
    Ok(found)
}
