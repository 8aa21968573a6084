//! Methods about single transactions.

use std::sync::Arc;

use bitcoin::consensus::{deserialize, encode::serialize_hex};
use bitcoin::{OutPoint, Transaction};
use serde_json::{Value, json};

use super::chain::header_json;
use super::render::{btc, rate, script_json, tx_json};
use super::{Args, Result, RpcError, code};
use crate::mempool::{Reject, RejectKind};
use crate::node::Node;
use crate::state::Shared;
use crate::stored::Stored;

/// Core's default for `maxfeerate`: 0.1 BTC per 1000 virtual bytes.
const MAX_FEE_RATE: u64 = 10_000_000;
const MAX_PACKAGE: usize = 25;

fn in_block(node: &Node, stored: &Stored, at: usize, verbosity: i64) -> Value {
    let tx = &stored.block.txdata[at];
    if verbosity == 0 {
        return json!(serialize_hex(tx));
    }
    let spent = node.spent(&stored.hash).filter(|_| verbosity >= 2);
    let coins = spent.as_ref().and_then(|spent| spent.get(at.checked_sub(1)?)).map(Vec::as_slice);
    let mut value = tx_json(tx, coins, true, node.style());
    let header = header_json(node, stored);
    value["blockhash"] = json!(stored.hash.to_string());
    value["confirmations"] = if node.is_active(stored) { header["confirmations"].clone() } else { json!(0) };
    if node.is_active(stored) {
        value["time"] = header["time"].clone();
        value["blocktime"] = header["time"].clone();
    }
    value
}

pub(super) fn raw_transaction(shared: &Shared, args: &Args) -> Result {
    let (txid, verbosity) = (args.txid(0)?, args.verbosity(1, 0)?);
    let world = shared.world();
    let node = &world.node;
    let position = |stored: &Stored| stored.block.txdata.iter().position(|tx| tx.compute_txid() == txid);
    let missing = |what: &str| {
        let message = format!("{what}. Use gettransaction for wallet transactions.");
        RpcError::new(code::NOT_FOUND, message)
    };
    if args.value(2).is_some() {
        let hash = args.block_hash(2)?;
        let stored = node.get(&hash).ok_or_else(|| RpcError::new(code::NOT_FOUND, "Block hash not found"))?;
        if node.is_pruned(stored) {
            return Err(RpcError::new(code::MISC, "Block not available"));
        }
        let at = position(stored).ok_or_else(|| missing("No such transaction found in the provided block"))?;
        let mut value = in_block(node, stored, at, verbosity);
        if verbosity > 0 {
            value["in_active_chain"] = json!(node.is_active(stored));
        }
        return Ok(value);
    }
    if let Some(entry) = node.pool.get(&txid) {
        return Ok(match verbosity {
            0 => json!(serialize_hex(entry.tx.as_ref())),
            _ => tx_json(&entry.tx, None, false, node.style()),
        });
    }
    let confirmed = node.block_of(&txid).filter(|_| shared.txindex);
    match confirmed.and_then(|stored| Some((stored, position(stored)?))) {
        Some((stored, at)) => Ok(in_block(node, stored, at, verbosity)),
        None if shared.txindex => Err(missing("No such mempool or blockchain transaction")),
        None => Err(missing(
            "No such mempool transaction. Use -txindex or provide a block hash to enable blockchain transaction queries",
        )),
    }
}

pub(super) fn tx_out(shared: &Shared, args: &Args) -> Result {
    let (txid, vout) = (args.txid(0)?, args.integer(1)?);
    let mempool = args.flag(2, true)?;
    let Ok(vout) = u32::try_from(vout) else { return Ok(Value::Null) };
    let outpoint = OutPoint { txid, vout };
    let world = shared.world();
    let node = &world.node;
    if mempool && node.pool.spender(&outpoint).is_some() {
        return Ok(Value::Null);
    }
    let tip = node.tip();
    let pooled = || node.pool.get(&txid).filter(|_| mempool)?.tx.output.get(vout as usize);
    let (txout, confirmations, coinbase) = match node.coins().get(&outpoint) {
        Some(coin) => (&coin.txout, tip.height - coin.height + 1, coin.coinbase),
        None => match pooled() {
            Some(txout) => (txout, 0, false),
            None => return Ok(Value::Null),
        },
    };
    Ok(json!({
        "bestblock": tip.hash.to_string(),
        "confirmations": confirmations,
        "value": btc(txout.value.to_sat()),
        "scriptPubKey": script_json(&txout.script_pubkey, node.style()),
        "coinbase": coinbase,
    }))
}

fn decode(text: &str) -> Result<Arc<Transaction>> {
    let undecodable =
        || RpcError::new(code::DESERIALIZATION, "TX decode failed. Make sure the tx has at least one input.");
    let bytes = hex::decode(text).map_err(|_| undecodable())?;
    Ok(Arc::new(deserialize::<Transaction>(&bytes).map_err(|_| undecodable())?))
}

