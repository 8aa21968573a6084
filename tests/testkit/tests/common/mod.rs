//! Small chains by hand. Nothing checks their scripts or their work.

// Each test uses some of it.
#![allow(dead_code)]

use bitcoin::{
    Amount, Block, BlockHash, CompactTarget, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxMerkleNode, TxOut,
    Witness, absolute::LockTime, block, hashes::Hash, transaction,
};

pub(crate) const DAY: u32 = 86_400;
/// The time of the regtest genesis lies on day 15 007.
pub(crate) const GENESIS_DAY: u32 = 15_007;

/// A script of its own for each name.
pub(crate) fn script(name: u8) -> ScriptBuf {
    ScriptBuf::from_bytes(vec![0x01, name])
}

pub(crate) fn to(name: u8, sats: u64) -> TxOut {
    TxOut { value: Amount::from_sat(sats), script_pubkey: script(name) }
}

fn tx(inputs: Vec<(OutPoint, Vec<u8>)>, output: Vec<TxOut>) -> Transaction {
    let input = inputs.into_iter().map(|(previous_output, script_sig)| TxIn {
        previous_output,
        script_sig: ScriptBuf::from_bytes(script_sig),
        sequence: Sequence::MAX,
        witness: Witness::new(),
    });
    Transaction { version: transaction::Version::ONE, lock_time: LockTime::ZERO, input: input.collect(), output }
}

/// Coinbases of one tag and the same outputs have the same txid.
pub(crate) fn coinbase(tag: u8, output: Vec<TxOut>) -> Transaction {
    tx(vec![(OutPoint::null(), vec![0x01, tag])], output)
}

pub(crate) fn spend(coins: &[(&Transaction, u32)], output: Vec<TxOut>) -> Transaction {
    let coins: Vec<_> = coins.iter().map(|&(tx, vout)| (tx, vout, vec![])).collect();
    spend_with(&coins, output)
}

/// Each coin with the scriptSig that spends it.
pub(crate) fn spend_with(coins: &[(&Transaction, u32, Vec<u8>)], output: Vec<TxOut>) -> Transaction {
    let inputs = coins
        .iter()
        .map(|(tx, vout, script_sig)| (OutPoint { txid: tx.compute_txid(), vout: *vout }, script_sig.clone()));
    tx(inputs.collect(), output)
}

pub(crate) fn genesis() -> Block {
    bitcoin::constants::genesis_block(bitcoin::Network::Regtest)
}

pub(crate) fn block_after(previous: BlockHash, time: u32, txdata: Vec<Transaction>) -> Block {
    let header = block::Header {
        version: block::Version::ONE,
        prev_blockhash: previous,
        merkle_root: TxMerkleNode::all_zeros(),
        time,
        bits: CompactTarget::from_consensus(0x207f_ffff),
        nonce: 0,
    };
    let mut block = Block { header, txdata };
    if let Some(root) = block.compute_merkle_root() {
        block.header.merkle_root = root;
    }
    block
}

/// A regtest chain of blocks given by their header time and transactions.
pub(crate) fn chain_at(blocks: Vec<(u32, Vec<Transaction>)>) -> Vec<Block> {
    let mut chain = vec![genesis()];
    for (time, txdata) in blocks {
        let previous = chain[chain.len() - 1].block_hash();
        chain.push(block_after(previous, time, txdata));
    }
    chain
}

/// A regtest chain of blocks given by their day (since that of genesis, at its last second) and transactions.
pub(crate) fn chain(blocks: Vec<(u32, Vec<Transaction>)>) -> Vec<Block> {
    chain_at(blocks.into_iter().map(|(day, txs)| ((GENESIS_DAY + day) * DAY + DAY - 1, txs)).collect())
}
