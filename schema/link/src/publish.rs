//! The interface that publishes the state of an index to requests in this process and to readers in others.

use std::sync::Arc;

use cairn_events::LiveQuote;
use cairn_model::{BlockHash, Height, MempoolDelta, SourceStatus, Trouble};

/// Receives the state of an index from the follower. Calls never wait for a reader and are idempotent.
pub trait Publish: Send + Sync {
    /// The index is at this block, on disk; `None` if it is empty.
    fn publish_tip(&self, tip: Option<(Height, BlockHash)>);

    /// The ledger of input events has, on disk, all events up to this one.
    fn publish_events(&self, seq: u64);

    /// The feed has, on disk, all announcements up to this one. Only readers in this process need to know: others see
    /// nothing before it is on disk.
    fn publish_feed(&self, _: u64) {}

    /// The newest prices, one of each pair. They replace those before.
    fn publish_live_quotes(&self, quotes: &[LiveQuote]);

    /// Height of the source's best chain, indexed or not; `None` while unknown.
    fn publish_best_height(&self, best: Option<Height>);

    /// Status of the source of blocks and of its mempool.
    fn publish_source(&self, status: &SourceStatus);

    /// All that keeps the follower from working at present, at most one of each part. They replace those before. A
    /// follower that has begun to publish them goes on until it is stopped: if it is gone, that is a trouble for its
    /// readers.
    fn publish_troubles(&self, troubles: &[Trouble]);

    /// A connected block changed the mempool by these deltas. Readers in this process already see the block. Others see
    /// it once it is on disk, after [`Publish::publish_tip`], and must not get the deltas before.
    fn publish_connected(&self, deltas: &[MempoolDelta]);

    /// The mempool changed, in one step.
    fn publish_mempool(&self, deltas: &[MempoolDelta]);
}

/// Publishes to several receivers, in this order.
#[derive(Clone, Default)]
pub struct Publishers(Vec<Arc<dyn Publish>>);

impl Publishers {
    /// The receivers.
    #[must_use]
    pub fn new(all: Vec<Arc<dyn Publish>>) -> Self {
        Publishers(all)
    }
}

impl Publish for Publishers {
    fn publish_tip(&self, tip: Option<(Height, BlockHash)>) {
        self.0.iter().for_each(|readers| readers.publish_tip(tip));
    }

    fn publish_events(&self, seq: u64) {
        self.0.iter().for_each(|readers| readers.publish_events(seq));
    }

    fn publish_feed(&self, last: u64) {
        self.0.iter().for_each(|readers| readers.publish_feed(last));
    }

    fn publish_live_quotes(&self, quotes: &[LiveQuote]) {
        self.0.iter().for_each(|readers| readers.publish_live_quotes(quotes));
    }

    fn publish_best_height(&self, best: Option<Height>) {
        self.0.iter().for_each(|readers| readers.publish_best_height(best));
    }

    fn publish_source(&self, status: &SourceStatus) {
        self.0.iter().for_each(|readers| readers.publish_source(status));
    }

    fn publish_troubles(&self, troubles: &[Trouble]) {
        self.0.iter().for_each(|readers| readers.publish_troubles(troubles));
    }

    fn publish_connected(&self, deltas: &[MempoolDelta]) {
        self.0.iter().for_each(|readers| readers.publish_connected(deltas));
    }

    fn publish_mempool(&self, deltas: &[MempoolDelta]) {
        self.0.iter().for_each(|readers| readers.publish_mempool(deltas));
    }
}
