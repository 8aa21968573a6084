use std::collections::HashSet;

use bitcoin::consensus::encode::{deserialize_hex, serialize_hex};
use bitcoin::{Block, Network};
use cairn_chaingen::{Everything, EverythingOptions};
use cairn_standin::{Auth, Source, StandIn, StandInOptions};
use serde_json::{Value, json};

use crate::client::{Client, get, post, rpc, try_rpc};
use crate::node;

#[test]
fn chain_methods() {
    let node = node(103);
    let tip = node.world().tip();
    assert_eq!(rpc(&node, "getblockcount", json!([])), 103);
    assert_eq!(rpc(&node, "getbestblockhash", json!([])), json!(tip.to_string()));
    assert_eq!(rpc(&node, "getblockhash", json!([103])), json!(tip.to_string()));
    let info = rpc(&node, "getblockchaininfo", json!([]));
    assert_eq!((&info["chain"], &info["blocks"], &info["headers"]), (&json!("regtest"), &json!(103), &json!(103)));
    assert_eq!((&info["initialblockdownload"], &info["pruned"]), (&json!(false), &json!(false)));
    // 104 blocks of work 2 each.
    assert_eq!(info["chainwork"], format!("{:064x}", 208));
    let raw: Block = deserialize_hex(rpc(&node, "getblock", json!([tip.to_string(), 0])).as_str().unwrap()).unwrap();
    assert_eq!(Some(&raw), node.world().block(&tip).as_ref());
    let block = rpc(&node, "getblock", json!({ "blockhash": tip.to_string(), "verbosity": 1 }));
    assert_eq!(block["tx"], json!([raw.txdata[0].compute_txid().to_string()]));
    assert_eq!((&block["confirmations"], &block["height"]), (&json!(1), &json!(103)));
    assert_eq!(block["previousblockhash"], raw.header.prev_blockhash.to_string());
    let header = rpc(&node, "getblockheader", json!([raw.header.prev_blockhash.to_string()]));
    assert_eq!((&header["nextblockhash"], &header["confirmations"]), (&json!(tip.to_string()), &json!(2)));
    assert_eq!(rpc(&node, "getblockheader", json!([tip.to_string(), false])), serialize_hex(&raw.header));
    let network = rpc(&node, "getnetworkinfo", json!([]));
    assert_eq!((&network["version"], &network["subversion"]), (&json!(280_000), &json!("/Satoshi:28.0.0/")));
    assert_eq!(rpc(&node, "getchaintips", json!([])).as_array().unwrap().len(), 1);
}

#[test]
fn errors_have_the_codes_of_core() {
    let node = node(1);
    let none = "00".repeat(32);
    let cases = [
        ("getblock", json!([none]), -5, "Block not found"),
        ("getblockheader", json!([none]), -5, "Block not found"),
        ("getblockhash", json!([2]), -8, "Block height out of range"),
        ("getblockhash", json!([-1]), -8, "Block height out of range"),
        ("getblockhash", json!(["1"]), -3, "JSON value of type string is not of expected type number"),
        ("getblock", json!(["abc"]), -8, "blockhash must be of length 64 (not 3, for 'abc')"),
        ("getblock", json!({ "hash": none }), -8, "Unknown named parameter hash"),
        ("getmempoolentry", json!([none]), -5, "Transaction not in mempool"),
        ("sendrawtransaction", json!(["00"]), -22, "TX decode failed"),
        ("getrawtransaction", json!([none]), -5, "No such mempool transaction"),
        ("getrawtransaction", json!([none, 0, none]), -5, "Block hash not found"),
        ("getrawmempool", json!([true, true]), -8, "Verbose results cannot contain"),
        ("getblocktemplate", json!([]), -8, "segwit"),
        ("gettxoutsetinfo", json!(["sum"]), -8, "'sum' is not a valid hash_type"),
        ("gettxoutsetinfo", json!(["muhash", 0]), -8, "coinstatsindex"),
        ("invalidateblock", json!([none]), -5, "Block not found"),
        ("nosuchmethod", json!([]), -32601, "Method not found"),
    ];
    for (method, params, code, message) in cases {
        let (got, text) = try_rpc(&node, method, params).unwrap_err();
        assert!(got == code && text.contains(message), "{method}: {got} {text}");
    }
}

