//! A chain of a few blocks by hand, as files: proof of work, Merkle roots and undo data are right.

use bitcoin::{
    Amount, Block, CompactTarget, OutPoint, ScriptBuf, Sequence, Target, Transaction, TxIn, TxMerkleNode, TxOut,
    Witness,
    absolute::LockTime,
    block::{Header, Version},
    consensus::serialize,
    hashes::{Hash, sha256d},
    params::Params,
    transaction,
};
use cairn_chaingen::{Coin, corefiles::write_undo};

/// Before each record of a file of this network.
pub const REGTEST_MAGIC: [u8; 4] = [0xfa, 0xbf, 0xb5, 0xda];

/// Blocks, each with a coinbase and a transaction that spends the coinbase before it.
pub struct Chain {
    /// The blocks.
    pub blocks: Vec<Block>,
    /// The coins that each spends.
    spent: Vec<Vec<Vec<Coin>>>,
}

fn pay(to: &TxIn, tag: u32) -> Transaction {
    let script = [&[0x76, 0xa9, 20][..], &[tag as u8; 20], &[0x88, 0xac]].concat();
    let output =
        TxOut { value: Amount::from_sat(u64::from(tag) * 1_000), script_pubkey: ScriptBuf::from_bytes(script) };
    let version = transaction::Version::TWO;
    Transaction { version, lock_time: LockTime::ZERO, input: vec![to.clone()], output: vec![output] }
}

fn input(previous_output: OutPoint, script: Vec<u8>) -> TxIn {
    let (script_sig, sequence) = (ScriptBuf::from_bytes(script), Sequence::MAX);
    TxIn { previous_output, script_sig, sequence, witness: Witness::new() }
}

/// A record of a file: magic, size, bytes.
fn record(bytes: &[u8]) -> Vec<u8> {
    [&REGTEST_MAGIC[..], &(bytes.len() as u32).to_le_bytes(), bytes].concat()
}

impl Chain {
    /// Genesis and `count` blocks.
    pub fn new(count: u32) -> Chain {
        let mut chain =
            Chain { blocks: vec![bitcoin::constants::genesis_block(Params::REGTEST)], spent: vec![Vec::new()] };
        for height in 1..=count {
            let coinbase = pay(&input(OutPoint::null(), vec![2, height as u8, 0]), height);
            let mut txs = vec![coinbase];
            let mut spent = Vec::new();
            if let Some(before) = chain.blocks.last().filter(|_| height > 1) {
                let coin = OutPoint { txid: before.txdata[0].compute_txid(), vout: 0 };
                let txout = before.txdata[0].output[0].clone();
                txs.push(pay(&input(coin, vec![0x51]), height - 1));
                spent.push(vec![Coin { txout, height: height - 1, coinbase: true }]);
            }
            chain.mine(txs, spent);
        }
        chain
    }

    fn mine(&mut self, txdata: Vec<Transaction>, spent: Vec<Vec<Coin>>) {
        let parent = &self.blocks[self.blocks.len() - 1];
        let header = Header {
            version: Version::from_consensus(1),
            prev_blockhash: parent.block_hash(),
            merkle_root: TxMerkleNode::all_zeros(),
            time: parent.header.time + 600,
            bits: CompactTarget::from_consensus(0x207f_ffff),
            nonce: 0,
        };
        let mut block = Block { header, txdata };
        block.header.merkle_root = block.compute_merkle_root().unwrap();
        while block.header.validate_pow(Target::from_compact(block.header.bits)).is_err() {
            block.header.nonce += 1;
        }
        self.blocks.push(block);
        self.spent.push(spent);
    }

    /// The block file, without a key.
    pub fn block_file(&self) -> Vec<u8> {
        self.blocks.iter().flat_map(|block| record(&serialize(block))).collect()
    }

    /// The undo file, without a key.
    pub fn undo_file(&self) -> Vec<u8> {
        (1..self.blocks.len()).flat_map(|height| self.undo_record(height, &self.undo_of(height))).collect()
    }

    /// The undo data of a block.
    pub fn undo_of(&self, height: usize) -> Vec<u8> {
        let mut undo = Vec::new();
        write_undo(&mut undo, &self.spent[height]);
        undo
    }

    /// A record with any undo data for a block, with its checksum.
    pub fn undo_record(&self, height: usize, undo: &[u8]) -> Vec<u8> {
        let parent = self.blocks[height].header.prev_blockhash.to_byte_array();
        let checksum = sha256d::Hash::hash(&[&parent[..], undo].concat());
        [record(undo), checksum.to_byte_array().to_vec()].concat()
    }
}
