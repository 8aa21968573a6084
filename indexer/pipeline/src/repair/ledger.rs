//! Makes the ledger's tables again: they are emptied, and the documents are taken in again from the archive of the
//! ledger. Documents that only the damaged tables have wait in the inbox meanwhile. A process that is killed on the way
//! leaves both, from which the next one that writes goes on.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

use cairn_events::{DocumentHash, file::FileError};
use cairn_reader::Assembler;
use cairn_tables::{
    Table, TableInfo,
    checkpoints::{Checkpoint, Checkpoints},
    claims::{ClaimLists, Claims},
    contests::Contests,
    events::{Documents, Events, QuoteVersions, Quotes},
    listings::{PoolTags, Profiles},
};
use cairn_writer::Writer;

use super::MendError;
use crate::{
    Engine, PipelineError, labels,
    ledger::{Archive, List, end_waiting, forget_waiting, missing_of_inbox, put_into_inbox, read_archived},
};

/// The part of the ledger that can be read without the index as a whole.
pub(crate) struct SalvagedLedger {
    /// Documents that were read.
    pub(crate) kept: usize,
    /// Missing documents, in words.
    pub(crate) missing: Vec<String>,
    /// A file of the inbox with the documents that only the damaged index had.
    file: Option<PathBuf>,
}

impl SalvagedLedger {
    /// Goes on if nothing is missing, or if the operator said so.
    fn or_refuse(self, datadir: &Path, without_events: bool) -> Result<Self, MendError> {
        if self.missing.is_empty() || without_events {
            return Ok(self);
        }
        self.file.iter().try_for_each(|file| take_back(datadir, file))?;
        Err(MendError::Failed(PipelineError::EventsLost { missing: self.missing }))
    }
}

/// Removes a file from the inbox.
fn take_back(datadir: &Path, file: &Path) -> io::Result<()> {
    fs::remove_file(file)?;
    end_waiting(datadir, file)
}

impl From<io::Error> for MendError {
    fn from(error: io::Error) -> Self {
        MendError::Failed(PipelineError::io(crate::INBOX)(error))
    }
}

/// Reads the archive of the ledger, and the documents that only the damaged index has, if it can be opened: these wait
/// in the inbox then. Nothing else is changed.
///
/// # Errors
/// Returns [`PipelineError::EventsLost`] if a document is missing, unless `without_events` is set.
pub(crate) fn gather(
    writer: Option<&Writer>,
    datadir: &Path,
    without_events: bool,
) -> Result<SalvagedLedger, MendError> {
    let archive = Archive::new(datadir);
    let (mut has, mut unreadable) = (BTreeSet::new(), Vec::new());
    for (hash, (seq, path)) in archive.files()? {
        match read_archived(&path, &hash) {
            Ok(_) => drop(has.insert(hash)),
            Err(FileError::Io(error)) => return Err(error.into()),
            Err(error) => {
                unreadable.push((hash, format!("document {hash} (event {seq}): {}: {error}", path.display())))
            }
        }
    }
    let archived = has.len();
    let mut lost = 0;
    let file = put_into_inbox::<MendError>(datadir, |add| {
        let Some(writer) = writer else { return Ok(()) };
        let mut assembler = Assembler::default();
        let places = writer.salvage::<MendError>(Events::FAMILY, |key, value| {
            let row = Events::decode_key(key).and_then(|seq| Ok((seq, Events::decode_value(value)?)));
            let document = match row {
                Ok((seq, row)) => assembler.push(seq, row),
                Err(_) => {
                    lost += 1;
                    None
                }
            };
            if let Some(document) = document.filter(|document| has.insert(document.provenance.document)) {
                add(&document)?;
            }
            Ok(())
        })?;
        lost += places + assembler.broken();
        Ok(())
    })?;
    let file = if has.len() > archived {
        Some(file)
    } else {
        take_back(datadir, &file)?;
        None
    };
    let mut missing = Vec::new();
    match archive.list()? {
        // It names every document that the index took.
        List::Whole(listed) => {
            let lost = listed.into_iter().filter(|of| !has.contains(&of.hash));
            missing.extend(lost.map(|of| of.to_string()));
        }
        List::Absent | List::Damaged if lost > 0 => {
            missing.push(format!("{lost} places of the ledger in the index, and the archive has no list of them"));
        }
        List::Absent | List::Damaged if writer.is_none() => missing.push(format!(
            "the ledger as a whole: the index cannot be opened, and {} is missing or damaged, so that nobody knows which \
             documents there were ({} are there)",
            archive.folder().join("list").display(),
            has.len()
        )),
        List::Absent | List::Damaged => {}
    }
    let unreadable = unreadable.into_iter().filter(|(hash, _)| !has.contains(hash)).map(|(_, what)| what);
    if missing.is_empty() {
        missing.extend(unreadable);
    }
    let is_known = |hash: &DocumentHash| has.contains(hash);
    missing.extend(missing_of_inbox(datadir, is_known)?);
    if without_events {
        forget_waiting(datadir, is_known, true)?;
    }
    SalvagedLedger { kept: has.len(), missing, file }.or_refuse(datadir, without_events)
}

/// Makes the ledger's tables again, at `now` in seconds since 1970.
pub(crate) fn mend(engine: &Engine, now: u32, without_events: bool) -> Result<SalvagedLedger, MendError> {
    let gathered = gather(Some(&engine.writer), &engine.datadir, without_events)?;
    // Documents may be lost: labels are made again from what is left.
    labels::forget(&engine.writer)?;
    engine.writer.make_anew(Events::FAMILY)?;
    engine.writer.make_anew(QuoteVersions::FAMILY)?;
    engine.writer.make_anew(Claims::FAMILY)?;
    engine.writer.clear(&TableInfo::of::<ClaimLists>())?;
    engine.writer.clear(&TableInfo::of::<PoolTags>())?;
    engine.writer.clear(&TableInfo::of::<Profiles>())?;
    engine.writer.clear(&TableInfo::of::<Contests>())?;
    engine.writer.clear(&TableInfo::of::<Documents>())?;
    engine.writer.clear(&TableInfo::of::<Quotes>())?;
    if let Some(checkpoint) = engine.writer.checkpoint(cairn_stages::CHAIN)? {
        engine.writer.commit::<MendError>(|batch| {
            batch.put_row::<Checkpoints>(&cairn_stages::CHAIN.to_owned(), &Checkpoint { seq: 0, ..checkpoint });
            Ok(())
        })?;
    }
    engine.settle()?;
    if without_events {
        engine.archive.forget_missing()?;
    }
    engine.archive_matches.store(false, Ordering::Relaxed);
    engine.drain_inbox(now).map_err(|error| match error {
        crate::LedgerError::Index(error) => MendError::from(*error),
        other => MendError::Cannot(super::Cannot(other.to_string())),
    })?;
    Ok(gathered)
}
