//! A list of sanctions has a script near this one.

use super::{
    DetectorInfo, Examined, Finding, Ledger, MAX_HOPS, Measurement,
    reach::{Marked, finding},
};
use crate::claims::Strength;

/// The detector.
pub const INFO: DetectorInfo = DetectorInfo {
    id: "sanctioned_indirect",
    definition: "signal-sanctioned-indirect",
    parameters: &[("max_transactions", MAX_HOPS as u64)],
    is_structural: false,
    needs_history: true,
    measurement: Measurement::Generated,
    strength: Strength::Weak,
    benign: &[
        "Anybody can be paid by a listed party without knowing it, also with dust.",
        "Two transactions away is often another owner, and the listing may be younger than the payment.",
    ],
    decided_by: &[
        "The amounts and the dates of listing, which sanctions-exposure follows.",
        "Who owns the scripts between.",
    ],
};

pub(super) fn detect<L: Ledger>(examined: &Examined<'_, L>) -> Result<Finding, L::Error> {
    let marked = Marked { words: "a list of sanctions has them", claim: |mark| mark.sanctioned.as_ref() };
    Ok(finding(examined.facts, examined.reach, &marked))
}
