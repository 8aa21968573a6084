//! Builds consensus-valid regtest blocks on any parent.

use std::collections::HashMap;

use bitcoin::params::Params;
use bitcoin::sighash::EcdsaSighashType;
use bitcoin::{BlockHash, OutPoint, ScriptBuf, Transaction, TxIn, TxOut, Txid, Witness, transaction};

use super::block::{coinbase, solve, subsidy, unsolved};
use super::chain::{Chain, Mined};
use super::coin::{Coin, CoinSet, is_unspendable};
use super::keyring::Keyring;
use super::spec::{BlockSpec, Style};
use crate::error::Error;

/// Blocks that must follow a coinbase before its outputs can be spent, counting its own.
pub const COINBASE_MATURITY: u32 = 100;
const MAX_WEIGHT: u64 = 4_000_000;
const MAX_SIGOP_COST: usize = 80_000;
/// Room kept for header, transaction count and coinbase while transactions are added.
const RESERVED_WEIGHT: u64 = 40_000;
const RESERVED_SIGOP_COST: usize = 1_000;

/// The block being filled.
#[derive(Debug, Default)]
struct Open {
    txs: Vec<Transaction>,
    spent: Vec<Vec<Coin>>,
    fees: u64,
    weight: u64,
    sigops: usize,
}

/// Builds regtest blocks: add transactions to the open block, mine it, go on, or check out any other block first.
///
/// It enforces what a miner must: coins exist and are mature, values balance, weight and signature operation limits,
/// BIP 34 heights, median time past, witness commitments and proof of work. Scripts are made right by
/// [`Keyring::sign`]; they are not executed here.
#[derive(Debug)]
pub struct ChainBuilder {
    chain: Chain,
    keyring: Keyring,
    coins: CoinSet,
    head: usize,
    open: Open,
}

impl ChainBuilder {
    /// A builder that holds the regtest genesis block; `seed` decides the keys.
    pub fn new(seed: u64) -> Self {
        let genesis = bitcoin::constants::genesis_block(Params::REGTEST);
        Self {
            chain: Chain::new(genesis),
            keyring: Keyring::new(seed),
            coins: CoinSet::default(),
            head: 0,
            open: Open::default(),
        }
    }

    /// A builder that goes on from the tip of a chain that another one made; `seed` decides the keys, of which it knows
    /// none yet.
    pub fn resume(chain: Chain, seed: u64) -> Self {
        let mut coins = CoinSet::default();
        let keyring = Keyring::new(seed);
        for mined in chain.active().into_iter().skip(1) {
            connect(&mut coins, &keyring, mined);
        }
        let head = chain.tip_index();
        Self { chain, keyring, coins, head, open: Open::default() }
    }

    /// The blocks mined so far.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Ends building.
    pub fn into_chain(self) -> Chain {
        self.chain
    }

    /// The keys.
    pub fn keyring(&mut self) -> &mut Keyring {
        &mut self.keyring
    }

    /// The block that the open block builds on.
    pub fn head(&self) -> &Mined {
        self.chain.at(self.head)
    }

    /// Height of the open block.
    pub fn next_height(&self) -> u32 {
        self.head().height + 1
    }

    /// Count of transactions in the open block, without the coinbase.
    pub fn open_count(&self) -> usize {
        self.open.txs.len()
    }

    /// Weight units that transactions can still take in the open block.
    pub fn room(&self) -> u64 {
        (MAX_WEIGHT - RESERVED_WEIGHT).saturating_sub(self.open.weight)
    }

    /// A coin that exists now, outputs of the open block included.
    pub fn coin(&self, outpoint: &OutPoint) -> Option<&Coin> {
        self.coins.get(outpoint)
    }

    /// Count of coins that exist now.
    pub fn coin_count(&self) -> usize {
        self.coins.len()
    }

    /// The coins the keyring can sign for, immature ones included, roughly from old to young; the order is a function
    /// of the calls made so far.
    pub fn spendable(&self) -> &[OutPoint] {
        self.coins.listed()
    }

    /// Whether a coin exists and may be spent in the open block.
    pub fn is_mature(&self, outpoint: &OutPoint) -> bool {
        self.coin(outpoint).is_some_and(|coin| self.mature(coin))
    }

    fn mature(&self, coin: &Coin) -> bool {
        !coin.coinbase || self.next_height() - coin.height >= COINBASE_MATURITY
    }

