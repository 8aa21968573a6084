//! Lists that documents replace as a whole: tags of mining pools, and profiles of entities.

use std::marker::PhantomData;

use cairn_tables::{
    claims::{ListKey, ListVersion},
    encode_key,
    listings::{ListingKey, ListingTable},
};
use rocksdb::DBRawIteratorWithThreadMode;

use crate::{Db, ReadError, View, subjects::LedgerView};

/// Most lists of a table that are read.
pub const MAX_LISTINGS: usize = 64;
/// Most rows of a table that are read, of all lists together.
pub const MAX_LISTED: usize = 20_000;

/// The rows of a list: those of its newest document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListOf<R> {
    /// The list.
    pub list: ListKey,
    /// The document.
    pub version: ListVersion,
    /// Its rows, ascending.
    pub rows: Vec<R>,
}

/// The rows of all lists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListsOf<R> {
    /// Rows by list, ascending by source and name.
    pub lists: Vec<ListOf<R>>,
    /// True if there are more than are read: more than [`MAX_LISTINGS`] lists, or [`MAX_LISTED`] rows.
    pub is_cut: bool,
}

impl LedgerView<'_> {
    /// The rows that hold now. Three row reads for each list, and one for each row.
    pub fn listings<T: ListingTable>(self) -> Result<ListsOf<T::Value>, ReadError> {
        let mut walk = Walk::<T>::of(self.view)?;
        let (mut found, mut left) = (ListsOf { lists: Vec::new(), is_cut: false }, MAX_LISTED);
        let mut next = walk.seek(T::TAG.as_slice())?;
        while let Some(first) = next {
            if found.lists.len() == MAX_LISTINGS || left == 0 {
                found.is_cut = true;
                break;
            }
            let (list, is_cut) = walk.newest(first, left)?;
            left -= list.rows.len();
            found.is_cut |= is_cut;
            next = walk.seek(&encode_key::<T>(&last_of(&list.list)))?.filter(|key| key.list != list.list);
            found.lists.push(list);
        }
        Ok(found)
    }

    /// The rows of one list; `None` if it has no document.
    pub fn listing<T: ListingTable>(self, list: &ListKey) -> Result<Option<ListOf<T::Value>>, ReadError> {
        let mut walk = Walk::<T>::of(self.view)?;
        let before_all = ListVersion { retrieved_at: 0, document: [0; 8] };
        let first = ListingKey { list: list.clone(), version: before_all, row: 0 };
        let first = walk.seek(&encode_key::<T>(&first))?.filter(|key| key.list == *list);
        first.map(|first| Ok(walk.newest(first, MAX_LISTED)?.0)).transpose()
    }
}

/// The key after all rows of a list.
fn last_of(list: &ListKey) -> ListingKey {
    let version = ListVersion { retrieved_at: u32::MAX, document: [0xff; 8] };
    ListingKey { list: list.clone(), version, row: u32::MAX }
}

struct Walk<'w, T> {
    rows: DBRawIteratorWithThreadMode<'w, Db>,
    view: &'w View<'w>,
    table: PhantomData<T>,
}

impl<'w, T: ListingTable> Walk<'w, T> {
    fn of(view: &'w View<'w>) -> Result<Self, ReadError> {
        Ok(Walk { rows: view.raw_iterator::<T>()?, view, table: PhantomData })
    }

    /// The key of the row that the iterator is at, if it is one of the table.
    fn here(&self) -> Result<Option<ListingKey>, ReadError> {
        self.view.count(T::NAME)?;
        self.rows.status().map_err(|e| ReadError::of_table(T::NAME, e))?;
        let key = self.rows.key().filter(|key| key.starts_with(T::TAG.as_slice()));
        Ok(key.map(T::decode_key).transpose()?)
    }

    fn seek(&mut self, key: &[u8]) -> Result<Option<ListingKey>, ReadError> {
        self.rows.seek(key);
        self.here()
    }

    /// The newest document of a list whose first row is `first`, with at most `most` rows, and whether it has more.
    fn newest(&mut self, first: ListingKey, most: usize) -> Result<(ListOf<T::Value>, bool), ReadError> {
        self.rows.seek_for_prev(encode_key::<T>(&last_of(&first.list)));
        let version = self.here()?.filter(|key| key.list == first.list).map_or(first.version, |key| key.version);
        let list = first.list;
        let from = ListingKey { list: list.clone(), version, row: 0 };
        let (mut rows, mut key) = (Vec::new(), self.seek(&encode_key::<T>(&from))?);
        while key.is_some_and(|key| (&key.list, key.version) == (&list, version)) {
            if rows.len() == most {
                return Ok((ListOf { list, version, rows }, true));
            }
            let value = self.rows.value().unwrap_or_default();
            self.view.count_bytes(value)?;
            rows.push(T::decode_value(value)?);
            self.rows.next();
            key = self.here()?;
        }
        Ok((ListOf { list, version, rows }, false))
    }
}