#[test]
fn envelopes_old_and_new() {
    let call = |version: &str, method: &str| json!({ "jsonrpc": version, "id": 7, "method": method });
    let node = node(0);
    let old = post(&node, &call("1.0", "nosuchmethod"));
    assert_eq!((old.status, &old.json()["error"]["code"]), (404, &json!(-32601)));
    assert_eq!(post(&node, &json!({ "id": 1, "method": "getblock" })).status, 500);
    let new = post(&node, &call("2.0", "nosuchmethod"));
    assert_eq!(new.status, 200);
    assert_eq!(
        new.json(),
        json!({ "jsonrpc": "2.0", "error": { "code": -32601, "message": "Method not found" }, "id": 7 })
    );
    let note = post(&node, &json!({ "jsonrpc": "2.0", "method": "getblockcount" }));
    assert_eq!((note.status, note.body.len()), (204, 0));
    let batch = post(&node, &json!([call("1.0", "getblockcount"), call("2.0", "getblockcount"), 5]));
    let answers = batch.json();
    assert_eq!((batch.status, answers.as_array().unwrap().len()), (200, 3));
    assert_eq!(answers[0], json!({ "result": 0, "error": null, "id": 7 }));
    assert_eq!(answers[1], json!({ "jsonrpc": "2.0", "result": 0, "id": 7 }));
    assert_eq!(answers[2]["error"]["code"], -32600);
    // Before v28 Core answers in the old form.
    let older = StandIn::start(StandInOptions { version: 250_000, ..StandInOptions::default() }).unwrap();
    assert_eq!(post(&older, &call("2.0", "getblockcount")).json(), json!({ "result": 0, "error": null, "id": 7 }));
    let garbage = Client::new(&node).request("POST", "/", &node.authorization(), b"{").unwrap();
    assert_eq!((garbage.status, &garbage.json()["error"]["code"]), (500, &json!(-32700)));
}

#[test]
fn authentication() {
    let node = node(0);
    let cookie = std::fs::read_to_string(node.cookie_file()).unwrap();
    assert!(cookie.starts_with("__cookie__:") && cookie.len() == 11 + 64);
    let body = br#"{"method":"getblockcount"}"#;
    for wrong in ["", "Basic eDp5", "Bearer x"] {
        let answer = Client::new(&node).request("POST", "/", wrong, body).unwrap();
        assert_eq!((answer.status, answer.body.len()), (401, 0));
        assert!(answer.headers.iter().any(|header| header.starts_with("WWW-Authenticate")));
    }
    assert_eq!(get(&node, "/").status, 405);
    let auth = Auth::UserPassword { user: "alice".into(), password: "open sesame".into() };
    let node = StandIn::start(StandInOptions { auth, ..StandInOptions::default() }).unwrap();
    assert!(!node.cookie_file().exists());
    assert_eq!(node.authorization(), "Basic YWxpY2U6b3BlbiBzZXNhbWU=");
    assert_eq!(rpc(&node, "getblockcount", json!([])), 0);
}

