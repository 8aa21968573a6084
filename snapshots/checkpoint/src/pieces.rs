//! Files as pieces. A piece is an object that is named by its hash: pieces that a store has already are not sent again.

use std::{fs::File, io::Write, path::Path};

use cairn_store::{PIECE, Store};
use sha2::{Digest, Sha256};

use crate::{CheckpointError, FileEntry};

/// Folder of the pieces in a store.
pub(crate) const PIECES: &str = "pieces";

/// Name of the object of a piece. The names are spread over folders, so that none gets too many.
pub(crate) fn name_of(sha256: &str) -> String {
    format!("{PIECES}/{}/{sha256}", sha256.get(..2).unwrap_or_default())
}

/// The hash in the name of an object, if it is a piece.
pub(crate) fn hash_in(name: &str) -> Option<&str> {
    name.strip_prefix(PIECES)?.rsplit('/').next().filter(|hash| hash.len() == 64)
}

/// Reads the pieces of a file of a checkpoint in order, compares each, and gives it to `with`.
pub(crate) fn each(
    store: &Store,
    file: &FileEntry,
    mut with: impl FnMut(&[u8]) -> Result<(), CheckpointError>,
) -> Result<(), CheckpointError> {
    let damaged = |hash: &str, what: String| CheckpointError::Damaged { place: store.shown(&name_of(hash)), what };
    let mut bytes = 0;
    for hash in &file.pieces {
        let found = match store.read(&name_of(hash), PIECE as u64) {
            Err(cairn_store::StoreError::TooLong { bytes, .. }) => {
                return Err(damaged(hash, format!("the piece has {bytes} bytes, at most {PIECE} are possible")));
            }
            found => found?,
        };
        let piece = found.ok_or_else(|| damaged(hash, format!("the piece is not there; {} needs it", file.path)))?;
        let is = hex::encode(Sha256::digest(&piece));
        if is != *hash {
            return Err(damaged(hash, format!("the SHA-256 of its {} bytes is {is}", piece.len())));
        }
        bytes += piece.len() as u64;
        with(&piece)?;
    }
    // The manifest contradicts itself.
    if bytes != file.bytes {
        let what = format!("its pieces have {bytes} bytes, the manifest says {}", file.bytes);
        return Err(CheckpointError::Damaged { place: file.path.clone(), what });
    }
    Ok(())
}

/// Writes a file from its pieces, and makes it durable.
pub(crate) fn join(
    store: &Store,
    file: &FileEntry,
    to: &Path,
    mut seen: impl FnMut(u64),
) -> Result<(), CheckpointError> {
    let mut made = File::create(to).map_err(CheckpointError::at(to))?;
    each(store, file, |piece| {
        made.write_all(piece).map_err(CheckpointError::at(to))?;
        seen(piece.len() as u64);
        Ok(())
    })?;
    made.sync_all().map_err(CheckpointError::at(to))
}
