//! Notes of the first pass over the blocks for later ones: the ids of each block's transactions and scripts, so that
//! nothing is hashed twice.

use std::path::PathBuf;

use cairn_sources::{BlockFiles, BlockRef, Decoded, IdNotes};

use super::{
    Plan,
    manifest::Manifest,
    spill::{Chunks, damaged, remove_before},
};
use crate::PipelineError;

/// Of each block in order a chunk, cut by its first transaction's number: height (4, little-endian) │ note.
pub(crate) const NOTES: &str = "link-notes";

/// Notes of blocks that follow each other.
pub(crate) struct Notes {
    first: u32,
    notes: Vec<Vec<u8>>,
}

/// Reads blocks with the ids that link noted.
pub(crate) struct NotedBlocks<'f> {
    files: &'f BlockFiles,
    prefix_len: usize,
    key: IdNotes,
    dir: PathBuf,
    plan: Plan,
    /// The partition that is being read.
    open: Option<(usize, Chunks)>,
}

impl<'f> NotedBlocks<'f> {
    pub(crate) fn new(manifest: &Manifest, files: &'f BlockFiles, prefix_len: usize) -> Self {
        let (dir, plan) = (manifest.dir().to_owned(), manifest.plan);
        NotedBlocks { files, prefix_len, key: IdNotes::new(manifest.salt), dir, plan, open: None }
    }

    /// Takes the notes of the next few blocks; each call continues after the one before.
    pub(crate) fn take(&mut self, batch: &[BlockRef]) -> Result<Notes, PipelineError> {
        let notes = batch.iter().map(|at| self.note(at)).collect::<Result<_, _>>()?;
        Ok(Notes { first: batch.first().map_or(0, |at| at.height), notes })
    }

    fn note(&mut self, at: &BlockRef) -> Result<Vec<u8>, PipelineError> {
        let partition = self.plan.by_tx(at.first_tx.0);
        let chunks = match self.open.take() {
            Some((open, chunks)) if open == partition => chunks,
            _ => Chunks::open(&self.dir, NOTES, partition)?,
        };
        let (_, chunks) = self.open.insert((partition, chunks));
        // Chunks before it belong to blocks that an earlier run has finished.
        while let Some(chunk) = chunks.next()? {
            match chunk.split_first_chunk() {
                Some((height, note)) if u32::from_le_bytes(*height) == at.height => return Ok(note.to_vec()),
                Some((height, _)) if u32::from_le_bytes(*height) < at.height => {}
                _ => break,
            }
        }
        Err(damaged(&self.dir, NOTES, partition))
    }

    /// Reads a block of which a note was taken.
    pub(crate) fn read(&self, at: &BlockRef, notes: &Notes, buf: &mut Vec<u8>) -> Result<Decoded, PipelineError> {
        let note = at.height.checked_sub(notes.first).and_then(|i| notes.notes.get(i as usize));
        let note = note.map_or(&[][..], Vec::as_slice);
        Ok(self.files.read_noted(at, (&self.key, note), self.prefix_len, buf)?)
    }

    /// Removes notes that no block with a transaction from `tx` on needs.
    pub(crate) fn remove_before(&self, tx: u64) -> Result<(), PipelineError> {
        remove_before(&self.dir, NOTES, &self.plan, tx)
    }
}