/// The coin set of a random chain with every kind of output and forks, against an independent count.
#[test]
fn coin_set_of_a_random_chain() {
    let options = EverythingOptions { blocks: 130, max_txs: 6, forks: vec![3], showpieces: false };
    let mut everything = Everything::new(3, options.max_txs, options.showpieces);
    everything.grow(options.blocks).unwrap();
    everything.fork(3, 4).unwrap();
    let chain = everything.chain().clone();
    let source = Some(Source::Everything(Box::new(everything)));
    let node = StandIn::start(StandInOptions { source, coinstatsindex: true, ..StandInOptions::default() }).unwrap();
    assert_eq!(node.world().tip(), chain.tip().hash());
    let active = node.world().active();
    assert!(active.iter().eq(chain.active()), "blocks and spent coins as the generator has them");
    let mut coins = HashSet::new();
    let mut muhash = cairn_model::MuHash::new();
    let mut sats = 0;
    for mined in &active[1..] {
        for (index, tx) in mined.block.txdata.iter().enumerate() {
            let txid = tx.compute_txid();
            for (vin, input) in tx.input.iter().enumerate().filter(|_| index > 0) {
                let coin = &mined.spent[index - 1][vin];
                assert!(coins.remove(&input.previous_output));
                muhash.remove(&element(&input.previous_output, coin));
                sats -= coin.txout.value.to_sat();
            }
            for (vout, txout) in (0..).zip(&tx.output) {
                if !cairn_chaingen::is_unspendable(&txout.script_pubkey) {
                    let outpoint = bitcoin::OutPoint { txid, vout };
                    let coin =
                        cairn_chaingen::Coin { txout: txout.clone(), height: mined.height, coinbase: index == 0 };
                    muhash.insert(&element(&outpoint, &coin));
                    coins.insert(outpoint);
                    sats += txout.value.to_sat();
                }
            }
        }
    }
    let info = rpc(&node, "gettxoutsetinfo", json!(["muhash"]));
    assert_eq!(info["txouts"], coins.len());
    assert_eq!(info["muhash"], muhash.finalize().to_string());
    assert_eq!((info["total_amount"].as_f64().unwrap() * 1e8).round() as u64, sats);
    // An older state is the same whether the chain was that long once or is wound back.
    let before = rpc(&node, "gettxoutsetinfo", json!(["muhash", 100]));
    node.world().invalidate(&chain.active()[101].hash()).unwrap();
    let after = rpc(&node, "gettxoutsetinfo", json!(["muhash"]));
    assert_eq!((&before["muhash"], &before["height"]), (&after["muhash"], &after["height"]));
}

fn element(outpoint: &bitcoin::OutPoint, coin: &cairn_chaingen::Coin) -> Vec<u8> {
    let mut bytes = bitcoin::consensus::serialize(outpoint);
    bytes.extend((coin.height * 2 + u32::from(coin.coinbase)).to_le_bytes());
    bytes.extend(bitcoin::consensus::serialize(&coin.txout));
    bytes
}

#[test]
fn blocks_with_transactions_in_full() {
    let node = node(110);
    let txid = node.world().send_chain(2, 3_000).unwrap()[1];
    let hash = node.world().mine(1).unwrap()[0];
    let block = rpc(&node, "getblock", json!([hash.to_string(), 3]));
    let txs = block["tx"].as_array().unwrap();
    let tx = txs.iter().find(|tx| tx["txid"] == txid.to_string()).unwrap();
    assert_eq!(tx["vin"][0]["prevout"]["height"], 111);
    let paid = |list: &Value, value: fn(&Value) -> &Value| -> f64 {
        list.as_array().unwrap().iter().map(|item| value(item).as_f64().unwrap()).sum()
    };
    let income = paid(&tx["vin"], |vin| &vin["prevout"]["value"]);
    let outgo = paid(&tx["vout"], |vout| &vout["value"]);
    let fee = tx["fee"].as_f64().unwrap();
    assert!((income - outgo - fee).abs() < 1e-9 && fee > 0.0);
    assert!(txs[0].get("fee").is_none() && txs[0]["vin"][0]["coinbase"].is_string());
    assert!(rpc(&node, "getblock", json!([hash.to_string(), 2]))["tx"][1]["vin"][0].get("prevout").is_none());
    let raw = rpc(&node, "getrawtransaction", json!([txid.to_string(), true, hash.to_string()]));
    assert_eq!((&raw["confirmations"], &raw["in_active_chain"], &raw["hex"]), (&json!(1), &json!(true), &tx["hex"]));
    assert_eq!(try_rpc(&node, "getrawtransaction", json!([txid.to_string()])).unwrap_err().0, -5);
    // Amounts are written with eight decimals.
    let text = post(&node, &json!({ "method": "getblock", "params": [hash.to_string(), 2] })).text().to_owned();
    let values: Vec<&str> = text.split("\"value\":").skip(1).map(|rest| rest.split(',').next().unwrap()).collect();
    assert!(values.len() > 3);
    for value in values {
        assert_eq!(value.split_once('.').unwrap().1.len(), 8, "{value}");
    }
    let out = rpc(&node, "gettxout", json!([txid.to_string(), 0]));
    assert_eq!((&out["confirmations"], &out["coinbase"]), (&json!(1), &json!(false)));
}

