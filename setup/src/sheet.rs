//! The sizing sheet: disk, memory and time of the first indexing on this machine. Each number names its source.

use cairn_sources::FolderSizes;
use serde::Serialize;

use crate::{
    disk::Disk,
    finding::{Finding, Severity},
    line::{Line, Source, Value},
    machine::{Machine, MemoryBound},
    measure::Measured,
    units::{duration, size},
};

/// Bytes of index for each byte of block, and bytes that bulk indexing needs besides at most.
const INDEX_SHARE: f64 = 0.51;
const BULK_SHARE: f64 = 0.10;
/// Bytes of tweaks of silent payments for each byte of block: 7.8 GB for 765 GB.
const TWEAKS_SHARE: f64 = 0.0102;
const SHARES_FROM: &str = "benches/RESULTS.md: chains of 256 MiB to 4 GiB with the proportions of the main network";
/// Bytes of blocks below which fixed costs of the tables outweigh the shares.
const LEAST_CHAIN: u64 = 256 << 20;
/// Processor time of bulk indexing with the late stages, in seconds for 10^9 bytes of blocks: least and most. From
/// benches/RESULTS.md: the base stages took 11.9 to 12.5 s (2026-11-22), all stages with the late ones 1.3 to 1.5 times
/// that (2026-11-26), and comparing witness commitments takes 0.7 s since (docs/performance.md).
const CPU_SECONDS_PER_GB: (f64, f64) = (16.2, 19.5);
/// Bytes of blocks that one core of the same machine decodes in a second: 732 MB (2026-11-22), less what comparing
/// witness commitments takes since.
const DECODE_RATE: f64 = 480e6;
const CPU_FROM: &str = "benches/RESULTS.md: 16.2 to 19.5 s a GB on cores that decode 480 MB/s";
/// Share of another core that a further thread gains: least and most of what two threads gained over one.
const CORE_YIELD: (f64, f64) = (0.86, 0.93);
/// Cores up to which the gain of further threads was measured.
const MEASURED_CORES: usize = 2;
/// Bulk indexing reads the blocks twice.
const PASSES: f64 = 2.0;
/// Inputs and outputs for each MB of the chains that the shares were recorded on, and the factor beyond which a sample
/// is said to be of another kind.
const DENSITY: f64 = 9_150.0;
const DENSITY_RANGE: f64 = 1.5;

/// The facts that a sheet is computed from.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the network.
    pub network: String,
    /// The folder of block files, as it was given.
    pub blocks_dir: String,
    /// Sizes of its files.
    pub sizes: FolderSizes,
    /// Measurements on its blocks.
    pub measured: Measured,
    /// The disk of the data folder, or the reason why it is unknown.
    pub disk: Result<Disk, String>,
    /// This machine.
    pub machine: Machine,
    /// Bytes of memory that `cairn run` takes at most, by the settings.
    pub memory_bytes: u64,
    /// True if the tweaks of silent payments are made.
    pub silent_payments: bool,
    /// Bytes of an index that the data folder already has.
    pub index_bytes: u64,
}

/// A sizing sheet.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Sheet {
    /// The network.
    pub network: String,
    /// The numbers.
    pub lines: Vec<Line>,
    /// Everything that is too small, and how to mend it.
    pub findings: Vec<Finding>,
}

impl Sheet {
    /// Computes the sheet.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let mut lines = space_lines(plan);
        lines.extend(machine_lines(plan));
        lines.extend(time_lines(plan));
        Sheet { network: plan.network.clone(), lines, findings: findings(plan) }
    }

    /// The line with this name.
    #[must_use]
    pub fn line(&self, name: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.name == name)
    }
}

impl Plan {
    fn share(&self, of: f64) -> u64 {
        (self.sizes.block_bytes as f64 * of).round() as u64
    }

    /// Bytes of the finished index.
    #[must_use]
    pub fn index_size(&self) -> u64 {
        self.share(INDEX_SHARE + if self.silent_payments { TWEAKS_SHARE } else { 0.0 })
    }

