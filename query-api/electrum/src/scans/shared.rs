//! State that the scans of all connections share.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use cairn_domain::mempool::Mempool;
use tokio::sync::watch;

use super::unconfirmed::{Entry, Unconfirmed};

/// Most subscriptions of all connections.
const MAX_SCANS: usize = 1_000;

/// State that the scans of all connections share.
pub(crate) struct AllScans {
    running: AtomicUsize,
    unconfirmed: Unconfirmed,
    /// Number of changes of the tip, and of the mempool's tweaks.
    changes: watch::Sender<Changes>,
}

/// Changes that wake scans which follow the tip.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Changes {
    pub(super) tips: u64,
    others: u64,
}

impl Default for AllScans {
    fn default() -> Self {
        let (running, unconfirmed) = Default::default();
        AllScans { running, unconfirmed, changes: watch::Sender::default() }
    }
}

impl AllScans {
    /// Counts one more scan. False at the limit.
    pub(super) fn begin(&self) -> bool {
        let fits = |running: usize| (running < MAX_SCANS).then_some(running + 1);
        self.running.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fits).is_ok()
    }

    /// Counts one less.
    pub(super) fn end(&self) {
        self.running.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes at changes.
    pub(super) fn changes(&self) -> watch::Receiver<Changes> {
        self.changes.subscribe()
    }

    /// Unconfirmed transactions with tweaks after the entry of this number, at most `limit`.
    pub(super) fn after(&self, number: u64, limit: usize) -> Vec<Arc<Entry>> {
        self.unconfirmed.after(number, limit)
    }

    /// True if nobody scans.
    fn is_idle(&self) -> bool {
        self.running.load(Ordering::SeqCst) == 0
    }

    /// Wakes the scans that follow the tip, which has changed.
    pub(crate) fn tip_changed(&self) {
        self.changes.send_modify(|changes| changes.tips = changes.tips.wrapping_add(1));
    }

    /// Computes the tweaks of transactions that are new in the mempool, and wakes the scans if there are any. Forgets
    /// them while nobody scans. True if all are known now.
    pub(crate) fn look_at(&self, mempool: Option<&Mempool>) -> bool {
        let Some(mempool) = mempool.filter(|_| !self.is_idle()) else {
            self.unconfirmed.clear();
            return true;
        };
        let before = self.unconfirmed.last();
        let has_all = self.unconfirmed.update(mempool);
        if self.unconfirmed.last() != before {
            self.changes.send_modify(|changes| changes.others = changes.others.wrapping_add(1));
        }
        has_all
    }
}
