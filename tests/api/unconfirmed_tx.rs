//! Unconfirmed transactions, looked up one by one, against what they were made of.

use std::{collections::BTreeSet, sync::Arc};

use bitcoin::{OutPoint, ScriptBuf, Transaction, Witness, consensus::serialize, hashes::Hash};
use cairn_link::Absent;
use cairn_model::{BlockHash, MempoolDelta, MempoolInput, MempoolTx, RemoveReason, Txid};
use cairn_operations::{ApiState, BroadcastLimits, NodeAccess, Question, Refused, Unreachable, router};
use serde_json::{Value, json};

use crate::{
    mempool_ops::settle,
    support::{World, address, assert_problem, everything_world, get, get_ok, hex, open_config},
    unconfirmed::{Waiting, output},
    unconfirmed_wallets::{ALL_ABSENT, fresh, resolved, seen, spoil, warned},
};

const LOOKUP: &str = "/v1/tx/{txid}";
const STATUS: &str = "/v1/tx/{txid}/status";
const OP_RETURN: &str = "/v1/tx/{txid}/op-return";

/// The transactions that this one builds on, or those that build on it, among those that wait: naively.
fn relatives(waiting: &[(Transaction, Arc<MempoolTx>)], of: &Transaction, up: bool) -> (usize, u64, u64) {
    let spends = |child: &Transaction, parent: &Transaction| {
        child.input.iter().any(|input| input.previous_output.txid == parent.compute_txid())
    };
    let mut found = BTreeSet::from([of.compute_txid()]);
    loop {
        let before = found.len();
        for (one, _) in waiting {
            for (other, _) in waiting {
                let (known, next) = if up { (one, other) } else { (other, one) };
                if spends(one, other) && found.contains(&known.compute_txid()) {
                    found.insert(next.compute_txid());
                }
            }
        }
        if found.len() == before {
            break;
        }
    }
    found.remove(&of.compute_txid());
    let kin = waiting.iter().filter(|(tx, _)| found.contains(&tx.compute_txid()));
    kin.fold((0, 0, 0), |(n, vsize, fees), (_, tx)| (n + 1, vsize + tx.adjusted_vsize(), fees + tx.fee_sats))
}

