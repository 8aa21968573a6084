//! The database handle, the options that reader and writer share, and opening an index that a writer is changing.

use std::{path::Path, time::Duration};

use cairn_tables::{Compression, Family};
use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, DBCompressionType, DBWithThreadMode, InfoLogger, LogLevel,
    MultiThreaded, Options, SliceTransform,
};

/// The database handle.
pub type Db = DBWithThreadMode<MultiThreaded>;

/// Options of the database as a whole.
#[must_use]
pub fn db_options() -> Options {
    let mut options = Options::default();
    // Families written by one commit become durable together or not at all.
    options.set_atomic_flush(true);
    options.set_max_open_files(-1);
    options.set_keep_log_file_num(4);
    options.set_max_log_file_size(16 << 20);
    options
}

/// The same, of an instance that follows a writer. RocksDB starts new threads that open files for each family whenever
/// such an instance catches up, which happens every second: with its default of 16, that is some 250 threads a second.
/// Without them, files are opened by the thread that catches up.
pub(crate) fn secondary_options() -> Options {
    let mut options = db_options();
    options.set_max_file_opening_threads(1);
    options
}

/// Options of a family, after its tuning.
#[must_use]
pub fn family_options(family: Family) -> Options {
    family_options_within(family, None)
}

/// Uncompressed bytes of a part of a table file's index or filter. RocksDB ends a part with the key that passes this,
/// so that none has twice as many.
const PART_BYTES: usize = 4 << 10;

/// Options of a family. With a cache, which families and handles share, everything that is read goes through it, also
/// the parts of the table files' indexes and filters: the memory for them does not grow with the index. Only the list
/// of a file's parts (some 30 bytes for each) stays in the cache for good. Without that list each row would cost reads
/// of a whole index and a whole filter, which have megabytes in a large file.
#[must_use]
pub fn family_options_within(family: Family, cache: Option<&Cache>) -> Options {
    let tuning = family.tuning();
    let mut table = BlockBasedOptions::default();
    table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    table.set_partition_filters(true);
    table.set_metadata_block_size(PART_BYTES);
    if let Some(cache) = cache {
        table.set_block_cache(cache);
        table.set_cache_index_and_filter_blocks(true);
        table.set_pin_top_level_index_and_filter(true);
    }
    table.set_block_size(tuning.block_size);
    table.set_format_version(5);
    if tuning.filter_bits > 0 {
        table.set_bloom_filter(f64::from(tuning.filter_bits), false);
    }
    let mut options = Options::default();
    if tuning.filter_prefix > 0 {
        table.set_whole_key_filtering(false);
        options.set_prefix_extractor(SliceTransform::create_fixed_prefix(tuning.filter_prefix));
    }
    options.set_block_based_table_factory(&table);
    options.set_compression_type(match tuning.compression {
        Compression::None => DBCompressionType::None,
        Compression::Lz4 => DBCompressionType::Lz4,
    });
    options
}

pub(crate) fn readers_families() -> Vec<Family> {
    Family::ALL.into_iter().filter(|f| !f.is_writers_own()).collect()
}

pub(crate) fn read_only(dir: &Path, families: &[Family], cache: Option<&Cache>) -> Result<Db, rocksdb::Error> {
    read_only_with(&db_options(), dir, families, cache)
}

fn read_only_with(
    options: &Options,
    dir: &Path,
    families: &[Family],
    cache: Option<&Cache>,
) -> Result<Db, rocksdb::Error> {
    let options_of = |family: Family| family_options_within(family, cache);
    let families = families.iter().map(|f| rocksdb::ColumnFamilyDescriptor::new(f.name(), options_of(*f)));
    Db::open_cf_descriptors_read_only(options, dir, families, false)
}

/// Opens all existing families, only to copy the files: few of these are opened.
pub(crate) fn all_read_only(dir: &Path) -> Result<Db, rocksdb::Error> {
    let mut options = db_options();
    options.set_max_open_files(LISTED_OPEN);
    options.set_info_logger(InfoLogger::new_callback_logger(LogLevel::Fatal, |_, _| {}));
    let there = Db::list_cf(&options, dir)?;
    let families: Vec<Family> = Family::ALL.into_iter().filter(|f| there.iter().any(|name| name == f.name())).collect();
    read_only_with(&options, dir, &families, None)
}

/// Options of a database that opens although table files are damaged or missing: only reads of such a file fail.
#[must_use]
pub fn damaged_db_options() -> Options {
    let mut options = db_options();
    options.set_paranoid_checks(false);
    options
}

/// As [`read_only`], although table files may be damaged.
pub(crate) fn read_only_damaged(dir: &Path, families: &[Family], cache: Option<&Cache>) -> Result<Db, rocksdb::Error> {
    read_only_with(&damaged_db_options(), dir, families, cache)
}

/// As [`read_only_damaged`], only to list the files: few of them are opened.
pub(crate) fn list_only(dir: &Path, families: &[Family]) -> Result<Db, rocksdb::Error> {
    let mut options = damaged_db_options();
    options.set_max_open_files(LISTED_OPEN);
    // It happens often: a log in the folder would push out those of the writer.
    options.set_info_logger(InfoLogger::new_callback_logger(LogLevel::Fatal, |_, _| {}));
    read_only_with(&options, dir, families, None)
}

/// Files that a list of files keeps open.
const LISTED_OPEN: i32 = 64;

/// Attempts to open an index that a writer is changing.
const OPENINGS: u32 = 40;
/// Pause before the second try; grows up to [`LONGEST_PAUSE`].
const PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(160);

/// Identifies the state of the list of files: name and length of the current manifest.
fn files_mark(dir: &Path) -> Option<(Vec<u8>, u64)> {
    let current = std::fs::read(dir.join("CURRENT")).ok()?;
    let name = std::str::from_utf8(&current).ok()?.trim();
    let length = std::fs::metadata(dir.join(name)).ok()?.len();
    Some((current, length))
}

/// Opens an index that a writer may be changing. Between reading the list of files and opening them, a compaction can
/// remove a file, which RocksDB reports as corruption. It is treated as corruption only if it occurs twice with an
/// unchanged list.
pub(crate) fn while_written<T>(
    dir: &Path,
    mut open: impl FnMut() -> Result<T, rocksdb::Error>,
) -> Result<T, rocksdb::Error> {
    let (mut before, mut pause) = (files_mark(dir), PAUSE);
    let mut said = None;
    for _ in 1..OPENINGS {
        let error = match open() {
            Ok(opened) => return Ok(opened),
            Err(error) => error.to_string(),
        };
        let now = files_mark(dir);
        if now == before && said.as_ref() == Some(&error) {
            break;
        }
        (before, said) = (now, Some(error));
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    open()
}
