//! The folder of an index, held open. Another index may take its place at the same path while it is read: the index of
//! a replica is exchanged for a newer copy. The files of the two have the same names and nothing else in common.

use std::{
    fs::{self, File, Metadata},
    os::{fd::AsRawFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
};

use crate::ReadError;

/// Attempts to open an index whose place others take meanwhile.
const ATTEMPTS: u32 = 5;

/// The folder that was at a path. While this lives, no other folder has its number, even if it is removed.
#[derive(Debug)]
pub struct IndexFolder {
    dir: PathBuf,
    /// Leads to this very folder, whatever is at `dir` by now.
    path: PathBuf,
    number: (u64, u64),
    _held: File,
}

impl IndexFolder {
    /// The folder that is at `dir` now.
    pub fn open(dir: &Path) -> Result<Self, ReadError> {
        let unusable = |error: std::io::Error| ReadError::Unusable(format!("{}: {error}", dir.display()));
        let held = File::open(dir).map_err(unusable)?;
        let number = number(&held.metadata().map_err(unusable)?);
        let through = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
        // If the system has no such path, readers check afterwards that the folder is still in its place.
        let path = if through.is_dir() { through } else { dir.to_owned() };
        Ok(IndexFolder { dir: dir.to_owned(), path, number, _held: held })
    }

    /// A path that leads to this folder, even if it has another name by now.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if it is still where it was opened.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        fs::metadata(&self.dir).is_ok_and(|now| number(&now) == self.number)
    }

    /// True if another folder is in its place. False if there is none.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        fs::metadata(&self.dir).is_ok_and(|now| number(&now) != self.number)
    }

    /// True if both are the same folder.
    pub(crate) fn is(&self, other: &IndexFolder) -> bool {
        self.number == other.number
    }
}

fn number(of: &Metadata) -> (u64, u64) {
    (of.dev(), of.ino())
}

/// Opens what is at `dir` by this path, again if another index took its place meanwhile: then files of both may have
/// been opened.
pub(crate) fn in_one_place<T>(dir: &Path, mut open: impl FnMut() -> Result<T, ReadError>) -> Result<T, ReadError> {
    for _ in 1..ATTEMPTS {
        let folder = IndexFolder::open(dir)?;
        let opened = open();
        if !folder.is_replaced() {
            return opened;
        }
    }
    open()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_known_whatever_takes_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["index", "newer"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("name"), name).unwrap();
        }
        let before = IndexFolder::open(&at("index")).unwrap();
        assert!(before.is_in_place() && !before.is_replaced());
        fs::rename(at("index"), at("older")).unwrap();
        assert!(!before.is_in_place() && !before.is_replaced(), "nothing is there");
        fs::rename(at("newer"), at("index")).unwrap();
        assert!(!before.is_in_place() && before.is_replaced());
        assert_eq!(fs::read_to_string(before.path().join("name")).unwrap(), "index");
        let after = IndexFolder::open(&at("index")).unwrap();
        assert!(after.is_in_place() && !after.is(&before));
        // A file system gives the number of a removed folder to the next one, unless somebody holds it.
        fs::remove_dir_all(at("older")).unwrap();
        for _ in 0..50 {
            fs::remove_dir_all(at("index")).unwrap();
            fs::create_dir(at("index")).unwrap();
            assert!(before.is_replaced() && after.is_replaced());
        }
        assert!(IndexFolder::open(&at("none")).unwrap_err().to_string().contains("none"));
    }

    #[test]
    fn an_opening_is_repeated_while_others_take_the_place() {
        let folder = tempfile::tempdir().unwrap();
        let (dir, other) = (folder.path().join("index"), folder.path().join("other"));
        let (mut opened, mut swaps) = (0, 2);
        fs::create_dir(&dir).unwrap();
        let found = in_one_place(&dir, || {
            opened += 1;
            if swaps > 0 {
                swaps -= 1;
                fs::create_dir(&other).unwrap();
                fs::remove_dir(&dir).unwrap();
                fs::rename(&other, &dir).unwrap();
                return Err(ReadError::Unusable("files of both".to_owned()));
            }
            Ok(opened)
        });
        assert_eq!(found.unwrap(), 3);
        assert!(in_one_place(&dir, || Err::<(), _>(ReadError::Empty)).is_err(), "an error of its own stays");
    }
}
