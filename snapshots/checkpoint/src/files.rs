//! Files: hashed, copied, made durable.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use cairn_model::CancelToken;

use crate::{
    CheckpointError,
    pieces::{Found, Pieces},
};

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 20;

/// Reads a file to its end, and hashes its pieces. `seen` is called with each chunk.
pub(crate) fn read_all(
    path: &Path,
    cancel: &CancelToken,
    mut seen: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<Found, CheckpointError> {
    let mut file = File::open(path).map_err(CheckpointError::at(path))?;
    let (mut pieces, mut chunk) = (Pieces::default(), vec![0; CHUNK]);
    loop {
        if cancel.is_cancelled() {
            return Err(CheckpointError::Stopped);
        }
        let read = file.read(&mut chunk).map_err(CheckpointError::at(path))?;
        let Some(part) = chunk.get(..read).filter(|part| !part.is_empty()) else { break };
        pieces.more(part);
        seen(part).map_err(CheckpointError::at(path))?;
    }
    Ok(pieces.finish())
}

/// Copies a file and makes it durable, and hashes the pieces of what was copied.
pub(crate) fn copy(
    from: &Path,
    to: &Path,
    cancel: &CancelToken,
    mut seen: impl FnMut(u64),
) -> Result<Found, CheckpointError> {
    let mut file = File::create(to).map_err(CheckpointError::at(to))?;
    let mut failed = None;
    let found = read_all(from, cancel, |part| {
        seen(part.len() as u64);
        file.write_all(part).inspect_err(|error| failed = Some(error.kind()))
    });
    // The disk that is written to is told by its own path.
    let found = match (found, failed) {
        (Err(CheckpointError::File { source, .. }), Some(_)) => Err(CheckpointError::at(to)(source)),
        (found, _) => found,
    }?;
    file.sync_all().map_err(CheckpointError::at(to))?;
    Ok(found)
}

/// All files below a folder, by path.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<PathBuf>, CheckpointError> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).map_err(CheckpointError::at(&next))? {
            let entry = entry.map_err(CheckpointError::at(&next))?;
            match entry.file_type().map_err(CheckpointError::at(entry.path()))?.is_dir() {
                true => folders.push(entry.path()),
                false => found.push(entry.path()),
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Writes a file so that it is there as a whole or not at all.
pub(crate) fn write_whole(path: &Path, text: &[u8]) -> Result<(), CheckpointError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = path.with_file_name(format!(".{name}.unfinished"));
    let mut file = File::create(&unfinished).map_err(CheckpointError::at(&unfinished))?;
    file.write_all(text).and_then(|()| file.sync_all()).map_err(CheckpointError::at(&unfinished))?;
    fs::rename(&unfinished, path).map_err(CheckpointError::at(path))?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), CheckpointError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(CheckpointError::at(folder))
}

/// Removes a folder that may not be there.
pub(crate) fn remove_folder(folder: &Path) -> Result<(), CheckpointError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(CheckpointError::at(folder)(error)),
        _ => Ok(()),
    }
}
