//! Opens an index for reading.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use cairn_tables::{Family, Table, checkpoints::Checkpoints, encode_key, stages::CHAIN};
use parking_lot::RwLock;

use rocksdb::Cache;

use crate::{
    ChainIndex, Db, Facts, RawBlocks, ReadError, ReadMemory, TableFile, View, check_format, check_format_in,
    db::{read_only, read_only_damaged, readers_families, while_written},
    db_options, files_memory,
    index_folder::{IndexFolder, in_one_place},
    memory::chain_memory,
    table_file::{bad_files, files_of},
    view::{LastView, check_version},
};

fn open_read_only(dir: &Path, families: &[Family], cache: Option<&Cache>) -> Result<Db, rocksdb::Error> {
    while_written(dir, || read_only(dir, families, cache))
}

/// Cause of an index that cannot be opened: its format is newer, or families are missing, because a writer was
/// killed while it made the index, or while it emptied a table. `None` if all are there.
pub(crate) fn lacking(dir: &Path) -> Option<ReadError> {
    if let Err(e) = check_format_in(dir) {
        return Some(e);
    }
    let found = Db::list_cf(&db_options(), dir).ok()?;
    let (there, missing): (Vec<Family>, Vec<Family>) =
        readers_families().into_iter().partition(|f| found.iter().any(|name| name == f.name()));
    let Some(missing) = missing.first() else { return bad_files(dir) };
    let db = open_read_only(dir, &there, None).ok()?;
    match Facts::read(&db) {
        Ok(Some(_)) if other_journal(&db).is_some() => other_journal(&db),
        Ok(Some(_)) => Some(ReadError::Unusable(format!(
            "table {} is missing: a rebuild was interrupted, or a program of an earlier version wrote the index last. The \
             next command that writes (cairn index) makes it",
            missing.name()
        ))),
        Ok(None) | Err(ReadError::Empty) => Some(ReadError::Empty),
        Err(e) => Some(e),
    }
}

/// The error that a program of another version wrote the journal, if so.
fn other_journal(db: &Db) -> Option<ReadError> {
    let family = db.cf_handle(Checkpoints::FAMILY.name())?;
    let row = db.get_pinned_cf(&family, encode_key::<Checkpoints>(&CHAIN.name.to_owned())).ok()??;
    check_version(&CHAIN, &Checkpoints::decode_value(&row).ok()?).err()
}

/// Parameters of an index that may be damaged, or in the middle of a repair; `None` if they are lost.
#[must_use]
pub fn facts_in(dir: &Path) -> Option<Facts> {
    let found = Db::list_cf(&db_options(), dir).ok()?;
    let there: Vec<Family> = Family::ALL.into_iter().filter(|f| found.iter().any(|name| name == f.name())).collect();
    Facts::read(&read_only_damaged(dir, &there, None).ok()?).ok()?
}

/// Creates views of an index.
pub struct Reader {
    pub(crate) db: Arc<Db>,
    /// True if a writer shares the handle, so that each view must pin a snapshot.
    pinned: bool,
    /// For a secondary instance, how often families had been dropped when it was opened. `None`: it cannot catch up.
    pub(crate) catches_up_after: Option<u64>,
    /// The folder that a secondary instance reads.
    folder: Option<Arc<IndexFolder>>,
    facts: Facts,
    seen: RwLock<Option<LastView>>,
    raw: Option<RawBlocks>,
}

impl Reader {
    /// Opens the current state of the index in `dir` read-only. It does not follow a writer.
    pub fn open(dir: &Path) -> Result<Self, ReadError> {
        Self::open_with(dir, None)
    }

    /// As [`Reader::open`], with this memory for blocks of tables, indexes and filters, open files, and the chain; and
    /// with the writer's own families, if there are any. For audits.
    ///
    /// # Errors
    /// Fails also if a file of the writer's own families is damaged, or the memory is too small for the index.
    pub fn open_within(dir: &Path, memory: &ReadMemory) -> Result<Self, ReadError> {
        let reader = Self::open_with(dir, Some(memory.cache()))?.sharing(memory)?;
        let found = Db::list_cf(&db_options(), dir)?;
        let is_closed = |family: &Family| reader.db.cf_handle(family.name()).is_none();
        let mut named = Family::ALL.into_iter().filter(|family| found.iter().any(|name| name == family.name()));
        match named.find(is_closed) {
            None => Ok(reader),
            Some(family) => Err(bad_files(dir)
                .unwrap_or_else(|| ReadError::Broken(format!("table {} cannot be opened", family.name())))),
        }
    }

    /// Gives the cache the memory that the open files and the chain leave.
    fn sharing(self, memory: &ReadMemory) -> Result<Self, ReadError> {
        let chain = match self.view() {
            Ok(view) => chain_memory(view.chain()),
            // A later read reports the error.
            Err(_) => 0,
        };
        memory.beside(files_memory(&self.db) + chain)?;
        Ok(self)
    }

    fn open_with(dir: &Path, cache: Option<&Cache>) -> Result<Self, ReadError> {
        if !dir.join("CURRENT").exists() {
            return Err(ReadError::Unusable(format!("no index in {}", dir.display())));
        }
        in_one_place(dir, || {
            let db = open_read_only(dir, &Family::ALL, cache).or_else(|e| {
                // An index that was made before the writer's own families, and not written since, has none of them.
                open_read_only(dir, &readers_families(), cache).map_err(|_| lacking(dir).unwrap_or_else(|| e.into()))
            })?;
            Self::still(Arc::new(db))
        })
    }

