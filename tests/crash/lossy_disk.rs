//! A disk that may lose power: what was written after its last flush is gone then, or there in part, in any order.
//!
//! A file system in user space (FUSE) has one file, a loop device makes a disk of that file, and ext4 is on the disk.
//! The file keeps what is written in memory until the kernel flushes the disk, as the cache of a real disk does.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fmt,
    fs::{self, File},
    os::unix::fs::FileExt,
    path::PathBuf,
    process::Command,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, UNIX_EPOCH},
};

use cairn_support::succeeds;
use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, WriteFlags,
};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;

/// Bytes of the disk.
const SIZE: u64 = 1 << 30;
/// A disk writes a sector whole, or not.
const SECTOR: usize = 512;
/// Bytes of a piece of the cache.
const PAGE: u64 = 4096;
const TTL: Duration = Duration::from_secs(1);
const NAME: &str = "disk";
const DISK: INodeNo = INodeNo(2);

/// The disk and its cache.
struct Cached {
    durable: File,
    /// Newest content of pages that were written since the last flush.
    pages: HashMap<u64, Vec<u8>>,
    /// The writes since the last flush, in order.
    writes: Vec<(u64, Vec<u8>)>,
    has_power: bool,
}

impl Cached {
    fn page(&mut self, number: u64) -> &mut Vec<u8> {
        let durable = &self.durable;
        self.pages.entry(number).or_insert_with(|| {
            let mut page = vec![0; PAGE as usize];
            durable.read_exact_at(&mut page, number * PAGE).unwrap();
            page
        })
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        // Later writes are lost; the kernel does not notice.
        if !self.has_power {
            return;
        }
        let mut done = 0;
        while done < data.len() {
            let at = offset + done as u64;
            let within = (at % PAGE) as usize;
            let size = (PAGE as usize - within).min(data.len() - done);
            self.page(at / PAGE)[within..within + size].copy_from_slice(&data[done..done + size]);
            done += size;
        }
        self.writes.push((offset, data.to_vec()));
    }

    fn read(&self, offset: u64, size: usize) -> Vec<u8> {
        let size = size.min(SIZE.saturating_sub(offset) as usize);
        let mut data = vec![0; size];
        self.durable.read_exact_at(&mut data, offset).unwrap();
        let mut done = 0;
        while done < size {
            let at = offset + done as u64;
            let within = (at % PAGE) as usize;
            let part = (PAGE as usize - within).min(size - done);
            if let Some(page) = self.pages.get(&(at / PAGE)) {
                data[done..done + part].copy_from_slice(&page[within..within + part]);
            }
            done += part;
        }
        data
    }

    fn flush(&mut self) {
        if !self.has_power {
            return;
        }
        self.writes.clear();
        for (number, page) in self.pages.drain() {
            self.durable.write_all_at(&page, number * PAGE).unwrap();
        }
    }
}

/// The file system with the one file.
struct OneFile(Arc<Mutex<Cached>>);

fn attributes(ino: INodeNo) -> FileAttr {
    let (kind, size) = if ino == DISK { (FileType::RegularFile, SIZE) } else { (FileType::Directory, 0) };
    let time = UNIX_EPOCH;
    FileAttr {
        ino,
        size,
        blocks: size / 512,
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind,
        perm: 0o700,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

fn locked(cached: &Mutex<Cached>) -> MutexGuard<'_, Cached> {
    cached.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Filesystem for OneFile {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == NAME {
            reply.entry(&TTL, &attributes(DISK), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &attributes(ino));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // The kernel keeps nothing of it in memory.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        reply.data(&locked(&self.0).read(offset, size as usize));
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        locked(&self.0).write(offset, data);
        reply.written(u32::try_from(data.len()).unwrap());
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        locked(&self.0).flush();
        reply.ok();
    }
}

/// Writes that a loss of power met.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// Writes since the last flush.
    pub unflushed: usize,
    /// Those of them that the disk has lost, whole or in part.
    pub lost: usize,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the power failed: {} of {} writes that were not flushed are lost", self.lost, self.unflushed)
    }
}

