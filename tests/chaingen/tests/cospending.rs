//! The mainnet shape's co-spending: whose coins are spent together, how often, and what clusters come of it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::HashMap;

use bitcoin::consensus::deserialize;
use bitcoin::{Block, OutPoint, ScriptBuf};
use cairn_chaingen::mainnet::{MainnetOptions, mainnet_blocks, mainnet_owners};

/// Disjoint sets of numbers.
#[derive(Default)]
struct Sets(Vec<u32>);

impl Sets {
    fn add(&mut self) -> u32 {
        self.0.push(self.0.len() as u32);
        self.0.len() as u32 - 1
    }

    fn root(&mut self, mut number: u32) -> u32 {
        while self.0[number as usize] != number {
            let above = self.0[self.0[number as usize] as usize];
            self.0[number as usize] = above;
            number = above;
        }
        number
    }

    fn unite(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a as usize] = b;
    }

    /// Sizes, smallest first.
    fn sizes(&mut self) -> Vec<u64> {
        let mut sizes = vec![0; self.0.len()];
        for number in 0..self.0.len() as u32 {
            sizes[self.root(number) as usize] += 1;
        }
        sizes.retain(|&size| size > 0);
        sizes.sort_unstable();
        sizes
    }
}

/// Counts of a chain.
#[derive(Default)]
struct Measured {
    /// Without coinbases.
    txs: u64,
    inputs: u64,
    /// Transactions with two inputs or more.
    multi: u64,
    /// Those with two scripts or more, their inputs, and the different scripts among these.
    eligible: u64,
    inputs_there: u64,
    scripts_there: u64,
    /// Those with just two scripts.
    two: u64,
    /// Inputs by blocks since the coin was made: 0, up to 1, up to 36.
    young: [u64; 3],
    owners: u64,
    scripts: u64,
    /// Sizes of the clusters, smallest first.
    sizes: Vec<u64>,
}

impl Measured {
    fn of(options: &MainnetOptions) -> Self {
        let mut measured = Self::default();
        let mut numbers: HashMap<ScriptBuf, u32> = HashMap::new();
        let mut owner_of: Vec<u32> = Vec::new();
        let mut coins: HashMap<OutPoint, (u32, u32)> = HashMap::new();
        let mut sets = Sets::default();
        mainnet_blocks(options, |raw| {
            let block: Block = deserialize(raw.block).unwrap();
            let mut owners = raw.owners.iter();
            for (position, tx) in block.txdata.iter().enumerate() {
                if position > 0 {
                    let taken: Vec<(u32, u32)> =
                        tx.input.iter().map(|input| coins.remove(&input.previous_output).unwrap()).collect();
                    let owner = owner_of[taken[0].0 as usize];
                    assert!(
                        taken.iter().all(|(script, _)| owner_of[*script as usize] == owner),
                        "inputs of two owners"
                    );
                    measured.transaction(raw.height, &taken, &mut sets);
                }
                let txid = tx.compute_txid();
                for (vout, output) in tx.output.iter().enumerate() {
                    let owner = *owners.next().unwrap();
                    let data = output.script_pubkey.is_op_return() || raw.height == 0;
                    assert_eq!(owner.is_none(), data);
                    if let Some(owner) = owner {
                        let number = *numbers.entry(output.script_pubkey.clone()).or_insert_with(|| {
                            owner_of.push(owner);
                            sets.add()
                        });
                        assert_eq!(owner_of[number as usize], owner, "a script of two owners");
                        coins.insert(OutPoint { txid, vout: vout as u32 }, (number, raw.height));
                    }
                }
            }
            assert!(owners.next().is_none());
            Ok(())
        })
        .unwrap();
        measured.scripts = numbers.len() as u64;
        measured.sizes = sets.sizes();
        owner_of.sort_unstable();
        owner_of.dedup();
        measured.owners = owner_of.len() as u64;
        measured
    }

    /// The scripts that a transaction spends from and the heights of the coins.
    fn transaction(&mut self, height: u32, taken: &[(u32, u32)], sets: &mut Sets) {
        for (_, born) in taken {
            for (young, most) in self.young.iter_mut().zip([0, 1, 36]) {
                *young += u64::from(height - born <= most);
            }
        }
        let mut scripts: Vec<u32> = taken.iter().map(|(script, _)| *script).collect();
        scripts.sort_unstable();
        scripts.dedup();
        self.txs += 1;
        self.inputs += taken.len() as u64;
        self.multi += u64::from(taken.len() > 1);
        if scripts.len() > 1 {
            self.eligible += 1;
            self.inputs_there += taken.len() as u64;
            self.scripts_there += scripts.len() as u64;
            self.two += u64::from(scripts.len() == 2);
            for pair in scripts.windows(2) {
                sets.unite(pair[0], pair[1]);
            }
        }
    }

