//! A node as a source: blocks by RPC or REST, events by ZMQ or polling, and its mempool once the index is at its tip.

mod coins;
mod connection;
mod effects;
mod mempool;
mod publishers;
mod samples;
mod silence;
mod status;
mod whole_blocks;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use cairn_link::{Projector, Publish};
use cairn_model::{BlockHash, CancelToken, ChainParams, Height, Part};
use cairn_node::{
    BlockAt, ChainFollower, ChainStep, FetchOptions, NodeBlock, NodeClient, NodeConfig, NodeError, NodeEvent, OurChain,
    OwnerError, RetryPolicy, TipWatcher, Topic, WatchOptions, ZmqEndpoint,
};
use cairn_pipeline::{Engine, Phase, ProgressStep};
use cairn_reader::Reader;

use crate::{ActiveSource, FollowError, OpenIndex, Reached, Source, Until};
pub use connection::connect;
use effects::BlockEffects;
use mempool::WatchedMempool;
use publishers::PublisherWatch;
use silence::SilenceWatch;
use whole_blocks::NodeBlocks;

/// ZMQ topics about blocks and the mempool.
pub const TOPICS: [Topic; 4] = [Topic::RawBlock, Topic::HashBlock, Topic::RawTx, Topic::Sequence];

/// Number of blocks between two flushes while catching up.
const FLUSH_BLOCKS: u32 = 256;
/// Time between two flushes while catching up.
const FLUSH_TIME: Duration = Duration::from_secs(10);
/// Maximum wait at the tip before the node is asked again, whatever events arrived.
const GLANCE: Duration = Duration::from_millis(250);
/// Timeout for a block or another answer of the node: the first, and those after it has not sufficed again and again.
const PATIENCE: [Duration; 4] =
    [Duration::from_secs(6), Duration::from_secs(6), Duration::from_secs(20), Duration::from_secs(60)];
/// The follower's next step while the node does not answer, or does not answer well.
const NEXT: &str = "asks again every second";
/// Maximum number of events that are queued before the mempool processes them.
const EVENTS: usize = 2_000;
/// Pause after a temporary fault.
const PAUSE: Duration = Duration::from_secs(1);

/// A node that can be followed.
pub struct NodeSource {
    client: NodeClient,
    /// ZMQ publishers; if empty, those that the node reports.
    endpoints: Vec<ZmqEndpoint>,
    /// The network that it must be on, where that is not checked yet.
    unchecked: Option<ChainParams>,
}

impl NodeSource {
    /// The node of `client`, with ZMQ publishers at `endpoints`; if there are none, the node is asked for them.
    #[must_use]
    pub fn new(client: NodeClient, endpoints: Vec<ZmqEndpoint>) -> Self {
        NodeSource { client, endpoints, unchecked: None }
    }

    /// The same, for a node that may be away now: it is waited for without an end, and what is indexed is served
    /// meanwhile.
    ///
    /// # Errors
    /// Fails only if the settings are wrong: the node is another one, or does not let us in.
    pub fn awaited(
        config: &NodeConfig,
        chain: impl Into<ChainParams>,
        endpoints: Vec<ZmqEndpoint>,
        cancel: &CancelToken,
    ) -> Result<Self, NodeError> {
        let chain = chain.into();
        let (client, usable) = connection::try_connect(config, chain, cancel)?;
        Ok(NodeSource { client, endpoints, unchecked: (!usable).then_some(chain) })
    }
}

impl Source for NodeSource {
    fn begin(self: Box<Self>, index: &mut OpenIndex, until: Until) -> Result<Box<dyn ActiveSource>, FollowError> {
        if let Some(chain) = self.unchecked {
            connection::wait_for(&self.client, chain, index)?;
        }
        let endpoints = if self.endpoints.is_empty() { connection::published(&self.client) } else { self.endpoints };
        let addresses: Vec<&str> = endpoints.iter().map(|e| e.address.as_str()).collect();
        tracing::info!(
            zmq = addresses.join(" "),
            "{}",
            if endpoints.is_empty() { "no ZMQ: polling the node" } else { "ZMQ" }
        );
        let watcher = TipWatcher::start(&self.client, WatchOptions { endpoints, ..WatchOptions::default() })?;
        // A follower without an end does not repeat requests: health has to notice a silent node.
        let client = match until {
            Until::Cancelled => self.client.with_retry(RetryPolicy::NONE).with_timeout(PATIENCE[0]),
            Until::Height(_) | Until::Tip { .. } => self.client.clone(),
        };
        index.engine.set_whole_blocks(Arc::new(NodeBlocks(self.client.with_retry(RetryPolicy::NONE))));
        index.progress.begin(index.height()?);
        index.engine.prepare(index.progress.as_ref())?;
        index.readers.publish_tip(index.tip()?);
        let projector = match until {
            Until::Cancelled => {
                let started = Projector::start(index.mempool.clone(), index.cancel_token());
                Some(started.map_err(FollowError::Thread)?)
            }
            Until::Height(_) | Until::Tip { .. } => None,
        };
        let goes_on = until == Until::Cancelled;
        let silence = goes_on.then(|| SilenceWatch::start(&self.client, &index.troubles)).transpose();
        Ok(Box::new(FollowedNode {
            client: self.client,
            goes_on,
            _silence: silence.map_err(FollowError::Thread)?,
            timeouts: 0,
            watcher,
            publishers: PublisherWatch::default(),
            chain: ChainFollower::new(client, FetchOptions::default()),
            mempool: None,
            projector,
            first: index.height()?.map_or(0, |height| u64::from(height) + 1),
            connected: 0,
            bytes: 0,
            pending: 0,
            flushed: Instant::now(),
        }))
    }
}

