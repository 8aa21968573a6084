//! The mempool as plain vectors, for computations over all of it. Transactions are numbered by ascending txid, so that
//! results do not depend on the order of arrival, and ties are broken as in Bitcoin Core.

use cairn_model::{BYTES_PER_SIGOP, Sats, Txid};

use super::outline::{Outline, OutlineRow};

/// Lists of neighbours in one vector.
#[derive(Debug)]
pub(super) struct GraphLinks {
    starts: Vec<usize>,
    items: Vec<u32>,
}

impl GraphLinks {
    pub(super) fn of(&self, index: u32) -> &[u32] {
        let at = index as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(start), Some(end)) => &self.items[*start..*end],
            _ => &[],
        }
    }

    /// The same links seen from the other end. Each list ascends.
    fn reversed(&self) -> GraphLinks {
        let count = self.starts.len().saturating_sub(1);
        let mut starts = vec![0usize; count + 1];
        for item in &self.items {
            starts[*item as usize + 1] += 1;
        }
        for at in 0..count {
            starts[at + 1] += starts[at];
        }
        let mut free = starts.clone();
        let mut items = vec![0u32; self.items.len()];
        for index in 0..count as u32 {
            for item in self.of(index) {
                let place = &mut free[*item as usize];
                items[*place] = index;
                *place += 1;
            }
        }
        GraphLinks { starts, items }
    }
}

#[derive(Debug)]
pub(super) struct Graph {
    /// Slot of each transaction in the mempool.
    pub(super) slots: Vec<u32>,
    /// Ascending.
    pub(super) txids: Vec<Txid>,
    pub(super) fee: Vec<Sats>,
    pub(super) vsize: Vec<u32>,
    pub(super) weight: Vec<u32>,
    pub(super) sigops: Vec<u32>,
    pub(super) parents: GraphLinks,
    pub(super) children: GraphLinks,
}

/// Row numbers in the order of their txids.
fn by_txid(rows: &[OutlineRow]) -> Vec<u32> {
    // Eight bytes are almost always enough, and are faster to move than thirty-two.
    let prefix = |txid: &Txid| txid.0.first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
    let mut order: Vec<(u64, u32)> = rows.iter().zip(0u32..).map(|(row, at)| (prefix(&row.txid), at)).collect();
    let txid = |at: u32| &rows[at as usize].txid;
    order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| txid(a.1).cmp(txid(b.1))));
    order.into_iter().map(|(_, at)| at).collect()
}

impl Graph {
    pub(super) fn of(outline: &Outline) -> Self {
        let rows = &outline.rows;
        let order = by_txid(rows);
        let count = rows.len();
        let mut index_of = vec![0u32; rows.iter().map(|row| row.slot as usize + 1).max().unwrap_or(0)];
        for (at, index) in order.iter().zip(0u32..) {
            index_of[rows[*at as usize].slot as usize] = index;
        }
        let mut slots = Vec::with_capacity(count);
        let mut txids = Vec::with_capacity(count);
        let mut fee = Vec::with_capacity(count);
        let mut vsize = Vec::with_capacity(count);
        let mut weight = Vec::with_capacity(count);
        let mut sigops = Vec::with_capacity(count);
        let mut parents = GraphLinks { starts: Vec::with_capacity(count + 1), items: Vec::new() };
        parents.starts.push(0);
        for at in order {
            let row = &rows[at as usize];
            slots.push(row.slot);
            txids.push(row.txid);
            fee.push(row.fee);
            vsize.push(row.vsize);
            weight.push(row.weight);
            sigops.push(row.sigops);
            let start = parents.items.len();
            parents.items.extend(outline.parents_of(at).iter().map(|slot| index_of[*slot as usize]));
            parents.items[start..].sort_unstable();
            parents.starts.push(parents.items.len());
        }
        let children = parents.reversed();
        Graph { slots, txids, fee, vsize, weight, sigops, parents, children }
    }

    pub(super) fn len(&self) -> usize {
        self.txids.len()
    }

    /// The higher of the weight and the equivalent of the signature operations.
    pub(super) fn adjusted_weight(&self, index: u32) -> u64 {
        let at = index as usize;
        u64::from(self.weight[at]).max(u64::from(self.sigops[at]) * BYTES_PER_SIGOP)
    }
}
