//! Data that all connections share, and how a request reads index and mempool.

use std::{rc::Rc, sync::Arc, time::Duration};

use cairn_chain::{Chain, Pinned};
use cairn_http::{Api, ApiError, Asker, Cost, ErrorCode, Work};
use parking_lot::RwLock;
use tokio::time::{Instant, sleep};

use crate::{
    checkpoint::{GROUP, Node, Proof, Tree},
    failure::{Failure, Refusal},
    options::Options,
    scans::shared::AllScans,
    status::Statuses,
    subscriptions::Hub,
};

/// A request above the rate limit waits at most this long instead of failing: wallets give up at the first error.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longest time between two attempts.
const PAUSE_SECS: u32 = 5;
/// Entries of a history that a light request reads, and a standard one.
const ROOM: [(Cost, u64); 3] = [(Cost::Light, 64), (Cost::Standard, 1_000), (Cost::Heavy, u64::MAX)];

/// Data that all connections share.
pub(crate) struct Electrum {
    pub(crate) api: Api,
    pub(crate) chain: Chain,
    pub(crate) options: Options,
    pub(crate) hub: Arc<Hub>,
    pub(crate) statuses: Statuses,
    pub(crate) scans: Arc<AllScans>,
    /// Replaced as a whole, so that nobody holds the lock while headers are read.
    checkpoints: RwLock<Arc<Tree>>,
}

impl Electrum {
    pub(crate) fn new(api: Api, chain: Chain, options: Options) -> Arc<Self> {
        let (hub, statuses, scans, checkpoints) = Default::default();
        Arc::new(Electrum { api, chain, options, hub, statuses, scans, checkpoints })
    }

    /// Longest history.
    pub(crate) fn max_history(&self) -> u64 {
        u64::from(self.options.max_history)
    }

