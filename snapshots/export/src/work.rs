//! Work files of an export: a copy of the index, the plan, and the finished parts.

use std::{
    collections::HashSet,
    fs::{self, File, OpenOptions, TryLockError},
    io::Write,
    path::{Path, PathBuf},
};

use cairn_store::{
    files::{read_file as read, remove_path as remove, write_file as write},
    identity,
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::{
    Dataset, Destination, ExportError, ExportOptions, FileEntry, MANIFEST, Manifest, SCHEMA_VERSION,
    destination::DestinationLock,
};

/// Plan of an export: a run with another plan does not continue it.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Planned {
    schema_version: u32,
    program: String,
    out: String,
    datasets: Vec<String>,
    partitions: String,
    hashes: String,
    amounts: String,
    txids: bool,
    addresses: bool,
    is_incremental: bool,
}

impl Planned {
    fn of(out: Destination<'_>, options: &ExportOptions) -> Self {
        Planned {
            schema_version: SCHEMA_VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            out: out.shown(""),
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
const STAGING: &str = "files";
/// Marks the place of an export that is not complete: it names the export that owns the files, and one process holds
/// it.
const MARK: &str = ".export-unfinished";

pub(crate) struct WorkFolder<'p> {
    folder: PathBuf,
    out: Destination<'p>,
    done: Mutex<File>,
    /// An earlier run that was not completed may have replaced files of the export before.
    pub(crate) may_have_replaced: bool,
    held: DestinationLock<'p>,
    _lock: Option<File>,
}

impl<'p> WorkFolder<'p> {
    /// Begins an export, or goes on with one that has the same plan.
    pub(crate) fn begin(
        index: &Path,
        out: Destination<'p>,
        folder: &Path,
        options: &ExportOptions,
    ) -> Result<Self, ExportError> {
        if let Destination::Folder(out) = out {
            fs::create_dir_all(out).map_err(ExportError::at(out))?;
        }
        let (lock, own) = own(folder, out)?;
        check_place(out, options)?;
        let may_have_replaced = out.has(MARK)?;
        let held = out.hold(MARK, &own)?;
        let manifest = Manifest::read(out)?;
        if let Some(refused) = manifest.as_ref().and_then(|found| refused(out, found, options)) {
            // Remove the files of a run that was killed when only their removal was left.
            if !options.is_incremental {
                out.remove(PREVIOUS_IN_OUT)?;
                remove(folder)?;
            }
            out.remove(MARK)?;
            return Err(ExportError::Folder(refused));
        }
        let planned = Planned::of(out, options);
        let plan = folder.join(PLAN);
        let found = read(&plan)?.and_then(|text| serde_json::from_slice::<Planned>(&text).ok());
        if found.as_ref() != Some(&planned) {
            remove(folder)?;
            fs::create_dir_all(folder).map_err(ExportError::at(folder))?;
            // The manifest of the export before is needed even if this one is begun again.
            cairn_reader::freeze(index, &folder.join("index"))?;
            let text = serde_json::to_vec(&planned).map_err(|_| ExportError::Defect("the plan has no JSON"))?;
            write(&plan, &text)?;
        }
        // From here on, files change, so there must be no manifest.
        if let Some(manifest) = manifest {
            out.write(PREVIOUS_IN_OUT, manifest.text()?.as_bytes())?;
            out.remove(MANIFEST)?;
        }
        if let Some(previous) = out.read(PREVIOUS_IN_OUT)? {
            write(&folder.join(PREVIOUS), &previous)?;
        }
        let path = folder.join(DONE);
        let done = OpenOptions::new().create(true).append(true).open(&path).map_err(ExportError::at(&path))?;
        // Files that were not sent before the end.
        remove(&folder.join(STAGING))?;
        Ok(WorkFolder { folder: folder.to_owned(), out, done: Mutex::new(done), may_have_replaced, held, _lock: lock })
    }

    /// Folder of the files of rows until they are sent to a store.
    pub(crate) fn staging(&self) -> PathBuf {
        self.folder.join(STAGING)
    }

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

    /// Brings files that are complete where they belong, and notes them.
    pub(crate) fn note(&self, files: &[FileEntry]) -> Result<(), ExportError> {
        for file in files {
            self.out.publish(&file.path, &self.staging())?;
            self.held.renew()?;
        }
        let mut lines = Vec::new();
        for file in files {
            serde_json::to_writer(&mut lines, file).map_err(|_| ExportError::Defect("a file has no JSON"))?;
            lines.push(b'\n');
        }
        let mut done = self.done.lock();
        done.write_all(&lines).and_then(|()| done.sync_data()).map_err(ExportError::at(self.folder.join(DONE)))
    }

    /// Removes files that this export does not have, checks that all its files are there, and writes the manifest.
    pub(crate) fn end(self, manifest: &Manifest) -> Result<(), ExportError> {
        let known: HashSet<&str> = manifest.files().map(|file| file.path.as_str()).collect();
        self.out.sweep(&Dataset::names(), &known)?;
        let sizes = self.out.sizes(&Dataset::names())?;
        for file in manifest.files() {
            let found = sizes.get(&file.path).copied();
            if found != Some(file.bytes) {
                let found = found.map_or_else(|| "is not there".to_owned(), |found| format!("has {found} bytes"));
                let shown = self.out.shown(&file.path);
                return Err(ExportError::Folder(format!("{shown} {found}; it had {} when it was written", file.bytes)));
            }
        }
        self.out.write(MANIFEST, manifest.text()?.as_bytes())?;
        // The export is complete. The next one removes files of the work that are left.
        let left = (self.out.remove(PREVIOUS_IN_OUT), self.out.remove(MARK), remove(&self.folder));
        drop(left);
        Ok(())
    }
}

/// For a store, the lock on a work folder, which lies beside it, and the name that distinguishes this export from those
/// of other machines. A folder has a lock of its own.
fn own(folder: &Path, out: Destination<'_>) -> Result<(Option<File>, String), ExportError> {
    if let Destination::Folder(_) = out {
        return Ok((None, String::new()));
    }
    let path = folder.with_extension("lock");
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(ExportError::at(parent))?;
    }
    let lock = OpenOptions::new().create(true).append(true).open(&path).map_err(ExportError::at(&path))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(ExportError::Folder(format!("another process exports to {}", out.shown(""))));
        }
        Err(TryLockError::Error(error)) => return Err(ExportError::at(path)(error)),
    }
    let holder = identity(&path.with_file_name("id"))?;
    Ok((Some(lock), format!("an export from {holder}")))
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
fn refused(out: Destination<'_>, found: &Manifest, options: &ExportOptions) -> Option<String> {
    let shown = out.shown("");
    if !options.is_incremental {
        return Some(format!(
            "{shown} has an export as of block {}; continue it with --since {}, or name another folder",
            found.tip_height,
            out.shown(MANIFEST)
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

/// An error if there is no export but files of others, or if there is none to continue.
fn check_place(out: Destination<'_>, options: &ExportOptions) -> Result<(), ExportError> {
    let shown = out.shown("");
    if out.has(MANIFEST)? || out.has(MARK)? {
        return Ok(());
    }
    if options.is_incremental {
        return Err(ExportError::Folder(format!("{shown} has no export to continue")));
    }
    if !out.is_empty()? {
        return Err(ExportError::Folder(format!("{shown} has files that are not of an export; name an empty folder")));
    }
    Ok(())
}
