//! Reads the transactions of a block, and the rows that tables of stages have of them.

use cairn_model::{Height, SpentCoin, TxNum};
use cairn_reader::{ReadError, StoredTx, View};
use cairn_tables::{Table, block_log::BlockLog};

/// Returns the transactions of a block: the first, and one past the last.
pub(super) fn txs_of(view: &View<'_>, height: Height) -> Result<(TxNum, TxNum), ReadError> {
    let lacks = || ReadError::Broken(format!("block {height} is missing"));
    let first = view.chain().get(height).ok_or_else(lacks)?.first_tx;
    Ok((first, view.as_of(height).ok_or_else(lacks)?.tx_end))
}

/// Returns the rows of the transactions of a block, ascending.
pub(super) fn rows_of<T: Table<Key = TxNum>>(
    view: &View<'_>,
    height: Height,
) -> Result<Vec<(TxNum, T::Value)>, ReadError> {
    let (first, end) = txs_of(view, height)?;
    let rows = view.scan::<T>(Some(&first))?;
    rows.take_while(|row| row.as_ref().map_or(true, |(tx_num, _)| *tx_num < end)).collect()
}

pub(super) fn read_tx(view: &View<'_>, tx_num: TxNum) -> Result<(StoredTx, Vec<SpentCoin>), ReadError> {
    let lacks = || ReadError::Lacks { table: BlockLog::NAME, what: format!("transaction {}", tx_num.0) };
    let tx = view.transactions().get(tx_num)?.ok_or_else(lacks)?;
    let coins = view.transactions().inputs(&tx)?;
    Ok((tx, coins))
}
