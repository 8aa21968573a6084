//! Times the acceptance of hashes and the proofs of a calendar, over the router without the network, with the service
//! state in SQLite on this disk.
//!
//! 64 clients at a time hand in digests, each waits for its answer, which comes once the digest is on disk: first as
//! many as they can, then half as many at a fixed rate. All are in one batch, which is final, when 64 clients ask for
//! the timestamps of the first ones' commitments. Printed for each: median and 99th percentile of an answer's time in
//! milliseconds, and answers in a second.
//!
//! To judge the disk, the number of flushes that it takes in a second is printed first.
//!
//! `CAIRN_BENCH_HASHES` (50,000) is the number of digests.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::{
    env,
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use bitcoin::{Amount, OutPoint, ScriptBuf, TxOut, consensus::serialize, hashes::Hash};
use cairn_chaingen::{
    BlockSpec, Chain, ChainBuilder, Lock, Style,
    corefiles::{FileOptions, Layout, write_chain},
};
use cairn_http::HttpConfig;
use cairn_link::IndexSlot;
use cairn_model::Network;
use cairn_operations::{ApiConfig, ApiState, TimestampConfig, router};
use cairn_pipeline::{Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use cairn_state::{
    AnchorLease, AnchorerReport, BatchConfirmation, BatchNodes, BatchTree, NewCandidate, State, StateUrl, WalletState,
};
use cairn_timestamps::{Tree, anchor_steps};
use sha2::{Digest, Sha256};
use tokio::task::JoinSet;
use tower::ServiceExt;

const CLIENTS: usize = 64;
/// Digests in a second where the clients do not send as many as they can.
const RATE: f64 = 5_500.0;
const BLOCKS: u32 = 106;

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn chain() -> ChainBuilder {
    let mut builder = ChainBuilder::new(3);
    let anyone = builder.keyring().script(&Lock::anyone()).unwrap();
    for _ in 0..BLOCKS {
        builder.mine(&BlockSpec::paying(anyone.clone())).unwrap();
    }
    builder
}

/// The chain with a block whose second transaction has the root, and five more blocks.
fn anchored(root: &[u8; 32]) -> Chain {
    let mut builder = chain();
    let anyone = builder.keyring().script(&Lock::anyone()).unwrap();
    let coin: OutPoint = builder.spendable().iter().find(|at| builder.is_mature(at)).copied().unwrap();
    let outputs = vec![
        TxOut { value: Amount::from_sat(1_000_000), script_pubkey: anyone },
        TxOut { value: Amount::ZERO, script_pubkey: ScriptBuf::new_op_return(root) },
    ];
    let tx = builder.spend(&[coin], outputs, &Style::default()).unwrap();
    builder.add(tx).unwrap();
    for _ in 0..6 {
        builder.mine(&BlockSpec::default()).unwrap();
    }
    builder.into_chain()
}

/// The engine over the index of a chain, in a folder that has to stay.
fn indexed(chain: &Chain) -> (Engine, tempfile::TempDir) {
    let folder = cairn_testkit::temp_dir();
    let blocks = folder.path().join("blocks");
    std::fs::create_dir(&blocks).unwrap();
    let files = FileOptions::new(bitcoin::Network::Regtest, [1, 2, 3, 4, 5, 6, 7, 8]);
    write_chain(&blocks, chain, &Layout::tidy(files)).unwrap();
    let facts = Facts { blocks_dir: Some(blocks.clone()), ..Facts::of(Network::Regtest) };
    let mut engine = Engine::open(&folder.path().join("data"), &facts).unwrap();
    let files = BlockFiles::open(&blocks, Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
    engine.settle().unwrap();
    (engine, folder)
}

fn served(engine: &Engine, state: &State) -> Router {
    let timestamps = TimestampConfig { calendar: true, calendar_url: Some("https://calendar.example".to_owned()) };
    let http = HttpConfig { gates_enabled: false, max_concurrent_reads: CLIENTS, ..ApiConfig::default().http };
    let config = ApiConfig { timestamps, ..ApiConfig::from(http) };
    let api = ApiState::new(Arc::new(IndexSlot::with(engine.reader())), config);
    router(ApiState { state: Some(state.clone()), ..api })
}

/// Requests of all clients.
#[derive(Clone, Copy)]
struct Requests {
    first: usize,
    count: usize,
    /// How many in a second; each client sends the next one after the answer if `None`.
    rate: Option<f64>,
}

/// The times of one client's answers in milliseconds; it asks for the next as long as there are requests. With a rate,
/// each request has a time at which it is due, and its answer is timed from then on, also if the client is late.
async fn client<R: Fn(usize) -> Request<Body>>(
    router: Router,
    next: Arc<AtomicUsize>,
    began: Instant,
    requests: Requests,
    request: Arc<R>,
) -> Vec<f64> {
    let mut millis = Vec::new();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= requests.count {
            return millis;
        }
        let at = requests.first + number;
        let started = match requests.rate {
            None => Instant::now(),
            Some(rate) => {
                let due = began + Duration::from_secs_f64(number as f64 / rate);
                tokio::time::sleep_until(due.into()).await;
                due
            }
        };
        let answer = router.clone().oneshot(request(at)).await.unwrap();
        let status = answer.status();
        let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        millis.push(started.elapsed().as_secs_f64() * 1e3);
        assert_eq!(status.as_u16(), 200, "{}", String::from_utf8_lossy(&body));
    }
}

/// Sends all requests; prints a row.
async fn ask<R>(what: &str, router: &Router, requests: Requests, request: R)
where
    R: Fn(usize) -> Request<Body> + Send + Sync + 'static,
{
    let (next, request) = (Arc::new(AtomicUsize::new(0)), Arc::new(request));
    let started = Instant::now();
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(client(router.clone(), Arc::clone(&next), started, requests, Arc::clone(&request)));
    }
    let mut millis: Vec<f64> = clients.join_all().await.concat();
    let seconds = started.elapsed().as_secs_f64();
    millis.sort_by(f64::total_cmp);
    let at = |share: f64| millis[((millis.len() - 1) as f64 * share) as usize];
    println!("| {what} | {:.2} | {:.2} | {:.0} |", at(0.5), at(0.99), requests.count as f64 / seconds);
}

