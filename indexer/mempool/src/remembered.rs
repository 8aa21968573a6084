//! Transactions that recently left the mempool: when they were first seen, and where they were confirmed.

use std::collections::{HashMap, VecDeque};

use cairn_model::{Height, Txid};

#[derive(Clone, Copy, Debug)]
struct Memory {
    first_seen_ms: Option<u64>,
    /// The block of our chain that contains it.
    confirmed: Option<Height>,
    /// The valid entry in the order.
    stamp: u64,
}

/// A bounded number of stored transactions; the oldest are removed first.
#[derive(Debug)]
pub(crate) struct Remembered {
    memories: HashMap<Txid, Memory>,
    order: VecDeque<(u64, Txid)>,
    stamp: u64,
    max: usize,
}

impl Remembered {
    pub(crate) fn new(max: usize) -> Self {
        Remembered { memories: HashMap::new(), order: VecDeque::new(), stamp: 0, max }
    }

    /// Stores a transaction: its first-seen time if there is one, and its block if a block contains it.
    pub(crate) fn insert(&mut self, txid: Txid, first_seen_ms: Option<u64>, confirmed: Option<Height>) {
        self.stamp += 1;
        let known = self.memories.get(&txid).and_then(|memory| memory.first_seen_ms);
        let memory = Memory { first_seen_ms: first_seen_ms.or(known), confirmed, stamp: self.stamp };
        self.memories.insert(txid, memory);
        self.order.push_back((self.stamp, txid));
        // Old entries of renewed transactions are skipped.
        while self.memories.len() > self.max || self.order.len() > self.max.saturating_mul(2).saturating_add(16) {
            let Some((stamp, txid)) = self.order.pop_front() else { break };
            if self.memories.get(&txid).is_some_and(|memory| memory.stamp == stamp) {
                self.memories.remove(&txid);
            }
        }
    }

    pub(crate) fn first_seen(&self, txid: &Txid) -> Option<u64> {
        self.memories.get(txid)?.first_seen_ms
    }

    /// True if a block of our chain is known to contain it.
    pub(crate) fn is_confirmed(&self, txid: &Txid) -> bool {
        self.memories.get(txid).is_some_and(|memory| memory.confirmed.is_some())
    }

    /// Blocks above this height are no longer on our chain.
    pub(crate) fn disconnected(&mut self, tip: Height) {
        for memory in self.memories.values_mut() {
            memory.confirmed = memory.confirmed.filter(|height| *height <= tip);
        }
    }

    /// It is no longer known which blocks are on our chain.
    pub(crate) fn forget_blocks(&mut self) {
        for memory in self.memories.values_mut() {
            memory.confirmed = None;
        }
    }

    #[cfg(test)]
    fn len(&self) -> (usize, usize) {
        (self.memories.len(), self.order.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_seen_times_survive_confirmation_and_reorg() {
        let mut memory = Remembered::new(10);
        let (a, b) = (Txid([1; 32]), Txid([2; 32]));
        memory.insert(a, Some(77), Some(5));
        memory.insert(b, None, Some(6));
        memory.disconnected(5);
        assert!(memory.is_confirmed(&a) && !memory.is_confirmed(&b));
        memory.insert(a, None, Some(7));
        assert_eq!((memory.first_seen(&a), memory.first_seen(&b)), (Some(77), None));
    }

    #[test]
    fn memory_is_bounded() {
        let mut memory = Remembered::new(3);
        for round in 0..100u8 {
            memory.insert(Txid([round; 32]), Some(1), None);
            memory.insert(Txid([0; 32]), Some(2), None);
            let (memories, order) = memory.len();
            assert!(memories <= 3 && order <= 22, "{memories} {order}");
            assert_eq!(memory.first_seen(&Txid([0; 32])), Some(2));
            assert!(memory.first_seen(&Txid([round; 32])).is_some());
        }
    }
}
