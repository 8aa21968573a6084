//! A list of sanctions has the script.

use super::{DetectorInfo, Examined, Finding, Ledger, Measurement, Unexamined};
use crate::claims::Strength;

/// The detector.
pub const INFO: DetectorInfo = DetectorInfo {
    id: "sanctioned_direct",
    definition: "signal-sanctioned-direct",
    parameters: &[],
    is_structural: false,
    needs_history: false,
    measurement: Measurement::Claims,
    strength: Strength::Strong,
    benign: &["Lists can be out of date or wrong; a listing that ended does not count."],
    decided_by: &["The authority's own publication, and the document that the claim names."],
};

pub(super) fn detect<L: Ledger>(examined: &Examined<'_, L>) -> Result<Finding, L::Error> {
    let facts = examined.facts;
    if !facts.has_labels {
        return Ok(Finding::NotExamined(Unexamined::NoLabels));
    }
    let Some(best) = facts.listed.iter().max_by_key(|claim| claim.level) else {
        return Ok(if facts.is_claims_cut { Finding::NotExamined(Unexamined::ClaimsCut) } else { Finding::NotFired });
    };
    let count = facts.listed.len() as u64;
    Ok(Finding::Fired {
        txs: Vec::new(),
        total: 0,
        level: best.level,
        strength: Some(best.strength),
        claim_ids: facts.listed.iter().map(|claim| claim.claim_id.clone()).collect(),
        words: format!("{count} standing claims say that a list of sanctions has the script."),
        observed: vec![("claims", count)],
    })
}
