//! A small file system of its own, which can be full.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A file system in memory, of a size that can change. Dropping it unmounts it.
pub struct SmallDisk {
    at: PathBuf,
}

impl SmallDisk {
    /// Mounts one of `kib` KiB at a folder, which it makes if necessary; `None` where this user may not mount.
    pub fn mount(at: &Path, kib: u64) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let size = format!("size={kib}k");
        succeeds(Command::new("mount").args(["-t", "tmpfs", "-o", &size, "cairn-test"]).arg(at))
            .then(|| SmallDisk { at: at.to_owned() })
    }

    /// The folder at which it is mounted.
    pub fn path(&self) -> &Path {
        &self.at
    }

    /// KiB in use.
    pub fn used_kib(&self) -> u64 {
        let output = Command::new("df").args(["-k", "--output=used"]).arg(&self.at).output().unwrap();
        String::from_utf8_lossy(&output.stdout).split_whitespace().last().unwrap().parse().unwrap()
    }

    /// Gives it another size.
    pub fn resize(&self, kib: u64) {
        assert!(succeeds(Command::new("mount").args(["-o", &format!("remount,size={kib}k")]).arg(&self.at)));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Still in use if a process outlives the test.
        succeeds(Command::new("umount").arg("-l").arg(&self.at));
    }
}

/// Runs a command without its output; true if it succeeds.
pub fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
