//! Reads the results of the join and the coins phase back in the order of the chain.

use std::{iter::Peekable, ops::Range, path::PathBuf, vec::IntoIter};

use cairn_tables::codec::{DecodeError, Input};

use super::{
    Plan,
    join::{PREVOUTS, SPENT, WANTED},
    manifest::Manifest,
    spill::{Chunks, damaged, remove_before},
};
use crate::PipelineError;

/// A row of a spill that is cut by transaction number.
pub(crate) trait SpilledRow: Sized + Ord + Send {
    const NAME: &'static str;
    /// Bytes in memory per byte in the spill, about.
    const GROWTH: u64;

    /// Reads it. `first` is the partition's first transaction number, `last` the number of the row before in the chunk.
    fn read(b: &mut Input<'_>, first: u64, last: u64) -> Result<Self, DecodeError>;

    /// The number by which the spill is cut.
    fn tx(&self) -> u64;
}

/// The outpoint that an input names.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy, Debug)]
pub(crate) struct SpilledPrevout {
    pub(crate) spender: u64,
    pub(crate) vin: u32,
    pub(crate) vout: u32,
    pub(crate) funding: u64,
}

impl SpilledRow for SpilledPrevout {
    const NAME: &'static str = PREVOUTS;
    const GROWTH: u64 = 5;

    fn read(b: &mut Input<'_>, _: u64, last: u64) -> Result<Self, DecodeError> {
        let spender = last.wrapping_add(b.varint()?);
        let (vin, back, vout) = (b.varint32()?, b.varint()?, b.varint32()?);
        let funding = spender.checked_sub(back).filter(|_| back > 0).ok_or_else(|| b.error("distance"))?;
        Ok(SpilledPrevout { spender, vin, vout, funding })
    }

    fn tx(&self) -> u64 {
        self.spender
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy, Debug)]
pub(crate) struct Spent {
    pub(crate) funding: u64,
    pub(crate) vout: u32,
}

impl SpilledRow for Spent {
    const NAME: &'static str = SPENT;
    const GROWTH: u64 = 5;

    fn read(b: &mut Input<'_>, first: u64, _: u64) -> Result<Self, DecodeError> {
        Ok(Spent { funding: first.wrapping_add(b.varint()?), vout: b.varint32()? })
    }

    fn tx(&self) -> u64 {
        self.funding
    }
}

/// An output that an input without undo data spends.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy, Debug)]
pub(crate) struct WantedOutput {
    pub(crate) funding: u64,
    pub(crate) vout: u32,
    pub(crate) vin: u32,
    pub(crate) spender: u64,
}

impl SpilledRow for WantedOutput {
    const NAME: &'static str = WANTED;
    const GROWTH: u64 = 4;

    fn read(b: &mut Input<'_>, first: u64, _: u64) -> Result<Self, DecodeError> {
        let (funding, vout) = (first.wrapping_add(b.varint()?), b.varint32()?);
        Ok(WantedOutput { funding, vout, spender: funding.wrapping_add(b.varint()?), vin: b.varint32()? })
    }

    fn tx(&self) -> u64 {
        self.funding
    }
}

/// A spent coin, as found in the block that made it. By spender, chunks of: spender's TxNum less the partition's first
/// │ vin │ birth height │ value │ 1 if coinbase │ length of the script │ script.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct FoundCoin {
    pub(crate) spender: u64,
    pub(crate) vin: u32,
    pub(crate) birth: u32,
    pub(crate) value: u64,
    pub(crate) coinbase: bool,
    pub(crate) script: Vec<u8>,
}

impl SpilledRow for FoundCoin {
    const NAME: &'static str = "coins-found";
    const GROWTH: u64 = 4;

    fn read(b: &mut Input<'_>, first: u64, _: u64) -> Result<Self, DecodeError> {
        let (spender, vin, birth) = (first.wrapping_add(b.varint()?), b.varint32()?, b.varint32()?);
        let (value, coinbase, length) = (b.varint()?, b.flag()?, b.count()?);
        Ok(FoundCoin { spender, vin, birth, value, coinbase, script: b.take(length)?.to_vec() })
    }

    fn tx(&self) -> u64 {
        self.spender
    }
}

