//! The memory limit: the lowest feerates are left out.

use cairn_model::{RemoveReason, Txid};

use crate::{
    MempoolWatcher,
    arrivals::Stage,
    pool::{bytes_of, rate_of},
};

impl MempoolWatcher {
    /// Leaves out the lowest feerates and their dependents, until there is some room again.
    pub(crate) fn trim(&mut self) {
        if self.pool.bytes() <= self.options.max_bytes {
            return;
        }
        let target = self.options.max_bytes / 100 * 95;
        let mut excess = self.pool.bytes().saturating_sub(target);
        let mut by_rate: Vec<(u64, Txid)> = self.pool.iter().map(|tx| (rate_of(tx), tx.txid)).collect();
        by_rate.sort_unstable();
        let mut count = 0_usize;
        for (rate, txid) in by_rate {
            if excess == 0 {
                break;
            }
            for lost in self.pool.with_descendants(&[txid]) {
                let Some(tx) = self.pool.get(&lost) else { continue };
                let (bytes, own, seen) = (bytes_of(tx), rate_of(tx), tx.first_seen_ms);
                let order = self.pool.order(&lost).unwrap_or_default();
                let departing = self.departures.contains(&lost);
                self.remove(&lost, RemoveReason::Unknown);
                if !departing {
                    self.arrivals.insert(lost, order, Some(seen), self.clock.passed);
                    self.arrivals.set_stage(&lost, Stage::LeftOut(own));
                }
                excess = excess.saturating_sub(bytes);
                count += 1;
            }
            self.full_at = self.full_at.max(Some(rate));
        }
        tracing::warn!(count, "memory limit reached: transactions with the lowest feerates are left out");
    }

    /// There is room again: adds the best of those that were left out, until this much memory is used.
    pub(crate) fn readmit(&mut self, room: u64) {
        /// Upper estimate of the memory of a transaction.
        const TYPICAL: u64 = 3_000;
        let mut left_out: Vec<(u64, Txid)> = (self.arrivals.iter())
            .filter_map(|(txid, arrival)| match arrival.stage() {
                Stage::LeftOut(rate) => Some((rate, *txid)),
                _ => None,
            })
            .collect();
        left_out.sort_unstable();
        let fitting = usize::try_from(room.saturating_sub(self.pool.bytes()) / TYPICAL).unwrap_or(usize::MAX);
        let from = left_out.len().saturating_sub(fitting);
        self.full_at = from.checked_sub(1).and_then(|last| left_out.get(last)).map(|(rate, _)| *rate);
        for (_, txid) in left_out.split_off(from) {
            self.arrivals.set_stage(&txid, Stage::Fetch);
        }
    }
}
