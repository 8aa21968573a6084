//! Where requests get the mempool from: fed with deltas by whoever watches the node, read by requests that need it.
//!
//! A request that speaks of confirmed and unconfirmed data must not count a transaction twice or not at all. So it takes
//! the lock for reading, then its view of the index, and goes on only if both are at the same tip; else it waits for the
//! few milliseconds that lie between a commit and its deltas.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::{Duration, Instant},
};

use cairn_clock::now_ms;
use cairn_domain::mempool::{Mempool, MempoolLimits, Projection, Stats, Template};
use cairn_model::{BlockHash, MempoolDelta};

/// Deltas that are applied under one lock while the mempool is being loaded. Nobody reads it then, but the lock is fair.
const LOADING_STEP: usize = 1_000;
/// Shortest time between two projections that no block made necessary.
const PROJECTION_PAUSE: Duration = Duration::from_millis(500);
/// A projection may take this share of the time of a processor: 1 in so many.
const PROJECTION_SHARE: u32 = 5;

/// Why there is no mempool to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Absent {
    /// The index is fed from block files alone: nobody watches a mempool.
    NotWatched,
    /// It is being read from the node.
    Loading,
    /// Whoever watched it is gone, or lost the node.
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

    /// A sentence without its end.
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
    /// Why it must not be read, whatever is in it.
    absent: Option<Absent>,
    /// When a delta was applied last, in milliseconds since 1970.
    as_of_ms: u64,
}

/// The mempool, for requests.
pub struct MempoolSlot {
    state: RwLock<State>,
    projection: RwLock<Option<Arc<Projection>>>,
    template: RwLock<Template>,
    /// Keeps projections one at a time; when the last was made and how long it took.
    projecting: Mutex<Option<(Instant, Duration)>>,
    /// Says that deltas were applied.
    moved: (Mutex<u64>, Condvar),
    /// Tells one run of the process from another: generations begin at 0 in each.
    epoch: u64,
}

impl Default for MempoolSlot {
    fn default() -> Self {
        MempoolSlot::new(MempoolLimits::default())
    }
}

impl MempoolSlot {
    /// A slot for a mempool that nobody watches yet.
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

    /// Says that it is watched from now on, or that nobody watches it any more, and why. Deltas end the absence by
    /// themselves.
    pub fn set_absent(&self, absent: Absent) {
        self.write().absent = Some(absent);
    }

    /// Whoever watches it is back at work: what is known counts again, if it was only out of sight.
    pub fn found_again(&self) {
        let mut state = self.write();
        if state.absent == Some(Absent::Lost) {
            state.absent = None;
        }
    }

    /// The rules of the node's miner, for projections from now on.
    pub fn set_template(&self, template: Template) {
        *self.template.write().unwrap_or_else(PoisonError::into_inner) = template;
    }

    /// Applies deltas in order. All of them become visible in one step, unless they belong to a mempool that is being
    /// loaded, which nobody sees.
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

    /// Makes the projection anew if the mempool changed, at most so often that it takes a small share of a processor;
    /// at once after a new tip. Call it after deltas and now and then. Returns whether it did.
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

    /// Makes the projection anew if it is due, then waits for the next change, at most so long: the body of a loop.
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

    /// The mempool in numbers; `None` while it cannot be read.
    #[must_use]
    pub fn stats(&self) -> Option<Stats> {
        let state = self.read();
        let stats = state.mempool.stats(now_ms());
        (state.absent.is_none() && !stats.loading).then_some(stats)
    }

    /// Its whole state as deltas, for a reader that comes late; empty while it cannot be read.
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

    /// Takes the lock for a request.
    pub fn lock(&self) -> Lock<'_> {
        Lock { state: self.read(), epoch: self.epoch }
    }

    /// How often deltas were applied: a mark for [`Self::wait`].
    pub fn mark(&self) -> u64 {
        *self.moved.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for deltas after `mark`, at most so long.
    pub fn wait(&self, mark: u64, at_most: Duration) {
        let count = self.moved.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Whether it timed out shows when the caller looks again.
        drop(self.moved.1.wait_timeout_while(count, at_most, |count| *count == mark));
    }
}

/// The mempool, which does not change while this is held.
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

    /// When it was current, in milliseconds since 1970.
    pub fn as_of_ms(&self) -> u64 {
        self.state.as_of_ms
    }

    /// Tells one state from every other, also of other runs of the process.
    pub fn version(&self) -> [u8; 16] {
        let mut version = [0; 16];
        version[..8].copy_from_slice(&self.epoch.to_be_bytes());
        version[8..].copy_from_slice(&self.state.mempool.stats(self.state.as_of_ms).generation.to_be_bytes());
        version
    }
}
