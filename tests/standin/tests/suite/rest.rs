use bitcoin::consensus::deserialize;
use bitcoin::consensus::encode::serialize;
use bitcoin::{Block, TxOut, VarInt, block};
use cairn_standin::{StandIn, StandInOptions};
use serde_json::json;

use crate::client::{get, rpc};
use crate::node;

#[test]
fn blocks_headers_heights() {
    let node = node(20);
    let tip = node.world().tip();
    let block: Block = deserialize(&get(&node, &format!("/rest/block/{tip}.bin")).body).unwrap();
    assert_eq!(block.block_hash(), tip);
    let hex = get(&node, &format!("/rest/block/{tip}.hex"));
    assert_eq!(hex::decode(hex.text().trim()).unwrap(), serialize(&block));
    let json = get(&node, &format!("/rest/block/notxdetails/{tip}.json")).json();
    assert_eq!(json["tx"], json!([block.txdata[0].compute_txid().to_string()]));
    let hash = |height| node.world().hash_at(height).unwrap();
    for path in [format!("/rest/headers/10/{}.bin", hash(15)), format!("/rest/headers/{}.bin?count=10", hash(15))] {
        let bytes = get(&node, &path).body;
        let headers: Vec<block::Header> = bytes.chunks(80).map(|bytes| deserialize(bytes).unwrap()).collect();
        let hashes: Vec<_> = headers.iter().map(block::Header::block_hash).collect();
        assert_eq!(hashes, (15..=20).map(hash).collect::<Vec<_>>());
    }
    assert_eq!(get(&node, "/rest/blockhashbyheight/7.bin").body, serialize(&hash(7)));
    assert_eq!(get(&node, "/rest/blockhashbyheight/7.hex").text(), format!("{}\n", hash(7)));
    assert_eq!(get(&node, "/rest/blockhashbyheight/7.json").json(), json!({ "blockhash": hash(7).to_string() }));
    let info = get(&node, "/rest/chaininfo.json").json();
    assert_eq!(info, rpc(&node, "getblockchaininfo", json!([])));
}

#[test]
fn refusals() {
    let node = node(3);
    let none = "0".repeat(64);
    let cases = [
        (format!("/rest/block/{none}.bin"), 404, format!("{none} not found\r\n")),
        ("/rest/block/abc.bin".to_owned(), 400, "Invalid hash: abc\r\n".to_owned()),
        ("/rest/blockhashbyheight/4.bin".to_owned(), 404, "Block height out of range\r\n".to_owned()),
        ("/rest/blockhashbyheight/-1.bin".to_owned(), 400, "Invalid height: -1\r\n".to_owned()),
        (format!("/rest/tx/{none}.bin"), 404, format!("{none} not found\r\n")),
        // Before v30.
        (format!("/rest/spenttxouts/{none}.bin"), 404, String::new()),
        ("/rest/nothing.bin".to_owned(), 404, String::new()),
    ];
    for (path, status, text) in cases {
        let answer = get(&node, &path);
        assert_eq!((answer.status, answer.text()), (status, text.as_str()), "{path}");
    }
    assert_eq!(get(&node, &format!("/rest/headers/0/{none}.bin")).status, 400);
    node.world().prune(Some(2));
    let pruned = node.world().hash_at(1).unwrap();
    let answer = get(&node, &format!("/rest/block/{pruned}.bin"));
    assert_eq!((answer.status, answer.text()), (404, format!("{pruned} not available (pruned data)\r\n").as_str()));
    let closed = StandIn::start(StandInOptions { rest: false, ..StandInOptions::default() }).unwrap();
    assert_eq!(get(&closed, "/rest/chaininfo.json").status, 404);
}

#[test]
fn mempool_and_transactions() {
    let node = node(105);
    let txids = node.world().send_chain(3, 4_000).unwrap();
    let bytes = get(&node, &format!("/rest/tx/{}.bin", txids[1])).body;
    let tx: bitcoin::Transaction = deserialize(&bytes).unwrap();
    assert_eq!((tx.compute_txid(), tx.input[0].previous_output.txid), (txids[1], txids[0]));
    let contents = get(&node, "/rest/mempool/contents.json").json();
    assert_eq!(contents, rpc(&node, "getrawmempool", json!([true])));
    assert_eq!(contents[txids[2].to_string()]["ancestorcount"], 3);
    let snapshot = get(&node, "/rest/mempool/contents.json?verbose=false&mempool_sequence=true").json();
    assert_eq!((&snapshot["mempool_sequence"], snapshot["txids"].as_array().unwrap().len()), (&json!(4), 3));
    assert_eq!(get(&node, "/rest/mempool/contents.json?mempool_sequence=true").status, 400);
    assert_eq!(get(&node, "/rest/mempool/contents.json?verbose=1").status, 400);
    assert_eq!(get(&node, "/rest/mempool/info.json").json(), rpc(&node, "getmempoolinfo", json!([])));
}

#[test]
fn spent_outputs_of_a_block() {
    let node = StandIn::start(StandInOptions { version: 300_000, premine: 110, ..StandInOptions::default() }).unwrap();
    node.world().send_chain(4, 3_000).unwrap();
    let tip = node.world().mine(1).unwrap()[0];
    let mined = node.world().active().pop().unwrap();
    assert_eq!(mined.spent.len(), 4);
    let mut bytes = serialize(&VarInt(5));
    bytes.push(0);
    for coins in &mined.spent {
        bytes.extend(serialize(&coins.iter().map(|coin| coin.txout.clone()).collect::<Vec<TxOut>>()));
    }
    assert_eq!(get(&node, &format!("/rest/spenttxouts/{tip}.bin")).body, bytes);
    let json = get(&node, &format!("/rest/spenttxouts/{tip}.json")).json();
    assert_eq!((json.as_array().unwrap().len(), &json[0]), (5, &json!([])));
    let genesis = node.world().hash_at(0).unwrap();
    assert_eq!(get(&node, &format!("/rest/spenttxouts/{genesis}.bin")).body, [1, 0]);
}
