//! Access to the ledger of the index, for what a request adds to it.

use cairn_events::Document;

/// The ledger takes nothing from here: the server only reads the index. The reason is in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotTaken;

/// A ledger that documents can be handed to. Calls may block, but end within seconds.
pub trait LedgerAccess: Send + Sync + 'static {
    /// Hands a document in. It is on disk when this returns; the process that writes the index takes it within a second.
    ///
    /// # Errors
    /// It cannot be written.
    fn hand_in(&self, document: &Document) -> Result<(), NotTaken>;
}
