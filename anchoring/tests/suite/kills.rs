//! Processes that die, or lose their lease, at every point.

use std::rc::Rc;

use cairn_anchoring::{AnchorError, LEASE_SECS, Node};
use cairn_model::{BlockHash, Txid};
use cairn_node::{
    FinalizedPsbt, FundedPsbt, Funding, NodeError, ProcessedPsbt, WalletBalances, WalletCoin, WalletInfo,
};
use cairn_state::{StateError, TimestampState};

use crate::{
    faults::{Death, Mortal},
    rig::{NETWORK, Rig},
};

/// More than the calls with an effect between acceptance and final.
const POINTS: u32 = 24;

/// Rounds of a process until it dies or the hash is final; a block is mined between two rounds.
fn live<L: cairn_anchoring::Ledger, N: Node>(
    rig: &Rig,
    number: u8,
    anchorer: &mut cairn_anchoring::Anchorer<L, N, crate::rig::NodeChain>,
    death: Option<&Death>,
) {
    for _ in 0..10 {
        let ended = anchorer.round(rig.later(60));
        if death.is_some_and(Death::has_come) {
            return;
        }
        ended.unwrap();
        if rig.state_of(number) == TimestampState::Final {
            return;
        }
        rig.mine(1);
    }
}

#[test]
fn killed_at_any_point_nothing_is_lost_and_nothing_is_anchored_twice() {
    let rig = Rig::new(8);
    let mut deaths = 0;
    for point in 0..POINTS {
        for is_after in [false, true] {
            let number = (point * 2 + u32::from(is_after) + 1) as u8;
            rig.submit(number);
            let death = Death::at(point, is_after);
            let ledger = Mortal { inner: rig.sql(), death: Rc::clone(&death) };
            let node = Mortal { inner: rig.wallet_node(), death: Rc::clone(&death) };
            live(&rig, number, &mut rig.with(ledger, node), Some(&death));
            deaths += u32::from(death.has_come());
            let before = match rig.state_of(number) {
                TimestampState::Pending => Vec::new(),
                _ => rig.candidates(number),
            };
            // Another process goes on after the lease has ended.
            rig.later(LEASE_SECS);
            live(&rig, number, &mut rig.anchorer(), None);
            rig.assert_final(number);
            // The chain has the transaction that was signed before.
            assert!(before.is_empty() || rig.candidates(number) == before, "point {point}, {is_after}");
        }
    }
    assert!(deaths >= POINTS, "{deaths}");
}

/// A node in front of which something happens when the wallet signs.
struct Interrupted<N, F> {
    inner: N,
    act: F,
}

impl<N: Node, F: Fn()> Node for Interrupted<N, F> {
    fn wallet_info(&self) -> Result<WalletInfo, NodeError> {
        self.inner.wallet_info()
    }

    fn balances(&self) -> Result<WalletBalances, NodeError> {
        self.inner.balances()
    }

    fn coins(&self) -> Result<Vec<WalletCoin>, NodeError> {
        self.inner.coins()
    }

    fn fund(&self, funding: &Funding) -> Result<FundedPsbt, NodeError> {
        self.inner.fund(funding)
    }

    fn sign(&self, psbt: &[u8]) -> Result<ProcessedPsbt, NodeError> {
        (self.act)();
        self.inner.sign(psbt)
    }

    fn finalize(&self, psbt: &[u8]) -> Result<FinalizedPsbt, NodeError> {
        self.inner.finalize(psbt)
    }

    fn in_mempool(&self, txids: &[Txid]) -> Result<Vec<bool>, NodeError> {
        self.inner.in_mempool(txids)
    }

    fn min_feerate(&self) -> Result<u64, NodeError> {
        self.inner.min_feerate()
    }

    fn tip(&self) -> Result<BlockHash, NodeError> {
        self.inner.tip()
    }

    fn send(&self, raw: &[u8], max_feerate: u64) -> Result<Txid, NodeError> {
        self.inner.send(raw, max_feerate)
    }
}

#[test]
fn a_process_that_loses_its_lease_while_the_wallet_signs_sends_nothing() {
    let rig = Rig::new(2);
    rig.submit(1);
    let now = rig.later(60);
    // The wallet takes longer than the lease, and another process takes over meanwhile.
    let take = || {
        let taken = rig.state.acquire_anchor_lease(NETWORK, "usurper", 1, now + LEASE_SECS);
        assert!(rig.runtime.block_on(taken).unwrap().is_some());
    };
    let mut slow = rig.with(rig.sql(), Interrupted { inner: rig.wallet_node(), act: take });
    let ended = slow.round(now);
    assert!(matches!(ended, Err(AnchorError::State(StateError::LeaseLost))), "{ended:?}");
    assert_eq!(rig.state_of(1), TimestampState::Aggregated);
    assert!(rig.pool().is_empty() && rig.candidates(1).is_empty());
    let mut next = rig.anchorer();
    next.round(rig.later(2 * LEASE_SECS)).unwrap();
    rig.mine(6);
    next.round(rig.later(1)).unwrap();
    rig.assert_final(1);
}
