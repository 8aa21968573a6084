//! Each method in both forms, its errors, and the negotiation of versions.

use std::sync::Arc;

use bitcoin::{consensus::serialize, hashes::Hash};
use cairn_chain::{Question, branch, root};
use cairn_electrum::Options;
use cairn_model::{BlockHash, Txid};
use serde_json::{Value, json};

use super::{Scripted, Server, scripts::unlimited};
use crate::{
    support::{World, everything_world},
    unconfirmed::Waiting,
};

/// The header at a height, in hexadecimal digits.
fn header(world: &World, height: usize) -> String {
    hex::encode(serialize(&world.oracle.blocks()[height].header))
}

/// Branch and root over the first headers.
fn proof(world: &World, height: usize, count: usize) -> (Vec<String>, String) {
    let blocks = &world.oracle.blocks()[..count];
    let leaves: Vec<[u8; 32]> = blocks.iter().map(|block| block.block_hash().to_byte_array()).collect();
    let written = |hash: [u8; 32]| BlockHash(hash).to_string();
    (branch(&leaves, height).into_iter().map(written).collect(), written(root(&leaves).unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_negotiated() {
    let world = &everything_world();
    let server = Server::new(world).await;
    for (asked, agreed) in [
        (json!(["c", "1.4"]), "1.4"),
        (json!(["c", ["1.1", "1.4.2"]]), "1.4.2"),
        (json!(["c", ["1.4", "1.6"], "trailing_garbage1", 9999.9, {"dd": {}}]), "1.6"),
        (json!(["c", ["1.4", "99.0"]]), "1.6"),
        (json!([]), "1.4"),
        (json!({"client_name": "c", "protocol_version": ["1.4", "1.6"]}), "1.6"),
    ] {
        let mut client = server.connect().await;
        let answer = client.ask("server.version", asked.clone()).await;
        assert_eq!(answer[1], agreed, "{asked}");
        assert!(answer[0].as_str().unwrap().starts_with("Cairn "));
        assert_eq!(client.fail("server.version", asked).await.0, 1);
    }
    // Before 1.6 other requests may precede it.
    let mut client = server.connect().await;
    assert_eq!(client.ask("server.ping", json!([])).await, Value::Null);
    assert_eq!(client.ask("server.version", json!(["c", ["1.4", "1.6"]])).await[1], "1.4.3");
    // Without a common version the connection ends.
    let mut client = server.connect().await;
    assert_eq!(client.fail("server.version", json!(["c", "1.2"])).await.0, 1);
    assert_eq!(client.message().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_have_proofs() {
    let world = &everything_world();
    let server = Server::with(world, unlimited(), Options::default(), None).await;
    let tip = world.oracle.blocks().len() - 1;
    for version in ["1.4", "1.6"] {
        let mut client = server.speak(version).await;
        assert_eq!(client.ask("blockchain.block.header", json!([5])).await, header(world, 5));
        assert_eq!(client.ask("blockchain.block.header", json!([tip, 0])).await, header(world, tip));
        for (height, checkpoint) in [(5, 8), (0, tip), (tip, tip), (7, 7), (1, 1)] {
            let answer = client.ask("blockchain.block.header", json!([height, checkpoint])).await;
            let (branch, root) = proof(world, height, checkpoint + 1);
            assert_eq!(answer, json!({"branch": branch, "root": root, "header": header(world, height)}));
        }
        let two = [header(world, 3), header(world, 4)];
        let form = |headers: &[String]| if version == "1.6" { json!(headers) } else { json!(headers.concat()) };
        let name = if version == "1.6" { "headers" } else { "hex" };
        let answer = client.ask("blockchain.block.headers", json!([3, 2])).await;
        assert_eq!(answer, json!({"count": 2, name: form(&two), "max": 2016}));
        let answer = client.ask("blockchain.block.headers", json!([3, 2, 9])).await;
        let (branch, root) = proof(world, 4, 10);
        assert_eq!(answer, json!({"count": 2, name: form(&two), "max": 2016, "branch": branch, "root": root}));
        let answer = client.ask("blockchain.block.headers", json!([tip, 5000])).await;
        assert_eq!(answer, json!({"count": 1, name: form(&[header(world, tip)]), "max": 2016}));
        for params in [json!([tip + 1, 10]), json!([3, 0]), json!([3, 0, 9])] {
            let answer = client.ask("blockchain.block.headers", params).await;
            assert_eq!(answer, json!({"count": 0, name: form(&[]), "max": 2016}));
        }
        for (method, params, code) in [
            ("blockchain.block.header", json!([tip + 1]), 1),
            ("blockchain.block.header", json!([5, 4]), 1),
            ("blockchain.block.header", json!([5, tip + 1]), 1),
            ("blockchain.block.headers", json!([3, 2, 3]), 1),
            ("blockchain.block.header", json!([-1]), -32602),
            ("blockchain.block.headers", json!([1]), -32602),
        ] {
            assert_eq!(client.fail(method, params).await.0, code);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_have_bytes_and_proofs() {
    let world = &everything_world();
    let pool = &mut Waiting::at_tip(world);
    let node = Arc::new(Scripted::default());
    let server = Server::with(world, unlimited(), Options::default(), Some(node.clone())).await;
    let mut client = server.speak("1.4").await;
    for (height, block) in world.oracle.blocks().iter().enumerate().step_by(7) {
        let txids: Vec<[u8; 32]> = block.txdata.iter().map(|tx| tx.compute_txid().to_byte_array()).collect();
        for (index, tx) in block.txdata.iter().enumerate() {
            let txid = tx.compute_txid().to_string();
            let expected: Vec<String> = branch(&txids, index).into_iter().map(|hash| Txid(hash).to_string()).collect();
            let from_pos = client.ask("blockchain.transaction.id_from_pos", json!([height, index, true])).await;
            assert_eq!(from_pos, json!({"tx_hash": txid, "merkle": expected}));
            let from_pos = client.ask("blockchain.transaction.id_from_pos", json!([height, index])).await;
            assert_eq!(from_pos, txid);
            if world.oracle.tx_nums(&tx.compute_txid()).len() > 1 {
                continue;
            }
            assert_eq!(client.ask("blockchain.transaction.get", json!([txid])).await, hex::encode(serialize(tx)));
            let merkle = client.ask("blockchain.transaction.get_merkle", json!([txid, height])).await;
            assert_eq!(merkle, json!({"block_height": height, "merkle": expected, "pos": index}));
        }
        assert_eq!(client.fail("blockchain.transaction.id_from_pos", json!([height, 9999])).await.0, 1);
    }
    let coinbase = world.oracle.blocks()[7].txdata[0].compute_txid().to_string();
    assert_eq!(client.fail("blockchain.transaction.get_merkle", json!([coinbase, 8])).await.0, 1);
    assert_eq!(client.fail("blockchain.transaction.get", json!(["00".repeat(32)])).await.0, 2);
    assert_eq!(client.fail("blockchain.transaction.get", json!(["00"])).await.0, 1);
    // Unconfirmed ones, and the node's form.
    let coin = pool.coins(1_000_000).next().unwrap();
    let tx = pool.send(&[coin], &[], 1_000);
    let raw = pool.made[0].0.clone();
    let answer = client.ask("blockchain.transaction.get", json!([tx.txid.to_string(), false])).await;
    assert_eq!(answer, hex::encode(serialize(&raw)));
    assert_eq!(client.fail("blockchain.transaction.get", json!([coinbase, true])).await.0, 2);
    *node.answer.lock().unwrap() = Some(json!({"hex": "00"}));
    for txid in [&coinbase, &tx.txid.to_string()] {
        let answer = client.ask("blockchain.transaction.get", json!({"tx_hash": txid, "verbose": true})).await;
        assert_eq!(answer, json!({"hex": "00"}));
    }
    let block = BlockHash(world.oracle.blocks()[7].block_hash().to_byte_array());
    let asked = node.asked.lock().unwrap().clone();
    assert_eq!(
        asked[1..],
        [
            Question::DecodedTransaction(coinbase.parse().unwrap(), Some(block)),
            Question::DecodedTransaction(tx.txid, None),
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_are_sent_by_the_node() {
    let world = &everything_world();
    let pool = &mut Waiting::at_tip(world);
    let node = Arc::new(Scripted::default());
    let server = Server::with(world, unlimited(), Options::default(), Some(node.clone())).await;
    let coin = pool.coins(1_000_000).next().unwrap();
    pool.make(&[coin], &[], 1_000);
    let raw = hex::encode(serialize(&pool.made[0].0));
    let mut client = server.speak("1.6").await;
    let (code, text) = client.fail("blockchain.transaction.broadcast", json!([raw])).await;
    assert_eq!((code, text.as_str()), (1, "the transaction was rejected by network rules.\n\nmin relay fee not met"));
    let (code, text) = client.fail("blockchain.transaction.broadcast_package", json!([[raw]])).await;
    assert_eq!((code, text.as_str()), (1, "the tx package was rejected by network rules.\n\nmin relay fee not met"));
    let answer = json!({"package_msg": "success", "tx-results": {}});
    *node.answer.lock().unwrap() = Some(answer.clone());
    let txid = pool.made[0].1.txid.to_string();
    assert_eq!(client.ask("blockchain.transaction.broadcast", json!([raw])).await, txid);
    let package = client.ask("blockchain.transaction.broadcast_package", json!([[raw]])).await;
    assert_eq!(package, json!({"success": true}));
    let package = client.ask("blockchain.transaction.broadcast_package", json!([[raw], true])).await;
    assert_eq!(package, answer);
    for params in [json!([[]]), json!([["zz"]]), json!([vec!["00"; 26]])] {
        assert_eq!(client.fail("blockchain.transaction.broadcast_package", params).await.0, 1);
    }
    assert_eq!(client.fail("blockchain.transaction.broadcast", json!(["xy"])).await.0, 1);
    let mut old = server.speak("1.4").await;
    assert_eq!(old.fail("blockchain.transaction.broadcast_package", json!([[raw]])).await.0, -32601);
    let alone = Server::new(world).await;
    assert_eq!(alone.speak("1.4").await.fail("blockchain.transaction.broadcast", json!([raw])).await.0, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_describes_itself_and_the_fees() {
    let world = &everything_world();
    let pool = &mut Waiting::at_tip(world);
    let node = Arc::new(Scripted::default());
    let server = Server::with(world, unlimited(), Options::default(), Some(node.clone())).await;
    let coin = pool.coins(1_000_000).next().unwrap();
    let tx = pool.send(&[coin], &[], 5_000);
    // Projections have a least time between them.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert!(pool.slot.refresh());
    let genesis = world.oracle.blocks()[0].block_hash().to_string();
    for version in ["1.4", "1.6"] {
        let mut client = server.speak(version).await;
        let features = client.ask("server.features", json!([])).await;
        assert_eq!(
            (&features["genesis_hash"], &features["hash_function"], &features["protocol_min"], &features["hosts"]),
            (&json!(genesis), &json!("sha256"), &json!("1.4"), &json!({}))
        );
        assert_eq!((&features["protocol_max"], &features["pruning"]), (&json!("1.6"), &Value::Null));
        assert!(client.ask("server.banner", json!([])).await.is_string());
        assert!(client.ask("server.donation_address", json!([])).await.is_string());
        assert_eq!(client.ask("server.peers.subscribe", json!([])).await, json!([]));
        assert_eq!(client.ask("server.add_peer", json!([features])).await, json!(false));
        assert_eq!(client.ask("server.ping", json!([])).await, Value::Null);
        let histogram = client.ask("mempool.get_fee_histogram", json!([])).await;
        assert_eq!(histogram.as_array().unwrap().len(), 1);
        assert_eq!(histogram[0][1], tx.adjusted_vsize());
        *node.answer.lock().unwrap() = Some(json!({"feerate": 0.0001, "blocks": 2}));
        assert_eq!(client.ask("blockchain.estimatefee", json!([2])).await, json!(0.0001));
        *node.answer.lock().unwrap() = Some(json!({"errors": ["Insufficient data"], "blocks": 2}));
        assert_eq!(client.ask("blockchain.estimatefee", json!([2, "conservative"])).await, json!(-1));
        let mode = (version == "1.6").then_some("CONSERVATIVE");
        assert_eq!(node.asked.lock().unwrap().last(), Some(&Question::EstimateFee(2, mode)));
        let info = json!({"mempoolminfee": 0.00002, "minrelaytxfee": 0.00001, "incrementalrelayfee": 0.000001});
        *node.answer.lock().unwrap() = Some(info.clone());
        let (relay, details) = ("blockchain.relayfee", "mempool.get_info");
        if version == "1.6" {
            assert_eq!(client.ask(details, json!([])).await, info);
            assert_eq!(client.fail(relay, json!([])).await.0, -32601);
        } else {
            assert_eq!(client.ask(relay, json!([])).await, json!(0.00001));
            assert_eq!(client.fail(details, json!([])).await.0, -32601);
        }
        assert_eq!(client.fail("blockchain.nonsense", json!([])).await.0, -32601);
    }
}
