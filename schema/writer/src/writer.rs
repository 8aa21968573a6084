//! The write handle of the index.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use cairn_reader::{
    Db, DroppingFamily, Facts, ReadError, ReadMemory, ReadersPaused, bad_files, check_format, check_format_in,
    damaged_db_options, db_options, family_options_within, files_memory, last_seq_of,
};
use cairn_tables::{
    Family, Table, TableInfo,
    checkpoints::{Checkpoint, Checkpoints},
    encode_key,
    events::Events,
    facts::Facts as FactsTable,
    format::{FORMAT, Format, FormatVersion},
};
use parking_lot::Mutex;
use rocksdb::{
    BottommostLevelCompaction, BoundColumnFamily, ColumnFamilyDescriptor, CompactOptions, DBPinnableSlice,
    FlushOptions, IngestExternalFileOptions, ReadOptions, WriteBatch, WriteOptions,
};

use crate::{
    Batch, WriteError,
    merging::{self, LOOK_EACH, Piece},
};

/// Default memory of the database in bytes: 512 MiB for its cache, 256 MiB for rows that are written but not flushed.
const DEFAULT_MEMORY: u64 = 768 << 20;
/// Read-ahead of a table scan in bytes.
const READ_AHEAD: usize = 2 << 20;

/// Beyond this size, and several times the size of a list of all files, a new manifest is begun. Every opening of the
/// index reads it from its start, and each commit adds some kilobytes.
const MANIFEST_BYTES: usize = 4 << 20;

/// How long files that compactions have replaced are kept. A reader in another process reads the list of files and then
/// opens them, which takes longer than the interval of commits. No file may disappear in that time.
const KEEP_FILES: Duration = Duration::from_secs(10);

/// How long the end of a writer waits for readers that open files.
const READERS_TAKE: Duration = Duration::from_secs(2);

/// The property of the database that says since when the oldest read in progress reads; 0 if there is none.
const OLDEST_READ: &str = "rocksdb.oldest-snapshot-sequence";

/// The index, open for writing. Only one process can have it.
pub struct Writer {
    db: Arc<Db>,
    dir: PathBuf,
    /// Since when replaced files are kept; `None`: they are not.
    kept_since: Mutex<Option<Instant>>,
    /// Memory for reading, which its families share.
    memory: ReadMemory,
    /// Bytes of it that others take.
    taken: AtomicU64,
    /// Commits since it was opened. `None`: it merges nothing.
    commits: Option<AtomicU32>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A writer that repairs a damaged index removes nothing that the repair needs.
        if self.commits.is_some() {
            self.remove_files_at_the_end();
        }
    }
}

impl Writer {
    /// Opens the index in `dir`, or creates an empty one.
    pub fn open(dir: &Path) -> Result<Self, WriteError> {
        Self::open_within(dir, DEFAULT_MEMORY)
    }

    /// As [`Writer::open`], with a memory limit of the database in bytes: a third for rows that are written but not
    /// flushed, the rest for its cache.
    pub fn open_within(dir: &Path, memory: u64) -> Result<Self, WriteError> {
        Self::open_serving(dir, memory, 0)
    }

    /// As [`Writer::open_within`], with `cache` bytes more for reading, because requests read through this handle.
    pub fn open_serving(dir: &Path, memory: u64, cache: u64) -> Result<Self, WriteError> {
        let writer = Self::open_with(dir, memory, cache, false)?;
        writer.note_format()?;
        Ok(writer)
    }

    /// As [`Writer::open_within`], although table files may be damaged or missing: reads of such a file fail. Nothing
    /// is compacted. For repairs.
    ///
    /// # Errors
    /// Fails as [`Writer::open`] does, and if the damage is in the list of files.
    pub fn open_damaged(dir: &Path, memory: u64) -> Result<Self, WriteError> {
        Self::open_with(dir, memory, 0, true)
    }

