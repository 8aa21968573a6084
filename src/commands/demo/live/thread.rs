//! The thread that carries out orders and adds blocks.

use std::{
    cell::Cell,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use cairn_anchoring::{Ledger, SqlLedger};
use cairn_clock::{now_ms, now_secs};
use cairn_demo::{Parent, Unconfirmed, script_of};
use cairn_link::{IndexSource, Publish};
use cairn_model::{CancelToken, MempoolDelta, Network, RemoveReason, SourceStatus, Txid};
use cairn_state::{BatchState, StateUrl};

use super::{
    Live, Waiting,
    orders::{FEERATE, orders, remove},
};
use crate::{
    commands::{
        db,
        demo::{errors::generator, folder::DemoFolder},
    },
    exit::{Exit, Failure},
    progress::Screen,
};

/// Least time between two blocks.
const BLOCK_PAUSE: Duration = Duration::from_secs(10);
/// Interval at which it looks for something to do.
const GLANCE: Duration = Duration::from_millis(250);
/// Headers whose median time a block must be after.
const MEDIAN_SPAN: u32 = 11;
/// Where the time is in a header.
const TIME: std::ops::Range<usize> = 68..72;

/// Adds blocks to the demo chain.
pub(crate) struct Miner<'m> {
    live: Arc<Live>,
    folder: &'m DemoFolder,
    orders: PathBuf,
    ledger: SqlLedger,
    screen: &'m Screen,
    /// True if the files may have a block that is not indexed.
    is_behind: Cell<bool>,
}

impl<'m> Miner<'m> {
    /// Creates a miner for the chain in this folder. The batches of timestamps are in the database at `url`.
    pub(crate) fn new(
        live: Arc<Live>,
        folder: &'m DemoFolder,
        url: &StateUrl,
        screen: &'m Screen,
    ) -> Result<Self, Failure> {
        let orders = folder.payments()?.ok_or_else(|| Failure::new(Exit::Other, "the demo's folder is gone"))?;
        let ledger = SqlLedger::new(url, Network::Regtest.name())?;
        Ok(Miner { live, folder, orders, ledger, screen, is_behind: Cell::new(false) })
    }

    /// Works until cancelled.
    pub(crate) fn run(&self, cancel: &CancelToken) {
        let (mut last, mut failing): (Option<Instant>, bool) = (None, false);
        while !cancel.wait(GLANCE) {
            let is_due = last.is_none_or(|at| at.elapsed() >= BLOCK_PAUSE);
            let worked = self.carry_out().and_then(|()| match is_due && self.is_needed()? {
                true => self.add_block(cancel).map(|()| true),
                false => Ok(false),
            });
            match worked {
                Ok(is_added) => {
                    failing &= !is_added;
                    last = if is_added { Some(Instant::now()) } else { last };
                }
                Err(_) if cancel.is_cancelled() => break,
                Err(failure) => {
                    if !failing {
                        tracing::warn!(%failure, "no block can be added at present; it is tried again");
                    }
                    (failing, last) = (true, Some(Instant::now()));
                }
            }
        }
        self.ledger.close();
    }

    /// Makes the transactions of new orders.
    fn carry_out(&self) -> Result<(), Failure> {
        for (path, mut order) in orders(&self.orders)? {
            if order.error.is_some() || self.live.waiting.lock().iter().any(|of| of.order.as_ref() == Some(&path)) {
                continue;
            }
            // An earlier process may have ended between the block and the removal of the order.
            if let Some(made) = order.txid.as_ref().and_then(|txid| txid.parse::<Txid>().ok())
                && self.live.view(|view| Ok(view.transactions().by_txid(&made)?.is_some()))?
            {
                remove(&path);
                continue;
            }
            let paid = match script_of(&order.address) {
                Some(script) => self.live.pay(&script, order.sats, FEERATE, path.clone()),
                None => Err(Failure::usage(format!("{} is not a regtest address", order.address))),
            };
            match paid {
                Ok(Some(txid)) => order.txid = Some(txid.to_string()),
                Ok(None) => order.error = Some("the demo's wallet has too few coins".to_owned()),
                Err(failure) => order.error = Some(failure.to_string()),
            }
            order.write(&path)?;
        }
        Ok(())
    }

    /// Returns true if a transaction waits for a block, or a batch of timestamps for more confirmations.
    fn is_needed(&self) -> Result<bool, Failure> {
        if !self.live.waiting.lock().is_empty() {
            return Ok(true);
        }
        let open = self.ledger.open_batches().map_err(|error| Failure::new(Exit::Other, error.to_string()))?;
        Ok(open.iter().any(|batch| batch.state == BatchState::Confirmed))
    }

