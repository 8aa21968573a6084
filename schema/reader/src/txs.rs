//! Transactions by txid and by number.

use std::rc::Rc;

use cairn_model::{Height, Outpoint, OutputMeta, SpentCoin, TxMeta, TxNum, Txid, each_once};
use cairn_tables::{
    Table,
    block_log::{BlockLog, Decoded, LogRow, LoggedInput, LoggedTx, TXS_PER_ROW},
    encode_key,
    funding::{Funding, FundingRow},
    keys::HashPrefix,
    prevouts::{PrevoutRow, Prevouts},
    spenders::{SpenderRow, Spenders},
    stages::{FUNDING, SPENDS},
    tx_nums::TxNums,
};
use rocksdb::{DBPinnableSlice, DBRawIteratorWithThreadMode};

use crate::{Db, ReadError, subjects::TransactionView};

/// Rows of `block_log` that a view keeps.
const KEPT_ROWS: usize = 128;

/// Bytes of the longest row that is kept.
const KEPT_LENGTH: usize = 16 << 10;

/// A row's bytes.
enum RowBytes<'v> {
    /// Bytes that the view keeps.
    Kept(Rc<[u8]>),
    /// In the database's cache.
    Pinned(DBPinnableSlice<'v>),
}

impl std::ops::Deref for RowBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            RowBytes::Kept(bytes) => bytes,
            RowBytes::Pinned(bytes) => bytes,
        }
    }
}

/// A confirmed transaction from the log.
#[derive(Clone, Debug)]
pub struct StoredTx {
    /// Its number in the order of the chain.
    pub tx_num: TxNum,
    /// Height of its block.
    pub height: Height,
    /// Its index in the block; 0 is the coinbase.
    pub index: u32,
    /// Offset of its first byte in the block.
    pub raw_offset: u32,
    /// The first transaction of its row of `block_log`, and the number of inputs before its own in the row.
    row: TxNum,
    first_input: u32,
    decoded: Rc<Decoded>,
}

impl StoredTx {
    /// Id, sizes, ranges.
    #[must_use]
    pub fn meta(&self) -> &TxMeta {
        &self.decoded.txs[0]
    }

    /// Id.
    #[must_use]
    pub fn txid(&self) -> Txid {
        self.meta().txid
    }

    /// True for the first transaction of a block.
    #[must_use]
    pub fn is_coinbase(&self) -> bool {
        self.index == 0
    }

    /// Outputs in order. `id.prefix` is zero.
    #[must_use]
    pub fn outputs(&self) -> &[OutputMeta] {
        &self.decoded.outputs
    }

    /// scriptPubKey of an output.
    #[must_use]
    pub fn script(&self, output: &OutputMeta) -> &[u8] {
        self.decoded.script(output)
    }

    /// The bytes that the outputs' scripts are ranges of.
    #[must_use]
    pub fn scripts(&self) -> &[u8] {
        &self.decoded.scripts
    }

    /// Its inputs in order; none of a coinbase. Which transactions made the coins is in another row
    /// ([`TransactionView::inputs`]).
    #[must_use]
    pub fn logged_inputs(&self) -> &[LoggedInput] {
        &self.decoded.inputs
    }

    /// Sum of the inputs' values; 0 for a coinbase.
    #[must_use]
    pub fn input_sats(&self) -> u64 {
        self.decoded.inputs.iter().map(|i| i.value).sum()
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

/// Fields of a transaction in the list of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BriefTx {
    /// Its index in the block; 0 is the coinbase.
    pub index: u32,
    /// Id.
    pub txid: Txid,
    /// Virtual bytes.
    pub vsize: u64,
    /// Weight units.
    pub weight: u64,
    /// Number of inputs; 0 for a coinbase.
    pub input_count: u32,
    /// Number of outputs.
    pub output_count: u32,
    /// Sum of the inputs' values; 0 for a coinbase.
    pub input_sats: u64,
    /// Sum of the outputs' values.
    pub output_sats: u64,
    /// Sum over the spent coins of their value times the seconds (monotone block time) that they were not moved.
    pub destroyed_sat_secs: u128,
}

impl BriefTx {
    /// Fee; 0 for a coinbase.
    #[must_use]
    pub fn fee_sats(&self) -> u64 {
        if self.index == 0 { 0 } else { self.input_sats.saturating_sub(self.output_sats) }
    }
}

impl<'v> TransactionView<'v> {
    /// The row of `block_log` that begins with this transaction.
    fn log_row(self, first: TxNum) -> Result<RowBytes<'v>, ReadError> {
        let known = self.view.log_rows.borrow().get(&first).cloned();
        let row = match known {
            Some(Some(row)) => {
                self.view.count_bytes(&row)?;
                return Ok(RowBytes::Kept(row));
            }
            Some(None) => self.view.bytes_again::<BlockLog>(&first)?,
            None => self.view.bytes::<BlockLog>(&first)?,
        };
        let row = row.ok_or_else(|| self.view.broken("a row of block_log is missing"))?;
        Ok(self.keep(first, &row).map_or(RowBytes::Pinned(row), RowBytes::Kept))
    }