async fn check(
    world: &World,
    router: &axum::Router,
    waiting: &[(Transaction, Arc<MempoolTx>)],
    (tx, of_pool): &(Transaction, Arc<MempoolTx>),
) {
    let txid = tx.compute_txid();
    let body = &get_ok(router, LOOKUP, &format!("/v1/tx/{txid}?include_hex=true")).await;
    assert_eq!(body["txid"], txid.to_string());
    assert_eq!(body["wtxid"], tx.compute_wtxid().to_string());
    assert_eq!((&body["hex"], &body["raw_reason"]), (&hex(&serialize(tx)).into(), &Value::Null));
    assert_eq!((&body["size"], &body["vsize"]), (&tx.total_size().into(), &tx.vsize().into()));
    assert_eq!(body["weight"], tx.weight().to_wu());
    assert_eq!((&body["version"], &body["locktime"], &body["rbf"]), (&2.into(), &0.into(), &true.into()));
    assert_eq!((&body["fee_sats"], &body["is_coinbase"]), (&of_pool.fee_sats.into(), &false.into()));
    assert_eq!(body["status"]["state"], "mempool");
    assert_eq!((&body["status"]["block"], &body["status"]["confirmations"]), (&Value::Null, &0.into()));
    assert_eq!(body["status"]["block_index"], Value::Null);
    assert_eq!(body["status"]["mempool_first_seen"], seen(of_pool.first_seen_ms));
    // The next block has room for all of them.
    assert_eq!((&body["eta"]["state"], &body["eta"]["blocks"]), (&"projected".into(), &1.into()));
    for (name, up) in [("ancestors", true), ("descendants", false)] {
        let (count, vsize, fees) = relatives(waiting, tx, up);
        let expected = json!({"count": count, "vsize": vsize, "fees_sats": fees, "truncated": false});
        assert_eq!(body["cpfp"][name], expected, "{name} of {txid}");
    }
    let (_, vsize, fees) = relatives(waiting, tx, true);
    let rate = (fees + of_pool.fee_sats) as f64 / (vsize + of_pool.adjusted_vsize()) as f64;
    let told = body["cpfp"]["package_fee_rate_sat_vb"].as_f64().unwrap();
    assert!((told - rate).abs() < 0.001, "{told} instead of {rate}");
    // Its place by the miner's rules is tested with them.
    let place = world.slot.pool().projection().unwrap().position(&of_pool.txid).unwrap();
    assert_eq!(body["cpfp"]["effective_fee_rate_sat_vb"].as_f64().unwrap(), place.rate.0 as f64 / 1000.0);

    let inputs = body["inputs"].as_array().unwrap();
    assert_eq!((inputs.len(), &body["input_count"]), (tx.input.len(), &tx.input.len().into()));
    for (row, input) in inputs.iter().zip(&tx.input) {
        let at = input.previous_output;
        let prevout = &row["prevout"];
        assert_eq!((&prevout["txid"], &prevout["vout"]), (&at.txid.to_string().into(), &at.vout.into()));
        assert_eq!((&row["sequence"], &row["script_sig_hex"]), (&input.sequence.0.into(), &"".into()));
        assert_eq!(row["witness"], json!(input.witness.iter().map(hex).collect::<Vec<_>>()));
        let parent = waiting.iter().find(|(parent, _)| parent.compute_txid() == at.txid);
        let (value, script) = match (parent, world.oracle.coins().get(&at)) {
            (Some((parent, _)), _) => {
                assert_eq!((&prevout["height"], &prevout["coinbase"]), (&Value::Null, &false.into()));
                assert_eq!(row["age_days"], Value::Null);
                let out = &parent.output[at.vout as usize];
                (out.value.to_sat(), &out.script_pubkey)
            }
            (None, Some(coin)) => {
                assert_eq!((&prevout["height"], &prevout["coinbase"]), (&coin.height.into(), &coin.coinbase.into()));
                let now = world.oracle.headers().last().unwrap().monotone_time;
                assert_eq!(row["age_days"], (now - world.oracle.monotone_time(coin.height)) / 86_400);
                (coin.value_sats, &coin.script)
            }
            (None, None) => panic!("{at} is nowhere"),
        };
        assert_eq!((&prevout["value_sats"], &prevout["script_hex"]), (&value.into(), &hex(script.as_bytes()).into()));
        assert_eq!(prevout["address"], json!(address(script)));
    }
    let outputs = body["outputs"].as_array().unwrap();
    assert_eq!((outputs.len(), &body["output_count"]), (tx.output.len(), &tx.output.len().into()));
    for (vout, (row, out)) in outputs.iter().zip(&tx.output).enumerate() {
        assert_eq!(row["value_sats"], out.value.to_sat());
        assert_eq!(row["script_hex"], hex(out.script_pubkey.as_bytes()));
        assert_eq!(row["spendable"], !out.script_pubkey.is_op_return());
        assert_eq!(row["spent_by"], spender(waiting, OutPoint::new(txid, vout as u32)));
    }
    let status = get_ok(router, STATUS, &format!("/v1/tx/{txid}/status")).await;
    assert_eq!((&status["state"], &status["confirmations"]), (&"mempool".into(), &0.into()));
    assert_eq!((&status["mempool_first_seen"], &status["eta"]), (&seen(of_pool.first_seen_ms).into(), &body["eta"]));
    assert_eq!((&status["block"], &status["reason"], &status["departed"]), (&Value::Null, &Value::Null, &Value::Null));
}

fn spender(waiting: &[(Transaction, Arc<MempoolTx>)], at: OutPoint) -> Value {
    for (tx, _) in waiting {
        if let Some(vin) = tx.input.iter().position(|input| input.previous_output == at) {
            return json!({"txid": tx.compute_txid().to_string(), "vin": vin, "state": "mempool", "height": null});
        }
    }
    Value::Null
}

