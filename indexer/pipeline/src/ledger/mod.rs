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
mod inbox;
mod listings;
mod redaction;
mod waits;

pub use apply::{Applied, LedgerError};
pub(crate) use apply::{newest, prefix};
pub(crate) use archive::{Archive, List, read as read_archived};
pub(crate) use archiving::{documents, indexed};
pub(crate) use claims::{claim_key, list_document, list_size};
pub(crate) use contests::{contest_key, contest_state};
pub use inbox::{Drained, Refused, put_file_into_inbox, put_into_inbox, waiting_in_inbox};
pub(crate) use listings::listing_key;
pub use waits::INBOX;
pub(crate) use waits::{end as end_waiting, forget as forget_waiting, missing as missing_of_inbox};

/// The parameters of the index as the archive of the ledger has them, beside the index; `None` if it has none.
#[must_use]
pub fn archived_facts(datadir: &std::path::Path) -> Option<cairn_reader::Facts> {
    Archive::new(datadir).facts().ok().flatten()
}
