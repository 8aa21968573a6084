//! Puts an index in the place of another one, at once.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::Path,
};

use cairn_store::files::sync_folder_of;
use rustix::fs::{CWD, FlockOperation, RenameFlags, fcntl_lock, renameat_with};

use crate::CheckpointError;

/// Puts the index in the folder `from` in the place of the one in `index`. An old index is in `from` then: there is an
/// index at any time. A process that reads the old one goes on with its open files.
pub(crate) fn put(from: &Path, index: &Path) -> Result<(), CheckpointError> {
    let is_there = index.exists();
    let _lock = if is_there { writers_lock(index)? } else { None };
    let placed = match is_there {
        false => fs::rename(from, index),
        true => renameat_with(CWD, from, CWD, index, RenameFlags::EXCHANGE).map_err(io::Error::from),
    };
    placed.map_err(CheckpointError::at(index))?;
    Ok(sync_folder_of(index)?)
}

/// The lock of the database, as long as the file is open. A process that writes the index holds it.
fn writers_lock(index: &Path) -> Result<Option<File>, CheckpointError> {
    let path = index.join("LOCK");
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(CheckpointError::at(&path))?;
    match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(error) if [rustix::io::Errno::AGAIN, rustix::io::Errno::ACCESS].contains(&error) => {
            Err(CheckpointError::Folder(format!(
                "another process writes the index in {}; stop it, or name another data folder",
                index.display()
            )))
        }
        Err(error) => Err(CheckpointError::at(path)(error.into())),
    }
}
