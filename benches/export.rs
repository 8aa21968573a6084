//! Measures exports as Parquet files of a chain with the proportions of mainnet: first of its transactions, inputs and
//! outputs, then of all datasets. Last comes an index that has grown by a tenth, with the earlier files kept. Printed
//! for each: block data per second, bytes of files for each block byte, most memory of the process, and seconds of
//! processor time. Files are compared with their manifest.
//!
//! `CAIRN_BENCH_MIB` (1,024) is the size of the chain, `CAIRN_BENCH_THREADS` (2) how many files are written at a time.
#![allow(missing_docs, dead_code, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod support;

use std::{env, fs, path::Path, time::Instant};

use cairn_export::{Dataset, Destination, ExportOptions, Exported, Format, export, verify};
use cairn_model::CancelToken;
use cairn_testkit::temp_dir;
use support::{Watch, chain::Indexed, cpu_seconds};

fn number(name: &str, usual: u64) -> u64 {
    env::var(name).ok().map_or(usual, |text| text.parse().unwrap())
}

/// Exports, compares, and prints a row.
fn measure(name: &str, dir: &Path, out: &str, options: &ExportOptions, block_bytes: u64) -> Exported {
    let (out, work) = (dir.join(out), dir.join("data/exports").join(out));
    let watch = Watch::start(out.clone());
    let (start, cpu) = (Instant::now(), cpu_seconds().unwrap_or_default());
    let made =
        export(&dir.join("data/index"), Destination::Folder(&out), &work, options, &CancelToken::never(), &|_| {})
            .unwrap();
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
    assert_eq!(verify(Destination::Folder(&out), &CancelToken::never(), &|_, _| {}).unwrap().differences, []);
    made
}

fn main() {
    let dir = temp_dir();
    let dir = dir.path();
    let mut indexed = Indexed::of(dir, number("CAIRN_BENCH_MIB", 1_024) << 20);
    let (tip, block_bytes) = (indexed.tip(), indexed.block_bytes);
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
    indexed.unwind_a_tenth();
    measure("all, nine tenths of the chain", dir, "all", &all, block_bytes * 9 / 10);
    indexed.sync();
    let made =
        measure("all, the last tenth added", dir, "all", &ExportOptions { is_incremental: true, ..all }, block_bytes);
    println!("kept: {} files", made.manifest.since.unwrap().kept);
}
