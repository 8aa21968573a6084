//! Makes a checkpoint in a folder.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use cairn_model::CancelToken;
use cairn_store::{
    files::{files_below, sync_folder, write_file},
    on_threads,
};
use parking_lot::Mutex;

use crate::{
    CHECKPOINT, CheckpointError, ExtraFile, FileEntry, Manifest, SIGNATURE, Signer,
    copy::{copy_index, lock},
    files::read_all,
    hashes::Hashes,
    work::{OnProgress, hashes_in},
};

/// Marks the folder of a checkpoint that is not complete; one process holds a lock on this file.
const MARK: &str = ".checkpoint-unfinished";
/// Files that are read at a time.
const READERS: usize = 4;

/// Makes a checkpoint of the index of the data folder `datadir` in the folder `to`: a new or empty one, or one in which
/// this was stopped before. On the same file system, table files are hard links: they take no space until the index
/// replaces them. A writer may go on meanwhile.
///
/// # Errors
/// Leaves no manifest in `to`.
pub fn make(
    datadir: &Path,
    to: &Path,
    beside: &[ExtraFile<'_>],
    signer: Option<&Signer>,
    cancel: &CancelToken,
    seen: &OnProgress<'_>,
) -> Result<Manifest, CheckpointError> {
    fs::create_dir_all(to).map_err(CheckpointError::at(to))?;
    let mark = to.join(MARK);
    if !mark.exists() && fs::read_dir(to).map_err(CheckpointError::at(to))?.next().is_some() {
        let has = if to.join(CHECKPOINT).exists() { "has a checkpoint" } else { "is not empty" };
        return Err(CheckpointError::Folder(format!("{} {has}; name another folder", to.display())));
    }
    let _lock = lock(&mark, &format!("makes the checkpoint in {}", to.display()))?;
    let copy = copy_index(&datadir.join("index"), to, beside)?;
    let hashes = Hashes::read(&hashes_in(datadir));
    let files = hash_all(to, &hashes, cancel, seen)?;
    // Without them, the next checkpoint reads all files again.
    let _ = hashes.keep();
    let manifest = Manifest::of(&copy, files)?;
    sync_folder(&copy)?;
    let text = manifest.text()?;
    if let Some(signer) = signer {
        write_file(&to.join(SIGNATURE), signer.sign(text.as_bytes(), &manifest.line())?.as_bytes())?;
    }
    write_file(&to.join(CHECKPOINT), text.as_bytes())?;
    fs::remove_file(&mark).map_err(CheckpointError::at(&mark))?;
    Ok(manifest)
}

fn hash_all(
    to: &Path,
    hashes: &Hashes,
    cancel: &CancelToken,
    seen: &OnProgress<'_>,
) -> Result<Vec<FileEntry>, CheckpointError> {
    let paths: Vec<_> = files_below(to)?.into_iter().filter(|path| !path.ends_with(MARK)).collect();
    let mut total = 0;
    for path in &paths {
        total += fs::metadata(path).map_err(CheckpointError::at(path))?.len();
    }
    let (files, done) = (Mutex::new(Vec::with_capacity(paths.len())), AtomicU64::new(0));
    on_threads::<_, CheckpointError>(
        READERS,
        paths.len(),
        cancel,
        || Ok(()),
        |(), at| {
            let Some(path) = paths.get(at) else { return Ok(()) };
            let bytes = fs::metadata(path).map_err(CheckpointError::at(path))?.len();
            let (pieces, _) = hashes.of(path, |_| true, || Ok(read_all(path, cancel, |_| Ok(()))?.pieces))?;
            let relative = path.strip_prefix(to).unwrap_or(path).to_string_lossy().into_owned();
            let file = FileEntry { path: relative, bytes, pieces };
            files.lock().push(file);
            seen(done.fetch_add(bytes, Ordering::Relaxed) + bytes, total);
            Ok(())
        },
    )?;
    Ok(files.into_inner())
}
