//! Timestamps from the hash to the proof: the test does the work of the process that anchors, with a real transaction
//! in a generated chain, and reads every proof with the operation that verifies any proof.
//!
//! One file on purpose: all tests share the desk of the process that anchors.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, Response},
};
use bitcoin::{
    Amount, OutPoint, ScriptBuf, TxOut,
    consensus::serialize,
    hashes::{Hash, sha256},
};
use cairn_chaingen::{BlockSpec, Chain, ChainBuilder, Lock, Style};
use cairn_http::HttpConfig;
use cairn_operations::{ApiConfig, ApiState, TimestampConfig, router};
use cairn_state::{
    AnchorLease, AnchorerReport, BatchConfirmation, BatchNodes, BatchTree, NewCandidate, State, StateUrl, WalletState,
};
use cairn_testkit::temp_dir;
use cairn_timestamps::{Attestation, Proof, Step, Tree, anchor_steps};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use crate::{
    support::{Reply, World, assert_problem, assert_valid, get, hex, open_config, post},
    timestamp_proofs::{base64, once},
};

pub const SUBMIT: &str = "/v1/timestamp";
pub const STATUS: &str = "/v1/timestamp/{hash_hex}";
pub const PROOF: &str = "/v1/timestamp/{hash_hex}/proof";
pub const QUOTE: &str = "/v1/timestamp/quote";
const CALENDAR: &str = "https://calendar.example";

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn config(calendar: bool, url: Option<&str>) -> ApiConfig {
    let timestamps = TimestampConfig { calendar, calendar_url: url.map(str::to_owned) };
    let http = HttpConfig { max_concurrent_reads: 64, ..open_config().http };
    ApiConfig { timestamps, http, ..open_config() }
}

/// A chain whose coins anyone can spend.
fn builder() -> ChainBuilder {
    let mut builder = ChainBuilder::new(3);
    let anyone = builder.keyring().script(&Lock::anyone()).unwrap();
    for _ in 0..106 {
        builder.mine(&BlockSpec::paying(anyone.clone())).unwrap();
    }
    builder
}

/// Mines a block with five payments; the third has the root. Then mines blocks on top.
fn anchor(root: &[u8; 32], on_top: u32) -> (Chain, u32, usize) {
    let mut builder = builder();
    let anyone = builder.keyring().script(&Lock::anyone()).unwrap();
    let coins: Vec<OutPoint> = builder.spendable().iter().filter(|at| builder.is_mature(at)).take(5).copied().collect();
    for (at, coin) in coins.iter().enumerate() {
        let mut outputs = vec![TxOut { value: Amount::from_sat(1_000_000), script_pubkey: anyone.clone() }];
        if at == 2 {
            outputs.push(TxOut { value: Amount::ZERO, script_pubkey: ScriptBuf::new_op_return(root) });
        }
        let tx = builder.spend(&[*coin], outputs, &Style::default()).unwrap();
        builder.add(tx).unwrap();
    }
    let hash = builder.mine(&BlockSpec::default()).unwrap();
    let height = builder.chain().get(&hash).unwrap().height;
    for _ in 0..on_top {
        builder.mine(&BlockSpec::default()).unwrap();
    }
    // The coinbase comes first.
    (builder.into_chain(), height, 3)
}

/// The service state, and the process that anchors.
struct Desk {
    state: State,
    lease: AnchorLease,
    _folder: TempDir,
}

impl Desk {
    async fn new() -> Self {
        let folder = temp_dir();
        let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
        let lease = state.acquire_anchor_lease("regtest", "test", 3_600, now()).await.unwrap().unwrap();
        Desk { state, lease, _folder: folder }
    }

    async fn report(&self, wallet: WalletState, age: u64) {
        let report = AnchorerReport {
            wallet,
            anchors_left: Some(9),
            anchor_vsize: 200,
            interval_secs: 600,
            next_anchor_at: Some(4_102_444_800),
            reported_at: now() - age,
        };
        self.state.report_anchorer(&self.lease, &report).await.unwrap();
    }

