//! Hands what requests add to the ledger to the process that writes the index.

use std::{io, path::PathBuf};

use cairn_events::Document;
use cairn_operations::{LedgerAccess, NotTaken};
use cairn_pipeline::put_into_inbox;

/// The inbox of a data folder.
pub(crate) struct Inbox {
    datadir: PathBuf,
}

impl Inbox {
    /// That of this folder.
    pub(crate) fn of(datadir: PathBuf) -> Self {
        Inbox { datadir }
    }
}

impl LedgerAccess for Inbox {
    fn hand_in(&self, document: &Document) -> Result<(), NotTaken> {
        put_into_inbox::<io::Error>(&self.datadir, |add| add(document)).map(drop).map_err(|error| {
            tracing::warn!(%error, "a signed contest cannot be written into the inbox: this process needs write access to it");
            NotTaken
        })
    }
}
