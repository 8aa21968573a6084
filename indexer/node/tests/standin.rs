//! Client, follower and watcher against the stand-in node: HTTP and ZMQ over real sockets, with faults on command.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    collections::BTreeSet,
    thread,
    time::{Duration, Instant},
};

use bitcoin::{consensus::serialize, hashes::Hash};
use cairn_model::{BlockHash, CancelToken, Height, Network, Txid};
use cairn_node::{
    BlockAt, ChainFollower, ChainStep, FetchOptions, NodeAuth, NodeClient, NodeConfig, NodeError, NodeEvent,
    Notifications, OurChain, OwnerError, RetryPolicy, TipWatcher, Topic, WatchOptions, endpoints,
};
use cairn_standin::{HttpFault, HttpRule, Match, Payment, Restart, StandIn, StandInOptions, When, ZmqFault, ZmqRule};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Our chain: hashes and bytes of its blocks, from genesis on.
#[derive(Default)]
struct Ours(Vec<(BlockHash, Vec<u8>)>);

impl OurChain for Ours {
    fn tip(&self) -> Result<Option<BlockAt>, OwnerError> {
        Ok(self.0.last().map(|(hash, _)| BlockAt { height: self.0.len() as u32 - 1, hash: *hash }))
    }

    fn hash_at(&self, height: Height) -> Result<Option<BlockHash>, OwnerError> {
        Ok(self.0.get(height as usize).map(|(hash, _)| *hash))
    }
}

/// A small copy of the writer of an index and its work with a node: blocks, and the ids in the mempool.
struct Owner {
    client: NodeClient,
    watcher: TipWatcher,
    follower: ChainFollower,
    ours: Ours,
    mempool: BTreeSet<Txid>,
    /// Changes below this number are in the snapshot already.
    mempool_sequence: u64,
    snapshot_due: bool,
    gaps: u64,
    /// Blocks put on our chain without a request.
    unasked: usize,
}

fn node(options: StandInOptions) -> StandIn {
    StandIn::start(options).unwrap()
}

fn client(node: &StandIn) -> NodeClient {
    let auth = NodeAuth::Cookie(node.cookie_file().to_owned());
    let retry = RetryPolicy {
        first: Duration::from_millis(10),
        longest: Duration::from_millis(100),
        total: Duration::from_secs(20),
    };
    let config = NodeConfig { retry, timeout: Duration::from_secs(10), ..NodeConfig::new(node.url(), auth) };
    NodeClient::new(&config, CancelToken::new()).unwrap()
}

fn ours(hash: bitcoin::BlockHash) -> BlockHash {
    BlockHash(hash.to_byte_array())
}

impl Owner {
    fn start(node: &StandIn) -> Self {
        let client = client(node);
        client.check(Network::Regtest).unwrap();
        let published = client.zmq_notifications().unwrap();
        let endpoints = endpoints(&published, &Topic::ALL, "127.0.0.1");
        let poll = Duration::from_millis(100);
        let options = WatchOptions { endpoints, poll, safety_poll: Duration::from_secs(2), ..WatchOptions::default() };
        Owner {
            watcher: TipWatcher::start(&client, options).unwrap(),
            follower: ChainFollower::new(client.clone(), FetchOptions::default()),
            client,
            ours: Ours::default(),
            mempool: BTreeSet::new(),
            mempool_sequence: 0,
            snapshot_due: true,
            gaps: 0,
            unasked: 0,
        }
    }

    /// Takes in one event.
    fn event(&mut self, event: NodeEvent) {
        match event {
            NodeEvent::Gap(_) => {
                self.gaps += 1;
                self.snapshot_due = true;
            }
            NodeEvent::Block { raw, .. } => {
                if let Some(hash) = self.follower.offer(raw.into_bytes()) {
                    self.follower.announced(&hash);
                }
            }
            NodeEvent::Tip(hash) | NodeEvent::Polling { best: hash } => self.follower.announced(&hash),
            // Transactions that a block takes from the mempool or gives back to it are not announced one by one.
            NodeEvent::Connected(_) | NodeEvent::Disconnected(_) => self.snapshot_due = true,
            NodeEvent::Accepted { txid, mempool_sequence } if mempool_sequence >= self.mempool_sequence => {
                self.mempool.insert(txid);
            }
            NodeEvent::Removed { txid, mempool_sequence } if mempool_sequence >= self.mempool_sequence => {
                self.mempool.remove(&txid);
            }
            NodeEvent::Accepted { .. } | NodeEvent::Removed { .. } | NodeEvent::Tx(_) => {}
        }
    }