/// The data of our chain that the node client needs.
struct EngineChain<'e> {
    engine: &'e Engine,
    reader: &'e Reader,
}

impl OurChain for EngineChain<'_> {
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

struct FollowedNode {
    client: NodeClient,
    /// It is followed until it is cancelled: whatever the node answers, it is waited for.
    goes_on: bool,
    /// Drops with the rest.
    _silence: Option<SilenceWatch>,
    /// Requests in a row that took too long.
    timeouts: usize,
    watcher: TipWatcher,
    publishers: PublisherWatch,
    chain: ChainFollower,
    /// Watched from the first wait at the tip: before, its transactions could not be resolved.
    mempool: Option<WatchedMempool>,
    projector: Option<Projector>,
    /// Height of the first block that this run may connect.
    first: u64,
    /// Blocks and their bytes since the tip was last reached.
    connected: u64,
    bytes: u64,
    /// Number of blocks that are not durable, and the last time at which there were none.
    pending: u32,
    flushed: Instant,
}

impl ActiveSource for FollowedNode {
    fn advance(&mut self, index: &mut OpenIndex, to: Option<Height>) -> Result<Reached, FollowError> {
        if to.map_or(Ok(false), |to| index.is_at(to))? {
            return Ok(Reached::Tip);
        }
        let reader = index.engine.reader();
        let step = self.chain.next_step(&EngineChain { engine: &index.engine, reader: &reader });
        let best = self.chain.node_tip().map(|tip| tip.height);
        index.readers.publish_best_height(best);
        if step.is_ok() {
            self.timeouts = 0;
            index.troubles.clear(Part::Node);
        }
        match step {
            Ok(ChainStep::Disconnect { blocks, fork }) => self.disconnect(index, &reader, blocks, fork)?,
            Ok(ChainStep::Connect(block)) => self.connect(index, *block, best, to)?,
            Ok(ChainStep::AtTip(at)) => {
                self.settle(index)?;
                if self.connected > 0 {
                    let (connected, bytes) = (self.connected, self.bytes);
                    tracing::info!(connected, height = at.height, hash = %at.hash, bytes, "at the node's tip");
                    (self.connected, self.bytes) = (0, 0);
                    // The progress bar of catching up ends here.
                    index.progress.begin(Some(at.height));
                }
                return Ok(Reached::Tip);
            }
            Err(error) if error.is_worth_waiting() || self.goes_on && error.is_of_node() => {
                self.wait_out(index, &error)?;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(Reached::Further)
    }

    fn wait(&mut self, index: &mut OpenIndex) -> Result<(), FollowError> {
        let FollowedNode { client, goes_on, watcher, publishers, chain, mempool, .. } = self;
        let mempool = match mempool {
            Some(mempool) => mempool,
            None => mempool.insert(WatchedMempool::begin(client, index)?),
        };
        let until = Instant::now() + GLANCE;
        let reader = index.engine.reader();
        let mut again_in = Duration::ZERO;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let mut moved = false;
            if let Ok(first) = watcher.events().recv_timeout(left.min(again_in)) {
                for event in std::iter::once(first).chain(watcher.events().try_iter().take(EVENTS)) {
                    mempool.hear(&event);
                    moved |= hear(event, watcher, chain);
                }
            }
            let (deltas, next) = mempool.step(&reader)?;
            index.readers.publish_mempool(&deltas);
            let node = watcher.status();
            if *goes_on {
                publishers.look(&node.topics, Instant::now(), &index.troubles);
            }
            if let Some(status) = mempool.status(index, &node) {
                index.readers.publish_source(&status);
            }
            if index.paused {
                // The chain is not asked for while nothing can be connected.
                index.readers.publish_best_height(node.blocks);
            } else if mempool.tick(&index.engine)? {
                index.engine.settle()?;
            }
            if moved || left.is_zero() || index.cancel_token().is_cancelled() {
                return Ok(());
            }
            again_in = next;
        }
    }

    /// A node has its chain, or it is not at its tip.
    fn check_complete(&self, _: &OpenIndex, _: Option<Height>) -> Result<(), FollowError> {
        Ok(())
    }

    fn part(&self) -> Part {
        Part::Node
    }

    /// Starts chain and mempool again: their state in memory may lack a step that reached the index, or the other way
    /// round.
    fn recover(&mut self, _: &mut OpenIndex, _: &FollowError) -> Result<(), FollowError> {
        self.mempool = None;
        self.renew_chain();
        Ok(())
    }

    fn end(mut self: Box<Self>, index: &mut OpenIndex) -> Result<(), FollowError> {
        // The mempool is stored, also after an error.
        if let Some(mempool) = &mut self.mempool {
            mempool.keep(&index.engine)?;
        }
        index.settle()?;
        // Without a cancellation, the projector continues: its readers may still be there.
        let cancelled = index.cancel_token().is_cancelled();
        match self.projector.filter(|_| cancelled).map(Projector::join) {
            Some(false) => Err(FollowError::Panicked("projector")),
            Some(true) | None => Ok(()),
        }
    }
}

impl FollowedNode {
    fn disconnect(
        &mut self,
        index: &mut OpenIndex,
        reader: &Reader,
        blocks: u32,
        fork: Height,
    ) -> Result<(), FollowError> {
        tracing::warn!(blocks, fork, "reorganization");
        index.engine.unwind(fork, index.progress.as_ref())?;
        index.count(|figures| figures.blocks(0, blocks.into()));
        if let Some(mempool) = &mut self.mempool {
            mempool.disconnected(reader)?;
        }
        index.progress.begin(Some(fork));
        Ok(())
    }

