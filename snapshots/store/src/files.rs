//! Files of this machine: written as a whole or not at all, made durable, found, removed. All errors are
//! [`StoreError::File`].

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::StoreError;

/// End of the name of a file that is not complete.
pub const UNFINISHED: &str = ".unfinished";

/// The bytes of a file; `None` if there is none.
pub fn read_file(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::at(path)(error)),
    }
}

/// The path at which a file is written before it is complete.
#[must_use]
pub fn unfinished(path: &Path) -> PathBuf {
    path.with_file_name(format!(".{}{UNFINISHED}", path.file_name().unwrap_or_default().to_string_lossy()))
}

/// Writes a file so that it is there as a whole or not at all.
pub fn write_file(path: &Path, text: &[u8]) -> Result<(), StoreError> {
    let unfinished = unfinished(path);
    let mut file = File::create(&unfinished).map_err(StoreError::at(&unfinished))?;
    file.write_all(text).and_then(|()| file.sync_all()).map_err(StoreError::at(&unfinished))?;
    fs::rename(&unfinished, path).map_err(StoreError::at(path))?;
    sync_folder_of(path)
}

/// Removes a file or folder that may not be there. If it is a link, removes the link.
pub fn remove_path(path: &Path) -> Result<(), StoreError> {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let removed = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::at(path)(error)),
        _ => Ok(()),
    }
}

/// All files below a folder, by path. A link is a file, and is not followed.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).map_err(StoreError::at(&next))? {
            let entry = entry.map_err(StoreError::at(&next))?;
            match entry.file_type().map_err(StoreError::at(entry.path()))?.is_dir() {
                true => folders.push(entry.path()),
                false => found.push(entry.path()),
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Makes the names in a folder durable.
pub fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(StoreError::at(folder))
}

/// Makes the name of a file durable.
pub fn sync_folder_of(path: &Path) -> Result<(), StoreError> {
    sync_folder(path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new(".")))
}