    /// Most bytes that the first indexing takes on the disk.
    #[must_use]
    pub fn needed_bytes(&self) -> u64 {
        self.index_size() + self.share(BULK_SHARE)
    }
}

fn line(name: &'static str, value: Value, source: Source, from: impl Into<String>) -> Line {
    Line { name, value, source, from: from.into() }
}

fn space_lines(plan: &Plan) -> Vec<Line> {
    let sizes = &plan.sizes;
    let unwritten = match sizes.unwritten_bytes {
        0 => String::new(),
        bytes => format!(", without {} that the node has allocated and not written", size(bytes)),
    };
    let undo = match sizes.undo_files {
        0 => "no rev*.dat: bulk indexing needs one more pass over the blocks".to_owned(),
        files => format!("{files} files rev*.dat"),
    };
    let mut lines = vec![
        line(
            "block files",
            Value::Bytes(sizes.block_bytes),
            Source::Counted,
            format!("{} files blk*.dat in {}{unwritten}", sizes.block_files, plan.blocks_dir),
        ),
        line("undo files", Value::Bytes(sizes.undo_bytes), Source::Counted, undo),
        line(
            "index",
            Value::Bytes(plan.share(INDEX_SHARE)),
            Source::Recorded,
            format!("{INDEX_SHARE} bytes a byte of block; {SHARES_FROM}"),
        ),
    ];
    if plan.silent_payments {
        lines.push(line(
            "silent payments",
            Value::Bytes(plan.share(TWEAKS_SHARE)),
            Source::Recorded,
            "7.8 GB for the 765 GB of the main network; benches/RESULTS.md",
        ));
    }
    lines.push(line(
        "while indexing",
        Value::Bytes(plan.share(BULK_SHARE)),
        Source::Recorded,
        format!("{BULK_SHARE} bytes more a byte of block until the first indexing is done"),
    ));
    let needed = "index and space while indexing";
    lines.push(line("disk needed", Value::Bytes(plan.needed_bytes()), Source::Computed, needed));
    lines.push(match &plan.disk {
        Ok(disk) => {
            let all = size(disk.total_bytes);
            let from = format!("of {all}, the disk of {}", disk.existing.display());
            line("disk free", Value::Bytes(disk.free_bytes), Source::Measured, from)
        }
        Err(reason) => line("disk free", Value::Unknown, Source::Unknown, reason.clone()),
    });
    if plan.index_bytes > 0 {
        let from = "files that the data folder has already";
        lines.push(line("index that exists", Value::Bytes(plan.index_bytes), Source::Counted, from));
    }
    lines
}

fn machine_lines(plan: &Plan) -> Vec<Line> {
    let memory = match plan.machine.memory {
        Some((bytes, bound)) => {
            let from = match bound {
                MemoryBound::Machine => "memory of this machine",
                MemoryBound::ControlGroup => "limit of the control group (container or systemd unit)",
            };
            line("memory here", Value::Bytes(bytes), Source::Measured, from)
        }
        None => line("memory here", Value::Unknown, Source::Unknown, "the system does not report it"),
    };
    let cores = match plan.machine.cores {
        Some(cores) => line("cores", Value::Count(cores as u64), Source::Measured, "threads that run at the same time"),
        None => line("cores", Value::Unknown, Source::Unknown, "the system does not report them"),
    };
    let bound = "memory bound of cairn run, as `cairn config` prints it with its terms";
    vec![line("memory needed", Value::Bytes(plan.memory_bytes), Source::Configured, bound), memory, cores]
}

