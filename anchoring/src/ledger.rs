//! The stored data: the service state.

use std::{future::Future, io, time::Duration};

use cairn_state::{
    AnchorLease, AnchorerReport, Batch, BatchConfirmation, BatchNodes, BatchTree, Candidate, MAX_BATCH_HASHES,
    NewCandidate, State, StateError, StateUrl, WaitingTimestamps,
};
use cairn_timestamps::Tree;
use tokio::runtime::{Builder, Runtime};

/// Longest time of one statement or transaction.
const LONGEST: Duration = Duration::from_secs(30);

/// The stored hashes, batches and transactions of one network. Changes need the lease, and fail with
/// [`StateError::LeaseLost`] if another process has it.
pub trait Ledger {
    /// Takes the lease or renews it; `None` while another process has it.
    fn lease(&self, holder: &str, ttl_secs: u64, now: u64) -> Result<Option<AnchorLease>, StateError>;

    /// Gives the lease back.
    fn release(&self, lease: &AnchorLease) -> Result<(), StateError>;

    /// Batches that are neither final nor given up, the oldest first.
    fn open_batches(&self) -> Result<Vec<Batch>, StateError>;

    /// The batch with this number.
    fn batch(&self, id: i64) -> Result<Option<Batch>, StateError>;

    /// The transactions of a batch, the oldest first.
    fn candidates(&self, batch: i64) -> Result<Vec<Candidate>, StateError>;

    /// The hashes that wait for a batch, counted up to the largest batch.
    fn waiting(&self) -> Result<WaitingTimestamps, StateError>;

    /// Fees in satoshis of the transactions that were stored since a time.
    fn fees_since(&self, since: u64) -> Result<u64, StateError>;

    /// Collects the hashes that wait into a batch; `None` if nothing waits.
    fn make_batch(&self, lease: &AnchorLease, now: u64) -> Result<Option<Batch>, StateError>;

    /// Stores a signed transaction, before it is sent.
    fn add_candidate(&self, lease: &AnchorLease, batch: i64, new: &NewCandidate, now: u64) -> Result<(), StateError>;

    /// Stores that the node has a transaction.
    fn mark_sent(&self, lease: &AnchorLease, batch: i64, txid: &[u8; 32], now: u64) -> Result<(), StateError>;

    /// Stores that a block has a transaction.
    fn confirm(
        &self,
        lease: &AnchorLease,
        batch: i64,
        confirmation: &BatchConfirmation,
        now: u64,
    ) -> Result<(), StateError>;

    /// Stores that no block has a transaction any more.
    fn unconfirm(&self, lease: &AnchorLease, batch: i64, now: u64) -> Result<(), StateError>;

    /// Stores that a batch is final.
    fn finish(&self, lease: &AnchorLease, batch: i64, now: u64) -> Result<(), StateError>;

    /// Publishes a report for the servers.
    fn report(&self, lease: &AnchorLease, report: &AnchorerReport) -> Result<(), StateError>;
}

/// The service state in SQL, for a thread without a runtime.
#[derive(Debug)]
pub struct SqlLedger {
    runtime: Runtime,
    state: State,
    network: String,
}

impl SqlLedger {
    /// The state at a URL. It connects on first use.
    ///
    /// # Errors
    /// Fails if the runtime cannot be made.
    pub fn new(url: &StateUrl, network: &str) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let state = runtime.block_on(async { State::of(url) });
        Ok(SqlLedger { runtime, state, network: network.to_owned() })
    }

    /// Closes its connections.
    pub fn close(&self) {
        self.runtime.block_on(self.state.close());
    }

    fn wait<T>(&self, work: impl Future<Output = Result<T, StateError>>) -> Result<T, StateError> {
        // A timer needs the runtime.
        let limited = async { tokio::time::timeout(LONGEST, work).await };
        self.runtime.block_on(limited).unwrap_or(Err(StateError::Busy))
    }
}

/// The tree of a batch in the form in which it is stored.
fn tree_of(leaves: &[[u8; 32]]) -> BatchTree {
    // A batch has at least one hash, and fewer than 2³².
    let Some(tree) = Tree::new(leaves) else { return BatchTree { root: [0; 32], nodes: Vec::new() } };
    let root = tree.root();
    let nodes = tree.into_parts().into_iter().map(|part| BatchNodes {
        level: part.place.level,
        part: part.place.part,
        hashes: part.hashes,
    });
    BatchTree { root, nodes: nodes.collect() }
}

impl Ledger for SqlLedger {
    fn lease(&self, holder: &str, ttl_secs: u64, now: u64) -> Result<Option<AnchorLease>, StateError> {
        self.wait(self.state.acquire_anchor_lease(&self.network, holder, ttl_secs, now))
    }

    fn release(&self, lease: &AnchorLease) -> Result<(), StateError> {
        self.wait(self.state.release_anchor_lease(lease))
    }

    fn open_batches(&self) -> Result<Vec<Batch>, StateError> {
        self.wait(self.state.open_batches(&self.network))
    }

    fn batch(&self, id: i64) -> Result<Option<Batch>, StateError> {
        self.wait(self.state.batch(id))
    }

    fn candidates(&self, batch: i64) -> Result<Vec<Candidate>, StateError> {
        self.wait(self.state.candidates(batch))
    }

    fn waiting(&self) -> Result<WaitingTimestamps, StateError> {
        self.wait(self.state.waiting_timestamps(&self.network, u64::from(MAX_BATCH_HASHES)))
    }

    fn fees_since(&self, since: u64) -> Result<u64, StateError> {
        self.wait(self.state.anchor_fees_since(&self.network, since))
    }

    fn make_batch(&self, lease: &AnchorLease, now: u64) -> Result<Option<Batch>, StateError> {
        self.wait(self.state.make_batch(lease, MAX_BATCH_HASHES, now, tree_of))
    }

    fn add_candidate(&self, lease: &AnchorLease, batch: i64, new: &NewCandidate, now: u64) -> Result<(), StateError> {
        self.wait(self.state.add_candidate(lease, batch, new, now)).map(drop)
    }

    fn mark_sent(&self, lease: &AnchorLease, batch: i64, txid: &[u8; 32], now: u64) -> Result<(), StateError> {
        self.wait(self.state.mark_sent(lease, batch, txid, now))
    }

    fn confirm(
        &self,
        lease: &AnchorLease,
        batch: i64,
        confirmation: &BatchConfirmation,
        now: u64,
    ) -> Result<(), StateError> {
        self.wait(self.state.confirm_batch(lease, batch, confirmation, now)).map(drop)
    }

    fn unconfirm(&self, lease: &AnchorLease, batch: i64, now: u64) -> Result<(), StateError> {
        self.wait(self.state.unconfirm_batch(lease, batch, now)).map(drop)
    }

    fn finish(&self, lease: &AnchorLease, batch: i64, now: u64) -> Result<(), StateError> {
        self.wait(self.state.finish_batch(lease, batch, now)).map(drop)
    }

    fn report(&self, lease: &AnchorLease, report: &AnchorerReport) -> Result<(), StateError> {
        self.wait(self.state.report_anchorer(lease, report))
    }
}
