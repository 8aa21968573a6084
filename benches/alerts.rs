//! Times answers on a chain with a hundred thousand alerts.
//!
//! In one chain, 100,000 payments of 100 BTC to others lie within 30 days: a few whales pay each other, and two of
//! three of their scripts have labels of exchanges and others. In another, a thousand coins of 12 BTC each move once a
//! year, and at last each five years: as many old coins as fit into the times that a header can have. Then, warm and
//! over the router without the network, each list of what moves with its largest page, and what is precomputed. Printed
//! for each: median and most of its time, and the rows that it reads.
//!
//! `CAIRN_BENCH_ALERTS` (100,000) is the number of large payments.
#![allow(missing_docs, dead_code, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

#[path = "support/questions.rs"]
mod questions;

use std::{collections::BTreeSet, env, path::Path};

use bitcoin::{Amount, OutPoint, ScriptBuf, TxOut};
use cairn_chaingen::{
    BlockSpec, Chain, ChainBuilder, Lock, Style,
    corefiles::{FileOptions, Layout, write_chain},
};
use cairn_events::{
    self as events, Category, Claim, ClaimList, ClaimType, Document, DocumentHash, EvidenceTier, Provenance,
};
use cairn_model::{DAY_SECS, Network};
use cairn_pipeline::{Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use questions::{LocalApi, Question};

/// Payments of a block.
const PER_BLOCK: usize = 50;
/// How often each answer is asked for.
const TIMES: usize = 15;

/// Lists of large payments with their largest pages, and answers over all of them.
const OF_WHALES: [&str; 15] = [
    "/v1/chain/whale-alerts?range=30d&limit=1000",
    "/v1/chain/whale-alerts?range=30d&limit=1000&offset=90000",
    "/v1/chain/whale-alerts?range=30d&limit=1000&flow_type=to_exchange",
    "/v1/chain/whale-alerts/labeled?range=30d&limit=1000",
    "/v1/pulse/whales?since=0&limit=100",
    "/v1/pulse/consolidations?since=0&limit=100",
    "/v1/pulse/dormant?since=0&limit=100",
    "/v1/pulse/summary",
    "/v1/chain/activity-feed?limit=200",
    "/v1/chain/activity-feed?limit=200&types=exchange_flow_large",
    "/v1/events?limit=100",
    "/v1/exchange/flows?range=30d&limit=50",
    "/v1/exchange/flows/summary",
    "/v1/miner/flows?range=30d&limit=50",
    "/v1/onchain",
];

/// The same of old coins.
const OF_SLEEPERS: [&str; 13] = [
    "/v1/chain/awakenings?since=0&limit=500",
    "/v1/chain/awakenings?since=0&limit=500&min_btc=10",
    "/v1/chain/dormant-movements?since=0&limit=200",
    "/v1/chain/dormant-alerts?limit=200",
    "/v1/chain/dormancy-flushes?since=0&limit=50",
    "/v1/dormancy/whale-wakeups?since=0&limit=200",
    "/v1/dormancy/watchlist?limit=200",
    "/v1/dormancy/weekly.json",
    "/v1/pulse/dormant?since=0&limit=100",
    "/v1/pulse/summary",
    "/v1/chain/activity-feed?limit=200",
    "/v1/events?limit=100",
    "/v1/onchain",
];

fn script(builder: &mut ChainBuilder, key: u32) -> ScriptBuf {
    builder.keyring().script(&Lock::P2wpkh { key }).unwrap()
}

/// Mines `blocks` coinbases to one script, and enough blocks for all of them to be spent. Returns these coins.
fn coinbases(builder: &mut ChainBuilder, blocks: usize) -> Vec<OutPoint> {
    let miner = script(builder, 0);
    for _ in 0..blocks {
        builder.mine(&BlockSpec::paying(miner.clone())).unwrap();
    }
    for _ in 0..101 {
        builder.mine(&BlockSpec::default()).unwrap();
    }
    let is_own =
        |builder: &ChainBuilder, at: &OutPoint| builder.coin(at).is_some_and(|of| of.txout.script_pubkey == miner);
    builder.spendable().iter().filter(|at| is_own(builder, at)).copied().collect()
}

/// Spends coins to one script each, but for a fee. Gives the coins.
fn pay(builder: &mut ChainBuilder, coins: &[OutPoint], to: &[ScriptBuf]) -> Vec<OutPoint> {
    let value: Amount = coins.iter().map(|at| builder.coin(at).unwrap().txout.value).sum();
    let each = (value - Amount::from_sat(1_000)) / to.len() as u64;
    let outputs = to.iter().map(|to| TxOut { value: each, script_pubkey: to.clone() }).collect();
    let tx = builder.spend(coins, outputs, &Style::default()).unwrap();
    let txid = builder.add(tx).unwrap();
    (0..to.len() as u32).map(|vout| OutPoint { txid, vout }).collect()
}

/// A chain with `alerts` large payments, and the scripts that are paid.
fn whales(alerts: usize) -> (Chain, BTreeSet<ScriptBuf>) {
    let (mut builder, mut scripts) = (ChainBuilder::new(7), BTreeSet::new());
    // Before the subsidy halves: three coinbases make a coin of 150 BTC.
    let coins = coinbases(&mut builder, 149);
    let mut coins: Vec<Vec<OutPoint>> = coins.chunks_exact(3).take(PER_BLOCK).map(<[OutPoint]>::to_vec).collect();
    for key in 0..u32::try_from(alerts.div_ceil(coins.len())).unwrap() {
        for (at, coin) in coins.iter_mut().enumerate() {
            let to = script(&mut builder, 1 + key % 40 * 64 + at as u32);
            *coin = pay(&mut builder, coin, std::slice::from_ref(&to));
            scripts.insert(to);
        }
        builder.mine(&BlockSpec::default()).unwrap();
    }
    (builder.into_chain(), scripts)
}

/// Rounds in which all coins move, and the days that they have not moved before.
const ROUNDS: [(u32, u32); 2] = [(60, 370), (4, 5 * 366)];

/// A chain in which coins move after years, and how often they do.
fn sleepers() -> (Chain, usize) {
    let (mut builder, mut moved) = (ChainBuilder::new(8), 0);
    let mut coins = Vec::new();
    for coin in coinbases(&mut builder, 400) {
        let sats = builder.coin(&coin).unwrap().txout.value.to_sat();
        let to: Vec<ScriptBuf> = (0..sats / 1_200_000_000).map(|_| script(&mut builder, 0)).collect();
        if !to.is_empty() {
            coins.extend(pay(&mut builder, &[coin], &to));
        }
        if coins.len() % PER_BLOCK < 4 {
            builder.mine(&BlockSpec::default()).unwrap();
        }
    }
    builder.mine(&BlockSpec::default()).unwrap();
    let mut key = 0;
    for days in ROUNDS.iter().flat_map(|(rounds, days)| (0..*rounds).map(|_| *days)) {
        let time = builder.head().block.header.time + days * DAY_SECS;
        builder.mine(&BlockSpec { time: Some(time), ..BlockSpec::default() }).unwrap();
        for coins in coins.chunks_mut(PER_BLOCK) {
            for coin in coins {
                key += 1;
                let to = script(&mut builder, key);
                *coin = pay(&mut builder, &[*coin], &[to])[0];
                moved += 1;
            }
            builder.mine(&BlockSpec::default()).unwrap();
        }
    }
    (builder.into_chain(), moved)
}

/// Says whose the scripts are: of each three, one is an exchange's, one another service's, and one nobody's.
fn labels(scripts: &BTreeSet<ScriptBuf>) -> Document {
    let provenance = Provenance {
        document: DocumentHash([1; 32]),
        source: "bench".parse().unwrap(),
        licence: "mit".parse().unwrap(),
        origin: "a bench".to_owned(),
        retrieved_at: 1_600_000_000,
    };
    let list = ClaimList { name: "list".parse().unwrap(), is_complete: false };
    let claim = |(row, script): (usize, &ScriptBuf)| {
        let (name, category) = match row % 3 {
            0 => (format!("exchange-{}", row % 5), Category::Exchange),
            1 => (format!("processor-{}", row % 5), Category::PaymentProcessor),
            _ => return None,
        };
        let row = row as u32 + 1;
        Some(Claim {
            level: 90,
            entity: Some(name.parse().unwrap()),
            entity_name: name.into(),
            category: Some(category),
            source_url: "https://lists.example/1".into(),
            ..Claim::bare(row, script.as_bytes().into(), ClaimType::ControlledBy, EvidenceTier::SelfDisclosed)
        })
    };
    let rows = scripts.iter().enumerate().filter_map(claim).collect();
    Document { provenance, received_at: None, body: events::Body::Claims { list, rows } }
}

fn index(folder: &Path, chain: &Chain, labels: Option<&Document>) -> Engine {
    let blocks = folder.join("blocks");
    std::fs::create_dir(&blocks).unwrap();
    let files = FileOptions::new(bitcoin::Network::Regtest, [1, 2, 3, 4, 5, 6, 7, 8]);
    write_chain(&blocks, chain, &Layout::tidy(files)).unwrap();
    let facts = Facts { blocks_dir: Some(blocks.clone()), ..Facts::of(Network::Regtest) };
    let mut engine = Engine::open(&folder.join("data"), &facts).unwrap();
    let files = BlockFiles::open(&blocks, Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
    labels.map(|labels| engine.take_document(labels, 1_700_000_000).unwrap());
    engine.follow_up(&NoProgress, true).unwrap();
    engine.follow_feed(1_800_000_000).unwrap();
    engine.settle().unwrap();
    engine
}

fn measure(what: &str, (chain, labels): (&Chain, Option<&Document>), paths: &[&str]) {
    let folder = cairn_testkit::temp_dir();
    let engine = index(folder.path(), chain, labels);
    println!("\n{what}; tip {:?}", engine.tip().unwrap().map(|(height, _)| height));
    let questions: Vec<Question> = paths.iter().map(|path| Question::get(*path)).collect();
    LocalApi::of(engine.reader()).print(TIMES, &questions);
}

fn main() {
    let alerts = env::var("CAIRN_BENCH_ALERTS").map_or(100_000, |text| text.parse().expect("CAIRN_BENCH_ALERTS"));
    let (chain, scripts) = whales(alerts);
    measure(&format!("{alerts} payments of 100 BTC and more"), (&chain, Some(&labels(&scripts))), &OF_WHALES);
    let (chain, moved) = sleepers();
    measure(&format!("{moved} payments of 12 BTC that were not moved for a year"), (&chain, None), &OF_SLEEPERS);
}
