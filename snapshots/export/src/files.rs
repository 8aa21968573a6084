//! Small files, written as a whole or not at all.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use crate::ExportError;

/// End of the name of a file that is not complete.
pub(crate) const UNFINISHED: &str = ".unfinished";

/// The bytes of a file; `None` if there is none.
pub(crate) fn read_file(path: &Path) -> Result<Option<Vec<u8>>, ExportError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ExportError::at(path)(error)),
    }
}

/// Writes a file so that it is there as a whole or not at all.
pub(crate) fn write_file(path: &Path, text: &[u8]) -> Result<(), ExportError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = path.with_file_name(format!(".{name}{UNFINISHED}"));
    let mut file = File::create(&unfinished).map_err(ExportError::at(&unfinished))?;
    file.write_all(text).and_then(|()| file.sync_all()).map_err(ExportError::at(&unfinished))?;
    fs::rename(&unfinished, path).map_err(ExportError::at(path))?;
    sync_folder_of(path)
}

/// Removes a file or folder that may not be there.
pub(crate) fn remove_path(path: &Path) -> Result<(), ExportError> {
    // A link is removed, and not what it leads to.
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let removed = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ExportError::at(path)(error)),
        _ => Ok(()),
    }
}

/// Makes the name of a file durable.
pub(crate) fn sync_folder_of(path: &Path) -> Result<(), ExportError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(ExportError::at(folder))
}
