//! Opens a database for reading, with the options that reader and writer share.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, RwLock},
    time::Duration,
};

use cairn_model::Network;
use cairn_tables::{
    Compression, Family, Table, encode_key,
    facts::{Fact, Facts as FactsTable},
};
use rocksdb::{BlockBasedOptions, Cache, DBCompressionType, DBWithThreadMode, MultiThreaded, Options, SliceTransform};

use crate::{ChainIndex, RawBlocks, ReadError, View, check_format, check_format_in};

/// The database handle.
pub type Db = DBWithThreadMode<MultiThreaded>;

/// Parameters of the index, fixed at its first commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    /// The network.
    pub network: Network,
    /// Bytes of a script's hash that are used as prefix: 8, except in tests of collisions.
    pub script_prefix: usize,
    /// Bytes of a txid that are used as prefix: 8, except in tests of collisions.
    pub txid_prefix: usize,
    /// The folder of block files, for raw bytes; `None` if the blocks came from a node.
    pub blocks_dir: Option<PathBuf>,
}

impl Facts {
    /// Parameters of a new index of a network.
    #[must_use]
    pub fn of(network: Network) -> Self {
        Facts { network, script_prefix: 8, txid_prefix: 8, blocks_dir: None }
    }

    /// As rows of the `facts` table.
    #[must_use]
    pub fn rows(&self) -> Vec<(String, Fact)> {
        let mut rows = vec![
            ("network".to_owned(), self.network.name().to_owned()),
            ("script_prefix".to_owned(), self.script_prefix.to_string()),
            ("txid_prefix".to_owned(), self.txid_prefix.to_string()),
        ];
        if let Some(dir) = &self.blocks_dir {
            rows.push(("blocks_dir".to_owned(), dir.to_string_lossy().into_owned()));
        }
        rows.into_iter().map(|(k, v)| (k, Fact(v))).collect()
    }

    /// Name of the row that counts how often families were dropped or recreated; each time counts twice.
    pub const FAMILIES: &'static str = "families";

    /// This count. A secondary keeps its handle of a dropped family and still sees its rows.
    ///
    /// # Errors
    /// The database cannot be read, or the row is damaged.
    pub fn families_made(db: &Db) -> Result<u64, ReadError> {
        let family = db.cf_handle(FactsTable::FAMILY.name()).ok_or(ReadError::Empty)?;
        let Some(bytes) = db.get_pinned_cf(&family, encode_key::<FactsTable>(&Self::FAMILIES.to_owned()))? else {
            return Ok(0);
        };
        let Fact(text) = FactsTable::decode_value(&bytes)?;
        text.parse().map_err(|_| ReadError::Broken(format!("the number of column families is {text:?}")))
    }

    /// Reads them; `None` if the index has none yet.
    ///
    /// # Errors
    /// The database cannot be read, or has facts that this version does not support.
    pub fn read(db: &Db) -> Result<Option<Self>, ReadError> {
        let family = db.cf_handle(FactsTable::FAMILY.name()).ok_or(ReadError::Empty)?;
        let fact = |name: &str| -> Result<Option<String>, ReadError> {
            let bytes = db.get_pinned_cf(&family, encode_key::<FactsTable>(&name.to_owned()))?;
            bytes.map(|b| Ok(FactsTable::decode_value(&b)?.0)).transpose()
        };
        let Some(network) = fact("network")? else { return Ok(None) };
        let network = network.parse().map_err(|e: cairn_model::UnknownNetwork| ReadError::Unusable(e.to_string()))?;
        let number = |name: &str| -> Result<usize, ReadError> {
            let n = fact(name)?.and_then(|text| text.parse().ok()).filter(|n| (1..=8).contains(n));
            n.ok_or_else(|| ReadError::Unusable(format!("the index has no valid {name}")))
        };
        Ok(Some(Facts {
            network,
            script_prefix: number("script_prefix")?,
            txid_prefix: number("txid_prefix")?,
            blocks_dir: fact("blocks_dir")?.map(PathBuf::from),
        }))
    }
}

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

/// Options of a family, after its tuning.
#[must_use]
pub fn family_options(family: Family) -> Options {
    family_options_within(family, None)
}

/// Options of a family. With a cache, which other families share, everything that is read goes through it, the tables'
/// indexes and filters as well: the memory for them does not grow with the index.
#[must_use]
pub fn family_options_within(family: Family, cache: Option<&Cache>) -> Options {
    options_with(family, |table| {
        if let Some(cache) = cache {
            table.set_block_cache(cache);
            table.set_cache_index_and_filter_blocks(true);
        }
    })
}

