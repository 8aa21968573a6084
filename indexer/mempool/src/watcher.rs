//! The watcher: its state and its step.

use std::{collections::HashMap, sync::Arc, time::Duration};

use cairn_model::{BlockHash, Height, MempoolDelta, MempoolTx, NodeFloor, Txid};
use cairn_node::{NodeClient, NodeEvent, RetryPolicy, Topic};

use crate::{
    CoinSource, CoinsError, Corrections, MempoolOptions, MempoolState, MempoolStatus, arrivals::Arrivals,
    body::BodyCache, clock::Clock, departures::Departures, options::ms, pool::PublishedMempool, queue::Queue,
    remembered::Remembered, rpc::Rpc,
};

/// Maximum time between two steps.
const LONGEST_WAIT: u64 = 1_000;

/// The tip of our index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexTip {
    /// Its height.
    pub height: Height,
    /// Its hash.
    pub hash: BlockHash,
    /// Time of its header, seconds since 1970.
    pub time: u32,
}

/// Result of a step.
#[derive(Clone, PartialEq, Debug)]
pub struct MempoolUpdate {
    /// Deltas that readers must apply, in this order.
    pub deltas: Vec<MempoolDelta>,
    /// When to call again if no message arrives; zero if there is work left. After a message, call at once.
    pub again_in: Duration,
}

/// Why a step failed. Errors of the node are not included: they are in the status, and the work waits.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The index could not be read. The next step returns the deltas found so far.
    #[error("cannot read coins from the index: {0}")]
    Coins(#[source] CoinsError),
}

#[derive(Debug, Default)]
pub(crate) struct TipState {
    /// Our tip.
    pub(crate) tip: Option<IndexTip>,
    /// The node's last reported tip.
    pub(crate) node: Option<BlockHash>,
    /// The node's tip is not ours.
    pub(crate) apart: bool,
    /// When blocks of our chain were last disconnected, in elapsed milliseconds.
    pub(crate) reorganized: Option<u64>,
    /// Readers have not got a complete state since.
    pub(crate) resuming: bool,
}

/// Snapshots: times and results.
#[derive(Debug, Default)]
pub(crate) struct Sync {
    /// The first snapshot was taken.
    pub(crate) started: bool,
    /// The node's sequence number of the next unknown change.
    pub(crate) next: u64,
    /// Changes may be missing: a snapshot is due, and the state is incomplete until then.
    pub(crate) broken: bool,
    /// When a snapshot became useful, in elapsed milliseconds.
    pub(crate) hint: Option<u64>,
    /// When the last one was compared, and the earliest time of the next, in elapsed milliseconds.
    pub(crate) done: Option<u64>,
    pub(crate) not_before: u64,
    /// One was attempted.
    pub(crate) tried: bool,
    /// When the last one was compared, in milliseconds since 1970.
    pub(crate) done_wall: Option<u64>,
    pub(crate) count: u64,
    /// Whether the node reports its mempool as loaded, and the time since which we wait for that.
    pub(crate) node_loaded: Option<bool>,
    pub(crate) loading_since: Option<u64>,
    pub(crate) last: Corrections,
    pub(crate) total: Corrections,
    /// Corrections of the last snapshot that a delayed message may still announce; true for an addition.
    pub(crate) unexplained: HashMap<Txid, bool>,
    /// Transactions beyond the limit since the last snapshot.
    pub(crate) too_many: u64,
    pub(crate) gaps_open: u64,
    pub(crate) gaps_repaired: u64,
}

