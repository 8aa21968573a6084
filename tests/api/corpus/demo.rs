//! The demo chain, what waits over it, and what is worth asking about.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bitcoin::{Address, Script, ScriptBuf, Transaction, consensus::deserialize, hashes::Hash};
use cairn_chaingen::demo::{END_TIME, Unconfirmed, actors, chain_and_mempool, showcase};
use cairn_http::HttpConfig;
use cairn_link::IndexSlot;
use cairn_model::{
    BlockHash, MempoolDelta, MempoolInput, MempoolOutput, MempoolTx, MempoolWatch, NodeFloor, RemoveReason, SourceKind,
    SourceStatus, Txid,
};
use cairn_operations::{ApiConfig, ApiState, BroadcastLimits, Featured, NodeAccess, Question, Refused, Unreachable};

use crate::support::{World, address, open_config, script_hash};

/// The seed of `cairn demo`.
const SEED: u64 = 1;
/// The fees that a node with this mempool would demand, and its figures.
const FLOOR: NodeFloor =
    NodeFloor { mempool_min_fee: 1_000, min_relay_fee: 1_000, max_bytes: 300_000_000, usage_bytes: 5_000_000 };

/// The chain, an index of it, and subjects of requests, each list in an order that is always the same.
pub struct Demo {
    pub world: World,
    pub waiting: Vec<Unconfirmed>,
    /// Addresses with names.
    pub named: Vec<String>,
    /// Scripts in the most transactions, the busiest first.
    pub busy: Vec<String>,
    /// Some of all others, by address or by hash.
    pub others: Vec<String>,
    /// Some transactions of every kind, with the scripts that they pay.
    pub txs: Vec<Paid>,
    /// Some that wait.
    pub pending: Vec<Paid>,
    /// Those that wait no more, since others took their place.
    pub replaced: Vec<Paid>,
}

/// A transaction and somebody whom it pays.
#[derive(Clone, Debug)]
pub struct Paid {
    pub txid: String,
    pub to: String,
    pub sats: u64,
    pub raw: String,
}

impl Paid {
    fn of(tx: &Transaction) -> Self {
        let out = &tx.output[tx.output.len() / 2];
        Paid {
            txid: tx.compute_txid().to_string(),
            to: name(&out.script_pubkey),
            sats: out.value.to_sat(),
            raw: bitcoin::consensus::encode::serialize_hex(tx),
        }
    }
}

fn name(script: &Script) -> String {
    address(script).unwrap_or_else(|| script_hash(script))
}

/// As many of them, evenly spread.
fn spread<T: Clone>(all: &[T], count: usize) -> Vec<T> {
    (0..count.min(all.len())).map(|at| all[at * all.len() / count.min(all.len())].clone()).collect()
}

impl Demo {
    pub fn new() -> Self {
        let (chain, waiting) = chain_and_mempool(SEED).unwrap();
        let world = World::of(chain);
        let text = |addresses: &[Address]| addresses.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut named: BTreeSet<String> = actors().unwrap().iter().flat_map(|actor| text(&actor.addresses)).collect();
        named.extend(showcase().unwrap().map(|s| s.address.to_string()));

        let mut touched: BTreeMap<ScriptBuf, usize> = BTreeMap::new();
        for script in world.oracle.scripts() {
            touched.insert(script.clone(), world.oracle.history(script).len());
        }
        let mut by_use: Vec<(usize, &ScriptBuf)> = touched.iter().map(|(script, count)| (*count, script)).collect();
        by_use.sort_by(|a, b| b.cmp(a));
        let busy: Vec<String> = by_use.iter().take(14).map(|(_, script)| name(script)).collect();
        let others: Vec<&ScriptBuf> = touched.keys().collect();
        let others = spread(&others, 100)
            .into_iter()
            .enumerate()
            .map(|(at, script)| if at % 3 == 0 { script_hash(script) } else { name(script) })
            .collect();

        let all: Vec<&Transaction> = world.oracle.blocks().iter().flat_map(|block| &block.txdata).collect();
        let says = |tx: &&Transaction| tx.output.iter().any(|out| out.script_pubkey.is_op_return());
        let saying: Vec<&Transaction> = all.iter().copied().filter(|tx| says(tx) && !tx.is_coinbase()).collect();
        let mut large = all.clone();
        large.sort_by_key(|tx| (std::cmp::Reverse(tx.input.len().max(tx.output.len())), tx.compute_txid()));
        let coinbases: Vec<&Transaction> = all.iter().copied().filter(|tx| tx.is_coinbase()).collect();
        let picked = [spread(&all, 80), spread(&saying, 16), large[..12].to_vec(), spread(&coinbases, 8)].concat();

        let gone: BTreeSet<bitcoin::Txid> = waiting.iter().filter_map(|tx| tx.replaces).collect();
        let (replaced, there): (Vec<&Transaction>, Vec<&Transaction>) =
            waiting.iter().map(|made| &made.tx).partition(|tx| gone.contains(&tx.compute_txid()));
        Demo {
            named: named.into_iter().collect(),
            busy,
            others,
            txs: picked.into_iter().map(Paid::of).collect(),
            pending: spread(&there, 75).into_iter().map(Paid::of).collect(),
            replaced: spread(&replaced, 12).into_iter().map(Paid::of).collect(),
            waiting,
            world,
        }
    }

