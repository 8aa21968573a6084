//! The `mainnet` shape: gigabytes of blocks with the proportions of the real chain, streamed.
//!
//! Per MB (10^6 bytes) of block data there are about 1,765 transactions, 4,444 inputs and 4,706 outputs, as on mainnet
//! up to 2025 (765 GB, 1.35 bn transactions, 3.4 bn inputs, 3.6 bn outputs). Script mix, fan-in and fan-out, address
//! reuse (about 2.4 outputs per script) and coin ages follow it roughly.
//!
//! # Co-spending
//! Every coin has an owner ([`RawBlock::owners`], [`mainnet_owners`]), and every transaction spends coins of one owner:
//! scripts that are spent together have the same owner. There are no CoinJoins and no ANYONECANPAY. Measured over 2 GB,
//! next to what is known of mainnet:
//!
//! | | shape | mainnet |
//! |---|---|---|
//! | transactions that spend two scripts or more (eligible) | 27 % | 26.9, 40.6, 20.4 and 3.1 % in the blocks 279,671 (2014), 361,582 (2015), 702,861 (2021) and 866,342 (2024) |
//! | of the transactions with several inputs, those that spend one script | 20 % | 27, 15, 16 and 30 % in these |
//! | different scripts for 100 inputs of eligible transactions | 89 | 88, 92, 91 and 66 in these |
//! | scripts that an eligible transaction spends from: median, mean | 2, 4.9 | median 2, mean 12.8, 2.7, 7.6 and 12.7 in these |
//! | clusters for 100 scripts | 46 | 47 (372,206,870 of 786,122,678 addresses in February 2021) \[1\]; "roughly half" by 2021 \[2\] |
//! | sizes of clusters | half as many at each doubling | a power law \[3\] |
//! | scripts in the largest cluster | 2.5 % | 4.2 % in May 2012 (Mt. Gox, 156,722 of 3,730,218 addresses) \[4\] |
//!
//! \[1\] Haslhofer, Stütz, Romiti and King, "GraphSense: A General-Purpose Cryptoasset Analytics Platform", 2021, table
//! of the graphs. \[2\] Schnoering, Porthaux and Vazirgiannis, "Assessing the Efficacy of Heuristic-Based Address
//! Clustering for Bitcoin", 2024. \[3\] "The Complex Community Structure of the Bitcoin Address Correspondence
//! Network", Frontiers in Physics, 2021. \[4\] Ron and Shamir, "Quantitative Analysis of the Full Bitcoin Transaction
//! Graph", 2012. The shares of the blocks are counted by `tests/testkit/tests/cospending.rs`. The share of eligible
//! transactions over the whole chain is not published; the one here follows from mainnet's 2.5 inputs a transaction.
//!
//! # Validity
//! The blocks keep every consensus rule of regtest but one: scripts would fail, because signatures, keys and redeem
//! scripts have the right sizes and random content. A node takes the chain with `-regtest -assumevalid=<tip>`: it skips
//! scripts under more than two weeks' worth of blocks, which is what the empty blocks at the end are for (at least
//! 2,017). With [`Signatures::Open`] the scripts are ones that anyone can spend, and a node takes the chain as it is.

mod address;
mod assemble;
mod keys;
mod owners;
mod pool;
mod random;
mod transactions;

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use bitcoin::hashes::Hash;
use bitcoin::params::Params;
use bitcoin::{Block, BlockHash, ScriptBuf, consensus};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::corefiles::{FileOptions, Writer, write_compact_size};
use crate::{COINBASE_MATURITY, Error, subsidy};
use address::{Address, Addresses, Kind};
use assemble::{coinbase, merkle_root, mine, sha256d};
use owners::Owners;
use pool::{Bundle, LiveCoin, LiveCoins};
use transactions::Body;

