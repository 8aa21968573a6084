//! The mempool for requests, as versions that do not change. The mempool watcher applies deltas, which makes the next
//! version; requests pin the current one.
//!
//! No lock is held over work: to pin and to replace a version are copies of pointers. The writer never waits for a
//! reader, and a reader may keep its version for as long as it likes; `cairn_domain::mempool` says what that costs.
//!
//! A request for confirmed and unconfirmed data must not count a transaction twice or omit it. So it pins the mempool,
//! then a view of the index, and continues only if both have the same tip. Otherwise it waits the few milliseconds
//! between a commit and its deltas.

use std::{
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

use cairn_clock::now_ms;
use cairn_domain::mempool::{Mempool, MempoolLimits, Projection, Stats, Template};
use cairn_model::{BlockHash, MempoolDelta};
use parking_lot::{Condvar, Mutex, RwLock};

/// Minimum interval between projections without a new block.
const PROJECTION_PAUSE: Duration = Duration::from_millis(500);
/// Projections may use one part in this many of a processor's time.
const PROJECTION_SHARE: u32 = 5;

cairn_model::words! {
    /// Why the mempool cannot be read.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Absent {
        /// The index is built from block files only, so there is no mempool.
        NotWatched = "no_mempool_source",
        /// It is being read from the node.
        Loading = "mempool_loading",
        /// The mempool watcher has stopped, or has lost the node.
        Lost = "mempool_lost",
        /// The index is not at the tip that the mempool builds on.
        OtherTip = "mempool_behind",
    }
    /// Stable code.
    pub fn code;
}

impl Absent {
    /// A clause that explains it.
    pub fn reason(self) -> &'static str {
        match self {
            Absent::NotWatched => "no mempool source: the index is fed from block files alone",
            Absent::Loading => "the mempool is still being read from the node",
            Absent::Lost => "the process that watches the mempool does not run or has lost its node",
            Absent::OtherTip => "index and mempool are at different tips for the moment",
        }
    }
}

/// The mempool at one moment.
#[derive(Debug)]
struct Version {
    mempool: Mempool,
    /// Why it must not be read; `None` if it may.
    absent: Option<Absent>,
    /// Time of the last applied delta, in milliseconds since 1970.
    as_of_ms: u64,
}

/// Data that a request pins together, so that a projection is never newer than its mempool.
#[derive(Clone)]
struct Published {
    version: Arc<Version>,
    projection: Option<Arc<Projection>>,
}

/// The mempool, for requests.
pub struct MempoolSlot {
    /// Locked only to copy or replace pointers.
    published: RwLock<Published>,
    /// The mempool that deltas are applied to; it becomes the next version. Serializes writers.
    next: Mutex<Mempool>,
    template: RwLock<Template>,
    /// Serializes projections; time and duration of the last one.
    projecting: Mutex<Option<(Instant, Duration)>>,
    /// Signals applied deltas.
    moved: (Mutex<u64>, Condvar),
    /// Identifies the run of the process, because generations begin at 0 in each run.
    epoch: u64,
}

impl Default for MempoolSlot {
    fn default() -> Self {
        MempoolSlot::new(MempoolLimits::default())
    }
}

impl MempoolSlot {
    /// A slot for a mempool that is not watched yet.
    #[must_use]
    pub fn new(limits: MempoolLimits) -> Self {
        let mempool = Mempool::new(limits);
        let version = Version { mempool: mempool.clone(), absent: Some(Absent::NotWatched), as_of_ms: 0 };
        MempoolSlot {
            published: RwLock::new(Published { version: Arc::new(version), projection: None }),
            next: Mutex::new(mempool),
            template: RwLock::new(Template::default()),
            projecting: Mutex::default(),
            moved: (Mutex::default(), Condvar::new()),
            epoch: now_ms(),
        }
    }

    /// Marks the mempool as absent with a reason. Deltas make it available again.
    pub fn set_absent(&self, absent: Absent) {
        self.mark_absent(|_| Some(absent));
    }

    /// The watcher has resumed: the mempool becomes valid again if it was only out of reach.
    pub fn found_again(&self) {
        self.mark_absent(|absent| absent.filter(|absent| *absent != Absent::Lost));
    }

    fn mark_absent(&self, change: impl FnOnce(Option<Absent>) -> Option<Absent>) {
        let next = self.next.lock();
        let before = self.published().version;
        let absent = change(before.absent);
        if absent != before.absent {
            self.publish(&next, absent, before.as_of_ms);
        }
    }

    /// Sets the node's block template rules for further projections.
    pub fn set_template(&self, template: Template) {
        *self.template.write() = template;
    }

