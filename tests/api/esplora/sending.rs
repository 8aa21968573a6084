//! Questions to the node: transactions to send or to test, feerates, and bytes of blocks and transactions.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use bitcoin::{ScriptBuf, consensus::serialize, hashes::Hash};
use cairn_chain::{BroadcastLimits, Chain, NodeAccess, Question, Refused, Unreachable};
use cairn_link::IndexSource;
use cairn_model::{BlockHash, MempoolDelta, MempoolTx, Txid};
use cairn_operations::{ApiState, other_router};
use serde_json::{Value, json as value};

use super::{esplora, found, get, json, post, refused, send, text};
use crate::{
    support::{World, everything_world, hex, open_config},
    unconfirmed::{Waiting, output},
};

/// A node that says what a test wants.
#[derive(Default)]
struct Scripted {
    /// Answers to broadcasts; it accepts what it has no answer for.
    verdict: Mutex<Option<Refused>>,
    /// The answer to every question. Without it, the parameters of a question are its answer.
    answer: Mutex<Option<Result<Value, Refused>>>,
    /// Methods that it was asked.
    asked: Mutex<Vec<(&'static str, Value)>>,
    blocks: Mutex<HashMap<BlockHash, Vec<u8>>>,
    txs: Mutex<HashMap<Txid, Vec<u8>>>,
}

impl NodeAccess for Scripted {
    fn broadcast(&self, raw: &[u8], limits: BroadcastLimits) -> Result<Txid, Refused> {
        assert_eq!(limits, BroadcastLimits::default());
        self.asked.lock().unwrap().push(("sendrawtransaction", hex(raw).into()));
        let tx: bitcoin::Transaction = bitcoin::consensus::deserialize(raw).unwrap();
        let accepted = Txid(tx.compute_txid().to_byte_array());
        self.verdict.lock().unwrap().clone().map_or(Ok(accepted), Err)
    }

    fn check(&self, _: &[u8], _: BroadcastLimits) -> Result<(), Refused> {
        Err(Refused::Unavailable)
    }

    fn raw_transaction(&self, txid: &Txid, _: Option<&BlockHash>) -> Result<Option<Vec<u8>>, Unreachable> {
        Ok(self.txs.lock().unwrap().get(txid).cloned())
    }

    fn raw_block(&self, hash: &BlockHash) -> Result<Option<Vec<u8>>, Unreachable> {
        Ok(self.blocks.lock().unwrap().get(hash).cloned())
    }

    fn ask(&self, question: &Question) -> Result<Value, Refused> {
        self.asked.lock().unwrap().push((question.method(), question.params()));
        self.answer.lock().unwrap().clone().unwrap_or(Ok(question.params()))
    }
}

impl Scripted {
    fn count(&self, method: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|(asked, _)| *asked == method).count()
    }
}

fn with_node(world: &World) -> (Arc<Scripted>, axum::Router) {
    let node = Arc::new(Scripted::default());
    let router = esplora(world, Some(Arc::clone(&node) as Arc<_>));
    (node, router)
}

