//! The mempool in the process that writes the index: watched, shown to requests, told to other processes, kept on disk,
//! sampled.

use std::{
    collections::{HashMap, HashSet},
    mem,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use cairn_domain::mempool::{StressParams, sample};
use cairn_link::{Absent, MempoolSlot};
use cairn_mempool::{Coin, Coins, CoinsError, MempoolOptions, MempoolState, MempoolWatcher, Step, Tip, WatchError};
use cairn_model::{
    BlockHash, Height, MempoolDelta, MempoolSample, MempoolTx, MempoolWatch, News, Sats, SourceKind, SourceStatus, Txid,
};
use cairn_node::{Event, NodeClient, NodeStatus, Notifications, RetryPolicy, Topic};
use cairn_pipeline::{Engine, PipelineError};
use cairn_reader::{ReadError, Reader, View};
use cairn_sources::Decoded;

use crate::{exit::Failure, projector};

/// Time between two writes of the mempool to disk while no block comes.
const KEEP: Duration = Duration::from_secs(60);
/// Time between two samples.
const SAMPLE: Duration = Duration::from_secs(60);
/// Longest time from the first block that is taken off until the mempool is shown again, whole or not.
const REORGANIZATION: Duration = Duration::from_secs(3);
/// Longest pause meanwhile.
const BREATH: Duration = Duration::from_millis(20);
/// A node that has not answered for so long says nothing about its mempool any more.
const STALE: u64 = 30;

/// What a block does to the mempool.
pub(crate) struct Effects {
    txids: Vec<Txid>,
    spent: Vec<(Txid, u32)>,
    hash: BlockHash,
    time: u32,
}

impl Effects {
    /// Of a block that is about to be connected.
    pub(crate) fn of(block: &Decoded) -> Self {
        let time = block.header.get(68..72).and_then(|b| b.first_chunk::<4>()).map_or(0, |b| u32::from_le_bytes(*b));
        Effects {
            txids: block.txs.iter().map(|tx| tx.txid).collect(),
            spent: block.prevouts.iter().map(|p| (p.txid, p.vout)).collect(),
            hash: block.hash,
            time,
        }
    }
}

/// The coins of the index for the watcher.
struct IndexCoins<'v>(&'v View<'v>);

impl IndexCoins<'_> {
    fn found(coin: Option<cairn_reader::UnspentCoin>) -> Option<Coin> {
        coin.map(|c| Coin { value: c.value, script: c.script, height: c.height })
    }
}

impl Coins for IndexCoins<'_> {
    fn coin(&self, txid: &Txid, vout: u32) -> Result<Option<Coin>, CoinsError> {
        Ok(Self::found(self.0.coin_of(txid, vout)?))
    }

    fn coins(&self, outpoints: &[(Txid, u32)]) -> Result<Vec<Option<Coin>>, CoinsError> {
        Ok(self.0.coins_of_outpoints(outpoints)?.into_iter().map(Self::found).collect())
    }
}

/// The mempool, followed.
pub(crate) struct Unconfirmed {
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
    /// The samples of the time that stress looks back on.
    samples: Vec<MempoolSample>,
    sampled_at: Option<Instant>,
    status: SourceStatus,
    client: NodeClient,
    /// Version and lowest feerate of blocks; asked for again when the node comes back, perhaps as another.
    rules: Option<(u32, Option<Sats>)>,
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

fn tip_of(view: &View<'_>) -> Tip {
    let tip = view.tip();
    Tip { height: tip.height, hash: tip.hash, time: tip.time }
}

impl Unconfirmed {
    /// Begins to watch, with what an earlier run has kept.
    ///
    /// # Errors
    /// The index cannot be read.
    pub(crate) fn begin(client: NodeClient, slot: Arc<MempoolSlot>, engine: &Engine) -> Result<Self, Failure> {
        let mut watcher = MempoolWatcher::new(client.clone(), MempoolOptions::default());
        let kept = engine.kept_mempool()?;
        tracing::info!(kept = kept.len(), "the mempool is watched");
        // What the node does not have any more is taken from the disk as well, once all is known.
        let removed = kept.iter().map(|tx| tx.txid).collect();
        watcher.restore(kept);
        slot.set_absent(Absent::Loading);
        let now = now_ms() / 1000;
        let from = now.saturating_sub(StressParams::default().window_secs);
        let samples = engine.reader().view()?.mempool_samples(from, now, usize::MAX)?;
        Ok(Unconfirmed {
            watcher,
            slot,
            added: HashMap::new(),
            removed,
            unseen: None,
            kept_at: Instant::now(),
            was_whole: false,
            samples,
            sampled_at: None,
            status: SourceStatus::default(),
            client: client.with_retry(RetryPolicy::NONE).with_timeout(Duration::from_secs(5)),
            rules: None,
        })
    }

    /// The node said something.
    pub(crate) fn hear(&mut self, event: &Event) {
        self.watcher.hear(event, now_ms());
    }

    /// The index has connected a block, and its readers can see it. Requests see the deltas at once; they are returned
    /// for other processes, which must not hear of them before the block is durable.
    pub(crate) fn connected(&mut self, height: Height, block: Effects) -> Vec<MempoolDelta> {
        let tip = Tip { height, hash: block.hash, time: block.time };
        let deltas = self.watcher.connected(tip, block.txids, block.spent, now_ms());
        if let Some((_, unseen)) = &mut self.unseen {
            unseen.extend(deltas);
            return Vec::new();
        }
        self.show(&deltas);
        deltas
    }

