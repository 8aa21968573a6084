//! Transactions that spend coins of a year and more.

use cairn_model::TxNum;
use cairn_tables::{
    Table,
    ages::{DormantRow, DormantSpends},
    encode_key,
    stages::AGES,
};
use rocksdb::DBRawIteratorWithThreadMode;

use crate::{Db, ReadError, View};

/// Walks through transactions that spend coins of a year and more, the newest first.
pub struct DormantWalk<'v> {
    view: &'v View<'v>,
    rows: DBRawIteratorWithThreadMode<'v, Db>,
    started: bool,
}

impl View<'_> {
    /// Begins at the newest such transaction before `end`.
    ///
    /// # Errors
    /// The stage `ages` is being rebuilt, or the database cannot be read.
    pub fn dormant_before(&self, end: TxNum) -> Result<Option<DormantWalk<'_>>, ReadError> {
        self.require(&AGES)?;
        let Some(last) = end.0.checked_sub(1) else { return Ok(None) };
        let mut rows = self.raw_iterator::<DormantSpends>()?;
        rows.seek_for_prev(encode_key::<DormantSpends>(&TxNum(last)));
        Ok(Some(DormantWalk { view: self, rows, started: false }))
    }
}

impl DormantWalk<'_> {
    /// The next older one, with what it spends by class of age. One row read.
    ///
    /// # Errors
    /// The database cannot be read, or the row is damaged.
    pub fn older(&mut self) -> Result<Option<(TxNum, DormantRow)>, ReadError> {
        if self.started {
            self.rows.prev();
        }
        self.started = true;
        self.view.count()?;
        self.rows.status().map_err(|e| ReadError::of_table(DormantSpends::NAME, e))?;
        let Some((key, value)) = self.rows.item() else { return Ok(None) };
        self.view.count_bytes(value)?;
        Ok(Some((DormantSpends::decode_key(key)?, DormantSpends::decode_value(value)?)))
    }
}
