//! The mempool: a graph of transactions, with Core's sequence numbers.

mod accept;
mod limits;
mod reject;
mod template;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bitcoin::{Block, OutPoint, Transaction, Txid, Wtxid};

use crate::notice::Notice;
use crate::options::StandInOptions;

pub(crate) use accept::{Context, Found, signals_replacement};
pub use reject::{Reject, RejectKind};
pub(crate) use template::Template;

/// The rules of the mempool that follow from a node's version and options. Fee rates are sat per 1000 virtual bytes.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub(crate) version: u32,
    pub(crate) relay_fee: u64,
    pub(crate) max_bytes: u64,
}

impl Policy {
    pub(crate) fn new(options: &StandInOptions) -> Self {
        Self { version: options.version, relay_fee: options.relay_fee(), max_bytes: options.max_mempool }
    }

    /// Whether transactions that do not signal it can be replaced too.
    pub(crate) fn full_rbf(&self) -> bool {
        self.version >= 280_000
    }

    /// Whether limits are on clusters rather than on ancestors and descendants.
    pub(crate) fn clusters(&self) -> bool {
        self.version >= 310_000
    }
}

/// A transaction in the mempool.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) tx: Arc<Transaction>,
    pub(crate) txid: Txid,
    pub(crate) wtxid: Wtxid,
    /// Satoshis.
    pub(crate) fee: u64,
    pub(crate) weight: u64,
    /// Signature operation cost, weighted as in blocks.
    pub(crate) sigops: u64,
    /// Virtual bytes, adjusted for signature operations.
    pub(crate) vsize: u64,
    /// When it entered, Unix seconds.
    pub(crate) time: u64,
    /// Height of the tip when it entered.
    pub(crate) height: u32,
    pub(crate) parents: BTreeSet<Txid>,
    pub(crate) children: BTreeSet<Txid>,
}

impl Entry {
    /// An estimate of the memory that Core would account for it.
    fn usage(&self) -> u64 {
        self.weight / 2 + 600
    }
}

/// Count, virtual bytes and fees of a set of transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) count: u64,
    pub(crate) vsize: u64,
    pub(crate) fee: u64,
    pub(crate) sigops: u64,
}

/// The mempool.
#[derive(Debug)]
pub(crate) struct Mempool {
    entries: BTreeMap<Txid, Entry>,
    wtxids: HashMap<Wtxid, Txid>,
    spenders: HashMap<OutPoint, Txid>,
    /// The number that the next addition or removal gets.
    sequence: u64,
    vsize: u64,
    fees: u64,
    usage: u64,
    /// The minimum fee rate after evictions.
    raised_fee: u64,
}

impl Default for Mempool {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            wtxids: HashMap::new(),
            spenders: HashMap::new(),
            sequence: 1,
            vsize: 0,
            fees: 0,
            usage: 0,
            raised_fee: 0,
        }
    }
}

impl Mempool {
    pub(crate) fn get(&self, txid: &Txid) -> Option<&Entry> {
        self.entries.get(txid)
    }

    pub(crate) fn contains(&self, txid: &Txid) -> bool {
        self.entries.contains_key(txid)
    }