#[tokio::test]
async fn every_unconfirmed_transaction_in_full() {
    let world = &everything_world();
    let router = world.open_router();
    let mut pool = Waiting::at_tip(world);
    let coins: Vec<_> = pool.coins(50_000).take(6).collect();
    let first = pool.send(&coins[..2], &[(fresh(1), 10_000), (fresh(2), 20_000)], 1_000);
    let second = pool.send(&[coins[2], output(&first, 1)], &[(ScriptBuf::new_op_return([7; 9]), 0)], 5_000);
    pool.send(&[output(&second, 1), coins[3], output(&first, 0)], &[(fresh(3), 1_500)], 20_000);
    pool.send(&[coins[4]], &[], 700);
    // Many outputs, many of them spent by one transaction, backwards.
    let many: Vec<_> = (0..40).map(|n| (fresh(n), 600)).collect();
    let fan = pool.send(&[coins[5]], &many, 9_000);
    let spent: Vec<_> = (0..40).rev().filter(|n| n % 3 > 0).map(|n| output(&fan, n)).collect();
    pool.send(&spent, &[(fresh(4), 2_000)], 600);
    settle(&pool).await;
    for one in &pool.made {
        check(world, &router, &pool.made, one).await;
    }
    // Outputs of blocks that only the mempool spends.
    for at in &coins {
        let body = get_ok(&router, LOOKUP, &format!("/v1/tx/{}?io_limit=25000", at.txid)).await;
        assert_eq!(body["status"]["state"], "confirmed");
        assert_eq!(body["outputs"][at.vout as usize]["spent_by"], spender(&pool.made, *at));
    }
    // Outputs that are left out are counted.
    let body = get_ok(&router, LOOKUP, &format!("/v1/tx/{}?io_limit=2", fan.txid)).await;
    assert_eq!((body["outputs"].as_array().unwrap().len(), &body["outputs_omitted"]), (2, &39.into()));
    assert_eq!((&body["output_count"], &body["hex"]), (&41.into(), &Value::Null));
}

#[tokio::test]
async fn coins_are_dated_by_the_chain_as_it_is() {
    let world = &everything_world();
    let router = world.open_router();
    let mut pool = Waiting::at_tip(world);
    let at = pool.coins(50_000).next().unwrap();
    let coin = &world.oracle.coins()[&at];
    let tx = pool.make(&[at], &[(fresh(1), 1_000)], 500);
    // The parent was unconfirmed when the transaction came, or stood in a block that a reorg removed.
    for birth in [None, Some(coin.height + 1)] {
        let inputs = tx.inputs.iter().map(|input| MempoolInput { birth, ..input.clone() }).collect();
        let stale = Arc::new(MempoolTx { inputs, ..MempoolTx::clone(&tx) });
        pool.tell(vec![MempoolDelta::Add(Arc::clone(&stale))]);
        let body = get_ok(&router, LOOKUP, &format!("/v1/tx/{}", tx.txid)).await;
        assert_eq!(body["inputs"][0]["prevout"]["height"], coin.height);
        assert_eq!(body["inputs"][0]["prevout"]["coinbase"], coin.coinbase);
        pool.leave(&tx, RemoveReason::Unknown);
    }
    // Nobody has the parent: unconfirmed if it was so before; else index and mempool are about to change.
    let of_nobody = |birth| {
        let inputs = tx.inputs.iter().map(|i| MempoolInput { birth, prev_txid: Txid([9; 32]), ..i.clone() }).collect();
        MempoolDelta::Add(Arc::new(MempoolTx { inputs, ..MempoolTx::clone(&tx) }))
    };
    pool.tell(vec![of_nobody(None)]);
    let body = get_ok(&router, LOOKUP, &format!("/v1/tx/{}", tx.txid)).await;
    assert_eq!(body["inputs"][0]["prevout"]["height"], Value::Null);
    pool.leave(&tx, RemoveReason::Unknown);
    pool.tell(vec![of_nobody(Some(3))]);
    assert_problem(&get(&router, &format!("/v1/tx/{}", tx.txid)).await, 503, "mempool_unavailable");
}