/// Options of a family for who only answers questions. Data blocks share the cache; the tables' indexes (some 30 bytes
/// a block) and filters (10 bits a row, where there are any) stay beside it for good, since without them each row would
/// cost two more reads.
pub(crate) fn family_options_cached(family: Family, cache: &Cache) -> Options {
    options_with(family, |table| table.set_block_cache(cache))
}

fn options_with(family: Family, caching: impl FnOnce(&mut BlockBasedOptions)) -> Options {
    let tuning = family.tuning();
    let mut table = BlockBasedOptions::default();
    caching(&mut table);
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

pub(crate) fn read_only(dir: &Path, families: &[Family]) -> Result<Db, rocksdb::Error> {
    let families = families.iter().map(|f| rocksdb::ColumnFamilyDescriptor::new(f.name(), family_options(*f)));
    Db::open_cf_descriptors_read_only(&db_options(), dir, families, false)
}

fn open_read_only(dir: &Path, families: &[Family]) -> Result<Db, rocksdb::Error> {
    while_written(dir, || read_only(dir, families))
}

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

/// The families that readers need.
pub(crate) fn readers_families() -> Vec<Family> {
    Family::ALL.into_iter().filter(|f| !f.is_writers_own()).collect()
}

/// What it means that an index cannot be opened: its format is newer, or families are missing, because a writer was
/// killed while it made the index, or while it emptied a table. `None` if all are there.
pub(crate) fn lacking(dir: &Path) -> Option<ReadError> {
    if let Err(e) = check_format_in(dir) {
        return Some(e);
    }
    let found = Db::list_cf(&db_options(), dir).ok()?;
    let (there, missing): (Vec<Family>, Vec<Family>) =
        readers_families().into_iter().partition(|f| found.iter().any(|name| name == f.name()));
    let missing = missing.first()?;
    match Facts::read(&open_read_only(dir, &there).ok()?) {
        Ok(Some(_)) => Some(ReadError::Unusable(format!(
            "table {} is gone, a rebuild was interrupted: the next command that writes goes on with it",
            missing.name()
        ))),
        Ok(None) | Err(ReadError::Empty) => Some(ReadError::Empty),
        Err(e) => Some(e),
    }
}

/// Creates views of an index.
pub struct Reader {
    pub(crate) db: Arc<Db>,
    /// True if a writer shares the handle, so that each view must pin a snapshot.
    pinned: bool,
    /// [`Facts::families_made`] at the time of opening.
    pub(crate) families_made: u64,
    facts: Facts,
    /// The chain index up to the last seen tip.
    chain: RwLock<(ChainIndex, Option<crate::Tip>)>,
    raw: Option<RawBlocks>,
}

impl Reader {
    /// Opens the current state of the index in `dir` read-only. It does not follow a writer.
    ///
    /// # Errors
    /// The index is missing, empty, of a newer format, or unreadable.
    pub fn open(dir: &Path) -> Result<Self, ReadError> {
        if !dir.join("CURRENT").exists() {
            return Err(ReadError::Unusable(format!("no index in {}", dir.display())));
        }
        let db = open_read_only(dir, &Family::ALL).or_else(|e| {
            // An index that was made before the writer's own families, and not written since, has none of them.
            open_read_only(dir, &readers_families()).map_err(|_| lacking(dir).unwrap_or_else(|| e.into()))
        })?;
        Self::still(Arc::new(db))
    }

    /// Reads through the writer's handle (in the same process).
    ///
    /// # Errors
    /// The index is empty or cannot be read.
    pub fn shared(db: Arc<Db>) -> Result<Self, ReadError> {
        Self::over(db, true)
    }

    /// Reads through a handle that does not change while it is read.
    pub(crate) fn still(db: Arc<Db>) -> Result<Self, ReadError> {
        Self::over(db, false)
    }

    fn over(db: Arc<Db>, pinned: bool) -> Result<Self, ReadError> {
        check_format(&db)?;
        let facts = Facts::read(&db)?.ok_or(ReadError::Empty)?;
        let raw = facts.blocks_dir.as_deref().map(|dir| RawBlocks::new(dir.to_owned()));
        let families_made = Facts::families_made(&db)?;
        Ok(Reader { db, pinned, families_made, facts, chain: RwLock::default(), raw })
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
    ///
    /// # Errors
    /// The index is empty or cannot be read.
    pub fn view(&self) -> Result<View<'_>, ReadError> {
        let (mut chain, known) = self.chain.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let mut view = View::open(&self.db, self.pinned, &self.facts, self.raw.as_ref(), known)?;
        if known != Some(*view.tip()) {
            view.catch_up(&mut chain)?;
            let cached = (chain.clone(), Some(*view.tip()));
            *self.chain.write().unwrap_or_else(std::sync::PoisonError::into_inner) = cached;
        }
        view.set_chain(chain);
        Ok(view)
    }
}
