//! The block checks that need no coins. Scripts are not executed: the generator signs properly.

use bitcoin::absolute::LockTime;
use bitcoin::{Block, Transaction};

const MAX_WEIGHT: u64 = 4_000_000;

/// Core's reason why a block is invalid whatever the coins; `bits` and `median` (median time past, Unix seconds) are
/// those of its parent.
pub(crate) fn problem(block: &Block, height: u32, bits: bitcoin::CompactTarget, median: u32) -> Option<&'static str> {
    let header = &block.header;
    if header.bits != bits {
        return Some("bad-diffbits");
    }
    if header.validate_pow(header.target()).is_err() {
        return Some("high-hash");
    }
    if header.time <= median {
        return Some("time-too-old");
    }
    if !block.txdata.first().is_some_and(Transaction::is_coinbase) {
        return Some("bad-cb-missing");
    }
    if block.txdata.iter().skip(1).any(Transaction::is_coinbase) {
        return Some("bad-cb-multiple");
    }
    if !block.check_merkle_root() {
        return Some("bad-txnmrklroot");
    }
    if !block.check_witness_commitment() {
        return Some("bad-witness-merkle-match");
    }
    if block.weight().to_wu() > MAX_WEIGHT {
        return Some("bad-blk-weight");
    }
    if block.txdata.iter().any(|tx| !is_final(tx, height, median)) {
        return Some("bad-txns-nonfinal");
    }
    None
}

/// Whether a transaction's lock time allows it in a block at `height` on a parent with this median time past.
pub(crate) fn is_final(tx: &Transaction, height: u32, median: u32) -> bool {
    let reached = match tx.lock_time {
        LockTime::Blocks(lock) => lock.to_consensus_u32() < height,
        LockTime::Seconds(lock) => lock.to_consensus_u32() < median,
    };
    reached || tx.lock_time.to_consensus_u32() == 0 || tx.input.iter().all(|input| input.sequence.is_final())
}