    fn open_with(dir: &Path, memory: u64, cache: u64, damaged: bool) -> Result<Self, WriteError> {
        std::fs::create_dir_all(dir).map_err(WriteError::io(dir))?;
        // RocksDB would take it for a new database and remove the files of the old one.
        let has_tables = || {
            let mut files = std::fs::read_dir(dir).into_iter().flatten().flatten();
            files.any(|file| file.path().extension().is_some_and(|e| e == "sst"))
        };
        if !dir.join("CURRENT").exists() && has_tables() {
            let what = format!("{}: the file CURRENT is missing: run `cairn repair`", dir.display());
            return Err(ReadError::Broken(what).into());
        }
        // Opening makes families that are missing: nothing is changed in an index of a newer format.
        match check_format_in(dir) {
            // Damaged rows are reported, or repaired, later.
            Err(error) if !error.is_damage() => return Err(error.into()),
            _ => {}
        }
        DroppingFamily::prepare(dir).map_err(WriteError::of_file)?;
        let mut options = if damaged { damaged_db_options() } else { db_options() };
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        options.set_db_write_buffer_size(usize::try_from(memory / 3).unwrap_or(usize::MAX));
        let memory = ReadMemory::of(memory - memory / 3 + cache);
        options.set_max_background_jobs(2);
        options.set_max_manifest_file_size(MANIFEST_BYTES);
        let families = Family::ALL.map(|f| {
            let mut options = family_options_within(f, Some(memory.cache()));
            // A compaction would stop at the damage, and try again and again.
            options.set_disable_auto_compactions(damaged);
            ColumnFamilyDescriptor::new(f.name(), options)
        });
        let db = rocksdb::DBWithThreadMode::open_cf_descriptors(&options, dir, families).map_err(|e| {
            let text = e.to_string();
            if text.contains("/LOCK") || text.contains("lock hold by current process") {
                WriteError::Locked(dir.to_owned())
            } else if let Some((_, names)) = text.split_once("Column families not opened: ") {
                ReadError::NewerTables(names.to_owned()).into()
            } else {
                match WriteError::from(e) {
                    error if error.is_damage() && !damaged => bad_files(dir).map_or(error, WriteError::from),
                    error => error,
                }
            }
        })?;
        let commits = (!damaged).then(AtomicU32::default);
        let (kept_since, taken) = (Mutex::default(), AtomicU64::new(0));
        let writer = Writer { db: Arc::new(db), dir: dir.to_owned(), kept_since, memory, taken, commits };
        writer.share_memory();
        Ok(writer)
    }

    /// Leaves `bytes` of its memory to others until the next call: the cache has that much less.
    pub fn leave(&self, bytes: u64) {
        self.taken.store(bytes, Ordering::Relaxed);
        self.share_memory();
    }

    /// Gives the cache the memory that open files and others leave. If that is too little, writing needs hardly any
    /// cache.
    fn share_memory(&self) {
        let _ = self.memory.beside(files_memory(&self.db) + self.taken.load(Ordering::Relaxed));
    }

    /// Adds the format row to an index that is older than this row. A new index gets it with its facts.
    fn note_format(&self) -> Result<(), WriteError> {
        if check_format(&self.db)?.is_some() || self.is_clear(&TableInfo::of::<FactsTable>())? {
            return Ok(());
        }
        self.commit::<WriteError>(|batch| {
            batch.put_row::<Format>(&(), &FormatVersion::FIRST);
            Ok(())
        })?;
        self.flush()
    }

    /// The handle, for a reader in the same process.
    #[must_use]
    pub fn db(&self) -> &Arc<Db> {
        &self.db
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn handle(&self, family: Family) -> Result<Arc<BoundColumnFamily<'_>>, WriteError> {
        let missing = || ReadError::Unusable(format!("the index has no column family {}", family.name()));
        self.db.cf_handle(family.name()).ok_or_else(|| missing().into())
    }