#[tokio::test]
async fn what_left_the_mempool_says_how() {
    let world = &everything_world();
    let router = world.open_router();
    let mut pool = Waiting::at_tip(world);
    let coins: Vec<_> = pool.coins(50_000).take(7).collect();
    let replaced = pool.send(&[coins[0]], &[(fresh(1), 1_000)], 500);
    let child = pool.send(&[output(&replaced, 0)], &[], 100);
    let other = pool.send(&[coins[6]], &[(fresh(1), 1_000)], 500);
    let by = pool.send(&[coins[0], coins[6]], &[(fresh(2), 1_000)], 2_000);
    let ways = [
        (RemoveReason::Evicted, "evicted", "unknown"),
        (RemoveReason::Expired, "expired", "unknown"),
        (RemoveReason::Unknown, "unknown", "unknown"),
        (RemoveReason::Conflict, "conflict", "conflicted"),
        // A block took it that the index does not have any more.
        (RemoveReason::Confirmed { height: 9 }, "confirmed", "unknown"),
    ];
    let mut gone = Vec::new();
    for ((reason, word, state), coin) in ways.into_iter().zip(&coins[1..]) {
        let tx = pool.send(&[*coin], &[(fresh(3), 1_000)], 300);
        pool.leave(&tx, reason);
        gone.push((tx, word, state, Value::Null));
    }
    for tx in [&replaced, &child, &other] {
        gone.push((Arc::clone(tx), "replaced", "conflicted", by.txid.to_string().into()));
    }
    for (tx, word, state, replaced_by) in &gone {
        let reply = get(&router, &format!("/v1/tx/{}", tx.txid)).await;
        assert_problem(&reply, 404, "tx_not_found");
        let departed = &reply.body["departed"];
        assert_eq!((&departed["reason"], &departed["replaced_by"]), (&(*word).into(), replaced_by));
        assert_eq!(departed["height"], if *word == "confirmed" { 9.into() } else { Value::Null });
        assert_eq!(departed["mempool_first_seen"], seen(tx.first_seen_ms));
        assert_eq!(
            (&departed["fee_sats"], &departed["adjusted_vsize"]),
            (&tx.fee_sats.into(), &tx.adjusted_vsize().into())
        );
        let body = get_ok(&router, STATUS, &format!("/v1/tx/{}/status", tx.txid)).await;
        assert_eq!((&body["state"], &body["departed"]), (&(*state).into(), departed), "{word}");
        assert_eq!((&body["mempool_first_seen"], &body["eta"]), (&seen(tx.first_seen_ms).into(), &Value::Null));
        assert!(body["reason"].is_string());
        assert_problem(&get(&router, &format!("/v1/tx/{}/op-return", tx.txid)).await, 404, "tx_not_found");
    }
    let body = get_ok(&router, LOOKUP, &format!("/v1/tx/{}", by.txid)).await;
    let replaces: BTreeSet<_> =
        body["status"]["replaces"].as_array().unwrap().iter().map(|txid| txid.as_str().unwrap().to_owned()).collect();
    assert_eq!(replaces, [&replaced, &child, &other].map(|tx| tx.txid.to_string()).into());
    assert_eq!(body["status"]["replaces_truncated"], false);
    // One of them comes back: it has not left.
    pool.leave(&by, RemoveReason::Evicted);
    pool.tell(vec![MempoolDelta::Add(Arc::clone(&replaced))]);
    let body = get_ok(&router, STATUS, &format!("/v1/tx/{}/status", replaced.txid)).await;
    assert_eq!((&body["state"], &body["departed"]), (&"mempool".into(), &Value::Null));
}

#[tokio::test]
async fn a_confirmed_transaction_remembers_when_it_was_first_seen() {
    let world = &everything_world();
    let router = world.open_router();
    let mut pool = Waiting::at_tip(world);
    let block = world.oracle.blocks().iter().rev().find(|block| block.txdata.len() > 2).unwrap();
    let waited = resolved(world, &block.txdata[1], 1_790_000_000_123);
    pool.tell(vec![MempoolDelta::Add(Arc::clone(&waited))]);
    pool.leave(&waited, RemoveReason::Confirmed { height: 5 });
    for (tx, expected) in [(1, json!("2026-09-21T14:13:20.123Z")), (2, Value::Null)] {
        let txid = block.txdata[tx].compute_txid();
        let body = get_ok(&router, LOOKUP, &format!("/v1/tx/{txid}")).await;
        assert_eq!(body["status"]["mempool_first_seen"], expected);
        assert_eq!((&body["cpfp"], &body["eta"]), (&Value::Null, &Value::Null));
        let body = get_ok(&router, STATUS, &format!("/v1/tx/{txid}/status")).await;
        assert_eq!((&body["mempool_first_seen"], &body["departed"]), (&expected, &Value::Null));
        assert_eq!(body["state"], "confirmed");
    }
}

