//! Figures of the system about a program while it works.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use cairn_support::disk_bytes;

use crate::{
    chain::Chain,
    electrum::{self, Answered},
    indexers::Indexer,
    node::Node,
};

/// One run of one program, from its start until it answered.
#[derive(Clone, Copy)]
pub(crate) struct Measured {
    /// Time on the clock, seconds.
    pub(crate) seconds: f64,
    /// Processor time of the program, seconds.
    pub(crate) cpu: f64,
    /// Processor time that the node took meanwhile, seconds.
    pub(crate) node_cpu: f64,
    /// Most resident memory, bytes.
    pub(crate) memory: u64,
    /// Bytes on disk after it was ended.
    pub(crate) disk: u64,
    /// Most bytes on disk at any time.
    pub(crate) most_disk: u64,
    /// Bytes that it sent to the disk.
    pub(crate) written: u64,
    /// Times of a wallet's questions, if it speaks the Electrum protocol.
    pub(crate) wallet: Option<Answered>,
}

/// Starts a program in an empty folder and measures until it answers about the last block; then ends it.
pub(crate) fn run(
    indexer: &Indexer,
    chain: &Chain,
    node: Option<&Node>,
    folder: &Path,
    longest: Duration,
) -> Result<Measured, String> {
    let data = folder.join("data");
    fs::create_dir(&data).unwrap();
    let prepared = (indexer.prepare)(chain, node, &data);
    let mut command = prepared.command;
    let output = fs::File::create(folder.join("output")).unwrap();
    command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
    // Settings of whoever runs this must not reach it.
    command.env("HOME", folder).current_dir(folder);
    let node_cpu = || node.map_or(0.0, |node| cpu_seconds(node.pid()).unwrap_or(0.0));
    let node_before = node_cpu();
    let watch = Watch::start(data.clone());
    let start = Instant::now();
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let ended = loop {
        if (prepared.ready)() {
            break None;
        }
        if let Some(status) = child.try_wait().unwrap() {
            break Some(format!("it ended ({status})"));
        }
        if start.elapsed() > longest {
            break Some(format!("no answer after {} s", longest.as_secs()));
        }
        thread::sleep(Duration::from_millis(50));
    };
    let seconds = start.elapsed().as_secs_f64();
    let pid = child.id();
    let taken = (cpu_seconds(pid), proc_number(pid, "status", "VmHWM"), proc_number(pid, "io", "write_bytes"));
    let node_cpu = node_cpu() - node_before;
    let wallet = prepared.electrum.filter(|_| ended.is_none()).map(|port| electrum::ask(port, &chain.questions));
    stop(&mut child);
    let most_disk = watch.finish();
    if let Some(reason) = ended {
        let said = fs::read_to_string(folder.join("output")).unwrap_or_default();
        let lines: Vec<&str> = said.lines().collect();
        return Err(format!("{reason}; it said:\n{}", lines[lines.len().saturating_sub(20)..].join("\n")));
    }
    let (Some(cpu), Some(memory), Some(written)) = taken else {
        return Err("the system tells nothing about processes (no /proc)".to_owned());
    };
    let wallet = wallet.transpose().map_err(|error| format!("a wallet's questions: {error}"))?;
    Ok(Measured { seconds, cpu, node_cpu, memory: memory << 10, disk: disk_bytes(&data), most_disk, written, wallet })
}

/// Asks a process to end, and makes it if it does not within a minute.
pub(crate) fn stop(child: &mut Child) {
    let _ = Command::new("kill").arg(child.id().to_string()).stderr(Stdio::null()).status();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// First line of what a program says of its version.
pub(crate) fn version(exe: &Path) -> String {
    let output = Command::new(exe).arg("--version").stdin(Stdio::null()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&said).lines().find(|line| !line.trim().is_empty()).unwrap_or("unknown").trim().to_owned()
}

/// The machine, in a line.
pub(crate) fn machine() -> String {
    let field = |file: &str, name: &str| -> Option<String> {
        let text = fs::read_to_string(file).ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    format!(
        "{} × {}, memory {}, load {}",
        thread::available_parallelism().map_or(0, usize::from),
        field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".to_owned()),
        field("/proc/meminfo", "MemTotal").unwrap_or_else(|| "unknown".to_owned()),
        fs::read_to_string("/proc/loadavg").unwrap_or_default().trim(),
    )
}

fn proc_number(pid: u32, file: &str, field: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Linux counts in hundredths of a second; the fields behind the name in parentheses are 14 to 17 of the whole: its own
/// and those of children that have ended, in user and system mode.
fn cpu_seconds(pid: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: Option<f64> = fields.get(11..15)?.iter().map(|field| field.parse::<f64>().ok()).sum();
    Some(ticks? / 100.0)
}

/// Watches the size of a folder.
struct Watch {
    stop: Arc<AtomicBool>,
    most: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Watch {
    fn start(folder: PathBuf) -> Self {
        let (stop, most): (Arc<AtomicBool>, Arc<AtomicU64>) = Default::default();
        let thread = {
            let (stop, most) = (Arc::clone(&stop), Arc::clone(&most));
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    most.fetch_max(disk_bytes(&folder), Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(50));
                }
            })
        };
        Watch { stop, most, thread }
    }

    fn finish(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        self.most.load(Ordering::Relaxed)
    }
}
