//! Reading an index that another process writes.
//!
//! There are two secondary instances of the database. One serves requests and never catches up, so it does not change
//! under a request. The other catches up when the writer announces a tip; its *actual* tip is read, and then the two
//! swap. The previous one drains before it is used again. A catch-up may report success but stay on an older version (a
//! compaction removed a file, or RocksDB's atomic groups got stuck). So the tip is compared, the catch-up is repeated,
//! and finally the instance is reopened, which reads the manifest from its start.
//!
//! Another index may take the place of the one that is followed, with other files under the same names: a replica gets
//! newer copies so. An instance reads the very folder that it has opened, and never catches up with another one. The
//! index in its place is opened again, and the instances of the index before end with the requests that still read
//! them.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use cairn_model::{BlockHash, Height};
use cairn_tables::Family;
use parking_lot::{Mutex, MutexGuard, RwLock};
use rocksdb::ColumnFamilyDescriptor;

use crate::{
    ChainIndex, Db, ReadError, ReadMemory, Reader, Tip, check_format,
    db::{readers_families, secondary_options, while_written},
    families::FamiliesKept,
    family_options_within, files_memory,
    index_folder::IndexFolder,
    memory::chain_memory,
    open::lacking,
};

/// Attempts to catch up before the instance is reopened, and to open one that is not empty.
const ATTEMPTS: u32 = 5;
/// Pause before the second attempt; doubles.
const PAUSE: Duration = Duration::from_millis(5);
/// How long the idle instance may take to drain before it is abandoned.
const DRAIN: Duration = Duration::from_secs(2);

/// Result of an announcement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Advanced {
    /// The tip that is served.
    pub tip: Tip,
    /// True if it has changed.
    pub moved: bool,
    /// True if an instance had to be reopened.
    pub reopened: bool,
    /// True if another index has taken the place of the one before.
    pub replaced: bool,
}

/// Follows a writer in another process.
pub struct SecondaryReader {
    dir: PathBuf,
    scratch: PathBuf,
    blocks_dir: Option<PathBuf>,
    /// The memory that both instances share.
    memory: ReadMemory,
    active: RwLock<Arc<Reader>>,
    idle: Mutex<Option<Arc<Reader>>>,
    opened: AtomicU64,
}

impl SecondaryReader {
    /// Opens the index in `dir` twice. `scratch` is a folder of this process for RocksDB's logs; it is created, and
    /// removed at the end. Raw blocks are read from `blocks_dir` if given. `memory` is the limit of both instances
    /// together, in bytes: blocks of tables, indexes and filters, open files, and the chain in memory.
    ///
    /// # Errors
    /// Fails if the index is missing, empty or unreadable, or the memory is too small for it.
    pub fn open(dir: &Path, scratch: &Path, blocks_dir: Option<PathBuf>, memory: u64) -> Result<Self, ReadError> {
        if !dir.join("CURRENT").exists() {
            return Err(ReadError::Unusable(format!("no index in {}", dir.display())));
        }
        let opened = AtomicU64::new(0);
        let memory = ReadMemory::of(memory);
        let opening = Opening { dir, scratch, blocks_dir: blocks_dir.as_deref(), memory: &memory, opened: &opened };
        let (active, _) = open_secondary(&opening, Arc::default())?;
        let secondary = SecondaryReader {
            dir: dir.to_owned(),
            scratch: scratch.to_owned(),
            blocks_dir,
            memory,
            active: RwLock::new(active),
            idle: Mutex::new(None),
            opened,
        };
        secondary.share_memory()?;
        Ok(secondary)
    }

    /// Gives the cache the memory that the open files of both instances and the chain leave.
    fn share_memory(&self) -> Result<(), ReadError> {
        let reader = self.reader();
        self.memory.beside(2 * files_memory(&reader.db) + chain_memory(&reader.chain()))
    }

    /// Bytes of blocks, indexes and filters in the cache, and of those the ones that cannot be removed.
    #[must_use]
    pub fn cached_bytes(&self) -> (u64, u64) {
        (self.memory.cache().get_usage() as u64, self.memory.cache().get_pinned_usage() as u64)
    }

