//! Blocks: coinbase, commitment to the witnesses, proof of work.

use bitcoin::absolute::LockTime;
use bitcoin::block::{Header, Version};
use bitcoin::hashes::Hash;
use bitcoin::script::Builder;
use bitcoin::{
    Amount, Block, BlockHash, CompactTarget, OutPoint, ScriptBuf, Sequence, Target, Transaction, TxIn, TxMerkleNode,
    TxOut, Witness, opcodes, transaction,
};

use super::chain::Mined;
use super::coin::Coin;
use super::lock::push_bytes;
use super::spec::{BlockSpec, Commitment};
use crate::error::Error;

/// Blocks between two halvings on regtest.
pub const HALVING_INTERVAL: u32 = 150;

/// The tip of a chain of which nothing else is in memory.
#[derive(Clone, Copy, Debug)]
pub struct Parent {
    /// Its height.
    pub height: u32,
    /// Its hash in the byte order of headers.
    pub hash: [u8; 32],
    /// Median time past at it, Unix seconds.
    pub median_time: u32,
}

/// Satoshis of new money in a regtest block.
pub fn subsidy(height: u32) -> u64 {
    5_000_000_000u64.checked_shr(height / HALVING_INTERVAL).unwrap_or(0)
}

/// Makes a block on top of a tip with signed transactions and the coins that they spend. The caller knows that the
/// coins exist, and that they pay for the outputs. Without a time in `spec`, the block is one second after the median.
///
/// # Errors
/// Returns [`Error::TimeTooOld`] or [`Error::TagTooLong`], and [`Error::Overspent`] if the outputs of a transaction are
/// worth more than its coins.
pub fn block_on(parent: &Parent, spec: &BlockSpec, txs: Vec<(Transaction, Vec<Coin>)>) -> Result<Mined, Error> {
    let (height, median) = (parent.height + 1, parent.median_time);
    let time = spec.time.unwrap_or(median.saturating_add(1));
    if time <= median {
        return Err(Error::TimeTooOld { time, median });
    }
    let mut claimable = subsidy(height);
    for (tx, coins) in &txs {
        let input = coins.iter().fold(0u64, |sum, coin| sum.saturating_add(coin.txout.value.to_sat()));
        let output = tx.output.iter().fold(0u64, |sum, output| sum.saturating_add(output.value.to_sat()));
        claimable = claimable.saturating_add(input.checked_sub(output).ok_or(Error::Overspent { input, output })?);
    }
    let mut txdata = vec![coinbase(height, claimable, spec)?];
    let mut spent = Vec::with_capacity(txs.len());
    for (tx, coins) in txs {
        txdata.push(tx);
        spent.push(coins);
    }
    let mut block = unsolved(BlockHash::from_byte_array(parent.hash), time, txdata, spec.commitment);
    solve(&mut block, |_| false);
    Ok(Mined { block, height, spent })
}

/// Makes the coinbase of a block that may claim this many satoshis.
pub(super) fn coinbase(height: u32, claimable: u64, spec: &BlockSpec) -> Result<Transaction, Error> {
    let script_sig = Builder::new().push_int(i64::from(height)).push_slice(push_bytes(&spec.tag)).into_script();
    if script_sig.len() > 100 {
        return Err(Error::TagTooLong(spec.tag.len()));
    }
    let claim =
        claimable.checked_sub(spec.unclaimed).ok_or(Error::Unclaimed { unclaimed: spec.unclaimed, claimable })?;
    let weights: u128 = spec.payees.iter().map(|(_, weight)| u128::from(*weight)).sum();
    let mut left = claim;
    let mut output = Vec::with_capacity(spec.payees.len() + spec.notes.len() + 1);
    for (index, (script, weight)) in spec.payees.iter().enumerate() {
        let share = match (index + 1 == spec.payees.len(), weights) {
            (true, _) => left,
            (false, 0) => 0,
            (false, _) => (u128::from(claim) * u128::from(*weight) / weights) as u64,
        };
        left -= share;
        output.push(TxOut { value: Amount::from_sat(share), script_pubkey: script.clone() });
    }
    if spec.payees.is_empty() {
        let script_pubkey = Builder::new().push_opcode(opcodes::OP_TRUE).into_script();
        output.push(TxOut { value: Amount::from_sat(claim), script_pubkey });
    }
    for note in &spec.notes {
        output.push(TxOut { value: Amount::ZERO, script_pubkey: note.clone() });
    }
    Ok(Transaction {
        version: transaction::Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![TxIn {
            previous_output: OutPoint::null(),
            script_sig,
            sequence: Sequence::MAX,
            witness: Witness::new(),
        }],
        output,
    })
}

/// Makes a block of these transactions, without proof of work.
pub(super) fn unsolved(parent: BlockHash, time: u32, txdata: Vec<Transaction>, commitment: Commitment) -> Block {
    let header = Header {
        version: Version::from_consensus(0x2000_0000),
        prev_blockhash: parent,
        merkle_root: TxMerkleNode::all_zeros(),
        time,
        bits: CompactTarget::from_consensus(0x207f_ffff),
        nonce: 0,
    };
    let mut block = Block { header, txdata };
    if block.txdata.iter().skip(1).any(|tx| tx.input.iter().any(|input| !input.witness.is_empty()))
        || commitment == Commitment::Always
    {
        commit_to_witnesses(&mut block);
    }
    block
}

/// Completes the header: Merkle root, and the first nonce with proof of work whose hash is not known.
pub(super) fn solve(block: &mut Block, is_known: impl Fn(&BlockHash) -> bool) {
    block.header.merkle_root = block.compute_merkle_root().unwrap_or_else(TxMerkleNode::all_zeros);
    let target = Target::from_compact(block.header.bits);
    while block.header.validate_pow(target).is_err() || is_known(&block.block_hash()) {
        block.header.nonce = block.header.nonce.wrapping_add(1);
    }
}

/// Adds the reserved value and the commitment output of BIP 141 to the coinbase.
fn commit_to_witnesses(block: &mut Block) {
    let reserved = [0u8; 32];
    block.txdata[0].input[0].witness = Witness::from_slice(&[reserved]);
    if let Some(root) = block.witness_root() {
        let commitment = Block::compute_witness_commitment(&root, &reserved);
        let mut script = vec![0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed];
        script.extend_from_slice(commitment.as_byte_array());
        let script_pubkey = ScriptBuf::from_bytes(script);
        block.txdata[0].output.push(TxOut { value: Amount::ZERO, script_pubkey });
    }
}
