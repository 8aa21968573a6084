//! What an export takes: a chain with the proportions of mainnet is indexed, and its transactions, inputs and outputs are written as
//! Parquet files, then all datasets, then an index that has grown by a tenth with the files of before kept. Printed for
//! each: block data per second, bytes of files for each block byte, most memory of the process, and seconds of processor time. Files are
//! compared with their manifest.
//!
//! `CAIRN_BENCH_MIB` (1,024) is the size of the chain, `CAIRN_BENCH_THREADS` (2) how many files are written at a time.
#![allow(missing_docs, dead_code, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod support;

use std::{env, fs, path::Path, time::Instant};

use cairn_chaingen::{
    corefiles::FileOptions,
    mainnet::{MainnetOptions, write_mainnet},
};
use cairn_export::{Dataset, ExportOptions, Exported, Format, export, verify};
use cairn_model::{CancelToken, Network};
use cairn_pipeline::{Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use cairn_testkit::temp_dir;
use support::{Watch, cpu_seconds, disk_bytes};

fn number(name: &str, usual: u64) -> u64 {
    env::var(name).ok().map_or(usual, |text| text.parse().unwrap())
}

/// Exports, compares, and prints a row.
fn measure(name: &str, dir: &Path, out: &str, options: &ExportOptions, block_bytes: u64) -> Exported {
    let (out, work) = (dir.join(out), dir.join("data/exports").join(out));
    let watch = Watch::start(out.clone());
    let (start, cpu) = (Instant::now(), cpu_seconds().unwrap_or_default());
    let made = export(&dir.join("data/index"), &out, &work, options, &CancelToken::never(), &|_| {}).unwrap();
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds().unwrap_or_default() - cpu);
    let (_, memory) = watch.finish();
    let bytes: u64 = made.manifest.datasets.iter().map(|dataset| dataset.bytes).sum();
    println!(
        "| {name} | {seconds:.1} | {:.0} | {cpu:.1} | {:.3} | {} | {} |",
        block_bytes as f64 / 1e6 / seconds,
        bytes as f64 / block_bytes as f64,
        memory >> 20,
        made.written
    );
    assert_eq!(verify(&out, &CancelToken::never(), &|_, _| {}).unwrap().differences, []);
    made
}

fn main() {
    let dir = temp_dir();
    let (blocks, dir) = (dir.path().join("blocks"), dir.path());
    let target = number("CAIRN_BENCH_MIB", 1_024) << 20;
    let stats =
        write_mainnet(&blocks, FileOptions::new(bitcoin::Network::Regtest, [0; 8]), &MainnetOptions::new(11, target))
            .unwrap();
    let facts = Facts { blocks_dir: Some(blocks.clone()), ..Facts::of(Network::Regtest) };
    let mut engine = Engine::open(&dir.join("data"), &facts).unwrap();
    let files = BlockFiles::open(&blocks, Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
    engine.follow_up(&NoProgress, true).unwrap();
    engine.settle().unwrap();
    let tip = engine.tip().unwrap().unwrap().0;
    let reader = engine.reader();
    let block_bytes: u64 =
        reader.view().unwrap().journal(0, tip).unwrap().map(|block| u64::from(block.unwrap().size)).sum();
    println!("{stats:?}; {block_bytes} bytes of blocks, index {} bytes", disk_bytes(&dir.join("data/index")));
    // Parts of some ten megabytes: as many as mainnet has of a gigabyte.
    let grid = cairn_export::Grid::Blocks((tip / 100).max(1));
    let workers = usize::try_from(number("CAIRN_BENCH_THREADS", 2)).unwrap();
    let all = ExportOptions { grid, workers, ..ExportOptions::default() };
    let some = |names: &[&str]| ExportOptions {
        datasets: names.iter().map(|name| Dataset::named(name).unwrap()).collect(),
        ..all.clone()
    };
    println!(
        "\n| datasets | s | MB/s | processor s | bytes a block byte | most MiB | files |\n|---|---|---|---|---|---|---|"
    );
    let three = ["transactions", "inputs", "outputs"];
    let made = measure("transactions, inputs, outputs", dir, "three", &some(&three), block_bytes);
    for dataset in &made.manifest.datasets {
        println!(
            "  {}: {} rows, {:.3} bytes a block byte",
            dataset.name,
            dataset.rows,
            dataset.bytes as f64 / block_bytes as f64
        );
    }
    fs::remove_dir_all(dir.join("three")).unwrap();
    let format = Format { txids: true, ..Format::default() };
    measure("the same, with txids of inputs", dir, "txids", &ExportOptions { format, ..some(&three) }, block_bytes);
    fs::remove_dir_all(dir.join("txids")).unwrap();
    let format = Format { addresses: true, ..format };
    measure("the same, with addresses", dir, "addresses", &ExportOptions { format, ..some(&three) }, block_bytes);
    fs::remove_dir_all(dir.join("addresses")).unwrap();
    measure("coins", dir, "coins", &some(&["coins"]), block_bytes);
    measure("scripts", dir, "scripts", &some(&["scripts"]), block_bytes);
    engine.unwind(tip - tip / 10, &NoProgress).unwrap();
    engine.follow_up(&NoProgress, true).unwrap();
    engine.settle().unwrap();
    measure("all, nine tenths of the chain", dir, "all", &all, block_bytes * 9 / 10);
    engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
    engine.follow_up(&NoProgress, true).unwrap();
    engine.settle().unwrap();
    let made =
        measure("all, the last tenth added", dir, "all", &ExportOptions { is_incremental: true, ..all }, block_bytes);
    println!("kept: {} files", made.manifest.since.unwrap().kept);
}
