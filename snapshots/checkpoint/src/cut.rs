//! How files are cut into pieces, and the hashes of these.

use std::{fs::File, io::Read, path::Path};

use cairn_model::CancelToken;
use cairn_store::{PIECE, StoreError};
use sha2::{Digest, Sha256};

use crate::CheckpointError;

/// Number of pieces of a file of this size in bytes.
pub(crate) fn pieces_of(bytes: u64) -> u64 {
    bytes.div_ceil(PIECE as u64).max(1)
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileHashes {
    pub(crate) bytes: u64,
    /// SHA-256 of its pieces, in order.
    pub(crate) pieces: Vec<String>,
}

/// Hashes the pieces of bytes that come in chunks of any size.
#[derive(Default)]
pub(crate) struct Pieces {
    hash: Sha256,
    /// Bytes of the piece that is not complete.
    open: usize,
    bytes: u64,
    pieces: Vec<String>,
}

impl Pieces {
    pub(crate) fn more(&mut self, mut part: &[u8]) {
        while !part.is_empty() {
            let (now, later) = part.split_at(part.len().min(PIECE - self.open));
            self.hash.update(now);
            self.open += now.len();
            self.bytes += now.len() as u64;
            if self.open == PIECE {
                self.end();
            }
            part = later;
        }
    }

    fn end(&mut self) {
        self.pieces.push(hex::encode(self.hash.finalize_reset()));
        self.open = 0;
    }

    pub(crate) fn finish(mut self) -> FileHashes {
        // An empty file has one piece, too.
        if self.open > 0 || self.pieces.is_empty() {
            self.end();
        }
        FileHashes { bytes: self.bytes, pieces: self.pieces }
    }
}

/// Reads a file piece by piece and returns the hashes; `with` gets each piece and its hash.
pub(crate) fn cut(
    path: &Path,
    cancel: &CancelToken,
    mut with: impl FnMut(Vec<u8>, &str) -> Result<(), CheckpointError>,
) -> Result<Vec<String>, CheckpointError> {
    let mut file = File::open(path).map_err(CheckpointError::at(path))?;
    let left = file.metadata().map_err(CheckpointError::at(path))?.len();
    let mut pieces = Vec::new();
    for at in 0..pieces_of(left) {
        if cancel.is_cancelled() {
            return Err(StoreError::Stopped.into());
        }
        let bytes = (left - at * PIECE as u64).min(PIECE as u64);
        let mut piece = vec![0; usize::try_from(bytes).unwrap_or(PIECE)];
        file.read_exact(&mut piece).map_err(CheckpointError::at(path))?;
        let hash = hex::encode(Sha256::digest(&piece));
        with(piece, &hash)?;
        pieces.push(hash);
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn any_division_has_the_hashes_of_the_pieces(
            bytes in prop_oneof![Just(0), Just(PIECE - 1), Just(PIECE), Just(PIECE + 1), Just(2 * PIECE), 0..2 * PIECE],
            chunk in prop_oneof![Just(PIECE), Just(2 * PIECE), 1_000_000..3_000_000usize],
            seed in any::<u8>(),
        ) {
            let whole: Vec<u8> = (0..bytes).map(|at| (at >> 8) as u8 ^ seed).collect();
            let mut pieces = Pieces::default();
            whole.chunks(chunk).for_each(|part| pieces.more(part));
            let mut expected: Vec<String> = whole.chunks(PIECE).map(|piece| hex::encode(Sha256::digest(piece))).collect();
            if whole.is_empty() {
                expected.push(hex::encode(Sha256::digest([])));
            }
            prop_assert_eq!(expected.len() as u64, pieces_of(bytes as u64));
            prop_assert_eq!(pieces.finish(), FileHashes { bytes: bytes as u64, pieces: expected.clone() });
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("file");
            std::fs::write(&path, &whole).unwrap();
            let mut put_together = Vec::new();
            let cut = cut(&path, &CancelToken::never(), |piece, _| {
                put_together.extend(piece);
                Ok(())
            });
            prop_assert_eq!(cut.unwrap(), expected);
            prop_assert!(put_together == whole);
        }
    }
}
