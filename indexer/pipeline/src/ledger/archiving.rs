//! Keeps the archive of the ledger and the index the same: whichever has a document gives it to the other.

use std::{collections::BTreeMap, fs, sync::atomic::Ordering};

use cairn_events::{Document, DocumentHash, file};
use cairn_reader::{Assembler, ReadError, View};
use cairn_tables::events::{Documents, Events};

use super::{
    Applied, Ledger, LedgerError,
    archive::{List, ListedDocument, read},
    waits,
};

/// Documents of the index by hash, each with its sequence number.
pub(crate) type IndexedDocuments = BTreeMap<DocumentHash, u64>;

pub(crate) fn indexed(view: &View<'_>) -> Result<IndexedDocuments, ReadError> {
    let mut found = IndexedDocuments::new();
    for row in view.scan::<Documents>(None)? {
        let (hash, state) = row?;
        // A document that was withdrawn before it came has no sequence number yet.
        if state.seq != 0 {
            found.insert(hash, state.seq);
        }
    }
    Ok(found)
}

/// Hands on each document of the ledger, in the order of sequence numbers, from one on.
pub(crate) fn documents<E: From<ReadError>>(
    view: &View<'_>,
    from: u64,
    mut take: impl FnMut(u64, Document) -> Result<bool, E>,
) -> Result<(), E> {
    let (mut assembler, mut first) = (Assembler::default(), from);
    let mut is_open = false;
    for row in view.scan::<Events>(Some(&from))? {
        let (seq, row) = row?;
        if !is_open {
            first = seq;
        }
        let document = assembler.push(seq, row);
        is_open = document.is_none();
        if let Some(document) = document
            && !take(first, document)?
        {
            return Ok(());
        }
    }
    Ok(())
}

impl Ledger<'_> {
    fn archive_failed(&self, error: std::io::Error) -> LedgerError {
        LedgerError::Archive { path: self.engine.archive.folder().to_owned(), error }
    }

    /// Writes the document of a sequence number to the archive, from the index: what is redacted there is not written.
    pub(super) fn archive_document(&self, seq: u64) -> Result<(), LedgerError> {
        let List::Whole(mut listed) = self.engine.archive.list().map_err(|error| self.archive_failed(error))? else {
            return self.match_archive(0).map(drop);
        };
        if listed.iter().any(|of| of.seq == seq) {
            return Ok(());
        }
        let view = self.engine.reader.view()?;
        documents::<LedgerError>(&view, seq, |seq, document| {
            self.engine.archive.put(seq, &document).map_err(|error| self.archive_failed(error))?;
            listed.push(ListedDocument::new(seq, &document));
            Ok(false)
        })?;
        self.engine.archive.put_list(&listed).map_err(|error| self.archive_failed(error))
    }

    /// Gives the index the documents that only the archive has, and the archive those that only the index has, once for
    /// an open engine. An index that was built again, or restored from an older checkpoint, gets its ledger back by
    /// this. Returns how many documents the index took; `now` in seconds since 1970.
    pub(crate) fn match_archive_once(&self, now: u32) -> Result<usize, LedgerError> {
        if self.engine.archive_matches.load(Ordering::Relaxed) {
            return Ok(0);
        }
        let taken = self.match_archive(now)?;
        let known = indexed(&self.engine.reader.view()?)?;
        let is_known = |hash: &DocumentHash| known.contains_key(hash);
        waits::forget(&self.engine.datadir, is_known, false).map_err(|error| self.archive_failed(error))?;
        for what in waits::missing(&self.engine.datadir, is_known).map_err(|error| self.archive_failed(error))? {
            tracing::error!(what, "a document that waited in the inbox is missing: import it again");
        }
        self.engine.archive_matches.store(true, Ordering::Relaxed);
        Ok(taken)
    }

    pub(crate) fn match_archive(&self, now: u32) -> Result<usize, LedgerError> {
        let failed = |error| self.archive_failed(error);
        let view = self.engine.reader.view()?;
        let known = indexed(&view)?;
        let files = self.engine.archive.files().map_err(failed)?;
        let mut lacking: Vec<_> = files.iter().filter(|(hash, _)| !known.contains_key(*hash)).collect();
        lacking.sort_unstable_by_key(|(_, (seq, _))| *seq);
        let is_listed = match self.engine.archive.list().map_err(failed)? {
            List::Whole(listed) => {
                let listed: IndexedDocuments = listed.iter().map(|of| (of.hash, of.seq)).collect();
                listed == known
            }
            List::Absent | List::Damaged => false,
        };
        let has_all = known.iter().all(|(hash, seq)| files.get(hash).is_some_and(|(of, _)| of == seq));
        if lacking.is_empty() && is_listed && has_all {
            return Ok(0);
        }
        drop(view);
        let mut taken = 0;
        for (hash, (seq, path)) in lacking {
            match read(path, hash) {
                Ok(document) => {
                    let applied = self.write_document(&document, now)?;
                    taken += usize::from(matches!(applied, Applied::Taken { .. }));
                }
                Err(file::FileError::Io(error)) => return Err(failed(error)),
                Err(error) => {
                    let path = path.display();
                    tracing::error!(%path, %error, seq, "a document of the ledger cannot be read, and the index lacks it");
                }
            }
        }
        self.write_archive(false)?;
        if taken > 0 {
            tracing::warn!(taken, "the index lacked documents of the ledger: they were taken from the archive");
        }
        Ok(taken)
    }

    /// Writes the documents of the index to the archive: those that it lacks, with `all` also those whose file differs,
    /// and the list. Returns how many files were written. Documents that neither has stay in the list.
    pub(crate) fn write_archive(&self, all: bool) -> Result<usize, LedgerError> {
        let failed = |error| self.archive_failed(error);
        let view = self.engine.reader.view()?;
        let files = self.engine.archive.files().map_err(failed)?;
        let (mut listed, mut written) = (Vec::new(), 0);
        documents::<LedgerError>(&view, 0, |seq, document| {
            listed.push(ListedDocument::new(seq, &document));
            let hash = document.provenance.document;
            match files.get(&hash) {
                Some((of, path)) if !all || read(path, &hash).is_ok_and(|found| found == document) => {
                    if *of != seq {
                        self.engine.archive.renumber(path, seq, &hash).map_err(failed)?;
                    }
                }
                found => {
                    self.engine.archive.put(seq, &document).map_err(failed)?;
                    written += 1;
                    if let Some((_, path)) = found.filter(|(of, _)| *of != seq) {
                        fs::remove_file(path).map_err(failed)?;
                    }
                }
            }
            Ok(true)
        })?;
        // A backup may have them.
        if let List::Whole(before) = self.engine.archive.list().map_err(failed)? {
            let lost = before.into_iter().filter(|of| !listed.iter().any(|known| known.hash == of.hash));
            let lost: Vec<ListedDocument> = lost.collect();
            for of in &lost {
                tracing::error!(hash = %of.hash, seq = of.seq, what = of.what, "a document of the ledger is missing");
            }
            listed.extend(lost);
        }
        self.engine.archive.put_list(&listed).map_err(failed)?;
        Ok(written)
    }
}
