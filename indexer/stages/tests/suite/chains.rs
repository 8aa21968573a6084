//! Chains for the laws: generated ones, and ones made by hand for what generated ones lack.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, OnceLock},
};

use bitcoin::{consensus::serialize, hashes::Hash};
use cairn_chaingen::{EverythingOptions, Mined, everything};
use cairn_domain::cospending::Cospent;
use cairn_model::{
    Block, BlockHash, FilePos, InputFlags, Outpoint, OutputMeta, Sats, ScriptId, ScriptPrefix, ScriptTemplate,
    SpentCoin, TxMeta, TxNum, Txid, is_unspendable,
};
use cairn_stages::{ChainTimes, Past, ScriptBefore, StageError};
use cairn_tables::history::HistoryEntry;

use crate::toy::{Toy, ToyOptions};

/// A chain with a name for messages.
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) blocks: Vec<Block>,
}

/// Every chain; genesis first.
pub(crate) fn chains() -> &'static [Named] {
    static CHAINS: OnceLock<Vec<Named>> = OnceLock::new();
    CHAINS.get_or_init(|| {
        let named = |name, blocks| Named { name, blocks };
        vec![
            named("everything", resolved(41)),
            named("many scripts", Toy::chain(1, 60, &ToyOptions::default())),
            // Histories of several rows, which reorgs of a few blocks shorten and lengthen.
            named("few scripts", Toy::chain(2, 90, &ToyOptions { scripts: 3, txs: 12, ..ToyOptions::default() })),
            named("overwriting", Toy::chain(3, 60, &ToyOptions { overwrites: true, ..ToyOptions::default() })),
            named("slow", Toy::chain(6, 80, &ToyOptions { slow: true, overwrites: true, ..ToyOptions::default() })),
            named("rich", Toy::chain(8, 90, &ToyOptions { scripts: 12, rich: true, ..ToyOptions::default() })),
            named("colliding", Toy::chain(4, 60, &ToyOptions { ordinals: true, ..ToyOptions::default() })),
        ]
    })
}

/// One script in more transactions than one row of the history's index covers (128 × 256).
pub(crate) fn long_history() -> &'static Named {
    static CHAIN: OnceLock<Named> = OnceLock::new();
    CHAIN.get_or_init(|| Named { name: "long history", blocks: Toy::fan(5, 70, 480) })
}

/// Data that stages need of a chain besides its blocks.
pub(crate) struct Known {
    pub(crate) times: ChainTimes,
    /// The history of each script, transaction by transaction.
    history: BTreeMap<ScriptId, Vec<HistoryEntry>>,
    /// The first co-spending transaction of each script that has one.
    nodes: BTreeMap<ScriptId, TxNum>,
}

impl Known {
    fn of(blocks: &[Block]) -> Self {
        let times = ChainTimes::of(blocks.iter().map(|block| (block.mono_time, block.first_tx)));
        let mut history: BTreeMap<ScriptId, Vec<HistoryEntry>> = BTreeMap::new();
        let mut nodes = BTreeMap::new();
        for block in blocks {
            for (i, tx) in block.txs.iter().enumerate() {
                for script in Cospent::default().find(block, tx) {
                    nodes.entry(*script).or_insert(block.tx_num(i));
                }
                let mut effects: BTreeMap<ScriptId, (Sats, Sats)> = BTreeMap::new();
                let gone = block.overwritten.iter().filter(|gone| gone.by as usize == i).map(|gone| &gone.coin);
                block.inputs_of(tx).iter().chain(gone).for_each(|c| effects.entry(c.script).or_default().1 += c.value);
                let made = block.outputs_of(tx).iter().filter(|output| output.spendable);
                made.for_each(|output| effects.entry(output.id).or_default().0 += output.value);
                for (id, (received, sent)) in effects {
                    history.entry(id).or_default().push(HistoryEntry { tx_num: block.tx_num(i), received, sent });
                }
            }
        }
        Known { times, history, nodes }
    }

    /// Every script, with what it did.
    pub(crate) fn scripts(&self) -> impl Iterator<Item = (&ScriptId, &Vec<HistoryEntry>)> {
        self.history.iter()
    }
}

/// The chain before a transaction, as its blocks have it.
pub(crate) struct NaivePast<'k> {
    pub(crate) known: &'k Known,
    pub(crate) before: TxNum,
}