    fn router(&self, world: &World, config: ApiConfig) -> Router {
        let api = ApiState::new(Arc::clone(&world.slot) as Arc<_>, config);
        router(ApiState { state: Some(self.state.clone()), ..api })
    }

    /// Collects what waits. Returns the number and the root of the batch.
    async fn aggregate(&self) -> (i64, [u8; 32]) {
        let tree = |leaves: &[[u8; 32]]| {
            let tree = Tree::new(leaves).unwrap();
            let root = tree.root();
            let nodes = tree.into_parts().into_iter();
            let nodes =
                nodes.map(|part| BatchNodes { level: part.place.level, part: part.place.part, hashes: part.hashes });
            BatchTree { root, nodes: nodes.collect() }
        };
        let batch = self.state.make_batch(&self.lease, u32::MAX, now(), tree).await.unwrap().unwrap();
        (batch.id, batch.root)
    }

    /// Stores and confirms the transaction of a batch as the chain has it.
    async fn confirm(&self, batch: i64, root: &[u8; 32], chain: &Chain, height: u32, index: usize) {
        let block = &chain.active()[height as usize].block;
        let raw = serialize(&block.txdata[index]);
        let txid = block.txdata[index].compute_txid().to_byte_array();
        let txids: Vec<[u8; 32]> = block.txdata.iter().map(|tx| tx.compute_txid().to_byte_array()).collect();
        let candidate = NewCandidate { txid, raw: raw.clone(), fee_sats: 500, vsize: 200 };
        self.state.add_candidate(&self.lease, batch, &candidate, now()).await.unwrap();
        self.state.mark_sent(&self.lease, batch, &txid, now()).await.unwrap();
        let proof = anchor_steps(root, &raw, &txids, height.into()).unwrap().write();
        let block_hash = block.block_hash().to_byte_array();
        let confirmation = BatchConfirmation { txid, height, block_hash, proof };
        assert!(self.state.confirm_batch(&self.lease, batch, &confirmation, now()).await.unwrap());
    }
}

fn file_hash(number: u32) -> [u8; 32] {
    once(&number.to_be_bytes())
}

async fn submit(router: &Router, hash: &[u8; 32]) -> (u16, Value) {
    let reply = post(router, SUBMIT, &json!({"hash": hex(hash)})).await;
    assert!(matches!(reply.status, 200 | 202), "{}", reply.text);
    assert_valid(SUBMIT, &reply.body);
    (reply.status, reply.body)
}

async fn raw(router: &Router, request: Request<Body>) -> (u16, axum::http::HeaderMap, Vec<u8>) {
    let (parts, body) = router.clone().oneshot(request).await.map(Response::into_parts).unwrap();
    (parts.status.as_u16(), parts.headers, to_bytes(body, usize::MAX).await.unwrap().to_vec())
}

async fn file(router: &Router, hash: &[u8; 32]) -> (u16, axum::http::HeaderMap, Vec<u8>) {
    raw(router, Request::get(format!("/v1/timestamp/{}/proof", hex(hash))).body(Body::empty()).unwrap()).await
}

async fn status(router: &Router, hash: &[u8; 32]) -> Value {
    let reply = get(router, &format!("/v1/timestamp/{}", hex(hash))).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_valid(STATUS, &reply.body);
    reply.body
}

/// The answer of the operation that verifies any proof.
async fn verified(router: &Router, hash: &[u8; 32], proof: &[u8]) -> Value {
    let body = json!({"hash": hex(hash), "proof_base64": base64(proof)});
    let reply = post(router, "/v1/timestamp/verify", &body).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.body
}

fn attested(proof: &Proof) -> Vec<(Attestation, Vec<u8>)> {
    let mut all = Vec::new();
    let done: Result<(), ()> = proof.attested(|attestation, message| {
        all.push((attestation.clone(), message.to_vec()));
        Ok(())
    });
    done.unwrap();
    all
}

fn decoded(text: &Value) -> Vec<u8> {
    use ::base64::Engine;
    ::base64::engine::general_purpose::STANDARD.decode(text.as_str().unwrap()).unwrap()
}