#[test]
fn behind_pruned_elsewhere() {
    let node = node(10);
    let info = |name: &str| rpc(&node, "getblockchaininfo", json!([]))[name].clone();
    node.world().hold_blocks();
    node.world().set_ibd(true);
    node.world().mine(5).unwrap();
    assert_eq!((info("blocks"), info("headers"), info("initialblockdownload")), (json!(10), json!(15), json!(true)));
    assert_eq!(node.world().catch_up(2).unwrap(), 3);
    assert_eq!((info("blocks"), info("headers")), (json!(12), json!(15)));
    assert_eq!(node.world().catch_up(9).unwrap(), 0);
    node.world().set_ibd(false);
    node.world().mine(1).unwrap();
    assert_eq!((info("blocks"), info("headers")), (json!(16), json!(16)));
    node.world().prune(Some(5));
    assert_eq!((info("pruned"), info("pruneheight")), (json!(true), json!(5)));
    let hash = |height| node.world().hash_at(height).unwrap().to_string();
    let (code, message) = try_rpc(&node, "getblock", json!([hash(4)])).unwrap_err();
    assert_eq!((code, message.as_str()), (-1, "Block not available (pruned data)"));
    rpc(&node, "getblock", json!([hash(5)]));
    rpc(&node, "getblockheader", json!([hash(4)]));
    node.world().set_network(Network::Bitcoin);
    assert_eq!((info("chain"), info("blocks")), (json!("main"), json!(0)));
    assert_eq!(hash(0), "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f");
    node.world().set_network(Network::Regtest);
    assert_eq!((info("chain"), info("blocks")), (json!("regtest"), json!(16)));
}

#[test]
fn blocks_can_be_submitted_and_called_invalid() {
    let node = node(5);
    let tip = node.world().tip();
    let block = node.world().build(&cairn_standin::BlockPlan::default()).unwrap();
    let mut broken = block.clone();
    broken.txdata[0].output[0].value += bitcoin::Amount::from_sat(1);
    assert_eq!(rpc(&node, "submitblock", json!([serialize_hex(&broken)])), "bad-txnmrklroot");
    broken.header.merkle_root = broken.compute_merkle_root().unwrap();
    while broken.header.validate_pow(broken.header.target()).is_err() {
        broken.header.nonce += 1;
    }
    assert_eq!(rpc(&node, "submitblock", json!([serialize_hex(&broken)])), "bad-cb-amount");
    assert_eq!(node.world().tip(), tip);
    assert_eq!(rpc(&node, "submitblock", json!([serialize_hex(&block)])), Value::Null);
    assert_eq!(rpc(&node, "submitblock", json!([serialize_hex(&block)])), "duplicate");
    assert_eq!(node.world().tip(), block.block_hash());
    let statuses = |node: &StandIn| -> Vec<String> {
        let tips = rpc(node, "getchaintips", json!([]));
        let mut all: Vec<String> =
            tips.as_array().unwrap().iter().map(|tip| tip["status"].as_str().unwrap().to_owned()).collect();
        all.sort();
        all
    };
    assert_eq!(statuses(&node), ["active", "invalid"]);
    rpc(&node, "invalidateblock", json!([block.block_hash().to_string()]));
    assert_eq!(node.world().tip(), tip);
    rpc(&node, "reconsiderblock", json!([block.block_hash().to_string()]));
    assert_eq!(node.world().tip(), block.block_hash());
}