    /// The hash of the block `depth` blocks below the head (genesis if the chain is shorter).
    pub fn ancestor(&self, depth: u32) -> BlockHash {
        let mut index = self.head;
        for _ in 0..depth {
            index = self.chain.parent(index);
        }
        self.chain.at(index).hash()
    }

    /// Makes another block the parent of the next one; the open block is discarded.
    pub fn checkout(&mut self, hash: &BlockHash) -> Result<(), Error> {
        let target = self.chain.find(hash).ok_or(Error::UnknownBlock(*hash))?;
        self.discard();
        let (down, up) = self.chain.path(self.head, target);
        for index in down {
            let mined = self.chain.at(index);
            for (position, tx) in mined.block.txdata.iter().enumerate().rev() {
                let spent = position.checked_sub(1).map_or(&[][..], |i| &mined.spent[i]);
                undo_tx(&mut self.coins, &self.keyring, tx, spent);
            }
        }
        for index in up {
            connect(&mut self.coins, &self.keyring, self.chain.at(index));
        }
        self.head = target;
        Ok(())
    }

    /// Drops the transactions of the open block.
    pub fn discard(&mut self) {
        let open = std::mem::take(&mut self.open);
        for (tx, spent) in open.txs.iter().zip(&open.spent).rev() {
            undo_tx(&mut self.coins, &self.keyring, tx, spent);
        }
    }

    /// Makes a signed transaction that spends coins of the keyring. It is not added to the open block.
    ///
    /// # Errors
    /// Returns [`Error::MissingCoin`], [`Error::UnknownScript`] or [`Error::EmptyTransaction`].
    pub fn spend(&self, inputs: &[OutPoint], outputs: Vec<TxOut>, style: &Style) -> Result<Transaction, Error> {
        if inputs.is_empty() || outputs.is_empty() {
            return Err(Error::EmptyTransaction);
        }
        let spent = inputs
            .iter()
            .map(|outpoint| Ok(self.coin(outpoint).ok_or(Error::MissingCoin(*outpoint))?.txout.clone()))
            .collect::<Result<Vec<_>, Error>>()?;
        let mut tx = Transaction {
            version: transaction::Version(style.version),
            lock_time: style.lock_time,
            input: inputs
                .iter()
                .map(|&previous_output| TxIn {
                    previous_output,
                    script_sig: ScriptBuf::new(),
                    sequence: style.sequence,
                    witness: Witness::new(),
                })
                .collect(),
            output: outputs,
        };
        let kinds = &style.sighash;
        self.keyring.sign(&mut tx, &spent, |input| match kinds.len() {
            0 => EcdsaSighashType::All,
            count => kinds[input % count],
        })?;
        Ok(tx)
    }

    /// Adds a transaction to the open block; its outputs can be spent at once.
    ///
    /// # Errors
    /// Fails if the block would be invalid with it, signatures apart; the open block is then unchanged.
    pub fn add(&mut self, tx: Transaction) -> Result<Txid, Error> {
        self.admit(tx, true)
    }

    /// The same as for a mempool, which may hold more than one block: without the limits of weight and signature
    /// operations. An open block that outgrew them cannot be mined.
    ///
    /// # Errors
    /// Fails as [`Self::add`] does, but never with [`Error::BlockFull`].
    pub fn add_unconfirmed(&mut self, tx: Transaction) -> Result<Txid, Error> {
        self.admit(tx, false)
    }

    fn admit(&mut self, tx: Transaction, limited: bool) -> Result<Txid, Error> {
        if tx.input.is_empty() || tx.output.is_empty() {
            return Err(Error::EmptyTransaction);
        }
        let mut input = 0;
        let mut coins: HashMap<OutPoint, TxOut> = HashMap::with_capacity(tx.input.len());
        for outpoint in tx.input.iter().map(|input| input.previous_output) {
            let coin = self.coin(&outpoint).ok_or(Error::MissingCoin(outpoint))?;
            if !self.mature(coin) {
                return Err(Error::Immature(outpoint));
            }
            input += coin.txout.value.to_sat();
            if coins.insert(outpoint, coin.txout.clone()).is_some() {
                return Err(Error::MissingCoin(outpoint));
            }
        }
        let output = tx.output.iter().fold(0u64, |sum, txout| sum.saturating_add(txout.value.to_sat()));
        if output > input {
            return Err(Error::Overspent { input, output });
        }
        let weight = tx.weight().to_wu();
        let sigops = tx.total_sigop_cost(|outpoint| coins.get(outpoint).cloned());
        let full = weight > self.room() || self.open.sigops + sigops > MAX_SIGOP_COST - RESERVED_SIGOP_COST;
        if limited && full {
            return Err(Error::BlockFull);
        }
        let spent = tx.input.iter().filter_map(|input| self.coins.remove(&input.previous_output)).collect();
        let height = self.next_height();
        create(&mut self.coins, &self.keyring, &tx, height, false);
        let txid = tx.compute_txid();
        self.open.fees += input - output;
        self.open.weight += weight;
        self.open.sigops += sigops;
        self.open.spent.push(spent);
        self.open.txs.push(tx);
        Ok(txid)
    }

