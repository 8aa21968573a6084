//! Files as pieces. A piece is an object that is named by its hash: what a store has already is not sent again.

use std::{
    fs::File,
    io::{Read, Write},
    path::Path,
};

use cairn_model::CancelToken;
use cairn_store::{PIECE, Store};
use sha2::{Digest, Sha256};

use crate::{CheckpointError, FileEntry, hashes::Known};

/// Where pieces are in a store.
pub(crate) const PIECES: &str = "pieces";

/// Name of the object of a piece. No folder gets too many.
pub(crate) fn name_of(sha256: &str) -> String {
    format!("{PIECES}/{}/{sha256}", sha256.get(..2).unwrap_or_default())
}

/// The hash in the name of an object, if it is a piece.
pub(crate) fn hash_in(name: &str) -> Option<&str> {
    name.strip_prefix(PIECES)?.rsplit('/').next().filter(|hash| hash.len() == 64)
}

/// Reads a file piece by piece, and hashes it; `with` gets each piece and its hash.
pub(crate) fn cut(
    path: &Path,
    cancel: &CancelToken,
    mut with: impl FnMut(Vec<u8>, &str) -> Result<(), CheckpointError>,
) -> Result<Known, CheckpointError> {
    let mut file = File::open(path).map_err(CheckpointError::at(path))?;
    let (mut whole, mut pieces) = (Sha256::new(), Vec::new());
    loop {
        if cancel.is_cancelled() {
            return Err(CheckpointError::Stopped);
        }
        let mut piece = Vec::new();
        Read::take(&mut file, PIECE as u64).read_to_end(&mut piece).map_err(CheckpointError::at(path))?;
        // An empty file has one piece, too.
        if piece.is_empty() && !pieces.is_empty() {
            break;
        }
        whole.update(&piece);
        let hash = hex::encode(Sha256::digest(&piece));
        let is_last = piece.len() < PIECE;
        with(piece, &hash)?;
        pieces.push(hash);
        if is_last {
            break;
        }
    }
    Ok(Known { sha256: hex::encode(whole.finalize()), pieces })
}

/// Reads the pieces of a file of a checkpoint in order, compares each, and gives it to `with`.
pub(crate) fn each(
    store: &Store,
    file: &FileEntry,
    mut with: impl FnMut(&[u8]) -> Result<(), CheckpointError>,
) -> Result<(), CheckpointError> {
    let damaged = |hash: &str, what: String| CheckpointError::Damaged { place: store.shown(&name_of(hash)), what };
    let (mut whole, mut bytes) = (Sha256::new(), 0);
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
        whole.update(&piece);
        bytes += piece.len() as u64;
        with(&piece)?;
    }
    let sha256 = hex::encode(whole.finalize());
    if (bytes, &sha256) != (file.bytes, &file.sha256) {
        let what = format!(
            "its pieces have {bytes} bytes and SHA-256 {sha256}, the manifest says {} and {}",
            file.bytes, file.sha256
        );
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
