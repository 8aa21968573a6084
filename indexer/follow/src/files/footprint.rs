//! Resources that indexing used: disk, bytes written, memory.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// Interval of disk measurements.
const LOOK: Duration = Duration::from_millis(200);

/// Resources used.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResourceUsage {
    /// Bytes in the folder now.
    pub(super) disk: u64,
    /// Peak size of the folder in bytes.
    pub(super) most_disk: u64,
    /// Bytes that the process has written to disk; `None` if the system does not report it.
    pub(super) written: Option<u64>,
    /// Peak memory of the process in bytes; `None` if the system does not report it.
    pub(super) most_memory: Option<u64>,
}

/// Measures a folder and this process.
pub(super) struct Footprint {
    folder: PathBuf,
    before: u64,
    written: Option<u64>,
    most: Arc<AtomicU64>,
    // Dropped to end the thread.
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Footprint {
    pub(super) fn watch(folder: &Path) -> Self {
        let most = Arc::new(AtomicU64::new(0));
        let (end, ended) = mpsc::channel();
        let (path, seen) = (folder.to_owned(), Arc::clone(&most));
        let look = move || {
            while matches!(ended.recv_timeout(LOOK), Err(RecvTimeoutError::Timeout)) {
                seen.fetch_max(disk_bytes(&path), Ordering::Relaxed);
            }
        };
        // Without the thread, the peak is the size at the end.
        let thread = thread::Builder::new().name("footprint".to_owned()).spawn(look).ok();
        Footprint {
            folder: folder.to_owned(),
            before: disk_bytes(folder),
            written: written_bytes(),
            most,
            end: Some(end),
            thread,
        }
    }

    /// Resources used since the start.
    pub(super) fn usage(mut self) -> ResourceUsage {
        self.stop();
        let disk = disk_bytes(&self.folder);
        ResourceUsage {
            disk,
            most_disk: self.most.load(Ordering::Relaxed).max(disk).max(self.before),
            written: written_bytes().zip(self.written).map(|(now, then)| now.saturating_sub(then)),
            most_memory: proc_number("/proc/self/status", "VmHWM").map(|kilobytes| kilobytes << 10),
        }
    }

    fn stop(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take() {
            // Its data stays consistent after a panic.
            let _ = thread.join();
        }
    }
}

impl Drop for Footprint {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Disk usage of the files under a folder. Each file counts once, although it has two names while it is moved. Files
/// may disappear during the walk.
fn disk_bytes(folder: &Path) -> u64 {
    fn add(folder: &Path, files: &mut Vec<(u64, u64)>) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => add(&entry.path(), files),
                Ok(meta) => files.push((meta.ino(), meta.len())),
                Err(_) => {}
            }
        }
    }
    let mut files = Vec::new();
    add(folder, &mut files);
    files.sort_unstable();
    files.dedup_by_key(|(inode, _)| *inode);
    files.iter().map(|(_, bytes)| bytes).sum()
}

fn written_bytes() -> Option<u64> {
    proc_number("/proc/self/io", "write_bytes")
}

/// A number of a `/proc` file; `None` on other systems.
fn proc_number(file: &str, field: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_is_remembered() {
        let dir = cairn_testkit::temp_dir();
        let footprint = Footprint::watch(dir.path());
        fs::write(dir.path().join("a"), [0; 1_000]).unwrap();
        fs::hard_link(dir.path().join("a"), dir.path().join("again")).unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        fs::write(dir.path().join("sub/b"), [0; 5_000]).unwrap();
        while footprint.most.load(Ordering::Relaxed) == 0 {
            thread::sleep(Duration::from_millis(10));
        }
        fs::remove_file(dir.path().join("sub/b")).unwrap();
        let usage = footprint.usage();
        assert_eq!((usage.disk, usage.most_disk), (1_000, 6_000));
    }
}
