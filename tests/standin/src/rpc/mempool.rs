//! Methods about the mempool and the next block.

use std::collections::BTreeSet;

use bitcoin::Txid;
use bitcoin::consensus::encode::serialize_hex;
use cairn_chaingen::subsidy;
use serde_json::{Map, Value, json};

use super::render::btc;
use super::{Args, Result, RpcError, code};
use crate::mempool::{Entry, Mempool, signals_replacement};
use crate::node::Node;
use crate::state::Shared;

fn names<'a>(txids: impl IntoIterator<Item = &'a Txid>) -> Value {
    txids.into_iter().map(|txid| json!(txid.to_string())).collect()
}

fn entry_json(pool: &Mempool, entry: &Entry) -> Value {
    let ancestors = pool.ancestors(&entry.txid);
    let (above, below) = (pool.sums(&ancestors), pool.sums(&pool.descendants(&entry.txid)));
    let signals = ancestors.iter().filter_map(|txid| pool.get(txid)).any(|ancestor| signals_replacement(&ancestor.tx));
    json!({
        "vsize": entry.vsize,
        "weight": entry.weight,
        "time": entry.time,
        "height": entry.height,
        "descendantcount": below.count,
        "descendantsize": below.vsize,
        "ancestorcount": above.count,
        "ancestorsize": above.vsize,
        "wtxid": entry.wtxid.to_string(),
        "fees": {
            "base": btc(entry.fee),
            "modified": btc(entry.fee),
            "ancestor": btc(above.fee),
            "descendant": btc(below.fee),
        },
        "depends": names(&entry.parents),
        "spentby": names(&entry.children),
        "bip125-replaceable": signals,
        "unbroadcast": false,
    })
}

fn entries_json<'a>(pool: &Mempool, txids: impl IntoIterator<Item = &'a Txid>) -> Value {
    let entries = txids.into_iter().filter_map(|txid| pool.get(txid));
    Value::Object(entries.map(|entry| (entry.txid.to_string(), entry_json(pool, entry))).collect::<Map<_, _>>())
}

/// `getrawmempool`, in its three forms.
pub(crate) fn contents(pool: &Mempool, verbose: bool, sequence: bool) -> Result {
    match (verbose, sequence) {
        (true, true) => {
            let message = "Verbose results cannot contain mempool sequence values.";
            Err(RpcError::new(code::INVALID_PARAMETER, message))
        }
        (true, false) => Ok(entries_json(pool, pool.entries().map(|entry| &entry.txid))),
        (false, with) => {
            let txids = names(pool.entries().map(|entry| &entry.txid));
            Ok(if with { json!({ "txids": txids, "mempool_sequence": pool.sequence() }) } else { txids })
        }
    }
}

pub(super) fn raw_mempool(shared: &Shared, args: &Args) -> Result {
    let (verbose, sequence) = (args.flag(0, false)?, args.flag(1, false)?);
    contents(&shared.world().node.pool, verbose, sequence)
}

/// `getmempoolinfo`. `usage` is an estimate of Core's accounting: half the weight and 600 bytes for each transaction.
pub(crate) fn pool_info(node: &Node) -> Value {
    let (pool, policy) = (&node.pool, &node.policy);
    json!({
        "loaded": node.pool_loaded,
        "size": pool.len(),
        "bytes": pool.vsize(),
        "usage": pool.usage(),
        "total_fee": btc(pool.fees()),
        "maxmempool": policy.max_bytes,
        "mempoolminfee": btc(pool.min_fee(policy)),
        "minrelaytxfee": btc(policy.relay_fee),
        "incrementalrelayfee": btc(policy.relay_fee),
        "unbroadcastcount": 0,
        "fullrbf": policy.full_rbf(),
    })
}

pub(super) fn info(shared: &Shared, _: &Args) -> Result {
    Ok(pool_info(&shared.world().node))
}

fn absent() -> RpcError {
    RpcError::new(code::NOT_FOUND, "Transaction not in mempool")
}

pub(super) fn entry(shared: &Shared, args: &Args) -> Result {
    let txid = args.txid(0)?;
    let world = shared.world();
    let pool = &world.node.pool;
    Ok(entry_json(pool, pool.get(&txid).ok_or_else(absent)?))
}

fn relatives(shared: &Shared, args: &Args, of: fn(&Mempool, &Txid) -> BTreeSet<Txid>) -> Result {
    let (txid, verbose) = (args.txid(0)?, args.flag(1, false)?);
    let world = shared.world();
    let pool = &world.node.pool;
    if !pool.contains(&txid) {
        return Err(absent());
    }
    let mut found = of(pool, &txid);
    found.remove(&txid);
    Ok(if verbose { entries_json(pool, &found) } else { names(&found) })
}

pub(super) fn ancestors(shared: &Shared, args: &Args) -> Result {
    relatives(shared, args, Mempool::ancestors)
}

pub(super) fn descendants(shared: &Shared, args: &Args) -> Result {
    relatives(shared, args, Mempool::descendants)
}

pub(super) fn block_template(shared: &Shared, args: &Args) -> Result {
    let rules = args.value(0).and_then(|request| request.get("rules")).and_then(Value::as_array);
    if !rules.is_some_and(|rules| rules.iter().any(|rule| rule == "segwit")) {
        let message = "getblocktemplate must be called with the segwit rule set (call with {\"rules\": [\"segwit\"]})";
        return Err(RpcError::new(code::INVALID_PARAMETER, message));
    }
    let world = shared.world();
    let node = &world.node;
    let (tip, template) = (node.tip(), node.template());
    let place = |txid: &Txid| template.txids.iter().position(|other| other == txid).map(|at| at + 1);
    let transactions: Vec<Value> = template
        .txids
        .iter()
        .filter_map(|txid| node.pool.get(txid))
        .map(|entry| {
            json!({
                "data": serialize_hex(entry.tx.as_ref()),
                "txid": entry.txid.to_string(),
                "hash": entry.wtxid.to_string(),
                "depends": entry.parents.iter().filter_map(place).collect::<Vec<_>>(),
                "fee": entry.fee,
                "sigops": entry.sigops,
                "weight": entry.weight,
            })
        })
        .collect();
    let header = &tip.block.header;
    Ok(json!({
        "capabilities": ["proposal"],
        "version": 0x2000_0000,
        "rules": ["csv", "!segwit", "taproot"],
        "vbavailable": {},
        "vbrequired": 0,
        "previousblockhash": tip.hash.to_string(),
        "transactions": transactions,
        "coinbaseaux": {},
        "coinbasevalue": subsidy(tip.height + 1) + template.fees,
        "longpollid": format!("{}{}", tip.hash, node.pool.sequence()),
        "target": format!("{:x}", header.target()),
        "mintime": tip.median + 1,
        "mutable": ["time", "transactions", "prevblock"],
        "noncerange": "00000000ffffffff",
        "sigoplimit": 80_000,
        "sizelimit": 4_000_000,
        "weightlimit": 4_000_000,
        "curtime": world.now().max(u64::from(tip.median) + 1),
        "bits": format!("{:08x}", header.bits.to_consensus()),
        "height": tip.height + 1,
    }))
}