/// Keeps a copy of the node's mempool. See the crate's documentation.
#[derive(Debug)]
pub struct MempoolWatcher {
    pub(crate) client: NodeClient,
    pub(crate) options: MempoolOptions,
    pub(crate) clock: Clock,
    pub(crate) queue: Queue,
    pub(crate) bodies: BodyCache,
    /// Transactions of an earlier run, until the mempool is loaded.
    pub(crate) kept: HashMap<Txid, Arc<MempoolTx>>,
    pub(crate) pool: PublishedMempool,
    pub(crate) arrivals: Arrivals,
    pub(crate) departures: Departures,
    pub(crate) remembered: Remembered,
    pub(crate) chain: TipState,
    pub(crate) sync: Sync,
    pub(crate) rpc: Rpc,
    /// Number of transactions to request at once.
    pub(crate) batch: usize,
    pub(crate) floor: Option<NodeFloor>,
    /// When it was last requested, in elapsed milliseconds.
    pub(crate) floor_asked: Option<u64>,
    /// The highest feerate that was left out because of the memory limit.
    pub(crate) full_at: Option<u64>,
    /// True if the `sequence` topic is received.
    pub(crate) hears_sequence: bool,
    /// Position of the next change among all changes.
    pub(crate) order: u64,
    pub(crate) out: Vec<MempoolDelta>,
    /// The sequence number last published to readers, unless something changed since.
    pub(crate) announced: Option<u64>,
    synced: bool,
}

impl MempoolWatcher {
    /// Watches the mempool of the node behind `client`. Sends no request yet.
    #[must_use]
    pub fn new(client: NodeClient, options: MempoolOptions) -> Self {
        // The steps are the retries.
        let client = client.with_retry(RetryPolicy::NONE).with_timeout(options.rpc_timeout);
        MempoolWatcher {
            client,
            clock: Clock::default(),
            queue: Queue::default(),
            bodies: BodyCache::default(),
            kept: HashMap::new(),
            pool: PublishedMempool::default(),
            arrivals: Arrivals::default(),
            departures: Departures::default(),
            remembered: Remembered::new(options.max_remembered),
            chain: TipState::default(),
            sync: Sync::default(),
            rpc: Rpc::default(),
            batch: options.fetch_batch.max(1),
            floor: None,
            floor_asked: None,
            full_at: None,
            hears_sequence: false,
            order: 0,
            out: Vec::new(),
            announced: None,
            synced: false,
            options,
        }
    }

    /// Sets the transactions of an earlier run. If the node still has them, their bytes and first-seen times are
    /// reused. Call it before the first step.
    pub fn restore(&mut self, kept: Vec<Arc<MempoolTx>>) {
        for tx in kept.into_iter().take(self.options.max_transactions) {
            self.kept.insert(tx.txid, tx);
        }
    }

    /// Sets the topics of the current ZMQ connection. Without the `sequence` topic, snapshots are taken more often. An
    /// event of this topic implies it; only its absence must be reported.
    pub fn listening(&mut self, topics: &[Topic]) {
        self.hears_sequence = topics.contains(&Topic::Sequence);
    }

    /// Queues an event received at `now_ms` (milliseconds since 1970). Cheap.
    pub fn hear(&mut self, event: &NodeEvent, now_ms: u64) {
        self.queue.push(event, now_ms, &self.options);
    }

    /// Does a bounded amount of work: processes events, sends a few requests to the node, resolves coins. `tip` is the
    /// tip of our index, to which `coins` belong; `now_ms` is in milliseconds since 1970.
    ///
    /// # Errors
    /// Fails with [`WatchError`]; the next step resumes where this one ended.
    pub fn step(&mut self, coins: &dyn CoinSource, tip: IndexTip, now_ms: u64) -> Result<MempoolUpdate, WatchError> {
        self.clock.set(now_ms);
        self.meet(tip);
        self.listen();
        // Before the snapshot, because the missing coins may have just arrived.
        self.admit(coins)?;
        if self.queue.is_empty() && self.is_snapshot_due() {
            self.reconcile();
            self.admit(coins)?;
        }
        if self.sync.started {
            if !self.arrivals.has_ready() && self.fetch() {
                self.admit(coins)?;
            }
            self.dismiss(coins)?;
        }
        self.conclude();
        let deltas = std::mem::take(&mut self.out);
        Ok(MempoolUpdate { deltas, again_in: Duration::from_millis(self.wait()) })
    }

    /// Publishes the sequence number once readers have everything.
    fn conclude(&mut self) {
        let complete = self.sync.started
            && !self.sync.broken
            && self.sync.loading_since.is_none()
            && self.queue.is_empty()
            && self.arrivals.unsettled() == 0
            && self.departures.is_empty();
        self.synced = complete || (self.synced && !self.sync.broken && self.sync.loading_since.is_none());
        if !self.out.is_empty() {
            self.announced = None;
        }
        if complete && self.announced != Some(self.sync.next) {
            self.out.push(MempoolDelta::Sequence(self.sync.next));
            self.announced = Some(self.sync.next);
            self.chain.resuming = false;
            self.forget_kept();
        }
    }

