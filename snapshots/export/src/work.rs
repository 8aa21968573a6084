//! What an export needs until it is complete: a copy of the index, what it is to make, and what is done.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

use crate::{
    ExportError, ExportOptions, FileEntry, MANIFEST, Manifest, SCHEMA_VERSION,
    sink::{UNFINISHED, sync_folder_of},
};

/// What an export is to make: a run with another plan does not go on with it.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Planned {
    schema_version: u32,
    program: String,
    out: PathBuf,
    datasets: Vec<String>,
    partitions: String,
    hashes: String,
    amounts: String,
    txids: bool,
    addresses: bool,
    is_incremental: bool,
}

impl Planned {
    fn of(out: &Path, options: &ExportOptions) -> Self {
        Planned {
            schema_version: SCHEMA_VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            out: out.to_owned(),
            datasets: options.datasets.iter().map(|dataset| dataset.name.to_owned()).collect(),
            partitions: options.grid.to_string(),
            hashes: options.format.hashes.name().to_owned(),
            amounts: options.format.amounts.name().to_owned(),
            txids: options.format.txids,
            addresses: options.format.addresses,
            is_incremental: options.is_incremental,
        }
    }
}

const PLAN: &str = "plan.json";
const DONE: &str = "done.jsonl";
const PREVIOUS: &str = "previous.json";
/// In the folder of an export that is not complete: it says whose files these are, and one process holds a lock on it.
const MARK: &str = ".export-unfinished";

/// The folder, and a lock on the export.
pub(crate) struct WorkFolder {
    folder: PathBuf,
    done: Mutex<File>,
    /// An earlier run that was not completed may have replaced files of the export before.
    pub(crate) may_have_replaced: bool,
    _lock: File,
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, ExportError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ExportError::at(path)(error)),
    }
}

/// Writes a file so that it is there as a whole or not at all.
fn write(path: &Path, text: &[u8]) -> Result<(), ExportError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = path.with_file_name(format!(".{name}{UNFINISHED}"));
    let mut file = File::create(&unfinished).map_err(ExportError::at(&unfinished))?;
    file.write_all(text).and_then(|()| file.sync_all()).map_err(ExportError::at(&unfinished))?;
    fs::rename(&unfinished, path).map_err(ExportError::at(path))?;
    sync_folder_of(path)
}

/// Removes a file or folder that may not be there.
fn remove(path: &Path) -> Result<(), ExportError> {
    // A link is removed, and not what it leads to.
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let removed = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ExportError::at(path)(error)),
        _ => Ok(()),
    }
}

impl WorkFolder {
    /// Begins an export, or goes on with one that has the same plan.
    pub(crate) fn begin(index: &Path, out: &Path, folder: &Path, options: &ExportOptions) -> Result<Self, ExportError> {
        fs::create_dir_all(out).map_err(ExportError::at(out))?;
        let out = &fs::canonicalize(out).map_err(ExportError::at(out))?;
        let mark = out.join(MARK);
        check_folder(out, &mark, options)?;
        let may_have_replaced = mark.exists();
        let lock = OpenOptions::new().create(true).append(true).open(&mark).map_err(ExportError::at(&mark))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(ExportError::Folder(format!("another process exports to {}", out.display())));
            }
            Err(TryLockError::Error(error)) => return Err(ExportError::at(mark)(error)),
        }
        let manifest = Manifest::read(out)?;
        if let Some(refused) = manifest.as_ref().and_then(|found| refused(out, found, options)) {
            // What is left if a run was killed when all was written but this.
            if !options.is_incremental {
                remove(&out.join(PREVIOUS_IN_OUT))?;
                remove(folder)?;
            }
            remove(&mark)?;
            return Err(ExportError::Folder(refused));
        }
        let planned = Planned::of(out, options);
        let plan = folder.join(PLAN);
        let found = read(&plan)?.and_then(|text| serde_json::from_slice::<Planned>(&text).ok());
        if found.as_ref() != Some(&planned) {
            remove(folder)?;
            fs::create_dir_all(folder).map_err(ExportError::at(folder))?;
            // What the export before it was is needed even if this one is begun again.
            cairn_reader::freeze(index, &folder.join("index"))?;
            let text = serde_json::to_vec(&planned).map_err(|_| ExportError::Defect("the plan has no JSON"))?;
            write(&plan, &text)?;
        }
        // From here on, files change: no manifest stands over them.
        if let Some(manifest) = manifest {
            write(&out.join(PREVIOUS_IN_OUT), manifest.text()?.as_bytes())?;
            remove(&out.join(MANIFEST))?;
            sync_folder_of(&mark)?;
        }
        if let Some(previous) = read(&out.join(PREVIOUS_IN_OUT))? {
            write(&folder.join(PREVIOUS), &previous)?;
        }
        let path = folder.join(DONE);
        let done = OpenOptions::new().create(true).append(true).open(&path).map_err(ExportError::at(&path))?;
        Ok(WorkFolder { folder: folder.to_owned(), done: Mutex::new(done), may_have_replaced, _lock: lock })
    }

    /// The copy of the index.
    pub(crate) fn index(&self) -> PathBuf {
        self.folder.join("index")
    }

    /// A folder for rows that are being divided.
    pub(crate) fn spool(&self) -> PathBuf {
        self.folder.join("spool")
    }

    /// Files that earlier runs completed. A last line that a kill cut short does not count.
    pub(crate) fn done(&self) -> Result<Vec<FileEntry>, ExportError> {
        let text = read(&self.folder.join(DONE))?.unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n');
        Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    /// The manifest that this export continues; `None` if it is to continue none, or one of another form.
    pub(crate) fn previous(&self, options: &ExportOptions) -> Result<Option<Manifest>, ExportError> {
        let text = read(&self.folder.join(PREVIOUS))?;
        let found: Option<Manifest> = text.and_then(|text| serde_json::from_slice(&text).ok());
        Ok(found.filter(|found| options.is_incremental && has_form(found, options)))
    }

    /// Notes files that are complete and on disk.
    pub(crate) fn note(&self, files: &[FileEntry]) -> Result<(), ExportError> {
        let mut lines = Vec::new();
        for file in files {
            serde_json::to_writer(&mut lines, file).map_err(|_| ExportError::Defect("a file has no JSON"))?;
            lines.push(b'\n');
        }
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.write_all(&lines).and_then(|()| done.sync_data()).map_err(ExportError::at(self.folder.join(DONE)))
    }

    /// Removes what is left of files that this export does not have, checks that all others are there, and writes the manifest.
    pub(crate) fn end(self, out: &Path, manifest: &Manifest) -> Result<(), ExportError> {
        let known: std::collections::HashSet<PathBuf> = manifest.files().map(|file| out.join(&file.path)).collect();
        for dataset in crate::Dataset::all() {
            sweep(&out.join(dataset.name), &known)?;
        }
        for file in manifest.files() {
            let path = out.join(&file.path);
            let found = fs::metadata(&path).map_err(ExportError::at(&path))?.len();
            if found != file.bytes {
                return Err(ExportError::Folder(format!("{} has {found} bytes, not {}", path.display(), file.bytes)));
            }
        }
        write(&out.join(MANIFEST), manifest.text()?.as_bytes())?;
        remove(&out.join(PREVIOUS_IN_OUT))?;
        remove(&out.join(MARK))?;
        remove(&self.folder)
    }
}

