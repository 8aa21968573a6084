//! Whether payments landed: against every output of the chain, and against transactions that wait, are replaced or
//! lost.

use std::collections::BTreeMap;

use axum::{Router, body::Body, http::Request};
use bitcoin::{ScriptBuf, hashes::Hash};
use cairn_link::Absent;
use cairn_model::{BlockHash, MempoolDelta, RemoveReason};
use serde_json::{Value, json};

use crate::{
    support::{Reply, address, everything_world, post, script_hash, send, validator},
    unconfirmed::{Waiting, output},
};

pub const VERIFY: &str = "/v1/tx/verify";

async fn ask(router: &Router, body: Value) -> Value {
    let reply = post(router, VERIFY, &body).await;
    assert_eq!(reply.status, 200, "{body}: {}", reply.text);
    crate::support::assert_valid(VERIFY, &reply.body);
    reply.body
}

/// A body as it stands, numbers and all.
pub async fn ask_text(router: &Router, body: impl Into<String>) -> Reply {
    let request = Request::post(VERIFY).header("content-type", "application/json");
    send(router, request.body(Body::from(body.into())).unwrap()).await
}

fn codes(body: &Value) -> Vec<&str> {
    body["reasons"].as_array().unwrap().iter().map(|r| r["code"].as_str().unwrap()).collect()
}

/// Satoshis as a decimal number in bitcoin.
pub fn btc(sats: u64) -> String {
    format!("{}.{:08}", sats / 100_000_000, sats % 100_000_000)
}

#[tokio::test]
async fn every_output_of_the_chain() {
    let world = &everything_world();
    let router = world.open_router();
    let schema = validator(VERIFY);
    let oracle = &world.oracle;
    let mut payments = 0;
    for (height, block) in oracle.blocks().iter().enumerate() {
        let confirmations = oracle.blocks().len() - height;
        for tx in &block.txdata {
            let txid = tx.compute_txid();
            let newest = oracle.tx_nums(&txid).last().unwrap();
            if oracle.txs()[newest.0 as usize].height as usize != height {
                continue;
            }
            let mut paid: BTreeMap<&ScriptBuf, (u64, Vec<Value>)> = BTreeMap::new();
            for (vout, out) in tx.output.iter().enumerate() {
                let (sum, rows) = paid.entry(&out.script_pubkey).or_default();
                *sum += out.value.to_sat();
                rows.push(json!([vout, out.value.to_sat()]));
            }
            for (script, (sum, rows)) in paid {
                payments += 1;
                let payee = address(script).filter(|_| payments % 2 == 0).unwrap_or_else(|| script_hash(script));
                let full = json!({"txid": txid.to_string(), "expected_address": payee,
                    "min_amount_sats": sum.max(1), "min_confirmations": confirmations});
                let reply = post(&router, VERIFY, &full).await;
                assert_eq!(reply.status, 200, "{}", reply.text);
                let body = &reply.body;
                assert!(schema.is_valid(body), "{body}");
                let expected = if sum > 0 { "paid" } else { "amount_too_low" };
                assert_eq!((&body["verified"], codes(body)), (&(sum > 0).into(), vec![expected]), "{body}");
                let observed = &body["observed"];
                assert_eq!(observed["state"], "confirmed");
                assert_eq!(observed["confirmations"], confirmations);
                assert_eq!(observed["block"]["height"], height);
                assert_eq!(observed["block"]["hash"], block.block_hash().to_string());
                assert_eq!(observed["is_coinbase"], tx.is_coinbase());
                assert_eq!(observed["received_sats"], sum);
                assert_eq!(observed["overpaid_sats"], if sum > 0 { json!(0) } else { Value::Null });
                let outputs: Vec<Value> = observed["outputs"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|o| json!([o["vout"], o["value_sats"]]))
                    .collect();
                assert_eq!(outputs, rows);
                assert_eq!(body["provisional"], confirmations < 6);
                let caveats = body["caveat_codes"].as_array().unwrap();
                assert_eq!(caveats.len(), usize::from(confirmations < 6));
                assert_eq!(caveats.len(), body["caveats"].as_array().unwrap().len());

                // A satoshi more, in the other form; and a confirmation more.
                let text = format!(
                    r#"{{"txid":"{txid}","address":"{payee}","expected_amount_btc":{},"min_confirmations":{}}}"#,
                    btc(sum + 1),
                    confirmations + 1
                );
                let body = ask_text(&router, text).await.body;
                assert_eq!(body["verified"], false);
                assert_eq!(codes(&body), ["amount_too_low", "not_enough_confirmations"], "{body}");
                assert_eq!(body["expected"]["min_amount_sats"], sum + 1);
                assert_eq!(body["observed"]["overpaid_sats"], Value::Null);
                if sum > 1 {
                    let body = ask(
                        &router,
                        json!({"txid": txid.to_string(), "address": payee,
                        "expected_amount_btc": btc(sum - 1)}),
                    )
                    .await;
                    assert_eq!((&body["verified"], codes(&body)), (&true.into(), vec!["paid", "overpaid"]));
                    assert_eq!(body["observed"]["overpaid_sats"], 1);
                }
            }
        }
    }
    assert!(payments > 500, "{payments}");
}

