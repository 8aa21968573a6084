//! The ledger of input events: documents come in, one at a time, each in one commit.
//!
//! What follows from them is a function of the set of documents, in whatever order they came: of a source, the version holds
//! that was retrieved last; between sources, [`choose`] decides. A withdrawal takes a document out for good, even if it
//! comes before the document.

mod apply;
mod inbox;

pub use apply::{Applied, LedgerError};
pub(crate) use apply::{newest, prefix};
pub use inbox::{Drained, INBOX, Refused, put_into_inbox};
