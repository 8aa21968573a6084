//! Random scripts of things that happen, with random faults. Whatever happens, readers end where the node is.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use bitcoin::OutPoint;
use cairn_mempool::MempoolOptions;
use cairn_node::Topic;
use cairn_standin::{
    BlockPlan, HttpFault, HttpRule, Match, Payment, Restart, StandIn, StandInOptions, Txs, When, World, ZmqFault,
    ZmqRule,
};
use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;

use crate::rig::{Rig, options};

const STEPS: u32 = 200;

struct Script {
    rig: Rig,
    random: ChaCha8Rng,
    options: MempoolOptions,
    topics: Vec<Topic>,
    closed: bool,
    /// How far our chain goes in one turn.
    pace: usize,
    story: Vec<String>,
}

/// Options with limits that are met all the time, or never.
fn odd_options(random: &mut ChaCha8Rng) -> MempoolOptions {
    let mut options = MempoolOptions { poll_every: Duration::from_millis(500), ..options() };
    if random.random_bool(0.4) {
        options.fetch_batch = random.random_range(1..6);
    }
    if random.random_bool(0.4) {
        options.work_batch = random.random_range(1..6);
    }
    if random.random_bool(0.3) {
        options.event_batch = random.random_range(1..8);
    }
    if random.random_bool(0.3) {
        options.max_pending_bytes = random.random_range(0..5_000);
    }
    if random.random_bool(0.3) {
        options.max_cached_bodies = random.random_range(0..4);
    }
    if random.random_bool(0.2) {
        options.max_queue_events = random.random_range(1..20);
    }
    options
}

/// Something happens to mempool and chain.
fn happen(world: &mut World, random: &mut ChaCha8Rng) -> String {
    let rate = random.random_range(1_000..40_000);
    let pool = world.pool_txids();
    let some = pool.choose(random).copied();
    let done = match (random.random_range(0..20), some) {
        (0..=4, _) => world.send(&Payment::at(rate)).map(|txid| format!("send {txid}")),
        (5, _) => world.send_chain(random.random_range(2..25), rate).map(|txids| format!("chain {txids:?}")),
        (6 | 7, Some(some)) => world.cpfp(&some, rate * 2).map(|txid| format!("child {txid} of {some}")),
        (8 | 9, Some(some)) => world.replace(&some, rate * 3).map(|txid| format!("replace {some} by {txid}")),
        (10, Some(some)) => world.conflict(&some, rate).and_then(|tx| {
            let plan = BlockPlan { txs: Txs::Only(vec![tx]), ..BlockPlan::default() };
            world.mine_plan(&plan).map(|hash| format!("block {hash} in conflict with {some}"))
        }),
        (11, Some(some)) => world.evict(&some).map(|()| format!("evict {some}")),
        (12, Some(_)) => {
            world.trim(random.random_range(500..8_000));
            world.set_min_fee(if random.random_bool(0.7) { 0 } else { 1_500 });
            Ok("trim".to_owned())
        }
        (13, _) => world.mine(random.random_range(1..3)).map(|hashes| format!("mine {hashes:?}")),
        (14, _) => {
            let depth = random.random_range(1..9);
            world.reorg(depth, depth + random.random_range(0..3)).map(|_| format!("reorg {depth}"))
        }
        (15, _) => {
            let tip = world.tip();
            world.invalidate(&tip).map(|()| {
                if random.random_bool(0.5) {
                    let _ = world.reconsider(&tip);
                }
                format!("invalidate {tip}")
            })
        }
        (16, _) => {
            // A coin of a block that we may not have.
            let coin = world.active().last().and_then(|mined| {
                let tx = mined.block.txdata.get(1)?;
                Some(OutPoint { txid: tx.compute_txid(), vout: tx.output.len() as u32 - 1 })
            });
            match coin {
                Some(coin) => world.send(&Payment::of(coin, rate)).map(|txid| format!("spend new coin by {txid}")),
                None => Ok("no coin".to_owned()),
            }
        }
        (17, _) => world.mine_plan(&BlockPlan { txs: Txs::None, ..BlockPlan::default() }).map(|_| "empty".to_owned()),
        _ => {
            // Part of the mempool is mined, with its ancestors.
            let take = pool.len() / 2;
            let mut txs: Vec<_> = world.pool().into_iter().filter(|entry| entry.ancestors.is_empty()).collect();
            txs.truncate(take);
            let txs = Txs::Only(txs.into_iter().map(|entry| entry.tx.as_ref().clone()).collect());
            world.mine_plan(&BlockPlan { txs, ..BlockPlan::default() }).map(|_| "half".to_owned())
        }
    };
    done.unwrap_or_else(|error| format!("({error})"))
}

