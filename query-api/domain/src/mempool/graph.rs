//! The mempool as plain vectors, for computations over all of it. Transactions are numbered by ascending txid, so that
//! nothing depends on the order in which they came, and ties are broken as Bitcoin Core breaks them.

use cairn_model::{Sats, Txid};

use super::pool::Mempool;

/// Lists of neighbours, back to back.
#[derive(Debug)]
pub(super) struct Links {
    starts: Vec<usize>,
    items: Vec<u32>,
}

impl Links {
    pub(super) fn of(&self, index: u32) -> &[u32] {
        let at = index as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(start), Some(end)) => &self.items[*start..*end],
            _ => &[],
        }
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
    pub(super) parents: Links,
    pub(super) children: Links,
}

impl Graph {
    pub(super) fn of(pool: &Mempool) -> Self {
        let mut order: Vec<(Txid, u32)> = pool.entries().map(|(slot, entry)| (entry.tx.txid, slot)).collect();
        order.sort_unstable();
        let slot_end = order.iter().map(|(_, slot)| *slot as usize + 1).max().unwrap_or(0);
        let mut index_of = vec![0u32; slot_end];
        for ((_, slot), index) in order.iter().zip(0u32..) {
            index_of[*slot as usize] = index;
        }
        let count = order.len();
        let mut graph = Graph {
            slots: Vec::with_capacity(count),
            txids: Vec::with_capacity(count),
            fee: Vec::with_capacity(count),
            vsize: Vec::with_capacity(count),
            weight: Vec::with_capacity(count),
            sigops: Vec::with_capacity(count),
            parents: Links { starts: vec![0], items: Vec::new() },
            children: Links { starts: vec![0], items: Vec::new() },
        };
        for (txid, slot) in order {
            let Some(entry) = pool.entry(slot) else { continue };
            graph.slots.push(slot);
            graph.txids.push(txid);
            graph.fee.push(entry.fee);
            graph.vsize.push(entry.vsize);
            graph.weight.push(entry.weight);
            graph.sigops.push(entry.sigops);
            for (links, slots) in [(&mut graph.parents, &entry.parents), (&mut graph.children, &entry.children)] {
                let start = links.items.len();
                links.items.extend(slots.iter().map(|slot| index_of[*slot as usize]));
                links.items[start..].sort_unstable();
                links.starts.push(links.items.len());
            }
        }
        graph
    }

    pub(super) fn len(&self) -> usize {
        self.txids.len()
    }
}
