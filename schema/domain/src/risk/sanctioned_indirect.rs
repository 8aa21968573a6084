//! A list of sanctions has a script near this one.

use super::{DetectorInfo, Examined, Finding, Ledger, Nearby, near_detector};

/// The detector.
pub const INFO: DetectorInfo = near_detector::info(
    "sanctioned_indirect",
    "signal-sanctioned-indirect",
    &[
        "Anybody can be paid by a listed party without knowing it, also with dust.",
        "Two transactions away is often another owner, and the listing may be younger than the payment.",
    ],
    &["The amounts and the dates of listing, which sanctions-exposure gives.", "Who owns the scripts between."],
);

pub(super) fn detect<L: Ledger>(examined: &Examined<'_, L>) -> Result<Finding, L::Error> {
    near_detector::detect(examined, Nearby::Sanctions, "a list of sanctions has them")
}
