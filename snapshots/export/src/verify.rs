//! Compares the files of an export with its manifest.

use std::{
    collections::HashSet,
    fs::File,
    io::{self, Read},
    path::Path,
};

use cairn_model::CancelToken;
use cairn_store::{Difference, StoreError};
use parquet::file::reader::{FileReader, SerializedFileReader};
use sha2::{Digest, Sha256};

use crate::{Destination, ExportError, FileEntry, MANIFEST, Manifest};

/// Compared files.
pub type Checked = cairn_store::Checked<Manifest>;

/// Compares each file of the export at a place with the manifest: its bytes by SHA-256, and its rows. Reads all files.
/// `seen` is called with the bytes read so far, and all.
pub fn verify(place: Destination<'_>, cancel: &CancelToken, seen: &dyn Fn(u64, u64)) -> Result<Checked, ExportError> {
    let none = || ExportError::Manifest {
        place: place.shown(MANIFEST),
        what: "there is none: the folder has no export, or one that is not complete".to_owned(),
    };
    let manifest = Manifest::read(place)?.ok_or_else(none)?;
    let total = manifest.files().map(|file| file.bytes).sum();
    let (mut differences, mut bytes) = (Vec::new(), 0);
    for file in manifest.files() {
        if cancel.is_cancelled() {
            return Err(StoreError::Stopped.into());
        }
        let what = difference(place, file, cancel)?;
        differences.extend(what.map(|what| Difference { path: file.path.clone(), what }));
        bytes += file.bytes;
        seen(bytes, total);
    }
    let known: HashSet<&str> = manifest.files().map(|file| file.path.as_str()).collect();
    let folders: Vec<&str> = manifest.datasets.iter().map(|dataset| dataset.name.as_str()).collect();
    let is_read = |name: &str| name.ends_with(".parquet") && !known.contains(name);
    let mut strangers: Vec<String> = place.sizes(&folders)?.into_keys().filter(|name| is_read(name)).collect();
    strangers.sort_unstable();
    differences.extend(strangers.into_iter().map(|path| Difference {
        path,
        what: "it is not in the manifest, and whoever reads the folder reads it".to_owned(),
    }));
    Ok(Checked { manifest, differences })
}

/// Content of a file that the manifest does not have. Reads all of it; in a store, its rows follow from its hash.
pub(crate) fn difference(
    place: Destination<'_>,
    file: &FileEntry,
    cancel: &CancelToken,
) -> Result<Option<String>, ExportError> {
    let store = match place {
        Destination::Folder(folder) => {
            return Ok(of_file(&folder.join(&file.path), file).unwrap_or_else(|error| Some(error.to_string())));
        }
        Destination::Store(store) => store,
    };
    let mut hash = Sha256::new();
    let read = store.scan(&file.path, &mut |part| {
        hash.update(part);
        Ok(())
    });
    if cancel.is_cancelled() {
        return Err(StoreError::Stopped.into());
    }
    let bytes = match read {
        Err(StoreError::Absent { .. }) => return Ok(Some("it is not there".to_owned())),
        read => read?,
    };
    if bytes != file.bytes {
        return Ok(Some(format!("it has {bytes} bytes, the manifest says {}", file.bytes)));
    }
    let found = hex::encode(hash.finalize());
    Ok((found != file.sha256).then(|| format!("its SHA-256 is {found}, the manifest says {}", file.sha256)))
}

/// The same of a file of this machine.
fn of_file(path: &Path, file: &FileEntry) -> io::Result<Option<String>> {
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
        Err(error) => return Ok(Some(format!("it is not a Parquet file: {error}"))),
    };
    let differs = u64::try_from(rows).ok() != Some(file.rows);
    Ok(differs.then(|| format!("it has {rows} rows, the manifest says {}", file.rows)))
}
