//! Tags of mining pools: what the lists of sources know the coinbases of pools by.

use cairn_events::PoolTag;
use cairn_tables::{
    Table,
    claims::{ListKey, ListVersion},
    encode_key,
    pool_tags::{PoolTagKey, PoolTags},
};
use rocksdb::DBRawIteratorWithThreadMode;

use crate::{Db, ReadError, View};

/// Most lists whose tags are read.
pub const MOST_TAG_LISTS: usize = 64;
/// Most tags that are read, of all lists together.
pub const MOST_TAGS: usize = 20_000;

/// The tags of a list: those of its newest document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TagList {
    /// The list.
    pub list: ListKey,
    /// The document.
    pub version: ListVersion,
    /// Its tags, ascending by row.
    pub tags: Vec<PoolTag>,
}

/// The tags of all lists.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TagLists {
    /// By list, ascending by source and name.
    pub lists: Vec<TagList>,
    /// True if there are more than are read: more than [`MOST_TAG_LISTS`] lists, or [`MOST_TAGS`] tags.
    pub is_cut: bool,
}

impl View<'_> {
    /// The tags that hold now. Three row reads for each list, and one for each tag.
    ///
    /// # Errors
    /// The database cannot be read, or a row is damaged.
    pub fn pool_tags(&self) -> Result<TagLists, ReadError> {
        let mut walk = Walk { rows: self.raw_iterator::<PoolTags>()?, view: self };
        let (mut found, mut left) = (TagLists::default(), MOST_TAGS);
        let mut next = walk.seek(PoolTags::TAG.as_slice())?;
        while let Some(first) = next {
            if found.lists.len() == MOST_TAG_LISTS || left == 0 {
                found.is_cut = true;
                break;
            }
            let (list, is_cut) = walk.newest(first, left)?;
            left -= list.tags.len();
            found.is_cut |= is_cut;
            next = walk.seek(&encode_key::<PoolTags>(&last_of(&list.list)))?.filter(|key| key.list != list.list);
            found.lists.push(list);
        }
        Ok(found)
    }

    /// The tags of one list; `None` if it has no document.
    ///
    /// # Errors
    /// The database cannot be read, or a row is damaged.
    pub fn pool_tags_of(&self, list: &ListKey) -> Result<Option<TagList>, ReadError> {
        let mut walk = Walk { rows: self.raw_iterator::<PoolTags>()?, view: self };
        let before_all = ListVersion { retrieved_at: 0, document: [0; 8] };
        let first = PoolTagKey { list: list.clone(), version: before_all, row: 0 };
        let first = walk.seek(&encode_key::<PoolTags>(&first))?.filter(|key| key.list == *list);
        first.map(|first| Ok(walk.newest(first, MOST_TAGS)?.0)).transpose()
    }
}

/// After all rows of a list.
fn last_of(list: &ListKey) -> PoolTagKey {
    let version = ListVersion { retrieved_at: u32::MAX, document: [0xff; 8] };
    PoolTagKey { list: list.clone(), version, row: u32::MAX }
}

struct Walk<'w> {
    rows: DBRawIteratorWithThreadMode<'w, Db>,
    view: &'w View<'w>,
}

impl Walk<'_> {
    /// The key of the row that the iterator is at, if it is one of the table.
    fn here(&self) -> Result<Option<PoolTagKey>, ReadError> {
        self.view.count()?;
        self.rows.status().map_err(|e| ReadError::of_table(PoolTags::NAME, e))?;
        let key = self.rows.key().filter(|key| key.starts_with(PoolTags::TAG.as_slice()));
        Ok(key.map(PoolTags::decode_key).transpose()?)
    }

    fn seek(&mut self, key: &[u8]) -> Result<Option<PoolTagKey>, ReadError> {
        self.rows.seek(key);
        self.here()
    }

    /// The newest document of a list whose first row is `first`, with at most so many tags, and whether it has more.
    fn newest(&mut self, first: PoolTagKey, most: usize) -> Result<(TagList, bool), ReadError> {
        self.rows.seek_for_prev(encode_key::<PoolTags>(&last_of(&first.list)));
        let version = self.here()?.filter(|key| key.list == first.list).map_or(first.version, |key| key.version);
        let list = first.list;
        let from = PoolTagKey { list: list.clone(), version, row: 0 };
        let (mut tags, mut key) = (Vec::new(), self.seek(&encode_key::<PoolTags>(&from))?);
        while key.is_some_and(|key| (&key.list, key.version) == (&list, version)) {
            if tags.len() == most {
                return Ok((TagList { list, version, tags }, true));
            }
            let value = self.rows.value().unwrap_or_default();
            self.view.count_bytes(value)?;
            tags.push(PoolTags::decode_value(value)?);
            self.rows.next();
            key = self.here()?;
        }
        Ok((TagList { list, version, tags }, false))
    }
}