#[tokio::test]
async fn who_was_not_paid() {
    let world = &everything_world();
    let router = world.open_router();
    let block = &world.oracle.blocks()[100];
    let txid = block.txdata[0].compute_txid().to_string();
    let stranger = format!("scripthash:{}", "ab".repeat(32));
    let body = ask(&router, json!({"txid": txid, "expected_address": stranger})).await;
    assert_eq!((&body["verified"], codes(&body)), (&false.into(), vec!["address_not_paid"]));
    assert_eq!((&body["observed"]["received_sats"], &body["observed"]["outputs"]), (&0.into(), &json!([])));
    assert_eq!(body["expected"]["address"], stranger);
    assert_eq!(body["expected"]["min_amount_sats"], Value::Null);
    // Without an amount any payment will do, and with 0 confirmations a confirmed one, too.
    let script = &block.txdata[0].output[0].script_pubkey;
    let body = ask(&router, json!({"txid": txid, "address": script_hash(script), "min_confirmations": 0})).await;
    assert_eq!((&body["verified"], codes(&body)), (&true.into(), vec!["paid"]));
}

#[tokio::test]
async fn nobody_knows_it() {
    let world = &everything_world();
    let router = world.open_router();
    let asked = json!({"txid": "77".repeat(32), "address": format!("scripthash:{}", "ab".repeat(32))});
    // Nobody watches a mempool: it may wait there.
    let body = ask(&router, asked.clone()).await;
    assert_eq!((&body["verified"], codes(&body)), (&false.into(), vec!["tx_not_found", "mempool_unavailable"]));
    assert_eq!(body["_meta"]["warnings"][0]["code"], "no_mempool_source");
    assert_eq!((&body["observed"]["state"], &body["observed"]["received_sats"]), (&"unknown".into(), &Value::Null));
    assert_eq!(body["provisional"], false);

    let waiting = Waiting::at_tip(world);
    let body = ask(&router, asked.clone()).await;
    assert_eq!(codes(&body), ["tx_not_found"]);
    assert_eq!(body["_meta"]["warnings"], json!([]));

    waiting.slot.set_absent(Absent::Lost);
    assert_eq!(codes(&ask(&router, asked.clone()).await), ["tx_not_found", "mempool_unavailable"]);

    let tip = world.oracle.blocks().len() as u32 - 1;
    world.slot.set_best_height(Some(tip + 3));
    let body = ask(&router, asked).await;
    assert_eq!(codes(&body), ["tx_not_found", "index_behind", "mempool_unavailable"]);
    assert!(body["reasons"][1]["message"].as_str().unwrap().contains("3 blocks"));
}

