//! Proofs of timestamps, written byte by byte, and chains that commit to hashes of files.

use bitcoin::{
    Amount, Block, OutPoint, ScriptBuf, Transaction, TxOut, Witness,
    consensus::serialize,
    hashes::{Hash, sha256, sha256d},
    script::PushBytesBuf,
};
use cairn_chaingen::{BlockSpec, ChainBuilder, Lock, Style};

use crate::support::World;

/// The beginning of every proof, with its version.
pub const MAGIC: &[u8] = b"\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94\x01";

pub type Hash32 = [u8; 32];

/// Operations as bytes, and what they make of a message.
#[derive(Clone)]
pub struct Path {
    bytes: Vec<u8>,
    pub message: Vec<u8>,
}

impl Path {
    pub fn from(message: &[u8]) -> Self {
        Path { bytes: Vec::new(), message: message.to_vec() }
    }

    pub fn append(mut self, argument: &[u8]) -> Self {
        self.message.extend(argument);
        self.with_argument(0xf0, argument)
    }

    pub fn prepend(mut self, argument: &[u8]) -> Self {
        self.message.splice(0..0, argument.iter().copied());
        self.with_argument(0xf1, argument)
    }

    fn with_argument(mut self, operation: u8, argument: &[u8]) -> Self {
        if argument.is_empty() {
            return self;
        }
        self.bytes.push(operation);
        self.bytes.extend(number(argument.len() as u64));
        self.bytes.extend(argument);
        self
    }

    pub fn sha256(mut self) -> Self {
        self.bytes.push(0x08);
        self.message = sha256::Hash::hash(&self.message).to_byte_array().to_vec();
        self
    }

    /// Puts the sibling in a tree on its side.
    fn joined(self, sibling: &Hash32, is_left: bool) -> Self {
        if is_left { self.append(sibling) } else { self.prepend(sibling) }
    }

    pub fn attested(mut self, attestation: &[u8]) -> Vec<u8> {
        self.bytes.extend(attestation);
        self.bytes
    }

    pub fn at(self, height: u64) -> Vec<u8> {
        self.attested(&bitcoin(height))
    }
}

pub fn number(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 128 {
        bytes.push((number % 128) as u8 + 128);
        number /= 128;
    }
    bytes.push(number as u8);
    bytes
}

pub fn bitcoin(height: u64) -> Vec<u8> {
    let height = number(height);
    [b"\x00\x05\x88\x96\x0d\x73\xd7\x19\x01".as_slice(), &number(height.len() as u64), &height].concat()
}

/// A file about a SHA-256 hash.
pub fn file(hash: &Hash32, steps: &[u8]) -> Vec<u8> {
    [MAGIC, b"\x08", hash, steps].concat()
}

/// One message with all of these behind it.
pub fn fork(parts: &[Vec<u8>]) -> Vec<u8> {
    let (last, first) = parts.split_last().unwrap();
    let marked: Vec<u8> = first.iter().flat_map(|part| [b"\xff", part.as_slice()].concat()).collect();
    [marked, last.clone()].concat()
}

pub fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// The siblings of a leaf up to the root: each with true if the leaf's side is the left one. A block repeats the last
/// node of an odd row; a tree of hashes passes it on.
fn siblings(mut row: Vec<Hash32>, mut at: usize, hash: fn(&[u8]) -> Hash32, repeats: bool) -> Vec<(Hash32, bool)> {
    let mut found = Vec::new();
    while row.len() > 1 {
        let partner = at ^ 1;
        match row.get(partner) {
            Some(sibling) => found.push((*sibling, at.is_multiple_of(2))),
            None if repeats => found.push((row[at], true)),
            None => {}
        }
        let join = |pair: &[Hash32]| match pair {
            [left, right] => hash(&[*left, *right].concat()),
            [only] if repeats => hash(&[*only, *only].concat()),
            [only] => *only,
            _ => unreachable!(),
        };
        row = row.chunks(2).map(join).collect();
        at /= 2;
    }
    found
}

pub fn once(bytes: &[u8]) -> Hash32 {
    sha256::Hash::hash(bytes).to_byte_array()
}

fn twice(bytes: &[u8]) -> Hash32 {
    sha256d::Hash::hash(bytes).to_byte_array()
}

