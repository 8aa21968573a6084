//! The state of a node: the tree of blocks, the active chain with its coins, and the mempool.

mod activate;
mod check;
mod coins;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use bitcoin::params::Params;
use bitcoin::{Block, BlockHash, Network, Transaction, Txid};

use crate::Error;
use crate::mempool::{Context, Mempool, Policy, Reject, Template};
use crate::notice::Notice;
use crate::stored::Stored;

pub(crate) use check::is_final;
pub(crate) use coins::{CoinMap, Spent, muhash, totals};

/// One place in the tree.
#[derive(Debug)]
struct TreeBlock {
    stored: Arc<Stored>,
    /// Genesis is its own parent.
    parent: usize,
    /// The block or an ancestor is invalid, or was called so.
    bad: bool,
    /// Was on the active chain once: the coins it spends.
    spent: Option<Arc<Spent>>,
}

/// The challenge of the default signet.
const DEFAULT_CHALLENGE: &str = "512103ad5e0edad18cb1f0fc0d28a3d4f1f3e445640337489abb10404f2d1e086be430\
     210359ef5021964fe22d6f8e05b2463c9540ce96883fe3b278760f048f5189f2e6c452ae";

/// A node's state.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) network: Network,
    pub(crate) policy: Policy,
    pub(crate) pool: Mempool,
    /// Initial block download: tips are not announced, and `initialblockdownload` is true.
    pub(crate) ibd: bool,
    /// Whether the mempool was loaded since the start.
    pub(crate) pool_loaded: bool,
    /// Lowest height whose block is still there; `None` on a node that does not prune.
    pub(crate) pruned_below: Option<u32>,
    /// The challenge that it reports on signet.
    pub(crate) signet_challenge: String,
    /// Headers known beyond the blocks: what a node that is behind has heard of.
    pub(crate) headers: u32,
    tree: Vec<TreeBlock>,
    index: HashMap<BlockHash, usize>,
    active: Vec<usize>,
    coins: CoinMap,
    tx_blocks: HashMap<Txid, BlockHash>,
}

impl Node {
    /// A node that knows the genesis block of a network.
    pub(crate) fn new(network: Network, policy: Policy) -> Self {
        let params: &Params = match network {
            Network::Bitcoin => &Params::MAINNET,
            Network::Signet => &Params::SIGNET,
            Network::Testnet => &Params::TESTNET3,
            Network::Testnet4 => &Params::TESTNET4,
            Network::Regtest => &Params::REGTEST,
        };
        let block = bitcoin::constants::genesis_block(params);
        let stored = Stored {
            hash: block.block_hash(),
            height: 0,
            raw: bitcoin::consensus::serialize(&block),
            work: block.header.work(),
            median: block.header.time,
            block,
        };
        Self {
            network,
            policy,
            pool: Mempool::default(),
            ibd: false,
            pool_loaded: true,
            pruned_below: None,
            signet_challenge: DEFAULT_CHALLENGE.to_owned(),
            headers: 0,
            index: HashMap::from([(stored.hash, 0)]),
            tree: vec![TreeBlock { stored: Arc::new(stored), parent: 0, bad: false, spent: None }],
            active: vec![0],
            coins: CoinMap::new(),
            tx_blocks: HashMap::new(),
        }
    }

    fn tip_index(&self) -> usize {
        // The active chain always holds genesis.
        self.active.last().copied().unwrap_or(0)
    }

    pub(crate) fn tip(&self) -> &Arc<Stored> {
        &self.tree[self.tip_index()].stored
    }

    pub(crate) fn height(&self) -> u32 {
        self.tip().height
    }

    /// Any block received, by hash.
    pub(crate) fn get(&self, hash: &BlockHash) -> Option<&Arc<Stored>> {
        self.index.get(hash).map(|&at| &self.tree[at].stored)
    }

    /// The block of the active chain at a height.
    pub(crate) fn at(&self, height: u32) -> Option<&Arc<Stored>> {
        self.active.get(height as usize).map(|&at| &self.tree[at].stored)
    }

    /// Whether a block is on the active chain.
    pub(crate) fn is_active(&self, block: &Stored) -> bool {
        self.at(block.height).is_some_and(|other| other.hash == block.hash)
    }

    /// The coins that a block spends; none if it was never on the active chain (genesis spends nothing).
    pub(crate) fn spent(&self, hash: &BlockHash) -> Option<Arc<Spent>> {
        let entry = &self.tree[*self.index.get(hash)?];
        if entry.stored.height == 0 { Some(Arc::default()) } else { entry.spent.clone() }
    }

    /// Whether the data of a block were pruned.
    pub(crate) fn is_pruned(&self, block: &Stored) -> bool {
        self.pruned_below.is_some_and(|lowest| block.height < lowest)
    }

    pub(crate) fn coins(&self) -> &CoinMap {
        &self.coins
    }

    /// The active block that holds a transaction.
    pub(crate) fn block_of(&self, txid: &Txid) -> Option<&Arc<Stored>> {
        self.tx_blocks.get(txid).and_then(|hash| self.get(hash))
    }

