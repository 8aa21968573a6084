//! Transactions against the blocks that they come from.

use bitcoin::{Amount, Transaction, TxOut};
use cairn_chaingen::{BlockSpec, ChainBuilder, Lock, Style};
use cairn_model::TxNum;
use cairn_testkit::Oracle;
use serde_json::{Value, json};

use crate::support::{World, address, assert_problem, everything_world, get, get_ok, hex, validator};

const LOOKUP: &str = "/v1/tx/{txid}";
const STATUS: &str = "/v1/tx/{txid}/status";
const OP_RETURN: &str = "/v1/tx/{txid}/op-return";

#[tokio::test]
async fn every_transaction_in_full() {
    let world = &everything_world();
    let router = world.open_router();
    let schema = validator(LOOKUP);
    let oracle = &world.oracle;
    let mut tx_num = 0;
    for (height, block) in oracle.blocks().iter().enumerate() {
        for (index, tx) in block.txdata.iter().enumerate() {
            let txid = tx.compute_txid();
            let reply = get(&router, &format!("/v1/tx/{txid}?include_hex=true&io_limit=25000")).await;
            assert_eq!(reply.status, 200, "{txid}: {}", reply.text);
            let body = &reply.body;
            assert!(schema.is_valid(body), "{txid}");
            assert_eq!(body["hex"], hex(&bitcoin::consensus::serialize(tx)));
            assert_eq!(body["wtxid"], tx.compute_wtxid().to_string());
            assert_eq!(body["weight"], tx.weight().to_wu());
            assert_eq!(body["vsize"], tx.vsize());
            assert_eq!(body["size"], tx.total_size());
            assert_eq!(body["fee_sats"], oracle.txs()[tx_num].fee_sats);
            assert_eq!(body["version"], tx.version.0.cast_unsigned());
            assert_eq!(body["locktime"], tx.lock_time.to_consensus_u32());
            assert_eq!(body["is_coinbase"], index == 0);
            assert_eq!(body["status"]["block"]["height"], height);
            assert_eq!(body["status"]["block"]["hash"], block.block_hash().to_string());
            assert_eq!(body["status"]["confirmations"], oracle.blocks().len() - height);
            inputs(tx, oracle, body);
            outputs(tx, TxNum(tx_num as u64), oracle, body);
            tx_num += 1;
        }
    }
}

fn inputs(tx: &Transaction, oracle: &Oracle, body: &Value) {
    let rows = body["inputs"].as_array().unwrap();
    assert_eq!(rows.len(), tx.input.len());
    for (row, input) in rows.iter().zip(&tx.input) {
        assert_eq!(row["script_sig_hex"], hex(input.script_sig.as_bytes()));
        assert_eq!(row["sequence"], input.sequence.0);
        let witness: Vec<String> = input.witness.iter().map(hex).collect();
        assert_eq!(row["witness"], json!(witness));
        if tx.is_coinbase() {
            assert_eq!(row["prevout"], Value::Null);
            continue;
        }
        let (txid, vout) = (input.previous_output.txid, input.previous_output.vout);
        let number = oracle.tx_nums(&txid)[0];
        let block = &oracle.blocks()[oracle.txs()[number.0 as usize].height as usize];
        let funding = block.txdata.iter().find(|t| t.compute_txid() == txid).unwrap();
        let spent = &funding.output[vout as usize];
        assert_eq!((&row["prevout"]["txid"], &row["prevout"]["vout"]), (&txid.to_string().into(), &vout.into()));
        assert_eq!(row["prevout"]["value_sats"], spent.value.to_sat());
        assert_eq!(row["prevout"]["script_hex"], hex(spent.script_pubkey.as_bytes()));
        assert_eq!(row["prevout"]["address"], json!(address(&spent.script_pubkey)));
        assert_eq!(row["prevout"]["coinbase"], funding.is_coinbase());
    }
}

/// A script as a row shows it: null if it is longer than any that can be spent.
fn shown(script: &[u8]) -> Value {
    if script.len() <= 10_000 { hex(script).into() } else { Value::Null }
}