    /// Mines, indexes and publishes a block. If blocks of the files are not indexed, it indexes and publishes these.
    fn add_block(&self, cancel: &CancelToken) -> Result<(), Failure> {
        let height = self.live.view(|view| Ok(view.tip().height))?;
        // On top of a block that is not indexed, the same height would get a second one.
        if !self.is_behind.replace(true) {
            let parent = self.parent()?;
            let txs: Vec<Unconfirmed> = self.live.waiting.lock().iter().map(|waiting| waiting.made.clone()).collect();
            let now = u32::try_from(now_secs()).unwrap_or(u32::MAX);
            let time = now.max(parent.median_time.saturating_add(1));
            self.folder.append(&self.live.wallet.mine(&parent, time, &txs).map_err(generator)?)?;
        }
        if self.folder.follow(self.screen, cancel).map_err(|failure| self.folder.spoiled(failure))? != Exit::Done {
            return Ok(());
        }
        self.live.slot.set_reader(Arc::new(db::open(self.folder.dir())?));
        if self.live.view(|view| Ok(view.tip().height))? <= height {
            let failure = Failure::new(Exit::Index, "the block files lack a block that the index has");
            return Err(self.folder.spoiled(failure));
        }
        self.is_behind.set(false);
        self.publish()
    }

    fn parent(&self) -> Result<Parent, Failure> {
        self.live.view(|view| {
            let tip = *view.tip();
            let first = (tip.height + 1).saturating_sub(MEDIAN_SPAN);
            let heights: Vec<u32> = (first..=tip.height).collect();
            let headers = view.headers(&heights)?;
            let time = |header: &[u8; 80]| header[TIME].try_into().map(u32::from_le_bytes).unwrap_or_default();
            let mut times: Vec<u32> = headers.iter().flatten().map(|row| time(&row.header)).collect();
            times.sort_unstable();
            let median_time = times.get(times.len() / 2).copied().unwrap_or_default();
            Ok(Parent { height: tip.height, hash: tip.hash.0, median_time })
        })
    }

    /// Brings the mempool and the status of the source to the tip of the index.
    fn publish(&self) -> Result<(), Failure> {
        let waiting: Vec<Waiting> = self.live.waiting.lock().clone();
        let (tip, removed) = self.live.view(|view| {
            let height = view.tip().height;
            let mut removed = Vec::new();
            for waits in &waiting {
                let coins: Vec<(Txid, u32)> = waits.coins().collect();
                if view.transactions().by_txid(&waits.txid)?.is_some() {
                    removed.push((waits.txid, RemoveReason::Confirmed { height }));
                } else if view.transactions().coins(&coins)?.iter().any(Option::is_none) {
                    // It came meanwhile, and has taken the place of one in the block.
                    removed.push((waits.txid, RemoveReason::Conflict));
                }
            }
            Ok((*view.tip(), removed))
        })?;
        let reason_of =
            |waits: &Waiting| removed.iter().find(|(txid, _)| *txid == waits.txid).map(|(_, reason)| reason);
        self.live.waiting.lock().retain(|waits| reason_of(waits).is_none());
        let paid = waiting.iter().filter(|waits| matches!(reason_of(waits), Some(RemoveReason::Confirmed { .. })));
        paid.filter_map(|waits| waits.order.as_deref()).for_each(remove);
        let transactions = removed.len();
        let removed = removed.into_iter().map(|(txid, reason)| MempoolDelta::Remove { txid, reason });
        let block = MempoolDelta::Block { height: tip.height, hash: tip.hash, time: tip.time };
        let (slot, pool, announced) = (&self.live.slot, self.live.slot.pool(), &self.live.announced);
        let deltas: Vec<MempoolDelta> = removed.chain([block]).collect();
        pool.apply(&deltas);
        pool.refresh();
        let blocks = Some(tip.height);
        let status =
            SourceStatus { at: now_ms() / 1_000, blocks, headers: blocks, ..slot.source().unwrap_or_default() };
        announced.publish_tip(Some((tip.height, tip.hash)));
        announced.publish_mempool(&deltas);
        announced.publish_best_height(blocks);
        announced.publish_source(&status);
        slot.set_best_height(blocks);
        slot.set_source(Some(status));
        tracing::info!(height = tip.height, transactions, "the demo chain has a new block");
        Ok(())
    }
}
