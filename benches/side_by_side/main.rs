//! The same chain through other indexers: time, processor time, memory, disk and bytes written, beside Cairn's in the
//! same run, and the ratios.
//!
//! The chain has the mainnet shape; each program is started on it in an empty folder, and is done when it answers a
//! question about the last block's address: that is one row. Then a wallet asks those that speak the Electrum protocol.
//! Bitcoin Core is the node of each program that needs one.
//!
//! Settings, all from the environment; what is not given is named as skipped: `BITCOIND_EXE` (Bitcoin Core),
//! `ELECTRS_EXE` (romanz/electrs), `ESPLORA_ELECTRS_EXE` (Blockstream/electrs), `BRK_EXE` (bitcoinresearchkit):
//! executables. `CAIRN_BENCH_MIB` (256): size of the chain. `CAIRN_BENCH_RUNS` (3): runs. `CAIRN_BENCH_SECONDS` (3600):
//! longest that a program may take. `CAIRN_BENCH_DIR`: where the scratch folder is made.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod ask;
mod chain;
mod electrum;
mod indexers;
mod measure;
mod node;

use std::{env, fs, path::PathBuf, time::Duration};

use cairn_support::setting;
use chain::Chain;
use indexers::{Indexer, all};
use measure::{Measured, run};
use node::Node;

/// An executable among the settings.
fn executable(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env::var_os(name).filter(|path| !path.is_empty())?);
    assert!(path.is_file(), "{name}={} is no file", path.display());
    Some(path)
}

fn main() {
    let (mib, runs) = (setting("CAIRN_BENCH_MIB", 256), setting("CAIRN_BENCH_RUNS", 3));
    let longest = Duration::from_secs(setting("CAIRN_BENCH_SECONDS", 3_600));
    let scratch = match env::var_os("CAIRN_BENCH_DIR") {
        Some(parent) => tempfile::tempdir_in(parent).unwrap(),
        None => cairn_testkit::temp_dir(),
    };
    let chain = Chain::make(scratch.path(), mib << 20);
    println!("{}", chain.described());
    println!("{}", measure::machine());

    let node = executable("BITCOIND_EXE").map(|exe| Node::start(&exe, &chain, longest));
    match &node {
        Some(node) => println!("{}: took the chain in {:.1} s", node.version, node.taken.as_secs_f64()),
        None => println!("SKIPPED what needs a node: BITCOIND_EXE is not set"),
    }
    let mut taking_part: Vec<(Indexer, String)> = Vec::new();
    for indexer in all() {
        let Some(exe) = indexer.executable() else {
            println!("SKIPPED {}: {} is not set", indexer.name, indexer.setting);
            continue;
        };
        if indexer.needs_node && node.is_none() {
            println!("SKIPPED {}: it needs a node", indexer.name);
            continue;
        }
        let version = measure::version(&exe);
        taking_part.push((indexer, version));
    }

    // In turns, so that whatever else the machine does meets all alike.
    let mut rows: Vec<Vec<Measured>> = taking_part.iter().map(|_| Vec::new()).collect();
    for turn in 0..runs {
        for (at, (indexer, _)) in taking_part.iter().enumerate() {
            let folder = scratch.path().join(format!("run-{turn}-{at}"));
            fs::create_dir(&folder).unwrap();
            match run(indexer, &chain, node.as_ref(), &folder, longest) {
                Ok(measured) => rows[at].push(measured),
                Err(reason) => println!("FAILED {} in run {turn}: {reason}", indexer.name),
            }
            fs::remove_dir_all(&folder).unwrap();
        }
    }
    print(&taking_part, &rows, chain.bytes);
    print_wallets(&taking_part, &rows, chain.questions.outputs);
}

fn print(taking_part: &[(Indexer, String)], rows: &[Vec<Measured>], block_bytes: u64) {
    println!("\nMedian (least – most) of the runs; disk and bytes written in bytes a byte of block.\n");
    println!(
        "| indexer | version | runs | time s | processor s | node's processor s | most memory MiB | disk | most disk | written |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for ((indexer, version), rows) in taking_part.iter().zip(rows) {
        let of_blocks = |bytes: u64| bytes as f64 / block_bytes as f64;
        let columns = [
            spread(rows, |m| m.seconds, 1),
            spread(rows, |m| m.cpu, 1),
            spread(rows, |m| m.node_cpu, 1),
            spread(rows, |m| m.memory as f64 / 1_048_576.0, 0),
            spread(rows, |m| of_blocks(m.disk), 3),
            spread(rows, |m| of_blocks(m.most_disk), 3),
            spread(rows, |m| of_blocks(m.written), 3),
        ];
        println!("| {} | {version} | {} | {} |", indexer.name, rows.len(), columns.join(" | "));
    }
    println!("\nTimes Cairn's value in the same run; median (least – most):\n");
    println!("| indexer | time | processor, with the node's | most memory | disk | most disk | written |");
    println!("|---|---|---|---|---|---|---|");
    for ((indexer, _), others) in taking_part.iter().zip(rows).skip(1) {
        let pairs: Vec<(Measured, Measured)> = rows[0].iter().copied().zip(others.iter().copied()).collect();
        let ratio = |of: fn(&Measured) -> f64| spread(&pairs, |(ours, theirs)| of(theirs) / of(ours), 2);
        let columns = [
            ratio(|m| m.seconds),
            ratio(|m| m.cpu + m.node_cpu),
            ratio(|m| m.memory as f64),
            ratio(|m| m.disk as f64),
            ratio(|m| m.most_disk as f64),
            ratio(|m| m.written as f64),
        ];
        println!("| {} | {} |", indexer.name, columns.join(" | "));
    }
}

/// The questions of a wallet: times, and how often they are Cairn's in the same run.
fn print_wallets(taking_part: &[(Indexer, String)], rows: &[Vec<Measured>], outputs: u32) {
    println!(
        "\nA wallet over the Electrum protocol: a script that {outputs} outputs pay, and the restore of 1,000 scripts.\n"
    );
    println!("| indexer | entries | history ms | restore s | history, times Cairn's | restore, times Cairn's |");
    println!("|---|---|---|---|---|---|");
    for ((indexer, _), others) in taking_part.iter().zip(rows) {
        let pairs: Vec<_> = rows[0].iter().zip(others).filter_map(|(a, b)| a.wallet.zip(b.wallet)).collect();
        let Some((_, last)) = pairs.last() else { continue };
        let columns = [
            spread(&pairs, |(_, of)| of.history_ms, 1),
            spread(&pairs, |(_, of)| of.restore_s, 3),
            spread(&pairs, |(ours, of)| of.history_ms / ours.history_ms, 2),
            spread(&pairs, |(ours, of)| of.restore_s / ours.restore_s, 2),
        ];
        println!("| {} | {} | {} |", indexer.name, last.entries, columns.join(" | "));
    }
}

fn spread<T>(rows: &[T], value: impl Fn(&T) -> f64, digits: usize) -> String {
    let mut values: Vec<f64> = rows.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (values.first(), values.last()) else { return "–".to_owned() };
    format!("{:.digits$} ({least:.digits$} – {most:.digits$})", values[values.len() / 2])
}
