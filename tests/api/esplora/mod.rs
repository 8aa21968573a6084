//! The HTTP API of Esplora over generated chains, against the naive ledger, rust-bitcoin and our own operations.

mod blocks;
mod hostile;
mod internal;
mod pool;
mod scripts;
mod sending;
mod txs;
mod watching;

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request},
};
use bitcoin::{Script, ScriptBuf, Transaction, TxIn, TxOut, Witness, absolute::LockTime, transaction::Version};
use cairn_chain::{Chain, NodeAccess};
use cairn_chaingen::Everything;
use cairn_link::IndexSource;
use cairn_model::Network;
use cairn_operations::{ApiState, other_router};
use cairn_pipeline::{NoProgress, SyncOptions};
use cairn_sources::BlockFiles;
use cairn_testkit::Oracle;
use serde_json::Value;
use tower::ServiceExt;

use crate::support::{World, hex, open_config, script_hash, write_tidy};

/// Five years, for what never changes.
const LONG: &str = "public, max-age=157784630";
/// Ten seconds, for what a block may change.
const SHORT: &str = "public, max-age=10";

/// An answer of Esplora's API.
struct Said {
    status: u16,
    headers: HeaderMap,
    bytes: Vec<u8>,
}

impl Said {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// The routes over a world, with a node if there is one.
fn esplora(world: &World, node: Option<Arc<dyn NodeAccess>>) -> Router {
    let index = Arc::clone(&world.slot) as Arc<dyn IndexSource>;
    let state = ApiState { node: node.clone(), ..ApiState::new(Arc::clone(&index), open_config()) };
    let chain = Chain::new(index, node);
    other_router(state, |api| (cairn_esplora::routes(api, chain), cairn_esplora::DIALECT))
}

async fn send(router: &Router, request: Request<Body>) -> Said {
    let response = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap().to_vec();
    Said { status: parts.status.as_u16(), headers: parts.headers, bytes }
}

async fn get(router: &Router, path: &str) -> Said {
    send(router, Request::get(path).body(Body::empty()).unwrap()).await
}

async fn post(router: &Router, path: &str, body: impl Into<Body>) -> Said {
    send(router, Request::post(path).body(body.into()).unwrap()).await
}

/// A GET that has to succeed.
async fn found(router: &Router, path: &str) -> Said {
    let said = get(router, path).await;
    assert_eq!(said.status, 200, "{path}: {}", said.text());
    said
}

async fn json(router: &Router, path: &str) -> Value {
    let said = found(router, path).await;
    assert_eq!(said.header("content-type"), "application/json", "{path}");
    said.json()
}

async fn text(router: &Router, path: &str) -> String {
    let said = found(router, path).await;
    assert_eq!(said.header("content-type"), "text/plain", "{path}");
    said.text().to_owned()
}

/// A GET that has to fail with this text.
async fn refused(router: &Router, path: &str, status: u16, text: &str) {
    let said = get(router, path).await;
    assert_eq!((said.status, said.text()), (status, text), "{path}");
    assert_eq!((said.header("content-type"), said.header("cache-control")), ("text/plain", "no-store"), "{path}");
}

/// The path of a script, by its hash.
fn by_hash(script: &Script) -> String {
    script_hash(script).replace("scripthash:", "/scripthash/")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("not a list: {value}"))
}

fn txids(txs: &Value) -> Vec<String> {
    list(txs).iter().map(|tx| tx["txid"].as_str().unwrap().to_owned()).collect()
}

/// A script in hexadecimal.
fn script(value: &Value) -> ScriptBuf {
    ScriptBuf::from_hex(value.as_str().unwrap()).unwrap()
}

