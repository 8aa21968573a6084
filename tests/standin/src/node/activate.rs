//! Switching to the chain with the most work, in the steps of Core's `ActivateBestChain`, with its announcements in its
//! order.
//!
//! One step takes blocks off down to the fork and puts blocks on until there is more work than before. It announces a D
//! for each block taken off, then an R for each mempool transaction that the new blocks exclude. An A follows for each
//! transaction of the lost blocks that is unconfirmed again (an R for what cannot be), then a C for each new block,
//! then one announcement of the tip. So the A of a lost transaction comes before the C of the block that follows it.

use std::collections::BTreeSet;
use std::sync::Arc;

use bitcoin::{BlockHash, Transaction};

use super::{Node, coins};
use crate::Error;
use crate::notice::Notice;

/// `invalidateblock` gives up returning transactions to the mempool after this many blocks.
const MAX_RETURNED_BLOCKS: u32 = 10;

impl Node {
    /// Index of the valid block with the most work; among equals the one that came first.
    fn best(&self) -> usize {
        let mut best = 0;
        for (at, entry) in self.tree.iter().enumerate() {
            if !entry.bad && entry.stored.work > self.tree[best].stored.work {
                best = at;
            }
        }
        best
    }

    /// The blocks to put on, lowest first, to go from their last common block with the active chain to `to`, and the
    /// height of that block.
    fn path(&self, to: usize) -> (u32, Vec<usize>) {
        let mut up = Vec::new();
        let mut at = to;
        while !self.is_active(&self.tree[at].stored) {
            up.push(at);
            at = self.tree[at].parent;
        }
        up.reverse();
        (self.tree[at].stored.height, up)
    }

    /// Goes to the best chain. Gives the first block that turned out invalid on the way, with the reason.
    pub(super) fn activate(&mut self, now: u64, notices: &mut Vec<Notice>) -> Option<(BlockHash, &'static str)> {
        let mut problem = None;
        loop {
            let start = self.tip_index();
            let start_work = self.tree[start].stored.work;
            let mut moved = false;
            loop {
                let best = self.best();
                if best == self.tip_index() {
                    break;
                }
                moved = true;
                let found = self.step(best, start_work, now, notices);
                problem = problem.or(found);
                if self.tip().work > start_work {
                    break;
                }
            }
            if !moved {
                return problem;
            }
            // Nothing is said where blocks were only taken off, nor during the initial download.
            let tip = self.tip();
            let taken_off_only = self.is_ancestor(self.tip_index(), start);
            if !self.ibd && !taken_off_only {
                notices.push(Notice::Tip(Arc::clone(tip)));
            }
        }
    }

    fn is_ancestor(&self, ancestor: usize, mut of: usize) -> bool {
        while self.tree[of].stored.height > self.tree[ancestor].stored.height {
            of = self.tree[of].parent;
        }
        of == ancestor
    }

    fn step(
        &mut self,
        best: usize,
        start_work: bitcoin::Work,
        now: u64,
        notices: &mut Vec<Notice>,
    ) -> Option<(BlockHash, &'static str)> {
        let (fork, up) = self.path(best);
        let mut lost = Vec::new();
        while self.height() > fork {
            lost.push(self.take_off(notices));
        }
        let mut connected = Vec::new();
        let mut problem = None;
        for at in up {
            match self.put_on(at, notices) {
                Ok(()) => connected.push(Arc::clone(&self.tree[at].stored)),
                Err(reason) => {
                    problem = Some((self.tree[at].stored.hash, reason));
                    self.mark(at);
                    break;
                }
            }
            if self.tip().work > start_work {
                break;
            }
        }
        if !lost.is_empty() {
            self.return_txs(lost, true, now, notices);
        }
        notices.extend(connected.into_iter().map(Notice::Connected));
        problem
    }

    /// Takes the tip off; gives its transactions.
    fn take_off(&mut self, notices: &mut Vec<Notice>) -> Vec<Transaction> {
        let Some(at) = self.active.pop() else { return Vec::new() };
        let entry = &self.tree[at];
        let stored = Arc::clone(&entry.stored);
        if let Some(spent) = &entry.spent {
            coins::disconnect(&mut self.coins, &stored.block, spent);
        }
        for tx in &stored.block.txdata {
            self.tx_blocks.remove(&tx.compute_txid());
        }
        notices.push(Notice::Disconnected(Arc::clone(&stored)));
        stored.block.txdata.clone()
    }

