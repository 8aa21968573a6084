//! Follows a node: blocks by RPC or REST, news by ZMQ or by asking.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use cairn_link::IndexSlot;
use cairn_model::{BlockHash, Height, MempoolDelta, Network};
use cairn_node::{
    BlockAt, Event, FetchOptions, Follower as NodeFollower, NodeClient, NodeConfig, NodeError, NodeInfo, OurChain,
    OwnerError, RetryPolicy, Step, StopFlag, TipWatcher, WatchOptions, ZmqEndpoint, endpoints,
};
use cairn_pipeline::{Engine, Phase, PipelineError, Progress, Step as Done};
use cairn_reader::Reader;

use crate::{
    announce::Announce,
    config::TOPICS,
    exit::{Exit, Failure},
    follow::Until,
    progress::{Reporter, Screen},
    projector,
    stop::Stop,
    unconfirmed::{Effects, Unconfirmed},
};

/// Blocks between two flushes while catching up.
const FLUSH_BLOCKS: u32 = 256;
/// Time between two flushes while catching up.
const FLUSH_TIME: Duration = Duration::from_secs(10);
/// Longest wait at the tip before the node is asked again, whatever was heard.
const GLANCE: Duration = Duration::from_millis(250);
/// Longest wait for a block or for another answer of the node.
const PATIENCE: Duration = Duration::from_secs(20);
/// Events that are taken in before the mempool works on them.
const EVENTS: usize = 2_000;
/// Pause after a fault that may pass.
const PAUSE: Duration = Duration::from_secs(1);

/// An index, opened for writing, and the node that it follows.
pub(crate) struct Live {
    pub(crate) engine: Engine,
    pub(crate) slot: Arc<IndexSlot>,
    pub(crate) announce: Announce,
    client: NodeClient,
    endpoints: Vec<ZmqEndpoint>,
    screen: Screen,
    stop: Stop,
}

/// What the node client needs to know of our chain.
struct Ours<'e> {
    engine: &'e Engine,
    reader: &'e Reader,
}

impl OurChain for Ours<'_> {
    fn tip(&self) -> Result<Option<BlockAt>, OwnerError> {
        Ok(self.engine.tip()?.map(|(height, hash)| BlockAt { height, hash }))
    }

    fn hash_at(&self, height: Height) -> Result<Option<BlockHash>, OwnerError> {
        if self.engine.tip()?.is_none() {
            return Ok(None);
        }
        Ok(self.reader.view()?.header(height)?.map(|row| row.hash))
    }
}

/// A client for the node, and what it has said that it is.
///
/// # Errors
/// The node cannot be followed, in words.
pub(crate) fn connect(config: &NodeConfig, network: Network, stop: &Stop) -> Result<(NodeClient, NodeInfo), Failure> {
    let flag = StopFlag::new();
    let (raised, asked) = (flag.clone(), stop.clone());
    thread::Builder::new().name("stop".to_owned()).spawn(move || {
        while !asked.wait(Duration::from_secs(3600)) {}
        raised.stop();
    })?;
    let client = NodeClient::new(config, flag)?;
    let info = client.check(network)?;
    tracing::info!(url = client.url(), version = info.network.subversion, blocks = info.chain.blocks, "node found");
    Ok((client, info))
}

impl Live {
    /// Takes an open engine to a node.
    pub(crate) fn new(
        engine: Engine,
        slot: Arc<IndexSlot>,
        announce: Announce,
        client: NodeClient,
        named: Vec<ZmqEndpoint>,
        screen: &Screen,
        stop: &Stop,
    ) -> Self {
        let endpoints = if named.is_empty() { published(&client) } else { named };
        let addresses: Vec<&str> = endpoints.iter().map(|e| e.address.as_str()).collect();
        tracing::info!(
            zmq = addresses.join(" "),
            "{}",
            if endpoints.is_empty() { "no ZMQ: the node is polled" } else { "ZMQ" }
        );
        Live { engine, slot, announce, client, endpoints, screen: screen.clone(), stop: stop.clone() }
    }