    /// The index has taken blocks off. What was in them is confirmed by other blocks soon, or unconfirmed as soon as the
    /// node's messages about it are taken in: until then the mempool stays at the old tip, and requests wait.
    ///
    /// # Errors
    /// The index cannot be read.
    pub(crate) fn disconnected(&mut self, reader: &Reader) -> Result<(), Failure> {
        let deltas = self.watcher.disconnected(tip_of(&reader.view()?), now_ms());
        self.unseen.get_or_insert_with(|| (Instant::now(), Vec::new())).1.extend(deltas);
        Ok(())
    }

    /// Works for a moment. Returns what other processes are to be told, and when to come again.
    ///
    /// # Errors
    /// The index cannot be read.
    pub(crate) fn step(&mut self, reader: &Reader) -> Result<(Vec<MempoolDelta>, Duration), Failure> {
        let view = match reader.view() {
            Err(ReadError::Empty) => return Ok((Vec::new(), SAMPLE)),
            other => other?,
        };
        match self.watcher.step(&IndexCoins(&view), tip_of(&view), now_ms()) {
            Ok(Step { mut deltas, again_in }) => {
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
                self.show(&deltas);
                Ok((deltas, again_in))
            }
            Err(WatchError::Coins(error)) => match error.downcast::<ReadError>() {
                Ok(error) => Err(PipelineError::from(*error).into()),
                Err(error) => Err(Failure::new(crate::exit::Exit::Other, error.to_string())),
            },
        }
    }

    fn show(&mut self, deltas: &[MempoolDelta]) {
        if deltas.is_empty() {
            return;
        }
        self.slot.apply(deltas);
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
    pub(crate) fn keep(&mut self, engine: &Engine) -> Result<(), Failure> {
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
    pub(crate) fn tick(&mut self, engine: &Engine) -> Result<bool, Failure> {
        let mut wrote = false;
        if self.sampled_at.is_none_or(|at| at.elapsed() >= SAMPLE)
            && let (Some(projection), Some(stats)) = (self.slot.projection(), self.slot.stats())
        {
            self.sampled_at = Some(Instant::now());
            let (now, params) = (now_ms() / 1000, StressParams::default());
            let start = now.saturating_sub(params.window_secs);
            let old = self.samples.partition_point(|s| s.time_unix < start);
            self.samples.drain(..old);
            let taken = sample(&projection, &stats, &self.samples, now, &params);
            engine.put_sample(&taken)?;
            self.samples.push(taken);
            wrote = true;
        }
        if self.kept_at.elapsed() >= KEEP {
            self.keep(engine)?;
            wrote = true;
        }
        Ok(wrote)
    }

    /// What is known of node and mempool; `None` if nothing changed that anybody has to hear of at once.
    pub(crate) fn status(&mut self, node: &NodeStatus) -> Option<SourceStatus> {
        let now = now_ms() / 1000;
        let zmq = node.notifications == Notifications::Zmq;
        let topics: Vec<Topic> = node.topics.iter().filter(|t| t.connected).map(|t| t.topic).collect();
        self.watcher.listening(&topics);
        let pool = self.watcher.status();
        self.was_whole |= matches!(pool.state, MempoolState::Synced | MempoolState::Polling);
        // The look at the node's tip and the watcher of its mempool ask it each in their own time: if one got an answer
        // lately the node is there.
        let old = |at: Option<u64>| at.is_none_or(|at| now.saturating_sub(at) > STALE);
        let silent = !node.reachable && old(node.last_answer) && old(pool.last_reconciled);
        let (mempool, missing) = match pool.state {
            _ if silent => (MempoolWatch::Stale, pool.pending),
            MempoolState::Off => (MempoolWatch::Loading, 0),
            MempoolState::Loading { known, total } => (MempoolWatch::Loading, total.saturating_sub(known)),
            MempoolState::Synced | MempoolState::Polling => (MempoolWatch::Synced, pool.pending),
        };
        let rules = self.rules(node.reachable);
        let status = SourceStatus {
            kind: SourceKind::Node,
            node_version: rules.map(|(version, _)| version),
            block_min_fee: rules.and_then(|(_, fee)| fee),
            at: now,
            reachable: node.reachable,
            last_answer: node.last_answer,
            blocks: node.blocks,
            headers: node.headers,
            news: if zmq { News::Zmq } else { News::Polling },
            last_message: node.last_message,
            gaps_seen: node.gaps_seen,
            gaps_repaired: node.gaps_seen.min(node.gaps_repaired),
            tips_found_by_polling: node.tips_found_by_polling,
            mempool,
            mempool_known: pool.transactions,
            mempool_missing: missing,
            mempool_reconciled: pool.last_reconciled,
            mempool_corrections: pool.corrections.added + pool.corrections.removed,
            mempool_sequence: pool.node_sequence,
        };
        if status.mempool == MempoolWatch::Stale && self.status.mempool != MempoolWatch::Stale {
            tracing::warn!("the node is silent: unconfirmed transactions are not shown any more");
            self.slot.set_absent(Absent::Lost);
        } else if status.mempool != MempoolWatch::Stale && self.status.mempool == MempoolWatch::Stale {
            self.slot.found_again();
        }
        let urgent = (status.mempool, status.reachable, status.news, status.kind)
            != (self.status.mempool, self.status.reachable, self.status.news, self.status.kind);
        if !urgent && now < self.status.at + 2 {
            return None;
        }
        self.slot.set_template(projector::template(&status));
        self.status = status.clone();
        Some(status)
    }

    /// What the node says of itself and of the blocks that it would make.
    fn rules(&mut self, reachable: bool) -> Option<(u32, Option<Sats>)> {
        if !reachable {
            self.rules = None;
        } else if self.rules.is_none() {
            // A node that does not say how it fills its blocks is believed to do it as its version does by default.
            let mining = || self.client.mining_info().ok().and_then(|mining| mining.block_min_fee);
            self.rules = self.client.network_info().ok().map(|info| (info.version, mining()));
        }
        self.rules
    }
}
