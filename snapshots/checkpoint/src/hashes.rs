//! Hashes of table files that are known from the checkpoint before. Table files never change: a new checkpoint reads
//! only new ones.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use cairn_store::files::write_file;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::CheckpointError;

/// Identity of a file: hard links share it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Identity {
    device: u64,
    inode: u64,
    bytes: u64,
    modified_s: i64,
    modified_ns: i64,
}

/// The hashes of the pieces of files, in a file of the data folder.
pub(crate) struct Hashes {
    path: PathBuf,
    before: HashMap<Identity, Vec<String>>,
    now: Mutex<Vec<(Identity, Vec<String>)>>,
}

impl Hashes {
    /// Reads the hashes of the checkpoint before; none if the file cannot be read.
    pub(crate) fn read(path: &Path) -> Self {
        let text = fs::read(path).unwrap_or_default();
        let before: Vec<(Identity, Vec<String>)> = serde_json::from_slice(&text).unwrap_or_default();
        Hashes { path: path.to_owned(), before: before.into_iter().collect(), now: Mutex::default() }
    }

    /// Returns the hashes of the pieces of a file, known ones or those that `make` computes, and true if it computed
    /// them. Only table files are assumed to be unchanged.
    pub(crate) fn of(
        &self,
        path: &Path,
        has_all: impl Fn(&[String]) -> bool,
        make: impl FnOnce() -> Result<Vec<String>, CheckpointError>,
    ) -> Result<(Vec<String>, bool), CheckpointError> {
        if path.extension().is_none_or(|end| end != "sst") {
            return make().map(|known| (known, true));
        }
        let of = fs::metadata(path).map_err(CheckpointError::at(path))?;
        let identity = Identity {
            device: of.dev(),
            inode: of.ino(),
            bytes: of.len(),
            modified_s: of.mtime(),
            modified_ns: of.mtime_nsec(),
        };
        let (known, is_new) = match self.before.get(&identity).filter(|known| has_all(known)) {
            Some(known) => (known.clone(), false),
            None => (make()?, true),
        };
        self.now.lock().push((identity, known.clone()));
        Ok((known, is_new))
    }

    /// Keeps the hashes that were asked for.
    pub(crate) fn keep(self) -> Result<(), CheckpointError> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(CheckpointError::at(folder))?;
        }
        let now = self.now.into_inner();
        let text = serde_json::to_vec(&now).map_err(|e| CheckpointError::at(&self.path)(e.into()))?;
        Ok(write_file(&self.path, &text)?)
    }
}
