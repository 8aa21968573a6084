//! The demo's unconfirmed transactions: written to a file, read from it, and published to requests.

use std::sync::Arc;

use cairn_demo::{Unconfirmed, WAITING_SPAN};
use cairn_link::IndexSlot;
use cairn_model::{
    MempoolDelta, MempoolInput, MempoolOutput, MempoolTx, MempoolWatch, NodeFloor, RemoveReason, SourceKind,
    SourceStatus, Txid,
};
use cairn_reader::Tip;

use crate::exit::{Exit, Failure};

/// Minimum feerate of a node with the demo's mempool, in satoshis per 1 000 virtual bytes. No transaction pays less.
pub(super) const RELAY_FEE: u64 = 1_000;
/// Default size limit of a node's mempool in bytes.
const MAX_BYTES: u64 = 300_000_000;

/// Returns the bytes of the file: deltas, each prefixed with its length (4 bytes, little-endian). `first_seen_ms`
/// counts from the beginning of [`WAITING_SPAN`].
///
/// # Errors
/// Fails if a transaction is larger than any block, which does not happen.
pub(super) fn encode(waiting: &[Unconfirmed]) -> Result<Vec<u8>, Failure> {
    let mut file = Vec::new();
    for made in waiting {
        let tx = resolved(made).ok_or_else(|| bad("a transaction is too large"))?;
        let mut deltas = Vec::with_capacity(2);
        if let Some(replaced) = &made.replaces {
            let reason = RemoveReason::Replaced { by: tx.txid };
            deltas.push(MempoolDelta::Remove { txid: txid(replaced.as_ref()), reason });
        }
        deltas.push(MempoolDelta::Add(Arc::new(tx)));
        for delta in deltas {
            let start = file.len();
            file.extend([0; 4]);
            delta.encode(&mut file);
            let length = u32::try_from(file.len() - start - 4).map_err(|_| bad("a transaction is too large"))?;
            if let Some(prefix) = file.get_mut(start..).and_then(|rest| rest.first_chunk_mut::<4>()) {
                *prefix = length.to_le_bytes();
            }
        }
    }
    Ok(file)
}

/// Reads the bytes of the file. [`WAITING_SPAN`] ends at `now_ms` (milliseconds since 1970).
pub(super) fn decode(mut bytes: &[u8], now_ms: u64) -> Result<Vec<MempoolDelta>, Failure> {
    let span = u64::try_from(WAITING_SPAN.as_millis()).unwrap_or(u64::MAX);
    let start = now_ms.saturating_sub(span);
    let mut deltas = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(|| bad("the file ends early"))?;
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let (delta, rest) = rest.split_at_checked(length).ok_or_else(|| bad("the file ends early"))?;
        bytes = rest;
        deltas.push(match MempoolDelta::decode(delta).map_err(|error| bad(&error.to_string()))? {
            MempoolDelta::Add(tx) => {
                let tx = Arc::unwrap_or_clone(tx);
                let first_seen_ms = start.saturating_add(tx.first_seen_ms.min(span));
                MempoolDelta::Add(Arc::new(MempoolTx { first_seen_ms, ..tx }))
            }
            MempoolDelta::Remove { txid, reason } => MempoolDelta::Remove { txid, reason },
            _ => return Err(bad("the file contains something other than transactions")),
        });
    }
    Ok(deltas)
}

/// Publishes the transactions to requests as a mempool on top of the tip that does not change, and sets the source's
/// status. Returns the number of transactions.
pub(super) fn show(slot: &IndexSlot, tip: &Tip, waiting: &[MempoolDelta], now_ms: u64) -> Result<u64, Failure> {
    let pool = slot.pool();
    let sequence = waiting.len() as u64;
    let block = MempoolDelta::Block { height: tip.height, hash: tip.hash, time: tip.time };
    pool.apply(
        [&MempoolDelta::Reset { sequence: 0 }]
            .into_iter()
            .chain(waiting)
            .chain([&block, &MempoolDelta::Sequence(sequence)]),
    );
    let count = waiting.iter().fold(0u64, |count, delta| match delta {
        MempoolDelta::Remove { .. } => count.saturating_sub(1),
        _ => count + 1,
    });
    let stats = pool.stats().filter(|stats| stats.count == count);
    let stats = stats.ok_or_else(|| bad("some transactions are invalid"))?;
    pool.apply(&[MempoolDelta::NodeFloor(NodeFloor {
        mempool_min_fee: RELAY_FEE,
        min_relay_fee: RELAY_FEE,
        max_bytes: MAX_BYTES,
        usage_bytes: stats.usage_bytes,
    })]);
    // The mempool does not change, so this projection stays current.
    pool.refresh();
    slot.set_source(Some(SourceStatus {
        kind: SourceKind::Demo,
        at: now_ms / 1_000,
        reachable: true,
        blocks: Some(tip.height),
        headers: Some(tip.height),
        mempool: MempoolWatch::Synced,
        mempool_known: count,
        mempool_sequence: Some(sequence),
        ..SourceStatus::default()
    }));
    Ok(count)
}