    fn connect(
        &mut self,
        index: &mut OpenIndex,
        block: NodeBlock,
        best: Option<Height>,
        to: Option<Height>,
    ) -> Result<(), FollowError> {
        let (height, size) = (block.height, block.raw.len() as u64);
        let effects = self.mempool.as_ref().map(|_| BlockEffects::of(&block.decoded));
        index.engine.extend(block.decoded)?;
        index.count(|figures| figures.blocks(1, 0));
        // From here on, requests see the block, so they must also see its effect on the mempool.
        if let Some((mempool, effects)) = self.mempool.as_mut().zip(effects) {
            index.readers.publish_connected(&mempool.connected(height, effects));
            mempool.keep(&index.engine)?;
        }
        self.connected += 1;
        self.bytes += size;
        self.pending += 1;
        let total = u64::from(to.or(best).unwrap_or(height).max(height)) + 1 - self.first.min(u64::from(height));
        index.progress.step(ProgressStep {
            phase: Phase::Connect,
            done: self.connected.min(total),
            total,
            bytes: self.bytes,
            of_bytes: 0,
        });
        // At the tip each block is made durable and announced at once. Readers in this process see the block already:
        // it is made durable before late stages work on it, so that a kill can hardly take back what was read.
        let at_tip = best.is_none_or(|best| height >= best);
        if at_tip {
            index.engine.settle()?;
            index.announce(false)?;
        }
        if at_tip || self.pending >= FLUSH_BLOCKS || self.flushed.elapsed() > FLUSH_TIME {
            self.settle(index)?;
        }
        Ok(())
    }

    /// Makes the connected blocks durable, and publishes them with their effects on the mempool.
    fn settle(&mut self, index: &OpenIndex) -> Result<(), FollowError> {
        index.settle()?;
        (self.pending, self.flushed) = (0, Instant::now());
        Ok(())
    }

    /// Follows the chain with the patience that its last answers took.
    fn renew_chain(&mut self) {
        let patience = PATIENCE[self.timeouts.min(PATIENCE.len() - 1)];
        let client = match self.goes_on {
            true => self.client.with_retry(RetryPolicy::NONE).with_timeout(patience),
            false => self.client.clone(),
        };
        self.chain = ChainFollower::new(client, FetchOptions::default());
    }

    /// Handles a temporary fault.
    fn wait_out(&mut self, index: &OpenIndex, error: &NodeError) -> Result<(), FollowError> {
        self.settle(index)?;
        let node = self.watcher.status();
        if self.goes_on {
            index.troubles.set(Part::Node, error, NEXT);
            self.publishers.look(&node.topics, Instant::now(), &index.troubles);
        } else {
            tracing::warn!(%error, "waiting for the node");
        }
        if matches!(error, NodeError::TimedOut { .. }) {
            self.timeouts += 1;
            self.renew_chain();
        }
        index.readers.publish_best_height(None);
        if let Some(status) = self.mempool.as_mut().and_then(|mempool| mempool.status(index, &node)) {
            index.readers.publish_source(&status);
        }
        index.cancel_token().wait(PAUSE);
        Ok(())
    }
}

/// Passes events about blocks to the tip watcher. Returns true if there may be a new tip.
fn hear(event: NodeEvent, watcher: &TipWatcher, chain: &mut ChainFollower) -> bool {
    match event {
        NodeEvent::Tip(hash) | NodeEvent::Polling { best: hash } | NodeEvent::Connected(hash) => chain.announced(&hash),
        NodeEvent::Block { raw, .. } => {
            if let Some(hash) = chain.offer(raw.into_bytes()) {
                chain.announced(&hash);
            }
        }
        // The node is asked after this, which finds a missed tip; the mempool takes a snapshot.
        NodeEvent::Gap(gap) => {
            tracing::debug!(%gap, "messages of the node may be missing");
            watcher.repaired(1);
        }
        NodeEvent::Disconnected(_) => {}
        NodeEvent::Accepted { .. } | NodeEvent::Removed { .. } | NodeEvent::Tx(_) => return false,
    }
    true
}
