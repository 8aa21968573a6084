//! Times answers about wallets: profit and loss, the dashboard of a hundred addresses with ten thousand transactions,
//! and graphs of up to four hops around the busiest address.
//!
//! A chain in which a hundred scripts of one wallet pay two thousand others, one of them in three of ten payments, and
//! others pay among themselves and back; with a price for each day. Warm, over the router, without the network. Printed
//! for each: median and most of its time, the rows that it reads, and the bytes. Then a whole wallet by its key
//! ([`whole`]), and graphs from a disk that has nothing in memory ([`cold`]).
//!
//! `CAIRN_BENCH_PAYMENTS` (10,000) is the number of payments of the wallet; `CAIRN_BENCH_COLD_MIB` (256) the size of
//! the blocks of the cold chain.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod cold;
#[path = "../support/questions.rs"]
mod questions;
mod whole;

use std::{collections::VecDeque, env};

use bitcoin::{Amount, OutPoint, ScriptBuf, TxOut};
use cairn_chaingen::{
    BlockSpec, Chain, ChainBuilder, Lock, Style,
    corefiles::{FileOptions, Layout, write_chain},
};
use cairn_domain::address_of;
use cairn_events::{self as events, Currency, Document, DocumentHash, Interval, Provenance, Quote, QuoteRow, Series};
use cairn_model::{DAY_SECS, Network};
use cairn_pipeline::{Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use questions::{LocalApi, Question};

/// Scripts of the wallet, and others that it pays.
const OWN: u32 = 100;
const OTHERS: u32 = 2_000;
/// Payments of a block.
const PER_BLOCK: usize = 50;
/// How often each answer is asked for.
const TIMES: usize = 15;
struct Making {
    builder: ChainBuilder,
    scripts: Vec<ScriptBuf>,
    coins: Vec<VecDeque<OutPoint>>,
    made: usize,
}

impl Making {
    /// Pays an amount from one to another; what is left goes back. False if nothing is there.
    fn pay(&mut self, from: usize, to: usize, sats: u64) -> bool {
        let Some(coin) = self.coins[from].pop_front() else { return false };
        let value = self.builder.coin(&coin).unwrap().txout.value.to_sat();
        let paid = sats.min(value / 2);
        if paid < 10_000 {
            return false;
        }
        let output =
            |to: usize, sats: u64| TxOut { value: Amount::from_sat(sats), script_pubkey: self.scripts[to].clone() };
        let outputs = vec![output(to, paid), output(from, value - paid - 1_000)];
        let tx = self.builder.spend(&[coin], outputs, &Style::default()).unwrap();
        let txid = self.builder.add(tx).unwrap();
        self.coins[to].push_back(OutPoint { txid, vout: 0 });
        self.coins[from].push_back(OutPoint { txid, vout: 1 });
        self.made += 1;
        if self.made.is_multiple_of(PER_BLOCK) {
            self.builder.mine(&BlockSpec::default()).unwrap();
        }
        true
    }
}

/// The chain, and the addresses of the wallet; the busiest first.
fn chain(payments: usize) -> (Chain, Vec<String>) {
    let mut builder = ChainBuilder::new(18);
    let scripts: Vec<ScriptBuf> =
        (0..OWN + OTHERS).map(|key| builder.keyring().script(&Lock::P2wpkh { key }).unwrap()).collect();
    for n in 0..149 {
        builder.mine(&BlockSpec::paying(scripts[n % OWN as usize].clone())).unwrap();
    }
    for _ in 0..101 {
        builder.mine(&BlockSpec::default()).unwrap();
    }
    let mut coins = vec![VecDeque::new(); scripts.len()];
    for coin in builder.spendable() {
        let script = &builder.coin(coin).unwrap().txout.script_pubkey;
        if let Some(at) = scripts.iter().position(|own| own == script) {
            coins[at].push_back(*coin);
        }
    }
    let mut making = Making { builder, scripts, coins, made: 0 };
    // Any fixed order in which all numbers come.
    let mut number = 1u64;
    let mut next = |below: usize| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (number >> 33) as usize % below
    };
    let (own, all) = (OWN as usize, (OWN + OTHERS) as usize);
    let mut paid = 0;
    while paid < payments {
        let from = if next(10) < 3 { 0 } else { next(own) };
        let to = own + next(all - own);
        paid += usize::from(making.pay(from, to, 5_000_000 + next(20_000_000) as u64));
        // Others pay each other, and now and then the wallet.
        let (from, to) = (own + next(all - own), if next(4) == 0 { next(own) } else { own + next(all - own) });
        making.pay(from, to, 2_000_000 + next(5_000_000) as u64);
    }
    making.builder.mine(&BlockSpec::default()).unwrap();
    let address = |script: &ScriptBuf| address_of(script.as_bytes(), Network::Regtest).unwrap();
    let addresses = making.scripts.iter().take(own).map(address).collect();
    (making.builder.into_chain(), addresses)
}

