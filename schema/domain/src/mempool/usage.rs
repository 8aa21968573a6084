//! Estimated memory of a transaction. It depends only on the transaction, so the sum does not depend on the order of
//! the deltas.
//!
//! A transaction of 2 inputs and 3 outputs, without its raw bytes, takes about 1 600 bytes: 100 000 of them 160 MB (the
//! bench `mempool` prints the estimate beside the bytes really requested from the allocator).

use cairn_model::{MempoolInput, MempoolOutput, MempoolTx, Txid, is_unspendable};

use super::{
    entry::GraphEntry,
    scripts::SCRIPT_BYTES,
    shared::{entry_bytes, place_bytes},
};

/// Bytes of an allocation: its size rounded up to 16 bytes, and a word of the allocator.
fn heap(bytes: usize) -> u64 {
    if bytes == 0 { 0 } else { (bytes as u64 + 8).next_multiple_of(16).max(32) }
}

/// Estimated bytes of a transaction in the mempool with all its indexes.
pub(super) fn usage_bytes(tx: &MempoolTx) -> u64 {
    let scripts = tx.inputs.iter().map(|i| &i.script).chain(tx.outputs.iter().map(|o| &o.script));
    let script_bytes: u64 = scripts.map(|script| heap(script.len())).sum();
    let indexed = tx.inputs.len() + tx.outputs.iter().filter(|output| !is_unspendable(&output.script)).count();
    let unconfirmed = tx.inputs.iter().filter(|input| input.birth.is_none()).count() as u64;
    // The reference counts of the `Arc` are stored before the transaction.
    heap(size_of::<MempoolTx>() + 16)
        + heap(size_of_val::<[MempoolInput]>(&tx.inputs))
        + heap(size_of_val::<[MempoolOutput]>(&tx.outputs))
        + script_bytes
        + tx.raw.as_ref().map_or(0, |raw| heap(raw.len()))
        + heap(size_of::<GraphEntry>() + 16)
        + place_bytes::<GraphEntry>() as u64
        + entry_bytes::<Txid, u32>() as u64
        + entry_bytes::<(Txid, u32), u32>() as u64 * tx.inputs.len() as u64
        + SCRIPT_BYTES as u64 * indexed as u64
        // A link in both directions.
        + 64 * unconfirmed
}
