//! The oracle: what the index has to say about a chain, found in the most obvious way.

use std::{cell::OnceCell, collections::BTreeMap};

use bitcoin::{Block, BlockHash, OutPoint, Script, ScriptBuf, Transaction, Txid};
use cairn_model::{Height, MonoTime, MuHashDigest, Network, Sats, TxNum, day_of};

use crate::ledger::{Coin, HeaderRow, HistoryRow, Ledger, Spender, Totals, TxRow};

/// One day of a script's history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DayRow {
    /// Days since 1970-01-01 (UTC), by monotone block time.
    pub day: u32,
    /// Balance at the end of the day.
    pub balance_sats: Sats,
    /// Received on that day.
    pub received_sats: Sats,
    /// Spent (or overwritten) on that day.
    pub sent_sats: Sats,
    /// Transactions on that day.
    pub tx_count: u64,
}

/// A chain and its ledger. It has no undo to get wrong: a disconnected block is dropped, and the ledger is made again
/// from the blocks that are left, once, when it is next needed. So a fork of 300 blocks costs one replay.
pub struct Oracle {
    network: Network,
    blocks: Vec<Block>,
    ledger: OnceCell<Ledger>,
}

impl Oracle {
    /// A chain without blocks.
    #[must_use]
    pub fn new(network: Network) -> Self {
        Oracle { network, blocks: Vec::new(), ledger: OnceCell::new() }
    }

