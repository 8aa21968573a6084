//! How long a block takes from the node's announcement until it is served.
//!
//! A stand-in node with a mempool of some thousand transactions mines a block of them; the program follows it, in one
//! process or in two. The clock starts when a subscriber of this bench hears the first message that names the block
//! (`sequence` or `hashblock`), which the node sends right after the block's transactions. It stops when an answer says
//! that the block's last transaction is confirmed. The node's own work on the block lies before.
//!
//! The index is spread over thousands of table files. A small chain would not have that many, so the rows of headers
//! and of the block log (one of each for a block) are written again with one row a file. New blocks come behind them,
//! so no compaction joins them; every flush, every catch-up and every open has to do with all of them.
//!
//! `CAIRN_BENCH_BLOCKS` (30) blocks are measured in each form, `CAIRN_BENCH_TXS` (3000) transactions each, on
//! `CAIRN_BENCH_FILES` (3000) files. `CAIRN_BENCH_FORMS` (both) may be `one` or `two`.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod files;
mod parts;

use std::{
    env,
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use bitcoin::{Block, BlockHash, hashes::Hash};
use cairn_standin::{BlockPlan, Payment, StandIn, StandInOptions, Topic, ZmqOptions};
use cairn_support::{Cast, Form, Program};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The program that is measured.
const CAIRN: Program = Program::new(env!("CARGO_BIN_EXE_cairn"));
/// Value of a coin that is spent, satoshis.
const COIN: u64 = 50_000_000;
/// Between two questions.
const PAUSE: Duration = Duration::from_millis(1);
/// The mempool is at rest after this.
const REST: Duration = Duration::from_millis(1_500);

fn setting(name: &str, default: u32) -> u32 {
    env::var(name).ok().map_or(default, |text| text.parse().expect(name))
}

/// Hears the node's messages that name a block, and when.
fn ear(node: &StandIn) -> Receiver<(Instant, BlockHash)> {
    let (sender, heard) = channel();
    let address = node.zmq_address(Topic::Sequence).unwrap().to_owned();
    thread::spawn(move || {
        let socket = zmq::Context::new().socket(zmq::SUB).unwrap();
        socket.set_rcvhwm(0).unwrap();
        socket.connect(&address).unwrap();
        socket.set_subscribe(b"hashblock").unwrap();
        socket.set_subscribe(b"sequence").unwrap();
        while let Ok(parts) = socket.recv_multipart(0) {
            let (now, body) = (Instant::now(), &parts[1]);
            // A sequence message of a transaction names none.
            if body.len() == 32 || body.get(32) == Some(&b'C') {
                let mut hash: [u8; 32] = body[..32].try_into().unwrap();
                hash.reverse();
                if sender.send((now, BlockHash::from_byte_array(hash))).is_err() {
                    return;
                }
            }
        }
    });
    heard
}

/// Fills the node's mempool and waits until it is served and projected.
fn fill(node: &StandIn, cast: &Cast, count: u32) {
    for _ in 0..count {
        node.world().send(&Payment::at(5_000)).unwrap();
    }
    let (mut client, wanted) = (cast.client(), node.world().pool_txids().len() as u64);
    cast.wait_until("the mempool", || client.ok("/v1/mempool/stats").is_ok_and(|stats| stats["count"] == wanted));
    thread::sleep(REST);
}

/// Announces a block and waits until it is served. Returns the time since the announcement, and since the node had the
/// block.
fn announce(node: &StandIn, cast: &Cast, heard: &Receiver<(Instant, BlockHash)>, block: Block) -> (Duration, Duration) {
    let (hash, last) = (block.block_hash(), block.txdata.last().unwrap().compute_txid());
    let (path, wanted) = (format!("/v1/tx/{last}/status"), hash.to_string());
    let mut client = cast.client();
    assert_eq!(client.ok(&path).unwrap()["state"], "mempool");
    while heard.try_recv().is_ok() {}
    node.world().connect(block).unwrap();
    let connected = Instant::now();
    let served = loop {
        // While index and mempool are apart there may be no answer.
        let (status, answer) = client.get(&path).unwrap();
        assert!(status == 200 || status == 503, "{answer}");
        if answer["block"]["hash"] == wanted.as_str() {
            break Instant::now();
        }
        assert!(connected.elapsed() < Duration::from_secs(60), "{answer}\n{}", cast.said());
        thread::sleep(PAUSE);
    };
    let (announced, first) = heard.recv().unwrap();
    assert_eq!(first, hash);
    (served - announced, served.saturating_duration_since(connected))
}

/// Milliseconds: middle, 99 of 100, most.
pub(crate) fn percentiles(times: &[Duration]) -> (f64, f64, f64) {
    let mut ms: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
    ms.sort_by(f64::total_cmp);
    let at = |share: f64| ms[((ms.len() as f64 * share).ceil() as usize).clamp(1, ms.len()) - 1];
    (at(0.5), at(0.99), at(1.0))
}

fn measure(node: &StandIn, cast: &Cast, name: &str, blocks: u32, txs: u32) -> usize {
    let heard = ear(node);
    let (mut times, mut whole, mut sizes, mut smallest) = (Vec::new(), Vec::new(), Vec::new(), usize::MAX);
    for _ in 0..blocks {
        fill(node, cast, txs);
        let block = node.world().build(&BlockPlan::default()).unwrap();
        sizes.push(block.txdata.len() - 1);
        smallest = smallest.min(block.total_size());
        let (since_announced, since_connected) = announce(node, cast, &heard, block);
        times.push(since_announced);
        whole.push(since_connected);
    }
    let ((p50, p99, most), (whole50, ..)) = (percentiles(&times), percentiles(&whole));
    let (least, files) = (sizes.iter().min().unwrap(), files::count(&cast.world.path("data/index")));
    println!("| {name} | {blocks} | {least} | {files} | {p50:.0} | {p99:.0} | {most:.0} | {whole50:.0} |");
    smallest
}

fn main() {
    // `cargo bench` passes a flag of its own.
    let (blocks, txs) = (setting("CAIRN_BENCH_BLOCKS", 30), setting("CAIRN_BENCH_TXS", 3_000));
    let files = setting("CAIRN_BENCH_FILES", 3_000);
    let forms = env::var("CAIRN_BENCH_FORMS").unwrap_or_default();
    let zmq = ZmqOptions {
        topics: vec![Topic::HashBlock, Topic::RawBlock, Topic::RawTx, Topic::Sequence],
        ..ZmqOptions::default()
    };
    let started = Instant::now();
    let premine = (files / 2).max(120) + 20;
    let node = StandIn::start(StandInOptions { premine, zmq, ..StandInOptions::default() }).unwrap();
    node.world().fan_out(txs + txs / 4, COIN).unwrap();
    println!("node: {:.1} s, height {}", started.elapsed().as_secs_f64(), node.world().height());
    let mut cast = Cast::new(CAIRN, &node, Form::One);
    cast.index_once();
    files::spread(&cast.world.path("data"));
    let index = cast.world.path("data/index");
    println!("index: {:.1} s, {} files", started.elapsed().as_secs_f64(), files::count(&index));
    files::copy(&index, &cast.world.path("parts/index"));
    println!(
        "\n| form | blocks | transactions | files | median ms | p99 ms | max ms | median ms, from the node's accepting it |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut smallest = usize::MAX;
    for (form, name, key) in [(Form::One, "one process", "one"), (Form::Two, "two processes", "two")] {
        if !forms.is_empty() && forms != key {
            continue;
        }
        cast.form = form;
        cast.complete();
        fill(&node, &cast, 1);
        smallest = smallest.min(measure(&node, &cast, name, blocks, txs));
        cast.stop();
    }
    parts::measure(&cast.world.path("parts"), &node, smallest);
}
