//! Access to the ledger of the index, for what a request adds to it.

use cairn_events::Document;

/// Why the ledger takes nothing from here. The details are in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotTaken {
    /// The server cannot write what it would hand over.
    Unwritable,
    /// Too many documents wait already.
    Full,
}

/// A ledger that documents can be handed to. Calls may block, but end within seconds.
pub trait LedgerAccess: Send + Sync + 'static {
    /// Hands a document in. It is on disk when this returns; the process that writes the index takes it within seconds.
    ///
    /// # Errors
    /// Fails if too many documents wait, or if the document cannot be written.
    fn hand_in(&self, document: &Document) -> Result<(), NotTaken>;
}
