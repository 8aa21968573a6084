//! Records drops of column families of an index, in a file beside the database.
//!
//! RocksDB crashes a secondary instance that catches up over a dropped family, or that was opened over one. It collects
//! pointers to the families that a manifest names, and the next catch-up follows them, also those to families that are
//! gone. (See `DBImplSecondary::TryCatchUpWithPrimary` and `ManifestTailer` in RocksDB 11.8.) The instance would also
//! keep its handle of the dropped family, with the rows of then.
//!
//! So the writer holds a lock on a file while it drops a family. In the file it raises a number and names the manifest.
//! A reader holds the lock, shared, while it opens or catches up. It opens again instead of catching up if the number
//! has changed since it opened, or if the manifest that it opened records a drop. The writer begins a new manifest when
//! it starts, and when the present one is large.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::ReadError;

/// Name of the file. RocksDB leaves names alone that it does not know.
const NAME: &str = "FAMILIES";
/// Length of the longest text: a number and the name of a manifest.
const MAX_BYTES: u64 = 256;
/// How long a reader waits for a writer that drops a family. It takes milliseconds.
const READER_WAITS: Duration = Duration::from_secs(5);
/// How long a writer waits for readers. One that takes longer is stopped or hangs: it cannot hold up the writer.
const WRITER_WAITS: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);

/// A reader's shared lock: no family is dropped while it lives.
#[derive(Debug)]
pub(crate) struct FamiliesKept {
    /// `None`: no writer has made the file, so none has dropped a family.
    _lock: Option<File>,
    noted: Noted,
    dir: PathBuf,
}

impl FamiliesKept {
    /// Waits until no family of the index in `dir` is being dropped.
    ///
    /// # Errors
    /// Fails if the writer holds the lock for too long.
    pub(crate) fn wait(dir: &Path) -> Result<Self, ReadError> {
        let path = dir.join(NAME);
        let unreadable = |error: io::Error| ReadError::Unusable(format!("{}: {error}", path.display()));
        let of = |lock, noted| FamiliesKept { _lock: lock, noted, dir: dir.to_owned() };
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(of(None, Noted::default())),
            Err(error) => return Err(unreadable(error)),
        };
        if !locked(READER_WAITS, || file.try_lock_shared()).map_err(unreadable)? {
            return Err(ReadError::Unusable(format!("{}: the writer has held the lock for too long", path.display())));
        }
        let noted = Noted::read(&mut file).map_err(unreadable)?;
        Ok(of(Some(file), noted))
    }

    /// How often families were dropped.
    pub(crate) fn dropped(&self) -> u64 {
        self.noted.dropped
    }

    /// True if the manifest in use records a drop.
    pub(crate) fn manifest_has_drops(&self) -> bool {
        !self.noted.manifest.is_empty() && self.noted.manifest == manifest_in(&self.dir)
    }
}

/// A writer's lock: secondary instances in other processes do not look while it lives, and open again afterwards.
#[derive(Debug)]
pub struct DroppingFamily {
    file: File,
    path: PathBuf,
}

impl DroppingFamily {
    /// Makes the file in `dir` if it is missing. A writer does it when it opens the index: readers need it for the
    /// lock.
    pub fn prepare(dir: &Path) -> Result<(), (PathBuf, io::Error)> {
        let path = dir.join(NAME);
        let made = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        made.map(|_| ()).map_err(|error| (path, error))
    }

    /// Waits for readers that open or catch up, and raises the number. A reader that takes longer than ten seconds is
    /// not waited for.
    pub fn begin(dir: &Path) -> Result<Self, (PathBuf, io::Error)> {
        let path = dir.join(NAME);
        let begun = || -> io::Result<File> {
            let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
            locked(WRITER_WAITS, || file.try_lock())?;
            let noted = Noted::read(&mut file)?;
            Noted { dropped: noted.dropped.wrapping_add(1), manifest: manifest_in(dir) }.write(&mut file)?;
            Ok(file)
        };
        match begun() {
            Ok(file) => Ok(DroppingFamily { file, path }),
            Err(error) => Err((path, error)),
        }
    }