/// Flushes of a small file in a second: what the disk takes without groups.
fn flushes() -> f64 {
    let folder = cairn_testkit::temp_dir();
    let mut file = std::fs::File::create(folder.path().join("rows")).unwrap();
    let (started, mut count) = (Instant::now(), 0u32);
    while started.elapsed() < Duration::from_secs(2) {
        file.write_all(&[7; 200]).unwrap();
        file.sync_data().unwrap();
        count += 1;
    }
    f64::from(count) / started.elapsed().as_secs_f64()
}

fn digest(at: usize) -> [u8; 32] {
    Sha256::digest(at.to_be_bytes()).into()
}

/// Makes a batch of all that waits, whose transaction is in a block with enough on top. Returns the chain.
async fn anchor(state: &State, lease: &AnchorLease) -> Chain {
    let tree = |leaves: &[[u8; 32]]| {
        let tree = Tree::new(leaves).unwrap();
        let root = tree.root();
        let part = |part: cairn_timestamps::TreePart| BatchNodes {
            level: part.place.level,
            part: part.place.part,
            hashes: part.hashes,
        };
        BatchTree { root, nodes: tree.into_parts().into_iter().map(part).collect() }
    };
    let batch = state.make_batch(lease, u32::MAX, now(), tree).await.unwrap().unwrap();
    let chain = anchored(&batch.root);
    let height = BLOCKS + 1;
    let block = &chain.active()[height as usize].block;
    let raw = serialize(&block.txdata[1]);
    let txids: Vec<[u8; 32]> = block.txdata.iter().map(|tx| tx.compute_txid().to_byte_array()).collect();
    let candidate = NewCandidate { txid: txids[1], raw: raw.clone(), fee_sats: 500, vsize: 200 };
    state.add_candidate(lease, batch.id, &candidate, now()).await.unwrap();
    state.mark_sent(lease, batch.id, &txids[1], now()).await.unwrap();
    let proof = anchor_steps(&batch.root, &raw, &txids, height.into()).unwrap().write();
    let block_hash = block.block_hash().to_byte_array();
    let confirmation = BatchConfirmation { txid: txids[1], height, block_hash, proof };
    assert!(state.confirm_batch(lease, batch.id, &confirmation, now()).await.unwrap());
    assert!(state.finish_batch(lease, batch.id, now()).await.unwrap());
    chain
}

fn main() {
    let hashes = env::var("CAIRN_BENCH_HASHES").map_or(50_000, |text| text.parse().expect("CAIRN_BENCH_HASHES"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = cairn_testkit::temp_dir();
    runtime.block_on(async {
        let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
        let lease = state.acquire_anchor_lease("regtest", "bench", 86_400, now()).await.unwrap().unwrap();
        let report = AnchorerReport {
            wallet: WalletState::Ready,
            anchors_left: Some(9),
            anchor_vsize: 200,
            interval_secs: 600,
            next_anchor_at: None,
            reported_at: now(),
        };
        state.report_anchorer(&lease, &report).await.unwrap();
        println!("{hashes} digests, {CLIENTS} clients; {:.0} flushes of this disk in a second\n", flushes());
        println!("| answer | ms, median | ms, 99 % | answers in a second |\n|---|---|---|---|");
        let (engine, _index) = indexed(&chain().into_chain());
        let server = served(&engine, &state);
        let post = |at| Request::post("/digest").body(digest(at).to_vec().into()).unwrap();
        let all = Requests { first: 0, count: hashes, rate: None };
        ask("POST /digest", &server, all, post).await;
        let paced = Requests { first: hashes, count: hashes / 2, rate: Some(RATE) };
        ask(&format!("POST /digest, {RATE} in a second"), &server, paced, post).await;
        let chain = anchor(&state, &lease).await;
        let mut commitments = Vec::with_capacity(hashes);
        for at in 0..hashes {
            commitments.push(state.timestamp("regtest", &digest(at)).await.unwrap().unwrap().commitment);
        }
        let (engine, _index) = indexed(&chain);
        let server = served(&engine, &state);
        ask("GET /timestamp/COMMITMENT", &server, all, move |at| {
            Request::get(format!("/timestamp/{}", hex::encode(commitments[at]))).body(Body::empty()).unwrap()
        })
        .await;
    });
}
