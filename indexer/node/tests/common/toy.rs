//! A chain of blocks with nothing but a coinbase, and a node that serves it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use bitcoin::{
    Amount, Block, CompactTarget, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxMerkleNode, TxOut, Witness,
    absolute::LockTime,
    block::{Header, Version},
    consensus::serialize,
    hashes::Hash,
    transaction,
};
use cairn_model::{BlockHash, Height};
use cairn_node::{BlockAt, OurChain, OwnerError};
use serde_json::{Value, json};

use super::{Request, Response, Server, reply};

/// A block on `previous`; blocks of different salts differ.
pub fn block(previous: BlockHash, height: Height, salt: u32) -> (BlockHash, Vec<u8>) {
    let script = [height.to_le_bytes(), salt.to_le_bytes()].concat();
    let coinbase = Transaction {
        version: transaction::Version::ONE,
        lock_time: LockTime::ZERO,
        input: vec![TxIn {
            previous_output: OutPoint::null(),
            script_sig: ScriptBuf::from_bytes(script),
            sequence: Sequence::MAX,
            witness: Witness::new(),
        }],
        output: vec![TxOut { value: Amount::from_sat(5000), script_pubkey: ScriptBuf::from_bytes(vec![0x51]) }],
    };
    let mut block = Block {
        header: Header {
            version: Version::ONE,
            prev_blockhash: bitcoin::BlockHash::from_byte_array(previous.0),
            merkle_root: TxMerkleNode::all_zeros(),
            time: 1_700_000_000 + height,
            bits: CompactTarget::from_consensus(0x207f_ffff),
            nonce: salt,
        },
        txdata: vec![coinbase],
    };
    block.header.merkle_root = block.compute_merkle_root().unwrap();
    (BlockHash(block.block_hash().to_byte_array()), serialize(&block))
}

/// The node's state, which tests change as they like.
pub struct Toy {
    /// Hashes of the best chain, from genesis.
    pub best: Vec<BlockHash>,
    /// All blocks, also stale ones.
    pub blocks: BTreeMap<BlockHash, Vec<u8>>,
    pub chain: &'static str,
    pub version: u32,
    pub initial_download: bool,
    /// Headers known beyond the tip.
    pub more_headers: u32,
    pub prune_height: Option<Height>,
    pub rest: bool,
    /// Sent instead of these blocks.
    pub replaced: BTreeMap<BlockHash, Vec<u8>>,
    /// Time that a block takes.
    pub delay: Duration,
    /// Called before each call is answered, also in the middle of a batch: to change things at the worst moment.
    pub before: Option<Before>,
}

/// Is given the best chain and the method.
type Before = Box<dyn FnMut(&mut Vec<BlockHash>, &str) + Send>;

pub type SharedToy = Arc<Mutex<Toy>>;

impl Toy {
    /// Genesis and `height` blocks on it.
    pub fn new(height: Height) -> SharedToy {
        let (genesis, raw) = block(BlockHash::default(), 0, 0);
        let mut toy = Toy {
            best: vec![genesis],
            blocks: BTreeMap::from([(genesis, raw)]),
            chain: "regtest",
            version: 300_000,
            initial_download: false,
            more_headers: 0,
            prune_height: None,
            rest: false,
            replaced: BTreeMap::new(),
            delay: Duration::ZERO,
            before: None,
        };
        toy.mine(height, 0);
        Arc::new(Mutex::new(toy))
    }

    pub fn mine(&mut self, blocks: u32, salt: u32) {
        for _ in 0..blocks {
            let (hash, raw) = block(*self.best.last().unwrap(), self.best.len() as u32, salt);
            self.best.push(hash);
            self.blocks.insert(hash, raw);
        }
    }

    /// Takes `off` blocks from the best chain and puts `on` others there.
    pub fn reorg(&mut self, off: usize, on: u32, salt: u32) {
        self.best.truncate(self.best.len() - off);
        self.mine(on, salt);
    }

    pub fn tip(&self) -> BlockAt {
        BlockAt { height: self.best.len() as u32 - 1, hash: *self.best.last().unwrap() }
    }

    fn height_of(&self, hash: &BlockHash) -> Option<Height> {
        self.best.iter().position(|other| other == hash).map(|height| height as u32)
    }

    fn disturb(&mut self, method: &str) {
        if let Some(mut before) = self.before.take() {
            before(&mut self.best, method);
            self.before = Some(before);
        }
    }

