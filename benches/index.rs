//! How fast a folder of block files becomes an index, and what that costs: MB of blocks a second, bytes written, kept
//! and taken at most for each byte of block; then each stage rebuilt out of the journal. Then the same with one thread,
//! and with as little memory as there may be. Each is a process of its own, one after the other, so that their ratios
//! are of one machine at one time.
//!
//! Too long for criterion: a few whole runs, of which the table shows least, middle and most.
//! `CAIRN_BENCH_MIB` (256) is the size of the chain, `CAIRN_BENCH_RUNS` (3) the number of runs. `CAIRN_BENCH_P2PK_PPM`
//! and `CAIRN_BENCH_P2PK_COMPRESSED` change the share of P2PK outputs, as `support/shape.rs` says.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod support;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use cairn_chaingen::{
    corefiles::FileOptions,
    mainnet::{MainnetOptions, write_mainnet},
};
use cairn_events::{Body, Category, Claim, ClaimList, ClaimType, Document, DocumentHash, EvidenceTier, Provenance};
use cairn_model::{Network, ScriptId, ScriptPrefix};
use cairn_pipeline::{DEFAULT_MEMORY, Driver, Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use cairn_stages::CHAIN;
use cairn_support::{disk_bytes, setting, table::Table};
use cairn_tables::{
    TABLES, TableInfo,
    clusters::ClusterOf,
    exchange_flows::{ExchangeFlows, FlowMode, FlowSum},
    totals::TotalsTable,
};
use support::{Phases, Watch, cpu_seconds, shape, written_bytes};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Indexes the folder in bulk and measures. Returns the bytes of the blocks.
fn bulk(blocks: &Path, datadir: &Path, table: &mut Table) -> u64 {
    let (written, cpu) = (written_bytes(), cpu_seconds());
    let watch = Watch::start(datadir.to_owned());
    let phases = Phases::start();
    let start = Instant::now();
    let files = BlockFiles::open(blocks, Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    phases.note("survey");
    let facts = Facts { blocks_dir: Some(blocks.to_owned()), ..Facts::of(Network::Regtest) };
    let memory = setting(MEMORY, DEFAULT_MEMORY >> 20) << 20;
    let mut engine = match setting(STAGES, 0) as usize {
        0 => Engine::open_within(datadir, &facts, memory).unwrap(),
        first => {
            let stages = cairn_stages::all().into_iter().take(first).collect();
            Engine::open_with(datadir, Some(&facts), stages).unwrap()
        }
    };
    phases.note("open");
    let options = SyncOptions { driver: Driver::Bulk, ..SyncOptions::default() };
    let report = engine.sync(&files, &survey, &options, &phases).unwrap();
    phases.note("commit");
    let seconds = start.elapsed().as_secs_f64();
    assert!(report.bulk);
    let reader = engine.reader();
    let mut rows = 0;
    for info in &TABLES {
        let size = reader.table_size(info).unwrap();
        rows += size.rows;
        let kept = size.bytes as f64 / report.bytes as f64;
        if kept >= 0.001 {
            table.add(format!("index: {}", info.name), "bytes a block byte", kept);
        }
    }
    drop((reader, engine));
    let (disk, memory) = watch.finish();
    let of_blocks = |bytes: u64| bytes as f64 / report.bytes as f64;
    table.add(BULK, "MB of blocks a second", report.bytes as f64 / 1e6 / seconds);
    table.add("bulk: rows", "thousand rows a second", rows as f64 / 1e3 / seconds);
    table.add("bulk: blocks", "blocks a second", report.connected as f64 / seconds);
    if let (Some(before), Some(after)) = (cpu, cpu_seconds()) {
        table.add(CPU, "s a GB of blocks", (after - before) * 1e9 / report.bytes as f64);
    }
    if let (Some(before), Some(after)) = (written, written_bytes()) {
        table.add("bulk: written", "bytes a block byte", of_blocks(after - before));
    }
    table.add("bulk: index", "bytes a block byte", of_blocks(disk_bytes(datadir)));
    table.add("bulk: most disk taken", "bytes a block byte", of_blocks(disk));
    table.add("bulk: most memory", "MiB", memory as f64 / 1_048_576.0);
    for (phase, seconds) in phases.seconds() {
        table.add(format!("bulk: {phase}"), "s", seconds);
    }
    report.bytes
}

/// Rebuilds every stage but the journal.
fn reindex(datadir: &Path, bytes: u64, table: &mut Table) {
    let mut engine = Engine::open_existing(datadir).unwrap();
    for (stage, _) in engine.stages().unwrap().iter().filter(|(stage, _)| stage.name != CHAIN) {
        let (start, written) = (Instant::now(), written_bytes());
        engine.reindex(&[stage.name], &NoProgress).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        table.add(format!("reindex {}", stage.name), "MB of blocks a second", bytes as f64 / 1e6 / seconds);
        if let (Some(before), Some(after)) = (written, written_bytes()) {
            let per_byte = (after - before) as f64 / bytes as f64;
            table.add(format!("reindex {}: written", stage.name), "bytes a block byte", per_byte);
        }
    }
}

/// Brings the late stages from the first block to the tip, and makes the watchlist.
fn follow_up(datadir: &Path, bytes: u64, table: &mut Table) {
    let engine = Engine::open_existing(datadir).unwrap();
    // The first commit merges the files of tables that are small, which those of a long chain are not.
    engine.take_document(&document(0, vec![claim(1, &[0x51], "nobody")]), 1_700_000_000).unwrap();
    for (what, follow) in [("late stages", true), ("watchlist", false)] {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        let wrote = if follow { engine.follow_late(&NoProgress) } else { engine.follow_watchlist(&NoProgress, true) };
        assert!(wrote.unwrap(), "{what}");
        table.add(what, "MB of blocks a second", bytes as f64 / 1e6 / start.elapsed().as_secs_f64());
        if let (Some(before), Some(after)) = (cpu, cpu_seconds()) {
            table.add(format!("{what}: processor time"), "s a GB of blocks", (after - before) * 1e9 / bytes as f64);
        }
    }
    engine.settle().unwrap();
}

/// A claim that an entity is an exchange.
fn claim(row: u32, script: &[u8], entity: &str) -> Claim {
    Claim {
        level: 90,
        entity: Some(entity.parse().unwrap()),
        entity_name: entity.into(),
        category: Some(Category::Exchange),
        source_url: "https://lists.example/1".into(),
        is_inherited: true,
        ..Claim::bare(row, script.into(), ClaimType::ControlledBy, EvidenceTier::SelfDisclosed)
    }
}

/// A list of claims, by number.
fn document(number: u8, rows: Vec<Claim>) -> Document {
    let provenance = Provenance {
        document: DocumentHash([number; 32]),
        source: "bench".parse().unwrap(),
        licence: "mit".parse().unwrap(),
        origin: "a bench".to_owned(),
        retrieved_at: 1_600_000_000 + u32::from(number),
    };
    let list = ClaimList { name: format!("list-{number}").parse().unwrap(), is_complete: false };
    Document { provenance, received_at: None, body: Body::Claims { list, rows } }
}

/// Claims of a document.
const CLAIMS: usize = 100_000;

/// Says of scripts from all over the index that they are one of a hundred exchanges', one script for each 4 KiB of
/// blocks: a million on 4 GiB. Claims extend to clusters. Then makes the flows of exchanges.
fn flows(datadir: &Path, bytes: u64, table: &mut Table) {
    let engine = Engine::open_existing(datadir).unwrap();
    let reader = engine.reader();
    let wanted = (bytes >> 12).max(1);
    let (mut rows, mut documents) = (Vec::new(), 0u8);
    let mut take = |rows: &mut Vec<Claim>| {
        documents += 1;
        engine.take_document(&document(documents, std::mem::take(rows)), 1_700_000_000).unwrap();
    };
    for at in 0..wanted {
        let prefix = ScriptPrefix((u64::MAX / wanted * at).to_be_bytes());
        let view = reader.view().unwrap();
        let mut scripts = view.scan::<TotalsTable>(Some(&ScriptId { prefix, ordinal: 0 })).unwrap();
        let Some((script, _)) = scripts.next().transpose().unwrap() else { break };
        let script = view.scripts().bytes_of(script).unwrap().unwrap();
        rows.push(claim(rows.len() as u32 + 1, &script, &format!("exchange-{}", at % 100)));
        if rows.len() == CLAIMS {
            take(&mut rows);
        }
    }
    take(&mut rows);
    let (start, cpu) = (Instant::now(), cpu_seconds());
    assert!(engine.follow_flows(&NoProgress, true).unwrap());
    let what = "flows of exchanges";
    table.add(what, "MB of blocks a second", bytes as f64 / 1e6 / start.elapsed().as_secs_f64());
    if let (Some(before), Some(after)) = (cpu, cpu_seconds()) {
        table.add(format!("{what}: processor time"), "s a GB of blocks", (after - before) * 1e9 / bytes as f64);
    }
    engine.settle().unwrap();
    let view = reader.view().unwrap();
    let days = view.flows().of_days(&view.flows().head().unwrap(), FlowMode::Latest, None, 0..=u32::MAX).unwrap();
    let part: i128 = days.iter().map(|(_, sums)| sums.get(FlowSum::Transactions.position())).sum();
    let part = 100.0 * part as f64 / view.tip().tx_end.0 as f64;
    table.add(format!("{what}: transactions that take part"), "of a hundred", part);
    let size = reader.table_size(&TableInfo::of::<ExchangeFlows>()).unwrap();
    table.add(format!("{what}: rows"), "bytes a block byte", size.bytes as f64 / bytes as f64);
}

/// Scripts whose clusters are looked up.
const LOOK_UPS: usize = 2_000;

/// Looks up the clusters of scripts from all over the index, each as of another height.
fn look_up(datadir: &Path, table: &mut Table) {
    let engine = Engine::open_existing(datadir).unwrap();
    let (reader, mut scripts) = (engine.reader(), Vec::new());
    let view = reader.view().unwrap();
    for high in 0..LOOK_UPS as u64 {
        let first = ScriptPrefix((high * (u64::MAX / LOOK_UPS as u64)).to_be_bytes());
        let from = ScriptId { prefix: first, ordinal: 0 };
        scripts.extend(view.scan::<ClusterOf>(Some(&from)).unwrap().next().map(|row| row.unwrap().0));
    }
    let heights = view.tip().height + 1;
    let (mut micros, mut rows) = (Vec::new(), Vec::new());
    for (at, script) in (0u32..).zip(&scripts) {
        let at = view.as_of(at.wrapping_mul(0x9e37_79b9) % heights).unwrap();
        let (start, before) = (Instant::now(), view.rows_read());
        view.clusters().of_script(*script, at).unwrap();
        micros.push(start.elapsed().as_secs_f64() * 1e6);
        rows.push((view.rows_read() - before) as f64);
    }
    assert!(!scripts.is_empty());
    for (what, mut found, unit) in [("time", micros, "µs"), ("rows read", rows, "rows")] {
        found.sort_by(f64::total_cmp);
        table.add(format!("cluster as of a height: {what}, median"), unit, found[found.len() / 2]);
        table.add(format!("cluster as of a height: {what}, 99 of 100"), unit, found[found.len() * 99 / 100]);
    }
}

/// Settings of a run in a process of its own: the folder with the chain, the folder of the index, MiB of memory.
const BLOCKS: &str = "CAIRN_BENCH_BLOCKS_DIR";
const DATADIR: &str = "CAIRN_BENCH_DATADIR";
const MEMORY: &str = "CAIRN_BENCH_MEMORY_MIB";
/// How many stages take part, from the journal on; 0 for all.
const STAGES: &str = "CAIRN_BENCH_STAGES";
/// The measurement that the others are compared with.
const BULK: &str = "bulk";

/// Processor time of indexing.
const CPU: &str = "bulk: processor time";
/// Processor time of late stages.
const LATE_CPU: &str = "late stages: processor time";

/// Ways to run: name, settings, and whether its stages are rebuilt too.
const WAYS: [(&str, &[(&str, &str)], bool); 4] = [
    ("", &[], true),
    // Journal, spenders, coins, scripts: what every index has, whatever is computed from it.
    ("base stages: ", &[(STAGES, "4")], false),
    ("one thread: ", &[("RAYON_NUM_THREADS", "1")], false),
    ("256 MiB of memory: ", &[(MEMORY, "256")], false),
];

/// One run in this process.
fn measure(blocks: &Path) {
    let datadir = PathBuf::from(env::var_os(DATADIR).unwrap());
    let mut table = Table::default();
    let bytes = bulk(blocks, &datadir, &mut table);
    if env::var_os("CAIRN_BENCH_REINDEX").is_some() {
        look_up(&datadir, &mut table);
        follow_up(&datadir, bytes, &mut table);
        flows(&datadir, bytes, &mut table);
        reindex(&datadir, bytes, &mut table);
    }
    table.hand_over();
}

fn main() {
    if let Some(blocks) = env::var_os(BLOCKS) {
        return measure(Path::new(&blocks));
    }
    let (mib, runs) = (setting("CAIRN_BENCH_MIB", 256), setting("CAIRN_BENCH_RUNS", 3));
    let folder = cairn_testkit::temp_dir();
    let blocks = folder.path().join("blocks");
    let options = MainnetOptions { empty_blocks: 10, p2pk: shape::p2pk(), ..MainnetOptions::new(1, mib << 20) };
    let files = FileOptions::new(bitcoin::Network::Regtest, [1, 2, 3, 4, 5, 6, 7, 8]);
    let stats = write_mainnet(&blocks, files, &options).unwrap();
    println!("{}; {runs} runs", shape::described(&stats.total));
    let mut table = Table::default();
    for _ in 0..runs {
        let (mut speeds, mut costs, mut late) = (Vec::new(), Vec::new(), None);
        for (way, settings, reindex) in WAYS {
            let datadir = folder.path().join("data");
            fs::create_dir(&datadir).unwrap();
            let mut command = Command::new(env::current_exe().unwrap());
            command.env(BLOCKS, &blocks).env(DATADIR, &datadir).envs(settings.iter().copied());
            if reindex {
                command.env("CAIRN_BENCH_REINDEX", "1");
            }
            let output = command.stderr(Stdio::inherit()).output().unwrap();
            assert!(output.status.success());
            let printed = String::from_utf8(output.stdout).unwrap();
            // The index is the same whatever makes it.
            let news = printed.lines().filter(|line| reindex || !line.starts_with("index: "));
            let values = table.take_over(way, news);
            speeds.push(values[BULK]);
            costs.push(values.get(CPU).copied());
            late = late.or(values.get(LATE_CPU).copied());
            for (name, value) in values.iter().filter(|(name, _)| name.starts_with("reindex") && !name.contains(':')) {
                table.add(format!("{name} against bulk"), "times", value / values[BULK]);
            }
            fs::remove_dir_all(&datadir).unwrap();
        }
        table.add("time of all stages against the base stages", "times", speeds[1] / speeds[0]);
        if let (Some(all), Some(base)) = (costs[0], costs[1]) {
            table.add("processor time of all stages against the base stages", "times", all / base);
            let with_late = late.map_or(f64::NAN, |late| (all + late) / base);
            table.add("processor time of all stages and late stages against the base stages", "times", with_late);
        }
        table.add("all threads against one", "times", speeds[0] / speeds[2]);
        table.add("256 MiB of memory against the default", "times", speeds[3] / speeds[0]);
    }
    table.print();
}
