//! The state as deltas, for a reader that connects later.

use cairn_model::MempoolDelta;

use super::{Mempool, entry::GraphEntry};

impl Mempool {
    /// Deltas that give an empty [`Mempool`] this one's state: `Reset`, the node's limits, every transaction after its
    /// parents, the tip, and `Sequence` unless this one is being loaded itself. A mempool without a sequence
    /// counts as being at 0.
    ///
    /// Other data is not included: departed transactions, the inflow, the number of changes, and the number of
    /// transactions dropped for the memory limit. Transactions are shared, not copied.
    #[must_use]
    pub fn snapshot(&self) -> Vec<MempoolDelta> {
        let stats = self.stats(0);
        let sequence = stats.node_sequence.unwrap_or(0);
        let mut deltas = Vec::with_capacity(self.len() + 4);
        deltas.push(MempoolDelta::Reset { sequence });
        deltas.extend(stats.floor.map(MempoolDelta::NodeFloor));
        self.push_parents_first(&mut deltas);
        deltas.extend(stats.tip.map(|tip| MempoolDelta::Block { height: tip.height, hash: tip.hash, time: tip.time }));
        if !stats.loading {
            deltas.push(MempoolDelta::Sequence(sequence));
        }
        deltas
    }

    fn push_parents_first(&self, deltas: &mut Vec<MempoolDelta>) {
        let add = |entry: &GraphEntry| MempoolDelta::Add(entry.tx.clone());
        // For each slot, the number of parents that are not sent yet. Those without any are sent first.
        let mut waits_for = Vec::new();
        let mut queue = Vec::new();
        for (slot, entry) in self.slots().iter() {
            waits_for.resize(slot as usize + 1, 0usize);
            if let Some(waits) = waits_for.last_mut() {
                *waits = entry.parents.len();
            }
            if entry.parents.is_empty() {
                deltas.push(add(entry));
                queue.extend_from_slice(&entry.children);
            }
        }
        while let Some(slot) = queue.pop() {
            let (Some(entry), Some(waits)) = (self.entry(slot), waits_for.get_mut(slot as usize)) else { continue };
            *waits = waits.saturating_sub(1);
            if *waits == 0 {
                deltas.push(add(entry));
                queue.extend_from_slice(&entry.children);
            }
        }
    }
}
