//! The node's mempool in the process that writes the index: watched, stored on disk, sampled. Its deltas are published
//! to the readers of the index.

use std::{
    collections::{HashMap, HashSet},
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

use cairn_clock::{now_ms, now_secs};
use cairn_link::{MempoolSlot, Publish};
use cairn_mempool::{IndexTip, MempoolState, MempoolUpdate, MempoolWatcher, WatchError};
use cairn_model::{Height, MempoolDelta, MempoolTx, Part, SourceStatus, Txid};
use cairn_node::{NodeClient, NodeEvent, NodeStatus, Topic};
use cairn_pipeline::Engine;
use cairn_reader::{ReadError, Reader, View};

use super::{
    coins::IndexCoins,
    effects::BlockEffects,
    samples::{SAMPLE, Samples},
    status::StatusReports,
};
use crate::{FollowError, OpenIndex};

/// Interval of writing the mempool to disk while no block arrives.
const KEEP: Duration = Duration::from_secs(60);
/// Maximum time from reaching the tip after a reorganization until the mempool is published again, complete or not.
/// Then the status says that it is incomplete. Answers return within half a second.
const REORGANIZATION: Duration = Duration::from_millis(400);
/// Maximum pause during that time.
const BREATH: Duration = Duration::from_millis(20);

pub(super) struct WatchedMempool {
    watcher: MempoolWatcher,
    slot: Arc<MempoolSlot>,
    /// Changes since the mempool was last written to disk.
    added: HashMap<Txid, Arc<MempoolTx>>,
    removed: HashSet<Txid>,
    held: Option<HeldDeltas>,
    kept_at: Instant,
    /// Readers had the complete mempool at least once.
    was_whole: bool,
    samples: Samples,
    reports: StatusReports,
}

/// Deltas that are not published yet during a reorganization.
#[derive(Default)]
struct HeldDeltas {
    deltas: Vec<MempoolDelta>,
    /// When the first step at the new tip began. The status that the mempool is incomplete is published after it.
    at_tip: Option<Instant>,
}

fn tip_of(view: &View<'_>) -> IndexTip {
    let tip = view.tip();
    IndexTip { height: tip.height, hash: tip.hash, time: tip.time }
}

impl WatchedMempool {
    /// Starts to watch, with the mempool that an earlier run stored.
    pub(super) fn begin(client: &NodeClient, index: &OpenIndex) -> Result<Self, FollowError> {
        let mut watcher = MempoolWatcher::new(client.clone(), index.watching.clone());
        let kept = index.engine.kept_mempool()?;
        tracing::info!(kept = kept.len(), "watching the mempool");
        // Transactions that the node no longer has are removed from disk once the mempool is complete.
        let removed = kept.iter().map(|tx| tx.txid).collect();
        watcher.restore(kept);
        // From here on, the mempool counts as loading.
        index.readers.publish_mempool(&[MempoolDelta::Reset { sequence: 0 }]);
        Ok(WatchedMempool {
            watcher,
            slot: Arc::clone(&index.mempool),
            added: HashMap::new(),
            removed,
            held: None,
            kept_at: Instant::now(),
            was_whole: false,
            samples: Samples::begin(&index.engine)?,
            reports: StatusReports::new(client),
        })
    }

    pub(super) fn hear(&mut self, event: &NodeEvent) {
        self.watcher.hear(event, now_ms());
    }

    /// The index has connected a block, and its readers can see it. Returns the deltas to publish.
    pub(super) fn connected(&mut self, height: Height, block: BlockEffects) -> Vec<MempoolDelta> {
        let deltas = self.watcher.connected(block.tip(height), block.txids, block.spent, now_ms());
        if let Some(held) = &mut self.held {
            held.deltas.extend(deltas);
            return Vec::new();
        }
        self.note(&deltas);
        deltas
    }

    /// The index has disconnected blocks. Their transactions are soon confirmed by other blocks, or unconfirmed once
    /// the node's messages are processed. Until then the mempool stays at the old tip, and requests wait.
    pub(super) fn disconnected(&mut self, reader: &Reader) -> Result<(), FollowError> {
        let deltas = self.watcher.disconnected(tip_of(&reader.view()?), now_ms());
        let held = self.held.get_or_insert_default();
        held.at_tip = None;
        held.deltas.extend(deltas);
        Ok(())
    }

    /// Does a bounded amount of work. Returns the deltas to publish, and when to call again.
    pub(super) fn step(&mut self, reader: &Reader) -> Result<(Vec<MempoolDelta>, Duration), FollowError> {
        let view = match reader.view() {
            Err(ReadError::Empty) => return Ok((Vec::new(), SAMPLE)),
            other => other?,
        };
        let began = Instant::now();
        let MempoolUpdate { mut deltas, again_in } =
            match self.watcher.step(&IndexCoins(&view), tip_of(&view), now_ms()) {
                Ok(step) => step,
                Err(WatchError::Coins(error)) => {
                    return Err(match error.downcast::<ReadError>() {
                        Ok(error) => FollowError::Read(*error),
                        Err(error) => FollowError::Coins(error),
                    });
                }
            };
        if let Some(mut held) = self.held.take() {
            held.deltas.append(&mut deltas);
            // The end of a reorganization is published together with the node's messages about it.
            let whole = held.deltas.iter().any(|delta| matches!(delta, MempoolDelta::Sequence(_)));
            let overdue = held.at_tip.is_some_and(|since| since.elapsed() >= REORGANIZATION);
            held.at_tip.get_or_insert(began);
            if !whole && !overdue {
                self.held = Some(held);
                return Ok((Vec::new(), again_in.min(BREATH)));
            }
            deltas = held.deltas;
        }
        self.note(&deltas);
        Ok((deltas, again_in))
    }

    /// Notes changes to write to disk.
    fn note(&mut self, deltas: &[MempoolDelta]) {
        for delta in deltas {
            match delta {
                MempoolDelta::Add(tx) => {
                    self.removed.remove(&tx.txid);
                    self.added.insert(tx.txid, Arc::clone(tx));
                }
                MempoolDelta::Remove { txid, .. } => {
                    self.added.remove(txid);
                    self.removed.insert(*txid);
                }
                MempoolDelta::Reset { .. }
                | MempoolDelta::Block { .. }
                | MempoolDelta::Sequence(_)
                | MempoolDelta::NodeFloor(_) => {}
            }
        }
    }

    /// Writes the changes, which become durable with the next settled block. Until the mempool was complete for the
    /// first time, nothing that an earlier run stored is removed: the node may still list it.
    pub(super) fn keep(&mut self, engine: &Engine) -> Result<(), FollowError> {
        self.kept_at = Instant::now();
        let added: Vec<Arc<MempoolTx>> = mem::take(&mut self.added).into_values().collect();
        let removed: Vec<Txid> =
            if self.was_whole { mem::take(&mut self.removed).into_iter().collect() } else { Vec::new() };
        if added.is_empty() && removed.is_empty() {
            return Ok(());
        }
        Ok(engine.keep_mempool(&added, &removed)?)
    }

    /// Writes changes and samples when they are due. Returns true if there is something to settle.
    pub(super) fn tick(&mut self, engine: &Engine) -> Result<bool, FollowError> {
        let mut wrote = self.samples.take(&self.slot, engine)?;
        if self.kept_at.elapsed() >= KEEP {
            self.keep(engine)?;
            wrote = true;
        }
        Ok(wrote)
    }

    /// State of node and mempool; `None` if there is no change that must be published at once.
    pub(super) fn status(&mut self, index: &OpenIndex, node: &NodeStatus) -> Option<SourceStatus> {
        let topics: Vec<Topic> = node.topics.iter().filter(|t| t.connected).map(|t| t.topic).collect();
        self.watcher.listening(&topics);
        let mempool = self.watcher.status();
        index.count(|figures| figures.mempool(&mempool));
        self.was_whole |= matches!(mempool.state, MempoolState::Synced | MempoolState::Polling);
        match &mempool.error {
            Some(error) => index.troubles.set(Part::Mempool, error, "asks again every few seconds"),
            None => index.troubles.clear(Part::Mempool),
        }
        let ails = index.troubles.since(Part::Node).map_or(0, |since| now_secs().saturating_sub(since));
        self.reports.next(node, &mempool, ails)
    }
}
