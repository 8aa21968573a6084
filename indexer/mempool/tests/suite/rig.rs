//! Node, watcher, our chain and a reader, driven as the program drives them.

use std::{
    collections::BTreeSet,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use bitcoin::{consensus::serialize, hashes::Hash};
use cairn_mempool::{MempoolOptions, MempoolState, MempoolWatcher};
use cairn_model::{CancelToken, MempoolDelta, MempoolTx, Txid};
use cairn_node::{NodeAuth, NodeClient, NodeConfig, RetryPolicy, TipWatcher, Topic, WatchOptions, endpoints};
use cairn_standin::{PoolTx, StandIn, StandInOptions};

use crate::{
    chain::{Chain, Move, txid},
    reader::Reader,
};

pub struct Rig {
    pub node: StandIn,
    pub zmq: Option<TipWatcher>,
    pub watcher: MempoolWatcher,
    pub chain: Chain,
    pub reader: Reader,
    started: Instant,
    origin: u64,
    /// Milliseconds that the clock was put forward.
    pub ahead: u64,
    /// Our chain does not follow while this is set.
    pub lag: bool,
    /// Snapshots when the node was last started again: before the next one, numbers may be those of its former life.
    since_restart: u64,
}

pub fn options() -> MempoolOptions {
    MempoolOptions {
        reconcile_pause: Duration::from_millis(100),
        rpc_timeout: Duration::from_secs(3),
        ..MempoolOptions::default()
    }
}

/// A node whose transactions are those of no other test: a port that one gives up may be another's a moment later.
pub fn node(premine: u32) -> StandIn {
    let test = thread::current();
    let name = test.name().unwrap_or_default();
    let seed = name.bytes().fold(1_000, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
    StandIn::start(StandInOptions { premine, seed, ..StandInOptions::default() }).unwrap()
}

pub fn client(node: &StandIn) -> NodeClient {
    let auth = NodeAuth::Cookie(node.cookie_file().to_owned());
    let config = NodeConfig { retry: RetryPolicy::NONE, ..NodeConfig::new(node.url(), auth) };
    NodeClient::new(&config, CancelToken::new()).unwrap()
}

impl Rig {
    /// Everything as usual; our chain is at the node's tip, all topics are subscribed.
    pub fn new(premine: u32) -> Self {
        Rig::with(node(premine), options(), &Topic::ALL)
    }

    pub fn with(node: StandIn, options: MempoolOptions, topics: &[Topic]) -> Self {
        let client = client(&node);
        let published = client.zmq_notifications().unwrap();
        let endpoints = endpoints(&published, topics, "127.0.0.1");
        node.settle().ok();
        let zmq = (!endpoints.is_empty()).then(|| {
            let watch = WatchOptions { endpoints, safety_poll: Duration::from_millis(500), ..WatchOptions::default() };
            TipWatcher::start(&client, watch).unwrap()
        });
        if zmq.is_some() {
            let count = topics.len();
            assert!(node.await_subscriptions(count, Duration::from_secs(10)).unwrap());
        }
        let mut chain = Chain::default();
        chain.follow(&node.world(), usize::MAX);
        Rig {
            watcher: MempoolWatcher::new(client, options),
            node,
            zmq,
            chain,
            reader: Reader::default(),
            started: Instant::now(),
            origin: SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64,
            ahead: 0,
            lag: false,
            since_restart: 0,
        }
    }

    pub fn now(&self) -> u64 {
        self.origin + self.started.elapsed().as_millis() as u64 + self.ahead
    }

    /// Hands over what was heard.
    pub fn hear(&mut self) {
        let now = self.now();
        let Some(zmq) = &self.zmq else { return };
        while let Ok(event) = zmq.events().try_recv() {
            self.watcher.hear(&event, now);
        }
    }

    /// Our chain goes up to `limit` blocks towards the node's.
    pub fn follow(&mut self, limit: usize) {
        let world = self.node.world();
        // Each block is announced before the next one is connected.
        for _ in 0..limit.min(1_000) {
            let moves = self.chain.follow(&world, 1);
            if moves.is_empty() {
                break;
            }
            for step in moves {
                let now = self.origin + self.started.elapsed().as_millis() as u64 + self.ahead;
                match step {
                    Move::Off(tip) => {
                        let deltas = self.watcher.disconnected(tip, now);
                        self.reader.apply(&deltas, &self.chain);
                    }
                    Move::On(block) => {
                        let txids = block.txids.clone();
                        let deltas = self.watcher.connected(block.tip, block.txids, block.spent, now);
                        self.reader.apply(&deltas, &self.chain);
                        assert!(txids.iter().all(|txid| !self.reader.txs.contains_key(txid)), "confirmed and not");
                    }
                }
            }
        }
    }

    /// One step of the watcher.
    pub fn step(&mut self) -> Duration {
        self.try_step().unwrap()
    }

    /// The same, where our chain may fail: it is then tried again.
    pub fn try_step(&mut self) -> Option<Duration> {
        let now = self.now();
        let outcome = (0..5).find_map(|_| self.watcher.step(&self.chain, self.chain.tip(), now).ok());
        let step = outcome?;
        self.reader.apply(&step.deltas, &self.chain);
        if let Some(MempoolDelta::Sequence(told)) = step.deltas.last() {
            self.check_completeness(*told);
        }
        Some(step.again_in)
    }

    /// Checks the announcement to readers that they have everything up to a number.
    fn check_completeness(&self, told: u64) {
        let world = self.node.world();
        let status = self.watcher.status();
        let at_tip = self.chain.tip().hash.0 == world.tip().to_byte_array();
        let sure = status.left_out == 0 && status.reconciliations > self.since_restart;
        if at_tip && sure && world.pool_sequence() == told {
            let node: BTreeSet<Txid> = world.pool_txids().into_iter().map(txid).collect();
            assert_eq!(node, self.reader.ids(), "complete up to {told}");
        }
    }

    /// The node was started again.
    pub fn restarted(&mut self) {
        self.since_restart = self.watcher.status().reconciliations;
    }

    /// We are started again, with what was kept.
    pub fn restart_watcher(&mut self, options: MempoolOptions) {
        let kept = self.watcher.txs().cloned().collect();
        self.watcher = MempoolWatcher::new(client(&self.node), options);
        self.watcher.restore(kept);
        self.since_restart = 0;
        self.reader.restarted();
        // A reader begins with the present state: nothing.
        self.reader.apply(&self.watcher.snapshot(), &self.chain);
    }

    /// Events, blocks, a step.
    pub fn turn(&mut self) -> Duration {
        self.hear();
        if !self.lag {
            self.follow(usize::MAX);
        }
        self.step()
    }

    pub fn turns(&mut self, n: u32) {
        for _ in 0..n {
            self.turn();
            thread::sleep(Duration::from_millis(3));
        }
    }

    /// Runs until a condition holds.
    #[track_caller]
    pub fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Rig) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let wait = self.turn();
            if is_so(self) {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{what}: {:#?}, ours {:?}, differences {:?}",
                self.watcher.status(),
                self.chain.tip(),
                self.differences()
            );
            thread::sleep(wait.min(Duration::from_millis(3)));
        }
    }

    fn differences(&self) -> Vec<String> {
        let node: BTreeSet<Txid> = self.node.world().pool_txids().into_iter().map(txid).collect();
        let ours = self.reader.ids();
        let lacking = node.difference(&ours).map(|txid| format!("lacks {txid}"));
        let extra = ours.difference(&node).map(|txid| format!("has {txid} ({:?})", self.watcher.get(txid).is_some()));
        lacking.chain(extra).collect()
    }

    pub fn is_same_set(&self) -> bool {
        let world = self.node.world();
        let node: BTreeSet<Txid> = world.pool_txids().into_iter().map(txid).collect();
        self.chain.tip().hash.0 == world.tip().to_byte_array() && node == self.reader.ids()
    }

    fn is_settled(&self) -> bool {
        let status = self.watcher.status();
        matches!(status.state, MempoolState::Synced | MempoolState::Polling)
            && status.pending == 0
            && status.departing == 0
            && status.gaps_open == 0
            && matches!(self.watcher.snapshot().last(), Some(MempoolDelta::Sequence(_)))
    }

    /// Runs until readers hold what the node holds, and compares everything.
    #[track_caller]
    pub fn settle(&mut self, what: &str) {
        // Only faults may need the clock's help.
        self.until(what, |rig| rig.is_same_set() && rig.is_settled());
        self.compare(what);
    }

    /// The same without messages: the clock is put forward until the next snapshot.
    #[track_caller]
    pub fn settle_by_snapshot(&mut self, what: &str) {
        loop {
            let waiting = self.node.waiting_actions();
            let before = self.watcher.status().reconciliations;
            self.ahead += 61_000;
            self.until(what, |rig| rig.watcher.status().reconciliations > before);
            self.settle(what);
            // The snapshot has the exact number, if nothing happened in the middle of it.
            if self.node.waiting_actions() == waiting {
                break;
            }
        }
        let (told, is) = (self.reader.sequence, self.node.world().pool_sequence());
        assert_eq!(told, Some(is), "{what}: sequence");
    }

    /// Everything that readers know is what the node knows.
    #[track_caller]
    pub fn compare(&self, what: &str) {
        let world = self.node.world();
        let pool = world.pool();
        assert_eq!(pool.len(), self.reader.txs.len(), "{what}");
        for entry in &pool {
            let tx = &self.reader.txs[&txid(entry.txid)];
            self.compare_tx(entry, tx, &world, what);
            assert_eq!(self.watcher.get(&tx.txid), Some(tx), "{what}");
        }
        assert_eq!(self.watcher.len(), pool.len(), "{what}");
        assert_eq!(self.reader.tip, Some(self.chain.tip()), "{what}");
        let mut late = Reader::default();
        late.apply(&self.watcher.snapshot(), &self.chain);
        assert!(late.txs == self.reader.txs && late.tip == self.reader.tip, "{what}: a late reader");
        assert_eq!(late.sequence, self.reader.sequence, "{what}: a late reader");
        assert_eq!(late.floor, self.reader.floor, "{what}: a late reader");
    }

    #[track_caller]
    fn compare_tx(&self, entry: &PoolTx, tx: &MempoolTx, world: &cairn_standin::World, what: &str) {
        let theirs = &entry.tx;
        assert_eq!((tx.fee_sats, tx.adjusted_vsize(), tx.weight()), (entry.fee, entry.vsize, entry.weight), "{what}");
        assert_eq!(tx.wtxid.0, theirs.compute_wtxid().to_byte_array());
        assert_eq!((tx.version, tx.lock_time), (theirs.version.0, theirs.lock_time.to_consensus_u32()));
        assert_eq!((tx.size as usize, tx.base_size as usize), (theirs.total_size(), theirs.base_size()));
        assert_eq!(tx.raw.as_deref(), Some(&serialize(theirs.as_ref())[..]));
        assert_eq!(tx.inputs.len(), theirs.input.len());
        for (input, theirs) in tx.inputs.iter().zip(&theirs.input) {
            let output = world.txout(&theirs.previous_output).unwrap();
            assert_eq!((input.prev_txid, input.prev_vout), crate::chain::outpoint(&theirs.previous_output));
            assert_eq!((input.sequence, input.value), (theirs.sequence.0, output.value.to_sat()));
            assert_eq!(*input.script, *output.script_pubkey.as_bytes());
            let height = self.chain.has(&(input.prev_txid, input.prev_vout)).map(|coin| coin.height);
            assert!(input.birth.is_none() || input.birth == height, "{what}: birth {:?}, is {height:?}", input.birth);
        }
        assert_eq!(tx.outputs.len(), theirs.output.len());
        for (output, theirs) in tx.outputs.iter().zip(&theirs.output) {
            assert_eq!((output.value, &*output.script), (theirs.value.to_sat(), theirs.script_pubkey.as_bytes()));
        }
    }
}
