//! Events of a script: a seed becomes a list of acts, with faults meanwhile.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use bitcoin::{Amount, TxOut, Txid};
use cairn_standin::{
    BlockPlan, HttpFault, HttpRule, Match, Payment, Restart, StandIn, Txs, When, World, ZmqFault, ZmqRule,
};
use cairn_support::Cast;
use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;

use crate::witness::Watch;

/// Something that happens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Act {
    Send,
    /// A payment to the watched script.
    Watched,
    Replace,
    Cpfp,
    Chain,
    /// A block with a rival of a transaction in the mempool.
    Conflict,
    Mine,
    MineNothing,
    /// The node hears of headers first, of the blocks later.
    Lag,
    /// The ZMQ sockets are closed for a while.
    Deafness,
    RestartNode,
    KillWriter,
    StopWriter,
    RestartReader,
    // From here on, payments may be lost.
    Reorg,
    /// A reorganization in the middle of a request.
    ReorgInRequest,
    Invalidate,
    Reconsider,
    Evict,
    Trim,
    Expire,
    LoseMempool,
}

/// Acts that take nothing from the mempool but what a block or a replacement does, with their weights.
const CALM: [(Act, u32); 14] = [
    (Act::Send, 12),
    (Act::Watched, 12),
    (Act::Replace, 4),
    (Act::Cpfp, 4),
    (Act::Chain, 2),
    (Act::Conflict, 3),
    (Act::Mine, 8),
    (Act::MineNothing, 2),
    (Act::Lag, 1),
    (Act::Deafness, 1),
    (Act::RestartNode, 1),
    (Act::KillWriter, 1),
    (Act::StopWriter, 1),
    (Act::RestartReader, 1),
];
/// Acts that take anything.
const WILD: [(Act, u32); 13] = [
    (Act::Reorg, 6),
    (Act::ReorgInRequest, 4),
    (Act::Invalidate, 2),
    (Act::Reconsider, 2),
    (Act::Evict, 3),
    (Act::Trim, 2),
    (Act::Expire, 1),
    (Act::LoseMempool, 1),
    (Act::Send, 3),
    (Act::Replace, 2),
    (Act::Conflict, 2),
    (Act::Mine, 3),
    (Act::KillWriter, 1),
];

/// The acts of a script: first calm ones, then wild ones.
#[derive(Debug)]
pub(crate) struct Script {
    calm: Vec<Act>,
    wild: Vec<Act>,
    zmq: Vec<ZmqRule>,
    http: Vec<HttpRule>,
}

fn draw(rng: &mut ChaCha8Rng, from: &[(Act, u32)], count: usize) -> Vec<Act> {
    (0..count).filter_map(|_| from.choose_weighted(rng, |(_, weight)| *weight).ok()).map(|(act, _)| *act).collect()
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Script {
    /// The script of a seed.
    pub(crate) fn of(rng: &mut ChaCha8Rng) -> Self {
        let (calm, wild) = (rng.random_range(5..10), rng.random_range(0..6));
        let (calm, wild) = (draw(rng, &CALM, calm), draw(rng, &WILD, wild));
        let mut zmq = Vec::new();
        for fault in [
            ZmqFault::Drop,
            ZmqFault::Duplicate,
            ZmqFault::Reorder(rng.random_range(1..4)),
            ZmqFault::Delay(ms(rng.random_range(1..80))),
        ] {
            if rng.random_bool(0.5) {
                zmq.push(ZmqRule::sometimes(rng.random_range(20..250), fault));
            }
        }
        let mut http = Vec::new();
        for fault in [
            HttpFault::Delay(ms(rng.random_range(1..100))),
            HttpFault::Trickle(rng.random_range(50..500), ms(1)),
            HttpFault::Reset,
            HttpFault::ResetInBody,
            HttpFault::Truncate,
            HttpFault::CloseAfter,
            HttpFault::QueueFull,
            HttpFault::Status(502, "Bad Gateway"),
            HttpFault::WarmUp("Loading block index…"),
        ] {
            if rng.random_bool(0.2) {
                let on = [Match::Any, Match::AnyRpc, Match::Rest(""), Match::Rpc("getrawmempool")];
                let on = on.choose(rng).cloned().unwrap_or(Match::Any);
                http.push(HttpRule::sometimes(rng.random_range(20..150), on, fault));
            }
        }
        Script { calm, wild, zmq, http }
    }
}

/// Everything that an act needs.
pub(crate) struct Stage<'s> {
    pub(crate) node: &'s mut StandIn,
    pub(crate) cast: &'s mut Cast,
    pub(crate) rng: ChaCha8Rng,
    pub(crate) watch: Arc<Watch>,
    /// Acts that did something.
    pub(crate) done: Vec<Act>,
    /// Every transaction that was ever in the mempool.
    pub(crate) ever: BTreeSet<Txid>,
    /// Transactions that must stay: payments to the watched script.
    kept: BTreeSet<Txid>,
    /// True while an act that waits for a request may still happen.
    armed: Arc<AtomicBool>,
}