    fn call(&self, method: &str, params: &Value) -> Result<Value, (i64, &'static str)> {
        let hash = || params[0].as_str().and_then(|text| text.parse::<BlockHash>().ok()).ok_or((-8, "bad hash"));
        match method {
            "getblockchaininfo" => Ok(json!({
                "chain": self.chain, "blocks": self.tip().height, "headers": self.tip().height + self.more_headers,
                "bestblockhash": self.tip().hash.to_string(), "initialblockdownload": self.initial_download,
                "pruned": self.prune_height.is_some(), "pruneheight": self.prune_height.unwrap_or_default(),
                "verificationprogress": 1.0, "warnings": "",
            })),
            "getnetworkinfo" => Ok(json!({
                "version": self.version, "subversion": "/Satoshi/", "connections": 3, "networkactive": true,
                "relayfee": 0.000_01, "warnings": ["one"],
            })),
            "getbestblockhash" => Ok(json!(self.tip().hash.to_string())),
            "getblockhash" => {
                let height = params[0].as_u64().ok_or((-8, "bad height"))?;
                let hash = self.best.get(height as usize).ok_or((-8, "Block height out of range"))?;
                Ok(json!(hash.to_string()))
            }
            "getblockheader" => {
                let raw = self.blocks.get(&hash()?).ok_or((-5, "Block not found"))?;
                assert_eq!(params[1], json!(false));
                Ok(json!(hex::encode(&raw[..80])))
            }
            "getblock" => {
                let hash = hash()?;
                if self.height_of(&hash) < self.prune_height {
                    return Err((-1, "Block not available (pruned data)"));
                }
                Ok(json!(hex::encode(self.raw(&hash).ok_or((-5, "Block not found"))?)))
            }
            _ => Err((-32601, "Method not found")),
        }
    }

    fn raw(&self, hash: &BlockHash) -> Option<&Vec<u8>> {
        self.replaced.get(hash).or_else(|| self.blocks.get(hash))
    }

    fn get(&self, path: &str) -> Response {
        if !self.rest {
            return Response::text(404, "");
        }
        if path == "/rest/chaininfo.json" {
            return Response::text(200, "{}");
        }
        let hash = path.strip_prefix("/rest/block/").and_then(|rest| rest.strip_suffix(".bin"));
        match hash.and_then(|hash| hash.parse().ok()).and_then(|hash| self.raw(&hash)) {
            Some(raw) => Response::Whole(200, raw.clone()),
            None => Response::text(404, "not found"),
        }
    }
}

/// Serves a toy node.
pub fn serve(toy: &SharedToy) -> Server {
    let toy = Arc::clone(toy);
    Server::start(move |request| answer(&toy, request))
}

pub fn answer(toy: &SharedToy, request: &Request) -> Response {
    let body = request.rpc();
    let first = if body.is_array() { &body[0] } else { &body };
    let method = first["method"].as_str().unwrap_or_default().to_owned();
    let mut toy = toy.lock().unwrap();
    if !body.is_array() {
        toy.disturb(&method);
    }
    if (method == "getblock" || request.path.starts_with("/rest/block/")) && !toy.delay.is_zero() {
        let delay = toy.delay;
        drop(toy);
        std::thread::sleep(delay);
        return Response::text(503, "Work queue depth exceeded");
    }
    if request.method == "GET" {
        return toy.get(&request.path);
    }
    match body {
        Value::Array(requests) => {
            let mut replies: Vec<Value> = Vec::new();
            for one in &requests {
                let method = one["method"].as_str().unwrap_or_default();
                toy.disturb(method);
                replies.push(reply(&one["id"], toy.call(method, &one["params"])));
            }
            // Answers of a batch may come in any order.
            replies.reverse();
            Response::text(200, &Value::Array(replies).to_string())
        }
        one => Response::rpc(request, toy.call(&method, &one["params"])),
    }
}

/// Our chain: hashes from genesis on.
#[derive(Default, Clone, Debug)]
pub struct Ours(pub Vec<BlockHash>);

impl OurChain for Ours {
    fn tip(&self) -> Result<Option<BlockAt>, OwnerError> {
        Ok(self.0.last().map(|&hash| BlockAt { height: self.0.len() as u32 - 1, hash }))
    }

    fn hash_at(&self, height: Height) -> Result<Option<BlockHash>, OwnerError> {
        Ok(self.0.get(height as usize).copied())
    }
}
