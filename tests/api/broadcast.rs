//! Transactions that are sent, and bytes that only a node has: with a node that says what the test wants.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use axum::{Router, body::Body, http::Request};
use bitcoin::{ScriptBuf, Transaction, consensus::serialize, hashes::Hash};
use cairn_link::MempoolSlot;
use cairn_model::{BlockHash, MempoolDelta, Txid};
use cairn_operations::{ApiState, BroadcastLimits, NodeAccess, Question, Refused, Unreachable, router};
use serde_json::{Value, json};

use crate::{
    support::{Reply, World, assert_problem, assert_valid, everything_world, get, hex, open_config, post, send},
    unconfirmed::Waiting,
};

pub const BROADCAST: &str = "/v1/tx/broadcast";

/// The bytes of a transaction that a node has in a block or in its mempool.
type Bytes = Result<Option<Vec<u8>>, Unreachable>;

/// A node with scripted answers; it accepts transactions that it has no answer for.
pub struct Scripted {
    answers: Mutex<VecDeque<Result<Txid, Refused>>>,
    sent: Mutex<Vec<Vec<u8>>>,
    /// The limits of the last broadcast.
    pub limits: Mutex<BroadcastLimits>,
    /// Transactions that it was asked about without sending them.
    checked: Mutex<Vec<Vec<u8>>>,
    raw: Mutex<HashMap<(Txid, Option<BlockHash>), Bytes>>,
    fetched: Mutex<usize>,
    /// The mempool of the index that asks.
    slot: Arc<MempoolSlot>,
}

impl Scripted {
    pub fn new(world: &World) -> Arc<Self> {
        Arc::new(Scripted {
            answers: Mutex::default(),
            sent: Mutex::default(),
            limits: Mutex::default(),
            checked: Mutex::default(),
            raw: Mutex::default(),
            fetched: Mutex::default(),
            slot: world.slot.pool(),
        })
    }

    pub fn refuses(&self, code: i64, reason: &str) {
        self.answers.lock().unwrap().push_back(Err(Refused::Rejected { code, reason: reason.to_owned() }));
    }

    pub fn answers(&self, answer: Result<Txid, Refused>) {
        self.answers.lock().unwrap().push_back(answer);
    }

    /// Transactions that it was asked about.
    pub fn checked(&self) -> Vec<Vec<u8>> {
        self.checked.lock().unwrap().clone()
    }

    pub fn calls(&self) -> usize {
        self.sent.lock().unwrap().len()
    }

    /// While a node is asked, which may take long, the mempool goes on changing: nobody holds it.
    fn the_mempool_is_free(&self) {
        let (done, told) = mpsc::channel();
        let slot = Arc::clone(&self.slot);
        std::thread::spawn(move || {
            slot.apply(&[MempoolDelta::NodeFloor(crate::unconfirmed::FLOOR)]);
            let _ = done.send(());
        });
        told.recv_timeout(Duration::from_secs(5)).expect("the mempool is held while the node is asked");
    }
}

impl NodeAccess for Scripted {
    fn broadcast(&self, raw: &[u8], limits: BroadcastLimits) -> Result<Txid, Refused> {
        self.the_mempool_is_free();
        self.sent.lock().unwrap().push(raw.to_vec());
        *self.limits.lock().unwrap() = limits;
        let tx: Transaction = bitcoin::consensus::deserialize(raw).unwrap();
        let accepted = Ok(Txid(tx.compute_txid().to_byte_array()));
        self.answers.lock().unwrap().pop_front().unwrap_or(accepted)
    }

    fn check(&self, raw: &[u8], limits: BroadcastLimits) -> Result<(), Refused> {
        self.the_mempool_is_free();
        self.checked.lock().unwrap().push(raw.to_vec());
        *self.limits.lock().unwrap() = limits;
        self.answers.lock().unwrap().pop_front().map_or(Ok(()), |answer| answer.map(drop))
    }

