//! Signals of risk: patterns in the transactions of a script, and claims about scripts near it. Each detector is a
//! function of plain facts, in a file of its own with a line in the registry below. A signal is an observation with the
//! transactions that show it. It is not a judgement, and its absence proves nothing.

mod claimed;
mod facts;
mod finding;
mod ledger;
pub mod measured;
mod near;
mod near_detector;
mod signal;

pub use claimed::{is_sanction, listed, services};
pub use facts::{ClaimRef, Facts, KnownService, Paid, Party, Spent, SubjectTx, Tx};
pub use finding::{Finding, Unexamined};
pub use ledger::Ledger;
pub use near::{MAX_HOPS, NEAR_LIMITS, Near, Nearby};
pub use signal::{DetectorInfo, MAX_TXIDS, Measurement, Signal, SignalState};

use crate::claims::Strength;
use signal::conclude;

/// Newest transactions of a script that are examined.
pub const MAX_TXS: usize = 1_000;

/// Blocks of a day: the window of all detectors that have one.
pub const WINDOW_BLOCKS: u32 = 144;

/// Everything that a detector may look at.
pub struct Examined<'e, L> {
    /// The facts about the script.
    pub facts: &'e Facts,
    /// Other transactions of the chain.
    pub ledger: &'e L,
}

/// Declares the detectors: the order is that of answers. A module has `INFO` and `detect`.
macro_rules! detectors {
    ($($detector:ident,)+) => {
        $(pub mod $detector;)+

        /// The detectors, in the order of answers.
        pub const DETECTORS: &[&DetectorInfo] = &[$(&$detector::INFO),+];

        /// Runs all detectors; the signals are in the order of [`DETECTORS`].
        pub fn examine<L: Ledger>(facts: &Facts, ledger: &L) -> Result<Vec<Signal>, L::Error> {
            let examined = Examined { facts, ledger };
            Ok(vec![$(conclude(&$detector::INFO, facts, $detector::detect(&examined)?)),+])
        }
    };
}

detectors! {
    coinjoin_participation,
    peel_chain,
    address_reuse,
    rapid_pass_through,
    fan_in,
    fan_out,
    dust_recipient,
    mixer_exposure,
    sanctioned_direct,
    sanctioned_indirect,
}

/// The strength of a detector with this measured precision: weak below nine tenths, strong if the lower end of the 95 %
/// interval reaches nine tenths, otherwise moderate. In millionths.
#[must_use]
pub const fn measured_strength(precision_ppm: u32, lower_ppm: u32) -> Strength {
    match (precision_ppm, lower_ppm) {
        (_, 900_000..) => Strength::Strong,
        (900_000.., _) => Strength::Moderate,
        _ => Strength::Weak,
    }
}
