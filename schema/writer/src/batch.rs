//! Rows that are written in one step.

use std::sync::Arc;

use cairn_tables::{Family, Table, encode_key, encode_value};
use rocksdb::{BoundColumnFamily, WriteBatch};

/// Rows to put and to delete, applied together by `Writer::commit`.
pub struct Batch<'w> {
    pub(crate) families: &'w [Arc<BoundColumnFamily<'w>>],
    pub(crate) batch: WriteBatch,
}

impl Batch<'_> {
    /// Puts a row.
    pub fn put(&mut self, family: Family, key: &[u8], value: &[u8]) {
        self.batch.put_cf(&self.families[family.index()], key, value);
    }

    /// Deletes a row.
    pub fn delete(&mut self, family: Family, key: &[u8]) {
        self.batch.delete_cf(&self.families[family.index()], key);
    }

    /// Puts a typed row.
    pub fn put_row<T: Table>(&mut self, key: &T::Key, value: &T::Value) {
        self.put(T::FAMILY, &encode_key::<T>(key), &encode_value::<T>(value));
    }

    /// Deletes a typed row.
    pub fn delete_row<T: Table>(&mut self, key: &T::Key) {
        self.delete(T::FAMILY, &encode_key::<T>(key));
    }

    /// Deletes all rows from one key to another, both included. Later reads skip them at once; they would skip rows
    /// that are deleted one by one only one by one.
    pub fn delete_range<T: Table>(&mut self, first: &T::Key, last: &T::Key) {
        // The end is not part of the range: the next key that there can be.
        let end = [encode_key::<T>(last), vec![0]].concat();
        self.batch.delete_range_cf(&self.families[T::FAMILY.index()], encode_key::<T>(first), end);
    }

    /// Deletes all rows whose keys begin so, as [`Batch::delete_range`]. The last byte must not be 255.
    pub fn delete_beginning<T: Table>(&mut self, begin: &[u8]) {
        let from: Vec<u8> = T::TAG.into_iter().chain(begin.iter().copied()).collect();
        let mut end = from.clone();
        if let Some(last) = end.last_mut() {
            *last = last.saturating_add(1);
            self.batch.delete_range_cf(&self.families[T::FAMILY.index()], from, end);
        }
    }

    /// Bytes of the batch.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        self.batch.size_in_bytes()
    }
}
