//! The share of one stage in bulk indexing, in instructions: the same chain is indexed with all stages and with all but
//! that one, each time in a process of its own under Valgrind's callgrind, on one thread. Other work of the
//! machine hardly changes the counts, but two runs differ by some tenths of a percent; so the cost of the stage's `map`
//! alone, which callgrind attributes exactly, has a line of its own. Valgrind's processor has no SHA extensions: hashes
//! count more than they take.
//!
//! `CAIRN_BENCH_STAGE` (pubkeys) is the stage, on which no other may depend; `CAIRN_BENCH_MIB` (25) the size of the
//! chain, `CAIRN_BENCH_RUNS` (3) the number of runs. `CAIRN_BENCH_P2PK_PPM` and `CAIRN_BENCH_P2PK_COMPRESSED` change
//! the share of P2PK outputs, as `support/shape.rs` says.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

#[path = "support/shape.rs"]
mod shape;

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use cairn_chaingen::{
    corefiles::FileOptions,
    mainnet::{MainnetOptions, write_mainnet},
};
use cairn_model::Network;
use cairn_pipeline::{Driver, Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use cairn_support::{setting, table::Table};
use cairn_tables::TABLES;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Settings of a counted process: the folder with the chain, the folder of the index, and the stage that it leaves out.
const BLOCKS: &str = "CAIRN_BENCH_BLOCKS_DIR";
const DATADIR: &str = "CAIRN_BENCH_DATADIR";
const WITHOUT: &str = "CAIRN_BENCH_WITHOUT";

/// Indexes the chain in bulk, and prints the bytes of each table.
fn index(blocks: &Path) {
    let datadir = PathBuf::from(env::var_os(DATADIR).unwrap());
    let without = env::var(WITHOUT).unwrap_or_default();
    let facts = Facts { blocks_dir: Some(blocks.to_owned()), ..Facts::of(Network::Regtest) };
    let files = BlockFiles::open(blocks, Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    let stages = cairn_stages::all().into_iter().filter(|stage| stage.name() != without).collect();
    let mut engine = Engine::open_with(&datadir, Some(&facts), stages).unwrap();
    let options = SyncOptions { driver: Driver::Bulk, ..SyncOptions::default() };
    assert!(engine.sync(&files, &survey, &options, &NoProgress).unwrap().bulk);
    let reader = engine.reader();
    for info in &TABLES {
        println!("{}\t{}", info.name, reader.table_size(info).unwrap().bytes);
    }
}

/// Counts of one process.
struct Counted {
    instructions: f64,
    /// Instructions of the stage's `map` and all that it calls.
    map: Option<f64>,
    tables: Vec<(String, f64)>,
}

/// Indexes the chain under callgrind.
fn count(folder: &Path, stage: &str, without: bool) -> Counted {
    let (datadir, out) = (folder.join("data"), folder.join("callgrind.out"));
    std::fs::create_dir(&datadir).unwrap();
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", &format!("--callgrind-out-file={}", out.display())])
        .arg(env::current_exe().unwrap())
        .env(BLOCKS, folder.join("blocks"))
        .env(DATADIR, &datadir)
        .env(WITHOUT, if without { stage } else { "" })
        .env("RAYON_NUM_THREADS", "1")
        .stderr(Stdio::inherit())
        .output()
        .expect("valgrind is not installed");
    assert!(output.status.success(), "{}", output.status);
    std::fs::remove_dir_all(datadir).unwrap();
    let tables = String::from_utf8(output.stdout).unwrap();
    let tables = tables.lines().filter_map(|line| line.split_once('\t'));
    Counted {
        instructions: total(&std::fs::read_to_string(&out).unwrap()),
        map: inclusive_map(&out, stage),
        tables: tables.map(|(name, bytes)| (name.to_owned(), bytes.parse().unwrap())).collect(),
    }
}

/// The sum of a file of callgrind.
fn total(file: &str) -> f64 {
    let line = file.lines().rev().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
    line.and_then(|count| count.trim().parse().ok()).expect("no sum in callgrind's file")
}

/// Instructions of the stage's `map` with all that it calls.
fn inclusive_map(file: &Path, stage: &str) -> Option<f64> {
    let output = Command::new("callgrind_annotate").args(["--inclusive=yes", "--threshold=100"]).arg(file).output();
    let text = String::from_utf8_lossy(&output.expect("callgrind_annotate is not installed").stdout).into_owned();
    let is_map = |line: &&str| {
        line.contains(&format!("cairn_stages::{stage}::"))
            && line.contains("::Stage>::map")
            && !line.contains("closure")
    };
    let first_number = |line: &str| line.split_whitespace().next()?.replace(',', "").parse::<f64>().ok();
    text.lines().filter(is_map).filter_map(first_number).reduce(f64::max)
}

fn main() {
    if let Some(blocks) = env::var_os(BLOCKS) {
        return index(Path::new(&blocks));
    }
    let stage = env::var("CAIRN_BENCH_STAGE").unwrap_or_else(|_| "pubkeys".to_owned());
    assert!(cairn_stages::all().iter().any(|known| known.name() == stage), "no stage is called {stage}");
    let (mib, runs) = (setting("CAIRN_BENCH_MIB", 25), setting("CAIRN_BENCH_RUNS", 3));
    let folder = cairn_testkit::temp_dir();
    let options = MainnetOptions { empty_blocks: 10, p2pk: shape::p2pk(), ..MainnetOptions::new(1, mib << 20) };
    let files = FileOptions::new(bitcoin::Network::Regtest, [1, 2, 3, 4, 5, 6, 7, 8]);
    let stats = write_mainnet(&folder.path().join("blocks"), files, &options).unwrap();
    println!("{}; {runs} runs", shape::described(&stats.total));
    let mut table = Table::default();
    for _ in 0..runs {
        let (without, with) = (count(folder.path(), &stage, true), count(folder.path(), &stage, false));
        let percent = |part: f64| 100.0 * part / without.instructions;
        table.add(format!("all stages but {stage}"), "million instructions", without.instructions / 1e6);
        table.add("all stages", "million instructions", with.instructions / 1e6);
        table.add("more with the stage", "%", percent(with.instructions - without.instructions));
        table.add("its map alone", "%", percent(with.map.expect("no map in callgrind's file")));
        let all: f64 = with.tables.iter().map(|(_, bytes)| bytes).sum();
        for (name, bytes) in with.tables.iter().filter(|(name, _)| *name == stage) {
            table.add(format!("table {name}"), "% of all tables", 100.0 * bytes / all);
        }
    }
    table.print();
}