    /// Keeps a row of `block_log`, unless it is long.
    fn keep(self, first: TxNum, row: &[u8]) -> Option<Rc<[u8]>> {
        // To read a long one again out of the database's cache is cheaper than to copy it.
        let copy: Option<Rc<[u8]>> = (row.len() <= KEPT_LENGTH).then(|| Rc::from(row));
        let mut kept = self.view.log_rows.borrow_mut();
        if kept.len() >= KEPT_ROWS {
            kept.clear();
        }
        kept.insert(first, copy.clone());
        copy
    }

    /// Reads the rows of these transactions in one look-up, so that later single look-ups find them without another
    /// read. At most as many as a view keeps.
    pub fn fetch(self, tx_nums: &[TxNum]) -> Result<(), ReadError> {
        let mut firsts = each_once(tx_nums.iter().filter_map(|n| Some(self.log_place(*n)?.1)));
        firsts.retain(|first| !self.view.log_rows.borrow().contains_key(first));
        firsts.truncate(KEPT_ROWS.saturating_sub(self.view.log_rows.borrow().len()));
        // One is found as fast without.
        if firsts.len() < 2 {
            return Ok(());
        }
        for (first, row) in firsts.iter().zip(self.view.bytes_of_many::<BlockLog>(&firsts)?) {
            // Missing rows are noticed by the request that needs them.
            if let Some(row) = row {
                self.keep(*first, &row);
            }
        }
        Ok(())
    }

    /// Position of a transaction in the log: its block's height, the first transaction of its row, its index in the
    /// row. `None` beyond the tip.
    fn log_place(self, tx_num: TxNum) -> Option<(Height, TxNum, usize)> {
        let height = self.view.chain().height_of(tx_num).filter(|_| tx_num < self.view.tip().tx_end)?;
        let at = (tx_num.0 - self.view.chain().get(height)?.first_tx.0) as usize % TXS_PER_ROW;
        Some((height, TxNum(tx_num.0 - at as u64), at))
    }

    /// Checks that a row of the log has the requested transaction, of a block at `height`.
    fn logged<T>(self, found: Option<T>, height: Height, of: impl Fn(&T) -> Height) -> Result<T, ReadError> {
        let found = found.ok_or_else(|| self.view.broken("a row of block_log is too short"))?;
        if of(&found) != height {
            return Err(self.view.broken("a row of block_log belongs to another block"));
        }
        Ok(found)
    }

    /// A transaction by number; `None` beyond the tip. One row read.
    pub fn get(self, tx_num: TxNum) -> Result<Option<StoredTx>, ReadError> {
        let Some((height, row, at)) = self.log_place(tx_num) else { return Ok(None) };
        let mut decoded = Decoded::default();
        let found = LogRow::decode_one(&self.log_row(row)?, at, &mut decoded)?;
        let LoggedTx { index, raw_offset, first_input, .. } = self.logged(found, height, |place| place.height)?;
        Ok(Some(StoredTx { tx_num, height, index, raw_offset, row, first_input, decoded: Rc::new(decoded) }))
    }

