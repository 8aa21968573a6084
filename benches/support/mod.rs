//! Figures of the machine about a stretch of work: time, phases, bytes written, disk and memory taken.

#[allow(dead_code, reason = "not every bench has such an index")]
pub(crate) mod chain;
#[allow(dead_code, reason = "not every bench has settings of the shape")]
pub(crate) mod shape;

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use cairn_pipeline::{Phase, Progress, ProgressStep};
use cairn_support::disk_bytes;

/// A number of a `/proc` file; `None` on other systems.
fn proc_number(file: &str, field: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Bytes that this process has sent to the disk so far (or will, once the system gets to it).
pub(crate) fn written_bytes() -> Option<u64> {
    proc_number("/proc/self/io", "write_bytes")
}

/// Seconds of processor time that this process's threads have taken so far; unlike time on the clock, hardly changed by
/// what else the machine does.
pub(crate) fn cpu_seconds() -> Option<f64> {
    // Linux counts in hundredths of a second; the fields behind the name in parentheses are 14 and 15 of the whole.
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

/// Watches the size of a folder and, where there is `/proc`, this process's memory.
pub(crate) struct Watch {
    stop: Arc<AtomicBool>,
    disk: Arc<AtomicU64>,
    memory: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub(crate) fn start(folder: PathBuf) -> Self {
        let (stop, disk, memory): (Arc<AtomicBool>, Arc<AtomicU64>, Arc<AtomicU64>) = Default::default();
        let thread = {
            let (stop, disk, memory) = (Arc::clone(&stop), Arc::clone(&disk), Arc::clone(&memory));
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    disk.fetch_max(disk_bytes(&folder), Ordering::Relaxed);
                    let rss = proc_number("/proc/self/status", "VmRSS").unwrap_or(0) << 10;
                    memory.fetch_max(rss, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(25));
                }
            })
        };
        Watch { stop, disk, memory, thread: Some(thread) }
    }

    /// Ends it: most bytes on disk, most bytes in memory.
    pub(crate) fn finish(mut self) -> (u64, u64) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
        (self.disk.load(Ordering::Relaxed), self.memory.load(Ordering::Relaxed))
    }
}

/// Seconds of each phase: from the last step before it to its own last.
pub(crate) struct Phases {
    last: Mutex<(Instant, BTreeMap<&'static str, f64>)>,
}

impl Phases {
    pub(crate) fn start() -> Self {
        Phases { last: Mutex::new((Instant::now(), BTreeMap::new())) }
    }

    /// Time since the last step belongs to `phase`.
    pub(crate) fn note(&self, phase: &'static str) {
        let mut last = self.last.lock().unwrap();
        let now = Instant::now();
        *last.1.entry(phase).or_default() += (now - last.0).as_secs_f64();
        last.0 = now;
    }

    pub(crate) fn seconds(self) -> BTreeMap<&'static str, f64> {
        self.last.into_inner().unwrap().1
    }
}

impl Progress for Phases {
    fn step(&self, step: ProgressStep) {
        // Following the tip of a chain that bulk indexing has just finished does nothing.
        if step.phase != Phase::Connect {
            self.note(step.phase.name());
        }
    }
}
