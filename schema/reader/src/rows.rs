//! Tables as rows of bytes, for checksums, statistics and single rows.

use cairn_tables::{TABLES, Table, TableInfo, encode_value, headers::Headers};
use sha2::{Digest, Sha256};

use crate::{ReadError, Reader, subjects::TableView};

/// Read-ahead of a table scan in bytes.
const READ_AHEAD: usize = 2 << 20;

/// Checksum of the logical rows of a table: equal rows give equal checksums, however they were built. The positions of
/// blocks in files are left out: they differ between two folders of one chain, and a node has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableSum {
    /// Number of rows.
    pub rows: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
    /// SHA-256 over all rows in order: length of the key (4 bytes, little-endian), key, length of the value (likewise),
    /// value. Keys are without the tag of a shared family.
    pub sha256: [u8; 32],
}

/// How large a table is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableSize {
    /// Number of rows.
    pub rows: u64,
    /// Compressed bytes on disk; for a table in a shared family, bytes of its keys and values.
    pub bytes: u64,
    /// True if the rows were counted; false for the database's estimate.
    pub counted: bool,
}

impl TableView<'_> {
    /// Scans the rows of a table in ascending key order; keys are without the tag of a shared family. Not counted in
    /// [`crate::View::rows_read`].
    pub fn rows(self, table: &TableInfo, mut row: impl FnMut(&[u8], &[u8])) -> Result<(), ReadError> {
        self.rows_while(table, |key, value| {
            row(key, value);
            true
        })
    }

    /// As [`TableView::rows`], as long as `row` says so.
    pub fn rows_while(self, table: &TableInfo, mut row: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), ReadError> {
        let mut options = self.view.read_options();
        options.set_total_order_seek(true);
        options.set_readahead_size(READ_AHEAD);
        // One walk must not push out blocks that requests need often.
        options.fill_cache(false);
        let mut iter = self.view.db.raw_iterator_cf_opt(self.view.family(table.family)?, options);
        iter.seek(table.tag.as_slice());
        while let Some((key, value)) = iter.item() {
            let key = match table.tag {
                None => key,
                Some(tag) => match key.split_first() {
                    Some((first, rest)) if *first == tag => rest,
                    _ => break,
                },
            };
            if !row(key, value) {
                break;
            }
            iter.next();
        }
        iter.status().map_err(|e| ReadError::of_table(table.name, e))
    }

    /// The value of a row, given its key without the tag of a shared family.
    pub fn row_bytes(self, table: &TableInfo, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        let key: Vec<u8> = table.tag.iter().chain(key).copied().collect();
        let found = self.view.db.get_cf_opt(self.view.family(table.family)?, key, &self.view.read_options());
        found.map_err(|e| ReadError::of_table(table.name, e))
    }

    /// The checksum of a table. Reads all of it.
    pub fn checksum(self, table: &TableInfo) -> Result<TableSum, ReadError> {
        let (mut rows, mut bytes, mut hash) = (0, 0, Sha256::new());
        let has_positions = table.name == Headers::NAME;
        self.rows(table, |key, value| {
            // A damaged row is summed as it is.
            let plain = has_positions.then(|| Headers::decode_value(value).ok()).flatten();
            let plain = plain.map(|row| encode_value::<Headers>(&row.without_position()));
            let value = plain.as_deref().unwrap_or(value);
            rows += 1;
            bytes += (key.len() + value.len()) as u64;
            for part in [key, value] {
                hash.update((part.len() as u32).to_le_bytes());
                hash.update(part);
            }
        })?;
        Ok(TableSum { rows, bytes, sha256: hash.finalize().into() })
    }

    /// The checksums of all tables that stages own. Other tables may differ between two indexes of one chain: versions,
    /// the folder of block files, observations.
    pub fn checksums(self) -> Result<Vec<(&'static str, TableSum)>, ReadError> {
        Self::summed().map(|table| Ok((table.name, self.checksum(table)?))).collect()
    }

    /// The tables of [`TableView::checksums`].
    pub fn summed() -> impl Iterator<Item = &'static TableInfo> {
        TABLES.iter().filter(|table| table.is_summed())
    }
}

impl Reader {
    /// Size of a table: from the database's statistics if the table has its own family, otherwise by a scan of its rows
    /// (shared families have small tables).
    pub fn table_size(&self, table: &TableInfo) -> Result<TableSize, ReadError> {
        if table.tag.is_some() {
            let (mut rows, mut bytes) = (0, 0);
            self.view()?.tables().rows(table, |key, value| {
                rows += 1;
                bytes += (key.len() + value.len()) as u64;
            })?;
            return Ok(TableSize { rows, bytes, counted: true });
        }
        let family = match self.db.cf_handle(table.family.name()) {
            Some(family) => family,
            // An index that was made before the table had a place has no row of it.
            None if table.family.is_writers_own() => return Ok(TableSize { rows: 0, bytes: 0, counted: true }),
            None => {
                let missing = format!("the index has no table family {}", table.family.name());
                return Err(ReadError::Unusable(missing));
            }
        };
        let number = |name: &str| -> Result<u64, ReadError> {
            Ok(self.db.property_int_value_cf(&family, name)?.unwrap_or_default())
        };
        let bytes = number("rocksdb.total-sst-files-size")?;
        Ok(TableSize { rows: number("rocksdb.estimate-num-keys")?, bytes, counted: false })
    }
}
