//! Base rates: the share of the scripts of recent blocks for which something holds, estimated from random draws.
//!
//! A draw picks one input or output of these blocks, each with the same probability, and so its script. A script that
//! has many of them is drawn more often, and counts less each time: its weight is 1 ÷ (s × m), where s is the number of
//! inputs and outputs that it has in the drawn transaction, and m the number of its transactions in these blocks.
//! Dividing by s makes all pairs of a transaction and a script equal, dividing by m all scripts. This is the estimator
//! of Hansen and Hurwitz (1943) for draws with unequal probabilities: the sum of the weights of draws for which it
//! holds ÷ the sum of all weights.

use bitcoin::hashes::{Hash, HashEngine, sha256};

/// Blocks that a base rate is about.
pub const RATE_BLOCKS: u32 = 4_032;
/// Draws that a base rate is estimated from.
pub const RATE_DRAWS: u32 = 2_000;

/// The weight 1.
const ONE: u128 = 1 << 64;

/// One of `count` numbers: the same for everybody with the same seed. They are equally likely, except for a bias below
/// 1 in 2^64.
#[must_use]
pub fn draw(seed: &[u8; 32], number: u32, count: u64) -> u64 {
    let mut engine = sha256::Hash::engine();
    engine.input(b"cairn base rate");
    engine.input(seed);
    engine.input(&number.to_be_bytes());
    let digest = sha256::Hash::from_engine(engine).to_byte_array();
    let random = digest.iter().take(16).fold(0u128, |sum, byte| sum << 8 | u128::from(*byte));
    (random % u128::from(count.max(1))) as u64
}

/// The weight of a draw: of a script with `places` inputs and outputs in the drawn transaction, and `transactions` of
/// its own in all blocks.
#[must_use]
pub fn weight(places: u64, transactions: u64) -> u128 {
    ONE / (u128::from(places.max(1)) * u128::from(transactions.max(1)))
}

/// Weights of the draws so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    holds: u128,
    all: u128,
}

impl Tally {
    /// Adds draws of a script with this weight together.
    pub fn add(&mut self, weight: u128, holds: bool) {
        self.all = self.all.saturating_add(weight);
        if holds {
            self.holds = self.holds.saturating_add(weight);
        }
    }

    /// The share of scripts for which it holds, in millionths, rounded down; `None` without a draw.
    #[must_use]
    pub fn share_ppm(&self) -> Option<u32> {
        let share = self.holds.saturating_mul(1_000_000).checked_div(self.all)?;
        u32::try_from(share).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use rand::{Rng, SeedableRng, rngs::StdRng};

    use super::*;

    /// Transactions, each as the scripts of its inputs and outputs.
    type Txs = Vec<Vec<u32>>;

    /// Scripts of which a few are in many transactions, and large transactions with scripts of their own.
    fn made(rng: &mut StdRng) -> Txs {
        let mut txs = Txs::new();
        for at in 0..300u32 {
            let mut places: Vec<u32> = (0..rng.random_range(1..5)).map(|_| rng.random_range(0..40)).collect();
            let many = if at.is_multiple_of(50) { 60 } else { 2 };
            places.extend((0..many).map(|step| 1_000 + at * 100 + step));
            txs.push(places);
        }
        txs
    }

    /// Busy scripts mostly have the property, the others mostly lack it.
    fn holds(script: u32) -> bool {
        if script < 1_000 { !script.is_multiple_of(4) } else { script.is_multiple_of(9) }
    }

    fn truth(txs: &Txs) -> u64 {
        let scripts: BTreeSet<u32> = txs.iter().flatten().copied().collect();
        scripts.iter().filter(|script| holds(**script)).count() as u64 * 1_000_000 / scripts.len() as u64
    }

    fn weights(txs: &Txs) -> Vec<(u32, u128)> {
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for tx in txs {
            tx.iter().collect::<BTreeSet<_>>().into_iter().for_each(|script| *counts.entry(*script).or_default() += 1);
        }
        let of = |tx: &Vec<u32>, script: u32| {
            weight(tx.iter().filter(|other| **other == script).count() as u64, counts[&script])
        };
        txs.iter().flat_map(|tx| tx.iter().map(|script| (*script, of(tx, *script))).collect::<Vec<_>>()).collect()
    }

    #[test]
    fn all_places_together_give_the_share() {
        let mut rng = StdRng::seed_from_u64(1);
        for _ in 0..50 {
            let txs = made(&mut rng);
            let mut tally = Tally::default();
            weights(&txs).into_iter().for_each(|(script, weight)| tally.add(weight, holds(script)));
            assert!(u64::from(tally.share_ppm().unwrap()).abs_diff(truth(&txs)) <= 1);
        }
        assert_eq!(Tally::default().share_ppm(), None);
    }

    /// Without the weights the busy scripts would count far too much.
    #[test]
    fn draws_come_near_to_it() {
        let txs = made(&mut StdRng::seed_from_u64(2));
        let (all, truth) = (weights(&txs), truth(&txs));
        let (mut sum, mut plain) = (0, 0);
        for seed in 0..20u8 {
            let (mut tally, mut unweighted) = (Tally::default(), Tally::default());
            for number in 0..RATE_DRAWS {
                let (script, weight) = all[draw(&[seed; 32], number, all.len() as u64) as usize];
                tally.add(weight, holds(script));
                unweighted.add(1, holds(script));
            }
            let found = u64::from(tally.share_ppm().unwrap());
            assert!(found.abs_diff(truth) < 40_000, "{found} is not {truth}");
            sum += found;
            plain += u64::from(unweighted.share_ppm().unwrap());
        }
        assert!((sum / 20).abs_diff(truth) < 10_000, "{} is not {truth}", sum / 20);
        assert!((plain / 20).abs_diff(truth) > 100_000, "{} is near {truth}", plain / 20);
    }

    #[test]
    fn draws_are_the_same_for_everybody() {
        let numbers: Vec<u64> = (0..4).map(|number| draw(&[7; 32], number, 1_000)).collect();
        assert_eq!(numbers, [177, 583, 505, 907]);
        assert_eq!(draw(&[7; 32], 1, 0), 0);
    }
}
