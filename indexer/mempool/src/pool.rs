//! The transactions that readers have, and their spends.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use cairn_model::{MempoolInput, MempoolOutput, MempoolTx, Txid, each_once};

#[derive(Debug)]
pub(crate) struct PublishedTx {
    pub(crate) tx: Arc<MempoolTx>,
    /// Position of its entry into the node's mempool among all observed changes.
    pub(crate) order: u64,
}

#[derive(Debug, Default)]
pub(crate) struct PublishedMempool {
    entries: HashMap<Txid, PublishedTx>,
    /// Coins, confirmed or not, with the transaction that spends them.
    spends: BTreeMap<(Txid, u32), Txid>,
    bytes: u64,
}

/// Feerate of a transaction by itself, in satoshis per 1 000 000 virtual bytes.
pub(crate) fn rate_of(tx: &MempoolTx) -> u64 {
    let rate = u128::from(tx.fee_sats) * 1_000_000 / u128::from(tx.adjusted_vsize().max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// Estimated memory of a transaction.
pub(crate) fn bytes_of(tx: &MempoolTx) -> u64 {
    /// Overhead of an allocation.
    const HEAP: usize = 16;
    let scripts = tx.inputs.iter().map(|i| &i.script).chain(tx.outputs.iter().map(|o| &o.script));
    let scripts: usize = scripts.map(|script| script.len() + HEAP).sum();
    let lists = size_of_val::<[MempoolInput]>(&tx.inputs) + size_of_val::<[MempoolOutput]>(&tx.outputs) + 2 * HEAP;
    let raw = tx.raw.as_ref().map_or(0, |raw| raw.len() + HEAP);
    // Maps are on average two thirds full.
    let places = (size_of::<(Txid, PublishedTx)>() + size_of::<((Txid, u32), Txid)>() * tx.inputs.len()) * 3 / 2;
    (size_of::<MempoolTx>() + HEAP + scripts + lists + raw + places) as u64
}

impl PublishedMempool {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Estimated memory of all transactions.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn get(&self, txid: &Txid) -> Option<&Arc<MempoolTx>> {
        self.entries.get(txid).map(|entry| &entry.tx)
    }

    pub(crate) fn contains(&self, txid: &Txid) -> bool {
        self.entries.contains_key(txid)
    }

    pub(crate) fn entry_mut(&mut self, txid: &Txid) -> Option<&mut PublishedTx> {
        self.entries.get_mut(txid)
    }

    pub(crate) fn order(&self, txid: &Txid) -> Option<u64> {
        self.entries.get(txid).map(|entry| entry.order)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<MempoolTx>> {
        self.entries.values().map(|entry| &entry.tx)
    }

    pub(crate) fn txids(&self) -> impl Iterator<Item = &Txid> {
        self.entries.keys()
    }

    /// The transaction that spends an output.
    pub(crate) fn spender(&self, txid: &Txid, vout: u32) -> Option<Txid> {
        self.spends.get(&(*txid, vout)).copied()
    }

    /// The transactions that spend from this one, which need not be here. Each once, in the order of their txids.
    pub(crate) fn children(&self, txid: &Txid) -> Vec<Txid> {
        each_once(self.spends.range((*txid, 0)..=(*txid, u32::MAX)).map(|(_, by)| *by))
    }

    /// Those of these transactions that are here, and all their dependents; each after its dependents.
    pub(crate) fn with_descendants(&self, roots: &[Txid]) -> Vec<Txid> {
        walk(roots.iter().copied().filter(|txid| self.contains(txid)), |txid| self.children(txid))
    }

    /// All transactions, parents before children.
    pub(crate) fn parents_first(&self) -> Vec<Txid> {
        let mut roots: Vec<Txid> = self.entries.keys().copied().collect();
        // The same set has the same order.
        roots.sort_unstable();
        walk(roots, |txid| {
            let inputs = self.get(txid).map_or(&[][..], |tx| &tx.inputs);
            inputs.iter().map(|input| input.prev_txid).filter(|parent| self.contains(parent)).collect()
        })
    }

    /// Adds a transaction. Its coins must not be spent here.
    pub(crate) fn insert(&mut self, tx: Arc<MempoolTx>, order: u64) {
        self.bytes += bytes_of(&tx);
        for input in &tx.inputs {
            self.spends.insert((input.prev_txid, input.prev_vout), tx.txid);
        }
        self.entries.insert(tx.txid, PublishedTx { tx, order });
    }

    /// Removes a transaction, without its dependents.
    pub(crate) fn remove(&mut self, txid: &Txid) -> Option<Arc<MempoolTx>> {
        let entry = self.entries.remove(txid)?;
        self.bytes -= bytes_of(&entry.tx);
        for input in &entry.tx.inputs {
            self.spends.remove(&(input.prev_txid, input.prev_vout));
        }
        Some(entry.tx)
    }
}

/// Walks depth first from the roots; each comes after those that `next` gives for it.
fn walk(roots: impl IntoIterator<Item = Txid>, next: impl Fn(&Txid) -> Vec<Txid>) -> Vec<Txid> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for root in roots {
        if !seen.insert(root) {
            continue;
        }
        let mut path = vec![(root, next(&root))];
        while let Some((txid, open)) = path.last_mut() {
            match open.pop() {
                Some(deeper) if seen.insert(deeper) => {
                    let further = next(&deeper);
                    path.push((deeper, further));
                }
                Some(_) => {}
                None => {
                    found.push(*txid);
                    path.pop();
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tx(id: u8, spends: &[(u8, u32)]) -> Arc<MempoolTx> {
        let input = |&(parent, vout): &(u8, u32)| MempoolInput {
            prev_txid: Txid([parent; 32]),
            prev_vout: vout,
            sequence: 0,
            value: 10,
            script: Box::from([1, 2]),
            birth: None,
        };
        Arc::new(MempoolTx {
            txid: Txid([id; 32]),
            wtxid: Txid([id; 32]),
            size: 100,
            base_size: 100,
            sigop_cost: 0,
            fee_sats: 250,
            version: 2,
            lock_time: 0,
            first_seen_ms: 0,
            inputs: spends.iter().map(input).collect(),
            outputs: Box::new([]),
            raw: Some(Box::from([0; 100])),
        })
    }

    fn ids(list: &[Txid]) -> Vec<u8> {
        list.iter().map(|txid| txid.0[0]).collect()
    }

    #[test]
    fn relatives() {
        let mut pool = PublishedMempool::default();
        // 1 -> 2 -> 4, 1 -> 3 -> 4, and 9 alone; 100 is confirmed.
        for tx in [tx(4, &[(2, 0), (3, 0)]), tx(9, &[(100, 7)]), tx(3, &[(1, 1)]), tx(2, &[(1, 0)]), tx(1, &[(100, 0)])]
        {
            pool.insert(tx, 1);
        }
        assert_eq!(ids(&pool.children(&Txid([1; 32]))), [2, 3]);
        assert_eq!(ids(&pool.children(&Txid([100; 32]))), [1, 9]);
        assert_eq!(pool.spender(&Txid([100; 32]), 7), Some(Txid([9; 32])));
        let all = ids(&pool.parents_first());
        let at = |id: u8| all.iter().position(|of| *of == id).unwrap();
        assert_eq!(all.len(), 5);
        assert!(at(1) < at(2) && at(1) < at(3) && at(2) < at(4) && at(3) < at(4));
        let family = ids(&pool.with_descendants(&[Txid([1; 32]), Txid([2; 32]), Txid([77; 32])]));
        assert_eq!(family.len(), 4);
        assert_eq!((family[0], family[3]), (4, 1));
        assert_eq!(rate_of(pool.get(&Txid([1; 32])).unwrap()), 2_500_000);
        for id in [1, 2, 3, 4, 9] {
            assert!(pool.remove(&Txid([id; 32])).is_some());
        }
        assert_eq!((pool.bytes(), pool.len(), pool.spends.len()), (0, 0, 0));
    }
}
