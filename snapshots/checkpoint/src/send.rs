//! Sends a checkpoint to a store.

use std::{
    collections::HashSet,
    fs,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use cairn_model::CancelToken;
use cairn_store::{
    Lease, Store,
    files::{files_below, remove_path},
    on_threads,
};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::{
    CheckpointError, ExtraFile, FileEntry, Manifest, SIGNATURE, Signer,
    copy::{copy_index, lock},
    cut::cut,
    hashes::Hashes,
    pieces::{PIECES, hash_in, name_of},
    stored::CHECKPOINTS,
    work::{LEASE, OnProgress, WORK, hashes_in, holder},
};

/// How a checkpoint is sent.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// Pieces that are sent at a time. Each takes 32 MiB of memory.
    pub workers: usize,
}

/// Sent data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    /// The name of the checkpoint in the store.
    pub name: String,
    /// Its manifest.
    pub manifest: Manifest,
    /// Bytes that the store did not have.
    pub new_bytes: u64,
}

/// Sends a checkpoint of the index of the data folder `datadir` to a store. Files are cut into pieces, and only pieces
/// that the store lacks are sent, so pieces of an attempt that was stopped are not sent again. A writer may go on
/// meanwhile.
///
/// # Errors
/// Leaves no such checkpoint in the store. Pieces of it stay until one is sent, or until [`crate::prune`] removes them.
pub fn send(
    datadir: &Path,
    store: &Store,
    beside: &[ExtraFile<'_>],
    signer: Option<&Signer>,
    sending: Sending,
    cancel: &CancelToken,
    seen: &OnProgress<'_>,
) -> Result<Sent, CheckpointError> {
    // One folder for each store.
    let own = hex::encode(&Sha256::digest(store.location().to_string())[..8]);
    let work = datadir.join(WORK).join(own);
    let _lock = lock(&work.with_extension("lock"), &format!("sends a checkpoint to {}", store.location()))?;
    remove_path(&work)?;
    fs::create_dir_all(&work).map_err(CheckpointError::at(&work))?;
    let lease = Lease::take(store, LEASE, &holder(datadir)?)?;
    let sent = send_from(datadir, &work, store, &lease, beside, signer, sending, cancel, seen);
    // Also after a failure: the copy keeps table files that the index replaces.
    let removed = remove_path(&work);
    let sent = sent?;
    removed?;
    Ok(sent)
}

#[expect(clippy::too_many_arguments, reason = "it is the body of `send`, and what that holds for it")]
fn send_from(
    datadir: &Path,
    work: &Path,
    store: &Store,
    lease: &Lease<'_>,
    beside: &[ExtraFile<'_>],
    signer: Option<&Signer>,
    sending: Sending,
    cancel: &CancelToken,
    seen: &OnProgress<'_>,
) -> Result<Sent, CheckpointError> {
    let copy = copy_index(&datadir.join("index"), work, beside)?;
    let there: HashSet<String> =
        store.list(PIECES)?.iter().filter_map(|object| hash_in(&object.name).map(str::to_owned)).collect();
    let uploads = Uploads { store, lease, there: Mutex::new(there), new_bytes: AtomicU64::new(0) };
    let hashes = Hashes::read(&hashes_in(datadir));
    let files = send_files(work, &uploads, &hashes, sending, cancel, seen);
    let new_bytes = uploads.new_bytes.load(Ordering::Relaxed);
    // Without them, the next checkpoint reads all files again.
    let _ = hashes.keep();
    let manifest = Manifest::of(&copy, files?)?;
    let text = manifest.text()?;
    let name = name(&manifest);
    let folder = format!("{CHECKPOINTS}/{name}");
    if let Some(signer) = signer {
        let signature = signer.sign(text.as_bytes(), &manifest.line())?;
        store.write(&format!("{folder}/{SIGNATURE}"), signature.into_bytes())?;
    }
    store.write(&format!("{folder}/{}", crate::CHECKPOINT), text.into_bytes())?;
    Ok(Sent { name, manifest, new_bytes })
}

/// Names sort by the time of their making.
fn name(manifest: &Manifest) -> String {
    let time: String = manifest.made_at.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    format!("{time}-{:09}", manifest.tip_height)
}

/// State shared by threads.
struct Uploads<'u> {
    store: &'u Store,
    lease: &'u Lease<'u>,
    /// Hashes of pieces that are there, or are being sent.
    there: Mutex<HashSet<String>>,
    new_bytes: AtomicU64,
}

impl Uploads<'_> {
    fn piece(&self, piece: Vec<u8>, hash: &str) -> Result<(), CheckpointError> {
        let is_new = self.there.lock().insert(hash.to_owned());
        if is_new {
            let bytes = piece.len() as u64;
            self.store.write(&name_of(hash), piece)?;
            self.new_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(self.lease.renew()?)
    }

    fn has_all(&self, pieces: &[String]) -> bool {
        let there = self.there.lock();
        pieces.iter().all(|piece| there.contains(piece))
    }
}

fn send_files(
    work: &Path,
    uploads: &Uploads<'_>,
    hashes: &Hashes,
    sending: Sending,
    cancel: &CancelToken,
    seen: &OnProgress<'_>,
) -> Result<Vec<FileEntry>, CheckpointError> {
    let (mut paths, mut total) = (Vec::new(), 0);
    for path in files_below(work)? {
        let bytes = fs::metadata(&path).map_err(CheckpointError::at(&path))?.len();
        total += bytes;
        paths.push((bytes, path));
    }
    // The longest first, so that none is left alone at the end.
    paths.sort_unstable_by(|a, b| b.cmp(a));
    let (files, done) = (Mutex::new(Vec::with_capacity(paths.len())), AtomicU64::new(0));
    on_threads::<_, CheckpointError>(
        sending.workers,
        paths.len(),
        cancel,
        || Ok(()),
        |(), at| {
            let Some((bytes, path)) = paths.get(at) else { return Ok(()) };
            let (pieces, is_new) = hashes.of(
                path,
                |pieces| uploads.has_all(pieces),
                || {
                    cut(path, cancel, |piece, hash| {
                        let length = piece.len() as u64;
                        uploads.piece(piece, hash)?;
                        seen(done.fetch_add(length, Ordering::Relaxed) + length, total);
                        Ok(())
                    })
                },
            )?;
            if !is_new {
                seen(done.fetch_add(*bytes, Ordering::Relaxed) + bytes, total);
            }
            let relative = path.strip_prefix(work).unwrap_or(path).to_string_lossy().into_owned();
            let file = FileEntry { path: relative, bytes: *bytes, pieces };
            files.lock().push(file);
            Ok(())
        },
    )?;
    Ok(files.into_inner())
}
