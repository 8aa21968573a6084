//! Wasabi 1.x: a coordinator's rounds of about 0.1 bitcoin (ZeroLink). Participants with more get further outputs of
//! multiples, then change; the coordinator gets a fee.
//!
//! Structure: Wasabi's documentation; Stütz et al. (2022); Schnoering and Vazirgiannis (2023). The amount of 2018's
//! second half, about 0.05 bitcoin, is from the rounds of our corpus that pay the coordinator's published address.

use std::ops::RangeInclusive;

use cairn_model::{Sats, ScriptTemplate};

use super::{Candidate, Shape};

/// The base amount of a round: 0.1 bitcoin, 20 % more or less.
const BASE: RangeInclusive<Sats> = 8_000_000..=12_000_000;
/// The base amount of smaller rounds in 2018: 0.05 bitcoin, 2 % more or less.
const BASE_2018: RangeInclusive<Sats> = 4_900_000..=5_100_000;
/// Participants of a round.
const MIN_PARTICIPANTS: usize = 10;
/// Amounts that occur once: some participant's change, and the coordinator's fee.
const MIN_SINGLE: usize = 2;

pub(super) fn matches<S: Shape>(candidate: &Candidate<'_, S>) -> bool {
    let amount = &candidate.amount;
    candidate.equal >= MIN_PARTICIPANTS
        && (BASE.contains(amount) || BASE_2018.contains(amount))
        && candidate.inputs() >= candidate.equal
        && candidate.runs().filter(|(_, count)| *count == 1).count() >= MIN_SINGLE
        && candidate.input_templates().all(|template| template == ScriptTemplate::WitnessV0KeyHash)
        && candidate.output_templates().all(|(_, template)| template == ScriptTemplate::WitnessV0KeyHash)
        && candidate.input_scripts() >= candidate.equal
}