    /// Makes a child of the tip the new tip. Announces the transactions that the mempool loses to it; the block itself
    /// is announced later.
    fn put_on(&mut self, at: usize, notices: &mut Vec<Notice>) -> Result<(), &'static str> {
        let stored = Arc::clone(&self.tree[at].stored);
        let spent = coins::connect(&mut self.coins, &stored.block, stored.height)?;
        self.tree[at].spent = Some(Arc::new(spent));
        self.active.push(at);
        for tx in &stored.block.txdata {
            self.tx_blocks.insert(tx.compute_txid(), stored.hash);
        }
        self.pool.remove_for_block(&stored.block, notices);
        Ok(())
    }

    /// Returns the transactions of blocks taken off (the former tip's first) to the mempool, as far as they are valid
    /// there, and removes what is not valid any more. With `keep` false none is returned.
    fn return_txs(&mut self, lost: Vec<Vec<Transaction>>, keep: bool, now: u64, notices: &mut Vec<Notice>) {
        for tx in lost.into_iter().rev().flatten() {
            let tx = Arc::new(tx);
            // The new branch may hold it too.
            if self.tx_blocks.contains_key(&tx.compute_txid()) {
                continue;
            }
            let found = if keep && !tx.is_coinbase() { self.check_tx(&tx, now, false).ok() } else { None };
            match found {
                Some(found) => self.pool.add(found, notices),
                None => self.pool.remove_recursive(&tx, notices),
            }
        }
        self.remove_invalid(notices);
        let policy = self.policy.clone();
        self.pool.trim(policy.max_bytes, &policy, notices);
    }

    /// Removes transactions that the next block could not hold any more.
    fn remove_invalid(&mut self, notices: &mut Vec<Notice>) {
        let bad: BTreeSet<_> = self.with_context(0, |context| {
            let pool = &self.pool;
            pool.entries().filter(|entry| !pool.is_still_valid(entry, context)).map(|entry| entry.txid).collect()
        });
        self.pool.evict_all(bad, notices);
    }

    /// Marks a block and its descendants as invalid.
    fn mark(&mut self, at: usize) {
        self.tree[at].bad = true;
        // Parents come before children.
        for child in at + 1..self.tree.len() {
            if self.tree[self.tree[child].parent].bad {
                self.tree[child].bad = true;
            }
        }
    }

    /// `invalidateblock`.
    pub(crate) fn invalidate(&mut self, hash: &BlockHash, now: u64, notices: &mut Vec<Notice>) -> Result<(), Error> {
        let &at = self.index.get(hash).ok_or(Error::UnknownBlock(*hash))?;
        if at == 0 {
            return Err(Error::Parameters("the genesis block cannot be invalidated"));
        }
        let stored = Arc::clone(&self.tree[at].stored);
        let mut blocks = 0;
        while self.is_active(&stored) {
            let lost = self.take_off(notices);
            blocks += 1;
            self.return_txs(vec![lost], blocks <= MAX_RETURNED_BLOCKS, now, notices);
        }
        self.mark(at);
        self.activate(now, notices);
        Ok(())
    }

    /// `reconsiderblock`: forgets that the block, its ancestors and its descendants are invalid.
    pub(crate) fn reconsider(&mut self, hash: &BlockHash, now: u64, notices: &mut Vec<Notice>) -> Result<(), Error> {
        let &at = self.index.get(hash).ok_or(Error::UnknownBlock(*hash))?;
        for other in 1..self.tree.len() {
            if self.tree[other].bad && (self.is_ancestor(at, other) || self.is_ancestor(other, at)) {
                self.tree[other].bad = false;
            }
        }
        // Blocks on a block that is still invalid are invalid with it.
        for other in 1..self.tree.len() {
            if self.tree[self.tree[other].parent].bad {
                self.tree[other].bad = true;
            }
        }
        self.activate(now, notices);
        Ok(())
    }
}
