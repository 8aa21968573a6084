//! How fast raw blocks and undo data become the flat lists that the stages see: MB of raw bytes a second, one thread.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::{fs, hint::black_box, time::Duration};

use cairn_chaingen::mainnet::{MainnetOptions, mainnet_blocks};
use cairn_sources::{IdNotes, decode_block, decode_undo};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Bytes of generated blocks; the first ones, which only mine, are left out.
const SHAPE_BYTES: u64 = 24 << 20;
const SMALLEST: usize = 500_000;

/// Raw blocks of the mainnet shape, and their undo data.
fn shape() -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let (mut blocks, mut undo) = (Vec::new(), Vec::new());
    let options = MainnetOptions { empty_blocks: 0, ..MainnetOptions::new(1, SHAPE_BYTES) };
    mainnet_blocks(&options, |raw| {
        if raw.block.len() >= SMALLEST {
            blocks.push(raw.block.to_vec());
            undo.extend(raw.undo.map(<[u8]>::to_vec));
        }
        Ok(())
    })
    .unwrap();
    // The first of them fans out to thousands of outputs; the last ones are typical.
    let keep = blocks.len() / 2;
    (blocks.split_off(keep), undo.split_off(keep))
}

fn bytes(raw: &[Vec<u8>]) -> Throughput {
    Throughput::BytesDecimal(raw.iter().map(|r| r.len() as u64).sum())
}

fn of_the_shape(c: &mut Criterion) {
    let (blocks, undo) = shape();
    let mut group = c.benchmark_group("decode/mainnet shape");
    group.throughput(bytes(&blocks));
    group.bench_function("blocks", |b| {
        b.iter(|| blocks.iter().for_each(|raw| drop(black_box(decode_block(raw, 8).unwrap()))));
    });
    let notes = IdNotes::new(1);
    let noted = |raw: &Vec<u8>| {
        let (hashed, mut note) = (decode_block(raw, 8).unwrap(), Vec::new());
        notes.write(raw, &hashed, &mut note);
        (raw.clone(), note, hashed.txs.len() as u32)
    };
    let noted: Vec<_> = blocks.iter().map(noted).collect();
    group.bench_function("blocks whose ids are noted", |b| {
        b.iter(|| noted.iter().for_each(|(raw, note, n)| drop(black_box(notes.decode(raw, note, *n).unwrap()))));
    });
    group.throughput(bytes(&undo));
    group.bench_function("undo data", |b| {
        b.iter(|| undo.iter().for_each(|raw| drop(black_box(decode_undo(raw).unwrap()))));
    });
    group.finish();
}

fn of_mainnet(c: &mut Criterion) {
    let Some(data) = cairn_testkit::shared_data() else {
        cairn_testkit::note_skipped("benches::decode::of_mainnet", "no shared data folder (CAIRN_SHARED_DATA)");
        return;
    };
    let mut group = c.benchmark_group("decode/mainnet");
    let mut paths: Vec<_> = fs::read_dir(data.join("mainnet/blocks")).unwrap().map(|f| f.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|e| e == "bin")) {
        let raw = fs::read(path).unwrap();
        // Smaller ones measure the clock.
        if raw.len() < 100_000 {
            continue;
        }
        let height = path.file_name().unwrap().to_string_lossy()[..6].to_owned();
        group.throughput(Throughput::BytesDecimal(raw.len() as u64));
        group.bench_function(BenchmarkId::new("block", height), |b| {
            b.iter(|| decode_block(black_box(&raw), 8).unwrap())
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(8)).sample_size(30);
    targets = of_the_shape, of_mainnet
}
criterion_main!(benches);
