//! Mining, forks, reorganizations.

use bitcoin::{Block, BlockHash, Transaction};
use cairn_chaingen::{BlockSpec, Lock};
use rand::Rng;

use super::World;
use crate::Error;
use crate::options::Source;

/// The transactions of a block besides its coinbase.
#[derive(Clone, Debug, Default)]
pub enum Txs {
    /// The node's own template, as far as it fits. On a parent other than the tip: nothing.
    #[default]
    Template,
    /// Nothing.
    None,
    /// These, in this order. They need not be in the mempool.
    Only(Vec<Transaction>),
}

/// A block to build.
#[derive(Clone, Debug, Default)]
pub struct BlockPlan {
    /// The block it stands on; `None` is the tip.
    pub parent: Option<BlockHash>,
    /// Its transactions.
    pub txs: Txs,
    /// Header and coinbase. Without payees the wallet is paid.
    pub spec: BlockSpec,
}

impl World {
    /// Mines blocks on the tip, each from the node's template, and gives them to the node.
    ///
    /// # Errors
    /// The builder's; none where only this world's own methods have changed the chain.
    pub fn mine(&mut self, blocks: u32) -> Result<Vec<BlockHash>, Error> {
        (0..blocks).map(|_| self.mine_plan(&BlockPlan::default())).collect()
    }

    /// Builds a block and gives it to the node.
    ///
    /// # Errors
    /// As [`World::build`] and [`World::connect`].
    pub fn mine_plan(&mut self, plan: &BlockPlan) -> Result<BlockHash, Error> {
        let block = self.build(plan)?;
        let hash = block.block_hash();
        self.connect(block)?;
        Ok(hash)
    }

    /// Builds a block without giving it to the node. The builder knows it from now on: others can be built on it.
    ///
    /// # Errors
    /// [`Error::Chain`] if the parent was not built here, if a transaction does not fit its chain or the block is full.
    pub fn build(&mut self, plan: &BlockPlan) -> Result<Block, Error> {
        let on_tip = plan.parent.is_none() && self.held.is_empty();
        let parent = plan.parent.or_else(|| self.held.back().map(Block::block_hash)).unwrap_or_else(|| self.tip());
        let template = match (&plan.txs, on_tip) {
            (Txs::Template, true) => {
                let pool = &self.node.pool;
                let txids = self.node.template().txids;
                txids.iter().filter_map(|txid| pool.get(txid)).map(|entry| entry.tx.as_ref().clone()).collect()
            }
            (Txs::Only(txs), _) => txs.clone(),
            (Txs::Template | Txs::None, _) => Vec::new(),
        };
        let strict = matches!(plan.txs, Txs::Only(_));
        let mut spec = plan.spec.clone();
        if spec.payees.is_empty() {
            let script = self.fresh(|key| Lock::P2wpkh { key })?;
            spec.payees.push((script, 1));
        }
        let builder = self.builder();
        builder.checkout(&parent)?;
        for tx in template {
            match builder.add(tx) {
                Ok(_) => {}
                // The template may use more of the block than the builder does.
                Err(cairn_chaingen::Error::BlockFull) if !strict => break,
                Err(error) => {
                    builder.discard();
                    return Err(error.into());
                }
            }
        }
        let hash = match builder.mine(&spec) {
            Ok(hash) => hash,
            Err(error) => {
                builder.discard();
                return Err(error.into());
            }
        };
        Ok(builder.head().block.clone()).inspect(|block| debug_assert_eq!(block.block_hash(), hash))
    }

    /// Gives a block to the node (or, while blocks are held back, only its header).
    ///
    /// # Errors
    /// [`Error::Block`], as Core's `submitblock` would refuse it.
    pub fn connect(&mut self, block: Block) -> Result<(), Error> {
        if self.holding {
            self.held.push_back(block);
            let known = self.node.height() + self.held.len() as u32;
            self.node.headers = self.node.headers.max(known);
            return Ok(());
        }
        let mut notices = Vec::new();
        let result = self.node.accept_block(block, self.now(), &mut notices);
        self.publish(notices);
        result
    }