/// An example of the answer of an operation of this area, but the one that verifies.
pub async fn example(path: &str) -> Option<Reply> {
    let (before, desk) = (World::of(builder().into_chain()), Desk::new().await);
    desk.report(WalletState::Ready, 0).await;
    let router = desk.router(&before, config(false, None));
    let hash = file_hash(1);
    let submitted = post(&router, SUBMIT, &json!({"hash": hex(&hash)})).await;
    match path {
        SUBMIT => return Some(submitted),
        QUOTE => return Some(get(&router, QUOTE).await),
        STATUS | PROOF => {}
        _ => return None,
    }
    let (batch, root) = desk.aggregate().await;
    let (chain, height, index) = anchor(&root, 2);
    desk.confirm(batch, &root, &chain, height, index).await;
    let world = World::of(chain);
    let path = path.replace("{hash_hex}", &hex(&hash));
    let query = if path.ends_with("/proof") { "?format=json" } else { "" };
    Some(get(&desk.router(&world, config(false, None)), &format!("{path}{query}")).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn hashes_become_proofs() {
    let before = World::of(builder().into_chain());
    // The sizes are those of trees with one leaf, two, an odd number, and several parts.
    for count in [1, 2, 3, 1_000] {
        let desk = Desk::new().await;
        let desk_router = desk.router(&before, config(false, None));
        let hashes: Vec<[u8; 32]> = (0..count).map(file_hash).collect();
        for some in hashes.chunks(100) {
            // On a busy machine the report would get too old for all of them.
            desk.report(WalletState::Ready, 0).await;
            for hash in some {
                assert_eq!(submit(&desk_router, hash).await.0, 202);
            }
        }
        let (batch, root) = desk.aggregate().await;
        assert_eq!(status(&desk_router, &hashes[0]).await["state"], "aggregated");
        let (chain, height, index) = anchor(&root, 3);
        desk.confirm(batch, &root, &chain, height, index).await;
        let txid = chain.active()[height as usize].block.txdata[index].compute_txid().to_string();
        let world = World::of(chain);
        let router = desk.router(&world, config(false, None));
        let mut seen = BTreeSet::new();
        let asked: BTreeSet<_> = hashes.iter().step_by((count as usize / 50).max(1)).chain(hashes.last()).collect();
        for hash in asked {
            let (code, headers, proof) = file(&router, hash).await;
            assert_eq!(code, 200, "{}", String::from_utf8_lossy(&proof));
            assert_eq!(headers["content-type"], "application/vnd.opentimestamps.ots");
            let name = format!("attachment; filename=\"{}.regtest.ots\"", hex(hash));
            assert_eq!(headers["content-disposition"], name.as_str());
            let warnings: Vec<_> = headers.get_all("x-warning").iter().map(|w| w.to_str().unwrap()).collect();
            assert!(warnings.iter().any(|w| w.starts_with("not_mainnet;")), "{warnings:?}");
            assert!(warnings.iter().any(|w| w.starts_with("provisional_confirmations;")), "{warnings:?}");
            let body = verified(&router, hash, &proof).await;
            assert_eq!((&body["verified"], &body["earliest"]["height"]), (&true.into(), &height.into()), "{body}");
            assert!(proof.len() < 2_000 && seen.insert(proof));
        }
        let body = status(&router, &hashes[0]).await;
        assert_eq!(
            (&body["state"], &body["height"], &body["txid"]),
            (&"confirmed".into(), &height.into(), &txid.into())
        );
        assert_eq!((&body["confirmations"], &body["batch"]["hashes"]), (&4.into(), &count.into()));
        assert_eq!(body["batch"]["root"], hex(&root).as_str());
        assert_eq!(body["block_hash"], world.oracle.blocks()[height as usize].block_hash().to_string());
        assert_eq!((&body["network"], &body["caveat_codes"][0]["code"]), (&"regtest".into(), &"not_mainnet".into()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hash_is_new_once() {
    let world = World::of(builder().into_chain());
    let desk = Desk::new().await;
    desk.report(WalletState::Ready, 0).await;
    let router = desk.router(&world, config(false, Some(CALENDAR)));
    let hash = file_hash(1);
    let unknown = get(&router, &format!("/v1/timestamp/{}", hex(&hash))).await;
    assert_problem(&unknown, 404, "timestamp_not_found");
    let (code, first) = submit(&router, &hash).await;
    assert_eq!((code, &first["state"], &first["hash"]), (202, &"pending".into(), &hex(&hash).into()));
    let known = post(&router, SUBMIT, &json!({"hash_hex": format!(" {} ", hex(&hash).to_uppercase())})).await;
    assert_eq!(known.status, 200, "{}", known.text);
    for field in ["hash", "state", "submitted_at", "pending_proof_base64", "proof_url"] {
        assert_eq!(known.body[field], first[field], "{field}");
    }
    // The pending proof names the calendar that is configured, and leads to 32 bytes that are not the hash.
    let proof = Proof::read(&decoded(&first["pending_proof_base64"])).unwrap();
    assert_eq!(proof.file_hash(), hash);
    let all = attested(&proof);
    let [(Attestation::Pending { uri }, message)] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((uri.as_str(), message.len()), (CALENDAR, 32));
    let record = desk.state.timestamp("regtest", &hash).await.unwrap().unwrap();
    assert_eq!(*message, record.commitment);
    let body = verified(&router, &hash, &proof.write()).await;
    assert_eq!((&body["verified"], &body["attestations"][0]["calendar"]), (&false.into(), &CALENDAR.into()));
    let waits = get(&router, &format!("/v1/timestamp/{}/proof", hex(&hash))).await;
    assert_problem(&waits, 409, "proof_not_ready");
    assert_eq!((&waits.body["state"], waits.header("retry-after")), (&"pending".into(), "60"));
    // Without a public address there is none, with a reason.
    let without = desk.router(&world, config(true, None));
    let body = status(&without, &hash).await;
    assert_eq!(body["pending_proof_base64"], Value::Null);
    assert!(body["pending_proof_reason"].as_str().unwrap().contains("calendar_url"));
}

#[tokio::test(flavor = "multi_thread")]
async fn raced_submissions_are_one() {
    let world = World::of(builder().into_chain());
    let desk = Desk::new().await;
    desk.report(WalletState::Ready, 0).await;
    let router = desk.router(&world, config(false, None));
    let clients = (0..64u32).map(|client| {
        let router = router.clone();
        tokio::spawn(async move {
            let reply = post(&router, SUBMIT, &json!({"hash": hex(&file_hash(client % 8))})).await;
            (client % 8, reply.status, reply.body["submitted_at"].clone())
        })
    });
    let mut fresh = Vec::new();
    for client in clients.collect::<Vec<_>>() {
        let (hash, code, submitted_at) = client.await.unwrap();
        assert!(matches!(code, 200 | 202) && submitted_at.is_string(), "{code}");
        fresh.extend((code == 202).then_some(hash));
    }
    fresh.sort_unstable();
    assert_eq!(fresh, (0..8).collect::<Vec<_>>());
    // Durable: another process sees them.
    let again = State::of(&StateUrl::in_folder(desk._folder.path()));
    assert_eq!(again.waiting_timestamps("regtest", 100).await.unwrap().count, 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_hash_is_refused() {
    let world = World::of(builder().into_chain());
    let desk = Desk::new().await;
    desk.report(WalletState::Ready, 0).await;
    let router = desk.router(&world, config(true, Some(CALENDAR)));
    for text in ["", "00", &"0".repeat(63), &"0".repeat(65), &"g".repeat(64), &"00".repeat(20)] {
        assert_problem(&post(&router, SUBMIT, &json!({"hash": text})).await, 400, "invalid_hash");
    }
    let hash = hex(&file_hash(1));
    for (body, status, code) in [
        (json!({}), 422, "validation_error"),
        (json!({"hash": hash, "hash_hex": hash}), 422, "validation_error"),
        (json!({"hash": 5}), 422, "validation_error"),
        (json!([hash]), 422, "validation_error"),
    ] {
        let reply = post(&router, SUBMIT, &body).await;
        assert!(reply.status == status || reply.status == 400, "{body}: {}", reply.text);
        assert!(reply.body["error"] == code || reply.body["error"] == "invalid_hash", "{}", reply.text);
    }
    for path in ["00", &"g".repeat(64)] {
        assert_problem(&get(&router, &format!("/v1/timestamp/{path}")).await, 400, "invalid_hash");
        assert_problem(&get(&router, &format!("/v1/timestamp/{path}/proof")).await, 400, "invalid_hash");
    }
    assert_eq!(desk.state.waiting_timestamps("regtest", 100).await.unwrap().count, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_wallet_nothing_new_is_accepted() {
    let world = World::of(builder().into_chain());
    let desk = Desk::new().await;
    let router = desk.router(&world, config(true, Some(CALENDAR)));
    let refused = async |reason: &str| {
        let reply = post(&router, SUBMIT, &json!({"hash": hex(&file_hash(9))})).await;
        assert_problem(&reply, 503, "anchoring_unavailable");
        assert_eq!((&reply.body["reason"], reply.header("retry-after")), (&reason.into(), "60"));
        let quote = quote(&router).await;
        assert_eq!((&quote["available"], &quote["reason"]), (&false.into(), &reason.into()));
        let digest = Request::post("/digest").body(Body::from(vec![7u8; 32])).unwrap();
        assert_eq!(raw(&router, digest).await.0, 503);
    };
    refused("wallet_missing").await;
    for wallet in [WalletState::WalletMissing, WalletState::Locked, WalletState::Empty, WalletState::Limit] {
        desk.report(wallet, 0).await;
        refused(wallet.name()).await;
    }
    // A process that has stopped reporting does not anchor.
    desk.report(WalletState::Ready, AnchorerReport::FRESH_SECS + 5).await;
    refused("wallet_missing").await;
    desk.report(WalletState::Ready, 0).await;
    assert_eq!(submit(&router, &file_hash(1)).await.0, 202);
    // A known one is still answered.
    desk.report(WalletState::Empty, 0).await;
    assert_eq!(submit(&router, &file_hash(1)).await.0, 200);
    refused("empty").await;
    // Neither quote nor verification needs a database.
    let bare = world.open_router();
    assert_eq!(quote(&bare).await["reason"], "wallet_missing");
    assert_problem(&post(&bare, SUBMIT, &json!({"hash": hex(&file_hash(1))})).await, 503, "state_unavailable");
}

async fn quote(router: &Router) -> Value {
    let reply = get(router, QUOTE).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_valid(QUOTE, &reply.body);
    reply.body
}

#[tokio::test(flavor = "multi_thread")]
async fn quotes_say_what_they_rest_on() {
    let world = World::of(builder().into_chain());
    let desk = Desk::new().await;
    desk.report(WalletState::Ready, 0).await;
    let router = desk.router(&world, config(false, None));
    let body = quote(&router).await;
    assert_eq!(
        (&body["available"], &body["reason"], &body["service_fee_sats"]),
        (&true.into(), &Value::Null, &21.into())
    );
    assert_eq!((&body["basis"]["anchor_vsize"], &body["basis"]["waiting"]), (&200.into(), &0.into()));
    assert_eq!(body["basis"]["next_anchor_at"], "2100-01-01T00:00:00.000Z");
    // Without a mempool no feerate is known: null with a reason, never 0.
    for field in ["anchor_fee_share_sats", "total_sats"] {
        assert_eq!(body[field], Value::Null);
    }
    assert!(body["share_reason"].is_string() && body["by_batch"] == json!([]));
    submit(&router, &file_hash(1)).await;
    submit(&router, &file_hash(2)).await;
    assert_eq!(quote(&router).await["basis"]["waiting"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_final_proof_never_changes_and_a_replaced_block_has_none() {
    let before = World::of(builder().into_chain());
    let desk = Desk::new().await;
    desk.report(WalletState::Ready, 0).await;
    let hash = file_hash(1);
    submit(&desk.router(&before, config(false, None)), &hash).await;
    let (batch, root) = desk.aggregate().await;
    let (chain, height, index) = anchor(&root, 7);
    desk.confirm(batch, &root, &chain, height, index).await;
    let world = World::of(chain);
    let router = desk.router(&world, config(false, None));
    let path = format!("/v1/timestamp/{}/proof?format=json", hex(&hash));
    let confirmed = get(&router, &path).await;
    assert_valid(PROOF, &confirmed.body);
    assert_eq!((&confirmed.body["state"], &confirmed.body["provisional"]), (&"confirmed".into(), &true.into()));
    assert!(desk.state.finish_batch(&desk.lease, batch, now()).await.unwrap());
    let request = Request::get(format!("/v1/timestamp/{}/proof", hex(&hash))).header("accept", "application/json");
    let (code, headers, text) = raw(&router, request.body(Body::empty()).unwrap()).await;
    assert_eq!((code, &headers["content-type"]), (200, &"application/json".parse().unwrap()));
    let last: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!((&last["state"], &last["provisional"]), (&"final".into(), &false.into()));
    assert_eq!(last["proof_base64"], confirmed.body["proof_base64"]);
    assert_eq!(last["file_name"], format!("{}.regtest.ots", hex(&hash)));
    assert_eq!(decoded(&last["proof_base64"]), file(&router, &hash).await.2);
    // An index with another block at this height does not hand the proof out.
    let mut other = builder();
    for _ in 0..9 {
        other.mine(&BlockSpec::default()).unwrap();
    }
    let elsewhere = desk.router(&World::of(other.into_chain()), config(false, None));
    let reply: Reply = get(&elsewhere, &path).await;
    assert_problem(&reply, 409, "proof_not_ready");
    assert!(reply.body["detail"].as_str().unwrap().contains("reorganization"), "{}", reply.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_batch_says_why_and_its_hashes_come_again() {
    let world = World::of(builder().into_chain());
    let desk = Desk::new().await;
    desk.report(WalletState::Ready, 0).await;
    let router = desk.router(&world, config(false, None));
    let hash = file_hash(1);
    let before = submit(&router, &hash).await.1;
    let (batch, _) = desk.aggregate().await;
    assert!(desk.state.fail_batch(&desk.lease, batch, "its coins were spent elsewhere", now()).await.unwrap());
    let body = status(&router, &hash).await;
    assert_eq!((&body["state"], &body["reason"]), (&"failed".into(), &"its coins were spent elsewhere".into()));
    let proof = get(&router, &format!("/v1/timestamp/{}/proof", hex(&hash))).await;
    assert_problem(&proof, 409, "proof_not_ready");
    assert_eq!((&proof.body["state"], &proof.body["retryable"]), (&"failed".into(), &false.into()));
    let (code, again) = submit(&router, &hash).await;
    assert_eq!((code, &again["state"], &again["batch"]), (202, &"pending".into(), &Value::Null));
    assert_eq!(again["pending_proof_base64"], before["pending_proof_base64"]);
    assert_ne!(desk.aggregate().await.0, batch);
}

async fn digest(router: &Router, path: &str, bytes: &[u8]) -> (u16, axum::http::HeaderMap, Vec<u8>) {
    let request = Request::post(path)
        .header("accept", "application/vnd.opentimestamps.v1")
        .header("content-type", "application/x-www-form-urlencoded");
    raw(router, request.body(Body::from(bytes.to_vec())).unwrap()).await
}

async fn complete(router: &Router, path: &str, commitment: &[u8]) -> (u16, axum::http::HeaderMap, Vec<u8>) {
    let path = format!("{path}{}", hex(commitment));
    let request = Request::get(path).header("accept", "application/vnd.opentimestamps.v1");
    raw(router, request.body(Body::empty()).unwrap()).await
}

/// A client of calendars sends a digest, asks until the timestamp is complete, and puts both together.
#[tokio::test(flavor = "multi_thread")]
async fn official_clients_find_a_calendar() {
    let before = World::of(builder().into_chain());
    let desk = Desk::new().await;
    desk.report(WalletState::Ready, 0).await;
    let open = desk.router(&before, config(true, Some(CALENDAR)));
    let file = file_hash(1);
    // Digests of several lengths; clients put the path behind an address with or without a slash.
    let digests = [once(&file).to_vec(), vec![1; 20], vec![2; 64], vec![3]];
    let mut commitments = Vec::new();
    for (at, bytes) in digests.iter().enumerate() {
        let (code, headers, body) = digest(&open, ["/digest", "//digest"][at % 2], bytes).await;
        assert_eq!((code, &headers["cache-control"]), (200, &"no-store".parse().unwrap()));
        let step = Step::read(&body, bytes.len()).unwrap();
        assert_eq!(digest(&open, "/digest", bytes).await.2, body, "a known one");
        let appended = &step.branches()[0];
        let nonce = desk.state.timestamp("regtest", bytes).await.unwrap().unwrap().nonce;
        let commitment = sha256::Hash::hash(&[bytes.as_slice(), &nonce].concat()).to_byte_array();
        assert_eq!(body[..18], [&[0xf0, 16], nonce.as_slice()].concat(), "{appended:?}");
        let pending = &appended.next().branches()[0].next().attestations()[0];
        assert_eq!(*pending, Attestation::Pending { uri: CALENDAR.to_owned() });
        let (code, _, text) = complete(&open, "/timestamp/", &commitment).await;
        assert_eq!((code, text.as_slice()), (404, b"Pending confirmation in Bitcoin blockchain".as_slice()));
        commitments.push((commitment, body));
    }
    for bad in [vec![], vec![9; 65]] {
        assert_eq!(digest(&open, "/digest", &bad).await.0, 400);
    }
    assert_eq!(complete(&open, "/timestamp/", &[7; 32]).await.0, 404);
    assert_eq!(complete(&open, "/timestamp/", &[7; 31]).await.0, 404);
    assert_eq!(raw(&open, Request::get("/timestamp/xyz").body(Body::empty()).unwrap()).await.0, 400);
    assert_eq!(raw(&open, Request::get("/digest").body(Body::empty()).unwrap()).await.0, 405);

    let (batch, root) = desk.aggregate().await;
    let (chain, height, index) = anchor(&root, 6);
    desk.confirm(batch, &root, &chain, height, index).await;
    let world = World::of(chain);
    let router = desk.router(&world, config(true, Some(CALENDAR)));
    // Confirmed is not enough: clients never ask again.
    let (code, _, text) = complete(&router, "/timestamp/", &commitments[0].0).await;
    let text = String::from_utf8(text).unwrap();
    assert_eq!(code, 404);
    assert!(text.starts_with("Timestamped by transaction ") && text.len() <= 160, "{text}");
    assert!(text.chars().all(|c| c.is_ascii_alphanumeric() || "#-.,; ".contains(c)), "{text}");
    assert!(desk.state.finish_batch(&desk.lease, batch, now()).await.unwrap());
    let header = world.oracle.blocks()[height as usize].header.merkle_root.to_byte_array();
    for (at, ((commitment, _), bytes)) in commitments.iter().zip(&digests).enumerate() {
        let (code, headers, body) = complete(&router, ["/timestamp/", "//timestamp/"][at % 2], commitment).await;
        assert_eq!((code, &headers["cache-control"]), (200, &"public, max-age=31536000".parse().unwrap()));
        assert!(body.len() < 10_000, "clients read no more");
        let step = Step::read(&body, 32).unwrap();
        let proof = Proof::of_sha256(*commitment, step);
        assert_eq!(attested(&proof), [(Attestation::Bitcoin { height: height.into() }, header.to_vec())], "{bytes:?}");
    }
    // Off: there are no such paths.
    for closed in [config(false, Some(CALENDAR)), config(true, None)] {
        let closed = desk.router(&world, closed);
        assert_eq!(digest(&closed, "/digest", &[7; 32]).await.0, 404);
        assert_eq!(get(&closed, "/api/health").await.body["timestamp_calendar"], "off");
    }
    assert_eq!(get(&router, "/api/health").await.body["timestamp_calendar"], "open");
}
