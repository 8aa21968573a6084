//! Files that become objects.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use object_store::{MultipartUpload, ObjectStoreExt, PutPayload};

use crate::{Store, StoreError};

/// Bytes that are sent in one request.
pub const PIECE: usize = 16 << 20;
/// Attempts to send a file.
const ATTEMPTS: u32 = 3;
/// Most pieces of an object. S3 allows 10,000.
const MAX_PIECES: u64 = 9_000;

impl Store {
    /// Sends a file in pieces. The object is there as a whole or not at all; `seen` is called with the bytes of each
    /// piece that is there.
    pub fn send(&self, name: &str, from: &Path, seen: &mut dyn FnMut(u64)) -> Result<(), StoreError> {
        for _ in 1..ATTEMPTS {
            match self.try_send(name, from, seen) {
                // A store that loses its answer to the last request refuses to do it again.
                Err(StoreError::Absent { .. } | StoreError::Refused { .. }) => {}
                other => return other,
            }
        }
        self.try_send(name, from, seen)
    }

    fn try_send(&self, name: &str, from: &Path, seen: &mut dyn FnMut(u64)) -> Result<(), StoreError> {
        let mut file = File::open(from).map_err(StoreError::at(from))?;
        let bytes = file.metadata().map_err(StoreError::at(from))?.len();
        let piece = usize::try_from(bytes.div_ceil(MAX_PIECES)).unwrap_or(PIECE).max(PIECE);
        let first = fill(&mut file, piece).map_err(StoreError::at(from))?;
        if first.len() as u64 == bytes {
            self.write(name, first)?;
            seen(bytes);
            return Ok(());
        }
        let before = self.meta(name)?.and_then(|meta| meta.e_tag);
        let mut upload = self.wait(name, self.objects.put_multipart(&self.name(name)))?;
        let mut next = |piece_of: &mut Vec<u8>| {
            *piece_of = fill(&mut file, piece).map_err(StoreError::at(from))?;
            Ok(())
        };
        let sent = self.pieces(name, &mut *upload, first, &mut next, seen);
        let sent = sent.inspect_err(|_| self.give_up(&mut *upload));
        sent?;
        match self.wait(name, upload.complete()) {
            Ok(_) => Ok(()),
            Err(StoreError::Stopped) => Err(StoreError::Stopped),
            Err(error) => {
                // The answer may have been lost: check that the object is new and has the right length.
                let now = self.meta(name)?.filter(|meta| meta.size == bytes).and_then(|meta| meta.e_tag);
                if now.is_some() && now != before {
                    return Ok(());
                }
                self.give_up(&mut *upload);
                Err(error)
            }
        }
    }

    fn pieces(
        &self,
        name: &str,
        upload: &mut dyn MultipartUpload,
        first: Vec<u8>,
        next: &mut dyn FnMut(&mut Vec<u8>) -> Result<(), StoreError>,
        seen: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        let mut piece = first;
        while !piece.is_empty() {
            let length = piece.len() as u64;
            self.wait(name, upload.put_part(PutPayload::from(std::mem::take(&mut piece))))?;
            seen(length);
            next(&mut piece)?;
        }
        Ok(())
    }

    /// Pieces of an object that is not completed take space. If the store fails now, only its own rules can remove
    /// them.
    fn give_up(&self, upload: &mut dyn MultipartUpload) {
        self.finish_soon(upload.abort());
    }
}

/// A number of bytes, or the rest.
fn fill(file: &mut File, bytes: usize) -> io::Result<Vec<u8>> {
    let mut found = Vec::new();
    Read::take(file, bytes as u64).read_to_end(&mut found)?;
    Ok(found)
}