    /// Runs work of a cost class. Waits while the client is above its rate limit, up to [`PATIENCE`].
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        cost: Cost,
        asker: Asker,
        work: impl FnOnce(&Rc<Work>) -> Result<T, Refusal> + Clone + Send + 'static,
    ) -> Result<T, Refusal> {
        let gives_up = Instant::now() + PATIENCE;
        loop {
            let work = work.clone();
            // A refusal is an outcome of work, unless it is of the limits or the index.
            let worked = self.api.work(cost, asker, move |counted| match work(counted) {
                Err(Refusal::Failed(error)) => Err(error),
                outcome => Ok(outcome),
            });
            match worked.await {
                Err(error) if may_wait(&error) && Instant::now() < gives_up => wait(&error).await,
                Err(error) => return Err(Refusal::Failed(error)),
                Ok(outcome) => return outcome,
            }
        }
    }

    /// Charges a request that needs no work, as [`Electrum::work`] does.
    pub(crate) async fn charge(&self, asker: Asker) -> Result<(), Failure> {
        self.charge_message(asker, 0).await
    }

    /// Charges a message for its size.
    pub(crate) async fn charge_message(&self, asker: Asker, bytes: usize) -> Result<(), Failure> {
        let gives_up = Instant::now() + PATIENCE;
        loop {
            match self.api.charge_peer(asker, bytes) {
                Err(error) if may_wait(&error) && Instant::now() < gives_up => wait(&error).await,
                Err(error) => return Err(Failure::of_api(&error)),
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Answers from index and mempool at one tip. `read` may run several times (see [`Chain::read`]).
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        cost: Cost,
        asker: Asker,
        read: impl Fn(&Pinned<'_>, &Rc<Work>) -> Result<T, Refusal> + Clone + Send + 'static,
    ) -> Result<T, Failure> {
        let read = move |pinned: &Pinned<'_>, work: &Rc<Work>, _: u64| read(pinned, work);
        self.read_as(cost, asker, read).await.map_err(said)
    }

    /// As [`Electrum::read`], with a class that follows the number of entries: `read` gets how many there may be, and
    /// refuses as [`Refusal::Larger`] if there are more.
    pub(crate) async fn read_by_size<T: Send + 'static>(
        &self,
        asker: Asker,
        read: impl Fn(&Pinned<'_>, &Rc<Work>, u64) -> Result<T, Refusal> + Clone + Send + 'static,
    ) -> Result<T, Failure> {
        let mut entries = 0;
        for (cost, _) in ROOM {
            if entries > room_of(cost) {
                continue;
            }
            match self.read_as(cost, asker, read.clone()).await {
                Err(Refusal::Larger(all)) => entries = all,
                outcome => return outcome.map_err(said),
            }
        }
        Err(Failure::too_large())
    }

    async fn read_as<T: Send + 'static>(
        &self,
        cost: Cost,
        asker: Asker,
        read: impl Fn(&Pinned<'_>, &Rc<Work>, u64) -> Result<T, Refusal> + Clone + Send + 'static,
    ) -> Result<T, Refusal> {
        let (chain, room) = (self.chain.clone(), room_of(cost));
        self.work(cost, asker, move |work| {
            chain.read(work, |pinned| match read(pinned, work, room) {
                Err(Refusal::Failed(error)) => Err(error),
                outcome => Ok(outcome),
            })?
        })
        .await
    }

    /// The proof of a header in the tree over the first `count` headers of the chain.
    pub(crate) fn prove(&self, at: &Pinned<'_>, height: u32, count: u32) -> Result<Proof, Refusal> {
        // A second attempt follows if another request has gone back to a shorter chain in between.
        for _ in 0..2 {
            self.extend_checkpoints(at, count, u32::MAX)?;
            let tree = Arc::clone(&self.checkpoints.read());
            if tree.valid_groups(|height, hash| at.view.chain().is(height, hash)) >= count / GROUP
                && let Some(proof) = tree.prove(height, count, |from, to| hashes(at, from, to))?
            {
                return Ok(proof);
            }
        }
        Err(Failure::new(Failure::BUSY, "the chain is being reorganized; try again").into())
    }

    /// Adds complete groups of the first `count` headers to the tree, at most `limit`. True if it has all of them.
    pub(crate) fn extend_checkpoints(&self, at: &Pinned<'_>, count: u32, limit: u32) -> Result<bool, ApiError> {
        let chain = at.view.chain();
        let wanted = count / GROUP;
        for _ in 0..limit {
            let valid = self.checkpoints.read().valid_groups(|height, hash| chain.is(height, hash));
            if valid >= wanted {
                return Ok(true);
            }
            let group = hashes(at, valid * GROUP, (valid + 1) * GROUP)?;
            let mut tree = self.checkpoints.write();
            // Another request may have done it meanwhile.
            if tree.valid_groups(|height, hash| chain.is(height, hash)) == valid {
                let tree = Arc::make_mut(&mut tree);
                tree.truncate(valid);
                tree.push(&group);
            }
        }
        Ok(false)
    }
}

fn room_of(cost: Cost) -> u64 {
    ROOM.iter().find(|(class, _)| *class == cost).map_or(u64::MAX, |(_, room)| *room)
}

fn may_wait(error: &ApiError) -> bool {
    error.code == ErrorCode::RateLimited
}

async fn wait(error: &ApiError) {
    sleep(Duration::from_secs(u64::from(error.retry_after.unwrap_or(1).clamp(1, PAUSE_SECS)))).await;
}

/// The error of the protocol for a refusal.
pub(crate) fn said(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::Said(failure) => failure,
        Refusal::Failed(error) => Failure::of_api(&error),
        Refusal::Larger(_) => Failure::too_large(),
    }
}

/// Hashes of headers from one height up to another, the last one excluded.
fn hashes(at: &Pinned<'_>, from: u32, to: u32) -> Result<Vec<Node>, ApiError> {
    let heights: Vec<u32> = (from..to).collect();
    let rows = at.view.headers(&heights)?;
    rows.into_iter().map(|row| Ok(row.ok_or_else(ApiError::internal)?.hash.0)).collect()
}