    /// Does what is due: blocks, a snapshot of the mempool.
    fn work(&mut self) -> Result<(), NodeError> {
        loop {
            let before = self.follower.node_tip();
            match self.follower.next_step(&self.ours)? {
                ChainStep::Disconnect { blocks, .. } => {
                    let left = self.ours.0.len() - blocks as usize;
                    self.ours.0.truncate(left);
                }
                ChainStep::Connect(block) => {
                    assert_eq!(block.height as usize, self.ours.0.len());
                    if self.follower.node_tip() != before {
                        self.unasked += 1;
                    }
                    self.ours.0.push((block.hash(), block.raw));
                }
                ChainStep::AtTip(_) => break,
            }
        }
        if self.snapshot_due {
            let gaps = self.gaps;
            let snapshot = self.client.raw_mempool(1_000)?;
            self.mempool = snapshot.txids.into_iter().collect();
            self.mempool_sequence = snapshot.mempool_sequence;
            self.snapshot_due = false;
            self.watcher.repaired(gaps);
            self.gaps = 0;
        }
        Ok(())
    }

    /// Runs until our chain and mempool are the node's, and every gap is repaired.
    fn arrive(&mut self, node: &StandIn, why: &str) {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            while let Ok(event) = self.watcher.events().try_recv() {
                self.event(event);
            }
            match self.work() {
                Ok(()) => {}
                Err(error) => assert!(error.is_worth_waiting(), "{why}: {error}"),
            }
            if self.ours.tip().unwrap().map(|tip| tip.hash) == Some(ours(node.world().tip()))
                && self.mempool == pool(node)
                && self.watcher.status().gaps_open() == 0
            {
                break;
            }
            assert!(Instant::now() < until, "{why}: not there after 30 s: {:?}", self.watcher.status());
            if let Ok(event) = self.watcher.events().recv_timeout(Duration::from_millis(50)) {
                self.event(event);
            }
        }
        let active = node.world().active();
        assert_eq!(self.ours.0.len(), active.len(), "{why}");
        for ((hash, raw), mined) in self.ours.0.iter().zip(&active) {
            assert_eq!(*hash, ours(mined.block.block_hash()), "{why}");
            assert!(*raw == serialize(&mined.block), "{why}: block {hash} has other bytes");
        }
    }

    /// Waits until all topics are subscribed.
    fn connected(&mut self, node: &StandIn) {
        assert!(node.await_subscriptions(Topic::ALL.len(), Duration::from_secs(20)).unwrap());
    }
}

fn pool(node: &StandIn) -> BTreeSet<Txid> {
    node.world().pool_txids().into_iter().map(|txid| Txid(txid.to_byte_array())).collect()
}

#[test]
fn the_whole_chain_by_rest_and_by_rpc() {
    for rest in [true, false] {
        let node = node(StandInOptions { rest, premine: 150, ..StandInOptions::default() });
        let mut owner = Owner::start(&node);
        owner.arrive(&node, "sync");
        assert_eq!(owner.client.uses_rest(), Some(rest));
        let coins = owner.client.tx_out_set_info().unwrap();
        assert_eq!((coins.height, coins.muhash), (150, node.world().muhash()));
        assert_eq!(coins.best, ours(node.world().tip()));
    }
}

#[test]
fn all_versions_are_understood() {
    for version in [250_000, 270_000, 280_000, 300_000, 310_000] {
        let node = node(StandInOptions { version, premine: 110, ..StandInOptions::default() });
        let client = client(&node);
        assert_eq!(client.check(Network::Regtest).unwrap().network.version, version);
        let txid = Txid(node.world().send(&Payment::at(20_000)).unwrap().to_byte_array());
        let entries = client.mempool_entries(&[txid]).unwrap();
        let entry = entries[0].as_ref().unwrap();
        assert!(entry.fees.base > 0 && entry.depends.is_empty());
        assert_eq!(client.mempool_info().unwrap().size, 1);
        assert!(client.raw_transaction(&txid, None).unwrap().is_some());
    }
}

