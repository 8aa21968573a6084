//! Sums of facts that two places must agree on, in constant memory: the order in which facts are added does not matter.

use std::hash::Hash;

use cairn_model::{Block, Height, InputFlags, Outpoint, Sats, ScriptId, ScriptTemplate, SpentCoin, TxNum};
use cairn_stages::{Lane, Merge};
use cairn_tables::{
    DecodeError, TABLES, Table, ValueCodec,
    codec::Input,
    coins::Coin,
    encode_key, encode_value,
    history::{ENTRIES_PER_ROW, HistoryRow, ROWS_PER_INDEX},
    keys::HashPrefix,
    sums::Sums,
    totals::Totals,
};

use super::{
    cluster_tally::ClusterTally,
    weights::{WeightedSum, hash},
};
use crate::labels::Rows;

/// A table, or what is compared of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fact {
    TxNums,
    HeightByHash,
    HeightByTime,
    Overwritten,
    Spenders,
    Coins,
    CoinsByScript,
    History,
    HistoryIndex,
    Funded,
    Spent,
    Returns,
}

const COUNT: usize = Fact::Returns as usize + 1;

/// The number of facts, and the sum of their hashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Sum {
    count: u64,
    hashes: u64,
}

/// Difference between the two sides: zero if they agree.
#[derive(Clone, Debug)]
pub(crate) struct Tallies {
    facts: [Sum; COUNT],
    /// Whole rows of tables whose rows are put, by place in the registry.
    rows: [Sum; TABLES.len()],
    /// Rows of tables that are added up.
    sums: [WeightedSum; TABLES.len()],
    pub(crate) clusters: ClusterTally,
    /// Tables that cannot be compared, since what they are made of is damaged.
    unknown: Vec<&'static str>,
}

impl Default for Tallies {
    fn default() -> Self {
        Tallies {
            facts: Default::default(),
            rows: [Sum::default(); TABLES.len()],
            sums: [WeightedSum::default(); TABLES.len()],
            clusters: ClusterTally::default(),
            unknown: Vec::new(),
        }
    }
}

impl Tallies {
    /// Adds a fact of the journal.
    pub(crate) fn expect(&mut self, of: Fact, fact: impl Hash) {
        self.add(of, 1, fact);
    }

    /// Takes off a fact of the table.
    pub(crate) fn find(&mut self, of: Fact, fact: impl Hash) {
        self.add(of, 1u64.wrapping_neg(), fact);
    }

    /// As [`Tallies::find`], of a fact that the table has `times` times.
    pub(crate) fn find_times(&mut self, of: Fact, times: u64, fact: impl Hash) {
        self.add(of, times.wrapping_neg(), fact);
    }

    /// True if a table is left out of the comparison.
    pub(crate) fn is_unknown(&self, table: &str) -> bool {
        self.unknown.contains(&table)
    }

    fn add(&mut self, of: Fact, times: u64, fact: impl Hash) {
        let sum = &mut self.facts[of as usize];
        sum.count = sum.count.wrapping_add(times);
        sum.hashes = sum.hashes.wrapping_add(times.wrapping_mul(hash(fact)));
    }

    /// `None` if both sides agree; otherwise how many rows the table lacks (above zero) or has too many.
    pub(crate) fn difference(&self, of: Fact) -> Option<i64> {
        let sum = self.facts[of as usize];
        (sum != Sum::default()).then_some(sum.count.cast_signed())
    }

    /// Leaves a table out of the comparison.
    pub(crate) fn do_not_compare(&mut self, table: &'static str) {
        self.unknown.push(table);
    }

    /// As [`Tallies::difference`], of the rows of a table whose rows are put or added up.
    pub(crate) fn row_difference(&self, table: &str) -> Option<i64> {
        if self.is_unknown(table) {
            return None;
        }
        let place = place(table)?;
        let sum = self.rows[place];
        (sum != Sum::default() || self.sums[place] != WeightedSum::default()).then_some(sum.count.cast_signed())
    }

    /// Notes a delta that a stage emits into a lane that is put or added.
    pub(crate) fn expect_emitted(&mut self, lane: &Lane, key: &[u8], value: &[u8]) -> Result<(), DecodeError> {
        match lane.merge {
            Merge::Add => {
                let sums = Sums::decode(&mut Input::new(lane.name, value))?;
                self.sums(lane.name, key, &sums, 1);
            }
            _ => self.row(lane.name, key, value, 1),
        }
        Ok(())
    }

    pub(crate) fn expect_row<T: Table>(&mut self, key: &T::Key, value: &T::Value) {
        self.row(T::NAME, &encode_key::<T>(key), &encode_value::<T>(value), 1);
    }

    /// A row of a table whose rows are compared whole.
    pub(crate) fn find_row<T: Table>(&mut self, key: &T::Key, value: &T::Value) {
        self.row(T::NAME, &encode_key::<T>(key), &encode_value::<T>(value), 1u64.wrapping_neg());
    }

    pub(crate) fn find_sums<T: Table<Value = Sums>>(&mut self, key: &T::Key, value: &Sums) {
        self.sums(T::NAME, &encode_key::<T>(key), value, -1);
    }

    /// The rows that follow from a label.
    pub(crate) fn expect_rows(&mut self, rows: &Rows) {
        rows.keys.iter().for_each(|row| self.row(row.table, &row.key, &[], 1));
        rows.sums.iter().chain(&rows.own).for_each(|(row, sums)| self.sums(row.table, &row.key, sums, 1));
    }

