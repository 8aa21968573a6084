//! An iterator that is mostly sought forward, as by those who ask for keys in ascending order.

use cairn_tables::Table;
use rocksdb::DBRawIteratorWithThreadMode;

use crate::{Db, ReadError, View};

/// Rows of a table. A seek reads nothing if the iterator is there already.
pub(crate) struct Forward<'v> {
    rows: DBRawIteratorWithThreadMode<'v, Db>,
    table: &'static str,
    /// The iterator is at the first row from this key on; `None`: not known.
    from: Option<Vec<u8>>,
}

impl<'v> Forward<'v> {
    /// Begins nowhere.
    pub(crate) fn new<T: Table>(view: &'v View<'_>) -> Result<Self, ReadError> {
        Ok(Forward { rows: view.raw_iterator::<T>()?, table: T::NAME, from: None })
    }

    /// Goes to the first row from a key on.
    pub(crate) fn seek(&mut self, key: &[u8]) {
        let from = self.from.as_deref().filter(|from| *from <= key);
        let is_there = from.is_some() && self.rows.status().is_ok() && self.rows.key().is_none_or(|here| here >= key);
        if !is_there {
            self.rows.seek(key);
        }
        let from = self.from.get_or_insert_default();
        from.clear();
        from.extend_from_slice(key);
    }

    /// Goes to the last row up to a key.
    pub(crate) fn seek_for_prev(&mut self, key: &[u8]) {
        self.rows.seek_for_prev(key);
        self.from = None;
    }

    pub(crate) fn next(&mut self) {
        if let Some(key) = self.rows.key() {
            let from = self.from.get_or_insert_default();
            from.clear();
            from.extend_from_slice(key);
            // The first key after it.
            from.push(0);
        }
        self.rows.next();
    }

    /// The row that it is at; `None` at the end.
    pub(crate) fn row(&self) -> Result<Option<(&[u8], &[u8])>, ReadError> {
        self.rows.status().map_err(|e| ReadError::of_table(self.table, e))?;
        Ok(self.rows.item())
    }
}
