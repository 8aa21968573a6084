//! A block template by ancestor fee rate: Core's algorithm up to v30, as a queue of packages.
//!
//! The transaction whose package (itself and its unconfirmed ancestors not yet in the block) pays the highest fee rate
//! is next, with that package; the lower of its own and its package's rate counts. Taking a package lowers the cost of
//! what descends from it. v31 linearizes clusters instead; the stand-in keeps to this algorithm there too.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use bitcoin::Txid;

use super::accept::fee_at;
use super::{Entry, Mempool, Policy, Sums};
use crate::node::is_final;

const MAX_SIGOPS: u64 = 80_000;
const COINBASE_SIGOPS: u64 = 400;
/// Core gives up after this many packages in a row that do not fit an almost full block.
const MAX_FAILURES: u32 = 1_000;
const NEARLY_FULL: u64 = 4_000;

/// The transactions of a template, parents before children, without the coinbase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Template {
    pub(crate) txids: Vec<Txid>,
    /// Satoshis.
    pub(crate) fees: u64,
    /// Weight units, with the reserve for header and coinbase.
    pub(crate) weight: u64,
    /// Signature operation cost, with the reserve for the coinbase.
    pub(crate) sigops: u64,
}

/// A place in the queue: higher fee rate first, then the lower txid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rank {
    fee: u64,
    vsize: u64,
    txid: Txid,
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (u128::from(self.fee) * u128::from(other.vsize), u128::from(other.fee) * u128::from(self.vsize));
        b.cmp(&a).then_with(|| self.txid.cmp(&other.txid))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn rank(entry: &Entry, package: &Sums) -> Rank {
    let own = u128::from(entry.fee) * u128::from(package.vsize);
    let whole = u128::from(package.fee) * u128::from(entry.vsize);
    match own < whole {
        true => Rank { fee: entry.fee, vsize: entry.vsize, txid: entry.txid },
        false => Rank { fee: package.fee, vsize: package.vsize, txid: entry.txid },
    }
}

impl Mempool {
    /// The template for a block at `height` on a parent with this median time past (Unix seconds).
    pub(crate) fn template(&self, height: u32, median: u32, policy: &Policy) -> Template {
        let (max_weight, reserved) = if policy.version >= 290_000 { (4_000_000, 8_000) } else { (3_996_000, 4_000) };
        let min_rate = if policy.version >= 300_000 { 1 } else { 1_000 };
        let mut template = Template { weight: reserved, sigops: COINBASE_SIGOPS, ..Template::default() };
        let mut packages: BTreeMap<Txid, Sums> = BTreeMap::new();
        let mut queue = BTreeSet::new();
        for entry in self.entries.values() {
            let sums = match entry.parents.is_empty() {
                true => Sums { count: 1, vsize: entry.vsize, fee: entry.fee, sigops: entry.sigops },
                false => self.sums(&self.ancestors(&entry.txid)),
            };
            queue.insert(rank(entry, &sums));
            packages.insert(entry.txid, sums);
        }
        let mut taken: BTreeSet<Txid> = BTreeSet::new();
        let mut failures = 0;
        while let Some(best) = queue.pop_first() {
            let Some(package) = packages.get(&best.txid).copied() else { continue };
            if package.fee < fee_at(min_rate, package.vsize) {
                break;
            }
            if template.weight + 4 * package.vsize >= max_weight || template.sigops + package.sigops >= MAX_SIGOPS {
                failures += 1;
                if failures > MAX_FAILURES && template.weight > max_weight - NEARLY_FULL {
                    break;
                }
                continue;
            }
            let members: Vec<&Entry> = {
                let ancestors = self.ancestors(&best.txid);
                let mut members: Vec<&Entry> =
                    ancestors.difference(&taken).filter_map(|txid| self.entries.get(txid)).collect();
                members.sort_by_cached_key(|entry| (self.ancestors(&entry.txid).len(), entry.txid));
                members
            };
            if members.iter().any(|entry| !is_final(&entry.tx, height, median)) {
                continue;
            }
            failures = 0;
            for entry in members {
                if let Some(sums) = packages.remove(&entry.txid) {
                    queue.remove(&rank(entry, &sums));
                }
                taken.insert(entry.txid);
                template.txids.push(entry.txid);
                template.fees += entry.fee;
                template.weight += entry.weight;
                template.sigops += entry.sigops;
                self.lighten(entry, &mut packages, &mut queue);
            }
        }
        template
    }

