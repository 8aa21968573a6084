//! The forest of clusters alone: the ordered fold of the stage `clusters` over made-up moves, with all nodes in memory
//! and in windows. No sorting, no tables: what it emits is counted and thrown away.
//!
//! `CAIRN_BENCH_EDGES` (100 million) is the number of moves, `CAIRN_BENCH_RUNS` (3) that of runs. Half of the moves
//! refer to a node anywhere before, the others to a recent one.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::{
    cell::Cell,
    fs::{self, File},
    io::{BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
    time::Instant,
};

use cairn_model::TxNum;
use cairn_stages::{ChainTimes, Delta, Scratch, Sequence, Stage, StageError, Workspace};
use cairn_support::setting;
use cairn_tables::codec::put_varint;

/// A number that looks random, by its place.
fn mixed(at: u64) -> u64 {
    let mut mixed = at.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Moves of transactions in order, made as they are asked for.
struct GeneratedMoves {
    txs: u64,
    /// Passes over the moves so far.
    passes: Cell<u32>,
    /// Windows so far: a pass that begins at another transaction than the last one begins a window.
    windows: Cell<u32>,
    last_start: Cell<Option<u64>>,
}

/// Moves of a transaction: one of its own script, one or two of scripts that others were the first to show; four of ten
/// show only scripts of their own.
fn distances(tx: u64) -> ([u64; 3], usize) {
    let random = mixed(tx);
    if tx < 2 || random % 10 < 4 {
        return ([0, 0, 0], 2);
    }
    let reference = |random: u64| 1 + if random & 1 == 0 { (random >> 1) % tx } else { (random >> 1) % tx.min(1_000) };
    ([0, reference(mixed(random)), reference(mixed(random ^ 1))], 2 + usize::from(random % 10 < 6))
}

impl Sequence for GeneratedMoves {
    fn groups(
        &self,
        from: &[u8],
        show: &mut dyn FnMut(&[Delta<'_>]) -> Result<bool, StageError>,
    ) -> Result<(), StageError> {
        let start = from.first_chunk::<5>().map_or(0, |bytes| TxNum::from_be5(*bytes).0);
        self.passes.set(self.passes.get() + 1);
        if self.last_start.replace(Some(start)) != Some(start) {
            self.windows.set(self.windows.get() + 1);
        }
        let mut values: [Vec<u8>; 3] = Default::default();
        for tx in start..self.txs {
            let (distances, count) = distances(tx);
            for (value, distance) in values.iter_mut().zip(&distances[..count]) {
                value.clear();
                // Received less sent: 1 satoshi for the node of a script, nothing later.
                put_varint(value, distance << 2 | 3);
                put_varint(value, if *distance == 0 { 2 } else { 0 });
            }
            let key = TxNum(tx).to_be5();
            let deltas = [0, 1, 2].map(|at: usize| Delta { key: &key, value: &values[at] });
            if !show(&deltas[..count])? {
                break;
            }
        }
        Ok(())
    }
}

struct Folder(PathBuf);

impl Scratch for Folder {
    fn create(&self, name: &str) -> Result<Box<dyn Write>, StageError> {
        Ok(Box::new(BufWriter::with_capacity(256 << 10, File::create(self.0.join(name)).unwrap())))
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read>, StageError> {
        Ok(Box::new(BufReader::with_capacity(256 << 10, File::open(self.0.join(name)).unwrap())))
    }

    fn remove(&self, name: &str) -> Result<(), StageError> {
        fs::remove_file(self.0.join(name)).unwrap();
        Ok(())
    }
}

/// Most memory that this process has had, in MiB, since it began.
fn most_memory() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:").map(str::to_owned));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) >> 10
}

/// Folds, and gives the checksum of what was emitted: windows must not change it.
fn fold(stage: &dyn Stage, lane: usize, moves: &GeneratedMoves, memory: u64, dir: &Path) -> (u64, u64) {
    let times = ChainTimes::of([(1_600_000_000, TxNum(0))]);
    let scratch = Folder(dir.to_owned());
    let work = Workspace { memory, scratch: &scratch };
    let (mut emitted, mut sum) = (0u64, 0u64);
    stage
        .fold_sequence(lane, moves, &work, &times, &mut |lane, key, value| {
            emitted += 1;
            // The order of what is emitted may differ: a sum.
            let bytes = key.iter().chain(value).fold(lane as u64, |hash, byte| mixed(hash << 8 ^ u64::from(*byte)));
            sum = sum.wrapping_add(bytes);
        })
        .unwrap();
    (emitted, sum)
}

fn main() {
    let (edges, runs) = (setting("CAIRN_BENCH_EDGES", 100_000_000), setting("CAIRN_BENCH_RUNS", 3));
    // 2.2 moves a transaction.
    let txs = edges * 5 / 11;
    let stages = cairn_stages::all();
    let stage = stages.iter().find(|stage| stage.name() == "clusters").unwrap().as_ref();
    let lane = stage.lanes().iter().position(|lane| lane.name == "cluster_moves").unwrap();
    let moves = || GeneratedMoves { txs, passes: Cell::new(0), windows: Cell::new(0), last_start: Cell::new(None) };
    let count: u64 = (0..txs).map(|tx| distances(tx).1 as u64).sum();
    println!("{txs} transactions, {count} moves; {runs} runs");
    let mut expected = None;
    for run in 0..runs {
        // The last is a few hundredths of what all nodes take at 100 million moves: many windows.
        for mib in [u64::MAX >> 20, 512, 96] {
            let dir = cairn_testkit::temp_dir();
            let made = moves();
            let start = Instant::now();
            let found = fold(stage, lane, &made, mib << 20, dir.path());
            let seconds = start.elapsed().as_secs_f64();
            assert_eq!(*expected.get_or_insert(found), found, "windows change what is emitted");
            let few = mib == 96 && edges >= 100_000_000 && made.windows.get() < 16;
            assert!(!few, "{} windows only in {mib} MiB", made.windows.get());
            println!(
                "run {run}: {} MiB: {} windows, {seconds:.1} s, {:.0} ns a move; {} rows; most memory so far {} MiB",
                if mib > 1 << 40 { "any".to_owned() } else { mib.to_string() },
                made.windows.get(),
                seconds * 1e9 / count as f64,
                found.0,
                most_memory(),
            );
        }
    }
}