    /// Drops transactions of an earlier run that the node no longer has, but stores their first-seen times.
    fn forget_kept(&mut self) {
        for (txid, tx) in std::mem::take(&mut self.kept) {
            if !self.pool.contains(&txid) && !self.arrivals.contains(&txid) {
                self.remembered.insert(txid, Some(tx.first_seen_ms), None);
            }
        }
    }

    /// Milliseconds until the next step.
    fn wait(&self) -> u64 {
        let pause = self.rpc.pause(self.clock.passed);
        if !self.queue.is_empty() || (self.sync.started && self.arrivals.has_ready()) {
            return 0;
        }
        let fetch = if self.sync.started && self.arrivals.has_fetch() { pause } else { LONGEST_WAIT };
        let snapshot = self.snapshot_in().max(pause);
        fetch.min(snapshot).min(self.dismissal_in()).min(LONGEST_WAIT)
    }

    /// The whole state for a new reader.
    #[must_use]
    pub fn snapshot(&self) -> Vec<MempoolDelta> {
        let mut deltas = vec![MempoolDelta::Reset { sequence: self.sync.next }];
        deltas.extend(self.floor.map(MempoolDelta::NodeFloor));
        let txs = self.pool.parents_first();
        deltas.extend(txs.iter().filter_map(|txid| self.pool.get(txid)).map(Arc::clone).map(MempoolDelta::Add));
        deltas.extend(self.chain.tip.map(block));
        deltas.extend(self.announced.map(MempoolDelta::Sequence));
        deltas
    }

    /// The transactions that readers have, unordered.
    pub fn txs(&self) -> impl Iterator<Item = &Arc<MempoolTx>> {
        self.pool.iter()
    }

    /// A transaction that readers have.
    #[must_use]
    pub fn get(&self, txid: &Txid) -> Option<&Arc<MempoolTx>> {
        self.pool.get(txid)
    }

    /// Number of transactions that readers have.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pool.len()
    }

    /// True if readers have no transaction.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pool.len() == 0
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> MempoolStatus {
        let (known, coming) = (self.pool.len() as u64, self.arrivals.unsettled() as u64);
        let state = match (self.sync.started, self.synced, self.hears_sequence) {
            (false, ..) if !self.sync.tried => MempoolState::Off,
            (true, true, true) => MempoolState::Synced,
            (true, true, false) => MempoolState::Polling,
            _ => MempoolState::Loading { known, total: known + coming },
        };
        MempoolStatus {
            state,
            transactions: known,
            usage_bytes: self.usage(),
            node_sequence: self.sync.started.then_some(self.sync.next),
            node_loaded: self.sync.node_loaded,
            last_reconciled: self.sync.done_wall.map(|wall| wall / 1000),
            reconciliations: self.sync.count,
            last_corrections: self.sync.last,
            corrections: self.sync.total,
            gaps_repaired: self.sync.gaps_repaired,
            gaps_open: self.sync.gaps_open,
            pending: coming,
            unresolved: self.arrivals.unresolved() as u64,
            refused: self.arrivals.refused() as u64,
            left_out: self.arrivals.left_out() as u64 + self.sync.too_many,
            departing: self.departures.len() as u64,
            error: self.rpc.error().map(str::to_owned),
        }
    }

    /// Memory of transactions with readers and on their way, in bytes.
    pub(crate) fn usage(&self) -> u64 {
        /// Memory of an arrival without its bytes.
        const ARRIVAL: usize = 256;
        self.pool.bytes() + (self.arrivals.len() * ARRIVAL + self.arrivals.body_bytes()) as u64
    }

    /// Whether this waiting time is over, counted from a moment in passed milliseconds.
    pub(crate) fn is_over(&self, since: u64, time: Duration) -> bool {
        self.clock.passed >= since.saturating_add(ms(time))
    }
}

/// Returns the delta that announces a tip.
pub(crate) fn block(tip: IndexTip) -> MempoolDelta {
    MempoolDelta::Block { height: tip.height, hash: tip.hash, time: tip.time }
}
