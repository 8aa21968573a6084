//! The `everything` shape: a random chain in which every kind of output, spend, coinbase and fork occurs.

mod joint;
mod owners;
mod recipes;
mod scripts;

use std::collections::HashMap;

use bitcoin::{BlockHash, OutPoint, ScriptBuf};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{BlockSpec, Chain, ChainBuilder, Commitment, Error};
pub use owners::{Joint, Owners, Truth};

/// Header times stay below this (2023-11-14), so that no clock finds them in the future.
const LATEST_TIME: u32 = 1_700_000_000;
/// Height of the first block with transactions: coinbase 1 is mature there.
const FIRST_SPENDS: u32 = 101;
/// The showpieces (see [`recipes`]) take turns, one every this many blocks.
const SHOWPIECE_EVERY: u32 = 3;

/// How large the generated chain gets.
#[derive(Clone, Debug)]
pub struct EverythingOptions {
    /// Blocks of the first stretch, before the forks. Below about 110 no coin can be spent yet.
    pub blocks: u32,
    /// Most ordinary transactions in a block.
    pub max_txs: u32,
    /// Depths of the forks that follow: each takes this many blocks off and replaces them by one more.
    pub forks: Vec<u32>,
    /// Whether the large pieces occur: thousands of inputs or outputs, 80 kB OP_RETURN, a chain across a whole block.
    pub showpieces: bool,
}

impl Default for EverythingOptions {
    fn default() -> Self {
        Self { blocks: 200, max_txs: 12, forks: vec![1, 2, 7, 40], showpieces: true }
    }
}

/// Generates the whole shape in one go: a first stretch, then each fork followed by six blocks, the fifth of them with
/// a rival that never becomes active.
///
/// # Errors
/// None that a seed is known to cause; the builder's checks are passed on.
pub fn everything(seed: u64, options: &EverythingOptions) -> Result<Chain, Error> {
    let mut generator = Everything::new(seed, options.max_txs, options.showpieces);
    generator.run_through(options)?;
    Ok(generator.into_chain())
}

/// The same with several owners: the chain, and whose each of its scripts is. The blocks are others than those of
/// [`everything`], where one wallet has all coins.
///
/// # Errors
/// As [`everything`]; [`Error::Parameters`] without an owner.
pub fn owned_everything(seed: u64, options: &EverythingOptions, owners: Owners) -> Result<(Chain, Truth), Error> {
    let mut generator = Everything::owned(seed, options.max_txs, options.showpieces, owners)?;
    generator.run_through(options)?;
    let truth = generator.truth.clone();
    Ok((generator.into_chain(), truth))
}

/// The random chain generator, for tests that grow and fork a chain step by step.
#[derive(Debug)]
pub struct Everything {
    builder: ChainBuilder,
    rng: ChaCha8Rng,
    max_txs: u32,
    showpieces: bool,
    /// Scripts paid before, for address reuse.
    scripts: Vec<ScriptBuf>,
    next_key: u32,
    showpiece: usize,
    /// Outputs of the last fan-out, kept for the transaction with thousands of inputs.
    fan: Vec<OutPoint>,
    truth: Truth,
    /// None where one wallet, owner 0, has all coins.
    shared: Option<Owners>,
    /// Where owners share the chain: scripts that were paid before, by owner.
    paid: HashMap<u32, Vec<ScriptBuf>>,
    /// The owner of the next new key.
    working: u32,
}

impl Everything {
    /// A generator that holds the regtest genesis block. `max_txs` bounds the ordinary transactions of a block;
    /// `showpieces` turns the large ones on.
    pub fn new(seed: u64, max_txs: u32, showpieces: bool) -> Self {
        Self {
            builder: ChainBuilder::new(seed),
            rng: ChaCha8Rng::seed_from_u64(seed),
            max_txs,
            showpieces,
            scripts: Vec::new(),
            next_key: 0,
            showpiece: 0,
            fan: Vec::new(),
            truth: Truth::default(),
            shared: None,
            paid: HashMap::new(),
            working: 0,
        }
    }

    /// The same where several owners share the chain.
    ///
    /// # Errors
    /// [`Error::Parameters`] without an owner, or with more than a million.
    pub fn owned(seed: u64, max_txs: u32, showpieces: bool, owners: Owners) -> Result<Self, Error> {
        if !(1..=1_000_000).contains(&owners.count) {
            return Err(Error::Parameters("a chain has 1 to 1,000,000 owners"));
        }
        Ok(Self { shared: Some(owners), ..Self::new(seed, max_txs, showpieces) })
    }

    /// The owner of each script that was paid so far. Without [`Everything::owned`] owner 0 has all that can be spent.
    pub fn truth(&self) -> &Truth {
        &self.truth
    }

