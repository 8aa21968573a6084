//! The disk that a folder is on.

use std::{
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};

/// The disk of a folder that may not exist yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disk {
    /// The folder.
    pub folder: PathBuf,
    /// The folder, or the nearest folder above it that exists.
    pub existing: PathBuf,
    /// Bytes that this user may write.
    pub free_bytes: u64,
    /// Bytes of the whole disk.
    pub total_bytes: u64,
    /// True if it is mounted read-only.
    pub is_read_only: bool,
    /// True if this user may create files in `existing`.
    pub is_writable: bool,
    /// Number of the device: two folders with the same number share the free space.
    pub device: u64,
}

impl Disk {
    /// Looks at the disk of `folder`.
    ///
    /// # Errors
    /// Fails if neither the folder nor one above it can be looked at.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let existing = nearest_existing(folder)?;
        let stat = statvfs(&existing)?;
        let is_read_only = stat.f_flag.contains(StatVfsMountFlags::RDONLY);
        Ok(Disk {
            folder: folder.to_owned(),
            free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
            total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
            is_read_only,
            is_writable: !is_read_only && access(&existing, Access::WRITE_OK | Access::EXEC_OK).is_ok(),
            device: existing.metadata()?.dev(),
            existing,
        })
    }
}

fn nearest_existing(folder: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(folder)?;
    for path in absolute.ancestors() {
        match path.metadata() {
            Ok(_) => return Ok(path.to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_does_not_exist_yet_has_the_disk_above_it() {
        let dir = tempfile::tempdir().unwrap();
        let (deep, here) = (Disk::of(&dir.path().join("a/b")).unwrap(), Disk::of(dir.path()).unwrap());
        assert_eq!((&deep.existing, deep.device), (&here.existing, here.device));
        assert!(here.total_bytes > 0 && here.is_writable && !here.is_read_only);
    }
}
