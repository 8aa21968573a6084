//! Transactions of the chain, against the transactions themselves and the ledger.

use axum::Router;
use bitcoin::{
    MerkleBlock, Script, Transaction, Txid,
    consensus::{encode::deserialize_hex, serialize},
    hashes::{Hash, sha256d},
    script::Instruction,
};
use cairn_model::TxNum;
use serde_json::{Value, json as value};

use super::{LONG, SHORT, esplora, found, json, list, rebuilt, refused, text};
use crate::support::{World, address, everything_world, hex};

/// Checks an output of a transaction, or an output that it spends.
fn check_output(found: &Value, sats: u64, script: &Script) {
    assert_eq!((&found["value"], &found["scriptpubkey"]), (&sats.into(), &hex(script.as_bytes()).into()));
    assert_eq!(found["scriptpubkey_asm"], script.to_asm_string());
    assert_eq!(found.get("scriptpubkey_address").cloned(), address(script).map(Value::from));
    let kind = if script.is_empty() {
        "empty"
    } else if script.is_op_return() {
        "op_return"
    } else if script.is_p2pkh() {
        "p2pkh"
    } else if script.is_p2sh() {
        "p2sh"
    } else if script.is_p2wpkh() {
        "v0_p2wpkh"
    } else if script.is_p2wsh() {
        "v0_p2wsh"
    } else if script.is_p2tr() {
        "v1_p2tr"
    } else {
        let other = found["scriptpubkey_type"].as_str().unwrap();
        assert!(["p2pk", "multisig", "anchor", "provably_unspendable", "unknown"].contains(&other), "{other}");
        other
    };
    assert_eq!(found["scriptpubkey_type"], kind);
}

/// The data of the last operation of a scriptSig.
fn last_push(script: &Script) -> Option<&Script> {
    match script.instructions().last() {
        Some(Ok(Instruction::PushBytes(data))) => Some(Script::from_bytes(data.as_bytes())),
        _ => None,
    }
}

/// Checks the JSON of a transaction; `spent` has the value and script of the outputs that it spends.
pub(super) fn check_json(found: &Value, tx: &Transaction, spent: &[(u64, &Script)]) {
    assert_eq!(rebuilt(found), *tx);
    assert_eq!(found["txid"], tx.compute_txid().to_string());
    assert_eq!((&found["size"], &found["weight"]), (&tx.total_size().into(), &tx.weight().to_wu().into()));
    let paid: u64 = tx.output.iter().map(|out| out.value.to_sat()).sum();
    let fee = if tx.is_coinbase() { 0 } else { spent.iter().map(|(sats, _)| sats).sum::<u64>() - paid };
    assert_eq!(found["fee"], fee);
    for (at, (row, input)) in list(&found["vin"]).iter().zip(&tx.input).enumerate() {
        assert_eq!((&row["is_coinbase"], row["prevout"].is_null()), (&tx.is_coinbase().into(), tx.is_coinbase()));
        assert_eq!(row["scriptsig_asm"], input.script_sig.to_asm_string());
        assert_eq!(row.get("witness").is_some(), !input.witness.is_empty());
        let Some((sats, script)) = spent.get(at) else {
            assert_eq!((&row["txid"], &row["vout"]), (&"0".repeat(64).into(), &u32::MAX.into()));
            continue;
        };
        check_output(&row["prevout"], *sats, script);
        let redeem = script.is_p2sh().then(|| last_push(&input.script_sig)).flatten();
        assert_eq!(row.get("inner_redeemscript_asm").cloned(), redeem.map(|inner| inner.to_asm_string().into()));
        let is_wsh = script.is_p2wsh() || redeem.is_some_and(Script::is_p2wsh);
        if is_wsh {
            let inner = Script::from_bytes(input.witness.last().unwrap()).to_asm_string();
            assert_eq!(row["inner_witnessscript_asm"], inner);
        } else if !script.is_p2tr() {
            assert!(row.get("inner_witnessscript_asm").is_none());
        }
    }
    for (row, out) in list(&found["vout"]).iter().zip(&tx.output) {
        check_output(row, out.value.to_sat(), &out.script_pubkey);
    }
}

/// The hash that a proof of Electrum's form leads to.
fn root(txid: &Txid, proof: &Value) -> [u8; 32] {
    let (mut hash, mut at) = (txid.to_byte_array(), proof["pos"].as_u64().unwrap());
    for sibling in list(&proof["merkle"]) {
        let sibling = sibling.as_str().unwrap().parse::<Txid>().unwrap().to_byte_array();
        let both = if at % 2 == 0 { [hash, sibling] } else { [sibling, hash] };
        hash = sha256d::Hash::hash(&both.concat()).to_byte_array();
        at /= 2;
    }
    hash
}

