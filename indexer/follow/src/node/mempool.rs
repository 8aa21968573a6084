//! The node's mempool in the process that writes the index: watched, kept on disk, sampled. Whoever reads the index is
//! told of the deltas that come out of here.

use std::{
    collections::{HashMap, HashSet},
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

use cairn_clock::now_ms;
use cairn_link::{MempoolSlot, Publish};
use cairn_mempool::{IndexTip, MempoolOptions, MempoolState, MempoolUpdate, MempoolWatcher, WatchError};
use cairn_model::{Height, MempoolDelta, MempoolTx, SourceStatus, Txid};
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

/// Time between two writes of the mempool to disk while no block comes.
const KEEP: Duration = Duration::from_secs(60);
/// Longest time from the first block that is taken off until the mempool is shown again, whole or not.
const REORGANIZATION: Duration = Duration::from_secs(3);
/// Longest pause meanwhile.
const BREATH: Duration = Duration::from_millis(20);

/// The mempool, followed.
pub(super) struct WatchedMempool {
    watcher: MempoolWatcher,
    slot: Arc<MempoolSlot>,
    /// What changed since the mempool was last written to disk.
    added: HashMap<Txid, Arc<MempoolTx>>,
    removed: HashSet<Txid>,
    /// What nobody has seen yet, while a reorganization goes on.
    unseen: Option<(Instant, Vec<MempoolDelta>)>,
    kept_at: Instant,
    /// Readers had all of it once.
    was_whole: bool,
    samples: Samples,
    reports: StatusReports,
}

fn tip_of(view: &View<'_>) -> IndexTip {
    let tip = view.tip();
    IndexTip { height: tip.height, hash: tip.hash, time: tip.time }
}

impl WatchedMempool {
    /// Begins to watch, with what an earlier run has kept.
    ///
    /// # Errors
    /// The index cannot be read.
    pub(super) fn begin(client: &NodeClient, index: &OpenIndex) -> Result<Self, FollowError> {
        let mut watcher = MempoolWatcher::new(client.clone(), MempoolOptions::default());
        let kept = index.engine.kept_mempool()?;
        tracing::info!(kept = kept.len(), "watching the mempool");
        // What the node does not have any more is taken from the disk as well, once all is known.
        let removed = kept.iter().map(|tx| tx.txid).collect();
        watcher.restore(kept);
        // From here on it is being loaded.
        index.readers.publish_mempool(&[MempoolDelta::Reset { sequence: 0 }]);
        Ok(WatchedMempool {
            watcher,
            slot: Arc::clone(&index.mempool),
            added: HashMap::new(),
            removed,
            unseen: None,
            kept_at: Instant::now(),
            was_whole: false,
            samples: Samples::begin(&index.engine)?,
            reports: StatusReports::new(client),
        })
    }

    /// The node said something.
    pub(super) fn hear(&mut self, event: &NodeEvent) {
        self.watcher.hear(event, now_ms());
    }

    /// The index has connected a block, and its readers can see it. Returns what they are to be told of the mempool.
    pub(super) fn connected(&mut self, height: Height, block: BlockEffects) -> Vec<MempoolDelta> {
        let deltas = self.watcher.connected(block.tip(height), block.txids, block.spent, now_ms());
        if let Some((_, unseen)) = &mut self.unseen {
            unseen.extend(deltas);
            return Vec::new();
        }
        self.note(&deltas);
        deltas
    }

    /// The index has taken blocks off. What was in them is confirmed by other blocks soon, or unconfirmed as soon as
    /// the node's messages about it are taken in: until then the mempool stays at the old tip, and requests wait.
    ///
    /// # Errors
    /// The index cannot be read.
    pub(super) fn disconnected(&mut self, reader: &Reader) -> Result<(), FollowError> {
        let deltas = self.watcher.disconnected(tip_of(&reader.view()?), now_ms());
        self.unseen.get_or_insert_with(|| (Instant::now(), Vec::new())).1.extend(deltas);
        Ok(())
    }

    /// Works for a moment. Returns what readers are to be told, and when to come again.
    ///
    /// # Errors
    /// The index cannot be read.
    pub(super) fn step(&mut self, reader: &Reader) -> Result<(Vec<MempoolDelta>, Duration), FollowError> {
        let view = match reader.view() {
            Err(ReadError::Empty) => return Ok((Vec::new(), SAMPLE)),
            other => other?,
        };
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
        if let Some((since, mut unseen)) = self.unseen.take() {
            unseen.append(&mut deltas);
            // The end of a reorganization is shown together with what the node has told about it meanwhile.
            let whole = unseen.iter().any(|delta| matches!(delta, MempoolDelta::Sequence(_)));
            if !whole && since.elapsed() < REORGANIZATION {
                self.unseen = Some((since, unseen));
                return Ok((Vec::new(), again_in.min(BREATH)));
            }
            deltas = unseen;
        }
        self.note(&deltas);
        Ok((deltas, again_in))
    }

    /// Notes what is to be written to disk.
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

    /// Writes what changed, to become durable with the block that is settled next. Until the mempool was whole for the
    /// first time, nothing of what an earlier run has kept is removed: the node may still name it.
    ///
    /// # Errors
    /// The index cannot be written.
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

    /// Keeps and samples when it is time to. Returns whether there is something to settle.
    ///
    /// # Errors
    /// The index cannot be written.
    pub(super) fn tick(&mut self, engine: &Engine) -> Result<bool, FollowError> {
        let mut wrote = self.samples.take(&self.slot, engine)?;
        if self.kept_at.elapsed() >= KEEP {
            self.keep(engine)?;
            wrote = true;
        }
        Ok(wrote)
    }

    /// What is known of node and mempool; `None` if nothing changed that anybody has to hear of at once.
    pub(super) fn status(&mut self, index: &OpenIndex, node: &NodeStatus) -> Option<SourceStatus> {
        let topics: Vec<Topic> = node.topics.iter().filter(|t| t.connected).map(|t| t.topic).collect();
        self.watcher.listening(&topics);
        let mempool = self.watcher.status();
        index.count(|figures| figures.mempool(&mempool));
        self.was_whole |= matches!(mempool.state, MempoolState::Synced | MempoolState::Polling);
        self.reports.next(node, &mempool)
    }
}
