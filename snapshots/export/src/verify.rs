//! Compares the files of an export with its manifest.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use cairn_model::CancelToken;
use parquet::file::reader::{FileReader, SerializedFileReader};
use sha2::{Digest, Sha256};

use crate::{ExportError, FileEntry, MANIFEST, Manifest};

/// A file that is not what the manifest says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Its path from the folder of the export.
    pub path: String,
    /// What is wrong.
    pub what: String,
}

/// What was compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    /// The manifest.
    pub manifest: Manifest,
    /// Files that are not what it says.
    pub differences: Vec<Difference>,
}

/// Compares each file of the export in a folder with the manifest: its bytes by SHA-256, and its rows. Reads all files.
/// `seen` is called with the bytes read so far, and all.
///
/// # Errors
/// There is no manifest, or it cannot be read; the work was cancelled.
pub fn verify(folder: &Path, cancel: &CancelToken, seen: &dyn Fn(u64, u64)) -> Result<Checked, ExportError> {
    let none = || ExportError::Manifest {
        path: folder.join(MANIFEST),
        what: "there is none: the folder has no export, or one that is not complete".to_owned(),
    };
    let manifest = Manifest::read(folder)?.ok_or_else(none)?;
    let total = manifest.files().map(|file| file.bytes).sum();
    let (mut differences, mut bytes) = (Vec::new(), 0);
    for file in manifest.files() {
        if cancel.is_cancelled() {
            return Err(ExportError::Stopped);
        }
        let path = folder.join(&file.path);
        let what = difference(&path, file).unwrap_or_else(|error| Some(error.to_string()));
        differences.extend(what.map(|what| Difference { path: file.path.clone(), what }));
        bytes += file.bytes;
        seen(bytes, total);
    }
    for path in strangers(folder, &manifest)? {
        let path = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        differences.push(Difference {
            path,
            what: "it is not in the manifest, and whoever reads the folder reads it".to_owned(),
        });
    }
    Ok(Checked { manifest, differences })
}

/// What a file has that the manifest does not say.
pub(crate) fn difference(path: &Path, file: &FileEntry) -> io::Result<Option<String>> {
    let mut opened = File::open(path)?;
    let length = opened.metadata()?.len();
    if length != file.bytes {
        return Ok(Some(format!("it has {length} bytes, the manifest says {}", file.bytes)));
    }
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        match opened.read(&mut buffer)? {
            0 => break,
            read => hash.update(&buffer[..read]),
        }
    }
    let found = hex::encode(hash.finalize());
    if found != file.sha256 {
        return Ok(Some(format!("its SHA-256 is {found}, the manifest says {}", file.sha256)));
    }
    let rows = match SerializedFileReader::new(opened) {
        Ok(reader) => reader.metadata().file_metadata().num_rows(),
        Err(error) => return Ok(Some(format!("it is no Parquet file: {error}"))),
    };
    let differs = u64::try_from(rows).ok() != Some(file.rows);
    Ok(differs.then(|| format!("it has {rows} rows, the manifest says {}", file.rows)))
}

/// Parquet files in the folders of datasets that the manifest does not name.
fn strangers(folder: &Path, manifest: &Manifest) -> Result<Vec<PathBuf>, ExportError> {
    let known: std::collections::HashSet<PathBuf> = manifest.files().map(|file| folder.join(&file.path)).collect();
    let (mut found, mut folders) = (Vec::new(), Vec::new());
    folders.extend(manifest.datasets.iter().map(|dataset| folder.join(&dataset.name)));
    while let Some(next) = folders.pop() {
        let Ok(there) = fs::read_dir(&next) else { continue };
        for entry in there {
            let path = entry.map_err(ExportError::at(&next))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if !known.contains(&path) && path.extension().is_some_and(|end| end == "parquet") {
                found.push(path);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}
