//! Measures the import of price files: rows a second and memory, for a million rows of two layouts.
//!
//! The heap is counted by a counting allocator: bytes that were asked for, without the file itself.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::{fmt::Write, hint::black_box, time::Duration};

use allocation_counter::measure;
use cairn_inputs::{Options, Pair, Report, read_quotes};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const ROWS: u32 = 1_000_000;
/// 2013-01-01 00:00 UTC.
const START: u32 = 1_356_998_400;
/// A minute: a million hours would reach beyond now.
const STEP: u32 = 60;

/// Prices of a candle in hundredths.
fn candle(random: &mut ChaCha8Rng) -> [u64; 4] {
    let low = random.random_range(10_000u64..9_000_000);
    let high = low + random.random_range(1..5_000);
    [random.random_range(low..=high), high, low, random.random_range(low..=high)]
}

fn cents(value: u64) -> String {
    format!("{}.{:02}", value / 100, value % 100)
}

/// Without header, Unix times, oldest first.
fn kraken() -> String {
    let (mut random, mut text) = (ChaCha8Rng::seed_from_u64(1), String::new());
    for at in 0..ROWS {
        let [open, high, low, close] = candle(&mut random).map(cents);
        let (volume, trades) = (random.random_range(1..1_000_000_000u64), random.random_range(1..500));
        let time = START + at * STEP;
        writeln!(
            text,
            "{time},{open},{high},{low},{close},{}.{:08},{trades}",
            volume / 100_000_000,
            volume % 100_000_000
        )
        .unwrap();
    }
    text
}

/// With header, a line before it, dates, symbols, two volumes, newest first.
fn cryptodatadownload() -> String {
    let (mut random, mut text) = (ChaCha8Rng::seed_from_u64(2), String::new());
    text.push_str("https://www.CryptoDataDownload.com\nunix,date,symbol,open,high,low,close,Volume BTC,Volume USD\n");
    for at in (0..ROWS).rev() {
        let [open, high, low, close] = candle(&mut random).map(cents);
        let volume = random.random_range(1..1_000_000_000u64);
        let (time, minute) = (START + at * STEP, at % 60);
        writeln!(
            text,
            "{time},2013-01-01 00:{minute:02}:00,BTC/USD,{open},{high},{low},{close},{}.{:08},{}.0",
            volume / 100_000_000,
            volume % 100_000_000,
            volume / 1_000
        )
        .unwrap();
    }
    text
}

/// ISO dates and no range.
fn plain() -> String {
    let (mut random, mut text) = (ChaCha8Rng::seed_from_u64(3), String::from("date,close\n"));
    for at in 0..ROWS {
        let [_, _, _, close] = candle(&mut random).map(cents);
        let (day, minute) = (at / 1_440, at % 1_440);
        // Months of 28 days: all dates exist.
        let (year, month, day) = (2013 + day / 336, day % 336 / 28 + 1, day % 28 + 1);
        writeln!(text, "{year}-{month:02}-{day:02} {:02}:{:02}:00,{close}", minute / 60, minute % 60).unwrap();
    }
    text
}

fn read(text: &str) -> Report {
    let options = Options { pair: Some(Pair::BTC_USD), ..Options::new(1_800_000_000) };
    read_quotes(text.as_bytes(), &options, &mut |row| {
        black_box(row);
    })
    .unwrap()
}

fn inputs(c: &mut Criterion) {
    let mut group = c.benchmark_group("inputs/1 000 000 rows");
    group.sample_size(10);
    group.throughput(Throughput::Elements(u64::from(ROWS)));
    for (name, text) in [("kraken", kraken()), ("cryptodatadownload", cryptodatadownload()), ("plain", plain())] {
        let mut taken = 0;
        let heap = measure(|| taken = read(&text).taken);
        assert_eq!(taken, u64::from(ROWS), "{name}: nothing was refused");
        println!("{name}: {} MB of text, at most {} KiB of heap", text.len() / 1_000_000, heap.bytes_max / 1_024);
        group.bench_function(name, |b| b.iter(|| read(&text)));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(5)).sample_size(10);
    targets = inputs
}
criterion_main!(benches);
