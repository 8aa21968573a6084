//! The script's side: what happens to the chain and to the mempool.

mod blocks;
mod pool;
mod wallet;
mod wallets;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bitcoin::{Block, BlockHash, Network, OutPoint, Transaction, TxOut};
use cairn_chaingen::{ChainBuilder, Mined};
use crossbeam_channel::Sender;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::Error;
use crate::mempool::Policy;
use crate::node::Node;
use crate::notice::Notice;
use crate::options::{Source, StandInOptions};
use crate::zmq::Command;

pub use blocks::{BlockPlan, Txs};
pub use pool::PoolTx;
pub use wallet::Payment;
pub(crate) use wallets::{FundingPlan, OwnedCoin, WalletFault};

/// The chain and the mempool of a stand-in, and the means to change them. Every change is announced over ZMQ in the
/// order in which Core announces it.
#[derive(Debug)]
pub struct World {
    pub(crate) node: Node,
    source: Source,
    /// Nodes of other networks, while the stand-in plays another one.
    elsewhere: BTreeMap<Network, Node>,
    rng: ChaCha8Rng,
    clock: Option<u64>,
    /// Blocks that the node has only heard the headers of.
    held: VecDeque<Block>,
    holding: bool,
    next_key: u32,
    /// Where the wallet goes on looking for coins.
    cursor: Option<OutPoint>,
    outlet: Option<Sender<Command>>,
    /// The node's own wallets. Payments of this world do not spend their coins.
    pub(crate) wallets: wallets::NodeWallets,
    /// The mempool while the node is down: transactions and when they entered, Unix seconds.
    on_disk: Vec<(Arc<Transaction>, u64)>,
}

impl World {
    pub(crate) fn new(options: &mut StandInOptions) -> Result<Self, Error> {
        let source =
            options.source.take().unwrap_or_else(|| Source::Builder(Box::new(ChainBuilder::new(options.seed))));
        let mut world = Self {
            node: Node::new(Network::Regtest, Policy::new(options)),
            source,
            elsewhere: BTreeMap::new(),
            rng: ChaCha8Rng::seed_from_u64(options.seed ^ 0x5eed),
            clock: options.time,
            held: VecDeque::new(),
            holding: false,
            next_key: 1_000_000,
            cursor: None,
            outlet: None,
            wallets: wallets::NodeWallets::default(),
            on_disk: Vec::new(),
        };
        world.deliver(1)?;
        for _ in 0..options.premine {
            world.mine_plan(&BlockPlan::default())?;
        }
        Ok(world)
    }

    pub(crate) fn attach(&mut self, outlet: Option<Sender<Command>>) {
        self.outlet = outlet;
    }

    pub(crate) fn publish(&self, notices: Vec<Notice>) {
        if let Some(outlet) = &self.outlet
            && !notices.is_empty()
        {
            // If the publisher is gone, nobody listens.
            let _ = outlet.send(Command::Notices(notices));
        }
    }

    fn builder(&mut self) -> &mut ChainBuilder {
        match &mut self.source {
            Source::Builder(builder) => builder,
            Source::Everything(everything) => everything.builder(),
        }
    }

    fn chain(&self) -> &cairn_chaingen::Chain {
        match &self.source {
            Source::Builder(builder) => builder.chain(),
            Source::Everything(everything) => everything.chain(),
        }
    }

    /// Unix seconds: the mock time, or the system's.
    pub fn now(&self) -> u64 {
        self.clock.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()))
    }

    /// Sets the mock time, Unix seconds; `None` goes back to the system's clock.
    pub fn set_time(&mut self, time: Option<u64>) {
        self.clock = time;
    }

    /// Hash of the tip.
    pub fn tip(&self) -> BlockHash {
        self.node.tip().hash
    }

    /// Height of the tip.
    pub fn height(&self) -> u32 {
        self.node.height()
    }

    /// Hash of the block of the active chain at a height.
    pub fn hash_at(&self, height: u32) -> Option<BlockHash> {
        self.node.at(height).map(|block| block.hash)
    }

    /// Any block that the node has received.
    pub fn block(&self, hash: &BlockHash) -> Option<Block> {
        self.node.get(hash).map(|stored| stored.block.clone())
    }

    /// The active chain from genesis to tip, each block with the coins it spends: what an oracle needs.
    pub fn active(&self) -> Vec<Mined> {
        (0..=self.height())
            .filter_map(|height| self.node.at(height))
            .map(|stored| Mined {
                block: stored.block.clone(),
                height: stored.height,
                spent: self.node.spent(&stored.hash).map(|spent| spent.as_ref().clone()).unwrap_or_default(),
            })
            .collect()
    }

    /// The output behind an outpoint, if it is unspent in the chain or made in the mempool.
    pub fn txout(&self, outpoint: &OutPoint) -> Option<TxOut> {
        match self.node.coins().get(outpoint) {
            Some(coin) => Some(coin.txout.clone()),
            None => {
                let parent = self.node.pool.get(&outpoint.txid)?;
                parent.tx.output.get(outpoint.vout as usize).cloned()
            }
        }
    }

    /// MuHash3072 of the coin set at the tip, as `gettxoutsetinfo` prints it.
    pub fn muhash(&self) -> String {
        crate::node::muhash(self.node.coins())
    }

    /// Says that the node is in its initial block download, or no longer: blocks are then connected without
    /// announcement of the tip (`hashblock`, `rawblock`), as Core does.
    pub fn set_ibd(&mut self, ibd: bool) {
        self.node.ibd = ibd;
    }

    /// Prunes the blocks below a height; `None` makes it a node that does not prune (with all blocks back).
    pub fn prune(&mut self, below: Option<u32>) {
        self.node.pruned_below = below;
    }

    /// Makes it a node of another network, which has only its genesis block; regtest brings the generated chain back.
    /// Nothing is announced: a node changes its network only by a restart.
    pub fn set_network(&mut self, network: Network) {
        if network == self.node.network {
            return;
        }
        let policy = self.node.policy.clone();
        let next = self.elsewhere.remove(&network).unwrap_or_else(|| Node::new(network, policy));
        let former = std::mem::replace(&mut self.node, next);
        self.elsewhere.insert(former.network, former);
    }

    /// Makes it a node of the signet with this challenge, if it is on signet. Reported from v28 on.
    pub fn set_signet_challenge(&mut self, challenge: &str) {
        challenge.clone_into(&mut self.node.signet_challenge);
    }

    /// Writes the mempool to disk, as at a stop; without `keep`, loses it.
    pub(crate) fn unload_pool(&mut self, keep: bool) {
        let txs = self.node.pool.unload();
        // Transactions that waited there since an earlier start are still there.
        let waiting = std::mem::take(&mut self.on_disk);
        self.on_disk = if keep { waiting.into_iter().chain(txs).collect() } else { Vec::new() };
        self.node.pool_loaded = false;
    }

    /// Loads the mempool from disk after a start. This is announced transaction by transaction, with mempool sequence
    /// numbers that begin again. Only needed after a start with [`Restart::slow_load`](crate::Restart::slow_load).
    pub fn load_pool(&mut self) {
        let mut notices = Vec::new();
        for (tx, time) in std::mem::take(&mut self.on_disk) {
            // Transactions that are not acceptable any more are lost, as with Core.
            let _ = self.node.accept_tx(&tx, time, &mut notices);
        }
        self.node.pool_loaded = true;
        self.publish(notices);
    }
}
