//! The watch: one thread that compares index and mempool with the state that it saw last, and sends the differences to
//! the watchers. It runs while there are any.
//!
//! Each look makes a message for each new block, and one for the rest. Watchers that track something in it come first.

use std::{
    collections::HashMap,
    rc::Rc,
    time::{Duration, Instant},
};

use axum::extract::ws::Utf8Bytes;
use cairn_chain::{Chain, Pinned};
use cairn_domain::mempool::Mempool;
use cairn_http::{ApiError, Limits, Work};
use cairn_model::{BlockHash, Height, Txid};

use crate::{
    watch_changes::{self, MempoolChanges, Targets, Touched},
    watch_data,
    watch_message::Wanted,
    watch_news::{self, TxNews},
    watchers::{Closing, Watchers},
};

/// Longest time between two looks.
const LOOK: Duration = Duration::from_millis(250);
/// Shortest time between two messages about the mempool as a whole, and about positions in it.
const PACE: Duration = Duration::from_secs(2);
/// Most new blocks whose transactions are read; after more, watchers that track scripts are closed.
const MAX_BLOCKS: usize = 12;
/// Blocks whose hashes are kept to find the fork of a reorganization.
const KEPT_BLOCKS: u32 = 100;

/// The state that the last look has seen.
struct Seen {
    /// The newest blocks, ascending; the last one is the tip.
    blocks: Vec<(Height, BlockHash)>,
    /// `None` if it could not be read.
    mempool: Option<Mempool>,
    /// The members about the mempool as a whole.
    mempool_blocks: String,
    stats: Vec<String>,
    /// When they were read.
    paced: Instant,
}

/// A step of the changes: a new block, or the rest.
struct Step {
    /// The block.
    hash: Option<BlockHash>,
    /// The member for all who want blocks.
    blocks: Option<String>,
    mempool_blocks: Option<String>,
    stats: Vec<String>,
    touched: Touched,
}

impl Step {
    /// The members for those who want these data.
    fn shared(&self, wanted: Wanted) -> Vec<&str> {
        let mut members: Vec<&str> = Vec::new();
        members.extend(self.blocks.as_deref().filter(|_| wanted.blocks));
        members.extend(self.mempool_blocks.as_deref().filter(|_| wanted.mempool_blocks));
        members.extend(self.stats.iter().map(String::as_str).filter(|_| wanted.stats));
        members
    }
}

/// The result of a look.
struct Found {
    seen: Seen,
    steps: Vec<Step>,
    txs: TxNews,
    /// True if changes of tracked scripts may be missing.
    has_gap: bool,
    /// True if the mempool was left out.
    is_partial: bool,
}

/// Closes the watchers if the watch ends by a panic: the next one starts another.
struct Failing<'w>(&'w Watchers, bool);

impl Drop for Failing<'_> {
    fn drop(&mut self) {
        if self.1 {
            self.0.fail();
        }
    }
}

/// Looks until nobody watches. Blocks the thread.
pub(crate) fn watch(watchers: &Watchers, chain: &Chain) {
    let mut failing = Failing(watchers, true);
    let mut seen = None;
    while !watchers.end_if_idle() {
        let slot = chain.index().mempool();
        let mark = slot.mark();
        match look(watchers, chain, seen.as_ref()) {
            Ok(now) => {
                seen = Some(now);
                watchers.set_ready();
            }
            // The next look compares with the same state.
            Err(error) => tracing::debug!(error.detail, "index and mempool cannot be read for watchers"),
        }
        slot.wait(mark, LOOK);
    }
    failing.1 = false;
}