/// A price for each day.
fn prices(from: u32, to: u32) -> Document {
    let series = Series { base: Currency::BTC, quote: Currency::USD, interval: Interval::Day };
    let row = |day: u32| QuoteRow {
        series,
        closes_at: day * DAY_SECS,
        quote: Quote { close: (10_000 + day % 977).into(), range: None, volume: None },
    };
    let provenance = Provenance {
        document: DocumentHash([1; 32]),
        source: "bench".parse().unwrap(),
        licence: "cc0-1.0".parse().unwrap(),
        origin: "a bench".to_owned(),
        retrieved_at: 1_700_000_000,
    };
    let rows = (from / DAY_SECS..=to / DAY_SECS + 1).map(row).collect();
    Document { provenance, received_at: None, body: events::Body::Quotes(rows) }
}

fn index(folder: &std::path::Path, chain: &Chain) -> Engine {
    let blocks = folder.join("blocks");
    std::fs::create_dir(&blocks).unwrap();
    let files = FileOptions::new(bitcoin::Network::Regtest, [1, 2, 3, 4, 5, 6, 7, 8]);
    write_chain(&blocks, chain, &Layout::tidy(files)).unwrap();
    let facts = Facts { blocks_dir: Some(blocks.clone()), ..Facts::of(Network::Regtest) };
    let mut engine = Engine::open(&folder.join("data"), &facts).unwrap();
    let files = BlockFiles::open(&blocks, Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
    let times = |mined: Option<&&cairn_chaingen::Mined>| mined.map_or(0, |mined| mined.block.header.time);
    let active = chain.active();
    engine.take_document(&prices(times(active.get(1)), times(active.last())), 1_800_000_000).unwrap();
    engine.settle().unwrap();
    engine
}

fn main() {
    let payments = env::var("CAIRN_BENCH_PAYMENTS").map_or(10_000, |text| text.parse().expect("CAIRN_BENCH_PAYMENTS"));
    let folder = cairn_testkit::temp_dir();
    let (chain, own) = chain(payments);
    let engine = index(folder.path(), &chain);
    let asked = LocalApi::of(engine.reader());
    let (busiest, others) = (&own[0], own[1..].join(","));
    let of = |rest: &str| {
        let name = rest.replace(&others, "99 more");
        Question { name, ..Question::get(format!("/v1/wallets/{busiest}/{rest}")) }
    };
    println!("{payments} payments of {OWN} addresses; tip {:?}", engine.tip().unwrap().map(|(height, _)| height));
    asked.print(
        TIMES,
        &[
            of("pnl"),
            of("pnl?method=fifo&explain=true"),
            of("pnl?format=csv&year=2011"),
            of("dashboard?range=all"),
            of(&format!("dashboard?range=all&addresses={others}")),
            of("transactions?limit=100"),
            of("flow-graph"),
            of("flow-graph?hops=2"),
            of("flow-graph?hops=4&node_limit=200"),
            of("flow-graph?hops=4&node_limit=200&min_btc=0"),
            of("flow-graph?hops=4&node_limit=200&min_btc=0&fold=cluster"),
        ],
    );
    drop((asked, engine));
    whole::measure();
    let mib = env::var("CAIRN_BENCH_COLD_MIB").map_or(256, |text| text.parse().expect("CAIRN_BENCH_COLD_MIB"));
    cold::measure(mib);
}
