//! Brings our chain to the node's, step by step.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use cairn_model::{BlockHash, Height};
use cairn_sources::decode_block;

use crate::{
    blocks::NodeBlock,
    chain::{BlockAt, HeaderChain, OurChain},
    client::NodeClient,
    error::NodeError,
    feed::{BlockFeed, FetchOptions},
};

/// Blocks planned at once: hashes need only a few batches, and a reorg in between costs little.
const PLAN: u32 = 2_000;
/// While blocks are fetched, the interval of checks that they are still on the node's best chain.
const RECHECK: Duration = Duration::from_secs(2);
/// Maximum number of offered blocks that wait.
const MAX_OFFERED: usize = 4;

/// The next step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChainStep {
    /// Disconnect our highest blocks down to the fork.
    Disconnect {
        /// Number of blocks.
        blocks: u32,
        /// Height of the new tip.
        fork: Height,
    },
    /// Connect this block to our tip.
    Connect(Box<NodeBlock>),
    /// Nothing to do: our tip is the node's.
    AtTip(BlockAt),
}

/// Follows the node's best chain: from genesis, at the tip and through reorgs, with blocks fetched ahead.
pub struct ChainFollower {
    client: NodeClient,
    chain: HeaderChain,
    options: FetchOptions,
    feed: Option<BlockFeed>,
    checked: Instant,
    offered: VecDeque<NodeBlock>,
    node_tip: Option<BlockAt>,
}

impl ChainFollower {
    /// Follows the node behind `client`.
    #[must_use]
    pub fn new(client: NodeClient, options: FetchOptions) -> Self {
        let chain = HeaderChain::new(client.clone());
        ChainFollower {
            client,
            chain,
            options,
            feed: None,
            checked: Instant::now(),
            offered: VecDeque::new(),
            node_tip: None,
        }
    }

    /// The node's tip as of the last request.
    #[must_use]
    pub fn node_tip(&self) -> Option<BlockAt> {
        self.node_tip
    }

    /// Offers a block that the node announced with its bytes. If it is a child of our tip, it need not be fetched.
    /// Returns its hash, or `None` if the bytes are not a block (they are ignored then).
    pub fn offer(&mut self, raw: Vec<u8>) -> Option<BlockHash> {
        let decoded = match decode_block(&raw, self.client.shared.prefix_len) {
            Ok(decoded) => decoded,
            Err(error) => {
                tracing::warn!(%error, "an announced block cannot be decoded");
                return None;
            }
        };
        // Its height is known when its parent is.
        let block = NodeBlock { height: 0, raw, decoded };
        let hash = block.hash();
        self.offered.retain(|other| other.hash() != hash);
        if self.offered.len() == MAX_OFFERED {
            self.offered.pop_front();
        }
        self.offered.push_back(block);
        Some(hash)
    }

    /// Reports a possible new tip of the node. If it is not among the blocks being fetched, the plan is recomputed.
    pub fn announced(&mut self, tip: &BlockHash) {
        if self.feed.as_ref().is_some_and(|feed| !feed.lists(tip)) {
            self.checked = Instant::now().checked_sub(RECHECK).unwrap_or_else(Instant::now);
        }
    }

    /// The next step towards the node's chain. Call it again after the step is done, and, at the tip, after an event.
    ///
    /// The step is always valid for our chain at the time of the call: a block to connect is a child of its tip. This
    /// is checked for each block, however the node's chain has changed.
    ///
    /// # Errors
    /// Call it again later after an error that is worth waiting for: see [`NodeError::is_worth_waiting`].
    pub fn next_step(&mut self, ours: &dyn OurChain) -> Result<ChainStep, NodeError> {
        loop {
            if self.client.cancel_token().is_cancelled() {
                return Err(NodeError::Stopped);
            }
            let tip = ours.tip().map_err(NodeError::Owner)?;
            if self.feed.is_none()
                && let Some(block) = self.offered_on(tip)
                // Its message may be late: by now the node may have taken it off again.
                && self.client.block_hash(block.height)? == Some(block.hash())
            {
                self.node_tip = Some(BlockAt { height: block.height, hash: block.hash() });
                return Ok(ChainStep::Connect(Box::new(block)));
            }
            if self.checked.elapsed() >= RECHECK {
                self.recheck()?;
            }
            if let Some(feed) = &mut self.feed {
                match feed.next_block() {
                    Some(Ok(block)) if goes_on(tip, &block) => return Ok(ChainStep::Connect(Box::new(block))),
                    Some(Err(error)) => {
                        self.feed = None;
                        return Err(error);
                    }
                    // The plan is done, or our chain or the node's is no longer that of the plan.
                    Some(Ok(_)) | None => self.feed = None,
                }
                continue;
            }
            let update = self.chain.update(ours, PLAN)?;
            self.node_tip = Some(update.node_tip);
            if update.is_empty() || update.disconnect > 0 {
                // The node has left whatever was announced and found no use by now.
                self.offered.clear();
            }
            if update.is_empty() {
                return Ok(ChainStep::AtTip(update.node_tip));
            }
            self.checked = Instant::now();
            if !update.connect.is_empty() {
                self.feed = Some(BlockFeed::start(&self.client, update.connect, self.options)?);
            }
            if let Some(fork) = update.fork_height.filter(|_| update.disconnect > 0) {
                return Ok(ChainStep::Disconnect { blocks: update.disconnect, fork });
            }
        }
    }

    /// Drops the plan if it is no longer on the node's best chain.
    fn recheck(&mut self) -> Result<(), NodeError> {
        self.checked = Instant::now();
        if let Some(last) = self.feed.as_ref().and_then(BlockFeed::last)
            && self.client.block_hash(last.height)? != Some(last.hash)
        {
            tracing::info!(height = last.height, hash = %last.hash, "the node switched to another chain while blocks were fetched");
            self.feed = None;
        }
        Ok(())
    }

    /// The offered block that is a child of our tip, if there is exactly one; otherwise the node's chain decides.
    fn offered_on(&mut self, tip: Option<BlockAt>) -> Option<NodeBlock> {
        let tip = tip?;
        let mut children = (0..self.offered.len()).filter(|&at| self.offered[at].previous() == tip.hash);
        let at = children.next_back()?;
        let mut block = self.offered.remove(at)?;
        block.height = tip.height.checked_add(1)?;
        Some(block)
    }
}

/// True if a block is a child of our tip, or genesis if there is no tip.
fn goes_on(tip: Option<BlockAt>, block: &NodeBlock) -> bool {
    match tip {
        Some(tip) => block.previous() == tip.hash && block.height == tip.height + 1,
        None => block.height == 0,
    }
}
