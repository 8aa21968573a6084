//! Methods about blocks and the chain.

use std::sync::Arc;

use bitcoin::consensus::{deserialize, encode::serialize_hex};
use bitcoin::{Block, BlockHash, Network};
use serde_json::{Value, json};

use super::args::parse_hash;
use super::render::{Style, btc, tx_json};
use super::{Args, Result, RpcError, code};
use crate::Error;
use crate::node::{Node, muhash, totals};
use crate::state::Shared;
use crate::stored::Stored;

impl Node {
    pub(crate) fn style(&self) -> Style {
        Style { network: self.network, version: self.policy.version }
    }
}

pub(super) fn not_found() -> RpcError {
    RpcError::new(code::NOT_FOUND, "Block not found")
}

fn find<'a>(node: &'a Node, hash: &BlockHash) -> Result<&'a Arc<Stored>> {
    node.get(hash).ok_or_else(not_found)
}

/// A block whose data are there.
fn with_data<'a>(node: &'a Node, hash: &BlockHash) -> Result<&'a Arc<Stored>> {
    let stored = find(node, hash)?;
    match node.is_pruned(stored) {
        true => Err(RpcError::new(code::MISC, "Block not available (pruned data)")),
        false => Ok(stored),
    }
}

pub(super) fn best_block_hash(shared: &Shared, _: &Args) -> Result {
    Ok(json!(shared.world().node.tip().hash.to_string()))
}

pub(super) fn block_count(shared: &Shared, _: &Args) -> Result {
    Ok(json!(shared.world().node.height()))
}

pub(super) fn block_hash(shared: &Shared, args: &Args) -> Result {
    let height = args.integer(0)?;
    let world = shared.world();
    let stored = u32::try_from(height).ok().and_then(|height| world.node.at(height));
    let stored = stored.ok_or_else(|| RpcError::new(code::INVALID_PARAMETER, "Block height out of range"))?;
    Ok(json!(stored.hash.to_string()))
}

pub(super) fn difficulty(shared: &Shared, _: &Args) -> Result {
    Ok(json!(difficulty_of(shared.world().node.tip())))
}

fn difficulty_of(stored: &Stored) -> f64 {
    // By Core's own formula: the library's one is in whole numbers.
    let bits = stored.block.header.bits.to_consensus();
    let mut difficulty = f64::from(0xffffu32) / f64::from(bits & 0x00ff_ffff);
    difficulty *= 256f64.powi(29 - (bits >> 24) as i32);
    difficulty
}

fn hex_of_work(stored: &Stored) -> String {
    hex::encode(stored.work.to_be_bytes())
}

fn chain_name(network: Network) -> &'static str {
    match network {
        Network::Bitcoin => "main",
        Network::Testnet => "test",
        Network::Testnet4 => "testnet4",
        Network::Signet => "signet",
        Network::Regtest => "regtest",
    }
}

/// `getblockchaininfo`.
pub(crate) fn chain_info(node: &Node) -> Value {
    let tip = node.tip();
    let headers = node.headers.max(node.height());
    let mut info = json!({
        "chain": chain_name(node.network),
        "blocks": tip.height,
        "headers": headers,
        "bestblockhash": tip.hash.to_string(),
        "difficulty": difficulty_of(tip),
        "time": tip.block.header.time,
        "mediantime": tip.median,
        "verificationprogress": f64::from(tip.height + 1) / f64::from(headers + 1),
        "initialblockdownload": node.ibd,
        "chainwork": hex_of_work(tip),
        "size_on_disk": (0..=tip.height).filter_map(|height| node.at(height)).map(|b| b.raw.len()).sum::<usize>(),
        "pruned": node.pruned_below.is_some(),
    });
    if node.policy.version >= 290_000 {
        info["bits"] = json!(format!("{:08x}", tip.block.header.bits.to_consensus()));
        info["target"] = json!(format!("{:x}", tip.block.header.target()));
    }
    if let Some(lowest) = node.pruned_below {
        info["pruneheight"] = json!(lowest);
        info["automatic_pruning"] = json!(false);
    }
    if node.network == Network::Signet && node.policy.version >= 280_000 {
        info["signet_challenge"] = json!(node.signet_challenge);
    }
    info["warnings"] = warnings(node);
    info
}

/// A list from v28 on, a text before.
pub(super) fn warnings(node: &Node) -> Value {
    if node.policy.version >= 280_000 { json!([]) } else { json!("") }
}

pub(super) fn blockchain_info(shared: &Shared, _: &Args) -> Result {
    Ok(chain_info(&shared.world().node))
}

/// A header in the form of `getblockheader`.
pub(crate) fn header_json(node: &Node, stored: &Stored) -> Value {
    let header = &stored.block.header;
    let active = node.is_active(stored);
    let confirmations = if active { i64::from(node.height() - stored.height) + 1 } else { -1 };
    let mut value = json!({
        "hash": stored.hash.to_string(),
        "confirmations": confirmations,
        "height": stored.height,
        "version": header.version.to_consensus(),
        "versionHex": format!("{:08x}", header.version.to_consensus()),
        "merkleroot": header.merkle_root.to_string(),
        "time": header.time,
        "mediantime": stored.median,
        "nonce": header.nonce,
        "bits": format!("{:08x}", header.bits.to_consensus()),
    });
    if node.policy.version >= 290_000 {
        value["target"] = json!(format!("{:x}", header.target()));
    }
    value["difficulty"] = json!(difficulty_of(stored));
    value["chainwork"] = json!(hex_of_work(stored));
    value["nTx"] = json!(stored.block.txdata.len());
    if stored.height > 0 {
        value["previousblockhash"] = json!(header.prev_blockhash.to_string());
    }
    if active && let Some(next) = node.at(stored.height + 1) {
        value["nextblockhash"] = json!(next.hash.to_string());
    }
    value
}

