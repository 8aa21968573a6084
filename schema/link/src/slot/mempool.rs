//! The mempool for requests. The mempool watcher applies deltas, requests read it.
//!
//! A request for confirmed and unconfirmed data must not count a transaction twice or omit it. So it takes the read
//! lock, then a view of the index, and continues only if both have the same tip. Otherwise it waits the few
//! milliseconds between a commit and its deltas.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::{Duration, Instant},
};

use cairn_clock::now_ms;
use cairn_domain::mempool::{Mempool, MempoolLimits, Projection, Stats, Template};
use cairn_model::{BlockHash, MempoolDelta};

/// Deltas applied under one lock while the mempool is being loaded. No request reads it then, but the lock is fair.
const LOADING_STEP: usize = 1_000;
/// Minimum interval between projections without a new block.
const PROJECTION_PAUSE: Duration = Duration::from_millis(500);
/// Projections may use one part in this many of a processor's time.
const PROJECTION_SHARE: u32 = 5;

/// Why the mempool cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Absent {
    /// The index is built from block files only, so there is no mempool.
    NotWatched,
    /// It is being read from the node.
    Loading,
    /// The mempool watcher has stopped, or has lost the node.
    Lost,
    /// The index is not at the tip that the mempool builds on.
    OtherTip,
}

impl Absent {
    /// Stable code.
    pub fn code(self) -> &'static str {
        match self {
            Absent::NotWatched => "no_mempool_source",
            Absent::Loading => "mempool_loading",
            Absent::Lost => "mempool_lost",
            Absent::OtherTip => "mempool_behind",
        }
    }

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

struct State {
    mempool: Mempool,
    /// Why it must not be read; `None` if it may.
    absent: Option<Absent>,
    /// Time of the last applied delta, in milliseconds since 1970.
    as_of_ms: u64,
}

/// The mempool, for requests.
pub struct MempoolSlot {
    state: RwLock<State>,
    projection: RwLock<Option<Arc<Projection>>>,
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
        MempoolSlot {
            state: RwLock::new(State { mempool: Mempool::new(limits), absent: Some(Absent::NotWatched), as_of_ms: 0 }),
            projection: RwLock::default(),
            template: RwLock::new(Template::default()),
            projecting: Mutex::default(),
            moved: (Mutex::default(), Condvar::new()),
            epoch: now_ms(),
        }
    }

    /// Marks the mempool as available, or as absent with a reason. Deltas also make it available.
    pub fn set_absent(&self, absent: Absent) {
        self.write().absent = Some(absent);
    }

    /// The watcher has resumed: the mempool becomes valid again if it was only out of reach.
    pub fn found_again(&self) {
        let mut state = self.write();
        if state.absent == Some(Absent::Lost) {
            state.absent = None;
        }
    }

    /// Sets the node's block template rules for further projections.
    pub fn set_template(&self, template: Template) {
        *self.template.write().unwrap_or_else(PoisonError::into_inner) = template;
    }

    /// Applies deltas in order. They become visible atomically, except while the mempool is being loaded and not
    /// visible at all.
    pub fn apply<'d>(&self, deltas: impl IntoIterator<Item = &'d MempoolDelta>) {
        let now = now_ms();
        let mut deltas = deltas.into_iter().peekable();
        while deltas.peek().is_some() {
            let mut state = self.write();
            state.absent = None;
            state.as_of_ms = now;
            let mut applied = 0;
            while applied < LOADING_STEP || !state.mempool.stats(now).loading {
                let Some(delta) = deltas.next() else { break };
                state.mempool.apply(delta, now);
                applied += 1;
            }
        }
        *self.moved.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.moved.1.notify_all();
    }

    /// Recomputes the projection if the mempool has changed: immediately after a new tip, otherwise limited to a small
    /// share of a processor. Call it after deltas and periodically. Returns true if it did.
    pub fn refresh(&self) -> bool {
        let Ok(mut last) = self.projecting.try_lock() else { return false };
        let known = self.projection();
        let outline = {
            let state = self.read();
            let stats = state.mempool.stats(now_ms());
            if state.absent.is_some() || stats.loading {
                return false;
            }
            let fresh = known.as_ref().is_some_and(|p| p.generation == stats.generation);
            let same_tip = known.as_ref().is_some_and(|p| p.tip == stats.tip);
            let early =
                last.is_some_and(|(at, took)| same_tip && at.elapsed() < PROJECTION_PAUSE.max(took * PROJECTION_SHARE));
            if fresh || early {
                return false;
            }
            state.mempool.outline()
        };
        let started = Instant::now();
        let template = *self.template.read().unwrap_or_else(PoisonError::into_inner);
        let projection = Arc::new(outline.project(&template));
        *self.projection.write().unwrap_or_else(PoisonError::into_inner) = Some(projection);
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
        self.projection.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Statistics of the mempool; `None` while it cannot be read.
    #[must_use]
    pub fn stats(&self) -> Option<Stats> {
        let state = self.read();
        let stats = state.mempool.stats(now_ms());
        (state.absent.is_none() && !stats.loading).then_some(stats)
    }

    /// Its whole state as deltas, for a new reader; empty while it cannot be read.
    #[must_use]
    pub fn snapshot(&self) -> Vec<MempoolDelta> {
        let state = self.read();
        if state.absent.is_some() { Vec::new() } else { state.mempool.snapshot() }
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the read lock for a request.
    pub fn lock(&self) -> Lock<'_> {
        Lock { state: self.read(), epoch: self.epoch }
    }

    /// Counter of applied deltas: a mark for [`Self::wait`].
    pub fn mark(&self) -> u64 {
        *self.moved.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for deltas after `mark`, until the timeout.
    pub fn wait(&self, mark: u64, at_most: Duration) {
        let count = self.moved.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Whether it timed out shows when the caller looks again.
        drop(self.moved.1.wait_timeout_while(count, at_most, |count| *count == mark));
    }
}

/// A read guard: the mempool does not change while it is held.
pub struct Lock<'s> {
    state: RwLockReadGuard<'s, State>,
    epoch: u64,
}

impl Lock<'_> {
    /// Why it cannot be read together with an index at `tip`; `None` if it can.
    pub fn absent(&self, tip: Option<&BlockHash>) -> Option<Absent> {
        let stats = self.state.mempool.stats(self.state.as_of_ms);
        match (self.state.absent, stats.tip) {
            (Some(absent), _) => Some(absent),
            (None, _) if stats.loading => Some(Absent::Loading),
            (None, Some(ours)) if Some(&ours.hash) == tip => None,
            _ => Some(Absent::OtherTip),
        }
    }

    /// The mempool.
    pub fn mempool(&self) -> &Mempool {
        &self.state.mempool
    }

    /// Time of its data, in milliseconds since 1970.
    pub fn as_of_ms(&self) -> u64 {
        self.state.as_of_ms
    }

    /// Identifies the state, also across runs of the process.
    pub fn version(&self) -> [u8; 16] {
        let mut version = [0; 16];
        version[..8].copy_from_slice(&self.epoch.to_be_bytes());
        version[8..].copy_from_slice(&self.state.mempool.stats(self.state.as_of_ms).generation.to_be_bytes());
        version
    }
}
