//! Transactions by id and by number.

use std::rc::Rc;

use cairn_model::{Height, OutputMeta, ScriptId, ScriptPrefix, SpentCoin, TxMeta, TxNum, Txid};
use cairn_tables::{
    Table,
    block_log::{BlockLog, LogRow, TXS_PER_ROW},
    encode_key,
    lookups::{HashPrefix, TxNums},
    prevouts::Prevouts,
    spenders::{SpenderRow, Spenders},
};
use rocksdb::DBRawIteratorWithThreadMode;

use crate::{Db, Needs, ReadError, View};

/// Rows of `block_log` that a view keeps.
const KEPT_ROWS: usize = 64;

/// A confirmed transaction, as the log has it.
#[derive(Clone, Debug)]
pub struct StoredTx {
    /// Its number.
    pub tx_num: TxNum,
    /// Height of its block.
    pub height: Height,
    /// Its place in the block.
    pub index: u32,
    /// Where it begins in the block's bytes.
    pub raw_offset: u32,
    row: Rc<LogRow>,
    at: usize,
}

impl StoredTx {
    /// Id, sizes, ranges.
    #[must_use]
    pub fn meta(&self) -> &TxMeta {
        &self.row.txs.txs[self.at]
    }

    /// Id.
    #[must_use]
    pub fn txid(&self) -> Txid {
        self.meta().txid
    }

    /// Whether it is its block's coinbase.
    #[must_use]
    pub fn is_coinbase(&self) -> bool {
        self.index == 0
    }

    /// Outputs in order. `id.prefix` is left zero.
    #[must_use]
    pub fn outputs(&self) -> &[OutputMeta] {
        self.row.txs.outputs_of(self.meta())
    }

    /// scriptPubKey of an output.
    #[must_use]
    pub fn script(&self, output: &OutputMeta) -> &[u8] {
        self.row.txs.script(output)
    }

    /// Sum of the inputs' values; 0 for a coinbase.
    #[must_use]
    pub fn input_sats(&self) -> u64 {
        self.row.txs.inputs_of(self.meta()).iter().map(|i| i.value).sum()
    }

    /// Sum of the outputs' values.
    #[must_use]
    pub fn output_sats(&self) -> u64 {
        self.outputs().iter().map(|o| o.value).sum()
    }

    /// Fee; 0 for a coinbase.
    #[must_use]
    pub fn fee_sats(&self) -> u64 {
        if self.is_coinbase() { 0 } else { self.input_sats().saturating_sub(self.output_sats()) }
    }
}