fn http_fault(random: &mut ChaCha8Rng) -> HttpFault {
    match random.random_range(0..9) {
        0 => HttpFault::Reset,
        1 => HttpFault::ResetInBody,
        2 => HttpFault::Truncate,
        3 => HttpFault::CloseAfter,
        4 => HttpFault::QueueFull,
        5 => HttpFault::WarmUp("Verifying blocks…"),
        6 => HttpFault::Delay(Duration::from_millis(random.random_range(1..20))),
        7 => HttpFault::Trickle(500, Duration::from_micros(300)),
        _ => HttpFault::Status(200, "{\"result\":null}"),
    }
}

fn zmq_fault(random: &mut ChaCha8Rng) -> ZmqFault {
    match random.random_range(0..5) {
        0 | 1 => ZmqFault::Drop,
        2 => ZmqFault::Duplicate,
        3 => ZmqFault::Reorder(random.random_range(1..6)),
        _ => ZmqFault::Delay(Duration::from_millis(random.random_range(1..30))),
    }
}

impl Script {
    fn new(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let version = *[250_000, 280_000, 300_000, 310_000].choose(&mut random).unwrap();
        let txindex = random.random_bool(0.3);
        let node = StandInOptions { premine: 180, seed: seed + 500, version, txindex, ..StandInOptions::default() };
        let node = StandIn::start(node).unwrap();
        for _ in 0..random.random_range(0..30) {
            let _ = node.world().send(&Payment::at(3_000));
        }
        let topics = match random.random_range(0..8) {
            0 => vec![],
            1 => vec![Topic::RawTx, Topic::HashBlock],
            2 => vec![Topic::Sequence],
            _ => Topic::ALL.to_vec(),
        };
        let options = odd_options(&mut random);
        let story = vec![format!("seed {seed}, version {version}, {topics:?}, {options:?}")];
        let rig = Rig::with(node, options.clone(), &topics);
        Script { rig, random, options, topics, closed: false, pace: usize::MAX, story }
    }

