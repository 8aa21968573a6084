//! Bytes that nobody wrote on purpose, for every parser of files: blocks, undo data, rows of tables.
//!
//! Each case is a seed, and the same seed makes the same bytes on every machine; a failure names it.
//! `CAIRN_FUZZ_CASES` (20000) is the number of cases of a test, `CAIRN_FUZZ_FIRST` (0) the first seed: with 1 and the
//! named seed a failure comes again, with millions a night is well spent.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, missing_docs)]

mod blocks;
mod mutate;
mod rows;
mod undo;

use std::{env, panic};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Memory that decoding may take for each byte of input, and besides: lists that double, and room for usual blocks.
const BYTES_PER_BYTE: u64 = 80;
const FREE_BYTES: u64 = 70 << 10;

fn setting(name: &str, default: u64) -> u64 {
    env::var(name).ok().map_or(default, |text| text.parse().expect(name))
}

/// Runs a test for every seed. The seed of the first failure is named.
fn run(test: impl Fn(&mut ChaCha8Rng) + panic::RefUnwindSafe) {
    let first = setting("CAIRN_FUZZ_FIRST", 0);
    for seed in first..first + setting("CAIRN_FUZZ_CASES", 20_000) {
        let case = || test(&mut ChaCha8Rng::seed_from_u64(seed));
        if let Err(panicked) = panic::catch_unwind(case) {
            eprintln!("again with: CAIRN_FUZZ_FIRST={seed} CAIRN_FUZZ_CASES=1");
            panic::resume_unwind(panicked);
        }
    }
}

/// Decodes and compares the memory that it took with the length of the input.
fn within_bounds<T>(input: &[u8], decode: impl FnOnce(&[u8]) -> T) -> T {
    let mut decoded = None;
    let taken = allocation_counter::measure(|| decoded = Some(decode(input)));
    let limit = FREE_BYTES + BYTES_PER_BYTE * input.len() as u64;
    assert!(taken.bytes_max <= limit, "{} bytes of memory for {} bytes", taken.bytes_max, input.len());
    decoded.unwrap()
}
