//! Transactions that are decoded and checked without being sent, and those that come in a PSBT.

use base64::{Engine, engine::general_purpose::STANDARD};
use bitcoin::{Amount, Psbt, ScriptBuf, Transaction, TxOut, consensus::serialize};
use cairn_operations::{BroadcastLimits, Refused};
use serde_json::{Value, json};

use crate::{
    broadcast::{BROADCAST, Scripted, fresh, submit_as, with_node},
    support::{Reply, assert_problem, assert_valid, everything_world, hex, post},
    unconfirmed::Waiting,
};

async fn check(router: &axum::Router, text: &str) -> Reply {
    let reply = post(router, BROADCAST, &json!({"tx_hex": text, "dry_run": true})).await;
    if reply.status == 200 {
        assert_valid(BROADCAST, &reply.body);
    }
    reply
}

#[tokio::test]
async fn a_checked_transaction_is_shown_and_not_sent() {
    let world = &everything_world();
    let node = Scripted::new(world);
    let router = with_node(world, &node);
    let mut waiting = Waiting::at_tip(world);
    let tx = fresh(&mut waiting, 5_000);
    let reply = check(&router, &hex(&serialize(&tx))).await;
    assert_eq!((reply.status, &reply.body["state"]), (200, &"not_sent".into()), "{}", reply.text);
    assert_eq!((reply.body["check"]["allowed"].as_bool(), &reply.body["check"]["reason"]), (Some(true), &Value::Null));
    let decoded = &reply.body["decoded"];
    let coin = &world.oracle.coins()[&tx.input[0].previous_output];
    let paid: u64 = tx.output.iter().map(|output| output.value.to_sat()).sum();
    assert_eq!((&decoded["fee_sats"], &decoded["output_sats"]), (&(coin.value_sats - paid).into(), &paid.into()));
    let input = &decoded["inputs"][0];
    assert_eq!(input["txid"], tx.input[0].previous_output.txid.to_string());
    assert_eq!(
        (&input["prevout"]["value_sats"], &input["prevout"]["height"]),
        (&coin.value_sats.into(), &coin.height.into())
    );
    assert_eq!(
        (&input["prevout"]["script_hex"], &input["conflicts_with"]),
        (&hex(coin.script.as_bytes()).into(), &Value::Null)
    );
    let values: Vec<&Value> = decoded["outputs"].as_array().unwrap().iter().map(|row| &row["value_sats"]).collect();
    assert_eq!(
        values,
        tx.output.iter().map(|output| json!(output.value.to_sat())).collect::<Vec<_>>().iter().collect::<Vec<_>>()
    );
    // The node was asked, and nothing was sent.
    assert_eq!(node.checked(), [serialize(&tx)]);
    assert_eq!(node.calls(), 0);
}

#[tokio::test]
async fn refusals_of_a_check_are_answers() {
    let world = &everything_world();
    let node = Scripted::new(world);
    let router = with_node(world, &node);
    let mut waiting = Waiting::at_tip(world);
    let tx = fresh(&mut waiting, 5_000);
    let text = hex(&serialize(&tx));
    for (reason, code, retryable) in [
        ("min relay fee not met", "insufficient_fee", false),
        ("missing-inputs", "missing_inputs", true),
        ("max-fee-exceeded", "max_fee_exceeded", false),
        ("mempool-script-verify-flag-failed (Witness program hash mismatch)", "script_failed", false),
    ] {
        node.refuses(-26, reason);
        let reply = check(&router, &text).await;
        let said = &reply.body["check"];
        assert_eq!(
            (reply.status, &said["allowed"], &said["code"]),
            (200, &false.into(), &code.into()),
            "{}",
            reply.text
        );
        assert_eq!((&said["reject_reason"], &said["retryable"]), (&reason.into(), &retryable.into()));
        assert!(said["reason"].is_string() && reply.body["decoded"].is_object());
    }
    // Limits reach the node; what is burnt is checked here, since nodes check it only when they send.
    let mut burning = tx.clone();
    burning.output.push(TxOut { value: Amount::from_sat(700), script_pubkey: ScriptBuf::from_bytes(vec![0x6a]) });
    for (limit, allowed) in [(None, false), (Some(699), false), (Some(700), true)] {
        let body = json!({"tx_hex": hex(&serialize(&burning)), "dry_run": true, "max_burn_sats": limit, "max_fee_rate_sat_vb": 9});
        let reply = post(&router, BROADCAST, &body).await;
        assert_eq!(reply.body["check"]["allowed"], allowed, "{}", reply.text);
        assert_eq!(reply.body["check"]["code"], if allowed { Value::Null } else { "max_burn_exceeded".into() });
        let limits = BroadcastLimits { max_fee_rate_sat_vb: Some(9), max_burn_sats: limit };
        assert_eq!(*node.limits.lock().unwrap(), limits);
    }
    // Nobody can say without a node.
    node.answers(Err(Refused::Unavailable));
    for router in [&router, &world.open_router()] {
        let reply = check(router, &text).await;
        let said = &reply.body["check"];
        assert_eq!((&said["allowed"], &said["code"]), (&Value::Null, &"node_unavailable".into()), "{}", reply.text);
        assert!(said["reason"].is_string() && reply.body["decoded"]["fee_sats"].is_u64());
    }
    assert_eq!(node.calls(), 0);
}