    fn raw_transaction(&self, txid: &Txid, block: Option<&BlockHash>) -> Bytes {
        self.the_mempool_is_free();
        *self.fetched.lock().unwrap() += 1;
        self.raw.lock().unwrap().get(&(*txid, block.copied())).cloned().unwrap_or(Ok(None))
    }

    fn raw_block(&self, _: &BlockHash) -> Result<Option<Vec<u8>>, Unreachable> {
        Err(Unreachable)
    }

    fn ask(&self, _: &Question) -> Result<Value, Refused> {
        Err(Refused::Unavailable)
    }
}

pub fn with_node(world: &World, node: &Arc<Scripted>) -> Router {
    let state = ApiState::new(Arc::clone(&world.slot) as Arc<_>, open_config());
    router(ApiState { node: Some(Arc::clone(node) as Arc<_>), ..state })
}

async fn submit(router: &Router, tx: &Transaction) -> Reply {
    let reply = post(router, BROADCAST, &json!({"tx_hex": hex(&serialize(tx))})).await;
    if reply.status == 200 {
        assert_valid(BROADCAST, &reply.body);
        assert_eq!(reply.body["txid"], tx.compute_txid().to_string());
        assert_eq!(reply.body["wtxid"], tx.compute_wtxid().to_string());
        assert_eq!(reply.body["vsize"], tx.vsize());
        assert_eq!(reply.body["weight"], tx.weight().to_wu());
        assert_eq!((reply.header("cache-control"), reply.header("etag")), ("no-store", ""));
    }
    reply
}

pub async fn submit_as(router: &Router, kind: &str, body: impl Into<Body>) -> Reply {
    send(router, Request::post(BROADCAST).header("content-type", kind).body(body.into()).unwrap()).await
}

/// A transaction that nobody has seen.
pub fn fresh(waiting: &mut Waiting<'_>, pays: u64) -> Transaction {
    let coin = waiting.coins(1_000_000).next().unwrap();
    waiting.make(&[coin], &[(ScriptBuf::from_bytes(vec![0x51]), pays)], 1_000);
    waiting.made.last().unwrap().0.clone()
}

#[tokio::test]
async fn a_new_transaction_is_handed_over_as_it_is() {
    let world = &everything_world();
    let node = Scripted::new(world);
    let router = with_node(world, &node);
    let mut waiting = Waiting::at_tip(world);
    let tx = fresh(&mut waiting, 5_000);
    let reply = submit(&router, &tx).await;
    assert_eq!((reply.status, &reply.body["state"]), (200, &"accepted".into()), "{}", reply.text);
    assert_eq!((&reply.body["confirmations"], &reply.body["block"]), (&0.into(), &Value::Null));
    assert_eq!(*node.sent.lock().unwrap(), [serialize(&tx)]);
    // As text, as programs send it: with a charset, a line's end, in capitals.
    for (kind, body) in [
        ("text/plain", hex(&serialize(&tx))),
        ("text/plain; charset=utf-8", format!("{}\r\n", hex(&serialize(&tx)))),
        ("TEXT/PLAIN", hex(&serialize(&tx)).to_uppercase()),
    ] {
        let reply = submit_as(&router, kind, body).await;
        assert_eq!((reply.status, &reply.body["state"]), (200, &"accepted".into()), "{}", reply.text);
        assert_eq!(node.sent.lock().unwrap().last().unwrap(), &serialize(&tx));
    }
    assert_eq!(node.calls(), 4);
}

