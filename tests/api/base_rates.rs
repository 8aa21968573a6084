//! Base rates of risk signals, which a server computes beside requests, against the same detectors for every script.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use bitcoin::{Amount, ScriptBuf, TxOut};
use cairn_chaingen::{BlockSpec, ChainBuilder, Lock, Style};
use cairn_operations::{ApiState, serve};
use cairn_support::get_json;
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::Value;
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle, time::timeout};

use crate::support::{World, count_of, get_ok, open_config, script_hash};

const SIGNALS: &str = "/v1/wallets/{address}/risk-signals";
const DAY: u32 = 86_400;
const PEOPLE: u32 = 40;

/// Three days in which people pay each other at old and new addresses, and now and then many at once.
fn world() -> World {
    let (mut builder, mut rng) = (ChainBuilder::new(14), StdRng::seed_from_u64(14));
    let mut keys = PEOPLE;
    for _ in 0..5 {
        let bank = builder.keyring().script(&Lock::P2wpkh { key: 0 }).unwrap();
        builder.mine(&BlockSpec::paying(bank)).unwrap();
    }
    for _ in 0..100 {
        builder.mine(&BlockSpec::default()).unwrap();
    }
    for _ in 0..300 {
        for _ in 0..rng.random_range(0..3) {
            let coins: Vec<_> = builder.spendable().iter().filter(|coin| builder.is_mature(coin)).copied().collect();
            let coin = coins[rng.random_range(0..coins.len())];
            let value = builder.coin(&coin).unwrap().txout.value.to_sat();
            let count = if rng.random_range(0..20) == 0 { 25 } else { rng.random_range(1..4) };
            if value < 20_000 * count {
                continue;
            }
            let mut outputs = Vec::new();
            for _ in 0..count {
                let key = if rng.random_bool(0.3) { rng.random_range(0..PEOPLE) } else { keys };
                keys += 1;
                let script_pubkey = builder.keyring().script(&Lock::P2wpkh { key }).unwrap();
                outputs.push(TxOut { value: Amount::from_sat((value - 5_000) / count), script_pubkey });
            }
            let tx = builder.spend(&[coin], outputs, &Style::default()).unwrap();
            builder.add(tx).unwrap();
        }
        builder.mine(&BlockSpec::default()).unwrap();
    }
    World::of(builder.into_chain())
}

/// The last block of the last day that is over.
fn last_of_day(world: &World) -> u32 {
    let times: Vec<u32> = world.oracle.headers().iter().map(|header| header.monotone_time).collect();
    let today = times.last().unwrap() / DAY;
    times.iter().rposition(|time| time / DAY < today).expect("a day is over") as u32
}

/// Every script with a transaction up to a block.
fn scripts(world: &World, last: u32) -> BTreeSet<ScriptBuf> {
    let txs = world.oracle.blocks()[..=last as usize].iter().flat_map(|block| &block.txdata);
    let outputs = txs.flat_map(|tx| &tx.output).map(|output| output.script_pubkey.clone());
    // A coin is paid before it is spent.
    outputs.filter(|script| !script.is_op_return()).collect()
}

/// For each detector, the scripts for which it fires, and those that it examines.
async fn truth(world: &World, last: u32) -> BTreeMap<String, (u64, u64)> {
    let router = world.open_router();
    let mut counts: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for script in scripts(world, last) {
        let body = get_ok(&router, SIGNALS, &SIGNALS.replace("{address}", &script_hash(&script))).await;
        for signal in body["signals"].as_array().unwrap() {
            let count = counts.entry(signal["id"].as_str().unwrap().to_owned()).or_default();
            let state = signal["state"].as_str().unwrap();
            *count = (count.0 + u64::from(state == "fired"), count.1 + u64::from(state != "not_examined"));
        }
    }
    counts
}

struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    over: JoinHandle<std::io::Result<()>>,
}

async fn server(world: &World) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let state = ApiState::new(Arc::clone(&world.slot) as Arc<_>, open_config());
    let (stop, stopped) = oneshot::channel();
    let shutdown = async move { drop(stopped.await) };
    let over = tokio::spawn(serve(listener, state, |_| axum::Router::new(), shutdown));
    Server { address, stop, over }
}

impl Server {
    /// The signals of a script, which make the server compute base rates.
    async fn signals(&self, script: &ScriptBuf) -> Vec<Value> {
        let (address, path) = (self.address.to_string(), SIGNALS.replace("{address}", &script_hash(script)));
        let body = tokio::task::spawn_blocking(move || get_json(&address, &path)).await.unwrap();
        body["signals"].as_array().unwrap().clone()
    }

    /// The same once base rates are known.
    async fn known(&self, script: &ScriptBuf) -> Vec<Value> {
        for _ in 0..600 {
            let signals = self.signals(script).await;
            if signals.iter().any(|signal| !signal["base_rate"].is_null()) {
                return signals;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        panic!("no base rate is known after two minutes");
    }

    async fn stopped(self) {
        drop(self.stop);
        timeout(Duration::from_secs(20), self.over).await.expect("it ends").unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn they_are_near_those_of_all_scripts() {
    let world = &world();
    let last = last_of_day(world);
    let truth = truth(world, last).await;
    let subject = scripts(world, last).into_iter().next().unwrap();
    let server = server(world).await;
    let first = server.signals(&subject).await;
    assert!(first.iter().all(|signal| signal["base_rate"].is_null() && signal["base_rate_reason"].is_string()));
    let rates = server.known(&subject).await;
    let mut fires = 0;
    for signal in &rates {
        let (fired, examined) = truth[signal["id"].as_str().unwrap()];
        let rate = &signal["base_rate"];
        if examined == 0 {
            assert!(rate.is_null() && signal["base_rate_reason"].is_string(), "{signal}");
            continue;
        }
        let (found, share) = (count_of(rate, "share_ppm"), fired * 1_000_000 / examined);
        assert!(found.abs_diff(share) < 40_000, "{}: {found}, not {share}", signal["id"]);
        assert_eq!((count_of(rate, "to_height"), count_of(rate, "blocks")), (last.into(), u64::from(last) + 1));
        assert_eq!(rate["at"].as_str().map(str::len), Some(20), "{rate}");
        fires += u64::from(found > 0);
    }
    assert!(fires >= 2, "{truth:?}");
    // Nobody has labels here.
    assert_eq!(truth["mixer_exposure"].1, 0);
    // Another server draws the same.
    let other = self::server(world).await;
    let again = other.known(&subject).await;
    assert_eq!(again, rates);
    other.stopped().await;
    server.stopped().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_stops_computing() {
    let world = &world();
    let subject = scripts(world, 1).into_iter().next().unwrap();
    let server = server(world).await;
    server.signals(&subject).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    server.stopped().await;
}