/// One look: finds what changed since the last one, and sends it.
fn look(watchers: &Watchers, chain: &Chain, seen: Option<&Seen>) -> Result<Seen, ApiError> {
    let is_due = seen.is_none_or(|seen| seen.paced.elapsed() >= PACE);
    let has_new_txs = watchers.take_new_txs();
    let txids = watchers.txids();
    let targets = Targets::new(watchers.scripts(), &txids);
    let of = Looking { seen, is_due, has_new_txs, txids: &txids, targets: &targets };
    let mut found = read(chain, |at| of.find(at, Scope::All));
    if let Err(error) = &found {
        tracing::debug!(error.detail, "not all can be read for watchers");
        found = read(chain, |at| of.find(at, Scope::Lenient));
    }
    // The first state that is seen has the mempool: what comes later is compared with it.
    if found.is_err() && seen.is_some() {
        found = read(chain, |at| of.find(at, Scope::Chain));
    }
    let Found { seen, steps, txs, has_gap, is_partial } = found.inspect_err(|_| watchers.set_new_txs())?;
    send(watchers, &steps, &txs, has_gap);
    if is_partial {
        watchers.set_new_txs();
    }
    Ok(seen)
}

/// The part of the changes that a look reads. The next one is tried if reading fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    All,
    /// Transactions without their bytes are written in short.
    Lenient,
    /// Blocks alone, while the mempool is at another tip. The mempool is compared later.
    Chain,
}

fn read<T>(chain: &Chain, read: impl FnMut(&Pinned<'_>) -> Result<T, ApiError>) -> Result<T, ApiError> {
    let work = Rc::new(Work::within(Limits::NONE));
    work.begin();
    chain.read(&work, read)
}

/// The input of a look.
struct Looking<'l> {
    seen: Option<&'l Seen>,
    /// True if the mempool as a whole may be sent again.
    is_due: bool,
    has_new_txs: bool,
    txids: &'l [Txid],
    targets: &'l Targets,
}

/// How the chain went on since the last look.
enum Progress {
    /// New blocks on top of the last tip.
    Grown(Vec<Height>),
    /// Other blocks above a fork, or none.
    Forked(Vec<Height>),
    /// More new blocks than are read, or an older fork than is known.
    Jumped,
}

impl Looking<'_> {
    fn find(&self, at: &Pinned<'_>, scope: Scope) -> Result<Found, ApiError> {
        let (is_lenient, is_partial) = (scope != Scope::All, scope == Scope::Chain);
        let mempool = if !is_partial && watch_data::is_readable(at)? { Some(at.mempool()?) } else { None };
        let Some(seen) = self.seen else {
            let blocks = newest(at)?;
            let seen = self.remember(at, blocks, mempool)?;
            return Ok(Found { seen, steps: Vec::new(), txs: TxNews::default(), has_gap: false, is_partial });
        };
        let progress = progress(at, seen);
        let heights: &[Height] = match &progress {
            Progress::Grown(heights) | Progress::Forked(heights) => heights,
            Progress::Jumped => &[],
        };
        // A mempool that is read again has nothing to be compared with.
        let mempools = seen.mempool.as_ref().zip(mempool);
        let has_gap = matches!(progress, Progress::Jumped) || seen.mempool.is_none() && mempool.is_some();
        let (new_blocks, changes) = watch_changes::find(at, self.targets, heights, mempools, is_lenient)?;
        let mut steps = Vec::new();
        for block in new_blocks {
            let blocks = match progress {
                Progress::Grown(_) => Some(watch_data::block(at, block.height)?),
                _ => None,
            };
            let (hash, touched) = (Some(block.hash), block.touched);
            steps.push(Step { hash, blocks, mempool_blocks: None, stats: Vec::new(), touched });
        }
        if !matches!(progress, Progress::Grown(_)) {
            // The list replaces the one that clients have.
            let blocks = Some(watch_data::blocks(at)?);
            let (stats, touched) = (Vec::new(), Touched::new());
            steps.insert(0, Step { hash: None, blocks, mempool_blocks: None, stats, touched });
        }
        let has_moved = !steps.is_empty();
        let MempoolChanges { touched, came, spends, has_tracked_txs } = changes;
        let with_chain = has_moved || self.has_new_txs || has_tracked_txs;
        let states = if !is_partial && (with_chain || self.is_due) {
            watch_data::tx_states(at, self.txids, with_chain)?.into_iter().collect()
        } else {
            HashMap::new()
        };
        let blocks = if has_moved { newest(at)? } else { seen.blocks.clone() };
        let mut now = self.remember(at, blocks, mempool)?;
        if is_partial {
            now.mempool = seen.mempool.clone();
        }
        let changed = |is_changed: bool| is_changed && mempool.is_some();
        let mempool_blocks = changed(now.mempool_blocks != seen.mempool_blocks).then(|| now.mempool_blocks.clone());
        let stats = if changed(now.stats != seen.stats) { now.stats.clone() } else { Vec::new() };
        steps.push(Step { hash: None, blocks: None, mempool_blocks, stats, touched });
        Ok(Found { seen: now, steps, txs: TxNews { states, came, spends, is_due: self.is_due }, has_gap, is_partial })
    }

    /// The state that this look has seen.
    fn remember(
        &self,
        at: &Pinned<'_>,
        blocks: Vec<(Height, BlockHash)>,
        mempool: Option<&Mempool>,
    ) -> Result<Seen, ApiError> {
        let mempool = mempool.cloned();
        Ok(match self.seen {
            Some(Seen { mempool_blocks, stats, paced, .. }) if !self.is_due || mempool.is_none() => {
                Seen { blocks, mempool, mempool_blocks: mempool_blocks.clone(), stats: stats.clone(), paced: *paced }
            }
            _ if mempool.is_none() => {
                Seen { blocks, mempool, mempool_blocks: String::new(), stats: Vec::new(), paced: Instant::now() }
            }
            _ => Seen {
                blocks,
                mempool,
                mempool_blocks: watch_data::mempool_blocks(at)?,
                stats: watch_data::stats(at)?,
                paced: Instant::now(),
            },
        })
    }
}