#[tokio::test]
async fn resending_is_a_success() {
    let world = &everything_world();
    let node = Scripted::new(world);
    let router = with_node(world, &node);
    let mut waiting = Waiting::at_tip(world);
    // Every transaction of the newest blocks but their coinbases.
    let tip = world.oracle.blocks().len() - 1;
    for height in tip - 20..=tip {
        for tx in &world.oracle.blocks()[height].txdata[1..] {
            let reply = submit(&router, tx).await;
            assert_eq!((reply.status, &reply.body["state"]), (200, &"already_confirmed".into()), "{}", reply.text);
            assert_eq!(reply.body["confirmations"], tip + 1 - height);
            assert_eq!(reply.body["block"]["height"], height);
        }
    }
    let coin = waiting.coins(1_000_000).next().unwrap();
    let entry = waiting.send(&[coin], &[], 1_000);
    let tx = waiting.made.last().unwrap().0.clone();
    let reply = submit(&router, &tx).await;
    assert_eq!((reply.status, &reply.body["state"]), (200, &"already_in_mempool".into()), "{}", reply.text);
    assert!(reply.body["mempool_first_seen"].is_string() && reply.body["_meta"]["warnings"] == json!([]));
    // The same with another witness: the known one counts, and the answer says so.
    let mut other = tx.clone();
    other.input[0].witness.push([1, 2, 3]);
    let reply = submit(&router, &other).await;
    assert_eq!((reply.status, &reply.body["state"]), (200, &"already_in_mempool".into()));
    assert_eq!(reply.body["_meta"]["warnings"][0]["code"], "other_witness");
    assert_eq!(node.calls(), 0);
    // Without a node, what is known is known all the same.
    assert_eq!(submit(&world.open_router(), &tx).await.status, 200);
    drop(entry);

    // States that only the node knows.
    let tx = fresh(&mut waiting, 7_000);
    for (code, reason, state) in [
        (-27, "Transaction outputs already in utxo set", "already_confirmed"),
        (-27, "Transaction already in block chain", "already_confirmed"),
        (-26, "txn-already-known", "already_confirmed"),
        (-26, "txn-already-in-mempool", "already_in_mempool"),
        (-26, "txn-same-nonwitness-data-in-mempool", "already_in_mempool"),
    ] {
        node.refuses(code, reason);
        let reply = submit(&router, &tx).await;
        assert_eq!((reply.status, &reply.body["state"]), (200, &state.into()), "{reason}: {}", reply.text);
        let deep = if state == "already_confirmed" { Value::Null } else { 0.into() };
        assert_eq!((&reply.body["confirmations"], &reply.body["block"]), (&deep, &Value::Null));
        let warned = reply.body["_meta"]["warnings"].as_array().unwrap().len();
        assert_eq!(warned, usize::from(reason.contains("nonwitness")));
    }
    assert_eq!(node.calls(), 5);
}