#[tokio::test]
async fn unknown_coins_and_rivals_are_said() {
    let world = &everything_world();
    let node = Scripted::new(world);
    let router = with_node(world, &node);
    let mut waiting = Waiting::at_tip(world);
    // One that waits, another that spends the same coin, and one that spends an output of the first.
    let coin = waiting.coins(1_000_000).next().unwrap();
    let first = waiting.send(&[coin], &[(ScriptBuf::from_bytes(vec![0x51]), 5_000)], 1_000);
    let rival = {
        waiting.make(&[coin], &[(ScriptBuf::from_bytes(vec![0x52]), 6_000)], 2_000);
        waiting.made.last().unwrap().0.clone()
    };
    let decoded = check(&router, &hex(&serialize(&rival))).await.body["decoded"].take();
    assert_eq!(decoded["inputs"][0]["conflicts_with"], first.txid.to_string());
    assert_eq!(decoded["fee_sats"], 2_000);
    let child = crate::unconfirmed::output(&first, 0);
    waiting.make(&[child], &[], 300);
    let child = waiting.made.last().unwrap().0.clone();
    let decoded = check(&router, &hex(&serialize(&child))).await.body["decoded"].take();
    assert_eq!((&decoded["inputs"][0]["prevout"]["height"], &decoded["fee_sats"]), (&Value::Null, &300.into()));
    // The one that waits: its own spend is not a conflict.
    let known = check(&router, &hex(&serialize(&waiting.made[0].0))).await.body;
    assert_eq!((&known["state"], &known["check"]["allowed"]), (&"already_in_mempool".into(), &Value::Null));
    assert_eq!(known["decoded"]["inputs"][0]["conflicts_with"], Value::Null);
    // A coin that nobody has.
    let mut lost = rival.clone();
    lost.input[0].previous_output.vout = 7_000;
    let decoded = check(&router, &hex(&serialize(&lost))).await.body["decoded"].take();
    assert_eq!((&decoded["fee_sats"], &decoded["fee_reason"]), (&Value::Null, &"coin_unknown".into()));
    assert_eq!(
        (&decoded["inputs"][0]["prevout"], &decoded["inputs"][0]["prevout_reason"]),
        (&Value::Null, &"unknown_or_spent".into())
    );
    let mut greedy = rival;
    greedy.output[0].value = Amount::from_btc(20_000.0).unwrap();
    let decoded = check(&router, &hex(&serialize(&greedy))).await.body["decoded"].take();
    assert_eq!((&decoded["fee_sats"], &decoded["fee_reason"]), (&Value::Null, &"outputs_exceed_inputs".into()));
}

/// A PSBT of a transaction, finalized except for some inputs.
fn psbt(tx: &Transaction, is_signed: bool) -> Vec<u8> {
    let mut bare = tx.clone();
    bare.input.iter_mut().for_each(|input| input.witness.clear());
    let mut psbt = Psbt::from_unsigned_tx(bare).unwrap();
    if is_signed {
        for (of, input) in psbt.inputs.iter_mut().zip(&tx.input) {
            of.final_script_witness = Some(input.witness.clone());
        }
    }
    psbt.serialize()
}

#[tokio::test]
async fn a_complete_psbt_is_sent_as_its_transaction() {
    let world = &everything_world();
    let node = Scripted::new(world);
    let router = with_node(world, &node);
    let mut waiting = Waiting::at_tip(world);
    let tx = fresh(&mut waiting, 5_000);
    let whole = psbt(&tx, true);
    let base64 = STANDARD.encode(&whole);
    let folded = format!(" {}\n{}\r\n", &base64[..40], &base64[40..]);
    for text in [hex(&whole), hex(&whole).to_uppercase(), base64.clone(), folded] {
        let reply = post(&router, BROADCAST, &json!({"tx_hex": text})).await;
        assert_eq!((reply.status, &reply.body["state"]), (200, &"accepted".into()), "{}", reply.text);
        assert_eq!(reply.body["txid"], tx.compute_txid().to_string());
    }
    assert_eq!(submit_as(&router, "text/plain", base64).await.status, 200);
    assert_eq!(node.calls(), 5);
    // Without signatures it is shown, and not sent.
    let open = STANDARD.encode(psbt(&tx, false));
    let reply = check(&router, &open).await;
    let said = &reply.body["check"];
    assert_eq!((&said["allowed"], &said["code"]), (&false.into(), &"invalid_transaction".into()), "{}", reply.text);
    assert!(said["reason"].as_str().unwrap().contains("input 0 lacks a signature"), "{}", reply.text);
    assert_eq!(reply.body["decoded"]["outputs"][0]["value_sats"], 5_000);
    let reply = post(&router, BROADCAST, &json!({"tx_hex": open})).await;
    assert_problem(&reply, 400, "invalid_transaction");
    assert_problem(&check(&router, &hex(&whole)[..200]).await, 400, "invalid_transaction");
    assert_eq!(node.calls(), 5);
}
