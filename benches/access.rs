//! Times what the gate of sold calls adds to a request, over the router without the network, with the service state in
//! SQLite on this disk. One client asks for transactions (`/v1/tx/{txid}`), one after the other and in turns: in the
//! beta, in live mode with the key of a pass, with a wallet session, and with a payment over Lightning; then without
//! anything, which makes an invoice of the simulated node, and once more for the same offer. Then it asks for the
//! summary of an address, in the beta and with a payment by x402, which a facilitator in another thread checks and
//! settles over HTTP and answers at once. Printed for each: median and 99th percentile of an answer's time in
//! microseconds, and the median of the difference to the beta's answer of the same turn.
//!
//! `CAIRN_BENCH_TURNS` (600) is the number of turns.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::{
    env,
    net::TcpListener,
    sync::Arc,
    thread,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use axum::{
    Json, Router,
    body::{Body, to_bytes},
    http::Request,
    routing::{get, post},
};
use bitcoin::Address;
use cairn_access::{LightningTill, X402Till};
use cairn_chaingen::{
    BlockSpec, ChainBuilder, Lock,
    corefiles::{FileOptions, Layout, write_chain},
};
use cairn_http::{AccessMode, HttpConfig, Till, X402Gate};
use cairn_lightning::{BackendKind, MemoryStore, Secret, Simulated};
use cairn_link::IndexSlot;
use cairn_model::Network;
use cairn_operations::{ApiConfig, ApiState, router};
use cairn_pipeline::{Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use cairn_state::{KeyKind, NewKey, State, StateUrl};
use cairn_x402::{Facilitator, HttpFacilitator, Timeouts};
use serde_json::{Value, json};
use tower::ServiceExt;

#[allow(dead_code, reason = "shared with the tests of cairn-access")]
#[path = "../query-api/access/tests/x402/payer.rs"]
mod x402_payer;

use x402_payer::{PAYER, TRANSACTION, encoded, nonce, payment, settings};

const BLOCKS: u32 = 130;
/// Name and header of the credentials that open every call.
type Credential = (&'static str, &'static str, String);

/// An index of a chain, the ids of its transactions, and an address that was paid.
fn indexed() -> (Engine, Vec<String>, String, tempfile::TempDir) {
    let mut builder = ChainBuilder::new(3);
    let anyone = builder.keyring().script(&Lock::anyone()).unwrap();
    for _ in 0..BLOCKS {
        builder.mine(&BlockSpec::paying(anyone.clone())).unwrap();
    }
    let paid = builder.keyring().script(&Lock::P2wpkh { key: 1 }).unwrap();
    builder.mine(&BlockSpec::paying(paid.clone())).unwrap();
    let address = Address::from_script(&paid, bitcoin::Network::Regtest).unwrap().to_string();
    let chain = builder.into_chain();
    let txids = chain.active().iter().skip(1).map(|made| made.block.txdata[0].compute_txid().to_string()).collect();
    let folder = cairn_testkit::temp_dir();
    let blocks = folder.path().join("blocks");
    std::fs::create_dir(&blocks).unwrap();
    let files = FileOptions::new(bitcoin::Network::Regtest, [1, 2, 3, 4, 5, 6, 7, 8]);
    write_chain(&blocks, &chain, &Layout::tidy(files)).unwrap();
    let facts = Facts { blocks_dir: Some(blocks.clone()), ..Facts::of(Network::Regtest) };
    let mut engine = Engine::open(&folder.path().join("data"), &facts).unwrap();
    let files = BlockFiles::open(&blocks, Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
    engine.settle().unwrap();
    (engine, txids, address, folder)
}

/// Serves a facilitator that accepts and settles every payment at once. Returns its URL.
fn facilitator() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    listener.set_nonblocking(true).unwrap();
    let settled = json!({"success": true, "payer": PAYER, "transaction": TRANSACTION, "network": "eip155:84532"});
    let router = Router::new()
        .route("/supported", get(async || Json(json!({ "kinds": [] }))))
        .route("/verify", post(async || Json(json!({ "isValid": true, "payer": PAYER }))))
        .route("/settle", post(async move || Json(settled)));
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { axum::serve(tokio::net::TcpListener::from_std(listener).unwrap(), router).await })
    });
    url
}