    /// A chain of these blocks, genesis first.
    ///
    /// # Panics
    /// As [`Oracle::connect`].
    #[must_use]
    pub fn of<'a>(network: Network, blocks: impl IntoIterator<Item = &'a Block>) -> Self {
        let mut oracle = Oracle::new(network);
        blocks.into_iter().for_each(|block| oracle.connect(block));
        oracle
    }

    fn ledger(&self) -> &Ledger {
        self.ledger.get_or_init(|| {
            let mut ledger = Ledger::default();
            self.blocks.iter().for_each(|block| ledger.connect(self.network, block));
            ledger
        })
    }

    /// Adds a block at the tip.
    ///
    /// # Panics
    /// If it does not follow the tip (genesis first), spends a coin that does not exist, makes money, or repeats a
    /// txid that has unspent outputs without being a coinbase.
    pub fn connect(&mut self, block: &Block) {
        self.ledger();
        if let Some(ledger) = self.ledger.get_mut() {
            ledger.connect(self.network, block);
        }
        self.blocks.push(block.clone());
    }

    /// Takes the tip away and returns it.
    ///
    /// # Panics
    /// If there is no block.
    pub fn disconnect(&mut self) -> Block {
        self.ledger.take();
        self.blocks.pop().unwrap_or_else(|| panic!("no block to disconnect"))
    }

    /// Takes blocks away until `count` are left (height `count` − 1).
    pub fn truncate(&mut self, count: usize) {
        if count < self.blocks.len() {
            self.ledger.take();
            self.blocks.truncate(count);
        }
    }

    /// The network of the chain.
    #[must_use]
    pub fn network(&self) -> Network {
        self.network
    }

    /// The blocks, by height.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Height and hash of the last block; `None` before genesis.
    #[must_use]
    pub fn tip(&self) -> Option<(Height, BlockHash)> {
        let block = self.blocks.last()?;
        Some((self.blocks.len() as Height - 1, block.block_hash()))
    }

    /// Headers with what derives from them, by height.
    #[must_use]
    pub fn headers(&self) -> &[HeaderRow] {
        &self.ledger().headers
    }

    /// Transactions, by number.
    #[must_use]
    pub fn txs(&self) -> &[TxRow] {
        &self.ledger().txs
    }

    /// Every number that a txid was given, in chain order; more than one only for the BIP 30 duplicates.
    #[must_use]
    pub fn tx_nums(&self, txid: &Txid) -> &[TxNum] {
        self.ledger().tx_nums.get(txid).map_or(&[], Vec::as_slice)
    }

    /// The transactions of the blocks up to a height, with their numbers and heights, in chain order.
    pub fn transactions(&self, height: Height) -> impl Iterator<Item = (TxNum, Height, &Transaction)> {
        let blocks = self.blocks.iter().enumerate().take_while(move |(at, _)| *at <= height as usize);
        let txs = blocks.flat_map(|(at, block)| block.txdata.iter().map(move |tx| (at as Height, tx)));
        txs.enumerate().map(|(number, (at, tx))| (TxNum(number as u64), at, tx))
    }

    /// The coins that a transaction spent, in input order; none for a coinbase.
    ///
    /// # Panics
    /// If there is no transaction with that number.
    #[must_use]
    pub fn spent(&self, tx_num: TxNum) -> &[Coin] {
        &self.ledger().spent[tx_num.0 as usize]
    }

    /// The coins that a coinbase overwrote (BIP 30), each with the height of its block, in chain order. They left the
    /// coin set without being spent.
    #[must_use]
    pub fn overwritten(&self) -> &[(Height, Coin)] {
        &self.ledger().overwritten
    }

    /// The coin set as it was after the block of a height, made again from the blocks up to it.
    #[must_use]
    pub fn coins_at(&self, height: Height) -> BTreeMap<OutPoint, Coin> {
        let until = self.blocks.len().min(height as usize + 1);
        Oracle::of(self.network, &self.blocks[..until]).coins().clone()
    }

    /// The coin set.
    #[must_use]
    pub fn coins(&self) -> &BTreeMap<OutPoint, Coin> {
        &self.ledger().coins
    }

    /// The coin set by script; within one in chain order (transaction number, output).
    #[must_use]
    pub fn coins_by_script(&self) -> BTreeMap<&Script, Vec<(OutPoint, &Coin)>> {
        let mut scripts: BTreeMap<&Script, Vec<(OutPoint, &Coin)>> = BTreeMap::new();
        for (outpoint, coin) in self.coins() {
            scripts.entry(&coin.script).or_default().push((*outpoint, coin));
        }
        for coins in scripts.values_mut() {
            coins.sort_by_key(|(outpoint, coin)| (coin.tx_num, outpoint.vout));
        }
        scripts
    }

    /// Every script that ever had a coin.
    pub fn scripts(&self) -> impl Iterator<Item = &ScriptBuf> {
        self.ledger().totals.keys()
    }

    /// A script's transactions in chain order; empty if it never had a coin.
    #[must_use]
    pub fn history(&self, script: &Script) -> &[HistoryRow] {
        self.ledger().history.get(script).map_or(&[], Vec::as_slice)
    }

    /// A script's sums; `None` if it never had a coin.
    #[must_use]
    pub fn totals(&self, script: &Script) -> Option<&Totals> {
        self.ledger().totals.get(script)
    }

    /// The sums of all scripts.
    #[must_use]
    pub fn all_totals(&self) -> &BTreeMap<ScriptBuf, Totals> {
        &self.ledger().totals
    }

    /// Which input spent an output, by the output's transaction number and index. An overwritten output has none.
    #[must_use]
    pub fn spender(&self, tx_num: TxNum, vout: u32) -> Option<Spender> {
        self.ledger().spenders.get(&(tx_num, vout)).copied()
    }

    /// All spent outputs with their spenders, by the output's transaction number and index.
    #[must_use]
    pub fn spenders(&self) -> &BTreeMap<(TxNum, u32), Spender> {
        &self.ledger().spenders
    }

    /// Sum of all coins.
    #[must_use]
    pub fn supply_sats(&self) -> Sats {
        self.ledger().supply_sats()
    }

    /// MuHash of the coin set, as `gettxoutsetinfo muhash` prints it.
    #[must_use]
    pub fn muhash(&self) -> MuHashDigest {
        self.ledger().muhash()
    }

    /// Balance of a script after the block of that height; 0 if it never had a coin.
    #[must_use]
    pub fn balance_at(&self, script: &Script, height: Height) -> Sats {
        let rows = self.history(script).iter().filter(|row| row.height <= height);
        rows.fold(0, |balance, row| balance + row.received_sats - row.spent_sats)
    }

    /// Monotone time of a height.
    ///
    /// # Panics
    /// If the chain does not reach it.
    #[must_use]
    pub fn monotone_time(&self, height: Height) -> MonoTime {
        self.headers()[height as usize].monotone_time
    }

    /// A script's days from its first to its last activity, without gaps; empty if it never had a coin.
    #[must_use]
    pub fn daily(&self, script: &Script) -> Vec<DayRow> {
        let mut days: Vec<DayRow> = Vec::new();
        for row in self.history(script) {
            let day = day_of(self.monotone_time(row.height));
            // Carries the balance over the days since the last row.
            loop {
                let (next, balance_sats) = match days.last() {
                    None => (day, 0),
                    Some(last) if last.day < day => (last.day + 1, last.balance_sats),
                    Some(_) => break,
                };
                days.push(DayRow { day: next, balance_sats, received_sats: 0, sent_sats: 0, tx_count: 0 });
            }
            if let Some(today) = days.last_mut() {
                today.balance_sats = today.balance_sats + row.received_sats - row.spent_sats;
                today.received_sats += row.received_sats;
                today.sent_sats += row.spent_sats;
                today.tx_count += 1;
            }
        }
        days
    }
}