    /// Follows the node until the end that is asked for, or until asked to stop.
    ///
    /// # Errors
    /// The node cannot be followed any more, or the index or the disk fails. What was committed stays.
    pub(crate) fn follow(&mut self, until: Until) -> Result<Exit, Failure> {
        let watcher = TipWatcher::start(
            &self.client,
            WatchOptions { endpoints: self.endpoints.clone(), ..WatchOptions::default() },
        )?;
        // Whoever waits for the tip anyway asks once and then looks around: health has to notice a silent node.
        let client = match until {
            Until::Stopped => self.client.with_retry(RetryPolicy::NONE).with_timeout(PATIENCE),
            Until::Height(_) | Until::Tip { .. } => self.client.clone(),
        };
        let mut node = NodeFollower::new(client, FetchOptions::default());
        // The mempool is watched from the first time at the tip on: before, its transactions could not be resolved.
        let mut unconfirmed = None;
        let projecting = match until {
            Until::Stopped => Some(projector::start(self.slot.pool(), &self.stop)?),
            Until::Height(_) | Until::Tip { .. } => None,
        };
        let exit = self.follow_with(until, &watcher, &mut node, &mut unconfirmed);
        // What is known of the mempool is kept, however it ends.
        if let Some(unconfirmed) = &mut unconfirmed {
            unconfirmed.keep(&self.engine)?;
            self.engine.settle()?;
        }
        if projecting.is_some_and(|thread| self.stop.asked().is_some() && thread.join().is_err()) {
            return Err(Failure::new(Exit::Other, "the projector panicked; this is a bug"));
        }
        exit
    }

    fn follow_with(
        &mut self,
        until: Until,
        watcher: &TipWatcher,
        node: &mut NodeFollower,
        unconfirmed: &mut Option<Unconfirmed>,
    ) -> Result<Exit, Failure> {
        let to = match until {
            Until::Stopped => None,
            Until::Height(to) => Some(to),
            Until::Tip { to } => to,
        };
        let mut reporter = Reporter::new(&self.screen, &self.stop, self.engine.tip()?.map(|(height, _)| height));
        match self.engine.prepare(&reporter) {
            Err(PipelineError::Stopped) => return Ok(self.stopped()),
            other => other?,
        }
        self.announce.tip(self.engine.tip()?);
        let (mut connected, mut bytes, mut pending, mut flushed) = (0u64, 0u64, 0, Instant::now());
        // What blocks that are not durable yet did to the mempool: other processes hear of it after them.
        let mut held = Vec::new();
        let started = self.engine.tip()?.map_or(0, |(height, _)| u64::from(height) + 1);
        loop {
            let tip = self.engine.tip()?;
            let arrived = to.is_some_and(|to| tip.is_some_and(|(height, _)| height >= to));
            if arrived || self.stop.asked().is_some() {
                self.settle(&[])?;
                drop(reporter);
                return Ok(if arrived { Exit::Done } else { self.stopped() });
            }
            let reader = self.engine.reader();
            let step = node.next_step(&Ours { engine: &self.engine, reader: &reader });
            let best = node.node_tip().map(|tip| tip.height);
            self.slot.set_best_height(best);
            self.announce.best(best);
            match step {
                Ok(Step::Disconnect { blocks, fork }) => {
                    tracing::warn!(blocks, fork, "reorganization");
                    match self.engine.unwind(fork, &reporter) {
                        Err(PipelineError::Stopped) => return Ok(self.stopped()),
                        other => other?,
                    }
                    if let Some(unconfirmed) = unconfirmed.as_mut() {
                        unconfirmed.disconnected(&reader)?;
                    }
                    reporter = Reporter::new(&self.screen, &self.stop, Some(fork));
                }
                Ok(Step::Connect(block)) => {
                    let (height, size) = (block.height, block.raw.len() as u64);
                    let effects = unconfirmed.as_ref().map(|_| Effects::of(&block.decoded));
                    self.engine.extend(block.decoded)?;
                    // Requests see the block from here on: so must they see what it does to the mempool.
                    if let Some((unconfirmed, effects)) = unconfirmed.as_mut().zip(effects) {
                        held.extend(unconfirmed.connected(height, effects));
                        unconfirmed.keep(&self.engine)?;
                    }
                    (connected, bytes, pending) = (connected + 1, bytes + size, pending + 1);
                    let total =
                        u64::from(to.or(best).unwrap_or(height).max(height)) + 1 - started.min(u64::from(height));
                    reporter.step(Done {
                        phase: Phase::Connect,
                        done: connected.min(total),
                        total,
                        bytes,
                        of_bytes: 0,
                    });
                    // At the tip each block is made durable and announced at once.
                    if best.is_none_or(|best| height >= best)
                        || pending >= FLUSH_BLOCKS
                        || flushed.elapsed() > FLUSH_TIME
                    {
                        self.settle(&std::mem::take(&mut held))?;
                        (pending, flushed) = (0, Instant::now());
                    }
                }
                Ok(Step::AtTip(at)) => {
                    self.settle(&std::mem::take(&mut held))?;
                    if connected > 0 {
                        tracing::info!(connected, height = at.height, hash = %at.hash, bytes, "at the node's tip");
                        (connected, bytes) = (0, 0);
                        // The bar of catching up ends here.
                        reporter = Reporter::new(&self.screen, &self.stop, Some(at.height));
                    }
                    if matches!(until, Until::Tip { .. }) {
                        return Ok(Exit::Done);
                    }
                    let unconfirmed = match unconfirmed {
                        Some(unconfirmed) => unconfirmed,
                        None => {
                            let client = self.client.clone();
                            unconfirmed.insert(Unconfirmed::begin(client, self.slot.pool(), &self.engine)?)
                        }
                    };
                    self.watch(watcher, node, unconfirmed)?;
                }
                Err(NodeError::Stopped) => {
                    self.settle(&std::mem::take(&mut held))?;
                    return Ok(self.stopped());
                }
                Err(error) if error.is_worth_waiting() => {
                    self.settle(&std::mem::take(&mut held))?;
                    tracing::warn!(%error, "waiting for the node");
                    self.slot.set_best_height(None);
                    self.announce.best(None);
                    if let Some(unconfirmed) = unconfirmed.as_mut() {
                        self.tell_status(watcher, unconfirmed);
                    }
                    let _ = self.stop.wait(PAUSE);
                }
                Err(error) => {
                    self.settle(&std::mem::take(&mut held))?;
                    return Err(error.into());
                }
            }
        }
    }

