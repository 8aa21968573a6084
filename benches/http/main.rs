//! How many requests a second `cairn serve` answers, what each costs, and how long it takes at half of that.
//!
//! A chain of the mainnet shape, in which one address has more than a million transactions, is indexed; the generator
//! of load runs beside the server on the same cores. The addresses asked for are those of a sample of outputs, so busy
//! ones come up as often as they are paid. Everything fits into the caches of RocksDB and of the system.
//!
//! `CAIRN_BENCH_MIB` (1024) is the size of the chain, `CAIRN_BENCH_RUNS` (3) the number of runs, `CAIRN_BENCH_SECONDS`
//! (8) the length of each measurement.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod load;

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use bitcoin::{Block, consensus::deserialize};
use cairn_chaingen::{
    corefiles::{FileOptions, Writer},
    mainnet::{MainnetOptions, mainnet_blocks},
};
use cairn_support::{Client, setting, table::Table};
use load::{Answers, Target, closed, open};
use sha2::{Digest, Sha256};

/// One of this many blocks, and one of this many of its outputs, is asked for.
const SAMPLE: (u32, usize) = (8, 37);
/// Transactions of a page.
const PAGE: u64 = 25;
/// Of 100 outputs, how many pay the busiest address.
const BUSIEST: u32 = 40;
/// Connections of the generator.
const CONNECTIONS: usize = 64;
/// Requests for the busiest address, and for as many others.
const PAIRS: usize = 4_000;

