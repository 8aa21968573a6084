//! Memory of a process: a control group that limits it, and samples of its use.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// A control group for memory, of version 1 or 2. It is removed at the end.
pub(super) struct MemoryGroup {
    folder: PathBuf,
    is_first: bool,
}

impl MemoryGroup {
    /// A group whose processes together may have `bytes` bytes; `None` if this user cannot make one here.
    pub(super) fn limited(name: &str, bytes: u64) -> Option<Self> {
        let name = format!("cairn-test-{}-{name}", std::process::id());
        for (root, file, is_first) in
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes", true), ("/sys/fs/cgroup", "memory.max", false)]
        {
            let folder = Path::new(root).join(&name);
            if fs::create_dir(&folder).is_err() {
                continue;
            }
            let group = MemoryGroup { folder, is_first };
            if group.folder.join(file).exists() && fs::write(group.folder.join(file), bytes.to_string()).is_ok() {
                // No swap: what does not fit is killed.
                let _ = fs::write(group.folder.join("memory.swap.max"), "0");
                return Some(group);
            }
        }
        None
    }

    /// The command, run as a process of the group from its start.
    pub(super) fn run(&self, command: &Command) -> Command {
        let mut inside = Command::new("sh");
        inside.arg("-c").arg(r#"echo $$ > "$0" && exec "$@""#).arg(self.folder.join("cgroup.procs"));
        inside.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        inside
    }

    /// Processes that were killed because there was not enough memory.
    pub(super) fn killed(&self) -> u64 {
        let file = if self.is_first { "memory.oom_control" } else { "memory.events" };
        let text = fs::read_to_string(self.folder.join(file)).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        line.map_or(0, |count| count.trim().parse().unwrap())
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // A process may need a moment to end.
        for _ in 0..100 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Takes samples of a process's memory until it is dropped.
pub(super) struct Watch {
    ended: Arc<AtomicBool>,
    anonymous: Arc<AtomicU64>,
    all: Arc<AtomicU64>,
}

fn kilobytes(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) << 10
}

impl Watch {
    pub(super) fn of(pid: u32) -> Self {
        let watch = Watch { ended: Arc::default(), anonymous: Arc::default(), all: Arc::default() };
        let (ended, anonymous, all) = (Arc::clone(&watch.ended), Arc::clone(&watch.anonymous), Arc::clone(&watch.all));
        thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
                anonymous.fetch_max(kilobytes(&status, "RssAnon"), Ordering::Relaxed);
                all.fetch_max(kilobytes(&status, "VmHWM"), Ordering::Relaxed);
                thread::sleep(Duration::from_millis(10));
            }
        });
        watch
    }

    /// Most bytes so far that no file backs.
    pub(super) fn anonymous(&self) -> u64 {
        self.anonymous.load(Ordering::Relaxed)
    }

    /// Most bytes so far, with pages of files, which the system takes away when it needs them: the program itself.
    pub(super) fn all(&self) -> u64 {
        self.all.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}