/// Refusals of nodes of the versions 25 to 31, and the state that follows.
const REFUSALS: &[(i64, &str, &str, bool)] = &[
    (-26, "min relay fee not met, 0 < 110", "insufficient_fee", false),
    (-26, "mempool min fee not met, 110 < 1200", "insufficient_fee", true),
    (-26, "mempool full", "insufficient_fee", true),
    (
        -26,
        "insufficient fee, rejecting replacement ab, less fees than conflicting txs; 0.1 < 0.2",
        "insufficient_fee",
        false,
    ),
    (-26, "insufficient fee (including sibling eviction), rejecting replacement", "insufficient_fee", false),
    (-26, "replacement-failed, insufficient feerate: does not improve feerate diagram", "insufficient_fee", false),
    (-25, "bad-txns-inputs-missingorspent", "missing_inputs", true),
    (-25, "Inputs missing or spent", "missing_inputs", true),
    (-25, "Missing inputs", "missing_inputs", true),
    (-26, "txn-mempool-conflict", "conflict", false),
    (-26, "bad-txns-spends-conflicting-tx, ab spends conflicting transaction cd", "conflict", false),
    (-26, "too many potential replacements, rejecting replacement ab", "conflict", false),
    (-26, "replacement-adds-unconfirmed, replacement ab adds unconfirmed input, idx 0", "conflict", false),
    (-26, "bip125-replacement-disallowed", "conflict", false),
    (-26, "scriptpubkey", "non_standard", false),
    (-26, "dust", "non_standard", false),
    (-26, "dust, tx with dust output must be 0-fee", "non_standard", false),
    (-26, "version", "non_standard", false),
    (-26, "tx-size", "non_standard", false),
    (-26, "tx-size-small", "non_standard", false),
    (-26, "datacarrier", "non_standard", false),
    (-26, "multi-op-return", "non_standard", false),
    (-26, "bare-multisig", "non_standard", false),
    (-26, "scriptsig-size", "non_standard", false),
    (-26, "scriptsig-not-pushonly", "non_standard", false),
    (-26, "bad-txns-nonstandard-inputs, input 0 script unknown", "non_standard", false),
    (-26, "bad-witness-nonstandard", "non_standard", false),
    (-26, "bad-txns-too-many-sigops, 30000", "non_standard", false),
    (-26, "TRUC-violation, version=3 tx ab is too big", "non_standard", false),
    (-26, "missing-ephemeral-spends, tx ab did not spend parent's ephemeral dust", "non_standard", false),
    (
        -26,
        "mandatory-script-verify-flag-failed (Signature must be zero for failed CHECK(MULTI)SIG operation)",
        "script_failed",
        false,
    ),
    (-26, "non-mandatory-script-verify-flag (Witness program hash mismatch)", "script_failed", false),
    (-26, "mempool-script-verify-flag-failed (Witness program hash mismatch), input 0", "script_failed", false),
    (-26, "block-script-verify-flag-failed (Operation not valid with the current stack size)", "script_failed", false),
    (-26, "non-final", "non_final", true),
    (-26, "non-BIP68-final", "non_final", true),
    (-26, "bad-txns-premature-spend-of-coinbase, tried to spend coinbase at depth 3", "non_final", true),
    (-26, "too-long-mempool-chain, too many unconfirmed ancestors [limit: 25]", "too_long_mempool_chain", true),
    (-26, "too-large-cluster", "too_long_mempool_chain", true),
    (-25, "Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)", "max_fee_exceeded", false),
    (-26, "absurdly-high-fee", "max_fee_exceeded", false),
    (-25, "Unspendable output exceeds maximum configured by user (maxburnamount)", "max_burn_exceeded", false),
    (-22, "TX decode failed. Make sure the tx has at least one input.", "invalid_transaction", false),
    (-26, "bad-txns-in-belowout, value in (0.1) < value out (0.2)", "invalid_transaction", false),
    (-26, "bad-txns-vout-negative", "invalid_transaction", false),
    (-26, "coinbase", "invalid_transaction", false),
    (-26, "something new of a later version", "invalid_transaction", false),
];

#[tokio::test]
async fn refusals_have_stable_codes() {
    let world = &everything_world();
    let node = Scripted::new(world);
    let router = with_node(world, &node);
    let mut waiting = Waiting::at_tip(world);
    let tx = fresh(&mut waiting, 5_000);
    let listed = crate::support::DOCUMENT["paths"][BROADCAST]["post"]["responses"]["400"]["description"].to_string();
    let described = crate::support::DOCUMENT["components"]["schemas"]["Problem"]["properties"].as_object().unwrap();
    for (code, reason, expected, retryable) in REFUSALS {
        node.refuses(*code, reason);
        let reply = submit(&router, &tx).await;
        assert_problem(&reply, 400, expected);
        assert_eq!((&reply.body["reject_reason"], &reply.body["retryable"]), (&(*reason).into(), &(*retryable).into()));
        assert_eq!(reply.header("retry-after"), "");
        assert!(listed.contains(expected), "{expected} is not described");
        assert!(reply.body.as_object().unwrap().keys().all(|key| described.contains_key(key)), "{}", reply.text);
        assert_eq!(reply.body["limit"].is_object(), expected.starts_with("max_"), "{}", reply.text);
    }
    assert_eq!(node.calls(), REFUSALS.len());
    // A node's words are bounded, and nothing in them can harm a terminal or a page.
    node.refuses(-26, &format!("dust\u{1b}[2J\u{202e}<b>\n{}", "x".repeat(100_000)));
    let reply = submit(&router, &tx).await;
    let shown = reply.body["reject_reason"].as_str().unwrap();
    assert!(shown.starts_with("dust?[2J?<b>?xx") && shown.len() == 300, "{shown}");
}