impl Past for NaivePast<'_> {
    fn script(&self, id: ScriptId, since: TxNum) -> Result<ScriptBefore, StageError> {
        let mut script = ScriptBefore::default();
        for entry in self.known.history.get(&id).into_iter().flatten().filter(|entry| entry.tx_num < self.before) {
            script.balance = script.balance + entry.received - entry.sent;
            script.since.received |= entry.received > 0 && entry.tx_num >= since;
            script.since.sent |= entry.sent > 0 && entry.tx_num >= since;
        }
        Ok(script)
    }

    fn is_known(&self, id: ScriptId) -> Result<bool, StageError> {
        let first = self.known.history.get(&id).and_then(|entries| entries.first());
        Ok(first.is_some_and(|entry| entry.tx_num < self.before))
    }

    fn quiet_since(&self, id: ScriptId) -> Result<Option<TxNum>, StageError> {
        let entries = || self.known.history.get(&id).into_iter().flatten().filter(|entry| entry.tx_num < self.before);
        let spent = entries().rfind(|entry| entry.sent > 0);
        Ok(spent.or(entries().next()).map(|entry| entry.tx_num))
    }

    fn node(&self, id: ScriptId) -> Result<Option<TxNum>, StageError> {
        Ok(self.known.nodes.get(&id).copied().filter(|node| *node < self.before))
    }
}

/// The chain that a block was made for, by the block's hash.
static KNOWN: Mutex<BTreeMap<[u8; 32], Arc<Known>>> = Mutex::new(BTreeMap::new());

/// Notes what stages ask of a chain; genesis first.
pub(crate) fn known(blocks: Vec<Block>) -> Vec<Block> {
    let known = Arc::new(Known::of(&blocks));
    KNOWN.lock().unwrap().extend(blocks.iter().map(|block| (block.hash.0, Arc::clone(&known))));
    blocks
}

/// The chain of a block.
pub(crate) fn known_of(block: &Block) -> Arc<Known> {
    Arc::clone(KNOWN.lock().unwrap().get(&block.hash.0).expect("a block of a chain that was noted"))
}

fn script_id(script: &[u8]) -> ScriptId {
    ScriptId { prefix: ScriptPrefix::of(script, 8), ordinal: 0 }
}

/// The active chain of a generated one, with what each input spends.
fn resolved(seed: u64) -> Vec<Block> {
    let options = EverythingOptions { blocks: 150, max_txs: 8, forks: vec![2], showpieces: false };
    let chain = everything(seed, &options).unwrap();
    let mut numbers = HashMap::new();
    let (mut next_tx, mut mono_time) = (0, 0);
    let mut block = |mined: &&Mined| {
        mono_time = mono_time.max(mined.block.header.time);
        let block = resolve(mined, TxNum(next_tx), mono_time, &mut numbers);
        next_tx += block.txs.len() as u64;
        block
    };
    known(chain.active().iter().map(&mut block).collect())
}

fn resolve(mined: &Mined, first_tx: TxNum, mono_time: u32, numbers: &mut HashMap<bitcoin::Txid, TxNum>) -> Block {
    let txdata = &mined.block.txdata;
    let mut block = Block {
        height: mined.height,
        hash: BlockHash(mined.hash().to_byte_array()),
        header: serialize(&mined.block.header).try_into().unwrap(),
        mono_time,
        first_tx,
        size: mined.block.total_size() as u32,
        position: Some(FilePos { file: 0, offset: 8 + u64::from(mined.height) * 1_000 }),
        coinbase_script: txdata[0].input[0].script_sig.to_bytes(),
        txs: Vec::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        scripts: Vec::new(),
        overwritten: Vec::new(),
    };
    for (i, tx) in txdata.iter().enumerate() {
        let (first_input, first_output) = (block.inputs.len() as u32, block.outputs.len() as u32);
        numbers.insert(tx.compute_txid(), TxNum(first_tx.0 + i as u64));
        if i > 0 {
            for (input, coin) in tx.input.iter().zip(&mined.spent[i - 1]) {
                let out = input.previous_output;
                block.inputs.push(SpentCoin {
                    outpoint: Outpoint { tx_num: numbers[&out.txid], vout: out.vout },
                    value: coin.txout.value.to_sat(),
                    script: script_id(coin.txout.script_pubkey.as_bytes()),
                    birth: coin.height,
                    flags: InputFlags {
                        coinbase: coin.coinbase,
                        anyone_can_pay: out.vout % 3 == 1,
                        template: ScriptTemplate::of(coin.txout.script_pubkey.as_bytes()),
                    },
                });
            }
        }
        for output in &tx.output {
            let (from, script) = (block.scripts.len() as u32, output.script_pubkey.as_bytes());
            block.scripts.extend_from_slice(script);
            block.outputs.push(OutputMeta {
                value: output.value.to_sat(),
                script: from..block.scripts.len() as u32,
                id: script_id(script),
                spendable: mined.height > 0 && !is_unspendable(script),
            });
        }
        block.txs.push(TxMeta {
            txid: Txid(tx.compute_txid().to_byte_array()),
            size: tx.total_size() as u32,
            base_size: tx.base_size() as u32,
            inputs: first_input..block.inputs.len() as u32,
            outputs: first_output..block.outputs.len() as u32,
        });
    }
    block
}
