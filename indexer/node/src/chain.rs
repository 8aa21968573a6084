//! Finds the fork of our chain and the node's best chain, and the blocks between our tip and the node's.

use std::{collections::BTreeMap, time::Duration};

use cairn_model::{BlockHash, Height};

use crate::{
    answers::ChainInfo,
    blocks::{hash_of, previous},
    client::NodeClient,
    error::{NodeError, OwnerError},
};

/// How often a plan is made again when the node's chain changes while it is read.
const ATTEMPTS: u32 = 10;
/// Pause before that.
const SETTLE: Duration = Duration::from_millis(100);
/// Heights asked for at once while the fork is searched.
const PROBES: u32 = 32;

/// A block by height and hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockAt {
    /// Its height.
    pub height: Height,
    /// Its hash.
    pub hash: BlockHash,
}

/// The chain that is to be brought to the node's.
pub trait OurChain {
    /// Its tip; `None` while it has no block.
    fn tip(&self) -> Result<Option<BlockAt>, OwnerError>;

    /// Hash of its block at a height; `None` above the tip.
    fn hash_at(&self, height: Height) -> Result<Option<BlockHash>, OwnerError>;
}

/// The steps from our chain to the node's, or a good part of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChainUpdate {
    /// Highest block that both chains have; `None` if ours is empty.
    pub fork_height: Option<Height>,
    /// How many of our blocks come off, from the tip down.
    pub disconnect: u32,
    /// Blocks to put on the fork then, in order. Not more than were asked for: the rest comes with the next update.
    pub connect: Vec<BlockAt>,
    /// The node's tip.
    pub node_tip: BlockAt,
}

impl ChainUpdate {
    /// Whether our tip is the node's.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.disconnect == 0 && self.connect.is_empty()
    }

    fn nothing(tip: BlockAt) -> Self {
        ChainUpdate { fork_height: Some(tip.height), disconnect: 0, connect: Vec::new(), node_tip: tip }
    }
}

/// The node's best chain.
#[derive(Clone, Debug)]
pub struct HeaderChain {
    client: NodeClient,
}

impl HeaderChain {
    /// The best chain of the node behind `client`.
    #[must_use]
    pub fn new(client: NodeClient) -> Self {
        HeaderChain { client }
    }

    /// Compares our chain with the node's. At most `limit` blocks are listed to connect.
    ///
    /// Follows the node wherever it goes, also back (`invalidateblock`), but for a node that has merely not come as far
    /// as we are: it is waited for.
    ///
    /// # Errors
    /// Returns [`NodeError::Behind`], [`NodeError::Pruned`], [`NodeError::OtherChain`] or [`NodeError::Unsettled`];
    /// fails also if the node or our chain cannot be read.
    pub fn update(&self, ours: &dyn OurChain, limit: u32) -> Result<ChainUpdate, NodeError> {
        for _ in 0..ATTEMPTS {
            if let Some(update) = self.try_update(ours, limit)? {
                return Ok(update);
            }
            if self.client.cancel_token().wait(SETTLE) {
                return Err(NodeError::Stopped);
            }
        }
        Err(NodeError::Unsettled)
    }

    /// `None` where the node's chain changed meanwhile.
    fn try_update(&self, ours: &dyn OurChain, limit: u32) -> Result<Option<ChainUpdate>, NodeError> {
        let info = self.client.chain_info()?;
        // Signets share their genesis block: a node that was replaced by one of another signet seems to reorganize.
        if let Some(chain) = self.client.checked_chain() {
            info.is_on_signet_of(chain)?;
        }
        let node_tip = BlockAt { height: info.blocks, hash: info.best };
        let tip = ours.tip().map_err(NodeError::Owner)?;
        let Some(tip) = tip else {
            info.needs_block(0)?;
            let connect = self.blocks(0, node_tip, limit)?;
            return Ok(connect.map(|connect| ChainUpdate { fork_height: None, disconnect: 0, connect, node_tip }));
        };
        if tip == node_tip {
            return Ok(Some(ChainUpdate::nothing(tip)));
        }
        let Some(fork) = self.fork(ours, tip.height.min(node_tip.height))? else { return Ok(None) };
        // Our tip is on or above the fork: the search began no higher.
        let disconnect = tip.height.saturating_sub(fork);
        if disconnect > 0 {
            may_go_back(&info, tip, fork)?;
        }
        let mut connect = Vec::new();
        if fork < node_tip.height {
            info.needs_block(fork + 1)?;
            match self.blocks(fork + 1, node_tip, limit)? {
                Some(blocks) => connect = blocks,
                None => return Ok(None),
            }
        }
        // Blocks on our tip are checked as they come. Blocks to disconnect are gone by then: look first.
        if disconnect > 0 && !self.stands_on_fork(ours, fork, node_tip, &connect)? {
            return Ok(None);
        }
        Ok(Some(ChainUpdate { fork_height: Some(fork), disconnect, connect, node_tip }))
    }

