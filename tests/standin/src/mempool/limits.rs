//! Limits on chains of unconfirmed transactions, and on the size of the whole.

use std::collections::BTreeSet;

use bitcoin::Txid;

use super::{Entry, Mempool, Policy, Reject};
use crate::notice::Notice;

/// Ancestors or descendants, the transaction itself counted.
const MAX_CHAIN: u64 = 25;
const MAX_CLUSTER: u64 = 64;
/// Virtual bytes of a chain or cluster.
const MAX_VSIZE: u64 = 101_000;

impl Mempool {
    /// Whether a new transaction keeps its chain (from v31 on: its cluster) within the limits.
    pub(super) fn check_limits(&self, entry: &Entry, replaced: &BTreeSet<Txid>, policy: &Policy) -> Result<(), Reject> {
        let parents: BTreeSet<Txid> = entry.tx.input.iter().map(|input| input.previous_output.txid).collect();
        if policy.clusters() {
            let cluster: BTreeSet<Txid> = self.cluster(parents).difference(replaced).copied().collect();
            let sums = self.sums(&cluster);
            if sums.count + 1 > MAX_CLUSTER || sums.vsize + entry.vsize > MAX_VSIZE {
                return Err(Reject::rules("too-large-cluster"));
            }
            return Ok(());
        }
        let ancestors = self.closure(parents, |parent| &parent.parents);
        let sums = self.sums(&ancestors);
        if sums.count + 1 > MAX_CHAIN || sums.vsize + entry.vsize > MAX_VSIZE {
            let details = format!("too many unconfirmed ancestors [limit: {MAX_CHAIN}]");
            return Err(Reject::detailed("too-long-mempool-chain", details));
        }
        for ancestor in &ancestors {
            let family: BTreeSet<Txid> = self.descendants(ancestor).difference(replaced).copied().collect();
            let sums = self.sums(&family);
            if sums.count + 1 > MAX_CHAIN || sums.vsize + entry.vsize > MAX_VSIZE {
                let details = format!("too many descendants for tx {ancestor} [limit: {MAX_CHAIN}]");
                return Err(Reject::detailed("too-long-mempool-chain", details));
            }
        }
        Ok(())
    }

    /// Everything connected with these transactions, through parents or children.
    fn cluster(&self, from: BTreeSet<Txid>) -> BTreeSet<Txid> {
        let mut found = BTreeSet::new();
        let mut open: Vec<Txid> = from.into_iter().collect();
        while let Some(txid) = open.pop() {
            if let Some(entry) = self.entries.get(&txid)
                && found.insert(txid)
            {
                open.extend(entry.parents.iter().chain(&entry.children));
            }
        }
        found
    }

    /// Evicts the transactions of the lowest descendant fee rate until the memory used is at most `max_bytes`; the
    /// minimum fee rate rises above what was evicted.
    pub(crate) fn trim(&mut self, max_bytes: u64, policy: &Policy, notices: &mut Vec<Notice>) {
        while self.usage > max_bytes {
            let Some((worst, fee, vsize)) = self.worst() else { return };
            let rate = (u128::from(fee) * 1_000 / u128::from(vsize.max(1))) as u64;
            self.raised_fee = self.raised_fee.max(rate + policy.relay_fee);
            self.evict(&worst, notices);
        }
    }

    /// The transaction whose package with descendants, or which alone if that is better, pays least; fee and size of
    /// that measure.
    fn worst(&self) -> Option<(Txid, u64, u64)> {
        let score = |entry: &Entry| {
            let family = match entry.children.is_empty() {
                true => (entry.fee, entry.vsize),
                false => {
                    let sums = self.sums(&self.descendants(&entry.txid));
                    (sums.fee, sums.vsize)
                }
            };
            match u128::from(family.0) * u128::from(entry.vsize) > u128::from(entry.fee) * u128::from(family.1) {
                true => (entry.txid, family.0, family.1),
                false => (entry.txid, entry.fee, entry.vsize),
            }
        };
        self.entries
            .values()
            .map(score)
            .min_by(|a, b| (u128::from(a.1) * u128::from(b.2)).cmp(&(u128::from(b.1) * u128::from(a.2))))
    }

    /// Sat per 1000 virtual bytes below which nothing is accepted.
    pub(crate) fn min_fee(&self, policy: &Policy) -> u64 {
        self.raised_fee.max(policy.relay_fee)
    }

    /// Sets what evictions have raised the minimum fee rate to, sat per 1000 virtual bytes.
    pub(crate) fn set_raised_fee(&mut self, rate: u64) {
        self.raised_fee = rate;
    }
}
