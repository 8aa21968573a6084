//! How often the detectors hold in real blocks, with every hit by txid.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
};

use bitcoin::{Block, OutPoint, ScriptBuf, Transaction, consensus::deserialize};
use cairn_domain::coinjoin::detect;
use cairn_model::{Network, ScriptTemplate};
use cairn_testkit::{read_block_file, shared_data_or_skip};

use super::shapes::{Coin, Tx};

fn coin(value: u64, script: &[u8]) -> Coin {
    Coin { value, template: ScriptTemplate::of(script), script: script.to_vec() }
}

fn resolved(tx: &Transaction, mut spent: impl FnMut(&OutPoint) -> Coin) -> Tx {
    let outputs = tx.output.iter().map(|out| coin(out.value.to_sat(), out.script_pubkey.as_bytes())).collect();
    Tx { inputs: tx.input.iter().map(|input| spent(&input.previous_output)).collect(), outputs }
}

/// Block and coins that it spends; `None` for blocks without a list of these.
fn block_and_spent(path: &Path) -> Option<(Block, HashMap<OutPoint, Coin>)> {
    let list = fs::read_to_string(path.with_extension("csv")).ok()?;
    let row = |line: &str| {
        let columns: Vec<&str> = line.split(',').collect();
        let outpoint = OutPoint { txid: columns[2].parse().unwrap(), vout: columns[3].parse().unwrap() };
        (outpoint, coin(columns[4].parse().unwrap(), ScriptBuf::from_hex(columns[5]).unwrap().as_bytes()))
    };
    Some((deserialize(&fs::read(path).unwrap()).unwrap(), list.lines().skip(1).map(row).collect()))
}

#[test]
fn rate_in_real_blocks() {
    let folder = shared_data_or_skip!().join("mainnet");
    let mut hits = BTreeMap::new();
    let mut look = |tx: &Transaction, shape: &Tx| {
        if let Some(kind) = detect(shape) {
            hits.insert(tx.compute_txid().to_string(), kind.code());
        }
    };

    let (mut early, mut coins) = (0, HashMap::new());
    for block in read_block_file(&folder.join("blk00000.dat"), Network::Main) {
        for tx in &block.txdata {
            if !tx.is_coinbase() {
                early += 1;
                look(tx, &resolved(tx, |outpoint| coins.remove(outpoint).unwrap()));
            }
            let txid = tx.compute_txid();
            for (vout, out) in tx.output.iter().enumerate() {
                coins.insert(OutPoint::new(txid, vout as u32), coin(out.value.to_sat(), out.script_pubkey.as_bytes()));
            }
        }
    }

    let mut counts = BTreeMap::new();
    for entry in folder.join("blocks").read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "bin") {
            continue;
        }
        let Some((block, spent)) = block_and_spent(&path) else { continue };
        let name = path.file_name().unwrap().to_str().unwrap();
        let mut several = 0;
        for tx in block.txdata.iter().filter(|tx| !tx.is_coinbase()) {
            let shape = resolved(tx, |outpoint| spent[outpoint].clone());
            several += usize::from(tx.input.len() > 1);
            look(tx, &shape);
        }
        counts.insert(name[..6].to_owned(), (block.txdata.len() - 1, several));
    }

    let expected = [
        ("057043", (1, 1)),
        ("091722", (0, 0)),
        ("279671", (216, 80)),
        ("361582", (276, 131)),
        ("866342", (4_863, 212)),
    ];
    let counts: Vec<_> = counts.iter().map(|(height, counts)| (height.as_str(), *counts)).collect();
    assert_eq!(counts, expected, "payments, and those with several inputs");
    assert_eq!(early, 61, "payments among the first 4 522 blocks");
    assert_eq!(hits, BTreeMap::new());
}
