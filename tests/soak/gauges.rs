//! Resources of the processes: memory, descriptors, threads.

use std::{collections::BTreeMap, fmt, fs, time::Duration};

use cairn_support::Cast;

/// Maximum growth of the memory of a process within the measured time, in KiB: at once, and for each minute.
const GROWTH: u64 = 24 << 10;
const GROWTH_PER_MINUTE: u64 = 128;
/// Memory of a table file while it is open, in KiB. Each block at the tip brings new ones, until they are merged.
const PER_TABLE: u64 = 160;
/// Maximum memory of a process, in KiB.
const MAX_MEMORY: u64 = 768 << 10;
/// Maximum growth of the number of descriptors, without table files.
const MORE_FILES: u64 = 8;
/// Table files may be open, once for each handle of the index: a few for each table and block that are not yet merged.
const MAX_TABLES: u64 = 2_000;
/// Of these, what may grow by deleted ones that are still open.
const MORE_DELETED: u64 = 48;
/// Maximum growth of the number of threads: those for blocking work come and go.
const MORE_THREADS: u64 = 16;
/// Names of the processes.
const NAMES: [&str; 2] = ["indexer", "server"];

/// A look at a process.
#[derive(Clone, Copy, Default)]
struct Look {
    at: Duration,
    pid: u32,
    /// KiB.
    memory: u64,
    /// Descriptors of other files than table files.
    files: u64,
    tables: u64,
    /// Table files that are deleted.
    deleted: u64,
    threads: u64,
}

fn look(at: Duration, pid: u32) -> Option<Look> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let number = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    };
    let mut look = Look { at, pid, memory: number("VmRSS:")?, threads: number("Threads:")?, ..Look::default() };
    for descriptor in fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten() {
        // It may be closed by now.
        let Ok(file) = fs::read_link(descriptor.path()) else { continue };
        let file = file.to_string_lossy();
        let is_table = file.trim_end_matches(" (deleted)").ends_with(".sst");
        look.tables += u64::from(is_table);
        look.deleted += u64::from(is_table && file.ends_with(" (deleted)"));
        look.files += u64::from(!is_table);
    }
    Some(look)
}

/// All looks.
#[derive(Default)]
pub struct Gauges {
    looks: BTreeMap<&'static str, Vec<Look>>,
}

impl fmt::Display for Gauges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for (name, looks) in &self.looks {
            let Look { memory, files, tables, threads, .. } = looks.last().copied().unwrap_or_default();
            parts.push(format!("{name} {} MiB {threads} threads {files} descriptors + {tables} tables", memory >> 10));
        }
        f.write_str(&parts.join(", "))
    }
}

fn middle(looks: &[Look], of: impl Fn(&Look) -> u64) -> u64 {
    let mut values: Vec<u64> = looks.iter().map(of).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

impl Gauges {
    /// Looks at the processes that run; nowhere but where `/proc` is.
    pub fn look(&mut self, at: Duration, cast: &Cast) {
        for (name, pid) in NAMES.into_iter().zip(cast.pids()) {
            self.looks.entry(name).or_default().extend(pid.and_then(|pid| look(at, pid)));
        }
    }

    /// Compares the first and the last quarter of the measured time: of the quiet time, all but the first third, in
    /// which the processes warm up.
    pub fn assert_flat(&self, quiet_from: Duration, whole: Duration) {
        if !cfg!(target_os = "linux") {
            cairn_testkit::note_skipped("soak: flat memory", "no /proc here");
            return;
        }
        let measured = whole - quiet_from - (whole - quiet_from) / 3;
        let (from, quarter) = (whole - measured, measured / 4);
        let minutes = measured.as_secs().div_ceil(60);
        for (name, looks) in &self.looks {
            let within = |from: Duration, to: Duration| -> Vec<Look> {
                looks.iter().filter(|look| (from..to).contains(&look.at)).copied().collect()
            };
            let (first, last) = (within(from, from + quarter), within(whole - quarter, whole));
            assert!(first.len() > 3 && last.len() > 3, "{name}: {} and {} looks", first.len(), last.len());
            assert!(first.iter().chain(&last).all(|look| look.pid == first[0].pid), "{name} was started again");
            let compare = |what: &str, of: fn(&Look) -> u64, more: u64| {
                let (before, after) = (middle(&first, of), middle(&last, of));
                assert!(after <= before + more, "{name}: {what} grew from {before} to {after}, by more than {more}");
            };
            let tables = |looks: &[Look]| middle(looks, |look| look.tables);
            let more_tables = PER_TABLE * tables(&last).saturating_sub(tables(&first));
            compare("KiB of memory", |look| look.memory, GROWTH + GROWTH_PER_MINUTE * minutes + more_tables);
            compare("descriptors", |look| look.files, MORE_FILES);
            compare("deleted table files", |look| look.deleted, MORE_DELETED);
            compare("threads", |look| look.threads, MORE_THREADS);
            let most = |of: fn(&Look) -> u64| looks.iter().map(of).max().unwrap_or_default();
            let (memory, tables) = (most(|look| look.memory), most(|look| look.tables));
            assert!(memory <= MAX_MEMORY, "{name} took {memory} KiB, at most {MAX_MEMORY} are allowed");
            assert!(tables <= MAX_TABLES, "{name} had {tables} table files open, at most {MAX_TABLES} are allowed");
        }
    }
}
