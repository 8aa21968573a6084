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

    /// Goes to the first row from a key on. True if it was not there already.
    pub(crate) fn seek(&mut self, key: &[u8]) -> bool {
        let from = self.from.as_deref().filter(|from| *from <= key);
        let is_there = from.is_some() && self.rows.status().is_ok() && self.rows.key().is_none_or(|here| here >= key);
        if !is_there {
            self.rows.seek(key);
        }
        let from = self.from.get_or_insert_default();
        from.clear();
        from.extend_from_slice(key);
        !is_there
    }

    /// Like [`Forward::seek`]; a row read unless it is there already.
    pub(crate) fn seek_counted(&mut self, view: &View<'_>, key: &[u8]) -> Result<(), ReadError> {
        if self.seek(key) { view.count(self.table) } else { Ok(()) }
    }

    /// Like [`Forward::next`]; one row read.
    pub(crate) fn next_counted(&mut self, view: &View<'_>) -> Result<(), ReadError> {
        self.next();
        view.count(self.table)
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

    /// True if it is at the row of this key.
    pub(crate) fn is_at(&self, key: &[u8]) -> bool {
        self.rows.key() == Some(key)
    }

    /// The row of a table that it is at; `None` behind the last.
    pub(crate) fn decoded<T: Table>(&self, view: &View<'_>) -> Result<Option<(T::Key, T::Value)>, ReadError> {
        let row = self.row()?.filter(|(key, _)| T::TAG.is_none_or(|tag| key.first() == Some(&tag)));
        let Some((key, value)) = row else {
            return Ok(None);
        };
        view.count_bytes(value)?;
        Ok(Some((T::decode_key(key)?, T::decode_value(value)?)))
    }

    /// The row that it is at; `None` at the end.
    pub(crate) fn row(&self) -> Result<Option<(&[u8], &[u8])>, ReadError> {
        self.rows.status().map_err(|e| ReadError::of_table(self.table, e))?;
        Ok(self.rows.item())
    }
}
