//! The checkpoints of a store, and how old ones are removed.

use std::{
    collections::HashSet,
    path::Path,
    time::{Duration, SystemTime},
};

use cairn_store::{Lease, Store};

use crate::{
    CHECKPOINT, CheckpointError, Manifest, SIGNATURE,
    pieces::{PIECES, hash_in},
    work::{LEASE, holder},
};

/// Folder of the manifests in a store.
pub(crate) const CHECKPOINTS: &str = "checkpoints";
/// Most bytes of a manifest: those of some 15 million pieces.
pub(crate) const MAX_MANIFEST: u64 = 1 << 30;
/// A piece that no checkpoint has is kept for this time: another process may be about to need it.
const YOUNG: Duration = Duration::from_secs(24 * 60 * 60);

/// A checkpoint of a store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredCheckpoint {
    /// Its name. Names sort by the time of their making.
    pub name: String,
    /// When its manifest was written.
    pub written: SystemTime,
    /// True if it has a signature. The signature is checked only when the checkpoint is used.
    pub is_signed: bool,
}

/// The checkpoints of a store that are complete, oldest first.
pub fn stored_checkpoints(store: &Store) -> Result<Vec<StoredCheckpoint>, CheckpointError> {
    let objects = store.list(CHECKPOINTS)?;
    let signed: HashSet<&str> = objects.iter().filter_map(|object| name_in(&object.name, SIGNATURE)).collect();
    let found = objects.iter().filter_map(|object| {
        let name = name_in(&object.name, CHECKPOINT)?;
        Some(StoredCheckpoint { name: name.to_owned(), written: object.modified, is_signed: signed.contains(name) })
    });
    Ok(found.collect())
}

fn name_in<'o>(object: &'o str, file: &str) -> Option<&'o str> {
    object.strip_prefix(CHECKPOINTS)?.strip_prefix('/')?.strip_suffix(file)?.strip_suffix('/')
}

/// Objects removed from a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pruned {
    /// Checkpoints.
    pub checkpoints: u64,
    /// Pieces that no checkpoint has any more.
    pub pieces: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Removes all but the newest checkpoints, and pieces that none of the others has. Pieces younger than a day stay.
/// `datadir` is the data folder of the process that writes to the store.
///
/// # Errors
/// Fails if the store fails, another process writes to it, or a manifest cannot be read; then no piece is removed.
pub fn prune(datadir: &Path, store: &Store, keep: usize) -> Result<Pruned, CheckpointError> {
    prune_as_of(datadir, store, keep, SystemTime::now())
}

/// As [`prune`], at a time.
pub fn prune_as_of(datadir: &Path, store: &Store, keep: usize, now: SystemTime) -> Result<Pruned, CheckpointError> {
    let lease = Lease::take(store, LEASE, &holder(datadir)?)?;
    let all = stored_checkpoints(store)?;
    let (old, new) = all.split_at(all.len().saturating_sub(keep.max(1)));
    let mut pruned = Pruned::default();
    for checkpoint in old {
        lease.renew()?;
        // The manifest goes first: without its signature it would look like an unsigned one.
        for file in [CHECKPOINT, SIGNATURE] {
            store.remove(&format!("{CHECKPOINTS}/{}/{file}", checkpoint.name))?;
        }
        pruned.checkpoints += 1;
    }
    let mut needed = HashSet::new();
    for checkpoint in new {
        lease.renew()?;
        let name = format!("{CHECKPOINTS}/{}/{CHECKPOINT}", checkpoint.name);
        let place = store.shown(&name);
        let gone = || CheckpointError::Manifest { place: place.clone(), what: "it has just been removed".to_owned() };
        let text = store.read(&name, MAX_MANIFEST)?.ok_or_else(gone)?;
        let manifest = Manifest::parse(&text, &place)?;
        needed.extend(manifest.files.into_iter().flat_map(|file| file.pieces));
    }
    for object in store.list(PIECES)? {
        let is_old = now.duration_since(object.modified).is_ok_and(|age| age >= YOUNG);
        if !is_old || hash_in(&object.name).is_none_or(|hash| needed.contains(hash)) {
            continue;
        }
        lease.renew()?;
        store.remove(&object.name)?;
        pruned.pieces += 1;
        pruned.bytes += object.bytes;
    }
    Ok(pruned)
}