    /// Height of the tip.
    pub fn tip(&self) -> u32 {
        self.world.oracle.blocks().len() as u32 - 1
    }

    /// Hash of a block.
    pub fn hash(&self, height: u32) -> String {
        self.world.oracle.blocks()[height as usize].block_hash().to_string()
    }

    /// The index alone: nobody watches a mempool.
    pub fn confirmed(&self) -> Arc<IndexSlot> {
        Arc::new(IndexSlot::with(self.world.engine.lock().unwrap().reader()))
    }

    /// The index and what waits, as `cairn demo` shows it. The times of first sight follow the tip's.
    pub fn unconfirmed(&self) -> Arc<IndexSlot> {
        let slot = self.confirmed();
        let tip = self.world.oracle.blocks().last().unwrap();
        let hash = BlockHash(tip.block_hash().to_byte_array());
        let (height, pool) = (self.tip(), slot.pool());
        slot.set_best_height(Some(height));
        let mut deltas = vec![MempoolDelta::Reset { sequence: 0 }];
        for made in &self.waiting {
            let tx = resolved(made);
            if let Some(replaced) = &made.replaces {
                let reason = RemoveReason::Replaced { by: tx.txid };
                deltas.push(MempoolDelta::Remove { txid: Txid(replaced.to_byte_array()), reason });
            }
            deltas.push(MempoolDelta::Add(Arc::new(tx)));
        }
        deltas.push(MempoolDelta::Block { height, hash, time: tip.header.time });
        deltas.push(MempoolDelta::NodeFloor(FLOOR));
        deltas.push(MempoolDelta::Sequence(deltas.len() as u64));
        pool.apply(&deltas);
        assert!(pool.refresh(), "nothing hinders a projection");
        slot.set_source(Some(SourceStatus {
            kind: SourceKind::Demo,
            at: super::record::unix_now(),
            reachable: true,
            blocks: Some(height),
            headers: Some(height),
            mempool: MempoolWatch::Synced,
            mempool_known: pool.stats().unwrap().count,
            mempool_sequence: Some(deltas.len() as u64),
            ..SourceStatus::default()
        }));
        slot
    }

    /// A configuration with the demo's examples.
    pub fn config(&self) -> ApiConfig {
        let featured = |address: &String| Featured {
            title: "Someone".to_owned(),
            description: "An example.".to_owned(),
            address: address.clone(),
            account_key: None,
        };
        let http = HttpConfig { rate_limit: 0, ..open_config().http };
        ApiConfig { featured: self.named.iter().take(3).map(featured).collect(), ..http.into() }
    }

    /// An API over an index, with a node that takes every transaction in.
    pub fn with_node(&self, slot: &Arc<IndexSlot>, config: ApiConfig) -> ApiState {
        ApiState { node: Some(Arc::new(Obliging)), ..ApiState::new(Arc::clone(slot) as Arc<_>, config) }
    }
}

/// A node that takes every transaction in, and has none itself.
struct Obliging;

impl NodeAccess for Obliging {
    fn broadcast(&self, raw: &[u8], _: BroadcastLimits) -> Result<Txid, Refused> {
        let tx: Transaction = deserialize(raw).unwrap();
        // Some are refused, so that refusals are seen.
        match tx.output.len() {
            3 => Err(Refused::Rejected { code: -26, reason: "min relay fee not met".to_owned() }),
            4 => Err(Refused::Unavailable),
            _ => Ok(Txid(tx.compute_txid().to_byte_array())),
        }
    }

    fn check(&self, raw: &[u8], limits: BroadcastLimits) -> Result<(), Refused> {
        self.broadcast(raw, limits).map(drop)
    }

    fn raw_transaction(&self, _: &Txid, _: Option<&BlockHash>) -> Result<Option<Vec<u8>>, Unreachable> {
        Ok(None)
    }

    fn raw_block(&self, _: &BlockHash) -> Result<Option<Vec<u8>>, Unreachable> {
        Err(Unreachable)
    }

    fn ask(&self, _: &Question) -> Result<serde_json::Value, Refused> {
        Err(Refused::Unavailable)
    }
}

/// A transaction with its coins.
fn resolved(made: &Unconfirmed) -> MempoolTx {
    let (tx, raw) = (&made.tx, made.raw());
    let inputs = tx.input.iter().zip(&made.spent).enumerate().map(|(index, (input, coin))| MempoolInput {
        prev_txid: Txid(input.previous_output.txid.to_byte_array()),
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
    MempoolTx {
        txid: Txid(tx.compute_txid().to_byte_array()),
        wtxid: Txid(tx.compute_wtxid().to_byte_array()),
        size: raw.len() as u32,
        base_size: tx.base_size() as u32,
        sigop_cost: made.sigop_cost() as u32,
        fee_sats: made.fee(),
        version: tx.version.0,
        lock_time: tx.lock_time.to_consensus_u32(),
        first_seen_ms: u64::from(END_TIME) * 1_000 + made.seen.as_millis() as u64,
        inputs: inputs.collect(),
        outputs: outputs.collect(),
        raw: Some(raw.into()),
    }
}
