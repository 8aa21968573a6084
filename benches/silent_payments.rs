//! The cost of tweaks of silent payments: bytes and time beside those of the rest of the index, and the speed of a
//! search with a scan key, each as a ratio in one run.
//!
//! `CAIRN_BENCH_MIB` (64) is the size of the chain, which has the mainnet shape; `CAIRN_BENCH_RUNS` (3) the number of
//! runs.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::time::Instant;

use cairn_chaingen::{
    corefiles::FileOptions,
    mainnet::{MainnetOptions, write_mainnet},
};
use cairn_domain::silent_payments::Scanner;
use cairn_model::Network;
use cairn_pipeline::{Driver, Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use cairn_support::{setting, table::Table as Figures};
use cairn_tables::{TABLES, Table, TableInfo, tweaks::Tweaks};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The generator of the group as a public key: any key serves.
const SPEND: &str = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";

fn main() {
    let (mib, runs) = (setting("CAIRN_BENCH_MIB", 64), setting("CAIRN_BENCH_RUNS", 3));
    let folder = cairn_testkit::temp_dir();
    let blocks = folder.path().join("blocks");
    let options = MainnetOptions { empty_blocks: 10, ..MainnetOptions::new(1, mib << 20) };
    let files = FileOptions::new(bitcoin::Network::Regtest, [1, 2, 3, 4, 5, 6, 7, 8]);
    let stats = write_mainnet(&blocks, files, &options).unwrap();
    let of = &stats.total;
    println!("{} blocks, {:.1} MB, {} transactions; {runs} runs", of.blocks, of.bytes as f64 / 1e6, of.txs);
    let facts = Facts { blocks_dir: Some(blocks.clone()), ..Facts::of(Network::Regtest) };
    let mut figures = Figures::default();
    for _ in 0..runs {
        let data = cairn_testkit::temp_dir();
        let mut engine = Engine::open(data.path(), &facts).unwrap();
        let started = Instant::now();
        let files = BlockFiles::open(&blocks, Network::Regtest).unwrap();
        let survey = files.survey(&|_| {}).unwrap();
        let options = SyncOptions { driver: Driver::Bulk, ..SyncOptions::default() };
        engine.sync(&files, &survey, &options, &NoProgress).unwrap();
        engine.follow_up(&NoProgress, true).unwrap();
        engine.settle().unwrap();
        let rest = started.elapsed().as_secs_f64();
        engine.set_silent_payments(true);
        let started = Instant::now();
        assert!(engine.follow_silent_payments(&NoProgress, true).unwrap());
        engine.settle().unwrap();
        let taken = started.elapsed().as_secs_f64();

        let reader = engine.reader();
        let view = reader.view().unwrap();
        let rows: Vec<_> = view.scan::<Tweaks>(None).unwrap().map(|row| row.unwrap().1).collect();
        let tweaks: usize = rows.iter().map(|row| row.tweaks.len()).sum();
        let size = |table: &TableInfo| reader.table_size(table).unwrap().bytes as f64;
        let all: f64 = TABLES.iter().filter(|table| table.name != Tweaks::NAME).map(size).sum();
        let own = size(&TableInfo::of::<Tweaks>());
        let scanner = Scanner::read(&"11".repeat(32), SPEND, []).unwrap();
        let started = Instant::now();
        let found = rows.iter().flat_map(|row| &row.tweaks).filter(|of| scanner.finds(&of.tweak, &of.outputs)).count();
        let scanned = started.elapsed().as_secs_f64();
        assert_eq!(found, 0, "nobody pays this key");

        figures.add("transactions with a tweak", "% of all", 100.0 * tweaks as f64 / stats.total.txs as f64);
        figures.add("bytes of a tweak with its outputs", "bytes", own / tweaks as f64);
        figures.add("table tweaks", "% of the other tables", 100.0 * own / all);
        figures.add("time to make the tweaks", "% of the time of all else", 100.0 * taken / rest);
        figures.add("a tweak, made, on all cores", "µs", 1e6 * taken / tweaks as f64);
        figures.add("a tweak, searched, on one core", "µs", 1e6 * scanned / tweaks as f64);
    }
    figures.print();
}