    /// The blocks without children: hash, height, length of the branch off the active chain, and Core's status.
    pub(crate) fn tips(&self) -> Vec<(Arc<Stored>, u32, &'static str)> {
        let parents: BTreeSet<usize> = self.tree.iter().skip(1).map(|entry| entry.parent).collect();
        let mut tips = Vec::new();
        for (at, entry) in self.tree.iter().enumerate() {
            let active = at == self.tip_index();
            if parents.contains(&at) && !active {
                continue;
            }
            let mut branch = 0;
            let mut below = at;
            while !self.is_active(&self.tree[below].stored) {
                branch += 1;
                below = self.tree[below].parent;
            }
            // A block on the active chain below the tip is not a tip, even if the blocks after it were taken off.
            if branch == 0 && !active {
                continue;
            }
            let status = match (active, entry.bad, entry.spent.is_some()) {
                (true, ..) => "active",
                (_, true, _) => "invalid",
                (_, _, true) => "valid-fork",
                _ => "valid-headers",
            };
            tips.push((Arc::clone(&entry.stored), branch, status));
        }
        tips.sort_by_key(|(block, ..)| std::cmp::Reverse(block.height));
        tips
    }

    /// Median time past at a height of the active chain, Unix seconds.
    pub(crate) fn median(&self, height: u32) -> u32 {
        self.at(height).map_or(0, |block| block.median)
    }

    /// The coin set as it was at a height of the active chain.
    pub(crate) fn coins_at(&self, height: u32) -> CoinMap {
        let mut coins = self.coins.clone();
        for &at in self.active.iter().skip(height as usize + 1).rev() {
            let entry = &self.tree[at];
            if let Some(spent) = &entry.spent {
                coins::disconnect(&mut coins, &entry.stored.block, spent);
            }
        }
        coins
    }

    /// Checks a transaction against chain and mempool; `now` is Unix seconds.
    pub(crate) fn check_tx(
        &self,
        tx: &Arc<Transaction>,
        now: u64,
        limits: bool,
    ) -> Result<crate::mempool::Found, Reject> {
        self.with_context(now, |context| self.pool.check(tx, context, limits))
    }

    fn with_context<T>(&self, now: u64, run: impl FnOnce(&Context<'_>) -> T) -> T {
        let median = |height| self.median(height);
        run(&Context { coins: &self.coins, height: self.height(), median: &median, policy: &self.policy, now })
    }

    /// Puts a transaction into the mempool, if it is acceptable.
    pub(crate) fn accept_tx(
        &mut self,
        tx: &Arc<Transaction>,
        now: u64,
        notices: &mut Vec<Notice>,
    ) -> Result<Txid, Reject> {
        let found = self.check_tx(tx, now, true)?;
        let txid = found.entry.txid;
        self.pool.add(found, notices);
        let policy = self.policy.clone();
        self.pool.trim(policy.max_bytes, &policy, notices);
        if self.pool.contains(&txid) { Ok(txid) } else { Err(Reject::rules("mempool full")) }
    }

    /// The block template on the tip.
    pub(crate) fn template(&self) -> Template {
        self.pool.template(self.height() + 1, self.tip().median, &self.policy)
    }

    /// Receives a block; it becomes the tip if its chain has the most work.
    pub(crate) fn accept_block(&mut self, block: Block, now: u64, notices: &mut Vec<Notice>) -> Result<(), Error> {
        let hash = block.block_hash();
        if let Some(&at) = self.index.get(&hash) {
            let reason = if self.tree[at].bad { "duplicate-invalid" } else { "duplicate" };
            return Err(Error::Block { hash, reason });
        }
        let refuse = |reason| Error::Block { hash, reason };
        let &parent = self.index.get(&block.header.prev_blockhash).ok_or(refuse("prev-blk-not-found"))?;
        let below = Arc::clone(&self.tree[parent].stored);
        if self.tree[parent].bad {
            return Err(refuse("bad-prevblk"));
        }
        let height = below.height + 1;
        if let Some(reason) = check::problem(&block, height, below.block.header.bits, below.median) {
            return Err(refuse(reason));
        }
        let stored = Stored {
            hash,
            height,
            raw: bitcoin::consensus::serialize(&block),
            work: below.work + block.header.work(),
            median: self.median_of(parent, block.header.time),
            block,
        };
        let at = self.tree.len();
        self.index.insert(hash, at);
        self.tree.push(TreeBlock { stored: Arc::new(stored), parent, bad: false, spent: None });
        self.headers = self.headers.max(height);
        let problem = self.activate(now, notices);
        match problem {
            Some((bad, reason)) if bad == hash => Err(Error::Block { hash, reason }),
            _ => Ok(()),
        }
    }

    /// Median of a new block's time and of the ten before it.
    fn median_of(&self, parent: usize, time: u32) -> u32 {
        let mut times = vec![time];
        let mut at = parent;
        while times.len() < 11 {
            let entry = &self.tree[at];
            times.push(entry.stored.block.header.time);
            if entry.stored.height == 0 {
                break;
            }
            at = entry.parent;
        }
        times.sort_unstable();
        times[times.len() / 2]
    }
}
