//! A source says that a script near this one belongs to a mixer, or behaves like one.

use super::{
    DetectorInfo, Examined, Finding, Ledger, MAX_HOPS, Measurement,
    reach::{Marked, finding},
};
use crate::claims::Strength;

/// The detector.
pub const INFO: DetectorInfo = DetectorInfo {
    id: "mixer_exposure",
    definition: "signal-mixer-exposure",
    parameters: &[("max_transactions", MAX_HOPS as u64)],
    is_structural: false,
    needs_history: true,
    measurement: Measurement::Generated,
    strength: Strength::Weak,
    benign: &[
        "Mixers are used for privacy, too; whoever is paid by a user of one has no part in it.",
        "Two transactions away is often another owner.",
    ],
    decided_by: &["The amounts, which risk-exposure follows.", "Who owns the scripts between."],
};

pub(super) fn detect<L: Ledger>(examined: &Examined<'_, L>) -> Result<Finding, L::Error> {
    let marked = Marked { words: "they belong to a mixer or behave like one", claim: |mark| mark.mixer.as_ref() };
    Ok(finding(examined.facts, examined.reach, &marked))
}