/// From a transaction id to the Merkle root of its block.
pub fn to_root(mut path: Path, block: &Block, index: usize) -> Path {
    let txids = block.txdata.iter().map(|tx| tx.compute_txid().to_byte_array()).collect();
    for (sibling, is_left) in siblings(txids, index, twice, true) {
        path = path.joined(&sibling, is_left).sha256().sha256();
    }
    path
}

/// The bytes that the id of a transaction is the hash of.
pub fn without_witness(tx: &Transaction) -> Vec<u8> {
    let mut tx = tx.clone();
    tx.input.iter_mut().for_each(|input| input.witness = Witness::new());
    serialize(&tx)
}

/// Hashes of files, and the way of each to the root of one tree.
fn aggregated(files: &[Hash32]) -> Vec<Path> {
    let leaf = |(at, hash): (usize, &Hash32)| Path::from(hash).append(&[at as u8 + 1; 16]).sha256();
    let leaves: Vec<Path> = files.iter().enumerate().map(leaf).collect();
    let row: Vec<Hash32> = leaves.iter().map(|leaf| leaf.message.clone().try_into().unwrap()).collect();
    let way = |(at, leaf): (usize, Path)| {
        siblings(row.clone(), at, once, false)
            .into_iter()
            .fold(leaf, |path, (sibling, is_left)| path.joined(&sibling, is_left).sha256())
    };
    leaves.into_iter().enumerate().map(way).collect()
}

/// Mines a block with other payments, and an output that commits to the root of a tree. Returns the way of each file to
/// the Merkle root of the block, and its height.
fn anchor(builder: &mut ChainBuilder, files: &[Hash32]) -> (Vec<Path>, u32) {
    let ways = aggregated(files);
    let root = ways[0].message.clone();
    let coins: Vec<OutPoint> = builder.spendable().iter().filter(|at| builder.is_mature(at)).take(4).copied().collect();
    let anyone = builder.keyring().script(&Lock::anyone()).unwrap();
    assert_eq!(coins.len(), 4);
    let mut index = 0;
    for (at, coin) in coins.iter().enumerate() {
        let mut outputs = vec![TxOut { value: Amount::from_sat(1_000_000), script_pubkey: anyone.clone() }];
        if at == 2 {
            let note = PushBytesBuf::try_from(root.clone()).unwrap();
            outputs.push(TxOut { value: Amount::ZERO, script_pubkey: ScriptBuf::new_op_return(note) });
            // The coinbase comes first.
            index = at + 1;
        }
        let tx = builder.spend(&[*coin], outputs, &Style::default()).unwrap();
        builder.add(tx).unwrap();
    }
    let hash = builder.mine(&BlockSpec::default()).unwrap();
    let mined = builder.chain().get(&hash).unwrap();
    let raw = without_witness(&mined.block.txdata[index]);
    let place = raw.windows(32).position(|window| window == root).unwrap();
    let way = |path: Path| {
        let path = path.prepend(&raw[..place]).append(&raw[place + 32..]).sha256().sha256();
        let path = to_root(path, &mined.block, index);
        assert_eq!(path.message, mined.block.header.merkle_root.to_byte_array());
        path
    };
    (ways.into_iter().map(way).collect(), mined.height)
}

/// A chain with two anchors of the same files: one deep, one three blocks below the tip.
pub struct Anchored {
    pub world: World,
    pub files: Vec<Hash32>,
    pub early: (Vec<Path>, u32),
    pub late: (Vec<Path>, u32),
}

pub fn anchored() -> Anchored {
    let mut builder = ChainBuilder::new(3);
    let anyone = builder.keyring().script(&Lock::anyone()).unwrap();
    for _ in 0..106 {
        builder.mine(&BlockSpec::paying(anyone.clone())).unwrap();
    }
    let files: Vec<Hash32> = (0..5u8).map(|at| once(&[at])).collect();
    let early = anchor(&mut builder, &files);
    for _ in 0..8 {
        builder.mine(&BlockSpec::default()).unwrap();
    }
    let late = anchor(&mut builder, &files);
    for _ in 0..3 {
        builder.mine(&BlockSpec::default()).unwrap();
    }
    Anchored { world: World::of(builder.into_chain()), files, early, late }
}
