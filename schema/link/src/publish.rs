//! Telling what becomes of an index, whoever listens: requests in this process, readers in others.

use std::sync::Arc;

use cairn_model::{BlockHash, Height, MempoolDelta, SourceStatus};

/// Is told what becomes of an index, by whoever follows the chain. Calls never wait for a listener, and telling the same
/// again changes nothing.
pub trait Publish: Send + Sync {
    /// The index is at this block, on disk; `None` if it is empty.
    fn publish_tip(&self, tip: Option<(Height, BlockHash)>);

    /// Height of the best chain that the source knows of, indexed or not; `None` while nobody knows.
    fn publish_best_height(&self, best: Option<Height>);

    /// What is known of the source of blocks and of its mempool.
    fn publish_source(&self, status: &SourceStatus);

    /// A block was connected that did this to the mempool. Readers of this process see the block already; others see it
    /// once it is on disk, which [`Publish::publish_tip`] tells, and must not hear of the deltas before.
    fn publish_connected(&self, deltas: &[MempoolDelta]);

    /// The mempool changed, in one step.
    fn publish_mempool(&self, deltas: &[MempoolDelta]);
}

/// Everybody who is to be told, in this order.
#[derive(Clone, Default)]
pub struct Publishers(Vec<Arc<dyn Publish>>);

impl Publishers {
    /// These.
    #[must_use]
    pub fn new(all: Vec<Arc<dyn Publish>>) -> Self {
        Publishers(all)
    }
}

impl Publish for Publishers {
    fn publish_tip(&self, tip: Option<(Height, BlockHash)>) {
        self.0.iter().for_each(|readers| readers.publish_tip(tip));
    }

    fn publish_best_height(&self, best: Option<Height>) {
        self.0.iter().for_each(|readers| readers.publish_best_height(best));
    }

    fn publish_source(&self, status: &SourceStatus) {
        self.0.iter().for_each(|readers| readers.publish_source(status));
    }

    fn publish_connected(&self, deltas: &[MempoolDelta]) {
        self.0.iter().for_each(|readers| readers.publish_connected(deltas));
    }

    fn publish_mempool(&self, deltas: &[MempoolDelta]) {
        self.0.iter().for_each(|readers| readers.publish_mempool(deltas));
    }
}
