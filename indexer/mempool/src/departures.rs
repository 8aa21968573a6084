//! Transactions that left the node's mempool and that readers still have, with the time.

use std::collections::{BTreeSet, HashMap, hash_map::Entry};

use cairn_model::Txid;

/// Departed transactions, with the time at which it was observed in elapsed milliseconds.
#[derive(Debug, Default)]
pub(crate) struct Departures {
    since: HashMap<Txid, u64>,
    order: BTreeSet<(u64, Txid)>,
}

impl Departures {
    pub(crate) fn insert(&mut self, txid: Txid, now: u64) {
        if let Entry::Vacant(place) = self.since.entry(txid) {
            place.insert(now);
            self.order.insert((now, txid));
        }
    }

    pub(crate) fn remove(&mut self, txid: &Txid) -> bool {
        let Some(since) = self.since.remove(txid) else { return false };
        self.order.remove(&(since, *txid))
    }

    pub(crate) fn contains(&self, txid: &Txid) -> bool {
        self.since.contains_key(txid)
    }

    pub(crate) fn len(&self) -> usize {
        self.since.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.since.is_empty()
    }

    pub(crate) fn oldest(&self) -> Option<u64> {
        self.order.first().map(|(since, _)| *since)
    }

    /// Up to `n` that left by this time, oldest first.
    pub(crate) fn until(&self, latest: u64, n: usize) -> Vec<Txid> {
        self.order.iter().take_while(|(since, _)| *since <= latest).take(n).map(|(_, txid)| *txid).collect()
    }
}