    /// The node's blocks from a height on; `None` if its chain no longer has them all.
    fn blocks(&self, from: Height, node_tip: BlockAt, limit: u32) -> Result<Option<Vec<BlockAt>>, NodeError> {
        let to = node_tip.height.min(from.saturating_add(limit.max(1) - 1));
        let heights: Vec<Height> = (from..=to).collect();
        let hashes = self.client.block_hashes(&heights)?;
        Ok(heights.into_iter().zip(hashes).map(|(height, hash)| Some(BlockAt { height, hash: hash? })).collect())
    }

    /// Whether the blocks to connect are a chain on the fork, by their headers, and the fork is still the node's.
    fn stands_on_fork(
        &self,
        ours: &dyn OurChain,
        fork: Height,
        node_tip: BlockAt,
        connect: &[BlockAt],
    ) -> Result<bool, NodeError> {
        let Some(mut below) = ours.hash_at(fork).map_err(NodeError::Owner)? else { return Ok(false) };
        let Some(first) = connect.first() else { return Ok(node_tip.hash == below) };
        // The node has come back to our branch since the fork was searched.
        if ours.hash_at(first.height).map_err(NodeError::Owner)? == Some(first.hash) {
            return Ok(false);
        }
        let hashes: Vec<BlockHash> = connect.iter().map(|block| block.hash).collect();
        for (hash, header) in hashes.iter().zip(self.client.block_headers(&hashes)?) {
            match header {
                Some(header) if hash_of(&header) == *hash && previous(&header) == below => below = *hash,
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Height of the highest block at or below `top` that both chains have. Hashes agree up to the fork and nowhere
    /// above it, so the interval that holds it is cut down by some dozen probes at a time. `None` where our own chain
    /// changed meanwhile.
    fn fork(&self, ours: &dyn OurChain, top: Height) -> Result<Option<Height>, NodeError> {
        // The fork is within low..=high; the first probes double their distance from the top, as most forks are near.
        let mut known = BTreeMap::new();
        let mut probes: Vec<Height> = (0..32).map_while(|n| top.checked_sub((1 << n) - 1)).collect();
        probes.push(0);
        let (mut low, mut high) = (None, top);
        loop {
            probes.sort_unstable();
            probes.dedup();
            let theirs = self.client.block_hashes(&probes)?;
            for (&height, theirs) in probes.iter().zip(&theirs) {
                let Some(mine) = ours.hash_at(height).map_err(NodeError::Owner)? else { return Ok(None) };
                if height == 0 && *theirs != Some(mine) {
                    let theirs = theirs.ok_or(NodeError::Unsettled)?;
                    return Err(NodeError::OtherChain { theirs, ours: mine });
                }
                known.insert(height, *theirs == Some(mine));
            }
            for (&height, &same) in &known {
                if same {
                    low = low.max(Some(height));
                }
            }
            let same = low.unwrap_or(0);
            // The lowest height above it that differs.
            if let Some((&differs, _)) = known.range(same..).find(|(_, same)| !**same) {
                high = differs - 1;
            }
            if high <= same {
                return Ok(Some(same));
            }
            let step = (high - same).div_ceil(PROBES).max(1);
            probes = (same..=high).step_by(step as usize).skip(1).chain([high]).collect();
        }
    }
}

/// Fails where the node lacks our blocks only because it has not come as far: it then still knows better headers than
/// its tip, or is in its initial download below our height.
fn may_go_back(info: &ChainInfo, tip: BlockAt, fork: Height) -> Result<(), NodeError> {
    let on_our_chain = fork == info.blocks;
    if (on_our_chain && info.headers > info.blocks) || (info.is_catching_up() && info.blocks < tip.height) {
        return Err(NodeError::Behind { node: info.blocks, headers: info.headers, ours: tip.height });
    }
    Ok(())
}