fn time_lines(plan: &Plan) -> Vec<Line> {
    let too_small = "the folder has too few blocks to measure";
    let read = match plan.measured.read {
        Some(sample) => {
            let cached = if sample.is_uncached { "not from the system's cache" } else { "may be from the cache" };
            let from = format!("one thread, {} of block files, {cached}", size(sample.bytes));
            line("reading", Value::BytesPerSecond(sample.rate()), Source::Measured, from)
        }
        None => line("reading", Value::Unknown, Source::Unknown, too_small),
    };
    let Some(decode) = plan.measured.decode else {
        let unknown = |name| line(name, Value::Unknown, Source::Unknown, too_small);
        return vec![read, unknown("decoding"), unknown("processor time"), unknown("first indexing")];
    };
    let from = format!("one core, {} blocks of these files with {}", decode.blocks, size(decode.bytes));
    let decoding = line("decoding", Value::BytesPerSecond(decode.rate()), Source::Measured, from);
    let cpu = cpu_seconds(plan, decode.rate());
    let from = format!("{CPU_FROM}; scaled by the decoding above");
    let processor = line("processor time", Value::Seconds(cpu.0, cpu.1), Source::Computed, from);
    let first = match (plan.machine.cores, plan.measured.read) {
        (Some(cores), Some(sample)) => {
            let reading = PASSES * plan.sizes.block_bytes as f64 / sample.rate();
            let (least, most) = (cpu.0 / speed_up(cores, CORE_YIELD.1), cpu.1 / least_speed_up(cores));
            let more = if cores > MEASURED_CORES { "; the gain of more than two cores was not measured" } else { "" };
            let from = format!(
                "the longer of processor time on {cores} cores and reading the blocks twice ({}){more}",
                duration(reading)
            );
            line("first indexing", Value::Seconds(least.max(reading), most.max(reading)), Source::Computed, from)
        }
        _ => line("first indexing", Value::Unknown, Source::Unknown, "reading speed or cores are unknown"),
    };
    vec![read, decoding, processor, first]
}

/// Processor time of the first indexing in seconds: least and most.
fn cpu_seconds(plan: &Plan, decode_rate: f64) -> (f64, f64) {
    let gigabytes = plan.sizes.block_bytes as f64 / 1e9;
    let slower = DECODE_RATE / decode_rate.max(1.0);
    let (least, most) = CPU_SECONDS_PER_GB;
    (gigabytes * least * slower, gigabytes * most * slower)
}

/// Times that several cores are faster than one.
fn speed_up(cores: usize, each: f64) -> f64 {
    if cores <= 1 { 1.0 } else { cores as f64 * each }
}

/// The speed-up that was measured: cores beyond those of the benchmark count for nothing.
fn least_speed_up(cores: usize) -> f64 {
    speed_up(cores.min(MEASURED_CORES), CORE_YIELD.0)
}

fn findings(plan: &Plan) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Ok(disk) = &plan.disk {
        findings.extend(disk_finding(plan, disk));
    }
    if let Some((bytes, bound)) = plan.machine.memory.filter(|(bytes, _)| *bytes < plan.memory_bytes) {
        let place = match bound {
            MemoryBound::Machine => "this machine",
            MemoryBound::ControlGroup => "the control group of this process",
        };
        let needed = size(plan.memory_bytes);
        let fault = format!("{place} has {} of memory, and cairn run may take {needed} by its settings", size(bytes));
        let remedy = "configure less memory, in cairn.toml or as flags of the same names:";
        let lines = ["memory = \"1G\"", "cache = \"256M\"", "mempool_memory = \"256M\""];
        findings.push(Finding::new(Severity::Fault, "memory_too_small", fault, remedy).with_lines(lines));
    }
    if plan.sizes.block_bytes < LEAST_CHAIN {
        let fault = format!(
            "these are {} of blocks: the recorded ratios do not hold below {}, where fixed costs of the tables count more",
            size(plan.sizes.block_bytes),
            size(LEAST_CHAIN)
        );
        findings.push(Finding::new(Severity::Note, "small_chain", fault, ""));
    }
    let density = plan.measured.decode.map(|sample| sample.density());
    let is_far = |density: &f64| *density > DENSITY * DENSITY_RANGE || *density < DENSITY / DENSITY_RANGE;
    if let Some(density) = density.filter(is_far) {
        let fault = format!(
            "the sampled blocks have {density:.0} inputs and outputs a MB, those of the recorded ratios {DENSITY:.0}: an index \
             grows with their number, so that its size may differ"
        );
        findings.push(Finding::new(Severity::Note, "other_density", fault, ""));
    }
    if let Some(damaged) = plan.measured.decode.map(|sample| sample.damaged).filter(|damaged| *damaged > 0) {
        let fault = format!("{damaged} of the sampled blocks do not decode");
        let remedy = "let the node repair its files (bitcoind -reindex), or copy them again";
        findings.push(Finding::new(Severity::Advice, "blocks_damaged", fault, remedy));
    }
    findings
}