    fn row(&mut self, table: &str, key: &[u8], value: &[u8], times: u64) {
        let Some(place) = place(table) else { return };
        let sum = &mut self.rows[place];
        sum.count = sum.count.wrapping_add(times);
        sum.hashes = sum.hashes.wrapping_add(times.wrapping_mul(hash((key, value))));
    }

    fn sums(&mut self, table: &str, key: &[u8], sums: &Sums, sign: i128) {
        let Some(place) = place(table) else { return };
        for (position, number) in sums.iter() {
            self.sums[place].add((key, position), number.wrapping_mul(sign));
        }
    }

    /// Notes the facts of a block that the tables must have.
    pub(crate) fn expect_block(&mut self, block: &Block, txid_prefix: usize) {
        self.expect(Fact::HeightByHash, (HashPrefix::of_block(&block.hash).0, block.height));
        self.expect(Fact::HeightByTime, (block.mono_time, block.height));
        if !block.overwritten.is_empty() {
            self.expect(Fact::Overwritten, block.height);
        }
        // The effect of the transaction on each script.
        let mut effects: Vec<(ScriptId, Sats, Sats)> = Vec::new();
        for (i, tx) in block.txs.iter().enumerate() {
            let tx_num = block.tx_num(i);
            self.expect(Fact::TxNums, (HashPrefix::of_txid(&tx.txid, txid_prefix).0, tx_num));
            effects.clear();
            for (vin, coin) in block.inputs_of(tx).iter().enumerate() {
                let distance = tx_num.0.wrapping_sub(coin.outpoint.tx_num.0);
                self.spender(coin.outpoint.tx_num, coin.outpoint.vout, distance, vin as u32, true);
                self.find(Fact::Coins, coin_fact(coin.outpoint, coin_of(coin), coin.birth));
                self.expect(Fact::Spent, (coin.script, coin.flags.template));
                effects.push((coin.script, 0, coin.value));
            }
            for (vout, output) in block.outputs_of(tx).iter().enumerate().filter(|(_, output)| output.spendable) {
                let outpoint = Outpoint { tx_num, vout: vout as u32 };
                let template = ScriptTemplate::of(block.script(output));
                let coin = Coin { value: output.value, script: output.id, coinbase: i == 0, template };
                self.expect(Fact::Coins, coin_fact(outpoint, coin, block.height));
                self.expect(Fact::Funded, (output.id, template));
                effects.push((output.id, output.value, 0));
            }
            for gone in block.overwritten.iter().filter(|gone| gone.by as usize == i) {
                let coin = &gone.coin;
                self.find(Fact::Coins, coin_fact(coin.outpoint, coin_of(coin), coin.birth));
                self.expect(Fact::Spent, (coin.script, coin.flags.template));
                effects.push((coin.script, 0, coin.value));
            }
            effects.sort_unstable();
            for of_script in effects.chunk_by(|a, b| a.0 == b.0) {
                let received = of_script.iter().fold(0, |sum: Sats, e| sum.wrapping_add(e.1));
                let sent = of_script.iter().fold(0, |sum: Sats, e| sum.wrapping_add(e.2));
                self.expect(Fact::History, (of_script[0].0, tx_num, received, sent));
            }
        }
    }

    /// A spent output and its spender.
    pub(crate) fn spender(&mut self, funding: TxNum, vout: u32, distance: u64, vin: u32, expected: bool) {
        let times = if expected { 1 } else { 1u64.wrapping_neg() };
        self.add(Fact::Spenders, times, (funding, vout, distance, vin));
    }

    /// An unspent coin of the table.
    pub(crate) fn find_coin(&mut self, at: Outpoint, coin: Coin, birth: Height) {
        self.find(Fact::Coins, coin_fact(at, coin, birth));
        self.expect(Fact::CoinsByScript, (coin.script, at, coin.value));
    }

    /// A row of a script's history. `long`: its script has rows in `history_index`.
    pub(crate) fn find_history(&mut self, id: ScriptId, first: TxNum, row: &HistoryRow, long: bool) {
        for e in &row.entries {
            self.find(Fact::History, (id, e.tx_num, e.received, e.sent));
        }
        if long {
            self.expect(Fact::HistoryIndex, (id, row.number, first));
        }
    }

    /// A row of `history_index`.
    pub(crate) fn find_index(&mut self, id: ScriptId, slot: u32, firsts: &[TxNum]) {
        for (number, first) in (u64::from(slot) * ROWS_PER_INDEX..).zip(firsts) {
            self.find(Fact::HistoryIndex, (id, number, *first));
        }
    }

    /// A row of `totals`.
    pub(crate) fn find_totals(&mut self, id: ScriptId, totals: &Totals) {
        self.add(Fact::Funded, totals.funded_count.wrapping_neg(), (id, totals.template));
        self.add(Fact::Spent, totals.spent_count.wrapping_neg(), (id, totals.template));
    }
}

fn place(table: &str) -> Option<usize> {
    TABLES.iter().position(|t| t.name == table)
}

fn coin_fact(at: Outpoint, coin: Coin, birth: Height) -> impl Hash {
    (at.tx_num, at.vout, coin.value, coin.script, coin.coinbase, coin.template, birth)
}

fn coin_of(spent: &SpentCoin) -> Coin {
    let InputFlags { coinbase, template, .. } = spent.flags;
    Coin { value: spent.value, script: spent.script, coinbase, template }
}

/// Whether a script with `entries` transactions has rows in `history_index`.
pub(crate) fn is_long(entries: u64) -> bool {
    entries > ENTRIES_PER_ROW
}
