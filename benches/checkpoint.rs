//! Times a checkpoint of an index of a chain with the proportions of mainnet. The index is copied to a folder, to a
//! store in a folder, and to a store that speaks S3's protocol (a server in this process, on the same two processors).
//! It is copied again after a tenth of the blocks was taken away and came back, and is restored up to its first answer.
//! The same run times a plain copy of the same files, each made durable.
//!
//! `CAIRN_BENCH_MIB` (1,024) is the size of the chain.
#![allow(missing_docs, dead_code, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod support;

use std::{
    env,
    fs::{self, File},
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use cairn_bucket::Bucket;
use cairn_checkpoint::{Placing, Sending, Source, Target, Trust, make, restore, send};
use cairn_model::CancelToken;
use cairn_reader::Reader;
use cairn_store::{Options, Store};
use cairn_testkit::temp_dir;
use support::{Watch, chain::Indexed};

/// Runs work, and prints a row.
fn measure<T>(name: &str, dir: &Path, bytes: u64, work: impl FnOnce() -> T) -> T {
    let (watch, start) = (Watch::start(dir.to_owned()), Instant::now());
    let done = work();
    let seconds = start.elapsed().as_secs_f64();
    let (_, memory) = watch.finish();
    println!("| {name} | {seconds:.2} | {:.0} | {} |", bytes as f64 / 1e6 / seconds, memory >> 20);
    done
}

fn plain_copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let from = entry.unwrap().path();
        let to = to.join(from.file_name().unwrap());
        fs::copy(&from, &to).unwrap();
        File::open(&to).unwrap().sync_all().unwrap();
    }
}

fn open(location: &str, settings: Vec<(String, String)>) -> Store {
    let options = Options { patience: Duration::from_secs(120), timeout: Duration::from_secs(120), settings };
    Store::open(&location.parse().unwrap(), &options, &CancelToken::never()).unwrap()
}

fn restored(source: &Source<'_>, datadir: &Path, is_replica: bool) {
    let target = Target { datadir: datadir.to_owned(), placing: Placing::Copy, is_replica, beside: None, workers: 4 };
    restore(source, &Trust::Any, &target, &CancelToken::never(), &|_, _| {}).unwrap();
    // The first answer.
    let reader = Reader::open(&datadir.join("index")).unwrap();
    let view = reader.view().unwrap();
    let middle = view.tip().height / 2;
    assert!(view.journal(middle, middle).unwrap().next().unwrap().is_ok());
}

fn main() {
    let dir = temp_dir();
    let dir = dir.path();
    let mib = env::var("CAIRN_BENCH_MIB").ok().map_or(1_024, |text| text.parse::<u64>().unwrap());
    let mut indexed = Indexed::of(dir, mib << 20);
    let (data, never) = (dir.join("data"), CancelToken::never());
    // Bytes are those of a checkpoint: the index may have files that are about to go.
    let bytes = make(&data, &dir.join("first"), &[], None, &never, &|_, _| {}).unwrap().bytes();
    fs::remove_dir_all(dir.join("first")).unwrap();
    fs::remove_dir_all(data.join("checkpoints")).unwrap();
    println!("{bytes} bytes in a checkpoint");
    let folder = open(&format!("file://{}", dir.join("store").display()), Vec::new());
    let bucket = Bucket::start().unwrap();
    let remote = open(&bucket.location("x"), bucket.environment());
    let sending = |store: &Store| {
        let sent = send(&data, store, &[], None, Sending { workers: 4 }, &never, &|_, _| {}).unwrap();
        println!("  {} new bytes", sent.new_bytes);
    };
    // Everything that indexing wrote is on the disk before the first copy is measured.
    assert!(Command::new("sync").status().unwrap().success());
    println!("\n| work | s | MB/s of the index | most MiB |\n|---|---|---|---|");
    measure("plain copy", dir, bytes, || plain_copy(&data.join("index"), &dir.join("plain")));
    fs::remove_dir_all(dir.join("plain")).unwrap();
    measure("to a folder", dir, bytes, || make(&data, &dir.join("copy"), &[], None, &never, &|_, _| {}).unwrap());
    measure("to a folder, again", dir, bytes, || {
        make(&data, &dir.join("copy2"), &[], None, &never, &|_, _| {}).unwrap();
    });
    measure("to a store in a folder", dir, bytes, || sending(&folder));
    measure("to a bucket", dir, bytes, || sending(&remote));
    measure("to a bucket, again", dir, bytes, || sending(&remote));
    let newest = Source::Store(&remote, None);
    measure("restored from a folder", dir, bytes, || {
        restored(&Source::Folder(dir.join("copy")), &dir.join("from-folder"), false);
    });
    measure("restored from a store in a folder", dir, bytes, || {
        restored(&Source::Store(&folder, None), &dir.join("from-store"), false);
    });
    measure("restored from a bucket", dir, bytes, || restored(&newest, &dir.join("replica"), true));
    indexed.unwind_a_tenth();
    indexed.sync();
    measure("to a bucket, after a tenth", dir, bytes, || sending(&remote));
    measure("a replica brought up to date", dir, bytes, || restored(&newest, &dir.join("replica"), true));
}