fn bad(why: &str) -> Failure {
    Failure::new(Exit::Other, format!("the demo's unconfirmed transactions: {why}"))
}

pub(super) fn txid(bytes: &[u8; 32]) -> Txid {
    Txid(*bytes)
}

/// Returns a transaction that only spends confirmed coins, first seen now; `None` if it is larger than any block.
pub(super) fn arriving(made: &Unconfirmed, now_ms: u64) -> Option<MempoolTx> {
    let mut tx = resolved(made)?;
    tx.first_seen_ms = now_ms;
    for (input, coin) in tx.inputs.iter_mut().zip(&made.spent) {
        input.birth = Some(coin.height);
    }
    Some(tx)
}

/// Returns a transaction with the coins that it spends; `None` if it is larger than any block.
fn resolved(made: &Unconfirmed) -> Option<MempoolTx> {
    let (tx, raw) = (&made.tx, made.raw());
    let inputs = tx.input.iter().zip(&made.spent).enumerate().map(|(index, (input, coin))| MempoolInput {
        prev_txid: txid(input.previous_output.txid.as_ref()),
        prev_vout: input.previous_output.vout,
        sequence: input.sequence.0,
        value: coin.txout.value.to_sat(),
        script: coin.txout.script_pubkey.as_bytes().into(),
        birth: made.birth(index),
    });
    let outputs = tx
        .output
        .iter()
        .map(|output| MempoolOutput { value: output.value.to_sat(), script: output.script_pubkey.as_bytes().into() });
    Some(MempoolTx {
        txid: txid(tx.compute_txid().as_ref()),
        wtxid: txid(tx.compute_wtxid().as_ref()),
        size: u32::try_from(raw.len()).ok()?,
        base_size: u32::try_from(tx.base_size()).ok()?,
        sigop_cost: u32::try_from(made.sigop_cost()).ok()?,
        fee_sats: made.fee(),
        version: tx.version.0,
        lock_time: tx.lock_time.to_consensus_u32(),
        first_seen_ms: u64::try_from(made.seen.as_millis()).ok()?,
        inputs: inputs.collect(),
        outputs: outputs.collect(),
        raw: Some(raw.into()),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn add(first_seen_ms: u64) -> MempoolDelta {
        MempoolDelta::Add(Arc::new(MempoolTx {
            txid: Txid([1; 32]),
            wtxid: Txid([2; 32]),
            size: 100,
            base_size: 60,
            sigop_cost: 0,
            fee_sats: 5,
            version: 2,
            lock_time: 0,
            first_seen_ms,
            inputs: Box::default(),
            outputs: Box::default(),
            raw: None,
        }))
    }

    fn framed(deltas: &[MempoolDelta]) -> Vec<u8> {
        let mut file = Vec::new();
        for delta in deltas {
            let mut bytes = Vec::new();
            delta.encode(&mut bytes);
            file.extend(u32::try_from(bytes.len()).unwrap().to_le_bytes());
            file.extend(bytes);
        }
        file
    }

    #[test]
    fn times_end_now_whatever_the_file_says() {
        let span = WAITING_SPAN.as_millis() as u64;
        let seen = |offset, now| match &decode(&framed(&[add(offset)]), now).unwrap()[..] {
            [MempoolDelta::Add(tx)] => tx.first_seen_ms,
            other => panic!("{other:?}"),
        };
        assert_eq!(seen(1_000, 9_000_000), 9_000_000 - span + 1_000);
        assert_eq!(seen(u64::MAX, 9_000_000), 9_000_000);
        assert_eq!(seen(7, 0), 7);
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let whole = framed(&[add(1), add(2)]);
        assert_eq!(decode(&whole, 0).unwrap().len(), 2);
        for end in (1..whole.len()).filter(|end| *end != whole.len() / 2) {
            assert!(decode(&whole[..end], 0).is_err(), "{end}");
        }
        assert!(decode(&framed(&[MempoolDelta::Sequence(1)]), 0).is_err());
        assert!(decode(&[0xff; 64], 0).is_err());
    }
}