    fn act(&mut self) -> String {
        let Script { rig, random, .. } = self;
        match random.random_range(0..40) {
            0 | 1 => {
                let fault = zmq_fault(random);
                let rules = vec![ZmqRule::sometimes(random.random_range(20..600), fault)];
                let _ = rig.node.zmq_faults(random.random(), rules);
                format!("ZMQ: {fault:?}")
            }
            2 => {
                let _ = rig.node.zmq_faults(0, vec![]);
                let _ = rig.node.settle();
                rig.node.http_faults(0, vec![]);
                "no faults".to_owned()
            }
            3 => {
                let fault = http_fault(random);
                let on = match random.random_range(0..4) {
                    0 => Match::Rpc("getrawtransaction"),
                    1 => Match::Rpc("getrawmempool"),
                    _ => Match::Any,
                };
                let words = format!("HTTP: {fault:?} on {on:?}");
                let rules = vec![HttpRule::sometimes(random.random_range(50..500), on, fault)];
                rig.node.http_faults(random.random(), rules);
                words
            }
            4 => {
                let on =
                    *["getrawmempool", "getrawtransaction", "getbestblockhash", "getmempoolentry", "getmempoolinfo"]
                        .choose(random)
                        .unwrap();
                let when = *[When::Before, When::After, When::InBody].choose(random).unwrap();
                let mut later = ChaCha8Rng::seed_from_u64(random.random());
                rig.node.at_request(Match::Rpc(on), when, random.random_range(0..2), move |world| {
                    for _ in 0..3 {
                        happen(world, &mut later);
                    }
                });
                format!("in the middle of {on}, {when:?}")
            }
            5 => {
                self.pace = *[0, 1, 2, usize::MAX].choose(random).unwrap();
                format!("pace {}", self.pace)
            }
            6 => {
                let by = random.random_range(10..70_000);
                rig.ahead += by;
                format!("{by} ms later")
            }
            7 if !self.topics.is_empty() => {
                self.closed = !self.closed;
                let done = if self.closed { rig.node.close_zmq() } else { rig.node.open_zmq() };
                format!("ZMQ closed: {} {done:?}", self.closed)
            }
            8 if random.random_bool(0.5) => {
                let restart =
                    Restart { keep_mempool: random.random(), slow_load: random.random_bool(0.3), ..Restart::default() };
                rig.node.stop();
                if random.random() {
                    let _ = happen(&mut rig.node.world(), random);
                }
                rig.node.start_again(&restart).unwrap();
                rig.restarted();
                self.closed = false;
                format!("{restart:?}")
            }
            9 if random.random_bool(0.3) => {
                rig.node.world().load_pool();
                "load pool".to_owned()
            }
            10 if random.random_bool(0.4) => {
                // Our own restart. Its state is that of the last commit.
                rig.restart_watcher(self.options.clone());
                "our restart".to_owned()
            }
            11 => {
                let until = rig.now();
                rig.chain.broken.set(random.random_range(1..4));
                format!("index fails at {until}")
            }
            _ => happen(&mut rig.node.world(), random),
        }
    }

    fn run(&mut self) {
        for _ in 0..STEPS {
            let line = self.act();
            self.story.push(line);
            for _ in 0..self.random.random_range(0..4) {
                self.rig.hear();
                if self.random.random_bool(0.8) {
                    self.rig.follow(self.pace);
                }
                self.rig.try_step();
                if self.random.random_bool(0.3) {
                    thread::sleep(Duration::from_millis(self.random.random_range(0..3)));
                }
            }
        }
        self.story.push("the end".to_owned());
        let rig = &mut self.rig;
        rig.chain.broken.set(0);
        rig.node.http_faults(0, vec![]);
        if !self.topics.is_empty() {
            rig.node.zmq_faults(0, vec![]).unwrap();
            if self.closed {
                rig.node.open_zmq().unwrap();
            }
            rig.node.flush().unwrap();
            assert!(rig.node.await_subscriptions(self.topics.len(), Duration::from_secs(20)).unwrap());
        }
        rig.node.world().load_pool();
        rig.ahead += 10_000;
        rig.settle_by_snapshot("the end");
        for _ in 0..3 {
            let _ = rig.node.world().send(&Payment::at(50_000));
        }
        rig.settle("after the end");
        rig.node.world().mine(1).unwrap();
        rig.settle_by_snapshot("a last block");
    }
}

fn script(seed: u64) {
    let mut script = Script::new(seed);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| script.run())) {
        println!("{}", script.story.join("\n"));
        println!("{:#?}", script.rig.watcher.status());
        resume_unwind(panic);
    }
}

#[test]
fn scripts_of_faults_end_where_the_node_is() {
    let only = std::env::var("CAIRN_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let long = std::env::var_os("CAIRN_TEST_LONG").is_some();
    let seeds = only.map_or(0..if long { 300 } else { 25 }, |seed: u64| seed..seed + 1);
    let next = AtomicU64::new(seeds.start);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= seeds.end {
                            return;
                        }
                        script(seed);
                    }
                })
            })
            .collect();
        for worker in workers {
            worker.join().unwrap();
        }
    });
}