    /// The serving reader. A request keeps it until it ends.
    #[must_use]
    pub fn reader(&self) -> Arc<Reader> {
        Arc::clone(&self.active.read())
    }

    /// Moves to the newest tip; `wanted` is the announced one. One call runs at a time; others wait.
    ///
    /// # Errors
    /// Fails if the index cannot be read; the previous reader keeps serving.
    pub fn advance(&self, wanted: Option<(Height, BlockHash)>) -> Result<Advanced, ReadError> {
        let mut idle = self.idle.lock();
        let before = self.tip_before()?;
        if let Some(tip) = before.filter(|tip| wanted.is_some_and(|(_, hash)| hash == tip.hash))
            && !is_replaced(&self.reader())
        {
            return Ok(Advanced { tip, moved: false, reopened: false, replaced: false });
        }
        let (next, tip, reopened) = self.prepare(&mut idle, wanted)?;
        let (moved, replaced) = (before != Some(tip), !same_folder(&self.reader(), &next));
        if moved || replaced {
            self.swap(&mut idle, next);
        } else {
            *idle = Some(next);
        }
        Ok(Advanced { tip, moved, reopened, replaced })
    }

    /// The tip that is served. `None` if it cannot be read and another index has taken the place: that one may be read.
    fn tip_before(&self) -> Result<Option<Tip>, ReadError> {
        let reader = self.reader();
        match reader.view().map(|view| *view.tip()) {
            Err(_) if is_replaced(&reader) => Ok(None),
            tip => tip.map(Some),
        }
    }

    /// Serves the newest durable state, even if the tip has not changed: rows without a block, such as samples of the
    /// mempool, are written between blocks.
    ///
    /// # Errors
    /// Fails if the index cannot be read; the previous reader keeps serving.
    pub fn refresh(&self) -> Result<Advanced, ReadError> {
        let mut idle = self.idle.lock();
        let before = self.tip_before()?;
        let (next, tip, reopened) = self.prepare(&mut idle, None)?;
        let replaced = !same_folder(&self.reader(), &next);
        self.swap(&mut idle, next);
        Ok(Advanced { tip, moved: before != Some(tip), reopened, replaced })
    }

    fn swap(&self, idle: &mut MutexGuard<'_, Option<Arc<Reader>>>, next: Arc<Reader>) {
        let mut active = self.active.write();
        let same = same_folder(&active, &next);
        let before = std::mem::replace(&mut *active, next);
        drop(active);
        // An instance of another index never catches up again. Requests that still run keep it.
        **idle = Some(before).filter(|_| same);
        // An index that has outgrown the memory is still served, with the smallest cache. The next start says so.
        let _ = self.share_memory();
    }

    /// An idle instance, caught up as far as possible.
    fn prepare(
        &self,
        idle: &mut MutexGuard<'_, Option<Arc<Reader>>>,
        wanted: Option<(Height, BlockHash)>,
    ) -> Result<(Arc<Reader>, Tip, bool), ReadError> {
        if let Some(reader) = idle.take().filter(|reader| !is_replaced(reader)).filter(drained) {
            let mut pause = PAUSE;
            for _ in 0..ATTEMPTS {
                match catch_up(&reader) {
                    Ok(tip) if reached(&tip, wanted) => return Ok((reader, tip, false)),
                    // An instance that fails once is not trusted again.
                    Err(_) => break,
                    Ok(_) => std::thread::sleep(pause),
                }
                pause *= 2;
            }
        }
        let opening = Opening {
            dir: &self.dir,
            scratch: &self.scratch,
            blocks_dir: self.blocks_dir.as_deref(),
            memory: &self.memory,
            opened: &self.opened,
        };
        let (reader, tip) = open_secondary(&opening, self.reader().chain())?;
        Ok((reader, tip, true))
    }
}

