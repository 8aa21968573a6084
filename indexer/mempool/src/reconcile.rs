//! Snapshots of the node's mempool, and the differences from the known state.

use std::collections::HashSet;

use cairn_model::{MempoolDelta, NodeFloor, Txid};
use cairn_node::{MempoolInfo, NodeError, RawMempool};

use crate::{Corrections, MempoolWatcher, arrivals::Stage, options::ms};

/// Pause after the node's tip was not ours, in milliseconds.
const APART_PAUSE: u64 = 200;

impl MempoolWatcher {
    pub(crate) fn is_snapshot_due(&self) -> bool {
        self.snapshot_in() == 0 && self.rpc.pause(self.clock.passed) == 0
    }

    /// Milliseconds until the next snapshot.
    pub(crate) fn snapshot_in(&self) -> u64 {
        let now = self.clock.passed;
        let sync = &self.sync;
        let lacking = self.arrivals.missing_since().filter(|_| !self.chain.apart);
        let lacking = lacking.map(|since| since.saturating_add(ms(self.options.unresolved_wait)));
        let every = if self.hears_sequence { self.options.reconcile_every } else { self.options.poll_every };
        let wanted = match sync.done {
            Some(done) if !sync.broken && sync.loading_since.is_none() => {
                let regular = done.saturating_add(ms(every));
                regular.min(sync.hint.unwrap_or(u64::MAX)).min(lacking.unwrap_or(u64::MAX))
            }
            // At once, as far as the pause allows.
            _ => 0,
        };
        wanted.max(sync.not_before).saturating_sub(now)
    }

    /// Takes a snapshot if the node's tip is ours, and records the differences.
    pub(crate) fn reconcile(&mut self) {
        self.sync.tried = true;
        self.sync.not_before = self.clock.passed.saturating_add(ms(self.options.reconcile_pause));
        let outcome = self.take_snapshot();
        match self.rpc.note(outcome, self.clock.passed) {
            Ok(Some((info, snapshot))) => {
                self.chain.node = self.chain.tip.map(|tip| tip.hash);
                self.chain.apart = false;
                self.compare(&info, snapshot);
            }
            // Our chain or the node's has to catch up first. This check is cheap.
            Ok(None) => {
                self.chain.apart = true;
                self.sync.not_before = self.sync.not_before.min(self.clock.passed.saturating_add(APART_PAUSE));
            }
            // Noted.
            Err(_) => {}
        }
    }

    /// `None` if the node's tip is not ours, or changed during the snapshot.
    fn take_snapshot(&self) -> Result<Option<(MempoolInfo, RawMempool)>, NodeError> {
        let ours = self.chain.tip.map(|tip| tip.hash);
        if Some(self.client.best_block_hash()?) != ours {
            return Ok(None);
        }
        // Requested first: if the mempool is loaded now, it is also loaded in the snapshot.
        let info = self.client.mempool_info()?;
        let snapshot = self.client.raw_mempool(info.size)?;
        let stayed = Some(self.client.best_block_hash()?) == ours;
        Ok(stayed.then_some((info, snapshot)))
    }

    fn compare(&mut self, info: &MempoolInfo, snapshot: RawMempool) {
        let first = !self.sync.started;
        let RawMempool { txids, mempool_sequence: sequence } = snapshot;
        if first {
            self.out.push(MempoolDelta::Reset { sequence });
        } else if sequence < self.sync.next {
            tracing::info!(was = self.sync.next, is = sequence, "the node's mempool sequence restarted");
        }
        self.sync.started = true;
        self.sync.next = sequence;
        self.take_floor(info);
        let waits = self.waits_for_load(info.loaded);
        self.order += 1;
        let order = self.order;
        self.sync.unexplained.clear();
        self.sync.too_many = 0;
        self.reconsider();
        let held: HashSet<Txid> = txids.into_iter().collect();
        let mut found = Corrections::default();
        for txid in &held {
            if let Some(entry) = self.pool.entry_mut(txid) {
                entry.order = order;
                self.departures.remove(txid);
                continue;
            }
            if !self.arrivals.contains(txid) {
                self.expect(*txid, order, None);
                found.added += 1;
                self.sync.unexplained.insert(*txid, true);
            }
            self.arrivals.verify(txid, order);
        }
        self.arrivals.release_all();
        let gone: Vec<Txid> = self.arrivals.txids().filter(|txid| !held.contains(*txid)).copied().collect();
        for txid in gone {
            self.arrivals.remove(&txid);
            self.arrivals.release(&txid);
        }
        if !waits {
            let departed = self.pool.txids().filter(|txid| !held.contains(*txid) && !self.departures.contains(txid));
            for txid in departed.copied().collect::<Vec<_>>() {
                self.departures.insert(txid, self.clock.passed);
                found.removed += 1;
                self.sync.unexplained.insert(txid, false);
            }
        }
        self.done(if first { Corrections::default() } else { found });
    }

    fn done(&mut self, found: Corrections) {
        let sync = &mut self.sync;
        if found == Corrections::default() {
            sync.unexplained.clear();
        }
        sync.last = found;
        sync.total.added += found.added;
        sync.total.removed += found.removed;
        sync.count += 1;
        sync.gaps_repaired += std::mem::take(&mut sync.gaps_open);
        (sync.broken, sync.hint) = (false, None);
        (sync.done, sync.done_wall) = (Some(self.clock.passed), Some(self.clock.wall));
    }

    /// True while we wait for the node to load the mempool of its last run.
    fn waits_for_load(&mut self, loaded: Option<bool>) -> bool {
        self.sync.node_loaded = loaded;
        let since = self.sync.loading_since.filter(|_| loaded == Some(false));
        self.sync.loading_since = match (loaded, since) {
            (Some(false), None) => Some(self.clock.passed),
            (Some(false), since) => since,
            _ => None,
        };
        match self.sync.loading_since {
            Some(since) if self.is_over(since, self.options.load_wait) => {
                // It is what it is.
                self.sync.loading_since = None;
                false
            }
            waits => waits.is_some(),
        }
    }

    /// Retries transactions that were not available: the best of those beyond the memory limit, and those whose bytes
    /// did not arrive.
    fn reconsider(&mut self) {
        let room = self.options.max_bytes / 10 * 8;
        if self.arrivals.left_out() == 0 {
            self.full_at = None;
        } else if self.pool.bytes() < room {
            self.readmit(room);
        }
        let failed: Vec<Txid> = (self.arrivals.iter())
            .filter(|(_, arrival)| arrival.stage() == Stage::Refused && arrival.tries > 0)
            .map(|(txid, _)| *txid)
            .collect();
        for txid in failed {
            self.arrivals.set_stage(&txid, Stage::Fetch);
        }
    }

    /// Publishes the node's limits if they changed.
    pub(crate) fn take_floor(&mut self, info: &MempoolInfo) {
        self.floor_asked = Some(self.clock.passed);
        let floor = NodeFloor {
            mempool_min_fee: info.min_fee,
            min_relay_fee: info.min_relay_fee,
            max_bytes: info.max_usage,
            usage_bytes: info.usage,
        };
        if self.floor.replace(floor) != Some(floor) {
            self.out.push(MempoolDelta::NodeFloor(floor));
        }
    }
}