#[tokio::test]
async fn without_a_mempool_only_blocks_are_searched() {
    let world = &everything_world();
    let router = world.open_router();
    for absent in ALL_ABSENT {
        let mut pool = Waiting::at_tip(world);
        let coin = pool.coins(50_000).next().unwrap();
        let waiting = pool.send(&[coin], &[(fresh(1), 1_000)], 100);
        let code = spoil(&mut pool, absent);
        let body = get_ok(&router, LOOKUP, &format!("/v1/tx/{}?io_limit=25000", coin.txid)).await;
        assert!(warned(&body, code), "{}", body["_meta"]);
        assert_eq!(body["outputs"][coin.vout as usize]["spent_by"], Value::Null);
        let body = get_ok(&router, STATUS, &format!("/v1/tx/{}/status", waiting.txid)).await;
        assert_eq!(body["state"], "unknown");
        assert!(warned(&body, code) && body["reason"].is_string());
        let reply = get(&router, &format!("/v1/tx/{}", waiting.txid)).await;
        match absent {
            // It passes: who asks again gets an answer.
            Absent::Loading | Absent::OtherTip => assert_problem(&reply, 503, "mempool_unavailable"),
            Absent::NotWatched | Absent::Lost => assert_problem(&reply, 404, "tx_not_found"),
        }
    }
}

/// RC4, by the book.
fn rc4(key: &[u8], data: &[u8]) -> Vec<u8> {
    let mut s: Vec<usize> = (0..256).collect();
    let mut j = 0;
    for i in 0..256 {
        j = (j + s[i] + usize::from(key[i % key.len()])) % 256;
        s.swap(i, j);
    }
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    for byte in data {
        i = (i + 1) % 256;
        j = (j + s[i]) % 256;
        s.swap(i, j);
        out.push(byte ^ s[(s[i] + s[j]) % 256] as u8);
    }
    out
}

fn op_return(data: &[u8]) -> ScriptBuf {
    ScriptBuf::new_op_return(<&bitcoin::script::PushBytes>::try_from(data).unwrap())
}

#[tokio::test]
async fn what_an_unconfirmed_transaction_says() {
    let world = &everything_world();
    let router = world.open_router();
    let mut pool = Waiting::at_tip(world);
    let coin = pool.coins(50_000).next().unwrap();
    // The scrambling key is the spent transaction's id as people read it.
    let mut key = coin.txid.to_byte_array();
    key.reverse();
    let message = rc4(&key, b"CNTRPRTYhello");
    // The last push is longer than its script.
    let cut = ScriptBuf::from_bytes(vec![0x6a, 0x01, 0xff, 0x05, 0xaa, 0xbb]);
    let outputs = [(op_return(b"see https://example.org/a now"), 0), (op_return(&message), 0), (cut, 0)];
    let tx = pool.make(&[coin], &outputs, 500);
    // Two inscriptions in its witness, one with a tag that has no value; the id stays as it is.
    let mut raw = pool.made.last().unwrap().0.clone();
    let envelope = [&[0x00, 0x63, 0x03][..], b"ord", &[0x01, 0x01, 0x0a], b"text/plain", &[0x00, 0x02], b"hi", &[0x68]];
    let half = [&[0x00, 0x63, 0x03][..], b"ord", &[0x01, 0x01, 0x68]].concat();
    raw.input[0].witness = Witness::from_slice(&[[envelope.concat(), half].concat(), [&[0xc0][..], &[2; 32]].concat()]);
    let tx = MempoolTx { raw: Some(serialize(&raw).into()), ..MempoolTx::clone(&tx) };
    pool.tell(vec![MempoolDelta::Add(Arc::new(tx.clone()))]);
    let path = format!("/v1/tx/{}/op-return", tx.txid);
    let body = get_ok(&router, OP_RETURN, &path).await;
    assert_eq!(
        (&body["state"], &body["height"], &body["untrusted_content"]),
        (&"mempool".into(), &Value::Null, &true.into())
    );
    let rows = body["outputs"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["vout"], &rows[1]["vout"]), (3, &0.into(), &1.into()));
    let push = |hex: &str, cut: bool| json!({"hex": hex, "number": null, "text": null, "cut": cut});
    assert_eq!(rows[2]["pushes"], json!([push("ff", false), push("aabb", true)]), "{}", rows[2]);
    assert_eq!((&rows[2]["well_formed"], &rows[2]["data_hex"]), (&false.into(), &"ff".into()));
    assert_eq!(
        (&rows[0]["text"], &rows[0]["urls"]),
        (&"see https://example.org/a now".into(), &json!(["https://example.org/a"]))
    );
    let protocol = &rows[1]["protocols"][0];
    assert_eq!((&protocol["name"], &protocol["message_hex"]), (&"counterparty".into(), &hex(b"hello").into()));
    let expected = json!([
        {"vin": 0, "content_type": "text/plain", "content_length": 2, "text": "hi", "incomplete_field": false},
        {"vin": 0, "content_type": null, "content_length": 0, "text": null, "incomplete_field": true},
    ]);
    assert_eq!((&body["inscriptions"], &body["inscriptions_reason"]), (&expected, &Value::Null));
}

