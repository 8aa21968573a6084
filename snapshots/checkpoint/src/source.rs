//! The place from which a checkpoint is read: a folder, or a store.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cairn_model::CancelToken;
use cairn_store::{PIECE, Store, StoreError};

use crate::{
    CHECKPOINT, CheckpointError, FileEntry, Manifest, SIGNATURE, Trust,
    cut::FileHashes,
    files::{copy, read_all},
    pieces::{each, join},
    stored::{CHECKPOINTS, MAX_MANIFEST, stored_checkpoints},
};

/// How table files of a folder are placed. They never change; all other files are copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placing {
    /// Copied.
    Copy,
    /// As hard links: at once and without space, on the file system of the checkpoint.
    Link,
}

/// The place from which a checkpoint is read.
pub enum Source<'s> {
    /// A folder.
    Folder(PathBuf),
    /// A store, and the name of the checkpoint; `None`: the newest one.
    Store(&'s Store, Option<String>),
}

impl Source<'_> {
    /// Its place, for people.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Source::Folder(folder) => folder.display().to_string(),
            Source::Store(store, _) => store.location().to_string(),
        }
    }

    /// The manifest, after its signature was checked.
    pub fn manifest(&self, trust: &Trust) -> Result<Manifest, CheckpointError> {
        let none = |place: String, what: &str| CheckpointError::Manifest { place, what: what.to_owned() };
        let incomplete = "there is none: the folder has no checkpoint, or one that is not complete";
        let (place, text, signature) = match self {
            Source::Folder(folder) => {
                let read = |name: &str| match fs::read(folder.join(name)) {
                    Ok(bytes) => Ok(Some(bytes)),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                    Err(error) => Err(CheckpointError::at(folder.join(name))(error)),
                };
                let place = folder.join(CHECKPOINT).display().to_string();
                let text = read(CHECKPOINT)?.ok_or_else(|| none(place.clone(), incomplete))?;
                (place, text, read(SIGNATURE)?)
            }
            Source::Store(store, name) => {
                let newest = || -> Result<String, CheckpointError> {
                    let newest = stored_checkpoints(store)?.pop().map(|kept| kept.name);
                    newest.ok_or_else(|| none(store.location().to_string(), "it has no checkpoint"))
                };
                let name = name.clone().map_or_else(newest, Ok)?;
                let object = |file: &str| format!("{CHECKPOINTS}/{name}/{file}");
                let place = store.shown(&object(CHECKPOINT));
                let text = store.read(&object(CHECKPOINT), MAX_MANIFEST)?;
                let text = text.ok_or_else(|| none(place.clone(), "there is none of this name"))?;
                (place, text, store.read(&object(SIGNATURE), 64 << 10)?)
            }
        };
        trust.check(&text, signature.as_deref(), &place)?;
        Manifest::parse(&text, &place)
    }

    /// The place of a file, for people.
    pub(crate) fn place(&self, file: &FileEntry) -> String {
        match self {
            Source::Folder(folder) => folder.join(&file.path).display().to_string(),
            Source::Store(..) => format!("{}: {}", self.shown(), file.path),
        }
    }

    /// Writes a file of the checkpoint to a path, and compares it.
    pub(crate) fn fetch(
        &self,
        file: &FileEntry,
        to: &Path,
        placing: Placing,
        cancel: &CancelToken,
        mut seen: impl FnMut(u64),
    ) -> Result<(), CheckpointError> {
        match self {
            Source::Store(store, _) => join(store, file, to, seen),
            Source::Folder(folder) => {
                let from = folder.join(&file.path);
                let found = if placing == Placing::Link && to.extension().is_some_and(|end| end == "sst") {
                    fs::hard_link(&from, to).map_err(CheckpointError::at(to))?;
                    read_all(to, cancel, |part| {
                        seen(part.len() as u64);
                        Ok(())
                    })?
                } else {
                    copy(&from, to, cancel, seen)?
                };
                wrong(&found, file)
                    .map_or(Ok(()), |what| Err(CheckpointError::Damaged { place: self.place(file), what }))
            }
        }
    }

    /// Reads a file of the checkpoint and returns its difference from the manifest, if there is one.
    pub(crate) fn compare(&self, file: &FileEntry, cancel: &CancelToken) -> Result<Option<String>, CheckpointError> {
        let read = match self {
            Source::Folder(folder) => {
                read_all(&folder.join(&file.path), cancel, |_| Ok(())).map(|found| wrong(&found, file))
            }
            Source::Store(store, _) => each(store, file, |_| Ok(())).map(|()| None),
        };
        match read {
            Err(CheckpointError::Damaged { place, what }) => Ok(Some(format!("{place}: {what}"))),
            Err(error @ CheckpointError::Store(StoreError::File { .. })) => Ok(Some(error.to_string())),
            other => other,
        }
    }
}

pub(crate) fn wrong(found: &FileHashes, file: &FileEntry) -> Option<String> {
    if found.bytes != file.bytes {
        return Some(format!("it has {} bytes, the manifest says {}", found.bytes, file.bytes));
    }
    let (at, (is, said)) = found.pieces.iter().zip(&file.pieces).enumerate().find(|(_, (is, said))| is != said)?;
    let from = at as u64 * PIECE as u64;
    Some(format!("the SHA-256 from byte {from} on is {is}, the manifest says {said}"))
}