impl View<'_> {
    /// The row of `block_log` that contains a transaction: (first number, row).
    pub(crate) fn log_row(&self, tx_num: TxNum) -> Result<Option<(TxNum, Rc<LogRow>)>, ReadError> {
        if tx_num >= self.tip().tx_end {
            return Ok(None);
        }
        let height = self.chain().height_of(tx_num);
        let Some(brief) = height.and_then(|h| self.chain().get(h)) else { return Ok(None) };
        let within = tx_num.0 - brief.first_tx.0;
        let key = TxNum(tx_num.0 - within % TXS_PER_ROW as u64);
        if let Some(row) = self.log_rows.borrow().get(&key) {
            return Ok(Some((key, Rc::clone(row))));
        }
        let row = self.get::<BlockLog>(&key)?.ok_or_else(|| self.broken("a row of block_log is missing"))?;
        if height != Some(row.height) {
            return Err(self.broken("a row of block_log belongs to another block"));
        }
        let row = Rc::new(row);
        let mut kept = self.log_rows.borrow_mut();
        if kept.len() >= KEPT_ROWS {
            kept.clear();
        }
        kept.insert(key, Rc::clone(&row));
        Ok(Some((key, row)))
    }

    /// A transaction by number; `None` beyond the tip. One row read.
    ///
    /// # Errors
    /// The database cannot be read, or rows are damaged.
    pub fn tx(&self, tx_num: TxNum) -> Result<Option<StoredTx>, ReadError> {
        let Some((first, row)) = self.log_row(tx_num)? else { return Ok(None) };
        let at = (tx_num.0 - first.0) as usize;
        let before = row.txs.txs.get(..at).ok_or_else(|| self.broken("a row of block_log is too short"))?;
        if row.txs.txs.len() <= at {
            return Err(self.broken("a row of block_log is too short"));
        }
        let raw_offset = before.iter().fold(row.raw_offset, |sum, tx| sum.saturating_add(tx.size));
        let index = row.first_index + at as u32;
        Ok(Some(StoredTx { tx_num, height: row.height, index, raw_offset, row, at }))
    }

    /// A transaction by id; the newest where two have the same (BIP 30). Two row reads and one for each other
    /// transaction whose id begins alike.
    ///
    /// # Errors
    /// The database cannot be read, or rows are damaged.
    pub fn tx_by_id(&self, txid: &Txid) -> Result<Option<StoredTx>, ReadError> {
        let mut found = None;
        for tx_num in self.numbers_of(txid, &mut self.prefix_iterator::<TxNums>()?)? {
            let tx = self.tx(tx_num)?.ok_or_else(|| self.broken("tx_nums names a transaction that is not there"))?;
            if tx.txid() == *txid {
                found = Some(tx);
            }
        }
        Ok(found)
    }

    /// Numbers of the transactions whose ids begin as this one, ascending: at most one of them is it, but for BIP 30.
    /// Without such a transaction, the filter nearly always answers without a read.
    pub(crate) fn numbers_of(
        &self,
        txid: &Txid,
        rows: &mut DBRawIteratorWithThreadMode<'_, Db>,
    ) -> Result<Vec<TxNum>, ReadError> {
        let prefix = HashPrefix::of_txid(txid, self.facts().txid_prefix);
        let mut numbers = Vec::new();
        rows.seek(encode_key::<TxNums>(&(prefix, TxNum(0))));
        self.count();
        while let Some(key) = rows.key() {
            let (found, tx_num) = TxNums::decode_key(key)?;
            if found != prefix {
                break;
            }
            numbers.push(tx_num);
            rows.next();
            self.count();
        }
        rows.status()?;
        Ok(numbers)
    }

    /// What the inputs of a transaction spend. One row read; none for a coinbase.
    ///
    /// # Errors
    /// The database cannot be read, or rows are damaged.
    pub fn inputs(&self, tx: &StoredTx) -> Result<Vec<SpentCoin>, ReadError> {
        let logged = tx.row.txs.inputs_of(tx.meta());
        if logged.is_empty() {
            return Ok(Vec::new());
        }
        let first = TxNum(tx.tx_num.0 - tx.at as u64);
        let row = self.get::<Prevouts>(&first)?.ok_or_else(|| self.broken("a row of prevouts is missing"))?;
        let outpoints = row.unpack(first)?;
        if outpoints.len() != tx.row.txs.inputs.len() {
            return Err(self.broken("prevouts and block_log differ in length"));
        }
        let range = tx.meta().inputs.start as usize..tx.meta().inputs.end as usize;
        let coin = |(i, &outpoint): (&cairn_tables::block_log::LoggedInput, &cairn_model::Outpoint)| SpentCoin {
            outpoint,
            value: i.value,
            script: i.script,
            birth: i.birth,
            flags: i.flags,
        };
        Ok(logged.iter().zip(&outpoints[range]).map(coin).collect())
    }

    /// Who spent the outputs of a transaction: (vout, spender, vin), ascending vout. One row read.
    ///
    /// # Errors
    /// The database cannot be read, or the row is damaged.
    pub fn spenders(&self, tx_num: TxNum) -> Result<Vec<(u32, TxNum, u32)>, ReadError> {
        self.require(Needs::Spends)?;
        let SpenderRow(rows) = self.get::<Spenders>(&tx_num)?.unwrap_or_default();
        Ok(rows.into_iter().map(|s| (s.vout, TxNum(tx_num.0.saturating_add(s.distance)), s.vin)).collect())
    }

    /// Id of an output's script; `None` for an output that never enters the coin set.
    #[must_use]
    pub fn script_id_of(&self, tx: &StoredTx, output: &OutputMeta) -> Option<ScriptId> {
        let prefix = ScriptPrefix::of(tx.script(output), self.facts().script_prefix);
        output.spendable.then_some(ScriptId { prefix, ordinal: output.id.ordinal })
    }
}
