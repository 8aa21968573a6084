//! Files of checkpoints in the data folder, and progress for their callers.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cairn_store::identity;

use crate::CheckpointError;

/// Reports the progress of work on files: bytes done, and all bytes.
pub type OnProgress<'s> = dyn Fn(u64, u64) + Sync + 's;

/// Folder, in the data folder, of temporary files of checkpoints and of known hashes.
pub(crate) const WORK: &str = "checkpoints";
/// The object of a store that only the process that writes to it holds.
pub(crate) const LEASE: &str = "writing";

/// The file of the hashes that are known.
pub(crate) fn hashes_in(datadir: &Path) -> PathBuf {
    datadir.join(WORK).join("hashes.json")
}

/// The holder of the lease of a store.
pub(crate) fn holder(datadir: &Path) -> Result<String, CheckpointError> {
    let folder = datadir.join(WORK);
    fs::create_dir_all(&folder).map_err(CheckpointError::at(&folder))?;
    Ok(format!("a checkpoint from {}", identity(&folder.join("id"))?))
}
