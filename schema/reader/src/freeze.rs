//! A copy of the index as it is now, which does not change and costs no space until the index does: hard links to its
//! table files.

use std::path::Path;

use rocksdb::checkpoint::Checkpoint;

use crate::{
    ReadError, check_format_in,
    db::{all_read_only, while_written},
    families::FamiliesKept,
    index_folder::IndexFolder,
};

/// Makes a copy of the index in `dir` at `to`, which must not exist and be on the same file system, or files are
/// copied. A writer may go on meanwhile: the copy is of the state after one of its commits.
pub fn freeze(dir: &Path, to: &Path) -> Result<(), ReadError> {
    if !dir.join("CURRENT").exists() {
        return Err(ReadError::Unusable(format!("no index in {}", dir.display())));
    }
    // The copy is of one index, also if another one takes its place meanwhile.
    let folder = IndexFolder::open(dir)?;
    let dir = folder.path();
    check_format_in(dir)?;
    let _kept = FamiliesKept::wait(dir)?;
    let made = while_written(dir, || {
        // Files of a failed attempt.
        if to.exists() {
            drop(std::fs::remove_dir_all(to));
        }
        let db = all_read_only(dir)?;
        // No write-ahead log: nothing is to be flushed, and a handle that only reads cannot.
        Checkpoint::new(&db)?.create_checkpoint_with_log_size(to, u64::MAX)
    });
    Ok(made?)
}
