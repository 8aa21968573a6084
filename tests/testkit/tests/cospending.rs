//! How often real blocks spend several scripts together: the numbers that the mainnet shape of the generator goes by.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Block, TxIn, consensus::deserialize};
use cairn_testkit::shared_data_or_skip;

/// Counts of the transactions of a block, its coinbase left out.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    txs: usize,
    inputs: usize,
    /// With two inputs or more.
    multi: usize,
    /// With two scripts or more.
    eligible: usize,
    /// Inputs of these, and different scripts among them.
    inputs_there: usize,
    scripts_there: usize,
    /// Of the scripts of an eligible transaction.
    median: usize,
}

fn counts<S: Ord>(txs: impl Iterator<Item = Vec<S>>) -> Counts {
    let mut counts = Counts { txs: 0, inputs: 0, multi: 0, eligible: 0, inputs_there: 0, scripts_there: 0, median: 0 };
    let mut sizes = Vec::new();
    for spent in txs {
        let scripts: BTreeSet<&S> = spent.iter().collect();
        counts.txs += 1;
        counts.inputs += spent.len();
        counts.multi += usize::from(spent.len() > 1);
        if scripts.len() > 1 {
            counts.eligible += 1;
            counts.inputs_there += spent.len();
            counts.scripts_there += scripts.len();
            sizes.push(scripts.len());
        }
    }
    sizes.sort_unstable();
    counts.median = sizes[sizes.len() / 2];
    counts
}

/// Bytes that identify the script that an input spends, before taproot: a key or a script, of which that script is the
/// hash.
fn unlocked_by(input: &TxIn) -> Vec<u8> {
    if input.script_sig.is_empty() {
        return input.witness.last().unwrap_or_default().to_vec();
    }
    let pushes = input.script_sig.instructions().filter_map(|each| Some(each.ok()?.push_bytes()?.as_bytes().to_vec()));
    pushes.last().unwrap_or_default()
}

#[test]
fn shares_of_real_blocks() {
    let data = shared_data_or_skip!();
    let mut found = Vec::new();
    for name in [
        "279671_0000000000000002fa7d943a10651794a50447c262216df7695da5d624761cbf",
        "361582_0000000000000000070a2bb3b92c20d5c2c971e6e1a7abe55cdbbe6a2dd9a5ad",
        "866342_000000000000000000014ce9ba7c6760053c3c82ce6ab43d60afb101d3c8f1f1",
    ] {
        let csv = std::fs::read_to_string(data.join("mainnet/blocks").join(format!("{name}.csv"))).unwrap();
        let mut txs: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for row in csv.lines().skip(1) {
            let columns: Vec<&str> = row.split(',').collect();
            txs.entry(columns[0]).or_default().push(columns[5]);
        }
        found.push(counts(txs.into_values()));
    }
    let name = "702861_000000000000000000000c835b2adcaedc20fdf6ee440009c249452c726dafae.bin";
    let block: Block = deserialize(&std::fs::read(data.join("mainnet/blocks").join(name)).unwrap()).unwrap();
    found.push(counts(block.txdata.iter().skip(1).map(|tx| tx.input.iter().map(unlocked_by).collect())));

    let [in_2014, in_2015, in_2024, in_2021] = &found[..] else { panic!("{found:?}") };
    assert_eq!((in_2014.txs, in_2014.multi, in_2014.eligible), (216, 80, 58));
    assert_eq!((in_2015.txs, in_2015.multi, in_2015.eligible), (276, 131, 112));
    assert_eq!((in_2021.txs, in_2021.multi, in_2021.eligible), (2_499, 606, 511));
    assert_eq!((in_2024.txs, in_2024.multi, in_2024.eligible), (4_863, 212, 149));
    // Different scripts for 100 inputs of eligible transactions.
    let distinct = |counts: &Counts| 100 * counts.scripts_there / counts.inputs_there;
    assert_eq!([in_2014, in_2015, in_2021, in_2024].map(distinct), [88, 92, 91, 66]);
    // Scripts of an eligible transaction: the mean in tenths, and the median.
    let mean = |counts: &Counts| 10 * counts.scripts_there / counts.eligible;
    assert_eq!([in_2014, in_2015, in_2021, in_2024].map(mean), [128, 27, 76, 127]);
    assert_eq!([in_2014, in_2015, in_2021, in_2024].map(|counts| counts.median), [2; 4]);
}
