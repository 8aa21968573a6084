//! Processors and memory of this machine.

use std::{fs::File, io::Read, thread};

/// Bytes that are read of a file of the kernel; all of them are shorter.
const MAX_KERNEL_FILE_BYTES: u64 = 64 << 10;

/// The limit that bounds the memory of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryBound {
    /// The memory of the machine.
    Machine,
    /// The limit of the control group that the process is in: a container or a systemd unit.
    ControlGroup,
}

/// Processors and memory that a process may use here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// Processors that run threads of this process at the same time; `None` if the system does not report them.
    pub cores: Option<usize>,
    /// Bytes of memory, and the limit that they come from; `None` if the system does not report them.
    pub memory: Option<(u64, MemoryBound)>,
}

impl Machine {
    /// Looks at this machine.
    #[must_use]
    pub fn here() -> Self {
        let installed = read("/proc/meminfo").and_then(|text| total_of(&text));
        let limit = read("/proc/self/cgroup").and_then(|text| limit_of(&text, &|path| read(path)));
        Machine { cores: thread::available_parallelism().ok().map(usize::from), memory: bound(installed, limit) }
    }
}

fn bound(installed: Option<u64>, limit: Option<u64>) -> Option<(u64, MemoryBound)> {
    match (installed, limit) {
        (Some(installed), Some(limit)) if limit < installed => Some((limit, MemoryBound::ControlGroup)),
        (Some(installed), _) => Some((installed, MemoryBound::Machine)),
        (None, limit) => limit.map(|limit| (limit, MemoryBound::ControlGroup)),
    }
}

fn read(path: &str) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_KERNEL_FILE_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The memory in `/proc/meminfo`, in bytes.
fn total_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The lowest memory limit of the control groups in `/proc/self/cgroup`, in bytes: of version 2, and of the controller
/// `memory` of version 1. A group is bounded by those above it.
fn limit_of(groups: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let mut lowest: Option<u64> = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            list if list.split(',').any(|one| one == "memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        let mut folder = path.trim_end_matches('/');
        loop {
            // `max` is not a number: no limit here.
            let limit = read(&format!("{root}{folder}/{file}")).and_then(|text| text.trim().parse::<u64>().ok());
            lowest = limit.into_iter().chain(lowest).min();
            match folder.rsplit_once('/') {
                Some((above, _)) => folder = above,
                None => break,
            }
        }
    }
    lowest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_of_memory_and_limit_counts() {
        assert_eq!(total_of("MemTotal:       24576 kB\nMemFree: 1 kB\n"), Some(24_576 << 10));
        assert_eq!(total_of("MemTotal: many\n"), None);
        let read = |path: &str| {
            let text = match path {
                "/sys/fs/cgroup/a/b/memory.max" => "max\n",
                "/sys/fs/cgroup/a/memory.max" => "4096\n",
                "/sys/fs/cgroup/memory/x/memory.limit_in_bytes" => "8192\n",
                _ => return None,
            };
            Some(text.to_owned())
        };
        assert_eq!(limit_of("0::/a/b\n", &read), Some(4096));
        assert_eq!(limit_of("5:cpu,memory:/x\n4:pids:/y\n", &read), Some(8192));
        assert_eq!(limit_of("0::/\nnonsense\n", &read), None);
        assert_eq!(bound(Some(10), Some(20)), Some((10, MemoryBound::Machine)));
        assert_eq!(bound(Some(20), Some(10)), Some((10, MemoryBound::ControlGroup)));
        assert_eq!(bound(None, None), None);
    }
}
