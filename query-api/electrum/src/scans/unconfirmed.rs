//! Tweaks of the mempool, computed once for all who scan.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use cairn_domain::{mempool::Mempool, silent_payments::UnconfirmedTweak};
use cairn_model::Txid;
use parking_lot::Mutex;

/// Most tweaks that are computed in one look, so that blocks are announced in between: 0.03 s.
const MAX_AT_ONCE: usize = 300;
/// Transactions that are known beyond twice the mempool before those that have left are forgotten.
const SPARE: usize = 1_000;

/// An unconfirmed transaction with a tweak.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Its number in the order in which entries were found.
    pub(super) number: u64,
    pub(super) txid: Txid,
    pub(super) tweak: UnconfirmedTweak,
}

#[derive(Default)]
struct Known {
    /// Each with the number of its entry; 0 without a tweak.
    by_txid: HashMap<Txid, u64>,
    /// In the order in which they were found.
    entries: BTreeMap<u64, Arc<Entry>>,
    last: u64,
}

/// Tweaks of unconfirmed transactions.
#[derive(Default)]
pub(super) struct Unconfirmed {
    known: Mutex<Known>,
}

impl Unconfirmed {
    /// Computes the tweaks of transactions that are new. True if all are known now.
    pub(super) fn update(&self, mempool: &Mempool) -> bool {
        let is_new = |txid: &Txid| !self.known.lock().by_txid.contains_key(txid);
        let new: Vec<_> = mempool.iter().filter(|tx| is_new(&tx.txid)).take(MAX_AT_ONCE + 1).collect();
        for tx in new.iter().take(MAX_AT_ONCE) {
            let tweak = UnconfirmedTweak::of(tx);
            let mut known = self.known.lock();
            let number = if tweak.is_some() { known.last + 1 } else { 0 };
            known.by_txid.insert(tx.txid, number);
            if let Some(tweak) = tweak {
                known.last = number;
                known.entries.insert(number, Arc::new(Entry { number, txid: tx.txid, tweak }));
            }
        }
        let mut known = self.known.lock();
        if known.by_txid.len() > mempool.len() * 2 + SPARE {
            known.by_txid.retain(|txid, _| mempool.get(txid).is_some());
            known.entries.retain(|_, entry| mempool.get(&entry.txid).is_some());
        }
        new.len() <= MAX_AT_ONCE
    }

    /// Forgets all of them, while nobody scans. Numbers go on.
    pub(super) fn clear(&self) {
        let mut known = self.known.lock();
        known.by_txid = HashMap::new();
        known.entries = BTreeMap::new();
    }

    /// The number of the newest entry.
    pub(super) fn last(&self) -> u64 {
        self.known.lock().last
    }

    /// Entries after a number, at most `limit`.
    pub(super) fn after(&self, number: u64, limit: usize) -> Vec<Arc<Entry>> {
        let known = self.known.lock();
        known.entries.range(number.saturating_add(1)..).take(limit).map(|(_, entry)| Arc::clone(entry)).collect()
    }
}