impl<'s> Stage<'s> {
    pub(crate) fn new(seed: u64, node: &'s mut StandIn, cast: &'s mut Cast, watch: Arc<Watch>) -> Self {
        Stage {
            node,
            cast,
            rng: ChaCha8Rng::seed_from_u64(seed),
            watch,
            done: Vec::new(),
            ever: BTreeSet::new(),
            kept: BTreeSet::new(),
            armed: Arc::new(AtomicBool::new(true)),
        }
    }

    /// Plays a script, with its faults; then there are none, all runs, and the node has said something more.
    pub(crate) fn play(&mut self, script: &Script) {
        self.faults(script);
        for act in &script.calm {
            self.act(*act, script);
        }
        self.watch.relax();
        for act in &script.wild {
            self.act(*act, script);
        }
        self.calm_down();
    }

    fn faults(&mut self, script: &Script) {
        self.node.http_faults(self.rng.random(), script.http.clone());
        // A node without ZMQ has no messages to harm.
        let _ = self.node.zmq_faults(self.rng.random(), script.zmq.clone());
    }

    fn act(&mut self, act: Act, script: &Script) {
        if self.perform(act, script).is_some() {
            self.done.push(act);
        }
        let pool = self.node.world().pool_txids();
        self.ever.extend(pool);
        thread::sleep(ms(self.rng.random_range(0..25)));
    }

    /// `None` if nothing came of it: no coin, no victim, refused by the node.
    fn perform(&mut self, act: Act, script: &Script) -> Option<()> {
        let rate = self.rng.random_range(1..60) * 1_000;
        match act {
            Act::Send => {
                let replaceable = self.rng.random_bool(0.7);
                self.node.world().send(&Payment { replaceable, ..Payment::at(rate) }).ok()?;
            }
            Act::Watched => {
                let value = Amount::from_sat(self.watch.announce()?);
                let outputs = vec![TxOut { value, script_pubkey: self.watch.script.clone() }];
                let txid = self.node.world().send(&Payment { outputs, ..Payment::at(rate) }).ok()?;
                self.kept.insert(txid);
                self.watch.made(txid);
            }
            Act::Replace => {
                let victim = self.victim()?;
                self.node.world().replace(&victim, rate + 20_000).ok()?;
            }
            Act::Cpfp => {
                let parent = self.victim()?;
                self.node.world().cpfp(&parent, rate + 10_000).ok()?;
            }
            Act::Chain => {
                let length = self.rng.random_range(2..7);
                self.node.world().send_chain(length, rate).ok()?;
            }
            Act::Conflict => {
                let victim = self.victim()?;
                let mut world = self.node.world();
                let rival = world.conflict(&victim, rate).ok()?;
                world.mine_plan(&BlockPlan { txs: Txs::Only(vec![rival]), ..BlockPlan::default() }).ok()?;
            }
            Act::Mine => {
                let blocks = self.rng.random_range(1..3);
                self.node.world().mine(blocks).ok()?;
            }
            Act::MineNothing => {
                self.node.world().mine_plan(&BlockPlan { txs: Txs::None, ..BlockPlan::default() }).ok()?;
            }
            Act::Lag => {
                self.node.world().hold_blocks();
                self.node.world().mine(2).ok()?;
                thread::sleep(ms(self.rng.random_range(0..60)));
                self.node.world().catch_up(9).ok()?;
            }
            Act::Deafness => {
                self.node.close_zmq().ok()?;
                let _ = self.node.world().send(&Payment::at(rate));
                if self.rng.random_bool(0.5) {
                    self.node.world().mine(1).ok()?;
                }
                self.node.open_zmq().unwrap();
            }
            Act::RestartNode | Act::LoseMempool => {
                let slow_load = self.rng.random_bool(0.5);
                let down = ms(self.rng.random_range(0..150));
                let keep_mempool = act == Act::RestartNode;
                self.node.restart(&Restart { keep_mempool, slow_load, down, ..Restart::default() }).unwrap();
                self.faults(script);
                if slow_load {
                    thread::sleep(ms(self.rng.random_range(0..200)));
                    self.node.world().load_pool();
                }
            }
            Act::KillWriter => {
                self.cast.end_writer("KILL");
                self.meanwhile();
                self.cast.start_writer();
            }
            Act::StopWriter => {
                self.cast.end_writer("TERM");
                self.meanwhile();
                self.cast.start_writer();
            }
            Act::RestartReader => {
                self.cast.reader_runs().then_some(())?;
                let signal = if self.rng.random_bool(0.5) { "KILL" } else { "TERM" };
                self.cast.end_reader(signal);
                self.meanwhile();
                self.cast.start_reader();
            }
            Act::Reorg => {
                let (depth, length) = self.branch();
                self.node.world().reorg(depth, length).ok()?;
            }
            Act::ReorgInRequest => self.reorg_in_request(),
            Act::Invalidate => {
                let mut world = self.node.world();
                let hash = world.hash_at(world.height() - self.rng.random_range(0..4))?;
                world.invalidate(&hash).ok()?;
                drop(world);
                thread::sleep(ms(self.rng.random_range(0..100)));
                let blocks = self.rng.random_range(1..6);
                self.node.world().mine(blocks).ok()?;
            }
            Act::Reconsider => {
                let hash = {
                    let mut world = self.node.world();
                    let hash = world.hash_at(world.height() - self.rng.random_range(0..4))?;
                    world.invalidate(&hash).ok()?;
                    hash
                };
                thread::sleep(ms(self.rng.random_range(0..100)));
                self.node.world().reconsider(&hash).ok()?;
            }
            Act::Evict => {
                let victim = self.any()?;
                self.node.world().evict(&victim).ok()?;
            }
            Act::Trim => {
                let mut world = self.node.world();
                let count = world.pool_txids().len() as u64;
                world.trim(count * 600);
                world.set_min_fee(0);
                (count > world.pool_txids().len() as u64).then_some(())?;
            }
            Act::Expire => {
                let mut world = self.node.world();
                let before = world.pool().iter().map(|tx| tx.time).max()?;
                world.expire(before);
            }
        }
        Some(())
    }