    /// Notes, after the drop, the manifest that now records it, which may have been begun meanwhile.
    pub fn finish(mut self) -> Result<(), (PathBuf, io::Error)> {
        let dir = self.path.parent().map(manifest_in).unwrap_or_default();
        let noted = Noted::read(&mut self.file);
        let written = noted.and_then(|noted| Noted { manifest: dir, ..noted }.write(&mut self.file));
        written.map_err(|error| (self.path, error))
    }
}

/// A writer's lock without a drop: no secondary instance in another process opens files or catches up while it lives.
/// Those that wait for it then read the newest list of files.
#[derive(Debug)]
pub struct ReadersPaused {
    _lock: File,
}

impl ReadersPaused {
    /// Waits for readers that open or catch up, at most for `limit`; `None` if one still does.
    pub fn begin(dir: &Path, limit: Duration) -> Result<Option<Self>, (PathBuf, io::Error)> {
        let path = dir.join(NAME);
        let begun = || {
            let file = OpenOptions::new().read(true).write(true).open(&path)?;
            Ok(locked(limit, || file.try_lock())?.then_some(ReadersPaused { _lock: file }))
        };
        begun().map_err(|error| (path.clone(), error))
    }
}

/// Content of the file.
#[derive(Default, Debug)]
struct Noted {
    dropped: u64,
    /// The manifest in use when a family was last dropped; empty if unknown.
    manifest: String,
}

impl Noted {
    /// A text that nobody can read counts as none.
    fn read(file: &mut File) -> io::Result<Self> {
        let mut text = Vec::new();
        file.rewind()?;
        Read::take(&mut *file, MAX_BYTES).read_to_end(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        let mut words = text.split_ascii_whitespace();
        let dropped = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        Ok(Noted { dropped, manifest: words.next().unwrap_or_default().to_owned() })
    }

    fn write(&self, file: &mut File) -> io::Result<()> {
        file.rewind()?;
        file.set_len(0)?;
        file.write_all(format!("{} {}\n", self.dropped, self.manifest).as_bytes())
    }
}

/// Name of the manifest in use; empty if it cannot be read.
fn manifest_in(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("CURRENT")).map(|name| name.trim().to_owned()).unwrap_or_default()
}

/// Tries until it has the lock or the time is over.
fn locked(wait: Duration, mut lock: impl FnMut() -> Result<(), TryLockError>) -> io::Result<bool> {
    let until = Instant::now() + wait;
    loop {
        match lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() > until => return Ok(false),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_drop_raises_the_number_and_readers_wait_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let current = |name: &str| std::fs::write(dir.join("CURRENT"), format!("{name}\n")).unwrap();
        let look = || FamiliesKept::wait(dir).map(|kept| (kept.dropped(), kept.manifest_has_drops())).unwrap();
        current("MANIFEST-000004");
        assert_eq!(look(), (0, false), "no writer yet");
        DroppingFamily::prepare(dir).unwrap();
        assert_eq!(look(), (0, false));
        for n in 1..=3 {
            let dropping = DroppingFamily::begin(dir).unwrap();
            std::thread::scope(|scope| {
                let reader = scope.spawn(look);
                std::thread::sleep(Duration::from_millis(20));
                assert!(!reader.is_finished(), "a reader looks while a family is dropped");
                current(&format!("MANIFEST-00010{n}"));
                dropping.finish().unwrap();
                assert_eq!(reader.join().unwrap(), (n, true));
            });
        }
        current("MANIFEST-000200");
        DroppingFamily::prepare(dir).unwrap();
        assert_eq!(look(), (3, false), "a writer that opens begins a new manifest");
    }

    #[test]
    fn readers_do_not_wait_for_each_other_and_the_writer_waits_for_all() {
        let folder = tempfile::tempdir().unwrap();
        DroppingFamily::prepare(folder.path()).unwrap();
        let (a, b) = (FamiliesKept::wait(folder.path()).unwrap(), FamiliesKept::wait(folder.path()).unwrap());
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| DroppingFamily::begin(folder.path()).unwrap());
            std::thread::sleep(Duration::from_millis(20));
            drop(a);
            std::thread::sleep(Duration::from_millis(20));
            assert!(!writer.is_finished(), "a family is dropped while a reader looks");
            drop(b);
            writer.join().unwrap().finish().unwrap();
        });
    }
}