#[tokio::test]
async fn a_node_that_cannot_be_asked() {
    let world = &everything_world();
    let node = Scripted::new(world);
    let router = with_node(world, &node);
    let mut waiting = Waiting::at_tip(world);
    let tx = fresh(&mut waiting, 5_000);
    node.answers.lock().unwrap().push_back(Err(Refused::Unavailable));
    node.refuses(-28, "Loading block index");
    node.refuses(-25, "Mempool internal error");
    for _ in 0..3 {
        let reply = submit(&router, &tx).await;
        assert_problem(&reply, 503, "node_unavailable");
        assert_eq!((reply.header("retry-after"), &reply.body["retryable"]), ("5", &true.into()));
    }
    // A node that takes it under another name is broken; the answer is not a success.
    node.answers.lock().unwrap().push_back(Ok(Txid([7; 32])));
    assert_problem(&submit(&router, &tx).await, 500, "internal_error");
    let reply = submit(&world.open_router(), &tx).await;
    assert_problem(&reply, 503, "node_unavailable");
    assert_eq!((reply.header("retry-after"), &reply.body["retryable"]), ("", &false.into()));
}

#[tokio::test]
async fn what_is_no_transaction_never_reaches_the_node() {
    let world = &everything_world();
    let node = Scripted::new(world);
    let router = with_node(world, &node);
    let mut waiting = Waiting::at_tip(world);
    let tx = fresh(&mut waiting, 5_000);
    let good = hex(&serialize(&tx));
    let coinbase = hex(&serialize(&world.oracle.blocks()[1].txdata[0]));
    // The largest that nodes relay, and a byte more: each weighs four times as much.
    let mut heavy = tx.clone();
    heavy.output[0].script_pubkey = ScriptBuf::from_bytes(vec![0x6a; 90_000]);
    let room = (400_000 - heavy.weight().to_wu()) as usize / 4;
    heavy.output[0].script_pubkey = ScriptBuf::from_bytes(vec![0x6a; 90_000 + room]);
    assert_eq!((submit(&router, &heavy).await.status, node.calls()), (200, 1));
    heavy.output[0].script_pubkey = ScriptBuf::from_bytes(vec![0x6a; 90_001 + room]);
    let none = Transaction { output: Vec::new(), ..tx.clone() };
    for bad in [
        String::new(),
        " ".to_owned(),
        "zz".to_owned(),
        format!("0x{good}"),
        good[1..].to_owned(),
        format!("{good}00"),
        format!("{good}{good}"),
        good[..good.len() - 2].to_owned(),
        good.replacen("02", "é", 1),
        hex(&serialize(&heavy)),
        hex(&serialize(&none)),
        "00".repeat(450_000),
        "020000000001000000000000".to_owned(),
        coinbase,
    ] {
        for reply in [
            post(&router, BROADCAST, &json!({"tx_hex": bad})).await,
            submit_as(&router, "text/plain", bad.clone()).await,
        ] {
            assert_problem(&reply, 400, "invalid_transaction");
            assert_eq!(
                (&reply.body["errors"][0]["in"], &reply.body["errors"][0]["name"]),
                (&"body".into(), &"tx_hex".into())
            );
            assert!(reply.text.len() < 2_000);
        }
    }
    assert_problem(&submit_as(&router, "text/plain", vec![0xff, 0xfe]).await, 400, "invalid_transaction");
    for (body, status, code) in [
        ("{}".to_owned(), 422, "validation_error"),
        ("{\"tx_hex\":5}".to_owned(), 422, "validation_error"),
        ("{\"tx_hex\":null}".to_owned(), 422, "validation_error"),
        (format!("{{\"tx_hex\":\"{good}\",\"tx_hex\":\"{good}\"}}"), 400, "malformed_json"),
        (format!("\"{good}\""), 422, "validation_error"),
        (format!("[\"{good}\"]"), 422, "validation_error"),
        (good.clone(), 400, "malformed_json"),
    ] {
        assert_problem(&submit_as(&router, "application/json", body).await, status, code);
    }
    for kind in ["", "application/x-www-form-urlencoded", "application/octet-stream"] {
        assert_problem(&submit_as(&router, kind, good.clone()).await, 415, "unsupported_media_type");
    }
    assert_problem(&submit_as(&router, "text/plain", "0".repeat(2_000_000)).await, 413, "payload_too_large");
    assert_eq!(node.calls(), 1);
    let content = &crate::support::DOCUMENT["paths"][BROADCAST]["post"]["requestBody"]["content"];
    assert_eq!(content["text/plain"]["schema"]["type"], "string");
}

