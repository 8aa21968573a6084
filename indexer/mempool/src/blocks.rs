//! Effects of our chain on the mempool.

use std::sync::Arc;

use cairn_model::{Height, MempoolDelta, MempoolTx, RemoveReason, Txid};

use crate::{
    MempoolWatcher,
    arrivals::Stage,
    watcher::{IndexTip, block},
};

impl MempoolWatcher {
    /// Our index has connected the block `tip`, and its readers can see it: `txids` are its transactions in order,
    /// `spent` the coins that they spend. The deltas belong to the block and must be applied together. Run a step right
    /// after this: it returns the deltas that need the new coins.
    pub fn connected(
        &mut self,
        tip: IndexTip,
        txids: impl IntoIterator<Item = Txid>,
        spent: impl IntoIterator<Item = (Txid, u32)>,
        now_ms: u64,
    ) -> Vec<MempoolDelta> {
        self.clock.set(now_ms);
        let txids: Vec<Txid> = txids.into_iter().collect();
        for txid in &txids {
            self.confirmed(*txid, tip.height);
        }
        for (txid, vout) in spent {
            if let Some(rival) = self.pool.spender(&txid, vout) {
                for lost in self.pool.with_descendants(&[rival]) {
                    self.remove(&lost, RemoveReason::Conflict);
                }
            }
        }
        for txid in &txids {
            self.correct_births(txid, Some(tip.height));
        }
        self.move_to(tip);
        std::mem::take(&mut self.out)
    }

    /// Our index has disconnected blocks, down to `tip`. The node reports which transactions are unconfirmed again; a
    /// step right after this returns those that it has already reported.
    pub fn disconnected(&mut self, tip: IndexTip, now_ms: u64) -> Vec<MempoolDelta> {
        self.clock.set(now_ms);
        self.remembered.disconnected(tip.height);
        self.came_apart();
        self.move_to(tip);
        std::mem::take(&mut self.out)
    }

    /// Adopts the tip that the owner reports.
    pub(crate) fn meet(&mut self, tip: IndexTip) {
        if self.chain.tip == Some(tip) {
            return;
        }
        if self.chain.tip.is_some() {
            // Blocks without a report: only a snapshot shows their effects.
            self.remembered.forget_blocks();
            self.came_apart();
        }
        self.move_to(tip);
    }

    /// Coins changed without individual reports.
    fn came_apart(&mut self) {
        self.chain.reorganized = Some(self.clock.passed);
        self.chain.resuming = true;
        self.sync.broken = true;
        // Readers wait for the next complete state. It must be announced even if it equals the last one, as with an
        // empty mempool.
        self.announced = None;
        self.arrivals.release_all();
        let back: Vec<Txid> =
            self.arrivals.iter().filter(|(_, a)| a.stage() == Stage::Confirmed).map(|(t, _)| *t).collect();
        for txid in back.iter().filter(|txid| !self.remembered.is_confirmed(txid)) {
            self.arrivals.set_stage(txid, Stage::Ready);
            self.arrivals.release(txid);
        }
    }

    fn move_to(&mut self, tip: IndexTip) {
        self.chain.tip = Some(tip);
        if !self.chain.apart {
            // We follow the node, so it had this block before us, even without a message.
            self.chain.node = Some(tip.hash);
        }
        self.compare_tips();
        self.arrivals.unverify();
        if self.sync.broken || !self.sync.started {
            // A snapshot waited for this tip. One for each tip does not burden the node.
            self.sync.not_before = 0;
        }
        self.out.push(block(tip));
    }

    /// A block of our chain contains a transaction.
    fn confirmed(&mut self, txid: Txid, height: Height) {
        let seen = match self.pool.get(&txid).map(|tx| tx.first_seen_ms) {
            Some(seen) => {
                self.remove(&txid, RemoveReason::Confirmed { height });
                Some(seen)
            }
            // If the node still has it, it is on another chain, and reports it again.
            None => self.arrivals.remove(&txid).and_then(|(arrival, _)| arrival.first_seen_ms),
        };
        self.bodies.take(&txid);
        let seen = seen.or_else(|| self.kept.get(&txid).map(|tx| tx.first_seen_ms));
        self.remembered.insert(txid, seen, Some(height));
        self.arrivals.release(&txid);
    }

    /// A transaction is at another height than those that spend from it think. One that thinks that it was unconfirmed
    /// is right: it was.
    pub(crate) fn correct_births(&mut self, parent: &Txid, birth: Option<Height>) {
        for child in self.pool.children(parent) {
            let Some(tx) = self.pool.get(&child) else { continue };
            let is_wrong =
                |i: &cairn_model::MempoolInput| i.prev_txid == *parent && i.birth.is_some() && i.birth != birth;
            if !tx.inputs.iter().any(is_wrong) {
                continue;
            }
            let mut corrected = MempoolTx::clone(tx);
            for input in corrected.inputs.iter_mut().filter(|input| is_wrong(input)) {
                input.birth = birth;
            }
            self.retell(corrected);
        }
    }

    /// Replaces a transaction of readers with another version.
    fn retell(&mut self, tx: MempoolTx) {
        let (txid, tx) = (tx.txid, Arc::new(tx));
        let Some(order) = self.pool.order(&txid) else { return };
        self.pool.remove(&txid);
        self.pool.insert(Arc::clone(&tx), order);
        self.out.push(MempoolDelta::Remove { txid, reason: RemoveReason::Unknown });
        self.out.push(MempoolDelta::Add(tx));
    }

    /// Removes a transaction from readers. The caller handles its dependents.
    pub(crate) fn remove(&mut self, txid: &Txid, reason: RemoveReason) {
        self.departures.remove(txid);
        if let Some(tx) = self.pool.remove(txid) {
            self.remembered.insert(*txid, Some(tx.first_seen_ms), None);
            self.out.push(MempoolDelta::Remove { txid: *txid, reason });
        }
    }
}
