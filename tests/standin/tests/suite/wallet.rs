use cairn_standin::StandIn;
use serde_json::{Value, json};

use crate::client::{Client, rpc, try_rpc};
use crate::node;

/// A call of a wallet by its path.
fn of_wallet(node: &StandIn, name: &str, method: &str, params: Value) -> Result<Value, i64> {
    let body = json!({ "jsonrpc": "1.0", "id": "t", "method": method, "params": params }).to_string();
    let path = format!("/wallet/{name}");
    let answer = Client::new(node).request("POST", &path, &node.authorization(), body.as_bytes()).unwrap().json();
    match &answer["error"] {
        Value::Null => Ok(answer["result"].clone()),
        error => Err(error["code"].as_i64().unwrap()),
    }
}

fn fund(node: &StandIn, inputs: Value, options: Value) -> Result<Value, i64> {
    let outputs = json!([{ "data": "ab".repeat(32) }]);
    of_wallet(node, "w", "walletcreatefundedpsbt", json!([inputs, outputs, 0, options]))
}

#[test]
fn a_wallet_funds_signs_and_replaces() {
    let node = node(105);
    node.world().create_wallet("w");
    node.world().fund_wallet("w", 2, 50_000).unwrap();
    let coins = of_wallet(&node, "w", "listunspent", json!([])).unwrap();
    let coin = &coins.as_array().unwrap()[0];
    assert_eq!((&coin["amount"], &coin["confirmations"], &coin["safe"]), (&json!(0.0005), &json!(1), &json!(true)));
    let funded = fund(&node, json!([]), json!({ "fee_rate": 5 })).unwrap();
    // 10.5 + 68 + 43 + 31 virtual bytes.
    assert_eq!((&funded["fee"], &funded["changepos"]), (&json!(0.0000_0765), &json!(1)));
    let signed = of_wallet(&node, "w", "walletprocesspsbt", json!([funded["psbt"]])).unwrap();
    assert_eq!(signed["complete"], true);
    let done = rpc(&node, "finalizepsbt", json!([signed["psbt"]]));
    assert_eq!((&done["complete"], &done["hex"]), (&json!(true), &signed["hex"]));
    assert_eq!(rpc(&node, "testmempoolaccept", json!([[done["hex"]]]))[0]["allowed"], true);
    let txid = rpc(&node, "sendrawtransaction", json!([done["hex"]]));
    // The wallet counts its change, and does not spend the coin again by itself.
    let balances = of_wallet(&node, "w", "getbalances", json!([])).unwrap();
    assert_eq!(balances["mine"]["trusted"], 0.0009_9235);
    assert_eq!(of_wallet(&node, "w", "listunspent", json!([1])).unwrap().as_array().unwrap().len(), 1);
    // A replacement names the coin that is spent in the mempool.
    let tx = rpc(&node, "getrawtransaction", json!([txid, 1]));
    let input = json!([{ "txid": tx["vin"][0]["txid"], "vout": tx["vin"][0]["vout"] }]);
    let better = fund(&node, input, json!({ "add_inputs": true, "minconf": 1, "feeRate": "0.00010000" })).unwrap();
    let better = of_wallet(&node, "w", "walletprocesspsbt", json!([better["psbt"]])).unwrap();
    let replaced = rpc(&node, "sendrawtransaction", json!([better["hex"]]));
    assert_eq!(rpc(&node, "getrawmempool", json!([])), json!([replaced]));
    node.world().mine(1).unwrap();
    assert_eq!(rpc(&node, "getrawmempool", json!([])), json!([]));
    assert_eq!(try_rpc(&node, "sendrawtransaction", json!([better["hex"]])).unwrap_err().0, -27);
    assert_eq!(try_rpc(&node, "sendrawtransaction", json!([done["hex"]])).unwrap_err().0, -25);
}

#[test]
fn wallets_refuse_with_the_codes_of_core() {
    let node = node(105);
    let info = |name: &str| of_wallet(&node, name, "getwalletinfo", json!([]));
    assert_eq!(info("w"), Err(-18));
    node.world().create_wallet("w");
    assert_eq!(info("w").unwrap().get("unlocked_until"), None);
    assert_eq!(fund(&node, json!([]), json!({ "fee_rate": 5 })), Err(-4));
    node.world().fund_wallet("w", 1, 50_000).unwrap();
    assert_eq!(fund(&node, json!([]), json!({ "fee_rate": 0.5 })), Err(-4), "below the relay fee");
    assert_eq!(fund(&node, json!([]), json!({ "fee_rate": 5, "feeRate": 1 })), Err(-8));
    assert_eq!(fund(&node, json!([]), json!({ "no_such_option": true })), Err(-3));
    let stranger = json!([{ "txid": "00".repeat(32), "vout": 0 }]);
    assert_eq!(fund(&node, stranger, json!({ "fee_rate": 5 })), Err(-4));
    let funded = fund(&node, json!([]), json!({ "fee_rate": 5 })).unwrap();
    node.world().lock_wallet("w", true).unwrap();
    assert_eq!(info("w").unwrap()["unlocked_until"], 0);
    assert_eq!(of_wallet(&node, "w", "walletprocesspsbt", json!([funded["psbt"]])), Err(-13));
    node.world().create_wallet("other");
    assert_eq!(try_rpc(&node, "getwalletinfo", json!([])).unwrap_err().0, -19);
    node.world().load_wallet("other", false).unwrap();
    assert_eq!(rpc(&node, "getwalletinfo", json!([]))["walletname"], "w");
    assert_eq!(try_rpc(&node, "finalizepsbt", json!(["*"])).unwrap_err().0, -22);
}
