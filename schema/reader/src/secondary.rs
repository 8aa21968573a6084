//! Reading an index that another process writes.
//!
//! There are two secondary instances of the database. One serves requests and never catches up, so it does not change
//! under a request. The other catches up when the writer announces a tip; its *actual* tip is read, and then the two
//! swap. The previous one drains before it is used again. A catch-up may report success but stay on an older version (a
//! compaction removed a file, or RocksDB's atomic groups got stuck). So the tip is compared, the catch-up is repeated,
//! and finally the instance is reopened, which reads the manifest from its start.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use cairn_model::{BlockHash, Height};
use cairn_tables::Family;
use rocksdb::{Cache, ColumnFamilyDescriptor};

use crate::{
    Db, Facts, ReadError, Reader, Tip, check_format, check_format_in, db::readers_families, db::while_written,
    db_options, family_options_within,
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
}

/// Follows a writer in another process.
pub struct SecondaryReader {
    dir: PathBuf,
    scratch: PathBuf,
    blocks_dir: Option<PathBuf>,
    /// The read cache that both instances share.
    cache: Cache,
    active: RwLock<Arc<Reader>>,
    idle: Mutex<Option<Arc<Reader>>>,
    opened: AtomicU64,
}

impl SecondaryReader {
    /// Opens the index in `dir` twice. `scratch` is a folder of this process for RocksDB's logs; it is created, and
    /// removed at the end. Raw blocks are read from `blocks_dir` if given. `cache` is the size of the read cache in
    /// bytes.
    ///
    /// # Errors
    /// The index is missing, empty or unreadable.
    pub fn open(dir: &Path, scratch: &Path, blocks_dir: Option<PathBuf>, cache: u64) -> Result<Self, ReadError> {
        if !dir.join("CURRENT").exists() {
            return Err(ReadError::Unusable(format!("no index in {}", dir.display())));
        }
        let opened = AtomicU64::new(0);
        let cache = Cache::new_lru_cache(usize::try_from(cache).unwrap_or(usize::MAX));
        let (active, _) = open_secondary(dir, scratch, blocks_dir.as_deref(), &cache, &opened)?;
        Ok(SecondaryReader {
            dir: dir.to_owned(),
            scratch: scratch.to_owned(),
            blocks_dir,
            cache,
            active: RwLock::new(active),
            idle: Mutex::new(None),
            opened,
        })
    }

    /// The serving reader. A request keeps it until it ends.
    #[must_use]
    pub fn reader(&self) -> Arc<Reader> {
        Arc::clone(&self.active.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Moves to the newest tip; `wanted` is the announced one. One call runs at a time; others wait.
    ///
    /// # Errors
    /// The index cannot be read. The previous reader keeps serving.
    pub fn advance(&self, wanted: Option<(Height, BlockHash)>) -> Result<Advanced, ReadError> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let before = *self.reader().view()?.tip();
        if wanted.is_some_and(|(_, hash)| hash == before.hash) {
            return Ok(Advanced { tip: before, moved: false, reopened: false });
        }
        let (next, tip, reopened) = self.prepare(&mut idle, wanted)?;
        if tip == before {
            *idle = Some(next);
            return Ok(Advanced { tip, moved: false, reopened });
        }
        self.swap(&mut idle, next);
        Ok(Advanced { tip, moved: true, reopened })
    }

    /// Serves the newest durable state, even if the tip has not changed: rows without a block, such as samples of the
    /// mempool, are written between blocks.
    ///
    /// # Errors
    /// The index cannot be read. The previous reader keeps serving.
    pub fn refresh(&self) -> Result<Advanced, ReadError> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let before = *self.reader().view()?.tip();
        let (next, tip, reopened) = self.prepare(&mut idle, None)?;
        self.swap(&mut idle, next);
        Ok(Advanced { tip, moved: tip != before, reopened })
    }

    fn swap(&self, idle: &mut MutexGuard<'_, Option<Arc<Reader>>>, next: Arc<Reader>) {
        let mut active = self.active.write().unwrap_or_else(PoisonError::into_inner);
        **idle = Some(std::mem::replace(&mut *active, next));
    }

    /// An idle instance, caught up as far as possible.
    fn prepare(
        &self,
        idle: &mut MutexGuard<'_, Option<Arc<Reader>>>,
        wanted: Option<(Height, BlockHash)>,
    ) -> Result<(Arc<Reader>, Tip, bool), ReadError> {
        if let Some(reader) = idle.take().filter(drained) {
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
        let blocks_dir = self.blocks_dir.as_deref();
        let (reader, tip) = open_secondary(&self.dir, &self.scratch, blocks_dir, &self.cache, &self.opened)?;
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

fn reached(tip: &Tip, wanted: Option<(Height, BlockHash)>) -> bool {
    wanted.is_none_or(|(height, hash)| tip.hash == hash || tip.height > height)
}

fn catch_up(reader: &Reader) -> Result<Tip, ReadError> {
    reader.db.try_catch_up_with_primary()?;
    // Another program may be writing by now.
    check_format(&reader.db)?;
    if Facts::families_made(&reader.db)? != reader.families_made {
        // A stage was rebuilt: this instance still holds the family that it dropped, with the rows of then.
        return Err(ReadError::Unusable("column families were recreated".to_owned()));
    }
    Ok(*reader.view()?.tip())
}

/// Opens an instance. While a writer replaces files, RocksDB opens a secondary at an older state whose files are all
/// there, which may be the one before the first commit. So an empty index is believed only if it stays empty.
fn open_secondary(
    dir: &Path,
    scratch: &Path,
    blocks_dir: Option<&Path>,
    cache: &Cache,
    opened: &AtomicU64,
) -> Result<(Arc<Reader>, Tip), ReadError> {
    let mut pause = PAUSE;
    for _ in 1..ATTEMPTS {
        match open_once(dir, scratch, blocks_dir, cache, opened) {
            Err(ReadError::Empty) => std::thread::sleep(pause),
            other => return other,
        }
        pause *= 2;
    }
    open_once(dir, scratch, blocks_dir, cache, opened)
}

fn open_once(
    dir: &Path,
    scratch: &Path,
    blocks_dir: Option<&Path>,
    cache: &Cache,
    opened: &AtomicU64,
) -> Result<(Arc<Reader>, Tip), ReadError> {
    let own = scratch.join(opened.fetch_add(1, Ordering::Relaxed).to_string());
    let unusable = |e: std::io::Error| ReadError::Unusable(format!("{}: {e}", own.display()));
    std::fs::create_dir_all(&own).map_err(unusable)?;
    let db = while_written(dir, || {
        let options =
            |family: Family| ColumnFamilyDescriptor::new(family.name(), family_options_within(family, Some(cache)));
        let families = readers_families().into_iter().map(options);
        Db::open_cf_descriptors_as_secondary(&db_options(), dir, &own, families)
    });
    let db = db.or_else(|e| check_format_in(dir).and(Err(e.into())))?;
    let reader = Reader::still(Arc::new(db))?.with_blocks_dir(blocks_dir.map(Path::to_owned));
    let tip = *reader.view()?.tip();
    Ok((Arc::new(reader), tip))
}