/// The rows of a spill in ascending order, a range of transactions at a time.
pub(crate) struct Stream<R> {
    dir: PathBuf,
    plan: Plan,
    /// Transactions whose rows are in memory.
    loaded: Range<u64>,
    rows: Peekable<IntoIter<R>>,
}

impl<R: SpilledRow> Stream<R> {
    pub(crate) fn new(manifest: &Manifest) -> Self {
        let rows = Vec::new().into_iter().peekable();
        Stream { dir: manifest.dir().to_owned(), plan: manifest.plan, loaded: 0..0, rows }
    }

    /// The rows of a range of transactions, each range further on than the one before.
    pub(crate) fn take(&mut self, txs: Range<u64>) -> Result<Vec<R>, PipelineError> {
        let mut taken = Vec::new();
        let mut at = txs.start;
        while at < txs.end {
            if !self.loaded.contains(&at) {
                self.load(at)?;
            }
            // Rows before it belong to blocks that an earlier run has finished.
            while self.rows.next_if(|row| row.tx() < txs.start).is_some() {}
            while let Some(row) = self.rows.next_if(|row| row.tx() < txs.end) {
                taken.push(row);
            }
            at = self.loaded.end;
        }
        Ok(taken)
    }

    /// Loads the part of a partition that has the transaction: all of it, if that is not too much.
    fn load(&mut self, tx: u64) -> Result<(), PipelineError> {
        self.rows = Vec::new().into_iter().peekable();
        let partition = self.plan.by_tx(tx);
        let whole = self.plan.first_tx(partition)..self.plan.first_tx(partition + 1);
        let mut chunks = Chunks::open(&self.dir, R::NAME, partition)?;
        let width = (whole.end - whole.start).div_ceil(self.plan.parts(chunks.left() * R::GROWTH)).max(1);
        let from = whole.start + (tx - whole.start) / width * width;
        let range = from..(from + width).min(whole.end);
        let mut rows: Vec<R> = Vec::new();
        while let Some(chunk) = chunks.next()? {
            let mut read = || {
                let mut b = Input::new(R::NAME, chunk);
                let mut last = 0;
                while b.left() > 0 {
                    let row = R::read(&mut b, whole.start, last)?;
                    last = row.tx();
                    if range.contains(&last) {
                        rows.push(row);
                    } else if !whole.contains(&last) {
                        return Err(b.error("partition"));
                    }
                }
                Ok::<(), DecodeError>(())
            };
            if read().is_err() {
                return Err(chunks.damaged());
            }
        }
        // Runs that are in order already cost a sort that looks for them little.
        rows.sort();
        (self.loaded, self.rows) = (range, rows.into_iter().peekable());
        Ok(())
    }

    /// A row of a transaction from `tx` on, wherever it is.
    pub(crate) fn find(&self, tx: u64, wanted: impl Fn(&R) -> bool) -> Result<Option<R>, PipelineError> {
        for partition in self.plan.by_tx(tx)..self.plan.partitions {
            let mut chunks = Chunks::open(&self.dir, R::NAME, partition)?;
            while let Some(chunk) = chunks.next()? {
                let mut b = Input::new(R::NAME, chunk);
                let mut last = 0;
                while b.left() > 0 {
                    let Ok(row) = R::read(&mut b, self.plan.first_tx(partition), last) else {
                        return Err(chunks.damaged());
                    };
                    last = row.tx();
                    if wanted(&row) {
                        return Ok(Some(row));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Removes partitions that no transaction from `tx` on needs.
    pub(crate) fn remove_before(&self, tx: u64) -> Result<(), PipelineError> {
        remove_before(&self.dir, R::NAME, &self.plan, tx)
    }

    /// The error for missing or surplus rows.
    pub(crate) fn damaged(&self) -> PipelineError {
        damaged(&self.dir, R::NAME, self.plan.by_tx(self.loaded.start))
    }
}

/// The rows of one block, out of those of a batch in order.
pub(crate) fn rows_of_block<R: SpilledRow>(rows: &[R], txs: Range<u64>) -> &[R] {
    let from = rows.partition_point(|row| row.tx() < txs.start);
    let to = rows.partition_point(|row| row.tx() < txs.end);
    &rows[from..to.max(from)]
}
