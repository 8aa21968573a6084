//! Destination of an export: a folder, or a store.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File, OpenOptions, TryLockError},
    path::{Path, PathBuf},
};

use cairn_store::{
    Lease, Store,
    files::{read_file, remove_path, sync_folder_of, write_file},
};

use crate::ExportError;

/// Destination of an export.
#[derive(Clone, Copy, Debug)]
pub enum Destination<'p> {
    /// A folder.
    Folder(&'p Path),
    /// A store.
    Store(&'p Store),
}

/// Most bytes of a manifest.
const MAX_MANIFEST: u64 = 1 << 30;

/// File that marks an incomplete export, and the process that writes it.
pub(crate) enum DestinationLock<'p> {
    Folder(#[expect(dead_code, reason = "the lock ends with it")] File),
    Store(Lease<'p>),
}

impl DestinationLock<'_> {
    /// To be called often.
    pub(crate) fn renew(&self) -> Result<(), ExportError> {
        match self {
            DestinationLock::Folder(_) => Ok(()),
            DestinationLock::Store(lease) => Ok(lease.renew()?),
        }
    }
}

impl<'p> Destination<'p> {
    /// The place of the export, or of one of its files, for people.
    pub(crate) fn shown(&self, name: &str) -> String {
        match self {
            Destination::Folder(folder) => folder.join(name).display().to_string(),
            Destination::Store(store) if name.is_empty() => store.location().to_string(),
            Destination::Store(store) => store.shown(name),
        }
    }

    /// The text of a small file; `None` if there is none.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, ExportError> {
        match self {
            Destination::Folder(folder) => Ok(read_file(&folder.join(name))?),
            Destination::Store(store) => Ok(store.read(name, MAX_MANIFEST)?),
        }
    }

    /// Writes a small file so that it is there as a whole or not at all.
    pub(crate) fn write(&self, name: &str, text: &[u8]) -> Result<(), ExportError> {
        match self {
            Destination::Folder(folder) => Ok(write_file(&folder.join(name), text)?),
            Destination::Store(store) => Ok(store.write(name, text.to_vec())?),
        }
    }

    /// Removes a file that may not be there.
    pub(crate) fn remove(&self, name: &str) -> Result<(), ExportError> {
        match self {
            Destination::Folder(folder) => {
                let path = folder.join(name);
                remove_path(&path)?;
                Ok(sync_folder_of(&path)?)
            }
            Destination::Store(store) => Ok(store.remove(name)?),
        }
    }

    /// True if there is a file.
    pub(crate) fn has(&self, name: &str) -> Result<bool, ExportError> {
        match self {
            Destination::Folder(folder) => Ok(folder.join(name).exists()),
            Destination::Store(store) => Ok(store.find(name)?.is_some()),
        }
    }

    /// True if there is nothing.
    pub(crate) fn is_empty(&self) -> Result<bool, ExportError> {
        match self {
            Destination::Folder(folder) => Ok(fs::read_dir(folder).map_err(ExportError::at(*folder))?.next().is_none()),
            Destination::Store(store) => Ok(store.list("")?.is_empty()),
        }
    }

    /// Takes the file that marks the export as not complete. Only one process has it; `own` is equal for all processes
    /// of the same export.
    pub(crate) fn hold(&self, mark: &str, own: &str) -> Result<DestinationLock<'p>, ExportError> {
        match self {
            Destination::Folder(folder) => {
                let path = folder.join(mark);
                let lock = OpenOptions::new().create(true).append(true).open(&path).map_err(ExportError::at(&path))?;
                match lock.try_lock() {
                    Ok(()) => Ok(DestinationLock::Folder(lock)),
                    Err(TryLockError::WouldBlock) => {
                        Err(ExportError::Folder(format!("another process exports to {}", folder.display())))
                    }
                    Err(TryLockError::Error(error)) => Err(ExportError::at(path)(error)),
                }
            }
            Destination::Store(store) => Ok(DestinationLock::Store(Lease::resume(store, mark, own)?)),
        }
    }

    /// The path at which a file of rows is written: its own place, or, for a store, a folder of this machine.
    pub(crate) fn path_of(&self, name: &str, staging: &Path) -> PathBuf {
        match self {
            Destination::Folder(folder) => folder.join(name),
            Destination::Store(_) => staging.join(name),
        }
    }

    /// Brings a complete file of rows to its place.
    pub(crate) fn publish(&self, name: &str, staging: &Path) -> Result<(), ExportError> {
        let Destination::Store(store) = self else { return Ok(()) };
        let path = self.path_of(name, staging);
        store.send(name, &path, &mut |_| {})?;
        fs::remove_file(&path).map_err(ExportError::at(path))
    }

    /// The bytes of all files in these folders, by name.
    pub(crate) fn sizes(&self, folders: &[&str]) -> Result<HashMap<String, u64>, ExportError> {
        let mut found = HashMap::new();
        match self {
            Destination::Folder(root) => {
                folders.iter().try_for_each(|folder| sizes_below(root, &root.join(folder), &mut found))?;
            }
            Destination::Store(store) => {
                let is_in = |name: &str| folders.iter().any(|folder| is_in(name, folder));
                let objects = store.list("")?.into_iter().filter(|object| is_in(&object.name));
                found.extend(objects.map(|object| (object.name, object.bytes)));
            }
        }
        Ok(found)
    }

    /// Removes files in these folders that are not known.
    pub(crate) fn sweep(&self, folders: &[&str], known: &HashSet<&str>) -> Result<(), ExportError> {
        match self {
            Destination::Folder(root) => {
                let known = known.iter().map(|name| root.join(name)).collect();
                folders.iter().try_for_each(|folder| sweep_folder(&root.join(folder), &known))
            }
            Destination::Store(store) => {
                let there = self.sizes(folders)?;
                let unknown = there.keys().filter(|name| !known.contains(name.as_str()));
                unknown.into_iter().try_for_each(|name| Ok(store.remove(name)?))
            }
        }
    }
}

/// True for the name of a file in the folder of a dataset.
fn is_in(name: &str, dataset: &str) -> bool {
    name.strip_prefix(dataset).is_some_and(|rest| rest.starts_with('/'))
}

fn sizes_below(root: &Path, folder: &Path, found: &mut HashMap<String, u64>) -> Result<(), ExportError> {
    let Ok(there) = fs::read_dir(folder) else { return Ok(()) };
    for entry in there {
        let entry = entry.map_err(ExportError::at(folder))?;
        let path = entry.path();
        if entry.file_type().is_ok_and(|of| of.is_dir()) {
            sizes_below(root, &path, found)?;
        } else if let (Ok(name), Ok(of)) = (path.strip_prefix(root), fs::metadata(&path)) {
            found.insert(name.to_string_lossy().into_owned(), of.len());
        }
    }
    Ok(())
}

/// Removes files that are not known, and folders that are empty then.
fn sweep_folder(folder: &Path, known: &HashSet<PathBuf>) -> Result<(), ExportError> {
    let Ok(there) = fs::read_dir(folder) else { return Ok(()) };
    for entry in there {
        let entry = entry.map_err(ExportError::at(folder))?;
        let path = entry.path();
        if entry.file_type().is_ok_and(|of| of.is_dir()) {
            sweep_folder(&path, known)?;
        } else if !known.contains(&path) {
            remove_path(&path)?;
        }
    }
    // Fails if it is not empty.
    drop(fs::remove_dir(folder));
    Ok(())
}
