//! Our chain brought to the node's, step by step.

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

/// Blocks planned at once: hashes are asked for in a few batches, and a reorg meanwhile costs little.
const PLAN: u32 = 2_000;
/// While blocks are fetched, how often the node is asked whether they are still on its best chain.
const RECHECK: Duration = Duration::from_secs(2);
/// Blocks that arrived unasked and wait for their turn.
const MAX_OFFERED: usize = 4;

/// What to do next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChainStep {
    /// Take off our highest blocks, down to the fork.
    Disconnect {
        /// How many.
        blocks: u32,
        /// Height of the new tip.
        fork: Height,
    },
    /// Put this block on our tip.
    Connect(Box<NodeBlock>),
    /// Nothing: our tip is the node's.
    AtTip(BlockAt),
}

/// Follows the node's best chain: from genesis on, at the tip, through reorgs, with blocks fetched ahead.
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

    /// The node's tip when it was last asked.
    #[must_use]
    pub fn node_tip(&self) -> Option<BlockAt> {
        self.node_tip
    }

    /// Hands over a block that the node announced with its bytes. If it turns out to go right on our tip, it needs not
    /// be fetched. Returns its hash, or `None` if the bytes are no block (they are ignored then).
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

    /// Tells that the node's tip may be another now. If it is none of the blocks being fetched, the plan is made anew.
    pub fn announced(&mut self, tip: &BlockHash) {
        if self.feed.as_ref().is_some_and(|feed| !feed.lists(tip)) {
            self.checked = Instant::now().checked_sub(RECHECK).unwrap_or_else(Instant::now);
        }
    }

    /// What brings our chain one step nearer to the node's. To be called again after the step is done, and, at the tip,
    /// when there are news.
    ///
    /// The step is always right for our chain as it is at the time of the call: a block to connect is a child of its
    /// tip. Blocks that come one after the other are checked for that, whatever the node's chain did meanwhile.
    ///
    /// # Errors
    /// See [`NodeError`]; after [`NodeError::is_worth_waiting`] a later call goes on.
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

    /// Drops the plan if the node's best chain has left it.
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

    /// The offered block that is a child of our tip, if there is one. Siblings are left: the node's chain decides.
    fn offered_on(&mut self, tip: Option<BlockAt>) -> Option<NodeBlock> {
        let tip = tip?;
        let mut children = (0..self.offered.len()).filter(|&at| self.offered[at].previous() == tip.hash);
        let at = children.next_back()?;
        let mut block = self.offered.remove(at)?;
        block.height = tip.height.checked_add(1)?;
        Some(block)
    }
}

/// Whether a block is the child of our tip, or genesis where there is none.
fn goes_on(tip: Option<BlockAt>, block: &NodeBlock) -> bool {
    match tip {
        Some(tip) => block.previous() == tip.hash && block.height == tip.height + 1,
        None => block.height == 0,
    }
}
