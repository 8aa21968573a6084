//! A copy of the index and of the data that is kept beside it, in a folder.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    path::{Path, PathBuf},
};

use cairn_reader::freeze;
use cairn_store::files::remove_path;

use crate::CheckpointError;

/// Data that is copied in addition to the index: its name, the name of its file, and the function that writes it.
pub struct ExtraFile<'b> {
    /// Its name, for errors.
    pub what: &'static str,
    /// Name of its file in the folder of the checkpoint.
    pub name: &'static str,
    /// Writes the file; an error as text.
    pub write: &'b dyn Fn(&Path) -> Result<(), String>,
}

/// Copies the index in `index` to `to/index`, and the rest beside it. Files of an earlier attempt are replaced.
pub(crate) fn copy_index(index: &Path, to: &Path, beside: &[ExtraFile<'_>]) -> Result<PathBuf, CheckpointError> {
    let copy = to.join("index");
    remove_path(&copy)?;
    freeze(index, &copy)?;
    for ExtraFile { what, name, write } in beside {
        let path = to.join(name);
        remove_path(&path)?;
        write(&path).map_err(|why| CheckpointError::ExtraFile { what, why })?;
    }
    Ok(copy)
}

/// Creates a file and takes the lock on it, which only one process can have.
pub(crate) fn lock(path: &Path, what: &str) -> Result<File, CheckpointError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(CheckpointError::at(folder))?;
    }
    let file = OpenOptions::new().create(true).append(true).open(path).map_err(CheckpointError::at(path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(CheckpointError::Folder(format!("another process {what}"))),
        Err(TryLockError::Error(error)) => Err(CheckpointError::at(path)(error)),
    }
}