    /// Every transaction, by txid.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn vsize(&self) -> u64 {
        self.vsize
    }

    pub(crate) fn fees(&self) -> u64 {
        self.fees
    }

    pub(crate) fn usage(&self) -> u64 {
        self.usage
    }

    /// The transaction here that spends an output.
    pub(crate) fn spender(&self, outpoint: &OutPoint) -> Option<&Txid> {
        self.spenders.get(outpoint)
    }

    /// Core's `GetSequence`: one more than the last number given out.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    fn next_sequence(&mut self) -> u64 {
        let given = self.sequence;
        self.sequence += 1;
        given
    }

    /// The transaction and everything it needs that is unconfirmed.
    pub(crate) fn ancestors(&self, txid: &Txid) -> BTreeSet<Txid> {
        self.closure([*txid], |entry| &entry.parents)
    }

    /// The transaction and everything unconfirmed that needs it.
    pub(crate) fn descendants(&self, txid: &Txid) -> BTreeSet<Txid> {
        self.closure([*txid], |entry| &entry.children)
    }

    pub(crate) fn closure(
        &self,
        from: impl IntoIterator<Item = Txid>,
        next: impl Fn(&Entry) -> &BTreeSet<Txid>,
    ) -> BTreeSet<Txid> {
        let mut found = BTreeSet::new();
        let mut open: Vec<Txid> = from.into_iter().collect();
        while let Some(txid) = open.pop() {
            if let Some(entry) = self.entries.get(&txid)
                && found.insert(txid)
            {
                open.extend(next(entry));
            }
        }
        found
    }

    pub(crate) fn sums<'a>(&self, txids: impl IntoIterator<Item = &'a Txid>) -> Sums {
        let mut sums = Sums::default();
        for entry in txids.into_iter().filter_map(|txid| self.entries.get(txid)) {
            sums.count += 1;
            sums.vsize += entry.vsize;
            sums.fee += entry.fee;
            sums.sigops += entry.sigops;
        }
        sums
    }

    /// Adds a transaction that was found acceptable, after removing what it replaces.
    pub(crate) fn add(&mut self, found: Found, notices: &mut Vec<Notice>) {
        let Found { mut entry, replaced } = found;
        self.remove_set(&replaced, true, notices);
        for input in &entry.tx.input {
            self.spenders.insert(input.previous_output, entry.txid);
            if let Some(parent) = self.entries.get_mut(&input.previous_output.txid) {
                parent.children.insert(entry.txid);
                entry.parents.insert(parent.txid);
            }
        }
        // After a reorganization a transaction can come back under children that are here already.
        for vout in 0..entry.tx.output.len() as u32 {
            if let Some(child) = self.spenders.get(&OutPoint { txid: entry.txid, vout })
                && let Some(child) = self.entries.get_mut(child)
            {
                child.parents.insert(entry.txid);
                entry.children.insert(child.txid);
            }
        }
        self.vsize += entry.vsize;
        self.fees += entry.fee;
        self.usage += entry.usage();
        self.wtxids.insert(entry.wtxid, entry.txid);
        let sequence = self.next_sequence();
        notices.push(Notice::Added { tx: Arc::clone(&entry.tx), txid: entry.txid, sequence });
        self.entries.insert(entry.txid, entry);
    }

    /// Removes transactions in the order of their ids, as Core does. Every removal takes a sequence number; those that
    /// a block causes are not announced.
    fn remove_set(&mut self, txids: &BTreeSet<Txid>, told: bool, notices: &mut Vec<Notice>) {
        for txid in txids {
            let Some(entry) = self.entries.remove(txid) else { continue };
            let sequence = self.next_sequence();
            if told {
                notices.push(Notice::Removed { txid: *txid, sequence });
            }
            for input in &entry.tx.input {
                self.spenders.remove(&input.previous_output);
            }
            for parent in &entry.parents {
                if let Some(parent) = self.entries.get_mut(parent) {
                    parent.children.remove(txid);
                }
            }
            for child in &entry.children {
                if let Some(child) = self.entries.get_mut(child) {
                    child.parents.remove(txid);
                }
            }
            self.wtxids.remove(&entry.wtxid);
            self.vsize -= entry.vsize;
            self.fees -= entry.fee;
            self.usage -= entry.usage();
        }
    }

    /// Removes a transaction and what descends from it; the transaction itself need not be here.
    pub(crate) fn remove_recursive(&mut self, tx: &Transaction, notices: &mut Vec<Notice>) {
        let txid = tx.compute_txid();
        let mut roots = vec![txid];
        roots.extend(
            (0..tx.output.len() as u32).filter_map(|vout| self.spenders.get(&OutPoint { txid, vout }).copied()),
        );
        self.evict_all(roots, notices);
    }

    /// Removes a transaction that is here, and what descends from it.
    pub(crate) fn evict(&mut self, txid: &Txid, notices: &mut Vec<Notice>) {
        self.evict_all([*txid], notices);
    }

    /// Removes transactions that are here, and what descends from them.
    pub(crate) fn evict_all(&mut self, txids: impl IntoIterator<Item = Txid>, notices: &mut Vec<Notice>) {
        let set = self.closure(txids, |entry| &entry.children);
        self.remove_set(&set, true, notices);
    }

    /// Removes what a block confirms, and what conflicts with it.
    pub(crate) fn remove_for_block(&mut self, block: &Block, notices: &mut Vec<Notice>) {
        for tx in &block.txdata {
            let txid = tx.compute_txid();
            if self.contains(&txid) {
                self.remove_set(&BTreeSet::from([txid]), false, notices);
            }
            for input in &tx.input {
                if let Some(rival) = self.spenders.get(&input.previous_output).copied() {
                    self.evict(&rival, notices);
                }
            }
        }
    }

    /// Empties it as a restart does; gives back the transactions in an order in which they can be added again.
    pub(crate) fn unload(&mut self) -> Vec<(Arc<Transaction>, u64)> {
        let old = std::mem::take(self);
        let mut order: Vec<&Entry> = old.entries.values().collect();
        order.sort_by_cached_key(|entry| (old.ancestors(&entry.txid).len(), entry.time, entry.txid));
        order.into_iter().map(|entry| (Arc::clone(&entry.tx), entry.time)).collect()
    }
}
