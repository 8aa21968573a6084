//! Memory of reading the index: one number bounds all of it. The block cache takes the memory that is left by the open
//! table files outside the cache and by the chain in memory; both grow with the index.

use rocksdb::Cache;

use crate::{ChainIndex, Db, ReadError};

/// Memory of an open table file outside the cache: its reader, its entry in the list of files, names, statistics and
/// properties, buffers of the open file.
const FILE_BYTES: u64 = 12 << 10;
/// Part of the memory that blocks may take by their own size. The allocator rounds a block of 4 KiB and its header up
/// to 5 KiB, which the cache does not count.
const BLOCKS_SHARE: (u64, u64) = (4, 5);
/// Least memory for blocks: the lists of parts stay in it, and each request that runs holds some of its blocks.
const LEAST_BLOCKS: u64 = 4 << 20;

/// The memory that reading may take, and the cache that has the rest of it.
#[derive(Clone)]
pub struct ReadMemory {
    bytes: u64,
    cache: Cache,
    /// The setting that an operator would raise, and the bytes that are taken off it.
    setting: (&'static str, u64),
}

impl ReadMemory {
    /// A number of bytes.
    #[must_use]
    pub fn of(bytes: u64) -> Self {
        Self::within("--cache", bytes, 0)
    }

    /// The `bytes` of this setting, less `apart` for other work.
    #[must_use]
    pub fn within(setting: &'static str, bytes: u64, apart: u64) -> Self {
        let bytes = bytes.saturating_sub(apart);
        ReadMemory { bytes, cache: Cache::new_lru_cache(capacity(bytes)), setting: (setting, apart) }
    }

    /// The cache, for [`crate::family_options_within`].
    #[must_use]
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Gives the cache the memory that these bytes outside of it leave.
    ///
    /// # Errors
    /// Fails if they leave too little. The cache has the least size then.
    pub fn beside(&self, others: u64) -> Result<(), ReadError> {
        let left = self.bytes.saturating_sub(others);
        // The binding asks for a mutable handle; its clones are the same cache.
        self.cache.clone().set_capacity(capacity(left));
        if left >= LEAST_BLOCKS {
            return Ok(());
        }
        let (setting, apart) = self.setting;
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        Err(ReadError::Unusable(format!(
            "a read cache of {} MiB is too small for this index: its list of files and its list of blocks take {} MiB; \
             give at least {setting} {}M",
            self.bytes >> 20,
            mib(others),
            mib(others + 4 * LEAST_BLOCKS + apart)
        )))
    }
}

fn capacity(bytes: u64) -> usize {
    let (part, of) = BLOCKS_SHARE;
    usize::try_from(bytes.max(LEAST_BLOCKS) / of * part).unwrap_or(usize::MAX)
}

/// Memory of a handle's open table files outside the cache, from above. It is counted by files: RocksDB's own estimate
/// (`estimate-table-readers-mem`) opens files.
#[must_use]
pub fn files_memory(db: &Db) -> u64 {
    db.live_files().map_or(0, |files| files.len() as u64 * FILE_BYTES)
}

pub(crate) fn chain_memory(chain: &ChainIndex) -> u64 {
    u64::from(chain.len()) * size_of::<crate::Brief>() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_has_what_the_rest_leaves() {
        assert_eq!(capacity(100 << 20), 80 << 20);
        assert_eq!(capacity(0), capacity(LEAST_BLOCKS));
        let memory = ReadMemory::of(64 << 20);
        assert!(memory.beside(0).is_ok() && memory.beside(60 << 20).is_ok());
        let said = memory.beside(61 << 20).unwrap_err().to_string();
        assert!(said.contains("64 MiB is too small") && said.contains("take 61 MiB"), "{said}");
        assert!(said.contains("at least --cache 77M"), "{said}");
        assert!(ReadMemory::of(77 << 20).beside(61 << 20).is_ok());
    }
}
