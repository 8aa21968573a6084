//! Restores a checkpoint.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use cairn_model::CancelToken;
use cairn_reader::{Reader, mark_replica, replica_of};
use cairn_store::{
    StoreError,
    files::{files_below, remove_path, sync_folder, write_file},
    on_threads,
};

use crate::{
    CheckpointError, FileEntry, Manifest, Placing, Source, Trust,
    copy::lock,
    files::read_all,
    manifest::INDEX,
    source::wrong,
    swap,
    work::{OnProgress, WORK},
};

/// Destination of a restore, and its options.
#[derive(Clone, Debug)]
pub struct Target {
    /// The data folder.
    pub datadir: PathBuf,
    /// How table files of a folder are placed.
    pub placing: Placing,
    /// True if the data folder is to be a replica: its index is replaced by newer checkpoints from the same place, and
    /// nothing else writes to it.
    pub is_replica: bool,
    /// Folder for the data that the checkpoint has beside the index; `None`: it is not restored.
    pub beside: Option<PathBuf>,
    /// Files that are fetched at a time.
    pub workers: usize,
}

/// Result of a restore.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restored {
    /// The manifest.
    pub manifest: Manifest,
    /// Bytes that were in the index before, or came in an attempt that was stopped.
    pub kept_bytes: u64,
    /// False if the index was this one already.
    pub is_new: bool,
    /// Paths of the data that was beside the index.
    pub beside: Vec<PathBuf>,
}

/// Problem of a restored index in a folder; `None` if there is none.
pub type Audit<'a> = dyn Fn(&Path) -> Result<Option<String>, CheckpointError> + 'a;

/// Name, in the data folder, of an index that is being restored.
const UNFINISHED: &str = "index.restoring";
/// Name of the manifest in the folder of a replica's index. It comes and goes with the index, at once.
const RESTORED: &str = "restored.json";

/// Restores a checkpoint to a data folder that has no index, or is a replica of the same place. Each file is compared
/// with the manifest before the index takes its place at once, and the index is opened. After a stop or a kill, it goes
/// on with the files that were fetched. A replica keeps the table files that it has already, if they match the
/// manifest.
///
/// # Errors
/// Leaves the index that was there before unchanged.
pub fn restore(
    source: &Source<'_>,
    trust: &Trust,
    target: &Target,
    cancel: &CancelToken,
    seen: &OnProgress<'_>,
) -> Result<Restored, CheckpointError> {
    restore_audited(source, trust, target, &|_| Ok(None), cancel, seen)
}

/// As [`restore`]; a new index is also audited before it takes its place.
///
/// # Errors
/// Fails as [`restore`] does, and with [`CheckpointError::Damaged`] if the audit finds something.
pub fn restore_audited(
    source: &Source<'_>,
    trust: &Trust,
    target: &Target,
    audit: &Audit<'_>,
    cancel: &CancelToken,
    seen: &OnProgress<'_>,
) -> Result<Restored, CheckpointError> {
    let Target { datadir, .. } = target;
    let index = datadir.join("index");
    check_place(source, target, &index)?;
    let _lock = lock(&datadir.join(WORK).join("restore.lock"), &format!("restores to {}", datadir.display()))?;
    let manifest = source.manifest(trust)?;
    let before = before(&index);
    if let Some(before) = before.as_ref().filter(|before| !before.is_of_network_of(&manifest)) {
        return Err(CheckpointError::Folder(format!(
            "{} has an index of {}, the checkpoint is of {}; name another data folder",
            datadir.display(),
            before.network_name(),
            manifest.network_name()
        )));
    }
    let is_new = before.as_ref() != Some(&manifest);
    let unfinished = datadir.join(UNFINISHED);
    let old: HashMap<&str, &FileEntry> =
        before.iter().flat_map(|before| &before.files).map(|file| (file.path.as_str(), file)).collect();
    fs::create_dir_all(&unfinished).map_err(CheckpointError::at(&unfinished))?;
    let work = Work { source, target, index: &index, unfinished: &unfinished, old, kept: AtomicU64::new(0) };
    let mut beside = Vec::new();
    if is_new {
        work.all(&manifest, cancel, seen)?;
        check_tip(source, &unfinished, &manifest)?;
        if let Some(what) = audit(&unfinished)? {
            return Err(CheckpointError::Damaged { place: source.shown(), what });
        }
    }
    if let Some(folder) = &target.beside {
        beside = work.beside(folder, &manifest, cancel)?;
    }
    if target.is_replica {
        // Mark it before the index is there, so that nothing writes to it meanwhile.
        mark_replica(datadir, &source.shown()).map_err(CheckpointError::at(datadir))?;
    }
    let kept_bytes = work.kept.load(Ordering::Relaxed);
    if is_new {
        if target.is_replica {
            write_file(&unfinished.join(RESTORED), manifest.text()?.as_bytes())?;
        }
        swap::put(&unfinished, &index)?;
    }
    // The index that was there before, if there was one.
    remove_path(&unfinished)?;
    Ok(Restored { manifest, kept_bytes, is_new, beside })
}

/// An error if the data folder has an index that is not to be replaced.
fn check_place(source: &Source<'_>, target: &Target, index: &Path) -> Result<(), CheckpointError> {
    let shown = target.datadir.display();
    let of = replica_of(&target.datadir).map_err(CheckpointError::at(&target.datadir))?;
    match of {
        Some(from) if from != source.shown() => Err(CheckpointError::Folder(format!(
            "{shown} is a replica of {from}, not of {}; name that place, or another data folder",
            source.shown()
        ))),
        Some(_) if !target.is_replica => Err(CheckpointError::Folder(format!(
            "{shown} is a replica: give --replica to bring it up to date, or name another data folder"
        ))),
        None if index.exists() => Err(CheckpointError::Folder(format!(
            "{shown} has an index that is not a replica; move it away, or name another data folder"
        ))),
        _ => Ok(()),
    }
}

