//! Compares a checkpoint with its manifest.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicU64, Ordering},
};

use cairn_model::CancelToken;
use cairn_store::{Difference, files::files_below, on_threads};
use parking_lot::Mutex;

use crate::{CHECKPOINT, CheckpointError, Manifest, SIGNATURE, Source, Trust, work::OnProgress};

/// Files that are read at a time.
const READERS: usize = 4;

/// Compared files.
pub type Checked = cairn_store::Checked<Manifest>;

/// Reads each file of a checkpoint and compares it with the manifest. In a folder, it also finds files that the
/// manifest does not name.
pub fn verify(
    source: &Source<'_>,
    trust: &Trust,
    cancel: &CancelToken,
    seen: &OnProgress<'_>,
) -> Result<Checked, CheckpointError> {
    let manifest = source.manifest(trust)?;
    let (total, done, found) = (manifest.bytes(), AtomicU64::new(0), Mutex::new(Vec::new()));
    on_threads::<_, CheckpointError>(
        READERS,
        manifest.files.len(),
        cancel,
        || Ok(()),
        |(), at| {
            let Some(file) = manifest.files.get(at) else { return Ok(()) };
            if let Some(what) = source.compare(file, cancel)? {
                let path = file.path.clone();
                found.lock().push(Difference { path, what });
            }
            seen(done.fetch_add(file.bytes, Ordering::Relaxed) + file.bytes, total);
            Ok(())
        },
    )?;
    let mut differences = found.into_inner();
    if let Source::Folder(folder) = source {
        let known: HashSet<_> = manifest.files.iter().map(|file| folder.join(&file.path)).collect();
        let is_ours = |path: &std::path::Path| path == folder.join(CHECKPOINT) || path == folder.join(SIGNATURE);
        for path in files_below(folder)?.into_iter().filter(|path| !known.contains(path) && !is_ours(path)) {
            let path = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
            differences.push(Difference { path, what: "it is not in the manifest".to_owned() });
        }
    }
    differences.sort_unstable();
    Ok(Checked { manifest, differences })
}