    fn run_through(&mut self, options: &EverythingOptions) -> Result<(), Error> {
        self.grow(options.blocks)?;
        for &depth in &options.forks {
            self.fork(depth, depth + 1)?;
            self.grow(5)?;
            self.fork(1, 1)?;
            // One more, so that the tip is the only highest block.
            self.grow(1)?;
        }
        Ok(())
    }

    /// The blocks so far, in order of arrival.
    pub fn chain(&self) -> &Chain {
        self.builder.chain()
    }

    /// Ends generating.
    pub fn into_chain(self) -> Chain {
        self.builder.into_chain()
    }

    /// The builder, for blocks made by hand; its head must be left on the active tip.
    pub fn builder(&mut self) -> &mut ChainBuilder {
        &mut self.builder
    }

    /// Extends the active chain by random blocks.
    ///
    /// # Errors
    /// The builder's checks are passed on.
    pub fn grow(&mut self, blocks: u32) -> Result<(), Error> {
        for _ in 0..blocks {
            self.fill()?;
            self.mine()?;
        }
        Ok(())
    }

    /// Goes `depth` blocks back from the active tip and mines a branch of `length` random blocks there. A branch longer
    /// than `depth` becomes the active chain (all blocks have equal work); a shorter or equal one stays stale.
    /// Part of the abandoned transactions are mined again on the branch, so that both branches share txids.
    ///
    /// # Errors
    /// The builder's checks are passed on.
    pub fn fork(&mut self, depth: u32, length: u32) -> Result<(), Error> {
        let mut abandoned = Vec::new();
        for below in (0..depth).rev() {
            let hash = self.builder.ancestor(below);
            if let Some(mined) = self.chain().get(&hash) {
                abandoned.push(mined.block.txdata.iter().skip(1).cloned().collect::<Vec<_>>());
            }
        }
        let base = self.builder.ancestor(depth);
        self.builder.checkout(&base)?;
        let mut abandoned = abandoned.into_iter();
        for _ in 0..length {
            for tx in abandoned.next().unwrap_or_default() {
                if self.rng.random_bool(0.6) {
                    // Fails where the branch lacks a coin; that transaction is then lost, as on the real network.
                    let _ = self.builder.add(tx);
                }
            }
            self.fill()?;
            self.mine()?;
        }
        let tip = self.chain().tip().hash();
        self.builder.checkout(&tip)
    }

    fn fill(&mut self) -> Result<(), Error> {
        if self.builder.next_height() < FIRST_SPENDS {
            return Ok(());
        }
        if self.showpieces && self.builder.next_height().is_multiple_of(SHOWPIECE_EVERY) {
            self.showpiece()?;
        }
        for _ in 0..self.rng.random_range(0..=self.max_txs) {
            self.random_tx()?;
        }
        self.joint_txs()
    }

    fn mine(&mut self) -> Result<BlockHash, Error> {
        let mut spec = BlockSpec { time: Some(self.next_time()), ..BlockSpec::default() };
        let tags: [&[u8]; 5] = [b"/cairn pool/", b"/Stone & Sons/", b"mined by trail-mark", b"", b"\xfa\xbe\x6d\x6d"];
        spec.tag = tags.choose(&mut self.rng).copied().unwrap_or_default().to_vec();
        // An extra nonce; without it, sibling blocks can share their coinbase, which is allowed and happens here too.
        if self.rng.random_bool(0.8) {
            spec.tag.extend(self.rng.random::<[u8; 4]>());
        }
        let payees = match self.rng.random_range(0..10) {
            0..7 => 1,
            7..9 => self.rng.random_range(2..=6),
            _ => 40,
        };
        for _ in 0..payees {
            let script = self.any_script()?;
            spec.payees.push((script, self.rng.random_range(0..1000)));
        }
        if self.rng.random_bool(0.2) {
            spec.notes.push(ScriptBuf::new_op_return([0x52, 0x53, 0x4b, 0x42]));
        }
        if self.rng.random_bool(0.1) {
            spec.unclaimed = self.rng.random_range(0..=self.builder.claimable().min(1_000_000));
        }
        if self.rng.random_bool(0.3) {
            spec.commitment = Commitment::Needed;
        }
        self.builder.mine(&spec)
    }

    /// Mostly ten minutes on; now and then days on or some minutes back, but always after the median time past.
    fn next_time(&mut self) -> u32 {
        let parent = self.builder.head().block.header.time;
        let step = match self.rng.random_range(0..20) {
            0..4 => -self.rng.random_range(1..7200),
            4..6 => self.rng.random_range(86_400..20 * 86_400),
            _ => self.rng.random_range(1..1_800),
        };
        let time = if parent >= LATEST_TIME { parent.saturating_add(1) } else { parent.saturating_add_signed(step) };
        time.max(self.builder.median_time().saturating_add(1))
    }
}
