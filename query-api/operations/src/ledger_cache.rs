//! Data that is read from the ledger as a whole and kept between requests: it changes only when a document is
//! imported.

use std::sync::{Arc, Weak};

use cairn_http::ApiError;
use cairn_reader::{Reader, View};
use parking_lot::Mutex;

/// Something that follows from the documents of the ledger alone.
pub(crate) trait OfLedger: Sized {
    fn read(view: &View<'_>) -> Result<Self, ApiError>;
}

/// The index, the last input event that counts, and the data.
type CacheEntry<T> = (Weak<Reader>, u64, Arc<T>);

/// Keeps it for the index that was last asked about.
#[derive(Debug)]
pub(crate) struct LedgerSlot<T>(Mutex<Option<CacheEntry<T>>>);

impl<T> Default for LedgerSlot<T> {
    fn default() -> Self {
        LedgerSlot(Mutex::new(None))
    }
}

impl<T: OfLedger> LedgerSlot<T> {
    /// Returns the data of a view, which must be of this reader. Reads it again only after an import, or for another
    /// reader; these reads do not count as work of the request.
    pub(crate) fn get(&self, reader: &Arc<Reader>, view: &View<'_>) -> Result<Arc<T>, ApiError> {
        let seq = view.tip().seq;
        if let Some((of, known_at, known)) = &*self.0.lock()
            && *known_at == seq
            && std::ptr::eq(of.as_ptr(), Arc::as_ptr(reader))
        {
            return Ok(Arc::clone(known));
        }
        let own = reader.view()?;
        // Another document may have come in since.
        let known = Arc::new(T::read(if own.tip().seq == seq { &own } else { view })?);
        *self.0.lock() = Some((Arc::downgrade(reader), seq, Arc::clone(&known)));
        Ok(known)
    }
}