    /// Makes what was connected durable and tells of it, and of what it did to the mempool.
    fn settle(&self, deltas: &[MempoolDelta]) -> Result<(), Failure> {
        self.engine.settle()?;
        self.announce.tip(self.engine.tip()?);
        self.announce.mempool(deltas);
        Ok(())
    }

    /// At the tip: takes in what the node says and follows its mempool, until there may be a new tip.
    fn watch(&self, watcher: &TipWatcher, node: &mut NodeFollower, pool: &mut Unconfirmed) -> Result<(), Failure> {
        let until = Instant::now() + GLANCE;
        let reader = self.engine.reader();
        let mut again_in = Duration::ZERO;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let mut moved = false;
            if let Ok(first) = watcher.events().recv_timeout(left.min(again_in)) {
                for event in std::iter::once(first).chain(watcher.events().try_iter().take(EVENTS)) {
                    pool.hear(&event);
                    moved |= hear(event, watcher, node);
                }
            }
            let (deltas, next) = pool.step(&reader)?;
            self.announce.mempool(&deltas);
            self.tell_status(watcher, pool);
            if pool.tick(&self.engine)? {
                self.engine.settle()?;
            }
            if moved || left.is_zero() || self.stop.asked().is_some() {
                return Ok(());
            }
            again_in = next;
        }
    }

    fn tell_status(&self, watcher: &TipWatcher, pool: &mut Unconfirmed) {
        if let Some(status) = pool.status(&watcher.status()) {
            self.announce.source(&status);
            self.slot.set_source(Some(status));
        }
    }

    fn stopped(&self) -> Exit {
        if let Ok(Some((height, hash))) = self.engine.tip() {
            tracing::info!(height, %hash, "stopped; the next start goes on from here");
        }
        self.stop.asked().unwrap_or(Exit::Interrupted)
    }
}

/// What the node says that it publishes.
fn published(client: &NodeClient) -> Vec<ZmqEndpoint> {
    match client.zmq_notifications() {
        Ok(notifications) => endpoints(&notifications, &TOPICS, &host(client.url())),
        Err(error) => {
            tracing::warn!(%error, "the node does not say what it publishes");
            Vec::new()
        }
    }
}

/// Name or address in a URL.
fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    let host = authority
        .rsplit_once(':')
        .map_or(authority, |(host, port)| if port.bytes().all(|b| b.is_ascii_digit()) { host } else { authority });
    host.to_owned()
}

/// Passes on to the chain's follower what an event tells of blocks. Returns whether there may be a new tip.
fn hear(event: Event, watcher: &TipWatcher, node: &mut NodeFollower) -> bool {
    match event {
        Event::Tip(hash) | Event::Polling { best: hash } | Event::Connected(hash) => node.announced(&hash),
        Event::Block { raw, .. } => {
            if let Some(hash) = node.offer(raw.into_bytes()) {
                node.announced(&hash);
            }
        }
        // The node is asked after this: whatever the hole swallowed is found out now, and the mempool takes a snapshot.
        Event::Gap(gap) => {
            tracing::debug!(%gap, "messages of the node may have been missed");
            watcher.repaired(1);
        }
        Event::Disconnected(_) => {}
        Event::Accepted { .. } | Event::Removed { .. } | Event::Tx(_) => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn hosts_of_urls() {
        assert_eq!(host("http://127.0.0.1:8332"), "127.0.0.1");
        assert_eq!(host("http://node.local/"), "node.local");
        assert_eq!(host("http://[::1]:8332/"), "[::1]");
    }
}