/// Blocks in front that only mine money.
const LEAD: u32 = 120;
/// Regtest's genesis time, Unix seconds.
const START_TIME: u32 = 1_296_688_602;
/// A block's time must be later than the median of this many before it.
const MEDIAN_BLOCKS: u32 = 11;
/// More blocks, ten minutes apart from 2011, would have times after 2026.
const MAX_BLOCKS: u64 = 780_000;
/// Count of pools, the first owners; each mines to its first address.
const POOLS: u32 = 12;

/// How outputs of the mainnet shape can be spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signatures {
    /// Mainnet's script kinds, with random bytes for signatures.
    Dummy,
    /// Scripts that anyone can spend, of nearly the same sizes; fully valid.
    Open,
}

/// A share of P2PK scripts in place of the usual shape's, which is 0.4 % of the addresses and one busy key in six.
/// All keys are on the curve. The first owners have no such script, so that no busy key decides the share of the
/// outputs: [`Counts`] has that share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct P2pkShare {
    /// Of a million addresses, how many are P2PK.
    pub addresses_ppm: u32,
    /// Of 100 of these, how many have a compressed key.
    pub compressed_percent: u32,
}

/// How much to generate, and of what kind.
#[derive(Clone, Debug)]
pub struct MainnetOptions {
    /// Decides everything random.
    pub seed: u64,
    /// Size of the blocks in front of the empty ones, in bytes; the last block may exceed it.
    pub target_bytes: u64,
    /// Blocks without transactions at the end; 2,017 or more for `-assumevalid`.
    pub empty_blocks: u32,
    /// Live coins kept in memory (about 90 bytes each); beyond them old coins are forgotten. Owners take another 2 kB
    /// for each MB of blocks.
    pub max_coins: usize,
    /// Kind of scripts.
    pub signatures: Signatures,
    /// Of 100 outputs, how many pay [`MainnetOptions::busiest`] whatever else the shape says; 0 for the usual shape.
    pub busiest_percent: u32,
    /// The share of P2PK scripts; `None` for the usual shape.
    pub p2pk: Option<P2pkShare>,
}

impl MainnetOptions {
    /// The usual shape of this size.
    pub fn new(seed: u64, target_bytes: u64) -> Self {
        Self {
            seed,
            target_bytes,
            empty_blocks: 2_020,
            max_coins: 2_000_000,
            signatures: Signatures::Dummy,
            busiest_percent: 0,
            p2pk: None,
        }
    }

    /// The script of the busiest address.
    ///
    /// # Errors
    /// As [`mainnet_blocks`].
    pub fn busiest(&self) -> Result<ScriptBuf, Error> {
        let mut script = Vec::with_capacity(70);
        Addresses::new(self)?.write_script(&mut script, Address::first(POOLS));
        Ok(script.into())
    }
}

/// Counts over a run of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Blocks.
    pub blocks: u64,
    /// Serialized size of the blocks, in bytes.
    pub bytes: u64,
    /// Transactions, coinbases included.
    pub txs: u64,
    /// Inputs, without those of coinbases.
    pub inputs: u64,
    /// Outputs.
    pub outputs: u64,
    /// P2PK outputs among them, without genesis; with [`Signatures::Open`] the scripts that stand for them.
    pub p2pk: P2pkCounts,
}

/// Counts of P2PK outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct P2pkCounts {
    /// All.
    pub outputs: u64,
    /// Those with a compressed key.
    pub compressed: u64,
}

impl P2pkCounts {
    fn count(&mut self, kind: Kind) {
        self.outputs += u64::from(kind.is_p2pk());
        self.compressed += u64::from(kind == Kind::P2pk);
    }
}

/// Statistics of the generated chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MainnetStats {
    /// Everything in front of the empty blocks; the densities hold for it.
    pub body: Counts,
    /// The whole chain, genesis included.
    pub total: Counts,
    /// Hash of the last block.
    pub tip: BlockHash,
    /// Count of different addresses paid.
    pub addresses: u32,
}

