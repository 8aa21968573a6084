//! Claims near a script: those about scripts that its coins came from, or went to, within two transactions. The traces
//! of exposure find them, so that a signal and an exposure with the same choice of claims agree.

use std::{cmp::Reverse, collections::BTreeMap};

use cairn_model::TxNum;

use super::{ClaimRef, MAX_TXS, Unexamined};
use crate::exposure::{Limits, Reached, Source, Trace, Way};

/// Transactions each way.
pub const MAX_HOPS: u8 = 2;
/// Transactions of others that a trace reads, each way.
pub(super) const MAX_FAR_TXS: usize = 1_000;
/// Bounds of the traces: those of exposure, with fewer transactions.
pub const NEAR_LIMITS: Limits = Limits { txs: MAX_TXS + MAX_FAR_TXS, ..Limits::at_depth(MAX_HOPS) };
/// Scripts of a direction whose whole ways are named, the nearest. Of others it is the transaction at the end of the
/// trace.
const MAX_WAYS: usize = 100;

/// Claims that a detector looks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Nearby {
    /// Those in the categories `mixer` and `mixing` of risk exposure.
    Mixers,
    /// Those that sanctions exposure counts.
    Sanctions,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NearScript {
    pub(super) claim: ClaimRef,
    pub(super) way: Way,
    pub(super) hops: u8,
    /// The transactions between, from the subject's on.
    pub(super) txs: Vec<TxNum>,
}

/// The claims near a script.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Near {
    /// Of each direction, the nearest first.
    pub(super) found: Vec<NearScript>,
    /// Why not everything near was examined.
    pub missing: Option<Unexamined>,
}

impl Near {
    /// Adds what a trace found; `claim` gives the claim of a source.
    pub fn add(&mut self, way: Way, trace: &Trace, claim: impl Fn(Source) -> Option<ClaimRef>) {
        if trace.is_truncated() {
            self.missing = Some(Unexamined::LookUpCap);
        }
        let order = |of: &Reached| (of.part.hop, Reverse(of.haircut), of.coin, of.source);
        let mut nearest: BTreeMap<Source, &Reached> = BTreeMap::new();
        for of in &trace.reached {
            let known = nearest.entry(of.source).or_insert(of);
            if order(of) < order(known) {
                *known = of;
            }
        }
        let mut nearest: Vec<&Reached> = nearest.into_values().collect();
        nearest.sort_by_key(|of| order(of));
        for (at, of) in nearest.into_iter().enumerate() {
            let Some(claim) = claim(of.source) else { continue };
            let mut txs: Vec<TxNum> = match of.part.hop > 1 && at < MAX_WAYS {
                true => trace.way(of).iter().map(|step| step.tx).collect(),
                false => vec![of.coin.tx_num],
            };
            if way == Way::Sources {
                txs.reverse();
            }
            self.found.push(NearScript { claim, way, hops: of.part.hop, txs });
        }
    }
}