/// The disk, mounted. Dropping it unmounts it.
pub struct LossyDisk {
    cached: Arc<Mutex<Cached>>,
    session: Option<BackgroundSession>,
    device: Option<String>,
    folder: TempDir,
}

impl LossyDisk {
    /// An empty one; `None` where this user may not mount one, or a program is missing.
    pub fn mount() -> Option<Self> {
        let folder = cairn_testkit::temp_dir();
        let durable =
            File::options().read(true).write(true).create_new(true).open(folder.path().join("durable")).ok()?;
        durable.set_len(SIZE).ok()?;
        for name in ["cache", "at"] {
            fs::create_dir(folder.path().join(name)).ok()?;
        }
        let cached = Cached { durable, pages: HashMap::new(), writes: Vec::new(), has_power: true };
        let cached = Arc::new(Mutex::new(cached));
        let file_system = OneFile(Arc::clone(&cached));
        let session = fuser::spawn_mount(file_system, folder.path().join("cache"), &Config::default()).ok()?;
        let mut disk = LossyDisk { cached, session: Some(session), device: None, folder };
        let file = disk.folder.path().join("cache").join(NAME);
        // Nothing is given back to the disk, which has no such command.
        let mkfs = succeeds(Command::new("mkfs.ext4").args(["-q", "-F", "-E", "nodiscard"]).arg(&file));
        (mkfs && disk.attach()).then_some(disk)
    }

    /// Folder of its file system.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("at")
    }

    fn attach(&mut self) -> bool {
        let file = self.folder.path().join("cache").join(NAME);
        let Ok(output) = Command::new("losetup").args(["--find", "--show"]).arg(file).output() else { return false };
        if !output.status.success() {
            return false;
        }
        let device = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        self.device = Some(device.clone());
        succeeds(Command::new("mount").arg(device).arg(self.path()))
    }

    fn detach(&mut self) {
        let Some(device) = self.device.take() else { return };
        succeeds(Command::new("umount").arg(self.path()));
        succeeds(Command::new("losetup").args(["--detach", &device]));
    }

    /// The power fails: from now on nothing reaches the disk. Some of what was not flushed may have.
    pub fn cut(&self, rng: &mut ChaCha8Rng) -> Loss {
        let mut cached = locked(&self.cached);
        cached.has_power = false;
        let writes = std::mem::take(&mut cached.writes);
        cached.pages.clear();
        let kept = [0.0, 0.5, 0.95][rng.random_range(0..3)];
        let mut loss = Loss { unflushed: writes.len(), lost: 0 };
        for (offset, data) in &writes {
            let mut is_whole = true;
            // A write that is torn has some of its sectors.
            let is_torn = rng.random_bool(0.1);
            let is_kept = rng.random_bool(kept);
            for (number, sector) in data.chunks(SECTOR).enumerate() {
                if if is_torn { rng.random_bool(0.5) } else { is_kept } {
                    cached.durable.write_all_at(sector, offset + (number * SECTOR) as u64).unwrap();
                } else {
                    is_whole = false;
                }
            }
            loss.lost += usize::from(!is_whole);
        }
        loss
    }

    /// The power is back: what reached the disk is mounted. No process may use the folder.
    #[track_caller]
    pub fn restart(&mut self) {
        self.detach();
        locked(&self.cached).has_power = true;
        assert!(self.attach(), "the disk is not mounted again");
    }

    /// Makes durable all that is on it.
    pub fn sync(&self) {
        assert!(succeeds(Command::new("sync").arg("--file-system").arg(self.path())));
    }
}

impl Drop for LossyDisk {
    fn drop(&mut self) {
        self.detach();
        // The kernel lets go of the file a moment after the device.
        let cache = self.folder.path().join("cache");
        let is_unmounted = (0..40).any(|_| {
            let done = succeeds(Command::new("umount").arg(&cache));
            if !done {
                thread::sleep(Duration::from_millis(50));
            }
            done
        });
        if !is_unmounted {
            succeeds(Command::new("umount").arg("-l").arg(&cache));
        }
        drop(self.session.take());
    }
}
