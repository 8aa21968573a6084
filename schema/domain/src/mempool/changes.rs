//! Differences between two versions of the mempool.

use std::sync::Arc;

use cairn_model::{MempoolTx, Txid};

use super::{entry::GraphEntry, pool::Mempool};

impl Mempool {
    /// True if a transaction of the mempool spends an output of another one.
    #[must_use]
    pub fn has_unconfirmed_parents(&self, txid: &Txid) -> bool {
        self.slot(txid).and_then(|slot| self.entry(slot)).is_some_and(|entry| !entry.parents.is_empty())
    }

    /// Transactions that are in only one of two versions, and those that have unconfirmed parents in only one of them.
    /// One that left and came back in between may be among them. Takes time in proportion to the changes between
    /// versions of one mempool, since these share the rest.
    #[must_use]
    pub fn changes_since<'m>(&'m self, before: &'m Mempool) -> Vec<&'m Arc<MempoolTx>> {
        let mut changed = Vec::new();
        self.slots().differences(
            before.slots(),
            |ours: Option<&'m GraphEntry>, theirs: Option<&'m GraphEntry>| match (ours, theirs) {
                (Some(ours), Some(theirs)) if ours.txid == theirs.txid => {
                    if ours.parents.is_empty() != theirs.parents.is_empty() {
                        changed.push(&ours.tx);
                    }
                }
                (ours, theirs) => changed.extend([ours, theirs].into_iter().flatten().map(|entry| &entry.tx)),
            },
        );
        changed
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cairn_model::{MempoolDelta, MempoolInput, MempoolOutput, RemoveReason};
    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// A transaction that spends one output of each of these.
    fn tx(number: u8, parents: &[u8]) -> Arc<MempoolTx> {
        let input = |parent: &u8| MempoolInput {
            prev_txid: Txid([*parent; 32]),
            prev_vout: u32::from(number),
            sequence: 0,
            value: 1_000,
            script: Box::from([0x51]),
            birth: None,
        };
        let output = MempoolOutput { value: 1, script: Box::from([0x51]) };
        let inputs: Box<[_]> = [&[255], parents].concat().iter().map(input).collect();
        Arc::new(MempoolTx {
            txid: Txid([number; 32]),
            wtxid: Txid([number; 32]),
            size: 200,
            base_size: 200,
            sigop_cost: 4,
            fee_sats: 1_000 * inputs.len() as u64 - 256,
            version: 2,
            lock_time: 0,
            first_seen_ms: 1,
            inputs,
            outputs: vec![output; 256].into(),
            raw: None,
        })
    }

    fn facts(mempool: &Mempool) -> BTreeSet<(Txid, bool)> {
        mempool.iter().map(|tx| (tx.txid, mempool.has_unconfirmed_parents(&tx.txid))).collect()
    }

    proptest! {
        /// The differences are those of the sets of transactions with whether they have parents; besides, there may be
        /// transactions that left in between.
        #[test]
        fn changes_are_the_difference(
            steps in vec((any::<bool>(), 0u8..40, vec(0u8..40, 0..3)), 0..60),
            at in any::<prop::sample::Index>(),
        ) {
            let (mut mempool, mut before) = (Mempool::default(), Mempool::default());
            let mut left = BTreeSet::new();
            for (step, (adds, number, parents)) in steps.iter().enumerate() {
                if step == at.index(steps.len()) {
                    before = mempool.clone();
                    left.clear();
                }
                let delta = if *adds {
                    let older: Vec<u8> = parents.iter().copied().filter(|parent| parent < number).collect();
                    MempoolDelta::Add(tx(*number, &older))
                } else {
                    MempoolDelta::Remove { txid: Txid([*number; 32]), reason: RemoveReason::Unknown }
                };
                let present: BTreeSet<Txid> = mempool.iter().map(|tx| tx.txid).collect();
                mempool.apply(&delta, 1);
                left.extend(present.into_iter().filter(|txid| mempool.get(txid).is_none()));
            }
            let changed: BTreeSet<Txid> = mempool.changes_since(&before).iter().map(|tx| tx.txid).collect();
            let facts = [&mempool, &before].map(facts);
            let expected: BTreeSet<Txid> = facts[0].symmetric_difference(&facts[1]).map(|(txid, _)| *txid).collect();
            prop_assert!(changed.is_superset(&expected), "{changed:?} lacks some of {expected:?}");
            prop_assert!(changed.difference(&expected).all(|txid| left.contains(txid)), "{changed:?}");
        }
    }
}
