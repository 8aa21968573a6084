//! Makes the ledger's tables again: documents that can be read as a whole are written to the inbox, the tables are
//! emptied, and the documents are taken in again. A process that is killed on the way leaves the file in the inbox, from
//! which the next one that writes goes on.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

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
use crate::{Engine, PipelineError, labels, ledger::put_into_inbox};

/// What became of the documents.
pub(crate) struct Mended {
    /// Taken in again.
    pub(crate) kept: usize,
    /// Places where the ledger could not be read.
    pub(crate) lost: u64,
}

impl From<io::Error> for MendError {
    fn from(error: io::Error) -> Self {
        MendError::Failed(PipelineError::io(crate::INBOX)(error))
    }
}

/// Writes the documents that can be read as a whole to the inbox of `datadir`; `None` if there are none.
pub(crate) fn save(writer: &Writer, datadir: &Path) -> Result<(Option<PathBuf>, Mended), MendError> {
    let (mut kept, mut lost) = (0, 0);
    let path = put_into_inbox::<MendError>(datadir, |add| {
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
            if let Some(document) = document {
                add(&document)?;
                kept += 1;
            }
            Ok(())
        })?;
        lost += places + assembler.broken();
        Ok(())
    })?;
    if kept > 0 {
        return Ok((Some(path), Mended { kept, lost }));
    }
    fs::remove_file(path)?;
    Ok((None, Mended { kept, lost }))
}

/// Makes the ledger's tables again, at `now` in seconds since 1970.
pub(crate) fn mend(engine: &Engine, now: u32) -> Result<Mended, MendError> {
    let (path, mended) = save(&engine.writer, &engine.datadir)?;
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
    engine.drain_inbox(now).map_err(|error| match error {
        crate::LedgerError::Index(error) => MendError::from(*error),
        other => MendError::Cannot(super::Cannot(format!("{}: {other}", path.unwrap_or_default().display()))),
    })?;
    Ok(mended)
}