/// Times payments by x402 for the summary of an address, in turns with the beta, and prints a table.
async fn pay_by_x402(turns: usize, engine: &Engine, state: &State, beta: &Router, address: &str) {
    let facilitator = Arc::new(HttpFacilitator::new(&facilitator(), None, Timeouts::default()).unwrap());
    let (access_mode, x402, base_url) = (AccessMode::Live, X402Gate::Open, "http://cairn.test".to_owned());
    let http = HttpConfig { access_mode, x402, base_url, ..ApiConfig::default().http };
    let till = X402Till::new(settings(), Arc::<HttpFacilitator>::clone(&facilitator), "bench".to_owned()).unwrap();
    let api = ApiState::new(Arc::new(IndexSlot::with(engine.reader())), ApiConfig::from(http));
    let till = Arc::new(till) as Arc<dyn Till>;
    let live = router(ApiState { state: Some(state.clone()), tills: vec![till], ..api });
    let path = format!("/v1/wallets/{address}/summary");
    let (mut free, mut offered, mut paid, mut alone) = (Vec::new(), Times::default(), Times::default(), Vec::new());
    for turn in 0..turns {
        let (base, _) = timed(beta, &path, None, 200).await;
        free.push(base);
        let (micros, offer) = timed(&live, &path, None, 402).await;
        offered.add(micros, base);
        let payment = payment(&offer["payment_options"]["x402"], &nonce(&format!("turn {turn}")), now());
        paid.add(timed(&live, &path, Some(("payment-signature", &encoded(&payment))), 200).await.0, base);
        let started = Instant::now();
        tokio::task::block_in_place(|| (0..2).for_each(|_| drop(facilitator.supported().unwrap())));
        alone.push(started.elapsed().as_secs_f64() * 1e6);
    }
    println!(
        "\n| GET /v1/wallets/{{address}}/summary | µs, median | µs, 99 % | median of the difference to the beta, µs |\n|---|---|---|---|"
    );
    println!("| beta | {:.0} | {:.0} | |", median(&mut free, 0.5), median(&mut free, 0.99));
    paid.print("live, with a payment by x402 (checked, settled and on disk before the answer)");
    offered.print("live, 402 with the offer of x402");
    println!(
        "| two empty requests to the facilitator | {:.0} | {:.0} | |",
        median(&mut alone, 0.5),
        median(&mut alone, 0.99)
    );
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Sends a request. Returns its time in microseconds, and the body.
async fn timed(router: &Router, path: &str, header: Option<(&str, &str)>, status: u16) -> (f64, Value) {
    let request = Request::get(path);
    let request = header.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    let started = Instant::now();
    let answer = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let got = answer.status().as_u16();
    let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    let micros = started.elapsed().as_secs_f64() * 1e6;
    assert_eq!(got, status, "{}", String::from_utf8_lossy(&body));
    (micros, serde_json::from_slice(&body).unwrap())
}

fn median(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share) as usize]
}

/// Times of one kind of request, and their differences to the beta's.
#[derive(Default)]
struct Times {
    all: Vec<f64>,
    added: Vec<f64>,
}

impl Times {
    fn add(&mut self, micros: f64, beta: f64) {
        self.all.push(micros);
        self.added.push(micros - beta);
    }

    fn print(&mut self, what: &str) {
        let (half, most, added) =
            (median(&mut self.all, 0.5), median(&mut self.all, 0.99), median(&mut self.added, 0.5));
        println!("| {what} | {half:.0} | {most:.0} | {added:+.0} |");
    }
}

fn main() {
    let turns: usize = env::var("CAIRN_BENCH_TURNS").map_or(600, |text| text.parse().expect("CAIRN_BENCH_TURNS"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (engine, txids, address, _index) = indexed();
    let folder = cairn_testkit::temp_dir();
    runtime.block_on(async {
        let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
        let key = Secret::new("e126f68f7eafcc8b74f54d269fe206be715000f94dac067d1c04a8ca3b2db734");
        let node = Arc::new(Simulated::new(Network::Regtest, &key, Arc::new(MemoryStore::default())).unwrap());
        let served = |access_mode| {
            let lightning = Some("simulated");
            let http = HttpConfig { access_mode, lightning, ..ApiConfig::default().http };
            let till = LightningTill::new(BackendKind::Simulated, Arc::<Simulated>::clone(&node), "bench".to_owned());
            let api = ApiState::new(Arc::new(IndexSlot::with(engine.reader())), ApiConfig::from(http));
            router(ApiState { state: Some(state.clone()), tills: vec![Arc::new(till)], ..api })
        };
        let (beta, live) = (served(AccessMode::Beta), served(AccessMode::Live));
        let issue = async |kind| {
            let new = NewKey { kind, label: String::new(), expires_at: None };
            state.issue(new, now()).await.unwrap().1.expose().to_owned()
        };
        let opening: [Credential; 2] = [
            ("the key of a pass", "x-wr-api-key", issue(KeyKind::Bridge).await),
            ("a wallet session", "authorization", format!("Bearer {}", issue(KeyKind::Session).await)),
        ];
        let mut free = Vec::new();
        let (mut opened, mut paid) = ([Times::default(), Times::default()], Times::default());
        let (mut offered, mut again) = (Times::default(), Times::default());
        for turn in 0..turns {
            let path = format!("/v1/tx/{}", txids[turn % txids.len()]);
            let (base, _) = timed(&beta, &path, None, 200).await;
            free.push(base);
            for ((_, name, value), times) in opening.iter().zip(&mut opened) {
                times.add(timed(&live, &path, Some((name, value)), 200).await.0, base);
            }
            let (micros, offer) = timed(&live, &path, None, 402).await;
            offered.add(micros, base);
            again.add(timed(&live, &path, None, 402).await.0, base);
            let payment = &offer["payment_options"]["l402"]["payment"];
            let preimage = node.pay(payment["invoice"].as_str().unwrap()).unwrap();
            let proof = format!("L402 {}:{}", payment["macaroon"].as_str().unwrap(), hex::encode(preimage.as_bytes()));
            paid.add(timed(&live, &path, Some(("authorization", &proof)), 200).await.0, base);
        }
        println!("{} requests of each kind\n", free.len());
        println!("| GET /v1/tx/{{txid}} | µs, median | µs, 99 % | median of the difference to the beta, µs |\n|---|---|---|---|");
        println!("| beta | {:.0} | {:.0} | |", median(&mut free, 0.5), median(&mut free, 0.99));
        for ((what, ..), times) in opening.iter().zip(&mut opened) {
            times.print(&format!("live, with {what}"));
        }
        paid.print("live, with a payment (redeemed on disk before the answer)");
        offered.print("live, 402 with a new invoice");
        again.print("live, 402 with the same offer");
        pay_by_x402(turns, &engine, &state, &beta, &address).await;
    });
}
