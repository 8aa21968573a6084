//! Claims near a script: those about scripts that its coins came from, or went to, within two transactions. The traces
//! of exposure find them, so that a signal and an exposure with the same choice of claims agree.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use cairn_model::TxNum;

use super::{ClaimRef, DetectorInfo, Examined, Finding, Ledger, MAX_TXS, Measurement, Unexamined};
use crate::{
    claims::{LABELS_FROM, Strength},
    exposure::{Limits, MAX_COINS, MAX_TRANSACTIONS, Reached, Source, Trace, Way},
};

/// Transactions each way.
pub const MAX_HOPS: u8 = 2;
/// Transactions of others that a trace reads, each way.
const MAX_FAR_TXS: usize = 1_000;
/// Bounds of the traces: those of exposure, with fewer transactions.
pub const NEAR_LIMITS: Limits = Limits { txs: MAX_TXS + MAX_FAR_TXS, ..Limits::at_depth(MAX_HOPS) };
/// Scripts of a direction whose whole ways are named, the nearest. Of others it is the transaction at the end of the
/// trace.
const MAX_WAYS: usize = 100;

/// Parameters of a detector of claims nearby.
const PARAMETERS: &[(&str, u64)] = &[
    ("max_transactions", MAX_HOPS as u64),
    ("min_claim_level", LABELS_FROM as u64),
    ("max_coins", MAX_COINS as u64),
    ("max_transactions_of_others", MAX_FAR_TXS as u64),
    ("busy_transactions", MAX_TRANSACTIONS),
];

/// Claims that a detector looks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Nearby {
    /// Those in the categories `mixer` and `mixing` of risk exposure.
    Mixers,
    /// Those that sanctions exposure counts.
    Sanctions,
}

/// A script with a claim, and the way to it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct NearScript {
    claim: ClaimRef,
    way: Way,
    hops: u8,
    /// The transactions between, from the subject's on.
    txs: Vec<TxNum>,
}

/// The claims near a script.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Near {
    /// Of each direction, the nearest first.
    found: Vec<NearScript>,
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

/// Describes a detector of claims nearby.
pub(super) const fn info(
    id: &'static str,
    definition: &'static str,
    benign: &'static [&'static str],
    decided_by: &'static [&'static str],
) -> DetectorInfo {
    DetectorInfo {
        id,
        definition,
        parameters: PARAMETERS,
        is_structural: false,
        needs_history: true,
        measurement: Measurement::Generated,
        strength: Strength::Weak,
        benign,
        decided_by,
    }
}

/// Looks for claims nearby; `words` is what they say, after "of scripts that".
pub(super) fn detect<L: Ledger>(
    examined: &Examined<'_, L>,
    nearby: Nearby,
    words: &'static str,
) -> Result<Finding, L::Error> {
    if !examined.facts.has_labels {
        return Ok(Finding::NotExamined(Unexamined::NoLabels));
    }
    let near = examined.ledger.near(examined.facts, nearby)?;
    let Some(best) = near.found.iter().map(|of| &of.claim).max_by_key(|claim| claim.level) else {
        return Ok(near.missing.map_or(Finding::NotFired, Finding::NotExamined));
    };
    let mut claim_ids: Vec<String> = Vec::new();
    let mut txs: Vec<TxNum> = Vec::new();
    let (mut known_claims, mut known_txs) = (BTreeSet::new(), BTreeSet::new());
    for of in &near.found {
        txs.extend(of.txs.iter().filter(|tx| known_txs.insert(**tx)));
        if known_claims.insert(&of.claim.claim_id) {
            claim_ids.push(of.claim.claim_id.clone());
        }
    }
    let count = |of: fn(&NearScript) -> bool| near.found.iter().filter(|script| of(script)).count() as u64;
    let observed = vec![
        ("sources", count(|of| of.way == Way::Sources)),
        ("destinations", count(|of| of.way == Way::Destinations)),
        ("at_one_transaction", count(|of| of.hops == 1)),
        ("at_two_transactions", count(|of| of.hops > 1)),
    ];
    Ok(Finding::Fired {
        total: txs.len() as u64,
        txs,
        level: best.level,
        strength: Some(best.strength),
        claim_ids,
        words: format!(
            "Standing claims say of {} scripts within {MAX_HOPS} transactions that {words}.",
            near.found.len()
        ),
        observed,
    })
}