/// The manifest of the export before, while there is none in its place.
const PREVIOUS_IN_OUT: &str = ".previous-manifest.json";

/// True if files of an export are written in the form that is asked for.
fn has_form(found: &Manifest, options: &ExportOptions) -> bool {
    let format = options.format;
    found.partitions == options.grid.to_string()
        && (found.hashes.as_str(), found.amounts.as_str()) == (format.hashes.name(), format.amounts.name())
        && (found.txids, found.addresses) == (format.txids, format.addresses)
}

/// Why a complete export is not to be touched.
fn refused(out: &Path, found: &Manifest, options: &ExportOptions) -> Option<String> {
    let shown = out.display();
    if !options.is_incremental {
        return Some(format!(
            "{shown} has an export as of block {}; continue it with --since {}, or name another folder",
            found.tip_height,
            out.join(MANIFEST).display()
        ));
    }
    let names = options.datasets.iter().map(|dataset| dataset.name);
    let before: Vec<&str> = found.datasets.iter().map(|dataset| dataset.name.as_str()).collect();
    let is_same = names.eq(before.iter().copied()) && has_form(found, options);
    (!is_same).then(|| {
        format!(
            "the export in {shown} has other datasets or another form (datasets {}, partitions {}, hashes {}, amounts \
             {}, txids {}, addresses {}); continue it with the same, or name another folder",
            before.join(","),
            found.partitions,
            found.hashes,
            found.amounts,
            found.txids,
            found.addresses
        )
    })
}

/// An error if the folder has no export, and files of others, or if there is none to continue.
fn check_folder(out: &Path, mark: &Path, options: &ExportOptions) -> Result<(), ExportError> {
    let shown = out.display();
    if out.join(MANIFEST).exists() || mark.exists() {
        return Ok(());
    }
    if options.is_incremental {
        return Err(ExportError::Folder(format!("{shown} has no export to continue")));
    }
    let mut there = fs::read_dir(out).map_err(ExportError::at(out))?;
    if there.next().is_some() {
        return Err(ExportError::Folder(format!("{shown} has files that are not of an export; name an empty folder")));
    }
    Ok(())
}

/// Removes files that are not known, and folders that are empty then.
fn sweep(folder: &Path, known: &std::collections::HashSet<PathBuf>) -> Result<(), ExportError> {
    let Ok(there) = fs::read_dir(folder) else { return Ok(()) };
    for entry in there {
        let entry = entry.map_err(ExportError::at(folder))?;
        let path = entry.path();
        if entry.file_type().is_ok_and(|of| of.is_dir()) {
            sweep(&path, known)?;
        } else if !known.contains(&path) {
            remove(&path)?;
        }
    }
    // Fails if it is not empty.
    drop(fs::remove_dir(folder));
    Ok(())
}