#[tokio::test]
async fn sending_works_while_there_is_no_index() {
    let world = &everything_world();
    let node = Scripted::new(world);
    let mut waiting = Waiting::at_tip(world);
    let tx = fresh(&mut waiting, 5_000);
    let state = ApiState::new(Arc::new(cairn_link::IndexSlot::new()), open_config());
    let router = router(ApiState { node: Some(Arc::clone(&node) as Arc<_>), ..state });
    let reply = submit(&router, &tx).await;
    assert_eq!((reply.status, &reply.body["state"]), (200, &"accepted".into()), "{}", reply.text);
    assert_eq!(reply.body["_meta"]["tip"], Value::Null);
}

#[tokio::test]
async fn raw_bytes_come_from_the_node_where_no_block_files_are() {
    let world = &everything_world();
    let node = Scripted::new(world);
    let router = with_node(world, &node);
    let waiting = Waiting::at_tip(world);
    let block = &world.oracle.blocks()[120];
    let hash = BlockHash(block.block_hash().to_byte_array());
    let tx = block.txdata.last().unwrap();
    let txid = Txid(tx.compute_txid().to_byte_array());
    let path = format!("/v1/tx/{txid}?include_hex=true");
    let fetched = || std::mem::take(&mut *node.fetched.lock().unwrap());
    // Block files are enough.
    assert_eq!(get(&router, &path).await.body["hex"], hex(&serialize(tx)));
    assert_eq!(fetched(), 0);
    std::fs::remove_file(world.blocks_dir.join("blk00000.dat")).unwrap();
    // The node does not have it, cannot be asked, or gives another: null with a reason, and nothing to be kept.
    let other = serialize(&block.txdata[0]);
    for wrong in [Ok(None), Err(Unreachable), Ok(Some(other)), Ok(Some(vec![0; 9])), Ok(Some(Vec::new()))] {
        node.raw.lock().unwrap().insert((txid, Some(hash)), wrong);
        let reply = get(&router, &path).await;
        assert_eq!((reply.status, &reply.body["hex"]), (200, &Value::Null), "{}", reply.text);
        assert!(reply.body["raw_reason"].as_str().unwrap().contains("node"));
        assert_eq!((reply.header("etag"), reply.header("cache-control"), fetched()), ("", "no-store", 1));
    }
    node.raw.lock().unwrap().insert((txid, Some(hash)), Ok(Some(serialize(tx))));
    let reply = get(&router, &path).await;
    assert_eq!((&reply.body["hex"], &reply.body["raw_reason"]), (&hex(&serialize(tx)).into(), &Value::Null));
    assert_eq!((&reply.body["wtxid"], fetched()), (&tx.compute_wtxid().to_string().into(), 1));
    // A client that has it gets 304 without a request to the node.
    let request = Request::get(&path).header("if-none-match", reply.header("etag"));
    assert_eq!(send(&router, request.body(Body::empty()).unwrap()).await.status, 304);
    assert_eq!(fetched(), 0);
    let op_return = get(&router, &format!("/v1/tx/{txid}/op-return")).await;
    assert!(op_return.body["inscriptions"].is_array(), "{}", op_return.text);
    assert_eq!(fetched(), 1);
    drop(waiting);
}