fn too_long(bytes: usize) -> Value {
    if bytes <= 10_000 { Value::Null } else { "too_long".into() }
}

fn outputs(tx: &Transaction, tx_num: TxNum, oracle: &Oracle, body: &Value) {
    let rows = body["outputs"].as_array().unwrap();
    assert_eq!(rows.len(), tx.output.len());
    for (vout, (row, output)) in rows.iter().zip(&tx.output).enumerate() {
        assert_eq!(row["value_sats"], output.value.to_sat());
        assert_eq!(row["script_hex"], shown(output.script_pubkey.as_bytes()));
        assert_eq!(row["too_long_reason"], too_long(output.script_pubkey.len()));
        assert_eq!(row["address"], json!(address(&output.script_pubkey)));
        match oracle.spender(tx_num, vout as u32) {
            None => assert_eq!(row["spent_by"], Value::Null),
            Some(by) => {
                assert_eq!(row["spent_by"]["txid"], oracle.txs()[by.tx_num.0 as usize].txid.to_string());
                assert_eq!(row["spent_by"]["vin"], by.vin);
                assert_eq!(row["spent_by"]["state"], "confirmed");
                assert_eq!(row["spent_by"]["height"], oracle.txs()[by.tx_num.0 as usize].height);
            }
        }
    }
}

#[tokio::test]
async fn every_script_type_occurs_under_its_name() {
    let world = &everything_world();
    let router = world.open_router();
    let mut seen = std::collections::BTreeSet::new();
    for block in world.oracle.blocks() {
        for tx in &block.txdata {
            let body = get(&router, &format!("/v1/tx/{}?io_limit=25000", tx.compute_txid())).await.body;
            for row in body["outputs"].as_array().unwrap() {
                seen.insert(row["script_type"].as_str().unwrap().to_owned());
            }
        }
    }
    for name in [
        "pubkey",
        "pubkeyhash",
        "scripthash",
        "multisig",
        "witness_v0_keyhash",
        "witness_v0_scripthash",
        "witness_v1_taproot",
        "anchor",
        "nulldata",
        "nonstandard",
    ] {
        assert!(seen.contains(name), "{name} is not among {seen:?}");
    }
}

#[tokio::test]
async fn limits_are_reported() {
    let world = &everything_world();
    let router = world.open_router();
    let largest = world.oracle.blocks().iter().flat_map(|b| &b.txdata).max_by_key(|t| t.output.len()).unwrap();
    let body = get_ok(&router, LOOKUP, &format!("/v1/tx/{}?io_limit=3", largest.compute_txid())).await;
    assert_eq!(body["outputs"].as_array().unwrap().len(), 3);
    assert_eq!(body["outputs_omitted"], largest.output.len() - 3);
    assert_eq!(body["output_count"], largest.output.len());
    assert_eq!(body["hex"], Value::Null);
}

#[tokio::test]
async fn status_of_known_and_unknown() {
    let world = &everything_world();
    let router = world.open_router();
    let block = world.oracle.blocks().last().unwrap();
    let body = get_ok(&router, STATUS, &format!("/v1/tx/{}/status", block.txdata[0].compute_txid())).await;
    assert_eq!((&body["state"], &body["confirmations"]), (&"confirmed".into(), &1.into()));
    let unknown = "77".repeat(32);
    let body = get_ok(&router, STATUS, &format!("/v1/tx/{unknown}/status")).await;
    assert_eq!((&body["state"], &body["block"]), (&"unknown".into(), &Value::Null));
    assert!(body["reason"].is_string());
    for path in [format!("/v1/tx/{unknown}"), format!("/v1/tx/{unknown}/op-return")] {
        assert_problem(&get(&router, &path).await, 404, "tx_not_found");
    }
}