#[tokio::test]
async fn transactions_are_handed_over_and_refusals_passed_on() {
    let world = &everything_world();
    let (node, router) = with_node(world);
    let mut pool = Waiting::at_tip(world);
    let coin = pool.coins(1_000_000).next().unwrap();
    pool.send(&[coin], &[(ScriptBuf::from_bytes(vec![0x51]), 5_000)], 1_000);
    let tx = pool.made[0].0.clone();
    let (txid, digits) = (tx.compute_txid().to_string(), hex(&serialize(&tx)));
    for body in [digits.clone(), format!("{digits}\n"), digits.to_uppercase()] {
        let said = post(&router, "/tx", body).await;
        assert_eq!((said.status, said.text(), said.header("cache-control")), (200, &*txid, "public, max-age=0"));
        assert_eq!(node.asked.lock().unwrap().last().unwrap(), &("sendrawtransaction", value!(digits)));
    }
    assert_eq!(text(&router, &format!("/broadcast?tx={digits}")).await, txid);
    assert_eq!(post(&router, "/api/tx", digits.clone()).await.text(), txid);
    refused(&router, "/broadcast", 400, "Missing tx").await;
    // Clients look for the code.
    *node.verdict.lock().unwrap() =
        Some(Refused::Rejected { code: -27, reason: "Transaction outputs already in utxo set".to_owned() });
    let expected = r#"sendrawtransaction RPC error: {"code":-27,"message":"Transaction outputs already in utxo set"}"#;
    let said = post(&router, "/tx", digits.clone()).await;
    assert_eq!((said.status, said.text()), (400, expected));
    // Anything but a transaction does not reach the node.
    let asked = node.asked.lock().unwrap().len();
    for body in ["", "xyz", "00", &digits[2..], &format!("{digits}00"), "é"] {
        let said = post(&router, "/tx", body.to_owned()).await;
        assert_eq!(said.status, 400);
        assert!(said.text().starts_with(r#"sendrawtransaction RPC error: {"code":-22,"#), "{}", said.text());
    }
    assert_eq!(node.asked.lock().unwrap().len(), asked);
    *node.verdict.lock().unwrap() = Some(Refused::Unavailable);
    assert_eq!(post(&router, "/tx", digits.clone()).await.status, 503);
    // Without a node nothing can be sent.
    assert_eq!(post(&esplora(world, None), "/tx", digits).await.status, 503);
}

#[tokio::test]
async fn packages_and_tests_get_the_nodes_own_answer() {
    let world = &everything_world();
    let (node, router) = with_node(world);
    let digits = "00".repeat(70);
    let body = value!([digits, digits]).to_string();
    let post = |path: &'static str, body: String| {
        let (router, request) = (router.clone(), axum::http::Request::post(path));
        let request = request.header("content-type", "application/json").body(body.into()).unwrap();
        async move { send(&router, request).await }
    };
    let said = post("/txs/package?maxfeerate=0.1&maxburnamount=0.5", body.clone()).await;
    assert_eq!(said.json(), value!([[digits, digits], "0.10000000", "0.50000000"]));
    assert_eq!(post("/txs/test", body.clone()).await.json(), value!([[digits, digits], null]));
    *node.answer.lock().unwrap() =
        Some(Err(Refused::Rejected { code: -25, reason: "package topology disallowed".to_owned() }));
    let said = post("/txs/package", body.clone()).await;
    let expected = r#"submitpackage RPC error: {"code":-25,"message":"package topology disallowed"}"#;
    assert_eq!((said.status, said.text()), (400, expected));
    *node.answer.lock().unwrap() = Some(Err(Refused::Unavailable));
    assert_eq!(post("/txs/test", body.clone()).await.status, 503);
    let asked = node.asked.lock().unwrap().len();
    for (path, body, expected) in [
        ("/txs/package", value!(vec![digits.clone(); 26]).to_string(), "Exceeded maximum of 25 transactions"),
        ("/txs/test", value!(["00"]).to_string(), "Invalid transaction size for item 0"),
        ("/txs/test", value!([digits, "zz".repeat(70)]).to_string(), "Invalid transaction hex for item 1"),
        ("/txs/test?maxfeerate=much", body.clone(), "Invalid maxfeerate"),
        ("/txs/package?maxburnamount=-1", body, "Invalid maxburnamount"),
    ] {
        let said = post(path, body).await;
        assert_eq!((said.status, said.text()), (400, expected));
    }
    assert_eq!(post("/txs/package", "{".to_owned()).await.status, 400);
    assert_eq!(node.asked.lock().unwrap().len(), asked);
}

#[tokio::test]
async fn an_answer_waits_until_the_mempool_has_the_package() {
    let world = &everything_world();
    let (node, router) = with_node(world);
    let mut pool = Waiting::at_tip(world);
    let coin = pool.coins(1_000_000).next().unwrap();
    let parent = pool.make(&[coin], &[], 1_000);
    let child = pool.make(&[output(&parent, 0)], &[], 1_000);
    let raws: Vec<String> = pool.made.iter().map(|(tx, _)| hex(&serialize(tx))).collect();
    let result = |tx: &MempoolTx| (tx.wtxid.to_string(), value!({"txid": tx.txid.to_string(), "vsize": 110}));
    let results: serde_json::Map<_, _> = [result(&parent), result(&child)].into_iter().collect();
    *node.answer.lock().unwrap() = Some(Ok(value!({"package_msg": "success", "tx-results": results})));
    let asking = async {
        let said = post(&router, "/txs/package", value!(raws).to_string()).await;
        assert_eq!(said.status, 200, "{}", said.text());
        for tx in [&parent, &child] {
            let listed = json(&router, &format!("/tx/{}", tx.txid)).await;
            assert_eq!(listed["status"]["confirmed"], false);
        }
    };
    // The node has both, and only then does the mempool hear of them, one after the other.
    let entering = async {
        while node.count("submitpackage") == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for tx in [&parent, &child] {
            tokio::time::sleep(Duration::from_millis(100)).await;
            pool.tell(vec![MempoolDelta::Add(Arc::clone(tx))]);
        }
    };
    tokio::join!(asking, entering);
}

#[tokio::test]
async fn the_nodes_estimates_are_kept() {
    let world = &everything_world();
    let (node, router) = with_node(world);
    // A node that knows too little.
    *node.answer.lock().unwrap() = Some(Ok(value!({"errors": ["Insufficient data or no feerate found"], "blocks": 2})));
    assert_eq!(json(&router, "/fee-estimates").await, value!({}));
    assert_eq!(json(&router, "/api/fee-estimates").await, value!({}));
    assert_eq!(node.count("estimatesmartfee"), 28);
    let (node, router) = with_node(world);
    *node.answer.lock().unwrap() = Some(Ok(value!({"feerate": 0.00012, "blocks": 2})));
    let estimates = json(&router, "/fee-estimates").await;
    let estimates = estimates.as_object().unwrap();
    assert_eq!(estimates.len(), 28);
    assert!(estimates.values().all(|rate| (rate.as_f64().unwrap() - 12.0).abs() < 1e-9));
    assert_eq!(estimates.keys().next_back().unwrap(), "1008");
    // While it cannot be reached, there is nothing to say.
    let (node, router) = with_node(world);
    *node.answer.lock().unwrap() = Some(Err(Refused::Unavailable));
    assert_eq!(json(&router, "/fee-estimates").await, value!({}));
}

#[tokio::test]
async fn bytes_come_from_the_node_if_there_are_no_block_files() {
    let world = &everything_world();
    let (node, router) = with_node(world);
    for file in std::fs::read_dir(&world.blocks_dir).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    let blocks = world.oracle.blocks();
    let block = blocks.iter().max_by_key(|block| block.txdata.len()).unwrap();
    let (hash, raw) = (block.block_hash(), serialize(block));
    let path = format!("/block/{hash}/raw");
    assert_eq!(get(&router, &path).await.status, 503);
    let page = format!("/block/{hash}/txs");
    assert_eq!(get(&router, &page).await.status, 503);
    node.blocks.lock().unwrap().insert(BlockHash(hash.to_byte_array()), serialize(&blocks[0]));
    assert_eq!(get(&router, &path).await.status, 503, "another block");
    node.blocks.lock().unwrap().insert(BlockHash(hash.to_byte_array()), raw.clone());
    assert_eq!(found(&router, &path).await.bytes, raw);
    for tx in &block.txdata {
        node.txs.lock().unwrap().insert(Txid(tx.compute_txid().to_byte_array()), serialize(tx));
    }
    let expected: Vec<String> = block.txdata.iter().take(25).map(|tx| tx.compute_txid().to_string()).collect();
    assert_eq!(super::txids(&json(&router, &page).await), expected);
}

#[tokio::test]
async fn whole_blocks_come_from_the_node_at_once() {
    let world = &everything_world();
    let node = Arc::new(Scripted::default());
    let index = Arc::clone(&world.slot) as Arc<dyn IndexSource>;
    let (chain, state) =
        (Chain::new(Arc::clone(&index), Some(Arc::clone(&node) as Arc<_>)), ApiState::new(index, open_config()));
    let routes = |api: &cairn_http::Api| (cairn_esplora::internal_routes(api, chain), cairn_esplora::DIALECT);
    let router = other_router(state, routes);
    for file in std::fs::read_dir(&world.blocks_dir).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    let blocks = world.oracle.blocks();
    let block = blocks.iter().max_by_key(|block| block.txdata.len()).unwrap();
    // The node does not give a coinbase of the genesis block by its id. Other transactions are not given one by one.
    for block in [&blocks[0], block] {
        let hash = block.block_hash();
        let (whole, first) =
            (format!("/internal/block/{hash}/txs"), format!("/tx/{}/hex", block.txdata[0].compute_txid()));
        assert_eq!(get(&router, &whole).await.status, 503);
        node.blocks.lock().unwrap().insert(BlockHash(hash.to_byte_array()), serialize(block));
        let expected: Vec<String> = block.txdata.iter().map(|tx| tx.compute_txid().to_string()).collect();
        assert_eq!(super::txids(&json(&router, &whole).await), expected);
        assert_eq!(text(&router, &first).await, hex(&serialize(&block.txdata[0])));
    }
    assert!(block.txdata.len() > 60, "{}", block.txdata.len());
}
