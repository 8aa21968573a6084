//! Transactions that recently left the mempool, and why. The list is bounded; the oldest are removed first.

use std::{collections::VecDeque, sync::Arc};

use cairn_model::{MempoolTx, RemoveReason, Sats, Txid};

use super::shared::SharedMap;

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

#[derive(Clone, Debug, Default)]
pub(super) struct DepartedLog {
    max: usize,
    /// Transactions by stamp, in the order of leaving. The old entry of a transaction that came back stays; its stamp
    /// identifies it as stale.
    line: SharedMap<u64, Txid>,
    known: SharedMap<Txid, (Departed, u64)>,
    replaced: SharedMap<Txid, Arc<VecDeque<Txid>>>,
    /// The oldest stamp, and the next one.
    oldest: u64,
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
        self.line.insert(self.next, tx.txid);
        self.known.insert(tx.txid, (departed, self.next));
        self.next = self.next.wrapping_add(1);
        if let RemoveReason::Replaced { by } = reason {
            match self.replaced.get_mut(&by) {
                Some(of) => Arc::make_mut(of).push_back(tx.txid),
                None => drop(self.replaced.insert(by, Arc::new([tx.txid].into()))),
            }
        }
        while self.line.len() > self.max {
            let stamp = self.oldest;
            self.oldest = stamp.wrapping_add(1);
            let Some(txid) = self.line.remove(&stamp) else { break };
            if self.known.get(&txid).is_some_and(|(_, of)| *of == stamp) {
                self.forget(&txid);
            }
        }
    }

    /// Removes a transaction that came back, or that left too long ago.
    pub(super) fn forget(&mut self, txid: &Txid) {
        let Some((departed, _)) = self.known.remove(txid) else { return };
        let RemoveReason::Replaced { by } = departed.reason else { return };
        if let Some(of) = self.replaced.get_mut(&by).map(Arc::make_mut) {
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
        self.replaced.get(by).into_iter().flat_map(|of| of.iter())
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}
