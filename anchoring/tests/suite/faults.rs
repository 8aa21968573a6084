//! A process that is killed at a chosen point: every call after that fails.

use std::{cell::Cell, rc::Rc};

use cairn_anchoring::{Ledger, Node};
use cairn_model::{BlockHash, Txid};
use cairn_node::{
    FinalizedPsbt, FundedPsbt, Funding, NodeError, ProcessedPsbt, WalletBalances, WalletCoin, WalletInfo,
};
use cairn_state::{
    AnchorLease, AnchorerReport, Batch, BatchConfirmation, Candidate, NewCandidate, StateError, WaitingTimestamps,
};

/// When the process dies: at the call with this number that has an effect, before or after the effect.
#[derive(Debug)]
pub(crate) struct Death {
    left: Cell<u32>,
    is_after: bool,
    is_dead: Cell<bool>,
}

impl Death {
    pub(crate) fn at(call: u32, is_after: bool) -> Rc<Self> {
        Rc::new(Death { left: Cell::new(call), is_after, is_dead: Cell::new(false) })
    }

    pub(crate) fn has_come(&self) -> bool {
        self.is_dead.get()
    }

    fn read<T, E>(&self, run: impl FnOnce() -> Result<T, E>, dead: E) -> Result<T, E> {
        if self.is_dead.get() { Err(dead) } else { run() }
    }

    fn change<T, E>(&self, run: impl FnOnce() -> Result<T, E>, dead: E) -> Result<T, E> {
        if self.is_dead.get() {
            return Err(dead);
        }
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                run()
            }
            None => {
                self.is_dead.set(true);
                if self.is_after {
                    drop(run());
                }
                Err(dead)
            }
        }
    }
}

/// A ledger or a node of a process that dies.
pub(crate) struct Mortal<T> {
    pub(crate) inner: T,
    pub(crate) death: Rc<Death>,
}

const GONE: StateError = StateError::Busy;

impl<L: Ledger> Ledger for Mortal<L> {
    fn lease(&self, holder: &str, ttl_secs: u64, now: u64) -> Result<Option<AnchorLease>, StateError> {
        self.death.change(|| self.inner.lease(holder, ttl_secs, now), GONE)
    }

    fn release(&self, lease: &AnchorLease) -> Result<(), StateError> {
        self.death.change(|| self.inner.release(lease), GONE)
    }

    fn open_batches(&self) -> Result<Vec<Batch>, StateError> {
        self.death.read(|| self.inner.open_batches(), GONE)
    }

    fn batch(&self, id: i64) -> Result<Option<Batch>, StateError> {
        self.death.read(|| self.inner.batch(id), GONE)
    }

    fn candidates(&self, batch: i64) -> Result<Vec<Candidate>, StateError> {
        self.death.read(|| self.inner.candidates(batch), GONE)
    }

    fn waiting(&self) -> Result<WaitingTimestamps, StateError> {
        self.death.read(|| self.inner.waiting(), GONE)
    }

    fn fees_since(&self, since: u64) -> Result<u64, StateError> {
        self.death.read(|| self.inner.fees_since(since), GONE)
    }

    fn make_batch(&self, lease: &AnchorLease, now: u64) -> Result<Option<Batch>, StateError> {
        self.death.change(|| self.inner.make_batch(lease, now), GONE)
    }

    fn add_candidate(&self, lease: &AnchorLease, batch: i64, new: &NewCandidate, now: u64) -> Result<(), StateError> {
        self.death.change(|| self.inner.add_candidate(lease, batch, new, now), GONE)
    }

    fn mark_sent(&self, lease: &AnchorLease, batch: i64, txid: &[u8; 32], now: u64) -> Result<(), StateError> {
        self.death.change(|| self.inner.mark_sent(lease, batch, txid, now), GONE)
    }

    fn confirm(
        &self,
        lease: &AnchorLease,
        batch: i64,
        confirmation: &BatchConfirmation,
        now: u64,
    ) -> Result<(), StateError> {
        self.death.change(|| self.inner.confirm(lease, batch, confirmation, now), GONE)
    }

    fn unconfirm(&self, lease: &AnchorLease, batch: i64, now: u64) -> Result<(), StateError> {
        self.death.change(|| self.inner.unconfirm(lease, batch, now), GONE)
    }

    fn finish(&self, lease: &AnchorLease, batch: i64, now: u64) -> Result<(), StateError> {
        self.death.change(|| self.inner.finish(lease, batch, now), GONE)
    }

    fn report(&self, lease: &AnchorLease, report: &AnchorerReport) -> Result<(), StateError> {
        self.death.change(|| self.inner.report(lease, report), GONE)
    }
}

impl<N: Node> Node for Mortal<N> {
    fn wallet_info(&self) -> Result<WalletInfo, NodeError> {
        self.death.read(|| self.inner.wallet_info(), NodeError::Stopped)
    }

    fn balances(&self) -> Result<WalletBalances, NodeError> {
        self.death.read(|| self.inner.balances(), NodeError::Stopped)
    }

    fn coins(&self) -> Result<Vec<WalletCoin>, NodeError> {
        self.death.read(|| self.inner.coins(), NodeError::Stopped)
    }

    fn fund(&self, funding: &Funding) -> Result<FundedPsbt, NodeError> {
        self.death.change(|| self.inner.fund(funding), NodeError::Stopped)
    }

    fn sign(&self, psbt: &[u8]) -> Result<ProcessedPsbt, NodeError> {
        self.death.change(|| self.inner.sign(psbt), NodeError::Stopped)
    }

    fn finalize(&self, psbt: &[u8]) -> Result<FinalizedPsbt, NodeError> {
        self.death.read(|| self.inner.finalize(psbt), NodeError::Stopped)
    }

    fn in_mempool(&self, txids: &[Txid]) -> Result<Vec<bool>, NodeError> {
        self.death.read(|| self.inner.in_mempool(txids), NodeError::Stopped)
    }

    fn min_feerate(&self) -> Result<u64, NodeError> {
        self.death.read(|| self.inner.min_feerate(), NodeError::Stopped)
    }

    fn tip(&self) -> Result<BlockHash, NodeError> {
        self.death.read(|| self.inner.tip(), NodeError::Stopped)
    }

    fn send(&self, raw: &[u8], max_feerate: u64) -> Result<Txid, NodeError> {
        self.death.change(|| self.inner.send(raw, max_feerate), NodeError::Stopped)
    }
}