    /// Takes an entry that is in the block now out of the packages of its descendants.
    fn lighten(&self, taken: &Entry, packages: &mut BTreeMap<Txid, Sums>, queue: &mut BTreeSet<Rank>) {
        if taken.children.is_empty() {
            return;
        }
        for txid in self.descendants(&taken.txid) {
            if let (Some(entry), Some(sums)) = (self.entries.get(&txid), packages.get_mut(&txid)) {
                queue.remove(&rank(entry, sums));
                sums.count -= 1;
                sums.vsize -= taken.vsize;
                sums.fee -= taken.fee;
                sums.sigops -= taken.sigops;
                // One that did not fit comes back: it is lighter now.
                queue.insert(rank(entry, sums));
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::seq::IndexedRandom;
    use rand::{Rng, SeedableRng};

    use super::*;
    use crate::StandInOptions;
    use crate::world::{Payment, World};

    /// The same rule without queue or bookkeeping: all packages are computed again at each step.
    fn naive(pool: &Mempool) -> Vec<Txid> {
        let mut taken = BTreeSet::new();
        let mut order = Vec::new();
        loop {
            let left = pool.entries().filter(|entry| !taken.contains(&entry.txid));
            let package = |entry: &Entry| -> Vec<Txid> {
                pool.ancestors(&entry.txid).into_iter().filter(|txid| !taken.contains(txid)).collect()
            };
            let best = left.min_by_key(|entry| rank(entry, &pool.sums(&package(entry))));
            let Some(best) = best else { return order };
            let mut members = package(best);
            members.sort_by_key(|txid| (pool.ancestors(txid).len(), *txid));
            taken.extend(members.iter().copied());
            order.extend(members);
        }
    }

    #[test]
    fn equals_the_naive_choice_and_can_be_mined() {
        let mut options = StandInOptions { premine: 120, seed: 9, ..StandInOptions::default() };
        let mut world = World::new(&mut options).unwrap();
        world.fan_out(200, 3_000_000).unwrap();
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(9);
        for round in 0..12 {
            for _ in 0..25 {
                let rate = rng.random_range(1_000..30_000);
                let some = world.pool_txids().choose(&mut rng).copied();
                // Some fail for want of an output or by the limits; others are there.
                match (rng.random_range(0..4), some) {
                    (0, _) | (_, None) => drop(world.send(&Payment::at(rate))),
                    (1, _) => drop(world.send_chain(4, rate)),
                    (_, Some(parent)) => drop(world.cpfp(&parent, rate)),
                }
            }
            let template = world.node.template();
            assert_eq!(template.txids, naive(&world.node.pool), "round {round}");
            assert_eq!(template.txids.len(), world.node.pool.len());
            let sums = world.node.pool.sums(&template.txids);
            assert_eq!((template.fees, template.sigops), (sums.fee, sums.sigops + COINBASE_SIGOPS));
            if round % 3 == 2 {
                world.mine(1).unwrap();
                assert_eq!(world.node.pool.len(), 0);
            }
        }
    }

    #[test]
    fn the_block_is_not_overfilled() {
        let mut options = StandInOptions { premine: 101, ..StandInOptions::default() };
        let mut world = World::new(&mut options).unwrap();
        world.fan_out(300, 1_000_000).unwrap();
        // No signature operations in the output: weight is the limit here.
        let script = world.fresh(|key| cairn_chaingen::Lock::P2wpkh { key }).unwrap();
        for count in 0..300 {
            // About 15,000 weight units each.
            let output = bitcoin::TxOut { value: bitcoin::Amount::from_sat(1_000), script_pubkey: script.clone() };
            let payment = Payment { outputs: vec![output; 110], ..Payment::at(3_000 + count) };
            world.send(&payment).unwrap();
        }
        let template = world.node.template();
        let (count, weight) = (template.txids.len(), template.weight);
        assert!(count < 300 && (3_950_000..3_996_000).contains(&weight), "{count} {weight}");
        let weight: u64 = template.txids.iter().filter_map(|txid| world.node.pool.get(txid)).map(|e| e.weight).sum();
        assert_eq!(template.weight, weight + 4_000);
        world.mine(1).unwrap();
        assert!(world.node.pool.len() > 20);
    }
}