    fn families(&self) -> Result<Vec<Arc<BoundColumnFamily<'_>>>, WriteError> {
        Family::ALL
            .into_iter()
            .map(|f| {
                let missing =
                    || cairn_reader::ReadError::Unusable(format!("the index has no column family {}", f.name()));
                self.db.cf_handle(f.name()).ok_or_else(|| missing().into())
            })
            .collect()
    }

    /// Builds a batch with `fill` and writes it in one step: visible at once, durable with the next [`Writer::flush`].
    pub fn commit<E: From<WriteError>>(&self, fill: impl FnOnce(&mut Batch<'_>) -> Result<(), E>) -> Result<(), E> {
        let families = self.families()?;
        let mut batch = Batch { families: &families, batch: WriteBatch::default() };
        fill(&mut batch)?;
        let mut options = WriteOptions::default();
        options.disable_wal(true);
        self.db.write_opt(batch.batch, &options).map_err(WriteError::from)?;
        Ok(())
    }

    /// Makes all written rows durable, atomically over all families.
    ///
    /// # Errors
    /// Fails if the disk fails; earlier flushes stay durable.
    pub fn flush(&self) -> Result<(), WriteError> {
        let families = self.families()?;
        let mut options = FlushOptions::default();
        options.set_wait(true);
        self.db.flush_cfs_opt(&families.iter().collect::<Vec<_>>(), &options)?;
        self.keep_files()?;
        self.merge_small_files()?;
        self.share_memory();
        Ok(())
    }

    /// Keeps files that are replaced from now on for [`KEEP_FILES`].
    fn keep_files(&self) -> Result<(), WriteError> {
        let mut since = self.kept_since.lock();
        match *since {
            Some(at) if at.elapsed() < KEEP_FILES => return Ok(()),
            Some(_) => self.db.enable_file_deletions()?,
            None => {}
        }
        self.db.disable_file_deletions()?;
        *since = Some(Instant::now());
        Ok(())
    }

    /// Merges the small files that commits have left: with the first commit, since a program may end after a few, and
    /// then now and then.
    fn merge_small_files(&self) -> Result<(), WriteError> {
        let is_time = |commits: &AtomicU32| commits.fetch_add(1, Ordering::Relaxed).is_multiple_of(LOOK_EACH);
        if !self.commits.as_ref().is_some_and(is_time) {
            return Ok(());
        }
        let mut by_family: HashMap<String, Vec<Piece>> = HashMap::new();
        for file in self.db.live_files()? {
            let (Some(first), Some(last)) = (file.start_key, file.end_key) else { continue };
            let piece = Piece { level: file.level, bytes: file.size as u64, first, last };
            by_family.entry(file.column_family_name).or_default().push(piece);
        }
        let mut options = CompactOptions::default();
        // Rows of the lowest level are rewritten only if asked for.
        options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        options.set_exclusive_manual_compaction(false);
        for (name, files) in &by_family {
            let (Some(family), Some((first, last))) = (self.db.cf_handle(name), merging::range(files)) else {
                continue;
            };
            self.db.compact_range_cf_opt(&family, Some(first), Some(last), &options);
        }
        Ok(())
    }

    /// Rewrites a table without its deleted rows. Rows that a read in progress still sees stay until a later time.
    ///
    /// Until then every scan steps over each deleted row, and RocksDB itself merges only where levels grow.
    pub fn merge(&self, table: &TableInfo) -> Result<(), WriteError> {
        let mut options = CompactOptions::default();
        // Deleted rows of the lowest level go only if asked for; files that this call has just written stay as they
        // are.
        options.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
        options.set_exclusive_manual_compaction(false);
        let (from, to) = (table.tag.map(|tag| [tag]), table.tag.map(|tag| [tag + 1]));
        self.db.compact_range_cf_opt(&self.handle(table.family)?, from, to, &options);
        Ok(())
    }

    /// Waits until no read in progress sees less than all that is written now; false if one still does after `limit`.
    pub fn wait_for_reads(&self, limit: Duration) -> Result<bool, WriteError> {
        let (now, until) = (self.db.latest_sequence_number(), Instant::now() + limit);
        loop {
            let oldest = self.db.property_int_value(OLDEST_READ)?.unwrap_or_default();
            if oldest == 0 || oldest >= now {
                return Ok(true);
            }
            if Instant::now() >= until {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Removes replaced files now, since bulk work leaves large ones.
    fn remove_files(&self) -> Result<(), WriteError> {
        let mut since = self.kept_since.lock();
        if since.take().is_some() {
            self.db.enable_file_deletions()?;
        }
        Ok(())
    }

    /// Removes table files that are in use no more: those that compactions have replaced, and those of compactions that
    /// the end of the process stops. Readers in other processes keep the files that they have open; while one opens
    /// files, none is removed, and if that takes long, the next writer does it.
    fn remove_files_at_the_end(&self) {
        let Ok(Some(_paused)) = ReadersPaused::begin(&self.dir, READERS_TAKE) else { return };
        // Also flushes written rows.
        self.db.cancel_all_background_work(true);
        let mut since = self.kept_since.lock();
        // The next writer removes files that cannot be removed now.
        if since.take().is_none() {
            let _ = self.db.disable_file_deletions();
        }
        // Looks for all files in the folder.
        let _ = self.db.enable_file_deletions();
    }

    /// Ingests table files into a family; they are moved, not copied. Atomic for the family.
    pub fn ingest(&self, family: Family, files: Vec<PathBuf>) -> Result<(), WriteError> {
        if files.is_empty() {
            return Ok(());
        }
        let families = self.families()?;
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(true);
        self.remove_files()?;
        self.db.ingest_external_file_cf_opts(&families[family.index()], &options, files)?;
        self.share_memory();
        Ok(())
    }

    /// Removes all rows of a table: the whole family if the table has its own, otherwise the range of its tag.
    pub fn clear(&self, table: &TableInfo) -> Result<(), WriteError> {
        match self.is_clear(table) {
            Ok(true) => return Ok(()),
            // A table that cannot be read is not empty.
            Err(error) if !error.is_damage() => return Err(error),
            _ => {}
        }
        match table.tag {
            None => self.make_anew(table.family),
            Some(tag) => {
                let families = self.families()?;
                let mut batch = WriteBatch::default();
                batch.delete_range_cf(&families[table.family.index()], &[tag][..], &[tag + 1][..]);
                let mut options = WriteOptions::default();
                options.disable_wal(true);
                self.db.write_opt(batch, &options)?;
                self.flush()
            }
        }
    }

    /// Drops a family with all its rows, readable or not, and recreates it.
    pub fn make_anew(&self, family: Family) -> Result<(), WriteError> {
        // Readers do not open a writer's own family.
        let dropping = (!family.is_writers_own()).then(|| DroppingFamily::begin(&self.dir)).transpose();
        let dropping = dropping.map_err(WriteError::of_file)?;
        let options = family_options_within(family, Some(self.memory.cache()));
        let made = self.db.drop_cf(family.name()).and_then(|()| self.db.create_cf(family.name(), &options));
        dropping.map_or(Ok(()), DroppingFamily::finish).map_err(WriteError::of_file)?;
        made?;
        self.remove_files()
    }

    fn is_clear(&self, table: &TableInfo) -> Result<bool, WriteError> {
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        let mut rows = self.db.raw_iterator_cf_opt(&self.families()?[table.family.index()], options);
        rows.seek(table.tag.as_slice());
        let found = rows.key().is_some_and(|key| table.tag.is_none_or(|tag| key.first() == Some(&tag)));
        rows.status()?;
        Ok(!found)
    }

    /// Writes the facts of a new index.
    pub fn put_facts(&self, facts: &Facts) -> Result<(), WriteError> {
        self.commit::<WriteError>(|batch| {
            batch.put_row::<Format>(&(), &FORMAT);
            facts.rows().iter().for_each(|(name, fact)| batch.put_row::<FactsTable>(name, fact));
            Ok(())
        })?;
        self.flush()
    }

    /// The facts, if it has any.
    pub fn facts(&self) -> Result<Option<Facts>, WriteError> {
        Ok(Facts::read(&self.db)?)
    }

    /// One row's value.
    pub fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, WriteError> {
        let handle = self.handle(family)?;
        Ok(self.db.get_cf(&handle, key).map_err(|e| ReadError::of_table(family.name(), e))?)
    }

    /// The values of many rows, in one look-up, in the order of the ascending keys.
    pub fn get_many<'k>(
        &self,
        family: Family,
        keys: impl IntoIterator<Item = &'k [u8], IntoIter: ExactSizeIterator>,
    ) -> Result<Vec<Option<DBPinnableSlice<'_>>>, WriteError> {
        let handle = self.handle(family)?;
        let values = self.db.batched_multi_get_cf(&handle, keys, true);
        let found = values.into_iter().map(|value| value.map_err(|e| ReadError::of_table(family.name(), e)));
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// Sequence number of the newest input event of the ledger; 0 if there is none.
    pub fn last_event(&self) -> Result<u64, WriteError> {
        let mut rows = self.db.raw_iterator_cf(&self.handle(Events::FAMILY)?);
        rows.seek_to_last();
        rows.status().map_err(|e| ReadError::of_table(Events::NAME, e))?;
        let Some((key, value)) = rows.item() else { return Ok(0) };
        let decoded = Events::decode_key(key).and_then(|seq| Ok((seq, Events::decode_value(value)?)));
        let (seq, row) = decoded.map_err(ReadError::from)?;
        Ok(last_seq_of(seq, &row))
    }

    /// Scans all rows of a table in ascending key order: all written rows, flushed or not, even if the index has no
    /// tip. `row` gets the bytes of the key (with its tag) and of the value.
    ///
    /// # Errors
    /// Fails if the database cannot be read; rows before the failure were passed on.
    pub fn rows<T: Table>(&self, mut row: impl FnMut(&[u8], &[u8])) -> Result<(), WriteError> {
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        options.set_readahead_size(READ_AHEAD);
        options.fill_cache(false);
        let mut rows = self.db.raw_iterator_cf_opt(&self.families()?[T::FAMILY.index()], options);
        rows.seek(T::TAG.as_slice());
        while let Some((key, value)) = rows.item() {
            if T::TAG.is_some_and(|tag| key.first() != Some(&tag)) {
                break;
            }
            row(key, value);
            rows.next();
        }
        Ok(rows.status()?)
    }

    /// A stage's checkpoint.
    pub fn checkpoint(&self, stage: &str) -> Result<Option<Checkpoint>, WriteError> {
        let bytes = self.get(Checkpoints::FAMILY, &encode_key::<Checkpoints>(&stage.to_owned()))?;
        let row = bytes.map(|b| Checkpoints::decode_value(&b)).transpose();
        Ok(row.map_err(cairn_reader::ReadError::from)?)
    }
}
