//! The mempool: its transactions, their spends and their dependencies.

use std::{collections::HashSet, sync::Arc};

use cairn_model::{MempoolDelta, MempoolInput, MempoolTx, NodeFloor, RemoveReason, Sats, Txid};

use super::{
    Applied, Departed, MempoolLimits, MempoolTip, Outline, Refusal, ScriptEffect, ScriptHash, ScriptTotals, Stats,
    check::check,
    departed::DepartedLog,
    entry::GraphEntry,
    graph::Graph,
    inflow::InflowWindow,
    scripts::Scripts,
    select::{mining_order, rate_of},
    shared::{SharedMap, Slots},
    usage::usage_bytes,
    walk::{WalkDirection, walk},
};
use crate::FeeRate;

/// Limit of the search for a cycle. Nodes allow a few dozen ancestors.
const MAX_CYCLE_WALK: usize = 10_000;

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    vsize: u64,
    weight: u64,
    // Fees that a hostile sender claims may exceed 64 bits together.
    fees: u128,
    usage: u64,
}

/// The mempool, built from deltas. See the module documentation for its guarantees.
///
/// A clone takes constant time and shares everything that neither side changes afterwards: a version for readers.
#[derive(Clone, Debug)]
pub struct Mempool {
    limits: MempoolLimits,
    slots: Slots<GraphEntry>,
    by_txid: SharedMap<Txid, u32>,
    by_spent: SharedMap<(Txid, u32), u32>,
    scripts: Scripts,
    sums: Sums,
    departed: DepartedLog,
    inflow: InflowWindow,
    dropped: u64,
    /// The highest feerate among the dropped transactions, until there is enough room again.
    full_at: Option<FeeRate>,
    loading: bool,
    floor: Option<NodeFloor>,
    node_sequence: Option<u64>,
    tip: Option<MempoolTip>,
    generation: u64,
}

impl Default for Mempool {
    fn default() -> Self {
        Mempool::new(MempoolLimits::default())
    }
}

impl Mempool {
    /// An empty mempool, which counts as loading until the first [`MempoolDelta::Sequence`].
    #[must_use]
    pub fn new(limits: MempoolLimits) -> Self {
        Mempool {
            limits,
            slots: Slots::default(),
            by_txid: SharedMap::default(),
            by_spent: SharedMap::default(),
            scripts: Scripts::default(),
            sums: Sums::default(),
            departed: DepartedLog::new(limits.max_departed),
            inflow: InflowWindow::new(limits.inflow_window_ms),
            dropped: 0,
            full_at: None,
            loading: true,
            floor: None,
            node_sequence: None,
            tip: None,
            generation: 0,
        }
    }

    /// Applies a delta. `now_ms` is the time in milliseconds since 1970. A delta that contradicts the state changes
    /// nothing, and the result says so.
    pub fn apply(&mut self, delta: &MempoolDelta, now_ms: u64) -> Applied {
        let applied = match delta {
            MempoolDelta::Add(tx) => self.add(tx, now_ms),
            MempoolDelta::Remove { txid, reason } => match self.slot(txid) {
                Some(slot) => {
                    self.remove(slot, Some(*reason), now_ms);
                    Applied::Removed
                }
                None => Applied::Unchanged,
            },
            MempoolDelta::Reset { sequence } => {
                self.reset(*sequence, now_ms);
                Applied::Noted
            }
            MempoolDelta::Block { height, hash, time } => {
                self.tip = Some(MempoolTip { height: *height, hash: *hash, time: *time });
                Applied::Noted
            }
            MempoolDelta::Sequence(sequence) => {
                self.node_sequence = Some(*sequence);
                self.loading = false;
                Applied::Noted
            }
            MempoolDelta::NodeFloor(floor) => {
                self.floor = Some(*floor);
                Applied::Noted
            }
        };
        if !matches!(applied, Applied::Unchanged | Applied::Refused(_)) {
            self.generation = self.generation.wrapping_add(1);
        }
        applied
    }

