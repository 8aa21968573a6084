//! Data for watchers: members of the objects that they get.

use axum::extract::ws::Utf8Bytes;
use cairn_chain::Pinned;
use cairn_http::ApiError;
use cairn_model::{Height, Txid};
use serde::Serialize;
use serde_json::json;

use crate::{
    block_extras::FullBlock,
    fees,
    watch_message::Wanted,
    watchers::{Position, TxState},
};

/// Blocks of a list.
const BLOCKS: Height = 8;
/// One bitcoin in satoshis.
const COIN: f64 = 100_000_000.0;

/// A member of an object.
pub(crate) fn member(name: &str, value: &impl Serialize) -> Result<String, ApiError> {
    Ok(format!("\"{name}\":{}", serde_json::to_string(value)?))
}

/// A message of these members.
pub(crate) fn message<S: AsRef<str>>(members: &[S]) -> Utf8Bytes {
    let length: usize = members.iter().map(|member| member.as_ref().len() + 1).sum();
    let mut text = String::with_capacity(length + 1);
    text.push('{');
    for (at, member) in members.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(member.as_ref());
    }
    text.push('}');
    text.into()
}

/// `blocks`: the newest blocks, oldest first.
pub(crate) fn blocks(at: &Pinned<'_>) -> Result<String, ApiError> {
    let tip = at.view.tip().height;
    let blocks: Result<Vec<FullBlock>, ApiError> =
        (tip.saturating_sub(BLOCKS - 1)..=tip).map(|height| full_block(at, height)).collect();
    member("blocks", &blocks?)
}

/// `block`: one block.
pub(crate) fn block(at: &Pinned<'_>, height: Height) -> Result<String, ApiError> {
    member("block", &full_block(at, height)?)
}

fn full_block(at: &Pinned<'_>, height: Height) -> Result<FullBlock, ApiError> {
    Ok(FullBlock::new(at, height, &at.header(height)?))
}

/// `mempool-blocks`: the blocks that would be mined now.
pub(crate) fn mempool_blocks(at: &Pinned<'_>) -> Result<String, ApiError> {
    member("mempool-blocks", &fees::next_blocks(at)?)
}

/// `mempoolInfo`, `vBytesPerSecond` and `fees`, each if it is known.
pub(crate) fn stats(at: &Pinned<'_>) -> Result<Vec<String>, ApiError> {
    let stats = at.mempool()?.stats(cairn_clock::now_ms());
    let mut info = json!({"loaded": true, "size": stats.count, "bytes": stats.vsize});
    if let Some(floor) = &stats.floor {
        info["usage"] = floor.usage_bytes.into();
        info["maxmempool"] = floor.max_bytes.into();
        info["mempoolminfee"] = (floor.mempool_min_fee as f64 / COIN).into();
        info["minrelaytxfee"] = (floor.min_relay_fee as f64 / COIN).into();
    }
    let mut members = vec![member("mempoolInfo", &info)?];
    if let Some(inflow) = &stats.inflow {
        members.push(member("vBytesPerSecond", &(inflow.milli_vb_per_second() / 1_000))?);
    }
    if let Some(fees) = fees::whole_fees(at)? {
        members.push(member("fees", &fees)?);
    }
    Ok(members)
}

/// The present data. Those of the mempool are left out while it cannot be read.
pub(crate) fn present(at: &Pinned<'_>, wanted: Wanted) -> Result<Vec<String>, ApiError> {
    let mut members = Vec::new();
    if wanted.blocks {
        members.push(blocks(at)?);
    }
    let has_mempool = (wanted.mempool_blocks || wanted.stats) && is_readable(at)?;
    if wanted.mempool_blocks && has_mempool {
        members.push(mempool_blocks(at)?);
    }
    if wanted.stats && has_mempool {
        members.extend(stats(at)?);
    }
    Ok(members)
}

/// True if the mempool can be read.
///
/// # Errors
/// Fails while it is at another tip, which lasts for a moment: the caller reads again.
pub(crate) fn is_readable(at: &Pinned<'_>) -> Result<bool, ApiError> {
    match at.mempool() {
        Ok(_) => Ok(true),
        Err(error) if at.is_mempool_at_other_tip() => Err(error),
        Err(_) => Ok(false),
    }
}

/// The states of transactions. Those that are not in the mempool are left out unless `with_chain`, and those that are
/// in no block while the mempool cannot be read.
pub(crate) fn tx_states(at: &Pinned<'_>, txids: &[Txid], with_chain: bool) -> Result<Vec<(Txid, TxState)>, ApiError> {
    let mempool = if is_readable(at)? { Some(at.mempool()?) } else { None };
    let (mut states, mut waiting) = (Vec::new(), Vec::new());
    for txid in txids {
        if mempool.is_some_and(|mempool| mempool.get(txid).is_some()) {
            waiting.push(*txid);
        } else if with_chain {
            let state = match (at.view.transactions().by_txid(txid)?, mempool) {
                (Some(stored), _) => TxState::Confirmed(at.header(stored.height)?.hash),
                (None, Some(mempool)) => match mempool.departed(txid).map(|departed| departed.reason) {
                    Some(cairn_model::RemoveReason::Replaced { by }) => TxState::Replaced(by),
                    _ => TxState::Unknown,
                },
                (None, None) => continue,
            };
            states.push((*txid, state));
        }
    }
    waiting.sort_unstable();
    let positions = positions(at, &waiting)?;
    states.extend(waiting.into_iter().zip(positions).map(|(txid, position)| (txid, TxState::Waiting(position))));
    Ok(states)
}

/// The positions of unconfirmed transactions, which are given in ascending order.
fn positions(at: &Pinned<'_>, txids: &[Txid]) -> Result<Vec<Option<Position>>, ApiError> {
    let mut found = vec![None; txids.len()];
    let Some(projection) = at.projection()? else { return Ok(found) };
    let mut blocks: Vec<u32> =
        txids.iter().filter_map(|txid| projection.position(txid)).filter_map(|position| position.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let mempool = at.mempool()?;
    for block in blocks {
        let mut before = 0;
        for txid in projection.txids_of(block as usize) {
            // The projection may be older than the mempool.
            let Some(tx) = mempool.get(txid) else { continue };
            let vsize = tx.adjusted_vsize();
            if let Ok(at) = txids.binary_search(txid) {
                found[at] = Some(Position { block, vsize: before + vsize / 2 });
            }
            before += vsize;
        }
    }
    Ok(found)
}

/// `txPosition`.
pub(crate) fn position(txid: &Txid, position: Option<Position>) -> String {
    let position = match position {
        Some(Position { block, vsize }) => format!(r#"{{"block":{block},"vsize":{vsize}}}"#),
        None => "null".to_owned(),
    };
    format!(r#""txPosition":{{"txid":"{txid}","position":{position}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_json() {
        let txid = Txid([0x11; 32]);
        let known = position(&txid, Some(Position { block: 2, vsize: 7 }));
        let parsed: serde_json::Value = serde_json::from_str(message(&[known]).as_str()).unwrap();
        assert_eq!(parsed["txPosition"]["position"], json!({"block": 2, "vsize": 7}));
        let both = message(&[position(&txid, None), member("a", &"\"").unwrap()]);
        let parsed: serde_json::Value = serde_json::from_str(both.as_str()).unwrap();
        assert_eq!((&parsed["txPosition"]["position"], &parsed["a"]), (&json!(null), &json!("\"")));
        assert_eq!(message::<String>(&[]).as_str(), "{}");
    }
}