/// A server with an index; it ends with this.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(datadir: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
        command.args(["serve", "--rate-limit", "0", "--listen", "127.0.0.1:0", "--datadir"]).arg(datadir);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.by_ref().map(Result::unwrap).find(|line| line.contains("serving url=")).expect("it serves");
        let url = line.split("url=").nth(1).unwrap().split_whitespace().next().unwrap();
        let address = url.trim_matches('"').trim_start_matches("http://").to_owned();
        std::thread::spawn(move || lines.for_each(drop));
        Server { child, address }
    }

    /// Microseconds of processor time that it has taken.
    fn cpu_micros(&self) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = text.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks = |at: usize| fields[at].parse::<f64>().unwrap();
        (ticks(11) + ticks(12)) * 10_000.0
    }

    /// MiB of memory that it has.
    fn memory_mib(&self) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1024.0
    }

    /// Adds what came of a stretch of load.
    fn measure(&self, table: &mut Table, name: &str, work: impl FnOnce() -> Answers) -> f64 {
        let before = self.cpu_micros();
        let mut answers = work();
        let (micros, count) = (self.cpu_micros() - before, answers.times.len() as f64);
        table.add(format!("{name}: answers"), "a second", answers.rate());
        table.add(format!("{name}: processor time of the server"), "µs a request", micros / count);
        table.add(format!("{name}: rows read"), "a request", answers.rows as f64 / count);
        table.add(format!("{name}: body"), "bytes", answers.bytes as f64 / count);
        for (label, share) in [("median", 0.5), ("p99", 0.99), ("p99.9", 0.999)] {
            table.add(format!("{name}: {label}"), "ms", answers.percentile(share));
        }
        table.add(format!("{name}: turned away"), "requests", answers.shed as f64);
        answers.rate()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn script_hash(script: &[u8]) -> String {
    format!("scripthash:{}", hex::encode(Sha256::digest(script)))
}

/// Writes the chain; the scripts of a sample of its outputs.
fn write_chain(blocks: &Path, options: &MainnetOptions) -> Vec<String> {
    let mut sample = Vec::new();
    let mut writer =
        Writer::create(blocks, FileOptions::new(bitcoin::Network::Regtest, [1, 2, 3, 4, 5, 6, 7, 8])).unwrap();
    let stats = mainnet_blocks(options, |raw| {
        let place = writer.block(raw.block)?;
        if let Some(undo) = raw.undo {
            writer.undo(place.file, &raw.previous, undo)?;
        }
        if raw.height % SAMPLE.0 == 0 {
            let block: Block = deserialize(raw.block).unwrap();
            let outputs = block.txdata.iter().flat_map(|tx| &tx.output).filter(|out| !out.script_pubkey.is_op_return());
            sample.extend(outputs.step_by(SAMPLE.1).map(|out| script_hash(out.script_pubkey.as_bytes())));
        }
        Ok(())
    })
    .unwrap();
    writer.finish().unwrap();
    println!(
        "{} blocks, {:.1} MB, {} transactions",
        stats.total.blocks,
        stats.total.bytes as f64 / 1e6,
        stats.total.txs
    );
    sample
}

/// Time of a request while no other is sent.
fn alone(client: &mut Client, path: &str) -> f64 {
    let began = Instant::now();
    client.ok(path).unwrap();
    began.elapsed().as_secs_f64() * 1e6
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let (mib, runs) = (setting("CAIRN_BENCH_MIB", 1024), setting("CAIRN_BENCH_RUNS", 3));
    let time = Duration::from_secs(setting("CAIRN_BENCH_SECONDS", 8));
    let folder = cairn_testkit::temp_dir();
    let (blocks, datadir) = (folder.path().join("blocks"), folder.path().join("data"));
    let options = MainnetOptions { empty_blocks: 10, busiest_percent: BUSIEST, ..MainnetOptions::new(1, mib << 20) };
    let busiest = script_hash(options.busiest().unwrap().as_bytes());
    let sample = write_chain(&blocks, &options);
    let mut index = Command::new(env!("CARGO_BIN_EXE_cairn"));
    index.args(["index", "--once", "--network", "regtest", "--datadir"]).arg(&datadir).arg("--blocks-dir").arg(&blocks);
    assert!(index.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());

    let mut table = Table::default();
    for _ in 0..runs {
        let server = Server::start(&datadir);
        let mut client = Client::new(&server.address);
        let path = |script: &str, rest: &str| format!("/v1/wallets/{script}/{rest}");
        let mut txs = |script: &str| client.ok(&path(script, "overview")).unwrap()["tx_count"].as_u64().unwrap();
        let counts: Vec<u64> = sample.iter().map(|script| txs(script)).collect();
        let (small, paged): (Vec<_>, Vec<_>) = sample.iter().zip(&counts).partition(|(_, count)| **count < PAGE);
        println!(
            "{} addresses, of which {} have a page of {PAGE}; the busiest has {} transactions",
            sample.len(),
            paged.len(),
            txs(&busiest)
        );
        let requests = |scripts: &mut dyn Iterator<Item = &String>, rest: &str| -> Vec<Vec<u8>> {
            let of = |script| format!("GET {} HTTP/1.1\r\nHost: cairn\r\n\r\n", path(script, rest)).into_bytes();
            scripts.map(|script| of(script)).collect()
        };
        let overviews = requests(&mut sample.iter(), "overview");
        let pages = requests(&mut paged.iter().map(|(script, _)| *script), "transactions?limit=25");
        for (name, requests) in [("overview", &overviews), ("page of 25", &pages)] {
            let target = Target { address: &server.address, requests, connections: CONNECTIONS };
            let rate = server.measure(&mut table, name, || closed(&target, time));
            let half = format!("{name} at half of that");
            server.measure(&mut table, &half, || open(&target, rate / 2.0, time));
        }
        let few = small.iter().map(|(script, _)| path(script, "overview")).cycle();
        let many = path(&busiest, "overview");
        // One after the other, so that whatever else the machine does meets both.
        let pairs = few.take(PAIRS).map(|few| (alone(&mut client, &few), alone(&mut client, &many)));
        let (few, many): (Vec<f64>, Vec<f64>) = pairs.unzip();
        let (few, many) = (median(few), median(many));
        table.add("overview, fewer than 25 transactions, alone: median", "µs", few);
        table.add("overview, the busiest address, alone: median", "µs", many);
        table.add("the busiest address against one with few", "times", many / few);
        table.add("memory of the server", "MiB", server.memory_mib());
    }
    table.print();
}