/// A node that has one transaction.
struct Has(Vec<u8>);

impl NodeAccess for Has {
    fn broadcast(&self, _: &[u8], _: BroadcastLimits) -> Result<Txid, Refused> {
        Err(Refused::Unavailable)
    }

    fn check(&self, _: &[u8], _: BroadcastLimits) -> Result<(), Refused> {
        Err(Refused::Unavailable)
    }

    fn raw_transaction(&self, _: &Txid, block: Option<&BlockHash>) -> Result<Option<Vec<u8>>, Unreachable> {
        assert!(block.is_none(), "it is in no block");
        Ok(Some(self.0.clone()))
    }

    fn raw_block(&self, _: &BlockHash) -> Result<Option<Vec<u8>>, Unreachable> {
        Err(Unreachable)
    }

    fn ask(&self, _: &Question) -> Result<Value, Refused> {
        Err(Refused::Unavailable)
    }
}

#[tokio::test]
async fn raw_parts_are_null_with_a_reason_or_come_from_the_node() {
    let world = &everything_world();
    let mut pool = Waiting::at_tip(world);
    let coin = pool.coins(50_000).next().unwrap();
    let tx = pool.make(&[coin], &[(op_return(b"text"), 0)], 500);
    pool.tell(vec![MempoolDelta::Add(Arc::new(MempoolTx { raw: None, ..MempoolTx::clone(&tx) }))]);
    let (lookup, said) = (format!("/v1/tx/{}?include_hex=true", tx.txid), format!("/v1/tx/{}/op-return", tx.txid));
    let bare = world.open_router();
    let body = get_ok(&bare, LOOKUP, &lookup).await;
    assert!(body["raw_reason"].is_string());
    assert_eq!((&body["hex"], &body["version"], &body["rbf"]), (&Value::Null, &2.into(), &true.into()));
    assert_eq!(body["wtxid"], tx.wtxid.to_string());
    let input = &body["inputs"][0];
    assert_eq!((&input["script_sig_hex"], &input["witness"]), (&Value::Null, &Value::Null));
    assert_eq!(input["sequence"], tx.inputs[0].sequence);
    let body = get_ok(&bare, OP_RETURN, &said).await;
    assert_eq!((&body["outputs"][0]["text"], &body["inscriptions"]), (&"text".into(), &Value::Null));
    assert!(body["inscriptions_reason"].is_string());

    let raw = tx.raw.clone().unwrap();
    let state = ApiState::new(Arc::clone(&world.slot) as Arc<_>, open_config());
    let asking = router(ApiState { node: Some(Arc::new(Has(raw.to_vec()))), ..state });
    let body = get_ok(&asking, LOOKUP, &lookup).await;
    assert_eq!((&body["hex"], &body["raw_reason"]), (&hex(&raw).into(), &Value::Null));
    let body = get_ok(&asking, OP_RETURN, &said).await;
    assert_eq!((&body["inscriptions"], &body["inscriptions_reason"]), (&json!([]), &Value::Null));
    // Bytes of another transaction: not believed.
    let other = pool.make(&[coin], &[], 900).raw.clone().unwrap();
    let state = ApiState::new(Arc::clone(&world.slot) as Arc<_>, open_config());
    let fooled = router(ApiState { node: Some(Arc::new(Has(other.to_vec()))), ..state });
    let body = get_ok(&fooled, LOOKUP, &lookup).await;
    assert_eq!(body["hex"], Value::Null);
    assert!(body["raw_reason"].is_string());
}