/// A block as it is handed out, in order of height from genesis.
#[derive(Clone, Copy, Debug)]
pub struct RawBlock<'a> {
    /// Height.
    pub height: u32,
    /// Hash of the parent (zeros for genesis).
    pub previous: BlockHash,
    /// The serialized block.
    pub block: &'a [u8],
    /// Its serialized CBlockUndo; none for genesis.
    pub undo: Option<&'a [u8]>,
    /// For each output in the order of the block, whose it is: the number of its owner, or none for data. An owner has
    /// all outputs with the same script, and each transaction spends coins of one owner. Genesis belongs to nobody.
    pub owners: &'a [Option<u32>],
}

/// Writes the shape into block and undo files.
///
/// # Errors
/// [`Error::Io`]; [`Error::Parameters`] as [`mainnet_blocks`].
pub fn write_mainnet(folder: &Path, files: FileOptions, options: &MainnetOptions) -> Result<MainnetStats, Error> {
    let mut writer = Writer::create(folder, files)?;
    let stats = mainnet_blocks(options, |raw| {
        let location = writer.block(raw.block)?;
        if let Some(undo) = raw.undo {
            writer.undo(location.file, &raw.previous, undo)?;
        }
        Ok(())
    })?;
    writer.finish()?;
    Ok(stats)
}

/// Generates the shape and returns the owner of each script, from [`RawBlock::owners`]. For chains that fit in memory.
///
/// # Errors
/// As [`mainnet_blocks`].
pub fn mainnet_owners(options: &MainnetOptions) -> Result<HashMap<ScriptBuf, u32>, Error> {
    let mut owners = HashMap::new();
    mainnet_blocks(options, |raw| {
        let block: Block = consensus::deserialize(raw.block)
            .map_err(|_| Error::Parameters("a generated block cannot be read back: the generator is broken"))?;
        let outputs = block.txdata.iter().flat_map(|tx| &tx.output);
        for (output, owner) in outputs.zip(raw.owners) {
            if let Some(owner) = owner {
                owners.insert(output.script_pubkey.clone(), *owner);
            }
        }
        Ok(())
    })?;
    Ok(owners)
}