    /// Transactions of one block from index `from` on, at most `count`, with the fields that a list of them shows. One
    /// row read for each 64 of them, each of which is decoded once.
    pub fn brief(self, height: Height, from: u32, count: u32) -> Result<Vec<BriefTx>, ReadError> {
        let Some(block) = self.view.chain().get(height) else { return Ok(Vec::new()) };
        let (first_tx, spent_at) = (block.first_tx, block.mono_time);
        let destroyed = |coin: &cairn_tables::block_log::LoggedInput| {
            let born_at = self.view.chain().get(coin.birth).map_or(spent_at, |block| block.mono_time);
            u128::from(coin.value) * u128::from(spent_at.saturating_sub(born_at))
        };
        let next = self.view.chain().get(height + 1).map_or(self.view.tip().tx_end, |block| block.first_tx);
        let end = from.saturating_add(count).min(next.0.saturating_sub(first_tx.0) as u32);
        let (mut found, mut decoded) = (Vec::new(), Decoded::default());
        let mut at = from / TXS_PER_ROW as u32 * TXS_PER_ROW as u32;
        while at < end {
            decoded.clear();
            let row = self.log_row(TxNum(first_tx.0 + u64::from(at)))?;
            let (of, index, _) = LogRow::decode_into(&row, &mut decoded)?;
            if (of, index) != (height, at) || decoded.txs.is_empty() {
                return Err(self.view.broken("a row of block_log belongs to another block"));
            }
            let txs = (at..).zip(&decoded.txs).filter(|(index, _)| (from..end).contains(index));
            found.extend(txs.map(|(index, tx)| BriefTx {
                index,
                txid: tx.txid,
                vsize: tx.vsize(),
                weight: tx.weight(),
                input_count: tx.inputs.len() as u32,
                output_count: tx.outputs.len() as u32,
                input_sats: decoded.inputs_of(tx).iter().map(|i| i.value).sum(),
                output_sats: decoded.outputs_of(tx).iter().map(|o| o.value).sum(),
                destroyed_sat_secs: decoded.inputs_of(tx).iter().map(destroyed).sum(),
            }));
            at += decoded.txs.len() as u32;
        }
        Ok(found)
    }

    /// Id and block height of a transaction by number; `None` beyond the tip. Reads one row and decodes little of it:
    /// transactions can be large.
    pub fn txid(self, tx_num: TxNum) -> Result<Option<(Txid, Height)>, ReadError> {
        let Some((height, row, at)) = self.log_place(tx_num) else { return Ok(None) };
        let found = LogRow::find_one(&self.log_row(row)?, at)?;
        let (_, txid) = self.logged(found, height, |(place, _)| place.height)?;
        Ok(Some((txid, height)))
    }

    /// Ids and block heights of transactions of these numbers, which ascend. Reads each row once, many in a look-up,
    /// and keeps none.
    ///
    /// # Errors
    /// Fails if one is beyond the tip.
    pub fn txids(self, tx_nums: &[TxNum]) -> Result<Vec<(Txid, Height)>, ReadError> {
        let beyond = || self.view.broken("a transaction beyond the tip");
        let place = |tx_num: &TxNum| self.log_place(*tx_num).ok_or_else(beyond);
        let places: Vec<(Height, TxNum, usize)> = tx_nums.iter().map(place).collect::<Result<_, _>>()?;
        let (mut found, mut positions, mut txids) = (Vec::with_capacity(places.len()), Vec::new(), Vec::new());
        let of_rows: Vec<_> = places.chunk_by(|(_, a, _), (_, b, _)| a == b).collect();
        for some in of_rows.chunks(KEPT_ROWS) {
            let firsts: Vec<TxNum> = some.iter().map(|places| places[0].1).collect();
            for (places, row) in some.iter().zip(self.view.bytes_of_many::<BlockLog>(&firsts)?) {
                let row = row.ok_or_else(|| self.view.broken("a row of block_log is missing"))?;
                positions.clear();
                positions.extend(places.iter().map(|(_, _, at)| at));
                txids.clear();
                let height = LogRow::txids(&row, &positions, &mut txids)?;
                let height = self.logged(height, places[0].0, |height| *height)?;
                found.extend(txids.iter().map(|txid| (*txid, height)));
            }
        }
        Ok(found)
    }

