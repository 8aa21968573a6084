//! Transactions that recently left the mempool, and why. The list is bounded; the oldest are removed first.

use std::collections::{HashMap, VecDeque};

use cairn_model::{MempoolTx, RemoveReason, Sats, Txid};

/// A transaction that left the mempool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departed {
    /// The reason.
    pub reason: RemoveReason,
    /// When it was first seen, in milliseconds since 1970.
    pub first_seen_ms: u64,
    /// When it left, in milliseconds since 1970.
    pub left_ms: u64,
    /// Its fee.
    pub fee_sats: Sats,
    /// Its adjusted virtual size.
    pub vsize: u64,
}

#[derive(Debug, Default)]
pub(super) struct DepartedLog {
    max: usize,
    /// In the order of leaving. The old entry of a transaction that came back stays; its stamp identifies it as stale.
    line: VecDeque<(Txid, u64)>,
    known: HashMap<Txid, (Departed, u64)>,
    replaced: HashMap<Txid, VecDeque<Txid>>,
    next: u64,
}

impl DepartedLog {
    pub(super) fn new(max: usize) -> Self {
        DepartedLog { max, ..DepartedLog::default() }
    }

    pub(super) fn push(&mut self, tx: &MempoolTx, reason: RemoveReason, left_ms: u64) {
        self.forget(&tx.txid);
        let departed = Departed {
            reason,
            first_seen_ms: tx.first_seen_ms,
            left_ms,
            fee_sats: tx.fee_sats,
            vsize: tx.adjusted_vsize(),
        };
        self.line.push_back((tx.txid, self.next));
        self.known.insert(tx.txid, (departed, self.next));
        self.next = self.next.wrapping_add(1);
        if let RemoveReason::Replaced { by } = reason {
            self.replaced.entry(by).or_default().push_back(tx.txid);
        }
        while self.line.len() > self.max {
            let Some((txid, stamp)) = self.line.pop_front() else { break };
            if self.known.get(&txid).is_some_and(|(_, of)| *of == stamp) {
                self.forget(&txid);
            }
        }
    }

    /// Removes a transaction that came back, or that left too long ago.
    pub(super) fn forget(&mut self, txid: &Txid) {
        let Some((departed, _)) = self.known.remove(txid) else { return };
        let RemoveReason::Replaced { by } = departed.reason else { return };
        if let Some(of) = self.replaced.get_mut(&by) {
            // The oldest is removed first, so it is almost always at the front.
            if let Some(at) = of.iter().position(|replaced| replaced == txid) {
                of.remove(at);
            }
            if of.is_empty() {
                self.replaced.remove(&by);
            }
        }
    }

    pub(super) fn get(&self, txid: &Txid) -> Option<&Departed> {
        self.known.get(txid).map(|(departed, _)| departed)
    }

    pub(super) fn replaced_by<'a>(&'a self, by: &Txid) -> impl Iterator<Item = &'a Txid> + use<'a> {
        self.replaced.get(by).into_iter().flatten()
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}
