//! Blocks by hand: proof of work and Merkle root are right, nothing else has to be.

use std::{collections::HashMap, path::Path};

use bitcoin::{
    Amount, Block, BlockHash, CompactTarget, OutPoint, ScriptBuf, Sequence, Target, Transaction, TxIn, TxMerkleNode,
    TxOut, Witness, WitnessMerkleNode,
    absolute::LockTime,
    block::{Header, Version},
    consensus::serialize,
    hashes::Hash,
    merkle_tree,
    params::Params,
    transaction,
};
use cairn_chaingen::{
    Coin,
    corefiles::{FileOptions, Writer, write_undo},
};
use cairn_model::{Network, is_unspendable};
use cairn_testkit::Oracle;

/// How block files are laid out.
pub fn file_options() -> FileOptions {
    FileOptions::new(bitcoin::Network::Regtest, [1, 2, 3, 4, 5, 6, 7, 8])
}

/// A chain of regtest blocks made by hand, with what each block spends.
#[derive(Clone)]
pub struct Forge {
    /// The blocks, from the genesis block on.
    pub blocks: Vec<Block>,
    /// Of each block: per transaction but the coinbase, the coins it spends. Filled in as far as they are known.
    pub spent: Vec<Vec<Vec<Coin>>>,
    coins: HashMap<OutPoint, Coin>,
}

impl Default for Forge {
    fn default() -> Self {
        Forge::new()
    }
}

impl Forge {
    /// Regtest's genesis.
    pub fn new() -> Self {
        let genesis = bitcoin::constants::genesis_block(Params::REGTEST);
        Forge { blocks: vec![genesis], spent: vec![vec![]], coins: HashMap::new() }
    }

    /// Adds a block of these transactions, a coinbase first; returns its height. If there are witnesses, the coinbase
    /// is made to commit to them.
    pub fn block(&mut self, mut txdata: Vec<Transaction>) -> u32 {
        if txdata.iter().any(|tx| tx.input.iter().any(|input| !input.witness.is_empty())) {
            commit_to_witnesses(&mut txdata);
        }
        let height = self.blocks.len() as u32;
        let mut spent = Vec::new();
        for (i, tx) in txdata.iter().enumerate() {
            let txid = tx.compute_txid();
            if i > 0 {
                let coins = tx.input.iter().map(|input| self.coins.remove(&input.previous_output));
                spent.push(coins.map(|coin| coin.unwrap_or_else(|| any_coin(height))).collect());
            }
            for (vout, txout) in tx.output.iter().enumerate() {
                if !is_unspendable(txout.script_pubkey.as_bytes()) {
                    let coin = Coin { txout: txout.clone(), height, coinbase: i == 0 };
                    self.coins.insert(OutPoint { txid, vout: vout as u32 }, coin);
                }
            }
        }
        self.blocks.push(mined(self.blocks.last().unwrap(), txdata));
        self.spent.push(spent);
        height
    }

    /// Adds blocks with nothing but a coinbase.
    pub fn empty(&mut self, count: u32) {
        for _ in 0..count {
            let tag = self.blocks.len() as u32;
            self.block(vec![coinbase(tag, vec![pay(1, script(tag))])]);
        }
    }

    /// Takes blocks off until `count` are left; what they spent is forgotten, so build on only what lies below.
    pub fn back_to(&self, count: usize) -> Self {
        let mut shorter = Forge::new();
        self.blocks[1..count].iter().for_each(|block| {
            shorter.block(block.txdata.clone());
        });
        shorter
    }

    /// Writes a folder: these blocks, then those of another branch.
    pub fn write_with(&self, dir: &Path, other: &[&Forge], files: FileOptions) {
        let mut writer = Writer::create(dir, files).unwrap();
        let mut known: Vec<BlockHash> = Vec::new();
        for forge in [self].iter().chain(other) {
            for (block, spent) in forge.blocks.iter().zip(&forge.spent) {
                if known.contains(&block.block_hash()) {
                    continue;
                }
                known.push(block.block_hash());
                let place = writer.block(&serialize(block)).unwrap();
                if block.header.prev_blockhash != BlockHash::all_zeros() {
                    let mut undo = Vec::new();
                    write_undo(&mut undo, spent);
                    writer.undo(place.file, &block.header.prev_blockhash, &undo).unwrap();
                }
            }
        }
        writer.finish().unwrap();
    }

    /// Writes a folder of these blocks.
    pub fn write(&self, dir: &Path) {
        self.write_with(dir, &[], file_options());
    }

    /// The oracle of it.
    pub fn oracle(&self) -> Oracle {
        Oracle::of(Network::Regtest, &self.blocks)
    }
}

/// BIP 141: the coinbase's witness is one item of 32 bytes, and its last output commits to the others.
fn commit_to_witnesses(txdata: &mut [Transaction]) {
    let reserved = [0; 32];
    let ids = txdata.iter().enumerate().map(|(i, tx)| match i {
        0 => WitnessMerkleNode::all_zeros(),
        _ => WitnessMerkleNode::from_raw_hash(tx.compute_wtxid().to_raw_hash()),
    });
    let root = merkle_tree::calculate_root(ids).unwrap();
    let commitment = Block::compute_witness_commitment(&root, &reserved);
    let script = [&[0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed], &commitment.to_byte_array()[..]].concat();
    txdata[0].input[0].witness = Witness::from_slice(&[reserved]);
    txdata[0].output.push(pay(0, ScriptBuf::from_bytes(script)));
}

/// Stands in undo data for a coin that does not exist.
fn any_coin(height: u32) -> Coin {
    Coin { txout: pay(1, script(0)), height: height.max(2) - 1, coinbase: false }
}

/// A block on another, with proof of work.
pub fn mined(parent: &Block, txdata: Vec<Transaction>) -> Block {
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
    let target = Target::from_compact(block.header.bits);
    while block.header.validate_pow(target).is_err() {
        block.header.nonce += 1;
    }
    block
}

/// A script that nobody else here has.
pub fn script(tag: u32) -> ScriptBuf {
    let mut bytes = vec![0x76, 0xa9, 20];
    bytes.extend([tag.to_le_bytes(); 5].concat());
    bytes.extend([0x88, 0xac]);
    ScriptBuf::from_bytes(bytes)
}

/// An output.
pub fn pay(sats: u64, script_pubkey: ScriptBuf) -> TxOut {
    TxOut { value: Amount::from_sat(sats), script_pubkey }
}

/// A coinbase whose txid is decided by tag and outputs.
pub fn coinbase(tag: u32, output: Vec<TxOut>) -> Transaction {
    let script_sig = ScriptBuf::from_bytes([&[4][..], &tag.to_le_bytes()].concat());
    tx_of(vec![(OutPoint::null(), script_sig)], output)
}

/// A transaction without signatures.
pub fn spend(inputs: &[OutPoint], output: Vec<TxOut>) -> Transaction {
    tx_of(inputs.iter().map(|o| (*o, ScriptBuf::new())).collect(), output)
}

fn tx_of(inputs: Vec<(OutPoint, ScriptBuf)>, output: Vec<TxOut>) -> Transaction {
    let input = |(previous_output, script_sig)| TxIn {
        previous_output,
        script_sig,
        sequence: Sequence::MAX,
        witness: Witness::new(),
    };
    let input = inputs.into_iter().map(input).collect();
    Transaction { version: transaction::Version::ONE, lock_time: LockTime::ZERO, input, output }
}

/// An output of a transaction.
pub fn out(tx: &Transaction, vout: u32) -> OutPoint {
    OutPoint { txid: tx.compute_txid(), vout }
}