    /// Acts while a process is not there.
    fn meanwhile(&mut self) {
        if self.rng.random_bool(0.5) {
            let _ = self.node.world().send(&Payment::at(9_000));
        }
        if self.rng.random_bool(0.3) {
            let _ = self.node.world().mine(1);
        }
    }

    fn branch(&mut self) -> (u32, u32) {
        let depth = self.rng.random_range(1..7);
        // Most win; a few only draw level.
        (depth, depth + self.rng.random_range(0..4).min(2))
    }

    fn reorg_in_request(&mut self) {
        let (depth, length) = self.branch();
        let on = [
            Match::Any,
            Match::Rpc("getrawmempool"),
            Match::Rpc("getrawtransaction"),
            Match::Rpc("getblockheader"),
            Match::Rpc("getblockhash"),
            Match::Rest("block"),
        ];
        let on = on.choose(&mut self.rng).cloned().unwrap_or(Match::Any);
        let when = *[When::Before, When::After, When::InBody].choose(&mut self.rng).unwrap();
        let armed = Arc::clone(&self.armed);
        self.node.at_request(on, when, self.rng.random_range(0..4), move |world: &mut World| {
            if armed.load(Ordering::SeqCst) {
                let _ = world.reorg(depth, length);
            }
        });
        // Something to ask for.
        let _ = self.node.world().send(&Payment::at(7_000));
        let _ = self.node.world().mine(1);
    }

    /// Any transaction of the mempool.
    fn any(&mut self) -> Option<Txid> {
        let pool = self.node.world().pool_txids();
        pool.choose(&mut self.rng).copied()
    }

    /// A transaction of the mempool that may be lost, also with all that depends on it.
    fn victim(&mut self) -> Option<Txid> {
        let mut pool = self.node.world().pool();
        pool.retain(|tx| !self.kept.contains(&tx.txid) && !tx.descendants.iter().any(|d| self.kept.contains(d)));
        pool.choose(&mut self.rng).map(|tx| tx.txid)
    }

    /// Ends all faults and gives the node something to say: a loss shows with the next message.
    fn calm_down(&mut self) {
        self.armed.store(false, Ordering::SeqCst);
        self.node.http_faults(0, Vec::new());
        // Without ZMQ there is nothing to end.
        let _ = self.node.zmq_faults(0, Vec::new());
        let _ = self.node.flush();
        self.cast.complete();
        let mut world = self.node.world();
        if world.send(&Payment::at(5_000)).is_err() {
            // No coin is left: there are some again.
            world.mine(1).unwrap();
        }
    }
}