#[test]
fn live_blocks_come_from_zmq_and_reorgs_are_followed() {
    let node = node(StandInOptions { premine: 110, ..StandInOptions::default() });
    let mut owner = Owner::start(&node);
    owner.connected(&node);
    owner.arrive(&node, "sync");
    assert_eq!(owner.watcher.status().notifications, Notifications::Zmq);
    for n in 0..10 {
        node.world().send(&Payment::at(10_000)).unwrap();
        node.world().mine(1).unwrap();
        owner.arrive(&node, &format!("block {n}"));
    }
    assert!(owner.unasked >= 5, "{} blocks came unasked", owner.unasked);
    for (depth, length) in [(1, 2), (6, 7), (3, 9), (40, 41)] {
        node.world().reorg(depth, length).unwrap();
        owner.arrive(&node, "reorg");
    }
    let tip = node.world().tip();
    node.world().invalidate(&tip).unwrap();
    owner.arrive(&node, "invalidated");
    node.world().reconsider(&tip).unwrap();
    owner.arrive(&node, "reconsidered");
    let status = owner.watcher.status();
    assert_eq!(status.topics.iter().map(|topic| topic.lost).sum::<u64>(), 0);
}

#[test]
fn a_reorg_in_the_middle_of_any_request() {
    for method in ["getblockchaininfo", "getblockhash", "getblockheader"] {
        for when in [When::Before, When::After, When::InBody] {
            let node = node(StandInOptions { premine: 60, ..StandInOptions::default() });
            let mut owner = Owner::start(&node);
            owner.arrive(&node, "sync");
            node.world().reorg(10, 11).unwrap();
            node.at_request(Match::Rpc(method), when, 0, |world| {
                world.reorg(20, 25).unwrap();
            });
            owner.arrive(&node, method);
        }
    }
}

#[test]
fn a_restarted_node_is_found_again() {
    let mut node = node(StandInOptions { premine: 110, ..StandInOptions::default() });
    let mut owner = Owner::start(&node);
    owner.connected(&node);
    owner.arrive(&node, "sync");
    for round in 0..3 {
        node.stop();
        let until = Instant::now() + Duration::from_secs(20);
        while owner.watcher.status().reachable {
            assert!(Instant::now() < until, "the stop is not noticed");
            thread::sleep(Duration::from_millis(20));
        }
        // Events while it is down are announced to nobody.
        node.world().reorg(2, 5).unwrap();
        node.start_again(&Restart { keep_mempool: round != 1, ..Restart::default() }).unwrap();
        owner.arrive(&node, "restart");
        owner.connected(&node);
        node.world().send(&Payment::at(10_000)).unwrap();
        owner.arrive(&node, "payment after restart");
    }
    let status = owner.watcher.status();
    assert!(status.topics.iter().all(|topic| topic.connections >= 4), "{status:?}");
}

#[test]
fn lost_messages_are_noticed_and_repaired() {
    let node = node(StandInOptions { premine: 120, ..StandInOptions::default() });
    let mut owner = Owner::start(&node);
    owner.connected(&node);
    owner.arrive(&node, "sync");
    node.world().send(&Payment::at(10_000)).unwrap();
    owner.arrive(&node, "first");
    let topic = cairn_standin::Topic::Sequence;
    for fault in [ZmqFault::Drop, ZmqFault::Duplicate, ZmqFault::Reorder(7)] {
        let seen = owner.watcher.status().gaps_seen;
        node.zmq_faults(1, vec![ZmqRule::once(topic, fault)]).unwrap();
        for _ in 0..4 {
            node.world().send(&Payment::at(10_000)).unwrap();
        }
        node.flush().unwrap();
        owner.arrive(&node, "fault");
        assert!(owner.watcher.status().gaps_seen > seen, "{fault:?} is not noticed");
    }
    // The announcement of a block is lost on every topic, and nothing follows: the safety poll finds it.
    node.zmq_faults(1, vec![ZmqRule::sometimes(1000, ZmqFault::Drop)]).unwrap();
    node.world().mine(1).unwrap();
    let tip = ours(node.world().tip());
    let until = Instant::now() + Duration::from_secs(20);
    while owner.ours.tip().unwrap().unwrap().hash != tip {
        assert!(Instant::now() < until, "the block is not found");
        let Ok(event) = owner.watcher.events().recv_timeout(Duration::from_secs(10)) else { continue };
        owner.event(event);
        owner.work().unwrap();
    }
    thread::sleep(Duration::from_millis(50));
    assert!(owner.watcher.status().tips_found_by_polling > 0);
}