    /// A branch of `length` blocks from `depth` blocks below the tip. One longer than `depth` replaces the blocks
    /// above; one that is not stays a rival. The branch holds part of the abandoned transactions: the seed decides
    /// which. Gives the hashes of the branch.
    ///
    /// # Errors
    /// As [`World::build`]; [`Error::Parameters`] for a depth above the height.
    pub fn reorg(&mut self, depth: u32, length: u32) -> Result<Vec<BlockHash>, Error> {
        let base = self.height().checked_sub(depth).ok_or(Error::Parameters("the chain is not that high"))?;
        let mut abandoned: Vec<Vec<Transaction>> = (base + 1..=self.height())
            .filter_map(|height| self.node.at(height))
            .map(|stored| stored.block.txdata.iter().skip(1).cloned().collect())
            .collect();
        abandoned.resize(length as usize, Vec::new());
        let mut parent = self.hash_at(base).ok_or(Error::Parameters("the chain is not that high"))?;
        let mut branch = Vec::new();
        for txs in abandoned {
            let mut chosen = Vec::new();
            self.builder().checkout(&parent)?;
            for tx in txs {
                // One whose coin is missing on this branch cannot be kept.
                if self.rng.random_bool(0.6) && self.builder().add(tx.clone()).is_ok() {
                    chosen.push(tx);
                }
            }
            let plan = BlockPlan { parent: Some(parent), txs: Txs::Only(chosen), spec: BlockSpec::default() };
            let block = self.build(&plan)?;
            parent = block.block_hash();
            branch.push(block);
        }
        let hashes = branch.iter().map(Block::block_hash).collect();
        for block in branch {
            self.connect(block)?;
        }
        Ok(hashes)
    }

    /// Gives the node the random generator's next blocks, on the generator's own tip.
    ///
    /// # Errors
    /// [`Error::Parameters`] if the stand-in has no random generator; else as [`World::connect`].
    pub fn grow(&mut self, blocks: u32) -> Result<(), Error> {
        self.generate(|everything| everything.grow(blocks))
    }

    /// Gives the node a random branch: `depth` blocks back from the generator's tip, `length` blocks long.
    ///
    /// # Errors
    /// As [`World::grow`].
    pub fn fork(&mut self, depth: u32, length: u32) -> Result<(), Error> {
        self.generate(|everything| everything.fork(depth, length))
    }

    fn generate(
        &mut self,
        run: impl FnOnce(&mut cairn_chaingen::Everything) -> Result<(), cairn_chaingen::Error>,
    ) -> Result<(), Error> {
        let known = self.chain().arrivals().len();
        let Source::Everything(everything) = &mut self.source else {
            return Err(Error::Parameters("the stand-in was started without the random generator"));
        };
        let tip = everything.chain().tip().hash();
        everything.builder().checkout(&tip)?;
        run(everything)?;
        self.deliver(known)
    }

    /// Gives the node the builder's blocks from the given place in their order of arrival.
    pub(super) fn deliver(&mut self, from: usize) -> Result<(), Error> {
        let blocks: Vec<Block> = self.chain().arrivals()[from..].iter().map(|mined| mined.block.clone()).collect();
        for block in blocks {
            self.connect(block)?;
        }
        Ok(())
    }

    /// `invalidateblock`.
    ///
    /// # Errors
    /// [`Error::UnknownBlock`], [`Error::Parameters`] for genesis.
    pub fn invalidate(&mut self, hash: &BlockHash) -> Result<(), Error> {
        let mut notices = Vec::new();
        let result = self.node.invalidate(hash, self.now(), &mut notices);
        self.publish(notices);
        result
    }

    /// `reconsiderblock`.
    ///
    /// # Errors
    /// [`Error::UnknownBlock`].
    pub fn reconsider(&mut self, hash: &BlockHash) -> Result<(), Error> {
        let mut notices = Vec::new();
        let result = self.node.reconsider(hash, self.now(), &mut notices);
        self.publish(notices);
        result
    }

    /// From now on the node hears only the headers of new blocks and stays behind, until [`World::catch_up`].
    pub fn hold_blocks(&mut self) {
        self.holding = true;
    }

    /// Gives the node up to `blocks` of the blocks held back; with the last one, blocks are no longer held back.
    /// Gives the count of those that are still held.
    ///
    /// # Errors
    /// As [`World::connect`].
    pub fn catch_up(&mut self, blocks: usize) -> Result<usize, Error> {
        self.holding = false;
        let mut result = Ok(());
        for _ in 0..blocks {
            let Some(block) = self.held.pop_front() else { break };
            result = self.connect(block);
            if result.is_err() {
                break;
            }
        }
        self.holding = !self.held.is_empty();
        result.map(|()| self.held.len())
    }
}
