//! A document on its way into the ledger, for all that take a kind of documents in.

use cairn_events::{Document, DocumentHash};
use cairn_reader::{ReadError, View};
use cairn_tables::events::{DocumentState, Documents, EventRow, Events};
use cairn_writer::Batch;

/// Result of taking a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Applied {
    /// It is in the ledger now.
    Taken {
        /// Its sequence number.
        seq: u64,
        /// Rows that say something new.
        events: u32,
        /// Rows that repeat what the source said last.
        repeated: u32,
        /// True if it was withdrawn before it came: its rows do not count.
        withdrawn: bool,
    },
    /// It was in the ledger before; nothing has changed.
    Known {
        /// Its sequence number.
        seq: u64,
        /// True if it is withdrawn.
        withdrawn: bool,
    },
}

/// First bytes of a hash, as versions of quotes have them.
pub(crate) fn prefix(hash: &DocumentHash) -> [u8; 8] {
    std::array::from_fn(|at| hash.0[at])
}

/// A document that is being taken.
pub(super) struct Taking<'t> {
    pub(super) view: &'t View<'t>,
    pub(super) document: &'t Document,
    pub(super) now: u32,
    pub(super) seq: u64,
}

pub(super) fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl Taking<'_> {
    pub(super) fn hash(&self) -> DocumentHash {
        self.document.provenance.document
    }

    pub(super) fn received_at(&self) -> u32 {
        self.document.received_at.unwrap_or(self.now)
    }

    pub(super) fn state(&self, hash: &DocumentHash) -> Result<DocumentState, ReadError> {
        Ok(self.view.ledger().document(hash)?.unwrap_or_default())
    }

    /// Writes the ledger's row of a document as a whole.
    pub(super) fn note(&self, batch: &mut Batch<'_>, repeats: &[bool], state: DocumentState) -> Applied {
        let repeated = repeats.iter().filter(|repeats| **repeats).count();
        batch.put_row::<Events>(
            &self.seq,
            &EventRow::Document {
                events: count(repeats.len()),
                received_at: self.received_at(),
                rows: count(repeats.len()),
                repeated: count(repeated),
                provenance: self.document.provenance.clone(),
            },
        );
        batch.put_row::<Documents>(&self.hash(), &DocumentState { seq: self.seq, ..state });
        let (events, repeated) = (count(repeats.len() - repeated), count(repeated));
        Applied::Taken { seq: self.seq, events, repeated, withdrawn: state.withdrawn != 0 }
    }
}
