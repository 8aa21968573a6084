//! Which prices and rates the index has, and the newest of each: kept from request to request, since it changes only
//! when a document comes in.

use std::sync::{Arc, Weak};

use cairn_domain::price::Series;
use cairn_events::LiveQuote;
use cairn_reader::{Damages, ReadError, Reader, SeriesSpan, View};
use parking_lot::Mutex;

#[derive(Debug, Default)]
pub(crate) struct KnownSeries {
    /// The sequence number of the input event up to which they are known.
    seq: u64,
    /// Ascending by series.
    spans: Vec<SeriesSpan>,
    /// Live quotes that the index has; those that are published may be newer.
    pub(crate) live: Vec<LiveQuote>,
}

impl KnownSeries {
    /// Live quotes are observations: their damage is reported, and everything else works without them.
    fn read(view: &View<'_>, damages: &Damages) -> Result<Self, ReadError> {
        let live = match view.ledger().live_quotes() {
            Err(error) if error.is_damage() => {
                damages.note(&error);
                tracing::error!(%error, "the newest prices are damaged: `cairn repair` drops them");
                Vec::new()
            }
            quotes => quotes?,
        };
        Ok(KnownSeries { seq: view.tip().seq, spans: view.ledger().series()?, live })
    }

    /// A series; `None` if it has no quotes.
    pub(crate) fn span(&self, series: Series) -> Option<&SeriesSpan> {
        let at = self.spans.binary_search_by(|span| span.series.cmp(&series)).ok()?;
        self.spans.get(at)
    }

    /// All of them, ascending.
    pub(crate) fn spans(&self) -> &[SeriesSpan] {
        &self.spans
    }
}

/// Keeps the series of the index that was last asked about.
#[derive(Debug, Default)]
pub(crate) struct SeriesSlot(Mutex<Option<(Weak<Reader>, Arc<KnownSeries>)>>);

impl SeriesSlot {
    /// The series of a view, which is one of this reader. They are read again only after a document came in, or of
    /// another reader; those rows do not count as the request's.
    pub(crate) fn get(
        &self,
        reader: &Arc<Reader>,
        view: &View<'_>,
        damages: &Damages,
    ) -> Result<Arc<KnownSeries>, ReadError> {
        let seq = view.tip().seq;
        if let Some((of, known)) = &*self.0.lock()
            && known.seq == seq
            && std::ptr::eq(of.as_ptr(), Arc::as_ptr(reader))
        {
            return Ok(Arc::clone(known));
        }
        let own = reader.view()?;
        // Another document may have come in since.
        let known = Arc::new(KnownSeries::read(if own.tip().seq == seq { &own } else { view }, damages)?);
        *self.0.lock() = Some((Arc::downgrade(reader), Arc::clone(&known)));
        Ok(known)
    }
}