async fn check_proofs(world: &World, router: &Router, txid: &Txid, height: u32, index: usize) {
    let header = world.oracle.blocks()[height as usize].header;
    let proof = json(router, &format!("/tx/{txid}/merkle-proof")).await;
    assert_eq!((&proof["block_height"], &proof["pos"]), (&height.into(), &index.into()));
    assert_eq!(root(txid, &proof), header.merkle_root.to_byte_array());
    let proof: MerkleBlock = deserialize_hex(&text(router, &format!("/tx/{txid}/merkleblock-proof")).await).unwrap();
    let (mut matches, mut indexes) = (Vec::new(), Vec::new());
    proof.extract_matches(&mut matches, &mut indexes).unwrap();
    assert_eq!((proof.header, matches, indexes), (header, vec![*txid], vec![index as u32]));
}

async fn check_outspends(world: &World, router: &Router, tx: &Transaction, number: TxNum) {
    let (txid, oracle) = (tx.compute_txid(), &world.oracle);
    let listed = json(router, &format!("/tx/{txid}/outspends")).await;
    assert_eq!(list(&listed).len(), tx.output.len());
    for (vout, row) in (0u32..).zip(list(&listed)) {
        let expected = match oracle.spender(number, vout) {
            None => value!({"spent": false}),
            Some(by) => {
                let spender = &oracle.txs()[by.tx_num.0 as usize];
                let block = &oracle.blocks()[spender.height as usize];
                let status = value!({
                    "confirmed": true,
                    "block_height": spender.height,
                    "block_hash": block.block_hash().to_string(),
                    "block_time": block.header.time,
                });
                value!({"spent": true, "txid": spender.txid.to_string(), "vin": by.vin, "status": status})
            }
        };
        assert_eq!(*row, expected);
        // Each one of the large showpieces would take long.
        if vout < 3 {
            assert_eq!(json(router, &format!("/tx/{txid}/outspend/{vout}")).await, expected);
        }
    }
    assert_eq!(json(router, &format!("/txs/outspends?txids={txid}")).await, value!([listed]));
    let none = json(router, &format!("/tx/{txid}/outspend/{}", tx.output.len())).await;
    assert_eq!(none, value!({"spent": false}));
}

/// Checks every route of the transactions of the blocks from a height on.
pub(super) async fn check_from(world: &World, router: &Router, from: u32) {
    let oracle = &world.oracle;
    let tip = oracle.blocks().len() as u32 - 1;
    for (number, height, tx) in oracle.transactions(tip).filter(|(_, height, _)| *height >= from) {
        let (txid, block) = (tx.compute_txid(), &oracle.blocks()[height as usize]);
        if oracle.tx_nums(&txid).last() != Some(&number) {
            continue;
        }
        let spent = oracle.spent(number).iter().map(|coin| (coin.value_sats, &*coin.script));
        let said = found(router, &format!("/tx/{txid}")).await;
        check_json(&said.json(), tx, &spent.collect::<Vec<_>>());
        assert_eq!(said.json()["fee"], oracle.txs()[number.0 as usize].fee_sats);
        assert_eq!(said.header("cache-control"), if height + 10 <= tip { LONG } else { SHORT });
        let status = value!({
            "confirmed": true,
            "block_height": height,
            "block_hash": block.block_hash().to_string(),
            "block_time": block.header.time,
        });
        assert_eq!(said.json()["status"], status);
        assert_eq!(json(router, &format!("/tx/{txid}/status")).await, status);
        assert_eq!(text(router, &format!("/tx/{txid}/hex")).await, hex(&serialize(tx)));
        assert_eq!(found(router, &format!("/tx/{txid}/raw")).await.bytes, serialize(tx));
        let first = oracle.headers()[height as usize].first_tx;
        check_proofs(world, router, &txid, height, (number.0 - first.0) as usize).await;
        check_outspends(world, router, tx, number).await;
    }
}

#[tokio::test]
async fn every_transaction_in_all_its_forms() {
    let world = &everything_world();
    let router = esplora(world, None);
    check_from(world, &router, 0).await;
}

#[tokio::test]
async fn unknown_transactions_are_told_as_electrs_does() {
    let world = &everything_world();
    let router = esplora(world, None);
    let none = "11".repeat(32);
    for rest in ["", "/hex", "/raw", "/outspends"] {
        refused(&router, &format!("/tx/{none}{rest}"), 404, "Transaction not found").await;
    }
    for rest in ["merkle-proof", "merkleblock-proof"] {
        refused(&router, &format!("/tx/{none}/{rest}"), 404, "Transaction not found or is unconfirmed").await;
    }
    assert_eq!(json(&router, &format!("/tx/{none}/status")).await, value!({"confirmed": false}));
    assert_eq!(json(&router, &format!("/tx/{none}/outspend/0")).await, value!({"spent": false}));
    assert_eq!(json(&router, &format!("/txs/outspends?txids={none},xyz")).await, value!([[], []]));
}
