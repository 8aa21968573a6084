//! Files of checkpoints in the data folder, and progress for their callers.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cairn_store::identity;

use crate::CheckpointError;

/// How far work on files is: bytes done, and in all.
pub type Seen<'s> = dyn Fn(u64, u64) + Sync + 's;

/// In the data folder: what checkpoints need meanwhile, and hashes that are known.
pub(crate) const WORK: &str = "checkpoints";
/// The object of a store that the one process has that writes.
pub(crate) const LEASE: &str = "writing";

/// The file of the hashes that are known.
pub(crate) fn hashes_in(datadir: &Path) -> PathBuf {
    datadir.join(WORK).join("hashes.json")
}

/// Who holds the lease of a store.
pub(crate) fn holder(datadir: &Path) -> Result<String, CheckpointError> {
    let folder = datadir.join(WORK);
    fs::create_dir_all(&folder).map_err(CheckpointError::at(&folder))?;
    Ok(format!("a checkpoint from {}", identity(&folder.join("id"))?))
}