#[test]
fn nodes_that_cannot_be_used_say_why() {
    let mut node = node(StandInOptions { premine: 30, ..StandInOptions::default() });
    let once = client(&node).with_retry(RetryPolicy::NONE);
    node.http_faults(1, vec![HttpRule::times(1, Match::Any, HttpFault::WarmUp("Loading block index…"))]);
    assert!(matches!(once.check(Network::Regtest), Err(NodeError::WarmingUp { .. })));
    // Waited out.
    node.http_faults(1, vec![HttpRule::times(5, Match::Any, HttpFault::WarmUp("Loading block index…"))]);
    client(&node).check(Network::Regtest).unwrap();

    node.world().prune(Some(20));
    let mut follower = ChainFollower::new(client(&node), FetchOptions::default());
    let error = follower.next_step(&Ours::default()).unwrap_err();
    assert!(matches!(error, NodeError::Pruned { lowest: Some(20), .. }), "{error}");
    node.world().prune(None);

    node.restart(&Restart { network: Some(bitcoin::Network::Bitcoin), ..Restart::default() }).unwrap();
    let error = client(&node).check(Network::Regtest).unwrap_err();
    assert_eq!(error.to_string(), "the node is on main, not on regtest");
}

/// Something happens to node, messages or requests.
fn mischief(node: &mut StandIn, random: &mut ChaCha8Rng) {
    match random.random_range(0..10) {
        0..=2 => {
            for _ in 0..random.random_range(1..4) {
                node.world().send(&Payment::at(random.random_range(5_000..50_000))).unwrap();
            }
        }
        3 | 4 => drop(node.world().mine(random.random_range(1..4)).unwrap()),
        5 => {
            let depth = random.random_range(1..12);
            node.world().reorg(depth, depth + random.random_range(0..3)).unwrap();
        }
        6 => {
            let tip = node.world().tip();
            node.world().invalidate(&tip).unwrap();
            node.world().mine(1).unwrap();
        }
        7 => {
            let fault = match random.random_range(0..3) {
                0 => ZmqFault::Drop,
                1 => ZmqFault::Duplicate,
                _ => ZmqFault::Reorder(random.random_range(1..5)),
            };
            let rules = vec![ZmqRule::sometimes(random.random_range(50..500), fault)];
            node.zmq_faults(random.random(), rules).unwrap();
        }
        8 => {
            let fault = match random.random_range(0..6) {
                0 => HttpFault::Reset,
                1 => HttpFault::ResetInBody,
                2 => HttpFault::Truncate,
                3 => HttpFault::CloseAfter,
                4 => HttpFault::QueueFull,
                _ => HttpFault::WarmUp("Verifying blocks…"),
            };
            node.http_faults(
                random.random(),
                vec![HttpRule::sometimes(random.random_range(50..400), Match::Any, fault)],
            );
        }
        _ if random.random_bool(0.5) => {
            node.close_zmq().unwrap();
            node.world().mine(1).unwrap();
            node.open_zmq().unwrap();
        }
        _ => {
            let keep_mempool = random.random();
            node.restart(&Restart { keep_mempool, down: Duration::from_millis(30), ..Restart::default() }).unwrap();
        }
    }
}

#[test]
fn scripts_of_faults_end_where_the_node_is() {
    for seed in 0..12 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut node = node(StandInOptions { premine: 115, seed, rest: seed % 3 != 0, ..StandInOptions::default() });
        let mut owner = Owner::start(&node);
        for _ in 0..20 {
            mischief(&mut node, &mut random);
            for _ in 0..random.random_range(0..20) {
                match owner.watcher.events().recv_timeout(Duration::from_millis(5)) {
                    Ok(event) => owner.event(event),
                    Err(_) => break,
                }
            }
            if random.random_bool(0.6)
                && let Err(error) = owner.work()
            {
                assert!(error.is_worth_waiting(), "seed {seed}: {error}");
            }
        }
        node.zmq_faults(0, vec![]).unwrap();
        node.http_faults(0, vec![]);
        node.flush().unwrap();
        owner.connected(&node);
        // A lost last message shows only with the next one of its topic.
        node.world().send(&Payment::at(60_000)).unwrap();
        node.world().mine(1).unwrap();
        node.world().send(&Payment::at(60_000)).unwrap();
        owner.arrive(&node, &format!("seed {seed}"));
    }
}
