//! Bytes that nobody wrote on purpose, for every parser: files, undo data, messages, rows, requests.
//!
//! The targets lie in `targets`; `make fuzz` runs the same with libFuzzer. Here each is run over its corpus and over
//! mutations of it, and the parsers of files over mutations of generated chains.
//!
//! Each case is a seed, and the same seed makes the same bytes on every machine; a failure names it. `CAIRN_FUZZ_CASES`
//! (20000) is the number of cases of a test, `CAIRN_FUZZ_FIRST` (0) the first seed: with 1 and the named seed a failure
//! comes again, with millions a night is well spent. `CAIRN_FUZZ_SEEDS=1` writes the seeds of the corpus again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, unreachable_pub, missing_docs)]

mod blocks;
mod corpus;
mod guided;
mod mutate;
mod rows;
mod seeds;
mod targets;
mod undo;

use std::panic;

use cairn_support::setting;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Runs a test for every seed. The seed of the first failure is named.
fn run(test: impl Fn(&mut ChaCha8Rng) + panic::RefUnwindSafe) {
    run_share(1, test);
}

/// Runs a test for a share of the seeds: for tests that take longer for each.
fn run_share(share: u64, test: impl Fn(&mut ChaCha8Rng) + panic::RefUnwindSafe) {
    let first = setting("CAIRN_FUZZ_FIRST", 0);
    let count = setting("CAIRN_FUZZ_CASES", 20_000).div_ceil(share);
    for seed in first..first + count {
        let case = || test(&mut ChaCha8Rng::seed_from_u64(seed));
        if let Err(panicked) = panic::catch_unwind(case) {
            eprintln!("again with: CAIRN_FUZZ_FIRST={seed} CAIRN_FUZZ_CASES=1");
            panic::resume_unwind(panicked);
        }
    }
}
