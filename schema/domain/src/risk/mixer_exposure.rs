//! A source says that a script near this one belongs to a mixer, or behaves like one.

use super::{DetectorInfo, Examined, Finding, Ledger, Nearby, near_detector};

/// The detector.
pub const INFO: DetectorInfo = near_detector::info(
    "mixer_exposure",
    "signal-mixer-exposure",
    &[
        "Mixers are used for privacy, too, and those who are paid by a user of one have no part in it.",
        "Two transactions away is often another owner.",
    ],
    &["The amounts, which risk-exposure gives.", "Who owns the scripts between."],
);

pub(super) fn detect<L: Ledger>(examined: &Examined<'_, L>) -> Result<Finding, L::Error> {
    near_detector::detect(examined, Nearby::Mixers, "they belong to a mixer or behave like one")
}