    /// As [`Reader::open`], although table files may be damaged or missing: reads of such a file fail. For audits.
    ///
    /// # Errors
    /// Fails if the damage is in the list of files, or in rows without which nothing can be read.
    pub fn open_damaged(dir: &Path) -> Result<Self, ReadError> {
        Self::open_damaged_with(dir, None)
    }

    /// As [`Reader::open_damaged`], with the memory of [`Reader::open_within`].
    ///
    /// # Errors
    /// Fails also if the memory is too small for the index.
    pub fn open_damaged_within(dir: &Path, memory: &ReadMemory) -> Result<Self, ReadError> {
        Self::open_damaged_with(dir, Some(memory.cache()))?.sharing(memory)
    }

    fn open_damaged_with(dir: &Path, cache: Option<&Cache>) -> Result<Self, ReadError> {
        if !dir.join("CURRENT").exists() {
            return Self::open_with(dir, cache);
        }
        let of = |families: &[Family]| read_only_damaged(dir, families, cache);
        match of(&Family::ALL).or_else(|_| of(&readers_families())) {
            Ok(db) => Self::still(Arc::new(db)),
            Err(_) => Self::open_with(dir, cache),
        }
    }

    /// Bytes of a family's table files.
    #[must_use]
    pub fn family_bytes(&self, family: Family) -> u64 {
        let handle = self.db.cf_handle(family.name());
        let bytes =
            handle.and_then(|handle| self.db.property_int_value_cf(&handle, "rocksdb.total-sst-files-size").ok());
        bytes.flatten().unwrap_or_default()
    }

    /// The table files of this state of the index, in the order of their names.
    pub fn table_files(&self) -> Result<Vec<TableFile>, ReadError> {
        files_of(&self.db)
    }

    /// The folder of the index.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.db.path()
    }

    /// Reads through the writer's handle (in the same process).
    pub fn shared(db: Arc<Db>) -> Result<Self, ReadError> {
        Self::over(db, true)
    }

    /// Reads through a handle that does not change while it is read.
    pub(crate) fn still(db: Arc<Db>) -> Result<Self, ReadError> {
        Self::over(db, false)
    }

    /// The same, beginning with the chain in memory that another reader of this index has: the two share it.
    pub(crate) fn beginning_with(self, chain: Arc<ChainIndex>) -> Self {
        Reader {
            seen: RwLock::new(Some(LastView { tip: None, chain, checkpoints: None, any_claim: None, settled: false })),
            ..self
        }
    }

    /// The same, a secondary instance that may catch up as long as families were dropped so often. See `families`.
    pub(crate) fn catching_up_after(self, drops: Option<u64>) -> Self {
        Reader { catches_up_after: drops, ..self }
    }

    /// The same, a secondary instance that reads this folder.
    pub(crate) fn in_folder(self, folder: Arc<IndexFolder>) -> Self {
        Reader { folder: Some(folder), ..self }
    }

    /// The folder of a secondary instance.
    pub(crate) fn folder(&self) -> Option<&IndexFolder> {
        self.folder.as_deref()
    }

    /// The chain in memory, up to the last seen tip.
    pub(crate) fn chain(&self) -> Arc<ChainIndex> {
        let seen = self.seen.read();
        seen.as_ref().map(|seen| Arc::clone(&seen.chain)).unwrap_or_default()
    }

    fn over(db: Arc<Db>, pinned: bool) -> Result<Self, ReadError> {
        check_format(&db)?;
        let facts = Facts::read(&db)?.ok_or(ReadError::Empty)?;
        if Facts::is_being_repaired(&db)? {
            return Err(ReadError::Unfinished(CHAIN.name));
        }
        let raw = facts.blocks_dir.as_deref().map(|dir| RawBlocks::new(dir.to_owned()));
        Ok(Reader { db, pinned, catches_up_after: None, folder: None, facts, seen: RwLock::default(), raw })
    }

    /// Reads raw blocks from this folder instead of the indexed one, for example a copy.
    #[must_use]
    pub fn with_blocks_dir(mut self, dir: Option<PathBuf>) -> Self {
        if let Some(dir) = dir {
            self.raw = Some(RawBlocks::new(dir));
        }
        self
    }

    /// Parameters of the index.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The raw bytes of blocks, if there may be any.
    #[must_use]
    pub fn raw(&self) -> Option<&RawBlocks> {
        self.raw.as_ref()
    }

    /// A view of the current index.
    pub fn view(&self) -> Result<View<'_>, ReadError> {
        let seen = self.seen.read().clone();
        let known = seen.as_ref().and_then(|seen| Some((seen.tip?, seen.checkpoints.is_some())));
        let mut view = View::open(&self.db, self.pinned, &self.facts, self.raw.as_ref(), seen)?;
        // Labels settle without another tip.
        if known != Some((*view.tip(), !self.pinned)) || !view.settled && view.find_settled() {
            let seen = view.seen();
            (view.any_claim, view.settled) = (seen.any_claim, seen.settled);
            *self.seen.write() = Some(seen);
        }
        Ok(view)
    }

    /// The handle has caught up with its writer: the next view reads the checkpoints again.
    pub(crate) fn changed(&self) {
        if let Some(seen) = self.seen.write().as_mut() {
            (seen.checkpoints, seen.any_claim, seen.settled) = (None, None, false);
        }
    }
}
