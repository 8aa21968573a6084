//! The detector of claims near a script, which two signals share.

use std::collections::BTreeSet;

use cairn_model::TxNum;

use super::{
    DetectorInfo, Examined, Finding, Ledger, MAX_HOPS, Measurement, Nearby, Unexamined,
    near::{MAX_FAR_TXS, NearScript},
};
use crate::{
    claims::{LABELS_FROM, Strength},
    exposure::{MAX_COINS, MAX_TRANSACTIONS, Way},
};

/// Parameters of a detector of claims nearby.
const PARAMETERS: &[(&str, u64)] = &[
    ("max_transactions", MAX_HOPS as u64),
    ("min_claim_level", LABELS_FROM as u64),
    ("max_coins", MAX_COINS as u64),
    ("max_transactions_of_others", MAX_FAR_TXS as u64),
    ("busy_transactions", MAX_TRANSACTIONS),
];

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