impl Drop for SecondaryReader {
    fn drop(&mut self) {
        // Only RocksDB's own logs are in it; leaving them behind harms nothing.
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}

/// Waits for the requests that still read an instance. If one takes too long, the instance is left to it.
fn drained(reader: &Arc<Reader>) -> bool {
    let until = Instant::now() + DRAIN;
    while Arc::strong_count(reader) > 1 {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// True if another index has taken the place of the one that an instance reads.
fn is_replaced(reader: &Reader) -> bool {
    reader.folder().is_some_and(IndexFolder::is_replaced)
}

/// True if two instances read the same folder.
fn same_folder(one: &Reader, other: &Reader) -> bool {
    one.folder().zip(other.folder()).is_some_and(|(one, other)| one.is(other))
}

fn reached(tip: &Tip, wanted: Option<(Height, BlockHash)>) -> bool {
    wanted.is_none_or(|(height, hash)| tip.hash == hash || tip.height > height)
}

fn catch_up(reader: &Reader) -> Result<Tip, ReadError> {
    let anew = |why: &str| ReadError::Unusable(format!("{why}: it opens again"));
    let folder = reader.folder().ok_or_else(|| anew("the folder of the index is unknown"))?;
    let kept = FamiliesKept::wait(folder.path())?;
    if reader.catches_up_after != Some(kept.dropped()) {
        return Err(anew("column families were dropped"));
    }
    let caught_up = reader.db.try_catch_up_with_primary();
    reader.changed();
    caught_up?;
    if folder.is_replaced() {
        return Err(anew("another index has taken the place"));
    }
    // Another program may be writing by now.
    check_format(&reader.db)?;
    Ok(*reader.view()?.tip())
}

/// The index that is opened, and its place.
struct Opening<'o> {
    dir: &'o Path,
    scratch: &'o Path,
    blocks_dir: Option<&'o Path>,
    memory: &'o ReadMemory,
    opened: &'o AtomicU64,
}

/// Opens an instance. While a writer replaces files, RocksDB opens a secondary at an older state whose files are all
/// there, which may be the one before the first commit. So an empty index is believed only if it stays empty. An index
/// whose place another one takes meanwhile is left for that one. `chain` is the chain in memory of another instance,
/// perhaps of another index: a view keeps those of its blocks that its own index has.
fn open_secondary(opening: &Opening<'_>, chain: Arc<ChainIndex>) -> Result<(Arc<Reader>, Tip), ReadError> {
    let mut pause = PAUSE;
    for _ in 1..ATTEMPTS {
        let folder = Arc::new(IndexFolder::open(opening.dir)?);
        match open_once(opening, Arc::clone(&folder), chain.clone()) {
            Err(ReadError::Empty) => std::thread::sleep(pause),
            _ if folder.is_replaced() => {}
            other => return other,
        }
        pause *= 2;
    }
    open_once(opening, Arc::new(IndexFolder::open(opening.dir)?), chain)
}

fn open_once(
    opening: &Opening<'_>,
    folder: Arc<IndexFolder>,
    chain: Arc<ChainIndex>,
) -> Result<(Arc<Reader>, Tip), ReadError> {
    let Opening { scratch, blocks_dir, memory, opened, .. } = *opening;
    let dir = folder.path();
    let own = scratch.join(opened.fetch_add(1, Ordering::Relaxed).to_string());
    let unusable = |e: std::io::Error| ReadError::Unusable(format!("{}: {e}", own.display()));
    std::fs::create_dir_all(&own).map_err(unusable)?;
    let kept = FamiliesKept::wait(dir)?;
    let db = while_written(dir, || {
        let options = |family: Family| {
            ColumnFamilyDescriptor::new(family.name(), family_options_within(family, Some(memory.cache())))
        };
        let families = readers_families().into_iter().map(options);
        Db::open_cf_descriptors_as_secondary(&secondary_options(), dir, &own, families)
    });
    let db = db.map_err(|e| lacking(dir).unwrap_or_else(|| e.into()))?;
    let catches_up_after = (!kept.manifest_has_drops()).then(|| kept.dropped());
    let reader = Reader::still(Arc::new(db))?.with_blocks_dir(blocks_dir.map(Path::to_owned));
    let reader = reader.beginning_with(chain).catching_up_after(catches_up_after).in_folder(folder);
    let tip = *reader.view()?.tip();
    Ok((Arc::new(reader), tip))
}
