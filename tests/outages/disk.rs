//! A small disk of its own for an index, which can be filled and locked.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Its size in MiB.
const SIZE: u64 = 160;

/// A file system in memory. Unmounted when dropped.
pub(crate) struct Disk {
    at: PathBuf,
}

fn run(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

impl Disk {
    /// Mounts it; `None` where this user may not.
    pub(crate) fn mount(at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let size = format!("size={SIZE}m");
        run(Command::new("mount").args(["-t", "tmpfs", "-o", &size, "cairn-test"]).arg(at))
            .then(|| Disk { at: at.to_owned() })
    }

    fn filler(&self) -> PathBuf {
        self.at.join("filler")
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
    run(Command::new("chattr").arg(if immutable { "+i" } else { "-i" }).arg(folder))
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Still in use if a process outlives the test.
        run(Command::new("umount").arg("-l").arg(&self.at));
    }
}