    /// Applies deltas in order. They become visible at once, as one version. It takes time in proportion to the deltas,
    /// not to the mempool, and never waits for readers.
    pub fn apply<'d>(&self, deltas: impl IntoIterator<Item = &'d MempoolDelta>) {
        let now = now_ms();
        let mut next = self.next.lock();
        let mut is_changed = false;
        for delta in deltas {
            next.apply(delta, now);
            is_changed = true;
            if matches!(delta, MempoolDelta::Reset { .. }) && self.published().version.absent.is_some() {
                // Nobody may read the previous one: its memory is freed before the new one takes as much.
                self.publish(&next, None, now);
            }
        }
        if is_changed {
            self.publish(&next, None, now);
        }
        drop(next);
        *self.moved.0.lock() += 1;
        self.moved.1.notify_all();
    }

    /// Makes the next version the current one.
    fn publish(&self, next: &Mempool, absent: Option<Absent>, as_of_ms: u64) {
        let version = Arc::new(Version { mempool: next.clone(), absent, as_of_ms });
        // Data that only the previous version held is dropped after the lock.
        let _previous = {
            let mut published = self.published.write();
            mem::replace(&mut published.version, version)
        };
    }

    /// Recomputes the projection if the mempool has changed: immediately after a new tip, otherwise limited to a small
    /// share of a processor. Call it after deltas and periodically. Returns true if it did.
    pub fn refresh(&self) -> bool {
        let Some(mut last) = self.projecting.try_lock() else { return false };
        let template = *self.template.read();
        let Published { version, projection: known } = self.published();
        let stats = version.mempool.stats(now_ms());
        if version.absent.is_some() || stats.loading {
            return false;
        }
        let fresh = known.as_ref().is_some_and(|p| p.generation == stats.generation && p.template == template);
        let same_tip = known.as_ref().is_some_and(|p| p.tip == stats.tip);
        let early =
            last.is_some_and(|(at, took)| same_tip && at.elapsed() < PROJECTION_PAUSE.max(took * PROJECTION_SHARE));
        if fresh || early {
            return false;
        }
        let started = Instant::now();
        let outline = version.mempool.outline();
        // It is not held over the longest part.
        drop(version);
        let projection = Some(Arc::new(outline.project(&template)));
        let _previous = {
            let mut published = self.published.write();
            mem::replace(&mut published.projection, projection)
        };
        *last = Some((Instant::now(), started.elapsed()));
        true
    }

    /// Recomputes the projection if it is due, then waits for the next change or the timeout: the body of a loop.
    pub fn keep_fresh(&self, at_most: Duration) {
        let mark = self.mark();
        self.refresh();
        self.wait(mark, at_most);
    }

    /// The newest projection.
    #[must_use]
    pub fn projection(&self) -> Option<Arc<Projection>> {
        self.published().projection
    }

    /// Statistics of the mempool; `None` while it cannot be read.
    #[must_use]
    pub fn stats(&self) -> Option<Stats> {
        let version = self.published().version;
        let stats = version.mempool.stats(now_ms());
        (version.absent.is_none() && !stats.loading).then_some(stats)
    }

    /// Its whole state as deltas, for a new reader; empty while it cannot be read.
    #[must_use]
    pub fn snapshot(&self) -> Vec<MempoolDelta> {
        let version = self.published().version;
        if version.absent.is_some() { Vec::new() } else { version.mempool.snapshot() }
    }

    fn published(&self) -> Published {
        self.published.read().clone()
    }

    /// Pins the current version for a request. Takes constant time and never waits for a writer's work.
    #[must_use]
    pub fn pin(&self) -> PinnedMempool {
        PinnedMempool { published: self.published(), epoch: self.epoch }
    }

    /// Counter of applied deltas: a mark for [`Self::wait`].
    pub fn mark(&self) -> u64 {
        *self.moved.0.lock()
    }

    /// Waits for deltas after `mark`, until the timeout.
    pub fn wait(&self, mark: u64, at_most: Duration) {
        // The caller looks again, and so sees whether it timed out.
        self.moved.1.wait_while_for(&mut self.moved.0.lock(), |count| *count == mark, at_most);
    }
}

/// A version of the mempool: it never changes. It may be kept, at the price of the memory that it holds.
#[derive(Clone)]
pub struct PinnedMempool {
    published: Published,
    epoch: u64,
}

impl PinnedMempool {
    fn version_stats(&self) -> Stats {
        self.published.version.mempool.stats(self.as_of_ms())
    }

    /// Why it cannot be read together with an index at `tip`; `None` if it can.
    #[must_use]
    pub fn absent(&self, tip: Option<&BlockHash>) -> Option<Absent> {
        let stats = self.version_stats();
        match (self.published.version.absent, stats.tip) {
            (Some(absent), _) => Some(absent),
            (None, _) if stats.loading => Some(Absent::Loading),
            (None, Some(ours)) if Some(&ours.hash) == tip => None,
            _ => Some(Absent::OtherTip),
        }
    }

    /// The mempool.
    #[must_use]
    pub fn mempool(&self) -> &Mempool {
        &self.published.version.mempool
    }

    /// The newest projection of this version or an earlier one.
    #[must_use]
    pub fn projection(&self) -> Option<&Arc<Projection>> {
        self.published.projection.as_ref()
    }

    /// Time of its data, in milliseconds since 1970.
    #[must_use]
    pub fn as_of_ms(&self) -> u64 {
        self.published.version.as_of_ms
    }

    /// Identifies the version, also across runs of the process.
    #[must_use]
    pub fn version(&self) -> [u8; 16] {
        let mut version = [0; 16];
        version[..8].copy_from_slice(&self.epoch.to_be_bytes());
        version[8..].copy_from_slice(&self.version_stats().generation.to_be_bytes());
        version
    }
}
