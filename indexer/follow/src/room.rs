//! The reserve of disk space: an index stops to grow before its disk is full, so that it can go on when there is room.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Access, StatVfs, StatVfsMountFlags, access, statvfs},
    io::Errno,
};

/// Free bytes below which nothing is written, on a large disk.
const MAX_RESERVE: u64 = 256 << 20;
/// The same as a share of a small disk.
const RESERVE_SHARE: u64 = 32;

pub(crate) struct Disk(PathBuf);

/// Why nothing can be written to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoRoom {
    /// It is mounted read-only.
    ReadOnly,
    /// The folder of the index does not allow it. A database that fails to write once must be opened again, so it is
    /// not tried.
    Refused(Errno),
    /// Less than the reserve is free.
    Full {
        /// Free bytes.
        free: u64,
        /// The reserve in bytes.
        reserve: u64,
    },
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoRoom::ReadOnly => f.write_str("the disk of the index is mounted read-only"),
            NoRoom::Refused(error) => write!(f, "the folder of the index cannot be written: {error}"),
            NoRoom::Full { free, reserve } => {
                let (free, reserve) = (free >> 10, reserve.div_ceil(1 << 10));
                write!(f, "the disk of the index is full: {free} KiB are free, {reserve} KiB are kept in reserve")
            }
        }
    }
}

impl Disk {
    pub(crate) fn of(folder: &Path) -> Self {
        Disk(folder.to_owned())
    }

    /// Returns why nothing can be written; `None` if the index can be written, or if the system does not answer.
    pub(crate) fn lacks_room(&self) -> Option<NoRoom> {
        judge(&statvfs(&self.0).ok()?).or_else(|| {
            let refused = access(self.0.join("index"), Access::WRITE_OK | Access::EXEC_OK).err()?;
            Some(NoRoom::Refused(refused))
        })
    }
}

fn judge(stat: &StatVfs) -> Option<NoRoom> {
    if stat.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Some(NoRoom::ReadOnly);
    }
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    let reserve = MAX_RESERVE.min(stat.f_blocks.saturating_mul(stat.f_frsize) / RESERVE_SHARE);
    (free < reserve).then_some(NoRoom::Full { free, reserve })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(blocks: u64, available: u64, f_flag: StatVfsMountFlags) -> StatVfs {
        let real = statvfs("/").unwrap();
        StatVfs { f_frsize: 4_096, f_blocks: blocks, f_bavail: available, f_flag, ..real }
    }

    #[test]
    fn a_folder_that_is_gone_is_not_written() {
        let dir = cairn_testkit::temp_dir();
        let disk = Disk::of(dir.path());
        let gone = disk.lacks_room().unwrap();
        assert_eq!(gone, NoRoom::Refused(Errno::NOENT));
        assert!(gone.to_string().starts_with("the folder of the index cannot be written: "), "{gone}");
        std::fs::create_dir(dir.path().join("index")).unwrap();
        assert_eq!(disk.lacks_room(), None);
    }

    #[test]
    fn a_reserve_is_kept() {
        let writable = StatVfsMountFlags::empty();
        // 96 MiB: 3 MiB are kept.
        assert_eq!(judge(&disk(24_576, 768, writable)), None);
        let full = judge(&disk(24_576, 767, writable)).unwrap();
        assert_eq!(full, NoRoom::Full { free: 767 << 12, reserve: 3 << 20 });
        assert_eq!(full.to_string(), "the disk of the index is full: 3068 KiB are free, 3072 KiB are kept in reserve");
        // 4 TiB: 256 MiB.
        assert_eq!(judge(&disk(1 << 30, 65_536, writable)), None);
        assert!(judge(&disk(1 << 30, 65_535, writable)).is_some());
        assert_eq!(judge(&disk(1 << 30, 1 << 30, StatVfsMountFlags::RDONLY)), Some(NoRoom::ReadOnly));
    }
}