/// The highest fee rate wanted, sat per 1000 virtual bytes; 0 means no limit. A number or a text, in BTC.
fn max_fee_rate(args: &Args, at: usize) -> Result<u64> {
    let amount = match args.value(at) {
        None => return Ok(MAX_FEE_RATE),
        Some(Value::String(text)) => text.parse::<f64>().ok(),
        Some(value) => value.as_f64(),
    };
    match amount.map(|amount| (amount * 1e8).round()) {
        Some(sats) if (0.0..=2.1e15).contains(&sats) => Ok(sats as u64),
        _ => Err(RpcError::new(code::TYPE, "Invalid amount")),
    }
}

fn too_dear(fee: u64, vsize: u64, limit: u64) -> bool {
    limit > 0 && fee > (limit * vsize).div_ceil(1000)
}

pub(super) fn send_raw_transaction(shared: &Shared, args: &Args) -> Result {
    let tx = decode(args.text(0)?)?;
    let limit = max_fee_rate(args, 1)?;
    let mut world = shared.world();
    let version = world.node.policy.version;
    let refuse = |reject: Reject| match reject.kind {
        RejectKind::MissingInputs => RpcError::new(code::VERIFY, reject.to_string()),
        RejectKind::InChain if version >= 280_000 => {
            RpcError::new(code::IN_CHAIN, "Transaction outputs already in utxo set")
        }
        RejectKind::InChain => RpcError::new(code::IN_CHAIN, "Transaction already in block chain"),
        RejectKind::Rules | RejectKind::InMempool => RpcError::new(code::REJECTED, reject.to_string()),
    };
    let txid = tx.compute_txid();
    // Core looks here first: such a transaction is announced to peers again, and nothing else happens.
    if world.node.pool.contains(&txid) {
        return Ok(json!(txid.to_string()));
    }
    let outputs = 0..tx.output.len() as u32;
    if outputs.map(|vout| OutPoint { txid, vout }).any(|outpoint| world.node.coins().contains_key(&outpoint)) {
        return Err(refuse(Reject::kind(RejectKind::InChain, "txn-already-known")));
    }
    let found = world.node.check_tx(&tx, world.now(), true).map_err(refuse)?;
    if too_dear(found.entry.fee, found.entry.vsize, limit) {
        let message = "Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)";
        return Err(RpcError::new(code::VERIFY, message));
    }
    match world.add_tx(tx.as_ref().clone()) {
        Ok(txid) => Ok(json!(txid.to_string())),
        Err(crate::Error::Reject(reject)) => Err(refuse(reject)),
        Err(other) => Err(RpcError::new(code::VERIFY, other.to_string())),
    }
}

pub(super) fn test_mempool_accept(shared: &Shared, args: &Args) -> Result {
    let list = args.value(0).and_then(Value::as_array);
    let list = list.filter(|list| !list.is_empty() && list.len() <= MAX_PACKAGE).ok_or_else(|| {
        let message = format!("Array must contain between 1 and {MAX_PACKAGE} transactions.");
        RpcError::new(code::INVALID_PARAMETER, message)
    })?;
    let limit = max_fee_rate(args, 1)?;
    let txs = list.iter().map(|text| decode(text.as_str().unwrap_or_default())).collect::<Result<Vec<_>>>()?;
    let world = shared.world();
    let node = &world.node;
    let version = node.policy.version;
    let mut answers = Vec::new();
    for tx in &txs {
        let mut answer = json!({ "txid": tx.compute_txid().to_string(), "wtxid": tx.compute_wtxid().to_string() });
        let refused = |answer: &mut Value, reason: &str, details: String| {
            answer["allowed"] = json!(false);
            answer["reject-reason"] = json!(reason);
            if version >= 290_000 {
                answer["reject-details"] = json!(details);
            }
        };
        match node.check_tx(tx, world.now(), true) {
            Ok(found) if too_dear(found.entry.fee, found.entry.vsize, limit) => {
                refused(&mut answer, "max-fee-exceeded", "max-fee-exceeded".to_owned());
            }
            Ok(found) => {
                answer["allowed"] = json!(true);
                answer["vsize"] = json!(found.entry.vsize);
                answer["fees"] = json!({
                    "base": btc(found.entry.fee),
                    "effective-feerate": rate(found.entry.fee, found.entry.vsize),
                    "effective-includes": [found.entry.wtxid.to_string()],
                });
            }
            Err(reject) => {
                let reason = match reject.kind {
                    RejectKind::MissingInputs => "missing-inputs",
                    _ => reject.reason,
                };
                refused(&mut answer, reason, reject.to_string());
            }
        }
        answers.push(answer);
    }
    Ok(Value::Array(answers))
}