/// Generates the shape and hands every block to `sink`.
///
/// # Errors
/// Those of the sink; [`Error::Parameters`] if `max_coins` is below 1,000, or for more than
/// about 700 GB.
pub fn mainnet_blocks(
    options: &MainnetOptions,
    mut sink: impl FnMut(RawBlock<'_>) -> Result<(), Error>,
) -> Result<MainnetStats, Error> {
    // Blocks have at least 0.9 MB.
    if options.target_bytes / 900_000 + u64::from(options.empty_blocks) > MAX_BLOCKS {
        return Err(Error::Parameters("so many blocks would reach into the future"));
    }
    if options.max_coins < 1_000 {
        return Err(Error::Parameters("max_coins is below 1,000"));
    }
    let genesis = consensus::serialize(&bitcoin::constants::genesis_block(Params::REGTEST));
    sink(RawBlock { height: 0, previous: BlockHash::all_zeros(), block: &genesis, undo: None, owners: &[None] })?;
    let mut miner = Miner::new(options, &genesis)?;
    for _ in 0..LEAD {
        miner.block(false, &mut sink)?;
    }
    while miner.counts.bytes < options.target_bytes {
        miner.block(true, &mut sink)?;
    }
    let body = miner.counts;
    for _ in 0..options.empty_blocks {
        miner.block(false, &mut sink)?;
    }
    let tip = BlockHash::from_byte_array(miner.previous);
    Ok(MainnetStats { body, total: miner.counts, tip, addresses: miner.body.owners.addresses() })
}

/// Makes one block after the other.
struct Miner {
    rng: ChaCha8Rng,
    height: u32,
    previous: [u8; 32],
    counts: Counts,
    body: Body,
    immature: VecDeque<LiveCoin>,
    block: Vec<u8>,
    undo: Vec<u8>,
    owners: Vec<Option<u32>>,
}

impl Miner {
    fn new(options: &MainnetOptions, genesis: &[u8]) -> Result<Self, Error> {
        let addresses = Addresses::new(options)?;
        // The first coins: one transaction fans out to as many as a chain of this size needs to begin with.
        let seedlings = (options.target_bytes / 20_000).clamp(1_000, 20_000) as u32;
        let owners = Owners::new(POOLS, options.busiest_percent);
        Ok(Self {
            rng: ChaCha8Rng::seed_from_u64(options.seed),
            height: 0,
            previous: sha256d(&genesis[..80]),
            counts: Counts { blocks: 1, bytes: genesis.len() as u64, txs: 1, outputs: 1, ..Counts::default() },
            body: Body::new(addresses, LiveCoins::new(options.max_coins), seedlings, owners),
            immature: VecDeque::new(),
            block: Vec::new(),
            undo: Vec::new(),
            owners: Vec::new(),
        })
    }

    fn block(&mut self, filled: bool, sink: &mut impl FnMut(RawBlock<'_>) -> Result<(), Error>) -> Result<(), Error> {
        self.height += 1;
        let height = self.height;
        while let Some(coin) = self.immature.pop_front_if(|coin| height - coin.height >= COINBASE_MATURITY) {
            self.body.pool.add(&mut self.rng, Bundle::alone(coin));
        }
        self.body.begin(height);
        if filled {
            self.body.fill(&mut self.rng);
        }
        // Ten minutes apart; the jitter lets times run backwards, but never behind the median of eleven. The first
        // blocks have fewer before them, and of two the median is the later one.
        let jitter = self.rng.random_range(0..1_500);
        let time = START_TIME + height * 600 + if height < MEDIAN_BLOCKS { 0 } else { jitter };
        let pool = self.rng.random_range(0..POOLS);
        let mut script = Vec::with_capacity(70);
        self.body.addresses.write_script(&mut script, Address::first(pool));
        self.body.p2pk.count(self.body.addresses.kind(Address::first(pool)));
        let tag = format!("/pool {pool}/{:08x}", self.rng.random::<u32>());
        let sats = subsidy(height) + self.body.fees;
        let witness_root = self.body.has_witness.then(|| merkle_root(&mut self.body.wtxids));
        let coinbase = coinbase(height, tag.as_bytes(), sats, &script, witness_root);
        let txid = sha256d(&coinbase.base);
        self.immature.push_back(LiveCoin {
            txid,
            sats,
            vout: 0,
            address: Address::first(pool),
            height,
            coinbase: true,
        });
        self.body.txids[0] = txid;
        let (header, hash) = mine(&self.previous, &merkle_root(&mut self.body.txids), time);

        self.block.clear();
        self.block.extend_from_slice(&header);
        write_compact_size(&mut self.block, self.body.txs + 1);
        self.block.extend_from_slice(&coinbase.full);
        self.block.extend_from_slice(&self.body.raw);
        self.undo.clear();
        write_compact_size(&mut self.undo, self.body.txs);
        self.undo.extend_from_slice(&self.body.undo);

        self.counts.blocks += 1;
        self.counts.bytes += self.block.len() as u64;
        self.counts.txs += self.body.txs + 1;
        self.counts.inputs += self.body.inputs;
        self.counts.outputs += self.body.outputs + 1 + u64::from(witness_root.is_some());
        self.counts.p2pk = self.body.p2pk;
        let previous = BlockHash::from_byte_array(self.previous);
        self.previous = hash;
        self.owners.clear();
        self.owners.push(Some(pool));
        self.owners.extend(witness_root.map(|_| None));
        self.owners.extend_from_slice(&self.body.paid);
        sink(RawBlock { height, previous, block: &self.block, undo: Some(&self.undo), owners: &self.owners })
    }
}