    /// Number of transactions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_txid.len()
    }

    /// True if there are no transactions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_txid.is_empty()
    }

    /// A transaction.
    #[must_use]
    pub fn get(&self, txid: &Txid) -> Option<&Arc<MempoolTx>> {
        self.entry(self.slot(txid)?).map(|entry| &entry.tx)
    }

    /// The unconfirmed transaction that spends this output, confirmed or not.
    #[must_use]
    pub fn spender(&self, txid: &Txid, vout: u32) -> Option<Txid> {
        let slot = self.by_spent.get(&(*txid, vout))?;
        self.entry(*slot).map(|entry| entry.txid)
    }

    /// The combined effect of the unconfirmed transactions on a script.
    #[must_use]
    pub fn script_totals(&self, script: &ScriptHash) -> ScriptTotals {
        self.scripts.totals(script)
    }

    /// The unconfirmed transactions of a script, newest first (by first-seen time, then by id): up to `limit` of those
    /// that come after `after`, which is the time and id of the last one seen.
    #[must_use]
    pub fn script_txs(&self, script: &ScriptHash, after: Option<(u64, Txid)>, limit: usize) -> Vec<ScriptEffect> {
        self.scripts.list(script, after, limit)
    }

    /// Reason and time at which a transaction left, if still stored.
    #[must_use]
    pub fn departed(&self, txid: &Txid) -> Option<&Departed> {
        self.departed.get(txid)
    }

    /// The stored transactions that this one replaced, oldest first.
    pub fn replaced_by(&self, txid: &Txid) -> impl Iterator<Item = &Txid> {
        self.departed.replaced_by(txid)
    }

    /// All transactions, unordered: for snapshots, not for requests.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<MempoolTx>> {
        self.slots.iter().map(|(_, entry)| &entry.tx)
    }

    /// Statistics of the mempool.
    #[must_use]
    pub fn stats(&self, now_ms: u64) -> Stats {
        Stats {
            count: self.len() as u64,
            vsize: self.sums.vsize,
            weight: self.sums.weight,
            fees_sats: Sats::try_from(self.sums.fees).unwrap_or(Sats::MAX),
            usage_bytes: self.sums.usage,
            max_bytes: self.limits.max_bytes,
            dropped: self.dropped,
            loading: self.loading,
            departed: self.departed.len() as u64,
            inflow: self.inflow.rate(now_ms),
            floor: self.floor,
            node_sequence: self.node_sequence,
            tip: self.tip,
            generation: self.generation,
        }
    }

    /// Copies the data for [`Outline::project`]. It reads each transaction once and follows no links: a few
    /// milliseconds for 100 000. Call it once per batch of deltas, not per request.
    #[must_use]
    pub fn outline(&self) -> Outline {
        Outline::of(self.stats(0), self.slots.iter())
    }

    pub(super) fn slot(&self, txid: &Txid) -> Option<u32> {
        self.by_txid.get(txid).copied()
    }

    pub(super) fn entry(&self, slot: u32) -> Option<&GraphEntry> {
        self.slots.get(slot)
    }

    pub(super) fn slots(&self) -> &Slots<GraphEntry> {
        &self.slots
    }

    fn reset(&mut self, sequence: u64, now_ms: u64) {
        self.slots = Slots::default();
        self.by_txid = SharedMap::default();
        self.by_spent = SharedMap::default();
        self.scripts.clear();
        self.sums = Sums::default();
        self.inflow.restart(now_ms);
        self.dropped = 0;
        self.full_at = None;
        self.loading = true;
        self.node_sequence = Some(sequence);
    }

    fn add(&mut self, tx: &Arc<MempoolTx>, now_ms: u64) -> Applied {
        if self.by_txid.contains_key(&tx.txid) {
            return Applied::Unchanged;
        }
        if let Err(refusal) = check(tx) {
            return Applied::Refused(refusal);
        }
        if self.is_turned_away(tx) {
            self.dropped += 1;
            return Applied::TurnedAway;
        }
        let (parents, children) = self.relatives_to_be(tx);
        if !parents.is_empty() && !children.is_empty() {
            let (ancestors, truncated) = walk(&self.slots, &parents, WalkDirection::Up, MAX_CYCLE_WALK);
            if parents.iter().chain(&ancestors).any(|slot| children.binary_search(slot).is_ok()) {
                return Applied::Refused(Refusal::Cycle);
            }
            if truncated {
                return Applied::Refused(Refusal::TooManyAncestors);
            }
        }
        if self.slots.is_full() {
            return Applied::Refused(Refusal::NoRoom);
        }
        let rivals: HashSet<u32> =
            tx.inputs.iter().filter_map(|i| self.by_spent.get(&(i.prev_txid, i.prev_vout))).copied().collect();
        let replaced = self.displace(&rivals, tx.txid, now_ms);
        // A removed transaction may have been a relative.
        let (parents, children) = if replaced > 0 { self.relatives_to_be(tx) } else { (parents, children) };
        self.insert(tx, parents, children);
        self.departed.forget(&tx.txid);
        self.inflow.record(tx.first_seen_ms, tx.adjusted_vsize(), now_ms);
        Applied::Added { replaced, dropped: self.trim(now_ms) }
    }

    /// Parents and children that a transaction will have, each once.
    fn relatives_to_be(&self, tx: &MempoolTx) -> (Vec<u32>, Vec<u32>) {
        let parent = |txid: &Txid, vout: u32| {
            let slot = self.slot(txid)?;
            ((vout as usize) < self.entry(slot)?.tx.outputs.len()).then_some(slot)
        };
        let mut parents: Vec<_> = tx.inputs.iter().filter_map(|i| parent(&i.prev_txid, i.prev_vout)).collect();
        // At most as many outputs as fit in a block.
        let vouts = 0..u32::try_from(tx.outputs.len()).unwrap_or(u32::MAX);
        let mut children: Vec<_> = vouts.filter_map(|vout| self.by_spent.get(&(tx.txid, vout))).copied().collect();
        for list in [&mut parents, &mut children] {
            list.sort_unstable();
            list.dedup();
            list.shrink_to_fit();
        }
        (parents, children)
    }

    /// Removes transactions that lost their coins, and all that depend on them.
    fn displace(&mut self, rivals: &HashSet<u32>, by: Txid, now_ms: u64) -> usize {
        if rivals.is_empty() {
            return 0;
        }
        let mut rivals: Vec<_> = rivals.iter().copied().collect();
        rivals.sort_unstable();
        let (descendants, _) = walk(&self.slots, &rivals, WalkDirection::Down, usize::MAX);
        rivals.extend(descendants);
        for slot in &rivals {
            self.remove(*slot, Some(RemoveReason::Replaced { by }), now_ms);
        }
        rivals.len()
    }

    fn insert(&mut self, tx: &Arc<MempoolTx>, parents: Vec<u32>, children: Vec<u32>) {
        // `check` keeps all of these within the limits of a block.
        let (vsize, weight) = (tx.adjusted_vsize() as u32, tx.weight() as u32);
        let (fee, sigops) = (tx.fee_sats, tx.sigop_cost);
        let links = (parents.clone(), children.clone());
        let entry = GraphEntry { txid: tx.txid, tx: Arc::clone(tx), fee, vsize, weight, sigops, parents, children };
        // `add` checked that there is a place.
        let Some(slot) = self.slots.insert(entry) else { return };
        for parent in &links.0 {
            if let Some(entry) = self.slots.get_mut(*parent) {
                entry.children.push(slot);
            }
        }
        for child in &links.1 {
            if let Some(entry) = self.slots.get_mut(*child) {
                entry.parents.push(slot);
            }
        }
        for input in &tx.inputs {
            self.by_spent.insert((input.prev_txid, input.prev_vout), slot);
        }
        self.by_txid.insert(tx.txid, slot);
        self.scripts.add(tx);
        self.sums.vsize += u64::from(vsize);
        self.sums.weight += u64::from(weight);
        self.sums.fees += u128::from(fee);
        self.sums.usage += usage_bytes(tx);
    }

    /// Removes a transaction. Without a reason, it is not stored as departed.
    fn remove(&mut self, slot: u32, reason: Option<RemoveReason>, now_ms: u64) {
        let Some(entry) = self.slots.remove(slot) else { return };
        for parent in &entry.parents {
            if let Some(parent) = self.slots.get_mut(*parent) {
                drop_link(&mut parent.children, slot);
            }
        }
        for child in &entry.children {
            if let Some(child) = self.slots.get_mut(*child) {
                drop_link(&mut child.parents, slot);
            }
        }
        let tx = &entry.tx;
        for input in &tx.inputs {
            self.by_spent.remove(&(input.prev_txid, input.prev_vout));
        }
        self.by_txid.remove(&tx.txid);
        self.scripts.remove(tx);
        self.sums.vsize -= u64::from(entry.vsize);
        self.sums.weight -= u64::from(entry.weight);
        self.sums.fees -= u128::from(entry.fee);
        self.sums.usage -= usage_bytes(tx);
        if self.sums.usage < self.limits.max_bytes / 2 {
            self.full_at = None;
        }
        if let Some(reason) = reason {
            self.departed.push(tx, reason, now_ms);
        }
    }

    /// True if a transaction pays no more than the dropped ones, or depends on one of them.
    fn is_turned_away(&self, tx: &MempoolTx) -> bool {
        let lost = |input: &MempoolInput| input.birth.is_none() && !self.by_txid.contains_key(&input.prev_txid);
        let cheap = |rate| rate_of(tx.fee_sats, tx.adjusted_vsize()) <= rate;
        self.dropped > 0 && (tx.inputs.iter().any(lost) || self.full_at.is_some_and(cheap))
    }

    /// Drops the transactions that would be mined last, until there is room again. All dependents of a dropped
    /// transaction come after it in the mining order, so they are dropped before it.
    fn trim(&mut self, now_ms: u64) -> usize {
        if self.sums.usage <= self.limits.max_bytes {
            return 0;
        }
        let graph = Graph::of(&self.outline());
        let target = self.limits.max_bytes / 100 * 95;
        let mut dropped = 0;
        let (order, rates) = mining_order(&graph);
        for index in order.into_iter().rev().map(|index| index as usize) {
            if self.sums.usage <= target {
                break;
            }
            self.remove(graph.slots[index], None, now_ms);
            self.full_at = self.full_at.max(Some(rates[index]));
            dropped += 1;
        }
        self.dropped += dropped as u64;
        dropped
    }
}

fn drop_link(links: &mut Vec<u32>, slot: u32) {
    if let Some(at) = links.iter().position(|link| *link == slot) {
        links.swap_remove(at);
    }
}
