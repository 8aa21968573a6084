//! A small disk of its own for an index, which can be filled and locked.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use cairn_support::{SmallDisk, succeeds};

/// Its size in KiB.
const SIZE_KIB: u64 = 160 << 10;

/// A disk that can be filled.
pub(crate) struct Disk(SmallDisk);

impl Disk {
    /// Mounts it; `None` where this user may not.
    pub(crate) fn mount(at: &Path) -> Option<Self> {
        SmallDisk::mount(at, SIZE_KIB).map(Disk)
    }

    fn filler(&self) -> PathBuf {
        self.0.path().join("filler")
    }

    /// Leaves no byte free.
    pub(crate) fn fill(&self) {
        let piece = vec![7; 1 << 20];
        let mut file = fs::File::create(self.filler()).unwrap();
        while std::io::Write::write_all(&mut file, &piece).is_ok() {}
    }

    /// Makes room again.
    pub(crate) fn free(&self) {
        fs::remove_file(self.filler()).unwrap();
    }
}

/// Takes or gives the right to make and remove files in a folder, also of root. False where the file system or the user
/// has no such right.
pub(crate) fn set_immutable(folder: &Path, immutable: bool) -> bool {
    succeeds(Command::new("chattr").arg(if immutable { "+i" } else { "-i" }).arg(folder))
}
