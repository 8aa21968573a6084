//! Removes transactions that left the node's mempool, once the reason is determined.

use cairn_model::{MempoolTx, NodeFloor, RemoveReason, Txid};

use crate::{CoinSource, MempoolWatcher, WatchError, options::ms};

/// Time after a reorganization in which a missing coin explains a removal, in milliseconds.
const REORG_MEMORY: u64 = 60_000;

impl MempoolWatcher {
    /// Time for which removals are currently held back, in milliseconds.
    fn holding(&self) -> u64 {
        if self.is_resuming() {
            return 0;
        }
        let unclear = self.arrivals.unsettled() > 0 || self.chain.apart;
        ms(if unclear { self.options.longest_hold } else { self.options.hold })
    }

    /// True if only removals are left to do until readers have a complete state again after a reorganization. They wait
    /// for it. Everything that explains a removal is known by then: all blocks, and every transaction of the snapshot.
    fn is_resuming(&self) -> bool {
        self.chain.resuming
            && !self.chain.apart
            && !self.sync.broken
            && self.sync.loading_since.is_none()
            && self.queue.is_empty()
            && self.arrivals.unsettled() == 0
    }

    /// Milliseconds until a removal is due.
    pub(crate) fn dismissal_in(&self) -> u64 {
        let Some(oldest) = self.departures.oldest() else { return u64::MAX };
        let due = oldest.saturating_add(self.holding()).saturating_sub(self.clock.passed);
        match due {
            0 if self.is_resuming() => 1,
            0 => self.floor_in().max(1),
            due => due,
        }
    }

    /// Milliseconds until the node's limits may be requested because of a removal.
    fn floor_in(&self) -> u64 {
        let next = self.floor_asked.map_or(0, |asked| asked.saturating_add(ms(self.options.floor_pause)));
        next.saturating_sub(self.clock.passed).max(self.rpc.pause(self.clock.passed))
    }

    /// Removes transactions that were held back long enough, with the reason if there is evidence.
    pub(crate) fn dismiss(&mut self, coins: &dyn CoinSource) -> Result<(), WatchError> {
        let Some(latest) = self.clock.passed.checked_sub(self.holding()) else { return Ok(()) };
        let due = self.departures.until(latest, self.options.work_batch.max(1));
        if due.is_empty() || !self.knows_floor(latest) {
            return Ok(());
        }
        let reasons = due.iter().map(|txid| self.reason(txid, coins)).collect::<Result<Vec<_>, _>>()?;
        // Dependents of a departed transaction left for the same reason.
        let (known, unknown): (Vec<_>, Vec<_>) =
            due.into_iter().zip(reasons).partition(|(_, reason)| *reason != RemoveReason::Unknown);
        for (txid, reason) in known.into_iter().chain(unknown) {
            for lost in self.pool.with_descendants(&[txid]) {
                if !self.departures.contains(&lost) {
                    // There was no message about this one, but it cannot stay.
                    self.sync.broken = true;
                }
                self.remove(&lost, reason);
            }
        }
        Ok(())
    }

    /// True if the node's limits are known as of after the removals, or are unavailable.
    fn knows_floor(&mut self, latest: u64) -> bool {
        // The snapshot after a reorganization asked for them.
        if self.is_resuming() || self.floor_asked.is_some_and(|asked| asked > latest) {
            return true;
        }
        if self.floor_in() == 0 {
            let outcome = self.client.mempool_info();
            if let Ok(info) = self.rpc.note(outcome, self.clock.passed) {
                self.take_floor(&info);
                return true;
            }
        }
        let oldest = self.departures.oldest().unwrap_or(latest);
        self.is_over(oldest, self.options.longest_hold)
    }

    /// The reason why a transaction left, if there is evidence.
    fn reason(&self, txid: &Txid, coins: &dyn CoinSource) -> Result<RemoveReason, WatchError> {
        let Some(tx) = self.pool.get(txid) else { return Ok(RemoveReason::Unknown) };
        if self.clock.wall.saturating_sub(tx.first_seen_ms) >= ms(self.options.expiry) {
            return Ok(RemoveReason::Expired);
        }
        if self.chain.reorganized.is_some_and(|at| self.clock.passed.saturating_sub(at) < REORG_MEMORY)
            && self.lost_a_coin(tx, coins)?
        {
            return Ok(RemoveReason::Conflict);
        }
        Ok(match self.floor {
            Some(floor) if is_below(tx, &floor) => RemoveReason::Evicted,
            _ => RemoveReason::Unknown,
        })
    }

    /// True if a coin of a transaction is neither in our index nor created by a transaction of readers.
    fn lost_a_coin(&self, tx: &MempoolTx, coins: &dyn CoinSource) -> Result<bool, WatchError> {
        let confirmed: Vec<(Txid, u32)> = (tx.inputs.iter().map(|input| (input.prev_txid, input.prev_vout)))
            .filter(|(parent, _)| !self.pool.contains(parent))
            .collect();
        let found = coins.coins(&confirmed).map_err(WatchError::Coins)?;
        Ok(found.iter().any(Option::is_none))
    }
}

/// True if the node's mempool was full, and a transaction pays less than its current minimum.
fn is_below(tx: &MempoolTx, floor: &NodeFloor) -> bool {
    let paid = u128::from(tx.fee_sats) * 1000;
    floor.mempool_min_fee > floor.min_relay_fee
        && paid < u128::from(floor.mempool_min_fee) * u128::from(tx.adjusted_vsize())
}