/// The manifest of the index of a replica, if that is the index that is there.
fn before(index: &Path) -> Option<Manifest> {
    let text = fs::read(index.join(RESTORED)).ok()?;
    let manifest = Manifest::parse(&text, RESTORED).ok()?;
    // If a user made it an index of its own, and a replica again, may have written to it.
    let reader = Reader::open(index).ok()?;
    let tip = *reader.view().ok()?.tip();
    (tip.hash.to_string() == manifest.tip_hash && tip.seq == manifest.event_seq).then_some(manifest)
}

fn check_tip(source: &Source<'_>, index: &Path, manifest: &Manifest) -> Result<(), CheckpointError> {
    let reader = Reader::open(index)?;
    let tip = *reader.view()?.tip();
    if (tip.height, tip.hash.to_string()) == (manifest.tip_height, manifest.tip_hash.clone()) {
        return Ok(());
    }
    Err(CheckpointError::Damaged {
        place: source.shown(),
        what: format!(
            "its newest block is {} {}, the manifest says {} {}",
            tip.height, tip.hash, manifest.tip_height, manifest.tip_hash
        ),
    })
}

struct Work<'w> {
    source: &'w Source<'w>,
    target: &'w Target,
    index: &'w Path,
    unfinished: &'w Path,
    /// Files of the index that is there, by path.
    old: HashMap<&'w str, &'w FileEntry>,
    kept: AtomicU64,
}

impl Work<'_> {
    /// Brings all files of the index.
    fn all(&self, manifest: &Manifest, cancel: &CancelToken, seen: &OnProgress<'_>) -> Result<(), CheckpointError> {
        let mut files: Vec<(&str, &FileEntry)> =
            manifest.files.iter().filter_map(|file| Some((file.path.strip_prefix(INDEX)?, file))).collect();
        files.sort_unstable_by_key(|(_, file)| std::cmp::Reverse(file.bytes));
        let total = files.iter().map(|(_, file)| file.bytes).sum();
        self.sweep(&files)?;
        let done = AtomicU64::new(0);
        let more = |bytes: u64| seen(done.fetch_add(bytes, Ordering::Relaxed) + bytes, total);
        on_threads::<_, CheckpointError>(
            self.target.workers,
            files.len(),
            cancel,
            || Ok(()),
            |(), at| {
                let Some((name, file)) = files.get(at) else { return Ok(()) };
                let to = self.unfinished.join(name);
                if self.has(file, &to, cancel)? || self.keeps(name, file, &to, cancel)? {
                    self.kept.fetch_add(file.bytes, Ordering::Relaxed);
                    more(file.bytes);
                    return Ok(());
                }
                // A file of an earlier attempt may be a link to a file of a checkpoint, which must not change.
                remove_path(&to)?;
                self.source.fetch(file, &to, self.target.placing, cancel, more)
            },
        )?;
        Ok(sync_folder(self.unfinished)?)
    }

    /// True if an attempt that was stopped has brought the file: it is compared.
    fn has(&self, file: &FileEntry, to: &Path, cancel: &CancelToken) -> Result<bool, CheckpointError> {
        if !fs::symlink_metadata(to).is_ok_and(|of| of.is_file() && of.len() == file.bytes) {
            return Ok(false);
        }
        Ok(wrong(&read_all(to, cancel, |_| Ok(()))?, file).is_none())
    }

    /// True if the index that is there has the same table file, which is used by a hard link. It is read and compared:
    /// a replica whose disk has damaged a file is mended by the next checkpoint.
    fn keeps(&self, name: &str, file: &FileEntry, to: &Path, cancel: &CancelToken) -> Result<bool, CheckpointError> {
        let is_same = |old: &&&FileEntry| **old == file;
        if !name.ends_with(".sst") || self.old.get(file.path.as_str()).filter(is_same).is_none() {
            return Ok(false);
        }
        drop(fs::remove_file(to));
        // A file that is gone, or a disk that cannot read it: it is fetched.
        if fs::hard_link(self.index.join(name), to).is_err() {
            return Ok(false);
        }
        match self.has(file, to, cancel) {
            Err(CheckpointError::Store(StoreError::File { .. })) => Ok(false),
            other => other,
        }
    }

    /// Removes files that an incomplete restore of another checkpoint left.
    fn sweep(&self, files: &[(&str, &FileEntry)]) -> Result<(), CheckpointError> {
        let known: std::collections::HashSet<PathBuf> =
            files.iter().map(|(name, _)| self.unfinished.join(name)).collect();
        for path in files_below(self.unfinished)?.into_iter().filter(|path| !known.contains(path)) {
            fs::remove_file(&path).map_err(CheckpointError::at(&path))?;
        }
        Ok(())
    }

    /// Brings the data beside the index to a folder.
    fn beside(
        &self,
        folder: &Path,
        manifest: &Manifest,
        cancel: &CancelToken,
    ) -> Result<Vec<PathBuf>, CheckpointError> {
        fs::create_dir_all(folder).map_err(CheckpointError::at(folder))?;
        let mut found = Vec::new();
        for file in manifest.files.iter().filter(|file| !file.path.starts_with(INDEX)) {
            let to = folder.join(&file.path);
            if to.exists() {
                return Err(CheckpointError::Folder(format!("{} exists; move it away", to.display())));
            }
            // Only the owner may read the file, since it has data about keys.
            let private = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&to);
            private.map_err(CheckpointError::at(&to))?;
            self.source.fetch(file, &to, Placing::Copy, cancel, |_| {})?;
            found.push(to);
        }
        Ok(found)
    }
}