    /// scriptPubKey of an output. One row read.
    pub fn script_at(self, outpoint: Outpoint) -> Result<Vec<u8>, ReadError> {
        let missing = || self.view.broken("a first output is missing");
        let (height, row, at) = self.log_place(outpoint.tx_num).ok_or_else(missing)?;
        let mut script = Vec::new();
        let found = LogRow::script_of(&self.log_row(row)?, at, outpoint.vout, &mut script)?;
        self.logged(Some(found.ok_or_else(missing)?), height, |height| *height)?;
        Ok(script)
    }

    /// A transaction by txid; the newest if two have the same (BIP 30). Two row reads, and one for each other
    /// transaction with the same prefix.
    pub fn by_txid(self, txid: &Txid) -> Result<Option<StoredTx>, ReadError> {
        let mut found = None;
        for tx_num in self.numbers_of(txid, &mut self.view.prefix_iterator::<TxNums>()?)? {
            let tx = self.get(tx_num)?.ok_or_else(|| self.view.broken("tx_nums names a missing transaction"))?;
            if tx.txid() == *txid {
                found = Some(tx);
            }
        }
        Ok(found)
    }

    /// Numbers of the transactions with the same txid prefix, ascending: at most one has the txid, except for BIP 30.
    /// If there is none, the filter nearly always avoids a read.
    pub(crate) fn numbers_of(
        self,
        txid: &Txid,
        rows: &mut DBRawIteratorWithThreadMode<'_, Db>,
    ) -> Result<Vec<TxNum>, ReadError> {
        let prefix = HashPrefix::of_txid(txid, self.view.facts().txid_prefix);
        let mut numbers = Vec::new();
        self.view.count(TxNums::NAME)?;
        rows.seek(encode_key::<TxNums>(&(prefix, TxNum(0))));
        while let Some(key) = rows.key() {
            let (found, tx_num) = TxNums::decode_key(key)?;
            if found != prefix {
                break;
            }
            numbers.push(tx_num);
            self.view.count(TxNums::NAME)?;
            rows.next();
        }
        rows.status().map_err(|e| ReadError::of_table(TxNums::NAME, e))?;
        Ok(numbers)
    }

    /// The coins that a transaction spends. One row read; none for a coinbase.
    pub fn inputs(self, tx: &StoredTx) -> Result<Vec<SpentCoin>, ReadError> {
        let logged = &tx.decoded.inputs;
        if logged.is_empty() {
            return Ok(Vec::new());
        }
        let row =
            self.view.bytes::<Prevouts>(&tx.row)?.ok_or_else(|| self.view.broken("a row of prevouts is missing"))?;
        let range = tx.first_input..tx.first_input.saturating_add(logged.len() as u32);
        let outpoints = PrevoutRow::unpack_some(&row, tx.row, range)?;
        Ok(logged.iter().zip(outpoints).map(|(input, outpoint)| input.coin(outpoint)).collect())
    }

    /// The transaction that made the largest coin which a transaction spends; the first of equal ones. `None` for a
    /// coinbase. One row read.
    ///
    /// # Errors
    /// Fails if there is no such transaction, or while the stage `funding` is being rebuilt.
    pub fn funding(self, tx_num: TxNum) -> Result<Option<TxNum>, ReadError> {
        self.view.require(&FUNDING)?;
        let (_, row, at) = self.log_place(tx_num).ok_or_else(|| self.view.broken("a transaction beyond the tip"))?;
        let lacks = || ReadError::Lacks { table: Funding::NAME, what: format!("transaction {}", tx_num.0) };
        match FundingRow::find(&self.view.bytes::<Funding>(&row)?.ok_or_else(lacks)?, at)?.ok_or_else(lacks)? {
            0 => Ok(None),
            distance => {
                let funding =
                    tx_num.0.checked_sub(distance).ok_or_else(|| self.view.broken("an impossible row of funding"))?;
                Ok(Some(TxNum(funding)))
            }
        }
    }

    /// The spenders of a transaction's outputs: (vout, spender, vin), ascending vout. One row read.
    pub fn spenders(self, tx_num: TxNum) -> Result<Vec<(u32, TxNum, u32)>, ReadError> {
        self.view.require(&SPENDS)?;
        let SpenderRow(rows) = self.view.get::<Spenders>(&tx_num)?.unwrap_or_default();
        Ok(rows.into_iter().map(|s| (s.vout, TxNum(tx_num.0.saturating_add(s.distance)), s.vin)).collect())
    }
}
