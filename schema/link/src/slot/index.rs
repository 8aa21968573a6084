//! The source of the index for requests. The index may not exist yet, and may be replaced while requests run.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use cairn_domain::{
    FeeRate,
    mempool::{MempoolLimits, Template},
};
use cairn_events::LiveQuote;
use cairn_model::{BlockHash, Height, MempoolDelta, MempoolWatch, SourceStatus, Trouble};
use cairn_reader::Reader;
use parking_lot::RwLock;

use super::mempool::{Absent, MempoolSlot};
use crate::Publish;

/// Provides the index to requests.
pub trait IndexSource: Send + Sync + 'static {
    /// The index; `None` while there is none.
    fn reader(&self) -> Option<Arc<Reader>>;

    /// Height of the best known chain, indexed or not; `None` if unknown.
    fn best_height(&self) -> Option<Height>;

    /// The mempool that belongs to the index.
    fn mempool(&self) -> &MempoolSlot;

    /// Status of the source of blocks; `None` if the writer has not published it.
    fn source(&self) -> Option<SourceStatus>;

    /// All that keeps the index from following its source at present.
    fn troubles(&self) -> Arc<[Trouble]>;

    /// The newest announcement of the feed that is on disk; `None` if all that can be read is.
    fn feed_end(&self) -> Option<u64> {
        None
    }

    /// The newest prices that the writer has published, one of each pair. They may be old: each has its time.
    fn live_quotes(&self) -> Arc<[LiveQuote]>;
}

/// A slot for the index, initially empty.
#[derive(Default)]
pub struct IndexSlot {
    reader: RwLock<Option<Arc<Reader>>>,
    /// Best height + 1; 0 if unknown.
    best: AtomicU64,
    mempool: Arc<MempoolSlot>,
    source: RwLock<Option<SourceStatus>>,
    troubles: RwLock<Arc<[Trouble]>>,
    prices: RwLock<Arc<[LiveQuote]>>,
    /// The newest announcement on disk + 1; 0 if unknown.
    feed: AtomicU64,
}

impl IndexSlot {
    /// An empty slot.
    #[must_use]
    pub fn new() -> Self {
        IndexSlot::default()
    }

    /// The same slot, with a new mempool and a bound on its bytes.
    #[must_use]
    pub fn with_mempool_memory(self, bytes: u64) -> Self {
        IndexSlot { mempool: Arc::new(MempoolSlot::new(MempoolLimits::within(bytes))), ..self }
    }

    /// A slot with an index in it.
    #[must_use]
    pub fn with(reader: Arc<Reader>) -> Self {
        let slot = IndexSlot::default();
        slot.set_reader(reader);
        slot
    }

    /// Replaces the index. Running requests keep the previous one.
    pub fn set_reader(&self, reader: Arc<Reader>) {
        *self.reader.write() = Some(reader);
    }

    /// Sets the height of the best known chain.
    pub fn set_best_height(&self, height: Option<Height>) {
        self.best.store(height.map_or(0, |h| u64::from(h) + 1), Ordering::Relaxed);
    }

    /// The slot of its mempool.
    #[must_use]
    pub fn pool(&self) -> Arc<MempoolSlot> {
        Arc::clone(&self.mempool)
    }

    /// Sets the status of the source of blocks.
    pub fn set_source(&self, status: Option<SourceStatus>) {
        *self.source.write() = status;
    }
}

impl IndexSource for IndexSlot {
    fn reader(&self) -> Option<Arc<Reader>> {
        self.reader.read().clone()
    }

    fn best_height(&self) -> Option<Height> {
        let stored = self.best.load(Ordering::Relaxed);
        stored.checked_sub(1).and_then(|h| Height::try_from(h).ok())
    }

    fn mempool(&self) -> &MempoolSlot {
        &self.mempool
    }

    fn source(&self) -> Option<SourceStatus> {
        self.source.read().clone()
    }

    fn troubles(&self) -> Arc<[Trouble]> {
        Arc::clone(&self.troubles.read())
    }

    fn feed_end(&self) -> Option<u64> {
        self.feed.load(Ordering::Relaxed).checked_sub(1)
    }

    fn live_quotes(&self) -> Arc<[LiveQuote]> {
        Arc::clone(&self.prices.read())
    }
}

/// Publishes within the process. Readers see every commit at once, before it is on disk.
impl Publish for IndexSlot {
    fn publish_tip(&self, _: Option<(Height, BlockHash)>) {}

    fn publish_events(&self, _: u64) {}

    fn publish_feed(&self, last: u64) {
        self.feed.store(last.saturating_add(1), Ordering::Relaxed);
    }

    fn publish_live_quotes(&self, quotes: &[LiveQuote]) {
        *self.prices.write() = quotes.into();
    }

    fn publish_best_height(&self, best: Option<Height>) {
        self.set_best_height(best);
    }

    fn publish_source(&self, status: &SourceStatus) {
        let before = self.source().map(|source| source.mempool);
        match status.mempool {
            MempoolWatch::Off => self.mempool.set_absent(Absent::NotWatched),
            MempoolWatch::Stale => self.mempool.set_absent(Absent::Lost),
            MempoolWatch::Loading | MempoolWatch::Synced if before == Some(MempoolWatch::Stale) => {
                self.mempool.found_again();
            }
            MempoolWatch::Loading | MempoolWatch::Synced => {}
        }
        self.mempool.set_template(template(status));
        self.set_source(Some(status.clone()));
    }

    fn publish_troubles(&self, troubles: &[Trouble]) {
        *self.troubles.write() = troubles.into();
    }

    fn publish_connected(&self, deltas: &[MempoolDelta]) {
        self.publish_mempool(deltas);
    }

    fn publish_mempool(&self, deltas: &[MempoolDelta]) {
        if !deltas.is_empty() {
            self.mempool.apply(deltas);
        }
    }
}

/// The block template rules of a node with this status; the newest rules if its version is unknown.
fn template(source: &SourceStatus) -> Template {
    let rules = source.node_version.map_or_else(Template::default, Template::of_node);
    Template { min_rate: source.block_min_fee.map_or(rules.min_rate, FeeRate), ..rules }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_slot_knows_nothing() {
        let slot = IndexSlot::new();
        assert!(slot.reader().is_none());
        assert_eq!(slot.best_height(), None);
        slot.set_best_height(Some(0));
        assert_eq!(slot.best_height(), Some(0));
        slot.set_best_height(None);
        assert_eq!(slot.best_height(), None);
    }
}
