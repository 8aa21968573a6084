//! Follows a node: blocks by RPC or REST, news by ZMQ or by asking.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use cairn_http::IndexSlot;
use cairn_model::{BlockHash, Height, Network};
use cairn_node::{
    BlockAt, Event, FetchOptions, Follower as NodeFollower, NodeClient, NodeConfig, NodeError, OurChain, OwnerError,
    Step, StopFlag, TipWatcher, WatchOptions, ZmqEndpoint, endpoints,
};
use cairn_pipeline::{Engine, Phase, PipelineError, Progress, Step as Done};
use cairn_reader::Reader;

use crate::{
    announce::Announce,
    config::BLOCK_TOPICS,
    exit::{Exit, Failure},
    follow::Until,
    progress::{Reporter, Screen},
    stop::Stop,
};

/// Blocks between two flushes while catching up.
const FLUSH_BLOCKS: u32 = 256;
/// Time between two flushes while catching up.
const FLUSH_TIME: Duration = Duration::from_secs(10);
/// Longest wait at the tip before the node is asked again, whatever was heard.
const GLANCE: Duration = Duration::from_millis(250);
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

/// A client for the node, after it has said what it is.
///
/// # Errors
/// The node cannot be followed, in words.
pub(crate) fn connect(config: &NodeConfig, network: Network, stop: &Stop) -> Result<NodeClient, Failure> {
    let flag = StopFlag::new();
    let (raised, asked) = (flag.clone(), stop.clone());
    thread::Builder::new().name("stop".to_owned()).spawn(move || {
        while !asked.wait(Duration::from_secs(3600)) {}
        raised.stop();
    })?;
    let client = NodeClient::new(config, flag)?;
    let info = client.check(network)?;
    tracing::info!(url = client.url(), version = info.network.subversion, blocks = info.chain.blocks, "node found");
    Ok(client)
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
        let mut node = NodeFollower::new(self.client.clone(), FetchOptions::default());
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
        let started = self.engine.tip()?.map_or(0, |(height, _)| u64::from(height) + 1);
        loop {
            let tip = self.engine.tip()?;
            let arrived = to.is_some_and(|to| tip.is_some_and(|(height, _)| height >= to));
            if arrived || self.stop.asked().is_some() {
                self.settle()?;
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
                }
                Ok(Step::Connect(block)) => {
                    let (height, size) = (block.height, block.raw.len() as u64);
                    self.engine.extend(block.decoded)?;
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
                        self.settle()?;
                        (pending, flushed) = (0, Instant::now());
                    }
                }
                Ok(Step::AtTip(at)) => {
                    self.settle()?;
                    if connected > 0 {
                        tracing::info!(connected, height = at.height, hash = %at.hash, bytes, "at the node's tip");
                        (connected, bytes) = (0, 0);
                        // The bar of catching up ends here.
                        reporter = Reporter::new(&self.screen, &self.stop, Some(at.height));
                    }
                    if matches!(until, Until::Tip { .. }) {
                        return Ok(Exit::Done);
                    }
                    wait_for_news(&watcher, &mut node);
                }
                Err(NodeError::Stopped) => {
                    self.settle()?;
                    return Ok(self.stopped());
                }
                Err(error) if error.is_worth_waiting() => {
                    self.settle()?;
                    tracing::warn!(%error, "waiting for the node");
                    self.slot.set_best_height(None);
                    self.announce.best(None);
                    let _ = self.stop.wait(PAUSE);
                }
                Err(error) => {
                    self.settle()?;
                    return Err(error.into());
                }
            }
        }
    }

    /// Makes what was connected durable and tells of it.
    fn settle(&self) -> Result<(), Failure> {
        self.engine.settle()?;
        self.announce.tip(self.engine.tip()?);
        Ok(())
    }

    fn stopped(&self) -> Exit {
        if let Ok(Some((height, hash))) = self.engine.tip() {
            tracing::info!(height, %hash, "stopped; the next start goes on from here");
        }
        self.stop.asked().unwrap_or(Exit::Interrupted)
    }
}

/// What the node says that it publishes of blocks.
fn published(client: &NodeClient) -> Vec<ZmqEndpoint> {
    match client.zmq_notifications() {
        Ok(notifications) => endpoints(&notifications, &BLOCK_TOPICS, &host(client.url())),
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

/// Waits until the node has said something, or for a moment.
fn wait_for_news(watcher: &TipWatcher, node: &mut NodeFollower) {
    let Ok(first) = watcher.events().recv_timeout(GLANCE) else { return };
    for event in std::iter::once(first).chain(watcher.events().try_iter()) {
        match event {
            Event::Tip(hash) | Event::Polling { best: hash } | Event::Connected(hash) => node.announced(&hash),
            Event::Block { raw, .. } => {
                if let Some(hash) = node.offer(raw.into_bytes()) {
                    node.announced(&hash);
                }
            }
            // The node is asked after each wait: whatever the hole swallowed is found out now.
            Event::Gap(gap) => {
                tracing::warn!(?gap, "messages of the node were missed");
                watcher.repaired(1);
            }
            Event::Disconnected(_) | Event::Accepted { .. } | Event::Removed { .. } | Event::Tx(_) => {}
        }
    }
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
