//! A private folder for files that a process needs only while it runs.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    hash::{BuildHasher, RandomState},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::exit::{Exit, Failure};

const PREFIX: &str = "cairn-serve-";
/// The file in it that is locked while the process runs.
const LOCK: &str = "lock";
/// Number of names to try in one place.
const NAMES: u32 = 16;
/// A folder without a lock counts as abandoned after this time. Until then, its process may be about to lock it.
const ABANDONED: Duration = Duration::from_secs(3_600);

/// The folder. It is removed at the end; if the process is killed, the next process of the same user removes it.
pub(crate) struct Scratch {
    dir: PathBuf,
    // Locked as long as it is open.
    _lock: File,
}

impl Scratch {
    /// Creates a folder that only this user can use: in `datadir` if possible, otherwise in the user's runtime folder,
    /// otherwise in the folder for temporary files. Never uses an existing folder.
    pub(crate) fn create(datadir: &Path) -> Result<Self, Failure> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
        let parents = [Some(datadir.to_owned()), runtime, Some(std::env::temp_dir())];
        let mut failed = None;
        for parent in parents.into_iter().flatten() {
            match Scratch::create_in(&parent) {
                Ok(scratch) => {
                    scratch.remove_abandoned(&parent);
                    return Ok(scratch);
                }
                Err(error) => failed = Some((parent, error)),
            }
        }
        let (parent, error) = failed.unwrap_or_else(|| (datadir.to_owned(), io::ErrorKind::NotFound.into()));
        let message = format!("{}: cannot create a folder for temporary files: {error}", parent.display());
        Err(Failure::new(Exit::Other, message).hint("set TMPDIR to a folder that this user can write to"))
    }

    fn create_in(parent: &Path) -> io::Result<Self> {
        for _ in 0..NAMES {
            let number = RandomState::new().hash_one(std::process::id());
            match Scratch::create_as(parent.join(format!("{PREFIX}{number:016x}"))) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => return other,
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Fails if anything has this name, including a dangling link.
    fn create_as(dir: PathBuf) -> io::Result<Self> {
        DirBuilder::new().mode(0o700).create(&dir)?;
        let lock = OpenOptions::new().write(true).create_new(true).open(dir.join(LOCK)).and_then(|lock| {
            lock.lock()?;
            Ok(lock)
        });
        match lock {
            Ok(lock) => Ok(Scratch { dir, _lock: lock }),
            Err(error) => {
                let _ = fs::remove_dir_all(&dir);
                Err(error)
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.dir
    }

    /// Removes the folders of processes of this user that were killed.
    fn remove_abandoned(&self, parent: &Path) {
        let (Ok(own), Ok(entries)) = (fs::symlink_metadata(&self.dir), fs::read_dir(parent)) else { return };
        for entry in entries.flatten() {
            let path = entry.path();
            let named = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
            if !named || path == self.dir {
                continue;
            }
            // Not followed if it is a link.
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            if meta.is_dir() && meta.uid() == own.uid() && is_abandoned(&path, &meta) {
                let _ = fs::remove_dir_all(&path);
            }
        }
    }
}

fn is_abandoned(dir: &Path, meta: &fs::Metadata) -> bool {
    match OpenOptions::new().write(true).open(dir.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(_) => meta.modified().ok().and_then(|at| at.elapsed().ok()).is_some_and(|age| age > ABANDONED),
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that cannot be removed does no harm.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn it_is_private_and_new() {
        let parent = cairn_testkit::temp_dir();
        let scratch = Scratch::create(parent.path()).unwrap();
        let dir = scratch.path().to_owned();
        assert!(dir.starts_with(parent.path()));
        assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
        // An existing entry of that name is not used: a link to nothing, a link to a folder, a folder.
        let victim = parent.path().join("victim");
        fs::create_dir(&victim).unwrap();
        for (name, make) in [("a", Some("nowhere")), ("b", Some("victim")), ("c", None)] {
            let path = parent.path().join(name);
            match make {
                Some(target) => symlink(target, &path).unwrap(),
                None => fs::create_dir(&path).unwrap(),
            }
            assert_eq!(Scratch::create_as(path).err().unwrap().kind(), io::ErrorKind::AlreadyExists);
        }
        assert!(!parent.path().join("nowhere").exists() && fs::read_dir(&victim).unwrap().next().is_none());
        drop(scratch);
        assert!(!dir.exists());
    }

    #[test]
    fn only_what_a_dead_process_left_is_removed() {
        let parent = cairn_testkit::temp_dir();
        let living = Scratch::create(parent.path()).unwrap();
        let dead = parent.path().join(format!("{PREFIX}dead"));
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join(LOCK), "").unwrap();
        // Its process may be about to lock it.
        let young = parent.path().join(format!("{PREFIX}young"));
        fs::create_dir(&young).unwrap();
        let victim = parent.path().join("victim");
        fs::create_dir(&victim).unwrap();
        fs::write(victim.join(LOCK), "").unwrap();
        symlink("victim", parent.path().join(format!("{PREFIX}link"))).unwrap();
        symlink("../victim", dead.join("link")).unwrap();
        let next = Scratch::create(parent.path()).unwrap();
        assert!(!dead.exists());
        assert!(living.path().exists() && next.path().exists() && young.exists());
        assert!(victim.join(LOCK).exists() && parent.path().join(format!("{PREFIX}link")).is_symlink());
    }

    #[test]
    fn another_place_is_used_where_the_first_cannot_be() {
        let parent = cairn_testkit::temp_dir();
        let scratch = Scratch::create(&parent.path().join("missing")).unwrap();
        assert!(scratch.path().exists() && !parent.path().join("missing").exists());
    }
}