/// The newest blocks, ascending.
fn newest(at: &Pinned<'_>) -> Result<Vec<(Height, BlockHash)>, ApiError> {
    let tip = at.view.tip().height;
    let heights: Vec<Height> = ((tip + 1).saturating_sub(KEPT_BLOCKS)..=tip).collect();
    let rows = at.view.headers(&heights)?;
    heights.into_iter().zip(rows).map(|(height, row)| Ok((height, row.ok_or_else(ApiError::internal)?.hash))).collect()
}

fn progress(at: &Pinned<'_>, seen: &Seen) -> Progress {
    let (tip, chain) = (at.view.tip().height, at.view.chain());
    let Some((fork, _)) = seen.blocks.iter().rev().find(|(height, hash)| chain.is(*height, hash)) else {
        return Progress::Jumped;
    };
    let heights: Vec<Height> = (fork + 1..=tip).collect();
    let is_grown = seen.blocks.last().is_some_and(|(height, _)| height == fork);
    match heights.len() {
        count if count > MAX_BLOCKS => Progress::Jumped,
        _ if is_grown => Progress::Grown(heights),
        _ => Progress::Forked(heights),
    }
}

/// Sends the steps: in each, watchers that track something in it come first.
fn send(watchers: &Watchers, steps: &[Step], txs: &TxNews, has_gap: bool) {
    let connections = watchers.connections();
    for (number, step) in steps.iter().enumerate() {
        let is_last = number + 1 == steps.len();
        let mut others = Vec::new();
        for outbox in &connections {
            outbox.with(|connection| {
                if has_gap && connection.tracked.has_scripts() {
                    return connection.close(Closing::Gap);
                }
                let mut own = watch_news::of_scripts(&connection.tracked, &step.touched);
                own.extend(watch_news::of_tx(&mut connection.tracked, txs, step.hash, is_last));
                if own.is_empty() {
                    others.push(outbox);
                    return;
                }
                let mut members = step.shared(connection.wanted);
                members.extend(own.iter().map(String::as_str));
                connection.push(watch_data::message(&members));
            });
        }
        let mut shared: HashMap<Wanted, Utf8Bytes> = HashMap::new();
        for outbox in others {
            outbox.with(|connection| {
                let wanted = connection.wanted;
                if step.shared(wanted).is_empty() {
                    return;
                }
                let message = shared.entry(wanted).or_insert_with(|| watch_data::message(&step.shared(wanted)));
                connection.push(message.clone());
            });
        }
    }
}