#[tokio::test]
async fn transactions_of_stale_branches_are_unknown() {
    let world = &everything_world();
    let router = world.open_router();
    let mut found = 0;
    for block in world.chain.stale().into_iter().flatten() {
        let coinbase = block.block.txdata[0].compute_txid();
        if world.oracle.tx_nums(&coinbase).is_empty() {
            let body = get_ok(&router, STATUS, &format!("/v1/tx/{coinbase}/status")).await;
            assert_eq!(body["state"], "unknown");
            found += 1;
        }
        assert_problem(&get(&router, &format!("/v1/blocks/{}", block.hash())).await, 404, "block_not_found");
    }
    assert!(found > 0);
}

#[tokio::test]
async fn op_returns_are_decoded() {
    let world = &everything_world();
    let router = world.open_router();
    let mut commitments = 0;
    let mut others = 0;
    for tx in world.oracle.blocks().iter().flat_map(|b| &b.txdata) {
        let carriers: Vec<_> =
            tx.output.iter().enumerate().filter(|(_, o)| o.script_pubkey.as_bytes().first() == Some(&0x6a)).collect();
        if carriers.is_empty() {
            continue;
        }
        let body = get_ok(&router, OP_RETURN, &format!("/v1/tx/{}/op-return", tx.compute_txid())).await;
        assert_eq!(body["untrusted_content"], true);
        let rows = body["outputs"].as_array().unwrap();
        assert_eq!(rows.len(), carriers.len());
        for (row, (vout, output)) in rows.iter().zip(carriers) {
            assert_eq!(row["vout"], vout);
            assert_eq!(row["script_hex"], shown(output.script_pubkey.as_bytes()));
            assert_eq!(row["script_bytes"], output.script_pubkey.len());
            let is_commitment = row["protocols"][0]["name"] == "witness_commitment";
            commitments += usize::from(is_commitment);
            others += usize::from(!is_commitment);
        }
    }
    assert!(commitments > 10 && others > 0, "{commitments} commitments, {others} others");
}

#[tokio::test]
async fn without_block_files_raw_parts_are_null_with_a_reason() {
    let chain = cairn_chaingen::everything(
        3,
        &cairn_chaingen::EverythingOptions { blocks: 5, max_txs: 1, forks: vec![], showpieces: false },
    )
    .unwrap();
    let world = crate::support::World::of(chain);
    let router = world.open_router();
    let txid = &world.oracle.blocks()[3].txdata[0].compute_txid();
    let path = format!("/v1/tx/{txid}?include_hex=true");
    assert!(get_ok(&router, LOOKUP, &path).await["hex"].is_string());
    // Another block's bytes at the same place: not believed.
    let file = world.blocks_dir.join("blk00000.dat");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, vec![0x55; bytes.len()]).unwrap();
    for _ in 0..2 {
        let body = get_ok(&router, LOOKUP, &path).await;
        for key in ["hex", "wtxid", "version", "locktime", "rbf"] {
            assert_eq!(body[key], Value::Null, "{key}");
        }
        assert!(body["raw_reason"].is_string());
        assert_eq!(body["fee_sats"], 0);
        assert!(!body.to_string().contains("blk00000"));
        let _ = std::fs::remove_file(&file);
    }
}

/// Core from 28.0 on shows the same (`"version": 4294967295`); before, it was -1.
#[tokio::test]
async fn versions_have_no_sign() {
    let mut builder = ChainBuilder::new(6);
    let script_pubkey = builder.keyring().script(&Lock::P2wpkh { key: 1 }).unwrap();
    (0..101).for_each(|_| _ = builder.mine(&BlockSpec::paying(script_pubkey.clone())).unwrap());
    let coin = builder.spendable()[0];
    let output = TxOut { value: Amount::from_sat(4_000_000_000), script_pubkey };
    let tx = builder.spend(&[coin], vec![output], &Style { version: -1, ..Style::default() }).unwrap();
    let path = format!("/v1/tx/{}", tx.compute_txid());
    builder.add(tx).unwrap();
    builder.mine(&BlockSpec::default()).unwrap();
    let body = get_ok(&World::of(builder.into_chain()).open_router(), "/v1/tx/{txid}", &path).await;
    assert_eq!(body["version"], 4_294_967_295u32);
}
