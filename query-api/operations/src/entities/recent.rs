//! The newest transactions of all members of an entity: their histories, merged.
//!
//! Members are read in the order of their newest transactions. A transaction's members all have a newest one that is
//! not older, so when the merge comes to it, each of them has been read: the sums over them are complete. The work is
//! bounded by the number of members whose history is read, however many there are: a merge that reaches it stops, and
//! what it has found is still the newest.

use std::collections::{BinaryHeap, VecDeque};

use crate::operation::prelude::*;
use cairn_events::EntityName;
use cairn_http::Work;
use cairn_reader::FoundScript;
use cairn_tables::{
    entities::{EntityScript, ScriptClass},
    history::HistoryEntry,
    labels::{Labels, ScriptHash},
};

/// Most members whose history is read.
pub(super) const MAX_HISTORIES: usize = 5_000;
/// At most this many members of one transaction are counted without reading them.
const MAX_MEMBERS: usize = 20_000;
const AT_A_TIME: usize = 128;
/// Entries of a history that are read at a time.
const ENTRIES: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EntityTx {
    pub(super) tx_num: TxNum,
    /// Members that it pays or spends from; a lower bound if the sums are unknown.
    pub(super) members: u64,
    /// Sums that they received and sent; `None` if they are too many to read.
    pub(super) sums: Option<(Sats, Sats)>,
}

#[derive(Debug, Default)]
pub(super) struct Recent {
    /// The newest first.
    pub(super) txs: Vec<EntityTx>,
    /// True if too many members had to be read: older transactions are missing.
    pub(super) is_cut: bool,
    /// Members whose history was read.
    pub(super) histories: usize,
}

/// A member and the part of its history that is read, the newest entry last.
struct History {
    found: FoundScript,
    read: u64,
    entries: Vec<HistoryEntry>,
}

impl History {
    /// Reads on, and drops entries that are not older than `before`. Returns the newest of the rest.
    fn newest_before(&mut self, view: &View<'_>, before: TxNum) -> Result<Option<HistoryEntry>, ApiError> {
        loop {
            while self.entries.last().is_some_and(|entry| entry.tx_num >= before) {
                self.entries.pop();
            }
            if let Some(entry) = self.entries.last() {
                return Ok(Some(*entry));
            }
            self.entries = view.scripts().history(&self.found, self.read, ENTRIES)?;
            if self.entries.is_empty() {
                return Ok(None);
            }
            self.read += self.entries.len() as u64;
            self.entries.reverse();
        }
    }
}

struct Merge<'m> {
    work: &'m Work,
    view: &'m View<'m>,
    name: &'m EntityName,
    /// Members that no history is read of yet, the newest first.
    waiting: VecDeque<EntityScript>,
    /// Where the next ones are read.
    after: Option<EntityScript>,
    is_end: bool,
    histories: Vec<History>,
    /// The newest entry of each history that is not returned yet.
    heap: BinaryHeap<(TxNum, usize)>,
}

/// Returns the newest transactions of an entity from `first` on, at most `limit`.
pub(super) fn recent(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    name: &EntityName,
    first: TxNum,
    limit: usize,
) -> Result<Recent, ApiError> {
    let (heap, histories) = (BinaryHeap::new(), Vec::new());
    let mut merge =
        Merge { work: &ctx.work, view, name, waiting: VecDeque::new(), after: None, is_end: false, histories, heap };
    let mut found = Recent::default();
    while found.txs.len() < limit {
        let Some(next) = merge.next()?.filter(|next| *next >= first) else { break };
        let tx = merge.take(next)?;
        found.is_cut = tx.sums.is_none();
        found.txs.push(tx);
        if found.is_cut {
            break;
        }
    }
    found.histories = merge.histories.len();
    Ok(found)
}

impl Merge<'_> {
    /// The newest transaction that is not returned yet.
    fn next(&mut self) -> Result<Option<TxNum>, ApiError> {
        let waiting = self.front()?.and_then(|script| script.last.0);
        Ok(waiting.max(self.heap.peek().map(|(next, _)| *next)))
    }

    /// The member with the newest transaction of which no history is read.
    fn front(&mut self) -> Result<Option<&EntityScript>, ApiError> {
        if self.waiting.is_empty() && !self.is_end {
            let read = self.view.entities().scripts(self.name, ScriptClass::Member, self.after.as_ref(), AT_A_TIME)?;
            self.is_end = read.len() < AT_A_TIME;
            self.after = read.last().cloned();
            self.waiting = read.into();
        }
        Ok(self.waiting.front())
    }

    /// The sums of a transaction over all members, each of which then is at its next older one.
    fn take(&mut self, tx_num: TxNum) -> Result<EntityTx, ApiError> {
        let mut tx = EntityTx { tx_num, members: 0, sums: Some((0, 0)) };
        let mut at = Vec::new();
        while self.heap.peek().is_some_and(|(next, _)| *next == tx_num) {
            at.extend(self.heap.pop().map(|(_, history)| history));
        }
        loop {
            let mut new = Vec::new();
            while new.len() < AT_A_TIME && self.front()?.is_some_and(|script| script.last.0 == Some(tx_num)) {
                new.extend(self.waiting.pop_front());
            }
            if new.is_empty() {
                break;
            }
            if self.histories.len() + new.len() > MAX_HISTORIES {
                return self.too_many(tx, at.len() + new.len());
            }
            for found in self.scripts(&new)? {
                at.push(self.histories.len());
                self.histories.push(History { found, read: 0, entries: Vec::new() });
            }
        }
        let after = TxNum(tx_num.0.saturating_add(1));
        for place in at {
            self.work.poll()?;
            let Some(history) = self.histories.get_mut(place) else { continue };
            if let Some(entry) = history.newest_before(self.view, after)?.filter(|entry| entry.tx_num == tx_num) {
                tx.members += 1;
                tx.sums = tx
                    .sums
                    .map(|(received, sent)| (received.saturating_add(entry.received), sent.saturating_add(entry.sent)));
            }
            if let Some(entry) = history.newest_before(self.view, tx_num)? {
                self.heap.push((entry.tx_num, place));
            }
        }
        Ok(tx)
    }

    /// A transaction of more members than are read: how many there are at least.
    fn too_many(&mut self, tx: EntityTx, known: usize) -> Result<EntityTx, ApiError> {
        let mut members = known;
        while members < MAX_MEMBERS && self.front()?.is_some_and(|script| script.last.0 == Some(tx.tx_num)) {
            self.work.poll()?;
            self.waiting.pop_front();
            members += 1;
        }
        Ok(EntityTx { members: members as u64, sums: None, ..tx })
    }

    fn scripts(&self, members: &[EntityScript]) -> Result<Vec<FoundScript>, ApiError> {
        let hashes: Vec<ScriptHash> = members.iter().map(|member| member.script).collect();
        let mut found = Vec::with_capacity(members.len());
        for (hash, label) in hashes.iter().zip(self.view.labels().of_hashes(&hashes)?) {
            let what = || format!("the label of script {}", hex::encode(hash.0));
            let label = label.ok_or_else(|| lacks::<Labels>(what()))?;
            let script = label.id(hash).map(|id| self.view.scripts().by_id(id)).transpose()?.flatten();
            found.push(script.ok_or_else(|| lacks::<Labels>(format!("{} that the chain has", what())))?);
        }
        Ok(found)
    }
}