    /// Median time past of the head, Unix seconds: the next block must be later.
    pub fn median_time(&self) -> u32 {
        let mut times = Vec::with_capacity(11);
        let mut index = self.head;
        while times.len() < 11 {
            times.push(self.chain.at(index).block.header.time);
            if self.chain.at(index).height == 0 {
                break;
            }
            index = self.chain.parent(index);
        }
        times.sort_unstable();
        times[times.len() / 2]
    }

    /// Satoshis that the open block's coinbase may claim: subsidy and fees.
    pub fn claimable(&self) -> u64 {
        subsidy(self.next_height()) + self.open.fees
    }

    /// Mines the open block and makes it the head.
    ///
    /// # Errors
    /// Returns [`Error::TimeTooOld`], [`Error::TagTooLong`], [`Error::Unclaimed`], or [`Error::BlockFull`] if the
    /// coinbase does not fit; the open block is then unchanged.
    pub fn mine(&mut self, spec: &BlockSpec) -> Result<BlockHash, Error> {
        let median = self.median_time();
        let parent = self.head();
        let time =
            spec.time.unwrap_or_else(|| parent.block.header.time.saturating_add(600).max(median.saturating_add(1)));
        if time <= median {
            return Err(Error::TimeTooOld { time, median });
        }
        let prev_blockhash = parent.hash();
        let height = self.next_height();
        let coinbase = coinbase(height, self.claimable(), spec)?;
        let mut txdata = Vec::with_capacity(1 + self.open.txs.len());
        txdata.push(coinbase);
        txdata.append(&mut self.open.txs);
        let mut block = unsolved(prev_blockhash, time, txdata, spec.commitment);
        let sigops = self.open.sigops + block.txdata[0].total_sigop_cost(|_| None);
        if block.weight().to_wu() > MAX_WEIGHT || sigops > MAX_SIGOP_COST {
            self.open.txs = block.txdata.split_off(1);
            return Err(Error::BlockFull);
        }
        // Blocks equal in every other way must still differ, hence the look into the tree.
        solve(&mut block, |hash| self.chain.find(hash).is_some());
        let hash = block.block_hash();
        create(&mut self.coins, &self.keyring, &block.txdata[0], height, true);
        let open = std::mem::take(&mut self.open);
        self.head = self.chain.push(self.head, Mined { block, height, spent: open.spent });
        Ok(hash)
    }
}

/// Takes a block's spent coins out and puts its new ones in.
fn connect(coins: &mut CoinSet, keyring: &Keyring, mined: &Mined) {
    for (position, tx) in mined.block.txdata.iter().enumerate() {
        if position > 0 {
            for input in &tx.input {
                coins.remove(&input.previous_output);
            }
        }
        create(coins, keyring, tx, mined.height, position == 0);
    }
}

fn create(coins: &mut CoinSet, keyring: &Keyring, tx: &Transaction, height: u32, coinbase: bool) {
    let txid = tx.compute_txid();
    for (vout, txout) in tx.output.iter().enumerate() {
        if !is_unspendable(&txout.script_pubkey) {
            let listed = keyring.knows(&txout.script_pubkey);
            let coin = Coin { txout: txout.clone(), height, coinbase };
            coins.insert(OutPoint { txid, vout: vout as u32 }, coin, listed);
        }
    }
}

fn undo_tx(coins: &mut CoinSet, keyring: &Keyring, tx: &Transaction, spent: &[Coin]) {
    let txid = tx.compute_txid();
    for vout in 0..tx.output.len() {
        coins.remove(&OutPoint { txid, vout: vout as u32 });
    }
    for (input, coin) in tx.input.iter().zip(spent) {
        coins.insert(input.previous_output, coin.clone(), keyring.knows(&coin.txout.script_pubkey));
    }
}
