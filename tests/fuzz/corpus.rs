//! The corpus in the tree: every target is run over its files, and over mutations of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, panic,
    path::{Path, PathBuf},
};

use rand::Rng;

use crate::{
    mutate::{mutate, noise},
    run_share, seeds,
    targets::{self, parsers::Target},
};

/// Files of a target, at least.
const LEAST: usize = 12;
/// Bytes of all files, at most.
const MAX_BYTES: usize = 1 << 20;
/// The part of the mutated cases that targets get which take longer for each.
const SLOW: [(&str, u64); 9] = [
    ("block_files", 20),
    ("undo_files", 20),
    ("cursors", 20),
    ("http", 20),
    ("mcp", 20),
    ("labels", 4),
    ("quotes", 4),
    ("rpc", 4),
    ("transactions", 4),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus")
}

/// The files of every target, by name.
fn corpus() -> BTreeMap<String, BTreeMap<String, Vec<u8>>> {
    let entries = |path: &Path| -> Vec<PathBuf> {
        let read = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        read.map(|entry| entry.unwrap().path()).collect()
    };
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let files = |path: &Path| entries(path).iter().map(|path| (name(path), fs::read(path).unwrap())).collect();
    entries(&folder()).iter().map(|path| (name(path), files(path))).collect()
}

fn of_target(name: &str) -> Vec<Vec<u8>> {
    corpus().remove(name).unwrap_or_else(|| panic!("no corpus of {name}")).into_values().collect()
}

/// Runs a target over named bytes; a failure names them.
fn replay((target, run): Target, file: &str, bytes: &[u8]) {
    if let Err(panicked) = panic::catch_unwind(|| run(bytes)) {
        eprintln!("the target {target} fails over tests/fuzz/corpus/{target}/{file}");
        panic::resume_unwind(panicked);
    }
}

#[test]
fn every_target_has_a_corpus_and_holds_over_it() {
    if std::env::var_os("CAIRN_FUZZ_SEEDS").is_some() {
        seeds::write(&folder());
    }
    let (mut corpus, mut bytes) = (corpus(), 0);
    let mut counts = BTreeMap::new();
    for target in targets::all() {
        let files = corpus.remove(target.0).unwrap_or_default();
        assert!(files.len() >= LEAST, "{}: {} files, at least {LEAST} are wanted", target.0, files.len());
        let different: BTreeSet<&Vec<u8>> = files.values().collect();
        assert_eq!(different.len(), files.len(), "{}: files are equal", target.0);
        for (name, file) in &files {
            replay(target, name, file);
            bytes += file.len();
        }
        counts.insert(target.0, files.len());
    }
    eprintln!("replayed {counts:?}, {bytes} bytes");
    assert_eq!(counts.len(), targets::all().count(), "two targets have one name");
    assert!(corpus.is_empty(), "folders of no target: {:?}", corpus.keys());
    assert!(bytes <= MAX_BYTES, "{bytes} bytes, at most {MAX_BYTES} are allowed");
}

/// A target over mutations of its corpus.
fn mutated(name: &str) {
    let (_, target) = targets::all().find(|(known, _)| *known == name).unwrap();
    let corpus = of_target(name);
    let share = SLOW.iter().find(|(slow, _)| *slow == name).map_or(1, |(_, share)| *share);
    run_share(share, |rng| {
        let mut bytes = match rng.random_ratio(1, 20) {
            true => noise(rng, 300),
            false => corpus[rng.random_range(0..corpus.len())].clone(),
        };
        let donor = &corpus[rng.random_range(0..corpus.len())];
        mutate(rng, &mut bytes, donor);
        target(&bytes);
    });
}

macro_rules! mutated {
    ($($test:ident: $target:literal,)*) => {
        $(#[test]
        fn $test() {
            mutated($target);
        })*

        /// Beside those that have tests of their own.
        const MUTATED: &[&str] = &[$($target),*];
    };
}

mutated! {
    mutated_addresses: "addresses",
    mutated_block_files: "block_files",
    mutated_cursors: "cursors",
    mutated_event_files: "event_files",
    mutated_http: "http",
    mutated_labels: "labels",
    mutated_link: "link",
    mutated_mcp: "mcp",
    mutated_quotes: "quotes",
    mutated_rpc: "rpc",
    mutated_signatures: "signatures",
    mutated_timestamps: "timestamps",
    mutated_transactions: "transactions",
    mutated_undo_files: "undo_files",
    mutated_zmq: "zmq",
}

#[test]
fn every_target_is_mutated() {
    let elsewhere = ["blocks", "rows", "undo"];
    let named: BTreeSet<&str> = MUTATED.iter().chain(&elsewhere).copied().collect();
    assert_eq!(named, targets::all().map(|(name, _)| name).collect());
}
