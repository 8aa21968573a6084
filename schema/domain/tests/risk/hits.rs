//! Real transactions that detectors name: the list that somebody has read, one by one.
//!
//! `tests/data/risk_hits.tsv` has what the detectors find, a line for each; `docs/risk-hits.md` has what a reader saw.
//! The list begins with every hit in the first 4 522 blocks, of which histories are whole. Hits in a block that stands
//! alone follow: what is found in a part of a history stays found in the whole, except for shares of sums.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use bitcoin::{OutPoint, Txid, hashes::Hash};
use cairn_domain::{
    address_of,
    risk::{Signal, SignalState},
};
use cairn_model::{Network, Outpoint, ScriptId, TxNum};
use cairn_testkit::{read_block_file, shared_data_or_skip};

use super::{
    blocks::{RealBlock, early, id, real_blocks},
    world::World,
};

/// Transactions by which a detector fires that are read in blocks that stand alone.
const EACH: usize = 16;

/// A hit, and where it is.
struct Hit {
    detector: &'static str,
    blocks: String,
    script: String,
    words: String,
    txids: Vec<Txid>,
}

impl Hit {
    fn row(&self) -> String {
        let txids: Vec<String> = self.txids.iter().take(4).map(ToString::to_string).collect();
        let Self { detector, blocks, script, words, .. } = self;
        format!("{detector}\t{blocks}\t{script}\t{words}\t{}\n", txids.join(" "))
    }
}

/// The hits of a world, by detector. In each, the order is that of the first txid, which has nothing to do with what a
/// hit is.
fn hits_in(world: &World, blocks: &str, names: &HashMap<ScriptId, Vec<u8>>, txids: &HashMap<TxNum, Txid>) -> Vec<Hit> {
    let mut found = Vec::new();
    for script in world.scripts() {
        let is_hit = |signal: &Signal| signal.state == SignalState::Fired;
        for signal in world.signals(script).into_iter().filter(is_hit) {
            let bytes = &names[&script];
            let hit = Hit {
                detector: signal.detector.id,
                blocks: blocks.to_owned(),
                script: address_of(bytes, Network::Main).unwrap_or_else(|| hex::encode(bytes)),
                words: signal.reason,
                txids: signal.txs.iter().map(|tx| txids[tx]).collect(),
            };
            found.push(hit);
        }
    }
    found.sort_by_key(order);
    found
}

fn order(hit: &Hit) -> (&'static str, [u8; 32], String) {
    (hit.detector, hit.txids[0].to_byte_array(), hit.script.clone())
}

/// Hits in the first blocks.
fn hits_of_early_blocks(folder: &Path) -> Vec<Hit> {
    let (mut names, mut txids, mut next) = (HashMap::new(), HashMap::new(), 0);
    for block in read_block_file(&folder.join("blk00000.dat"), Network::Main) {
        for tx in &block.txdata {
            txids.insert(TxNum(next), tx.compute_txid());
            next += 1;
            names.extend(tx.output.iter().map(|out| (id(out.script_pubkey.as_bytes()), out.script_pubkey.to_bytes())));
        }
    }
    hits_in(&early(folder), "0 to 4521", &names, &txids)
}

/// Hits in a block that stands alone: coins from before it come from nowhere.
fn hits_of_block(real: &RealBlock) -> Vec<Hit> {
    let (mut names, mut txids, mut numbers) = (HashMap::new(), HashMap::new(), HashMap::new());
    let (mut world, mut unknown) = (World::default(), 0);
    for (tx, seen) in real.block.txdata.iter().skip(1).zip(real.payments()) {
        let mut coin = |at: &OutPoint| match numbers.get(&at.txid) {
            Some(tx_num) => Outpoint { tx_num: *tx_num, vout: at.vout },
            None => {
                unknown += 1;
                Outpoint { tx_num: TxNum(0), vout: unknown }
            }
        };
        let spent: Vec<Outpoint> = tx.input.iter().map(|input| coin(&input.previous_output)).collect();
        names.extend(tx.input.iter().map(|input| &real.spent[&input.previous_output].1).map(|of| (id(of), of.clone())));
        names.extend(tx.output.iter().map(|out| (id(out.script_pubkey.as_bytes()), out.script_pubkey.to_bytes())));
        txids.insert(seen.tx_num, tx.compute_txid());
        numbers.insert(tx.compute_txid(), seen.tx_num);
        world.add(seen, spent);
    }
    hits_in(&world, &real.height.to_string(), &names, &txids)
}

#[test]
fn hits_in_real_blocks_are_those_that_were_read() {
    let folder = shared_data_or_skip!().join("mainnet");
    let mut hits = hits_of_early_blocks(&folder);
    let mut alone: Vec<Hit> = real_blocks(&folder).iter().flat_map(hits_of_block).collect();
    alone.sort_by_key(order);
    // One reading is enough where a transaction shows the pattern for several scripts.
    alone.dedup_by_key(|hit| (hit.detector, hit.txids[0]));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    alone.retain(|hit| {
        let count = counts.entry(hit.detector).or_default();
        *count += 1;
        *count <= EACH
    });
    hits.extend(alone);
    let mut text = String::from("detector\tblocks\tscript\tobservation\ttxids\n");
    hits.iter().for_each(|hit| write!(text, "{}", hit.row()).unwrap());
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/risk_hits.tsv");
    if std::env::var_os("CAIRN_UPDATE_DOCS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), text, "CAIRN_UPDATE_DOCS=1 records it again");
}

/// The list in the documentation has a line for each hit, in their order.
#[test]
fn each_hit_has_a_reading() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = fs::read_to_string(root.join("tests/data/risk_hits.tsv")).unwrap();
    let read = fs::read_to_string(root.join("../../docs/risk-hits.md")).unwrap();
    let lines = read.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        (cells.len() == 9 && cells[1].parse::<u32>().is_ok()).then(|| cells[2..8].join("\t").replace('`', ""))
    });
    let lines: Vec<String> = lines.collect();
    let found: Vec<Vec<&str>> = found.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), found.len());
    assert!(lines.len() >= 50);
    for (line, hit) in lines.iter().zip(&found) {
        let cells: Vec<&str> = line.split('\t').collect();
        assert_eq!((cells[0], cells[1]), (hit[0], hit[1]), "{line}");
        assert!(hit[2].starts_with(cells[2].trim_end_matches('…')), "{line}");
        assert_eq!(Some(cells[3]), hit[4].split(' ').next(), "{line}");
        assert!(!cells[4].is_empty() && !cells[5].is_empty(), "{line}");
    }
}