    /// Number of clusters with at least `size` scripts.
    fn at_least(&self, size: u64) -> u64 {
        self.sizes.iter().filter(|&&of| of >= size).count() as u64
    }

    fn check(&self, name: &str, value: f64, wanted: std::ops::Range<f64>) {
        assert!(wanted.contains(&value), "{name}: {value:.4} is not in {wanted:?} with {} scripts", self.scripts);
    }
}

fn share(part: u64, of: u64) -> f64 {
    part as f64 / of as f64
}

/// The bounds hold the documented shares, and leave room for how they move with the size of the chain.
#[test]
fn co_spending_is_like_mainnets() {
    for (seed, target) in [(1, 60_000_000), (2, 200_000_000)] {
        let measured = Measured::of(&MainnetOptions { empty_blocks: 0, ..MainnetOptions::new(seed, target) });
        let Measured { txs, inputs, multi, eligible, inputs_there, scripts_there, scripts, .. } = measured;
        measured.check("eligible", share(eligible, txs), 0.25..0.29);
        measured.check("one script, several inputs", 1.0 - share(eligible, multi), 0.17..0.23);
        measured.check("scripts for an input", share(scripts_there, inputs_there), 0.84..0.92);
        measured.check("scripts for a transaction", share(scripts_there, eligible), 4.4..5.4);
        measured.check("two scripts", share(measured.two, eligible), 0.50..0.65);
        measured.check("inputs of a transaction", share(inputs, txs), 2.45..2.62);
        measured.check("owners for a script", share(measured.owners, scripts), 0.22..0.27);

        let clusters = measured.sizes.len() as u64;
        measured.check("clusters for a script", share(clusters, scripts), 0.43..0.50);
        // Who spends what is known is never wrong, so there are at least as many clusters as owners.
        assert!(clusters > measured.owners);
        let alone = clusters - measured.at_least(2);
        measured.check("clusters of one script", share(alone, clusters), 0.70..0.80);
        // A power law of exponent 2: half as many at each doubling, with a factor 8 from 4 to 256 and on.
        for size in [4, 32] {
            measured.check("an eighth", share(measured.at_least(8 * size), measured.at_least(size)), 0.06..0.25);
        }
        measured.check("largest", share(*measured.sizes.last().unwrap(), scripts), 0.01..0.06);
        let top: u64 = measured.sizes.iter().rev().take(10).sum();
        measured.check("ten largest", share(top, scripts), 0.05..0.20);
    }
}

#[test]
fn coin_ages_are_like_mainnets() {
    let measured = Measured::of(&MainnetOptions { empty_blocks: 0, ..MainnetOptions::new(3, 400_000_000) });
    let [same, two, many] = measured.young.map(|young| share(young, measured.inputs));
    measured.check("coins of the same block", same, 0.08..0.14);
    measured.check("coins of the last two blocks", two, 0.27..0.38);
    // It falls to 0.86 over gigabytes, as the chain grows longer than 36 blocks by far.
    measured.check("coins of the last 36 blocks", many, 0.85..0.99);
}

#[test]
fn owners_of_scripts_are_those_of_the_outputs() {
    let options = MainnetOptions { empty_blocks: 1, ..MainnetOptions::new(4, 3_000_000) };
    let owners = mainnet_owners(&options).unwrap();
    let mut paid: HashMap<ScriptBuf, u32> = HashMap::new();
    let mut data = 0;
    mainnet_blocks(&options, |raw| {
        let block: Block = deserialize(raw.block).unwrap();
        let outputs: Vec<_> = block.txdata.iter().flat_map(|tx| &tx.output).collect();
        assert_eq!(outputs.len(), raw.owners.len());
        for (output, owner) in outputs.into_iter().zip(raw.owners) {
            match owner {
                Some(owner) => drop(paid.insert(output.script_pubkey.clone(), *owner)),
                None => data += 1,
            }
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(owners, paid);
    assert!(owners.len() > 5_000 && data > 100, "{} {data}", owners.len());
    // Who has the busiest address is an owner like others.
    let busy = MainnetOptions { busiest_percent: 40, ..options };
    assert!(mainnet_owners(&busy).unwrap().contains_key(&busy.busiest().unwrap()));
    let measured = Measured::of(&busy);
    assert!(measured.owners > 500);
}
