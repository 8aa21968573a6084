//! A copy of the mempool data that a projection needs. The copy is made under the caller's lock; the projection needs
//! no lock.

use cairn_model::{Sats, Txid};

use super::{Stats, entry::GraphEntry};

#[derive(Clone, Debug)]
pub(super) struct OutlineRow {
    pub(super) txid: Txid,
    pub(super) fee: Sats,
    pub(super) slot: u32,
    pub(super) vsize: u32,
    pub(super) weight: u32,
    pub(super) sigops: u32,
    /// End of its parents in the list of all; they begin at the end of the previous row's parents.
    parents_end: usize,
}

/// Ids, fees, sizes and links of every transaction at one moment, without scripts, inputs and outputs: about 60 bytes
/// each.
#[derive(Clone, Debug)]
pub struct Outline {
    pub(super) stats: Stats,
    /// In the order of their slots.
    pub(super) rows: Vec<OutlineRow>,
    /// Slots.
    parents: Vec<u32>,
}

impl Outline {
    /// Copies the transactions, in the order of their slots.
    pub(super) fn of<'e>(stats: Stats, entries: impl Iterator<Item = (u32, &'e GraphEntry)>) -> Self {
        let mut rows = Vec::with_capacity(usize::try_from(stats.count).unwrap_or_default());
        let mut parents = Vec::new();
        for (slot, entry) in entries {
            parents.extend_from_slice(&entry.parents);
            rows.push(OutlineRow {
                txid: entry.txid,
                fee: entry.fee,
                slot,
                vsize: entry.vsize,
                weight: entry.weight,
                sigops: entry.sigops,
                parents_end: parents.len(),
            });
        }
        Outline { stats, rows, parents }
    }

    /// Statistics of the mempool at that time, without the inflow.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Slots of the parents of a row.
    pub(super) fn parents_of(&self, at: u32) -> &[u32] {
        let at = at as usize;
        let start = at.checked_sub(1).and_then(|before| self.rows.get(before)).map_or(0, |row| row.parents_end);
        let end = self.rows.get(at).map_or(start, |row| row.parents_end);
        self.parents.get(start..end).unwrap_or_default()
    }
}