fn disk_finding(plan: &Plan, disk: &Disk) -> Option<Finding> {
    let folder = disk.folder.display();
    if disk.is_read_only {
        let fault = format!("the disk of {folder} is mounted read-only");
        let remedy = "mount it for writing, or choose a folder on another disk with --datadir";
        return Some(Finding::new(Severity::Fault, "disk_read_only", fault, remedy));
    }
    if !disk.is_writable {
        let existing = disk.existing.display();
        let fault = format!("this user has no permission to write in {existing}, where {folder} is to be");
        let remedy = "create the folder as root and give it to this user, or choose another one with --datadir:";
        let lines = [format!("install -d -o \"$USER\" {folder}")];
        return Some(Finding::new(Severity::Fault, "datadir_not_writable", fault, remedy).with_lines(lines));
    }
    // An index that is nearly as large as predicted is finished.
    let is_finished = plan.index_bytes as f64 > 0.9 * plan.index_size() as f64;
    let missing = if is_finished { 0 } else { plan.needed_bytes().saturating_sub(plan.index_bytes) };
    if disk.free_bytes >= missing {
        return None;
    }
    let fault = format!(
        "the disk of {folder} has {} free, and the first indexing needs {} ({} of them afterwards, too)",
        size(disk.free_bytes),
        size(missing),
        size(plan.index_size())
    );
    let remedy =
        format!("free {} there, or choose a folder on a larger disk with --datadir", size(missing - disk.free_bytes));
    Some(Finding::new(Severity::Fault, "disk_too_small", fault, remedy))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::measure::{DecodeSample, ReadSample};

    fn mainnet() -> Plan {
        let disk = Disk {
            folder: PathBuf::from("/srv/cairn"),
            existing: PathBuf::from("/srv"),
            free_bytes: 500_000_000_000,
            total_bytes: 2_000_000_000_000,
            is_read_only: false,
            is_writable: true,
            device: 1,
        };
        let decode = DecodeSample {
            blocks: 90,
            bytes: 100_000_000,
            seconds: 100e6 / DECODE_RATE,
            inputs_and_outputs: 915_000,
            damaged: 0,
        };
        Plan {
            network: "main".to_owned(),
            blocks_dir: "/srv/bitcoin/blocks".to_owned(),
            sizes: FolderSizes {
                block_files: 5_700,
                block_bytes: 765_000_000_000,
                unwritten_bytes: 0,
                undo_files: 5_700,
                undo_bytes: 100_000_000_000,
            },
            measured: Measured {
                read: Some(ReadSample { bytes: 1 << 27, seconds: 0.25, is_uncached: true }),
                decode: Some(decode),
            },
            disk: Ok(disk),
            machine: Machine { cores: Some(2), memory: Some((24 << 30, MemoryBound::Machine)) },
            memory_bytes: 5_760 << 20,
            silent_payments: false,
            index_bytes: 0,
        }
    }

    fn shown(sheet: &Sheet, name: &str) -> String {
        sheet.line(name).map(|line| line.value.to_string()).unwrap_or_default()
    }

    #[test]
    fn the_main_network_on_the_machine_of_the_benchmarks() {
        let sheet = Sheet::new(&mainnet());
        let values = ["block files", "index", "while indexing", "disk needed", "disk free", "reading", "decoding"];
        assert_eq!(
            values.map(|name| shown(&sheet, name)),
            ["765 GB", "390 GB", "76.5 GB", "467 GB", "500 GB", "537 MB/s", "480 MB/s"]
        );
        // 765 GB at 16.2 to 19.5 s a GB on two cores.
        assert_eq!(shown(&sheet, "first indexing"), "111 min to 2.4 h");
        assert_eq!(sheet.findings, []);
        assert!(sheet.lines.iter().all(|line| !line.from.is_empty()), "{sheet:?}");
        let json = serde_json::to_value(&sheet).unwrap_or_default();
        assert_eq!(json["lines"][2]["value"], 390_150_000_000_u64);
        assert_eq!((&json["lines"][2]["source"], &json["lines"][2]["unit"]), (&"recorded".into(), &"bytes".into()));
    }

    #[test]
    fn too_little_is_said_before_the_first_byte() {
        let mut plan = mainnet();
        let kinds = |plan: &Plan| Sheet::new(plan).findings.iter().map(|finding| finding.kind).collect::<Vec<_>>();
        if let Ok(disk) = &mut plan.disk {
            disk.free_bytes = 400_000_000_000;
        }
        plan.machine.memory = Some((4 << 30, MemoryBound::ControlGroup));
        assert_eq!(kinds(&plan), ["disk_too_small", "memory_too_small"]);
        let fault = &Sheet::new(&plan).findings[0];
        assert!(fault.fault.contains("has 400 GB free, and the first indexing needs 467 GB"), "{fault}");
        assert!(fault.remedy.starts_with("free 66.7 GB there"), "{fault}");
        // The files of an index that is begun count; one that is finished needs no more.
        plan.index_bytes = 60_000_000_000;
        assert_eq!(kinds(&plan), ["disk_too_small", "memory_too_small"]);
        plan.index_bytes = 380_000_000_000;
        assert_eq!(kinds(&plan), ["memory_too_small"]);
        if let Ok(disk) = &mut plan.disk {
            disk.is_writable = false;
        }
        plan.machine.memory = None;
        assert_eq!(kinds(&plan), ["datadir_not_writable"]);
        if let Ok(disk) = &mut plan.disk {
            disk.is_read_only = true;
        }
        assert_eq!(kinds(&plan), ["disk_read_only"]);
    }

    #[test]
    fn unknown_is_said_with_the_reason() {
        let plan = Plan {
            measured: Measured::default(),
            disk: Err("no --datadir is given".to_owned()),
            machine: Machine { cores: None, memory: None },
            ..mainnet()
        };
        let sheet = Sheet::new(&plan);
        for name in ["disk free", "memory here", "cores", "reading", "decoding", "processor time", "first indexing"] {
            assert_eq!(shown(&sheet, name), "unknown", "{name}");
        }
        assert_eq!(sheet.line("disk free").map(|line| line.from.as_str()), Some("no --datadir is given"));
        assert_eq!(sheet.findings, []);
    }

    #[test]
    fn more_cores_than_were_measured_widen_the_range() {
        let eight = Plan { machine: Machine { cores: Some(8), ..mainnet().machine }, ..mainnet() };
        let sheet = Sheet::new(&eight);
        let line = sheet.line("first indexing");
        assert!(line.is_some_and(|line| line.from.contains("more than two cores was not measured")), "{line:?}");
        // Reading 765 GB twice at 537 MB/s takes longer than the processors.
        assert_eq!(shown(&sheet, "first indexing"), "47 min to 2.4 h");
    }

    #[test]
    fn other_chains_than_the_recorded_ones_are_named() {
        let mut plan = mainnet();
        plan.sizes.block_bytes = 1_000_000;
        if let Some(decode) = &mut plan.measured.decode {
            (decode.inputs_and_outputs, decode.damaged) = (100_000, 2);
        }
        let findings = Sheet::new(&plan).findings;
        let kinds: Vec<_> = findings.iter().map(|finding| (finding.kind, finding.severity)).collect();
        assert_eq!(
            kinds,
            [("small_chain", Severity::Note), ("other_density", Severity::Note), ("blocks_damaged", Severity::Advice)]
        );
    }
}
