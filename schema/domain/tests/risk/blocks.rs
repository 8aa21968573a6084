//! How often the detectors fire in real blocks.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
};

use bitcoin::{Block, OutPoint, ScriptBuf, Transaction, consensus::deserialize};
use cairn_domain::{
    coinjoin::{Resolved, detect},
    risk::{DETECTORS, Measurement, Paid, SignalState, Spent, Tx, fan_out::MIN_RECIPIENTS},
};
use cairn_model::{
    InputFlags, Network, Outpoint, OutputMeta, ScriptId, ScriptPrefix, ScriptTemplate, SpentCoin, TxNum, is_unspendable,
};
use cairn_testkit::{read_block_file, shared_data_or_skip};

use super::{precision::recorded, world::World};

pub(crate) fn id(script: &[u8]) -> ScriptId {
    ScriptId { prefix: ScriptPrefix::of(script, 8), ordinal: 0 }
}

/// A transaction as detectors see it, and what it spends.
fn tx_of(tx: &Transaction, tx_num: TxNum, height: u32, spent: &[(u64, Vec<u8>)]) -> Tx {
    let inputs: Vec<SpentCoin> = spent
        .iter()
        .map(|(value, script)| SpentCoin {
            outpoint: Outpoint { tx_num: TxNum(0), vout: 0 },
            value: *value,
            script: id(script),
            birth: 0,
            flags: InputFlags { template: ScriptTemplate::of(script), ..InputFlags::default() },
        })
        .collect();
    let (mut scripts, mut outputs) = (Vec::new(), Vec::new());
    for out in &tx.output {
        let (start, bytes) = (scripts.len() as u32, out.script_pubkey.as_bytes());
        scripts.extend_from_slice(bytes);
        outputs.push(OutputMeta {
            value: out.value.to_sat(),
            id: id(bytes),
            script: start..scripts.len() as u32,
            spendable: !is_unspendable(bytes),
        });
    }
    let coinjoin = detect(&Resolved { inputs: &inputs, outputs: &outputs, scripts: &scripts });
    let paid = |out: &OutputMeta| Paid { script: out.id, value: out.value, spendable: out.spendable };
    Tx {
        tx_num,
        height,
        inputs: inputs.iter().map(|coin| Spent { script: coin.script, value: coin.value }).collect(),
        outputs: outputs.iter().map(paid).collect(),
        coinjoin,
    }
}

/// The first 4 522 blocks, whole.
pub(crate) fn early(folder: &Path) -> World {
    let mut world = World::default();
    let mut coins: HashMap<OutPoint, (Outpoint, u64, Vec<u8>)> = HashMap::new();
    let mut next = 0;
    for (height, block) in (0..).zip(read_block_file(&folder.join("blk00000.dat"), Network::Main)) {
        for tx in &block.txdata {
            let tx_num = TxNum(next);
            next += 1;
            let inputs = tx.input.iter().filter(|input| !input.previous_output.is_null());
            let spent: Vec<_> = inputs.map(|input| coins.remove(&input.previous_output).unwrap()).collect();
            let values: Vec<_> = spent.iter().map(|(_, value, script)| (*value, script.clone())).collect();
            world.add(tx_of(tx, tx_num, height, &values), spent.iter().map(|(at, ..)| *at).collect());
            let txid = tx.compute_txid();
            for (vout, out) in (0..).zip(&tx.output) {
                let coin = (Outpoint { tx_num, vout }, out.value.to_sat(), out.script_pubkey.to_bytes());
                coins.insert(OutPoint { txid, vout }, coin);
            }
        }
    }
    world
}

/// A real block of the shared data: its height, its transactions, and the coins that they spend.
pub(crate) struct RealBlock {
    pub(crate) height: u32,
    pub(crate) block: Block,
    pub(crate) spent: HashMap<OutPoint, (u64, Vec<u8>)>,
}

/// The blocks whose spent coins are known, by height.
pub(crate) fn real_blocks(folder: &Path) -> Vec<RealBlock> {
    let mut files: Vec<_> = folder.join("blocks").read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let blocks = files.iter().filter(|path| path.extension().is_some_and(|of| of == "bin")).filter_map(|path| {
        let list = fs::read_to_string(path.with_extension("csv")).ok()?;
        let row = |line: &str| {
            let columns: Vec<&str> = line.split(',').collect();
            let outpoint = OutPoint { txid: columns[2].parse().unwrap(), vout: columns[3].parse().unwrap() };
            (outpoint, (columns[4].parse().unwrap(), ScriptBuf::from_hex(columns[5]).unwrap().to_bytes()))
        };
        Some(RealBlock {
            height: path.file_name().unwrap().to_str().unwrap()[..6].parse().unwrap(),
            block: deserialize(&fs::read(path).unwrap()).unwrap(),
            spent: list.lines().skip(1).map(row).collect(),
        })
    });
    blocks.collect()
}

impl RealBlock {
    /// The payments as detectors see them.
    pub(crate) fn payments(&self) -> Vec<Tx> {
        let payments = (0..).zip(&self.block.txdata).skip(1);
        payments
            .map(|(at, tx)| {
                let coins: Vec<_> = tx.input.iter().map(|input| self.spent[&input.previous_output].clone()).collect();
                tx_of(tx, TxNum(at), self.height, &coins)
            })
            .collect()
    }
}

#[test]
fn rate_in_real_blocks() {
    let folder = shared_data_or_skip!().join("mainnet");
    let world = early(&folder);
    let scripts: Vec<ScriptId> = world.scripts().collect();
    let mut fired: BTreeMap<&str, u64> = BTreeMap::new();
    for script in &scripts {
        for signal in world.signals(*script).iter().filter(|signal| signal.state == SignalState::Fired) {
            *fired.entry(signal.detector.id).or_default() += 1;
        }
    }
    let mut text = format!("blocks 0 to 4521, {} scripts with their whole history:", scripts.len());
    for detector in DETECTORS.iter().filter(|detector| detector.measurement == Measurement::Generated) {
        text += &format!(" {} {},", detector.id, fired.get(detector.id).copied().unwrap_or_default());
    }
    text.pop();
    text.push('\n');

    for real in real_blocks(&folder) {
        let payments = real.payments();
        let joined = payments.iter().filter(|tx| tx.coinjoin.is_some()).count();
        let wide = payments.iter().filter(|tx| {
            let own: Vec<ScriptId> = tx.inputs.iter().map(|coin| coin.script).collect();
            let mut paid: Vec<ScriptId> = tx
                .outputs
                .iter()
                .filter(|of| of.spendable)
                .map(|of| of.script)
                .filter(|of| !own.contains(of))
                .collect();
            paid.sort_unstable();
            paid.dedup();
            !tx.has_no_sender() && paid.len() >= MIN_RECIPIENTS
        });
        text += &format!(
            "block {}, {} payments: coinjoin_participation {joined}, fan_out {}\n",
            real.height,
            payments.len(),
            wide.count()
        );
    }
    recorded("real_blocks.txt", text.trim_end());
}
