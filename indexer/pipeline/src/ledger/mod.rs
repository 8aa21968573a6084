//! The ledger of input events: documents come in, one at a time, each in one commit.
//!
//! The results are a function of the set of documents, in whatever order they came: of a source, the version holds that
//! was retrieved last; between sources, [`choose`](cairn_events::choose) decides. Claims stand beside each other. A
//! withdrawal takes a document out for good, even if it comes before the document.

mod apply;
mod archive;
mod archiving;
mod claims;
mod contests;
mod ended;
mod error;
mod inbox;
mod listings;
mod redaction;
mod taking;
mod waits;

use cairn_events::Document;

use crate::{Engine, PipelineError};
pub(crate) use apply::newest;
pub(crate) use archive::{Archive, List, read as read_archived};
pub(crate) use archiving::{documents, indexed};
pub(crate) use claims::{claim_key, list_document, list_size};
pub(crate) use contests::{contest_key, contest_state};
pub use error::LedgerError;
pub use inbox::{Drained, Refused, put_file_into_inbox, put_into_inbox, waiting_in_inbox};
pub(crate) use listings::listing_key;
pub use taking::Applied;
pub(crate) use taking::prefix;
pub use waits::INBOX;
pub(crate) use waits::{end as end_waiting, forget as forget_waiting, missing as missing_of_inbox};

pub(crate) struct Ledger<'e> {
    engine: &'e Engine,
}

impl Engine {
    /// Returns the ledger, for work that only this crate does with it.
    pub(crate) fn ledger(&self) -> Ledger<'_> {
        Ledger { engine: self }
    }

    /// Takes a document into the ledger, at `now` in seconds since 1970, in one durable commit. Then the labels follow,
    /// in further ones.
    ///
    /// # Errors
    /// The document breaks a rule or the index is empty: nothing is written then. Or the index or the disk fails: if
    /// the document is in the ledger by then, it stays.
    pub fn take_document(&self, document: &Document, now: u32) -> Result<Applied, LedgerError> {
        self.ledger().take_document(document, now)
    }

    /// Takes in the files that wait in the inbox, in the order of their names; `now` in seconds since 1970. An index
    /// without blocks takes nothing yet.
    ///
    /// # Errors
    /// The index or the disk fails. Documents that were taken stay, and the rest waits.
    pub fn drain_inbox(&self, now: u32) -> Result<Drained, LedgerError> {
        self.ledger().drain_inbox(now)
    }

    /// Sequence number of the newest input event; 0 if there is none.
    pub fn last_event(&self) -> Result<u64, PipelineError> {
        Ok(self.writer.last_event()?)
    }
}

/// The parameters of the index as the archive of the ledger has them, beside the index; `None` if it has none.
#[must_use]
pub fn archived_facts(datadir: &std::path::Path) -> Option<cairn_reader::Facts> {
    Archive::new(datadir).facts().ok().flatten()
}