/// The transaction that clients make of its JSON.
fn rebuilt(tx: &Value) -> Transaction {
    let number = |value: &Value| u32::try_from(value.as_u64().unwrap()).unwrap();
    let input = |input: &Value| {
        let items = input.get("witness").map_or(&[][..], list);
        let items: Vec<Vec<u8>> = items.iter().map(|item| script(item).into_bytes()).collect();
        TxIn {
            previous_output: format!("{}:{}", input["txid"].as_str().unwrap(), input["vout"]).parse().unwrap(),
            script_sig: script(&input["scriptsig"]),
            sequence: bitcoin::Sequence(number(&input["sequence"])),
            witness: Witness::from_slice(&items),
        }
    };
    let output = |output: &Value| TxOut {
        value: bitcoin::Amount::from_sat(output["value"].as_u64().unwrap()),
        script_pubkey: script(&output["scriptpubkey"]),
    };
    Transaction {
        version: Version(number(&tx["version"]).cast_signed()),
        lock_time: LockTime::from_consensus(number(&tx["locktime"])),
        input: list(&tx["vin"]).iter().map(input).collect(),
        output: list(&tx["vout"]).iter().map(output).collect(),
    }
}

/// A world whose chain goes on.
struct Growing {
    world: World,
    making: Everything,
}

impl Growing {
    fn new(seed: u64, blocks: u32) -> Self {
        let mut making = Everything::new(seed, 6, false);
        making.grow(blocks).unwrap();
        Growing { world: World::of(making.chain().clone()), making }
    }

    /// Replaces the newest blocks by a longer branch, and indexes it.
    fn reorganize(&mut self, depth: u32) {
        self.making.fork(depth, depth + 2).unwrap();
        write_tidy(&self.world.blocks_dir, self.making.chain());
        let files = BlockFiles::open(&self.world.blocks_dir, Network::Regtest).unwrap();
        let survey = files.survey(&|_| {}).unwrap();
        self.world.engine.lock().unwrap().sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
        let active: Vec<_> = self.making.chain().active().iter().map(|mined| mined.block.clone()).collect();
        self.world.oracle = Oracle::of(Network::Regtest, &active);
    }
}

#[tokio::test]
async fn a_reorganization_changes_every_answer() {
    let mut growing = Growing::new(91, 125);
    let router = esplora(&growing.world, None);
    let stale = growing.world.oracle.blocks()[120].block_hash();
    blocks::check_all(&growing.world, &router).await;
    growing.reorganize(9);
    assert_ne!(growing.world.oracle.blocks()[120].block_hash(), stale);
    blocks::check_all(&growing.world, &router).await;
    txs::check_from(&growing.world, &router, 110).await;
    scripts::check_all(&growing.world, &router).await;
    // A block that is no longer in the chain.
    for rest in ["", "/txids", "/header", "/raw", "/txid/0", "/txs", "/txs/25"] {
        refused(&router, &format!("/block/{stale}{rest}"), 404, "Block not found").await;
    }
    let status = json(&router, &format!("/block/{stale}/status")).await;
    assert_eq!(status, serde_json::json!({"in_best_chain": false, "height": null, "next_best": null}));
}

#[tokio::test]
async fn both_prefixes_answer_alike_and_errors_are_text() {
    let world = &crate::support::everything_world();
    let router = esplora(world, None);
    let tip = world.oracle.blocks().last().unwrap();
    for prefix in ["", "/api"] {
        assert_eq!(text(&router, &format!("{prefix}/blocks/tip/hash")).await, tip.block_hash().to_string());
        let path = format!("{prefix}/no/such/route");
        refused(&router, &path, 404, &format!("endpoint does not exist {path:?}")).await;
        let header = text(&router, &format!("{prefix}/block/{}/header", tip.block_hash())).await;
        assert_eq!(header, hex(&bitcoin::consensus::serialize(&tip.header)));
        let path = format!("{prefix}{}", by_hash(&tip.txdata[0].output[0].script_pubkey));
        assert!(json(&router, &path).await["scripthash"].is_string());
    }
    // Pages of other sites may send packages.
    let options = Request::builder().method("OPTIONS").uri("/txs/package").body(Body::empty()).unwrap();
    let said = send(&router, options).await;
    assert_eq!((said.status, said.header("access-control-allow-origin")), (204, "*"));
    assert!(said.header("access-control-allow-methods").contains("POST"));
}
