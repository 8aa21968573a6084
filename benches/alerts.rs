//! What answers take on a chain with a hundred thousand alerts.
//!
//! A chain in which each block has so many payments of 100 BTC to others that there are 100,000 of them within 30 days: a few
//! whales that pay each other. Then, warm and over the router without the network, each list of what moves with its largest
//! page, and what is precomputed. Printed for each: median and most of its time, and the rows that it reads.
//!
//! `CAIRN_BENCH_ALERTS` (100,000) is the number of payments.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::{env, path::Path, sync::Arc, time::Instant};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use bitcoin::{Amount, OutPoint, ScriptBuf, TxOut};
use cairn_chaingen::{
    BlockSpec, Chain, ChainBuilder, Lock, Style,
    corefiles::{FileOptions, Layout, write_chain},
};
use cairn_http::HttpConfig;
use cairn_link::IndexSlot;
use cairn_model::Network;
use cairn_operations::{ApiConfig, ApiState, router};
use cairn_pipeline::{Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use tower::ServiceExt;

/// Payments of a block.
const PER_BLOCK: usize = 50;
/// How often each answer is asked for.
const TIMES: usize = 15;

/// Lists with their largest pages, and answers over all of them.
const PATHS: [&str; 22] = [
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
    "/v1/chain/awakenings?since=0&limit=500",
    "/v1/chain/dormant-movements?since=0&limit=200",
    "/v1/chain/dormant-alerts?limit=200",
    "/v1/chain/dormancy-flushes?since=0&limit=50",
    "/v1/dormancy/whale-wakeups?since=0&limit=200",
    "/v1/dormancy/watchlist?limit=200",
    "/v1/dormancy/weekly.json",
    "/v1/exchange/flows?range=30d&limit=50",
    "/v1/exchange/flows/summary",
    "/v1/miner/flows?range=30d&limit=50",
    "/v1/onchain",
];

fn script(builder: &mut ChainBuilder, key: u32) -> ScriptBuf {
    builder.keyring().script(&Lock::P2wpkh { key }).unwrap()
}

/// A chain with so many large payments.
fn chain(alerts: usize) -> Chain {
    let mut builder = ChainBuilder::new(7);
    let miner = script(&mut builder, 0);
    // Before the subsidy halves: three coinbases make a coin of 150 BTC.
    for _ in 0..149 {
        builder.mine(&BlockSpec::paying(miner.clone())).unwrap();
    }
    for _ in 0..101 {
        builder.mine(&BlockSpec::default()).unwrap();
    }
    let is_own =
        |builder: &ChainBuilder, at: &OutPoint| builder.coin(at).is_some_and(|of| of.txout.script_pubkey == miner);
    let coins: Vec<OutPoint> = builder.spendable().iter().filter(|at| is_own(&builder, at)).copied().collect();
    let mut coins: Vec<Vec<OutPoint>> = coins.chunks_exact(3).take(PER_BLOCK).map(<[OutPoint]>::to_vec).collect();
    for key in 0..u32::try_from(alerts.div_ceil(coins.len())).unwrap() {
        for (at, coin) in coins.iter_mut().enumerate() {
            let value: Amount = coin.iter().map(|at| builder.coin(at).unwrap().txout.value).sum();
            let to = script(&mut builder, 1 + key % 40 * 64 + at as u32);
            let output = TxOut { value: value - Amount::from_sat(1_000), script_pubkey: to };
            let tx = builder.spend(coin, vec![output], &Style::default()).unwrap();
            let txid = builder.add(tx).unwrap();
            *coin = vec![OutPoint { txid, vout: 0 }];
        }
        builder.mine(&BlockSpec::default()).unwrap();
    }
    builder.into_chain()
}

fn index(folder: &Path, chain: &Chain) -> Engine {
    let blocks = folder.join("blocks");
    std::fs::create_dir(&blocks).unwrap();
    let files = FileOptions::new(bitcoin::Network::Regtest, [1, 2, 3, 4, 5, 6, 7, 8]);
    write_chain(&blocks, chain, &Layout::tidy(files)).unwrap();
    let facts = Facts { blocks_dir: Some(blocks.clone()), ..Facts::of(Network::Regtest) };
    let mut engine = Engine::open(&folder.join("data"), &facts).unwrap();
    let files = BlockFiles::open(&blocks, Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
    engine.follow_up(&NoProgress, true).unwrap();
    engine.follow_feed(1_800_000_000).unwrap();
    engine.settle().unwrap();
    engine
}

async fn ask(router: &Router, path: &str) -> (u16, String, usize) {
    let response = router.clone().oneshot(Request::get(path).body(Body::empty()).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let rows = response.headers().get("x-rows-read").map_or("", |rows| rows.to_str().unwrap()).to_owned();
    (status, rows, to_bytes(response.into_body(), usize::MAX).await.unwrap().len())
}

fn main() {
    let alerts = env::var("CAIRN_BENCH_ALERTS").map_or(100_000, |text| text.parse().expect("CAIRN_BENCH_ALERTS"));
    let folder = cairn_testkit::temp_dir();
    let engine = index(folder.path(), &chain(alerts));
    let slot = Arc::new(IndexSlot::with(engine.reader()));
    let config = ApiConfig::from(HttpConfig { gates_enabled: false, ..ApiConfig::default().http });
    let router = router(ApiState::new(slot, config));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let view_tip = engine.tip().unwrap();
    println!("{alerts} payments of 100 BTC and more; tip {:?}", view_tip.map(|(height, _)| height));
    println!("\n| answer | ms, median | ms, most | rows read | bytes |\n|---|---|---|---|---|");
    for path in PATHS {
        let mut millis = Vec::new();
        let (mut rows, mut bytes) = (String::new(), 0);
        for _ in 0..TIMES {
            let start = Instant::now();
            let (status, read, size) = runtime.block_on(ask(&router, path));
            millis.push(start.elapsed().as_secs_f64() * 1e3);
            assert_eq!(status, 200, "{path}");
            (rows, bytes) = (read, size);
        }
        // The first one warms.
        millis.remove(0);
        millis.sort_by(f64::total_cmp);
        let most = millis.last().copied().unwrap_or_default();
        println!("| {path} | {:.1} | {most:.1} | {rows} | {bytes} |", millis[millis.len() / 2]);
    }
}