pub(super) fn block_header(shared: &Shared, args: &Args) -> Result {
    let hash = args.block_hash(0)?;
    let verbose = args.flag(1, true)?;
    let world = shared.world();
    let stored = find(&world.node, &hash)?;
    Ok(if verbose { header_json(&world.node, stored) } else { json!(serialize_hex(&stored.block.header)) })
}

/// A block in the form of `getblock`: verbosity 1 (txids), 2 (transactions), 3 (with the coins they spend).
pub(crate) fn block_json(node: &Node, stored: &Stored, verbosity: i64) -> Value {
    let block = &stored.block;
    let mut value = header_json(node, stored);
    value["strippedsize"] = json!((block.weight().to_wu() as usize - stored.raw.len()) / 3);
    value["size"] = json!(stored.raw.len());
    value["weight"] = json!(block.weight().to_wu());
    value["tx"] = match verbosity {
        ..=1 => block.txdata.iter().map(|tx| json!(tx.compute_txid().to_string())).collect(),
        _ => {
            let spent = node.spent(&stored.hash);
            let coins = |at: usize| spent.as_ref()?.get(at.checked_sub(1)?).map(Vec::as_slice);
            let txs = block.txdata.iter().enumerate();
            txs.map(|(at, tx)| tx_json(tx, coins(at), verbosity >= 3, node.style())).collect()
        }
    };
    value
}

pub(super) fn block(shared: &Shared, args: &Args) -> Result {
    let hash = args.block_hash(0)?;
    let verbosity = args.verbosity(1, 1)?;
    let stored = {
        let world = shared.world();
        let stored = with_data(&world.node, &hash)?;
        if verbosity > 0 {
            return Ok(block_json(&world.node, stored, verbosity));
        }
        Arc::clone(stored)
    };
    Ok(json!(hex::encode(&stored.raw)))
}

pub(super) fn chain_tips(shared: &Shared, _: &Args) -> Result {
    let tips = shared.world().node.tips();
    let tip = |(block, branch, status): &(Arc<Stored>, u32, &str)| json!({ "height": block.height, "hash": block.hash.to_string(), "branchlen": branch, "status": status });
    Ok(tips.iter().map(tip).collect())
}

pub(super) fn tx_out_set_info(shared: &Shared, args: &Args) -> Result {
    let kind = args.value(0).and_then(Value::as_str).unwrap_or("hash_serialized_3");
    if !["muhash", "none"].contains(&kind) {
        let message = match kind {
            "hash_serialized_3" => "the stand-in computes muhash and none only".to_owned(),
            other => format!("'{other}' is not a valid hash_type"),
        };
        return Err(RpcError::new(code::INVALID_PARAMETER, message));
    }
    // The set is copied, so that a long computation holds nobody up.
    let (stored, coins) = {
        let world = shared.world();
        let node = &world.node;
        let stored = match args.value(1) {
            None => Arc::clone(node.tip()),
            Some(_) if !shared.coinstatsindex => {
                let message = "Querying specific block heights requires coinstatsindex";
                return Err(RpcError::new(code::INVALID_PARAMETER, message));
            }
            Some(Value::String(hash)) => Arc::clone(find(node, &parse_hash(hash, "hash_or_height")?)?),
            Some(_) => {
                let height = u32::try_from(args.integer(1)?).ok();
                let above = || RpcError::new(code::INVALID_PARAMETER, "Target block height after current tip");
                Arc::clone(height.and_then(|height| node.at(height)).ok_or_else(above)?)
            }
        };
        if !node.is_active(&stored) {
            return Err(RpcError::new(code::INVALID_PARAMETER, "the stand-in knows the coins of active blocks only"));
        }
        let coins = if stored.height == node.height() { node.coins().clone() } else { node.coins_at(stored.height) };
        (stored, coins)
    };
    let sums = totals(&coins);
    let mut value = json!({
        "height": stored.height,
        "bestblock": stored.hash.to_string(),
        "txouts": sums.coins,
        "bogosize": sums.bogosize,
    });
    if kind == "muhash" {
        value["muhash"] = json!(muhash(&coins));
    }
    value["total_amount"] = btc(sums.sats);
    // With the index, these two are not known.
    if !shared.coinstatsindex {
        value["transactions"] = json!(sums.txs);
        value["disk_size"] = json!(sums.bogosize);
    }
    Ok(value)
}

fn change_error(error: &Error) -> RpcError {
    match error {
        Error::UnknownBlock(_) => not_found(),
        other => RpcError::new(code::DATABASE, other.to_string()),
    }
}

pub(super) fn invalidate_block(shared: &Shared, args: &Args) -> Result {
    let hash = args.block_hash(0)?;
    shared.world().invalidate(&hash).map_err(|error| change_error(&error))?;
    Ok(Value::Null)
}

pub(super) fn reconsider_block(shared: &Shared, args: &Args) -> Result {
    let hash = args.block_hash(0)?;
    shared.world().reconsider(&hash).map_err(|error| change_error(&error))?;
    Ok(Value::Null)
}

pub(super) fn submit_block(shared: &Shared, args: &Args) -> Result {
    let undecodable = || RpcError::new(code::DESERIALIZATION, "Block decode failed");
    let bytes = hex::decode(args.text(0)?).map_err(|_| undecodable())?;
    let block: Block = deserialize(&bytes).map_err(|_| undecodable())?;
    match shared.world().connect(block) {
        Ok(()) => Ok(Value::Null),
        // Not an error: the reason is the result.
        Err(Error::Block { reason, .. }) => Ok(json!(reason)),
        Err(other) => Err(RpcError::new(code::VERIFY, other.to_string())),
    }
}
