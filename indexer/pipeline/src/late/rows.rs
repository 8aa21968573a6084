//! The rows of a late stage while it takes blocks.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
};

use cairn_reader::{ReadError, View};
use cairn_tables::{Family, Table, TableInfo, encode_key, encode_value};
use cairn_writer::Batch;

/// Rows by their whole keys: their bytes, or `None` for one that is gone. Late stages have their tables in the shared
/// family.
pub(crate) type Bytes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// Rows as they are in the index, and those that were made since.
pub(crate) struct LateRows<'v> {
    /// `None` for a fold from the first block on that writes nothing.
    view: Option<&'v View<'v>>,
    made: Bytes,
    /// Rows that were looked up in the view: most are looked up several times, to be read and to be replaced.
    found: RefCell<HashMap<Vec<u8>, Option<Vec<u8>>>>,
    /// Rows as they were before the block that is being taken.
    replaced: Bytes,
}

impl<'v> LateRows<'v> {
    /// Over the rows of a view.
    pub(crate) fn over(view: &'v View<'v>) -> Self {
        LateRows { view: Some(view), made: Bytes::new(), found: RefCell::default(), replaced: Bytes::new() }
    }

    /// Over none.
    pub(crate) fn empty() -> Self {
        LateRows { view: None, made: Bytes::new(), found: RefCell::default(), replaced: Bytes::new() }
    }

    fn bytes<T: Table>(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        match (self.made.get(key), self.view) {
            (Some(made), _) => Ok(made.clone()),
            (None, None) => Ok(None),
            (None, Some(view)) => {
                if let Some(found) = self.found.borrow().get(key) {
                    return Ok(found.clone());
                }
                let found = view.tables().row_bytes(&TableInfo::of::<T>(), &key[usize::from(T::TAG.is_some())..])?;
                self.found.borrow_mut().insert(key.to_vec(), found.clone());
                Ok(found)
            }
        }
    }

    /// A row.
    pub(super) fn get<T: Table>(&self, key: &T::Key) -> Result<Option<T::Value>, ReadError> {
        Ok(self.bytes::<T>(&encode_key::<T>(key))?.map(|bytes| T::decode_value(&bytes)).transpose()?)
    }

    /// Rows of the view from a key on, for a fold that begins.
    pub(super) fn stored<T: Table>(&self, from: &T::Key) -> Result<Vec<(T::Key, T::Value)>, ReadError> {
        self.view.map_or_else(|| Ok(Vec::new()), |view| view.scan::<T>(Some(from))?.collect())
    }

    pub(super) fn put<T: Table>(&mut self, key: &T::Key, value: &T::Value) -> Result<(), ReadError> {
        self.replace::<T>(key, Some(encode_value::<T>(value)))
    }

    /// Writes a row that is not there yet, which is not looked up.
    pub(super) fn insert<T: Table>(&mut self, key: &T::Key, value: &T::Value) {
        let key = encode_key::<T>(key);
        self.replaced.entry(key.clone()).or_insert(None);
        self.made.insert(key, Some(encode_value::<T>(value)));
    }

    /// Takes a row away.
    pub(super) fn delete<T: Table>(&mut self, key: &T::Key) -> Result<(), ReadError> {
        self.replace::<T>(key, None)
    }

    fn replace<T: Table>(&mut self, key: &T::Key, row: Option<Vec<u8>>) -> Result<(), ReadError> {
        debug_assert_eq!(T::FAMILY, Family::SHARED);
        let key = encode_key::<T>(key);
        if !self.replaced.contains_key(&key) {
            let before = self.bytes::<T>(&key)?;
            self.replaced.insert(key.clone(), before);
        }
        self.made.insert(key, row);
        Ok(())
    }

    /// Rows that were made or taken away.
    pub(crate) fn len(&self) -> usize {
        self.made.len()
    }

    /// A block ends: the rows that it replaced, as they were before.
    pub(crate) fn end_block(&mut self) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        let made = &self.made;
        let replaced = std::mem::take(&mut self.replaced).into_iter();
        // One that came and went within the block was never there.
        replaced.filter(|(key, before)| made.get(key) != Some(before)).collect()
    }

    /// Returns the rows that were made, and those that are gone.
    pub(crate) fn into_rows(self) -> Bytes {
        self.made
    }
}

pub(crate) fn put_all(batch: &mut Batch<'_>, rows: impl Iterator<Item = (Vec<u8>, Option<Vec<u8>>)>) {
    for (key, row) in rows {
        match row {
            Some(row) => batch.put(Family::SHARED, &key, &row),
            None => batch.delete(Family::SHARED, &key),
        }
    }
}