#[tokio::test]
async fn payments_that_wait_are_replaced_or_dropped() {
    let world = &everything_world();
    let router = world.open_router();
    let mut waiting = Waiting::at_tip(world);
    let coins: Vec<_> = waiting.coins(1_000_000).take(4).collect();
    let payee = ScriptBuf::from_bytes([&[0, 20][..], &[9; 20]].concat());
    let to = address(&payee).unwrap();
    let pay = [(payee.clone(), 300_000), (payee.clone(), 200_000)];
    let first = waiting.send(&coins[..1], &pay, 1_000);
    let asked = |txid: &cairn_model::Txid, least: u64, confirmations: u32| {
        let txid = txid.to_string();
        json!({"txid": txid, "address": to, "min_amount_sats": least, "min_confirmations": confirmations})
    };

    // It waits: enough for 0 confirmations alone, and provisional even then.
    let body = ask(&router, asked(&first.txid, 500_000, 0)).await;
    assert_eq!((&body["verified"], codes(&body)), (&true.into(), vec!["paid"]));
    assert_eq!(
        (&body["provisional"], &body["caveat_codes"][0]["code"]),
        (&true.into(), &"provisional_confirmations".into())
    );
    let observed = &body["observed"];
    assert_eq!((&observed["state"], &observed["confirmations"]), (&"mempool".into(), &0.into()));
    assert_eq!((&observed["rbf"], &observed["block"]), (&true.into(), &Value::Null));
    assert!(observed["mempool_first_seen"].as_str().unwrap().starts_with("2026-"));
    assert_eq!(observed["received_sats"], 500_000);
    assert_eq!(observed["outputs"][1], json!({"vout": 1, "value_sats": 200_000, "value_btc": 0.002}));
    let body = ask(&router, json!({"txid": first.txid.to_string(), "address": to})).await;
    assert_eq!((&body["verified"], codes(&body)), (&false.into(), vec!["unconfirmed"]));
    let body = ask(&router, asked(&first.txid, 500_001, 1)).await;
    assert_eq!(codes(&body), ["amount_too_low", "unconfirmed"]);

    // A child that depends on it, and a replacement of it: both are gone.
    let child = waiting.send(&[output(&first, 0)], &[(payee.clone(), 290_000)], 10_000);
    assert_eq!(ask(&router, asked(&child.txid, 1, 0)).await["verified"], true);
    let second = waiting.send(&coins[..1], &[(ScriptBuf::from_bytes(vec![0x51]), 400_000)], 50_000);
    for gone in [&first, &child] {
        let body = ask(&router, asked(&gone.txid, 1, 0)).await;
        assert_eq!((&body["verified"], codes(&body)), (&false.into(), vec!["tx_conflicted"]));
        let observed = &body["observed"];
        assert_eq!((&observed["state"], &observed["received_sats"]), (&"conflicted".into(), &Value::Null));
        let by = json!({"kind": "replaced", "by": second.txid.to_string(), "by_state": "mempool"});
        assert_eq!(observed["double_spend"], by);
        assert_eq!(observed["departed"]["reason"], "replaced");
        assert!(observed["mempool_first_seen"].is_string());
        assert_eq!(body["provisional"], false);
    }
    let body = ask(&router, asked(&second.txid, 1, 0)).await;
    assert_eq!(codes(&body), ["address_not_paid"]);
    let mut replaced = vec![first.txid.to_string(), child.txid.to_string()];
    replaced.sort();
    let mut listed: Vec<&str> =
        body["observed"]["replaces"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
    listed.sort_unstable();
    assert_eq!(listed, replaced);
    // The replacement goes as well: nobody knows what becomes of the coins.
    waiting.leave(&second, RemoveReason::Expired);
    let body = ask(&router, asked(&first.txid, 1, 0)).await;
    assert_eq!(body["observed"]["double_spend"]["by_state"], "unknown");

    for (at, (why, code, state)) in [
        (RemoveReason::Evicted, "tx_left_mempool", "unknown"),
        (RemoveReason::Expired, "tx_left_mempool", "unknown"),
        (RemoveReason::Unknown, "tx_left_mempool", "unknown"),
        (RemoveReason::Conflict, "tx_conflicted", "conflicted"),
    ]
    .into_iter()
    .enumerate()
    {
        let tx = waiting.send(&coins[1..2], &[(payee.clone(), 10_000 + at as u64)], 1_000);
        waiting.leave(&tx, why);
        let body = ask(&router, asked(&tx.txid, 1, 0)).await;
        assert_eq!((&body["verified"], codes(&body)), (&false.into(), vec![code]), "{why:?}");
        assert_eq!(body["observed"]["state"], state);
        let conflict = json!({"kind": "conflict", "by": null, "by_state": null});
        assert_eq!(body["observed"]["double_spend"], if state == "conflicted" { conflict } else { Value::Null });
    }
}

#[tokio::test]
async fn a_mempool_at_another_tip_is_not_believed() {
    let world = &everything_world();
    let router = world.open_router();
    let mut waiting = Waiting::at_tip(world);
    let coin = waiting.coins(100_000).next().unwrap();
    let tx = waiting.send(&[coin], &[(ScriptBuf::from_bytes(vec![0x51]), 5_000)], 1_000);
    let asked = json!({"txid": tx.txid.to_string(), "min_confirmations": 0,
        "address": script_hash(&ScriptBuf::from_bytes(vec![0x51]))});
    assert_eq!(ask(&router, asked.clone()).await["verified"], true);
    let elsewhere = MempoolDelta::Block { height: 7, hash: BlockHash([7; 32]), time: 7 };
    waiting.tell(vec![elsewhere]);
    let body = ask(&router, asked.clone()).await;
    assert_eq!((&body["verified"], codes(&body)), (&false.into(), vec!["tx_not_found", "mempool_unavailable"]));
    waiting.block();
    assert_eq!(ask(&router, asked).await["verified"], true);
}

#[tokio::test]
async fn a_confirmed_transaction_remembers_when_it_was_first_seen() {
    let world = &everything_world();
    let router = world.open_router();
    let mut waiting = Waiting::at_tip(world);
    // In the form of a node, for a transaction of the newest block: in the mempool first, then confirmed.
    let block = world.oracle.blocks().last().unwrap();
    let coin = waiting.coins(100_000).next().unwrap();
    let mut tx = (*waiting.make(&[coin], &[], 1_000)).clone();
    tx.txid = cairn_model::Txid(block.txdata[0].compute_txid().to_byte_array());
    waiting.tell(vec![MempoolDelta::Add(std::sync::Arc::new(tx.clone()))]);
    waiting.leave(&tx, RemoveReason::Confirmed { height: world.oracle.blocks().len() as u32 - 1 });
    let script = &block.txdata[0].output[0].script_pubkey;
    let body = ask(&router, json!({"txid": tx.txid.to_string(), "address": script_hash(script)})).await;
    assert_eq!((&body["verified"], &body["observed"]["state"]), (&true.into(), &"confirmed".into()));
    assert!(body["observed"]["mempool_first_seen"].is_string());
}
