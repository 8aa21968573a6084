//! Equal outputs in general: as many payers as equal outputs, and at most one other output each.
//!
//! The idea is Maxwell's proposal of 2013; the counts follow Goldfeder et al., "When the cookie meets the blockchain"
//! (2018), whose rule BlockSci carries.

use cairn_model::Sats;

use super::{Candidate, Shape, shares};

/// Amounts up to here pay for nothing but an output: markers of tokens use them, and BlockSci leaves them out.
const MAX_DUST: Sats = 2_730;
/// Below this number of equal outputs, chance and shops make them too, so more is asked.
const SMALL_ROUND: usize = 5;
/// Inputs of a participant in a small round.
const MAX_SMALL_INPUTS: usize = 10;
/// One output that belongs to no participant: a coordinator's fee.
const COORDINATOR: usize = 1;
/// One owner who divides an amount evenly leaves a remainder: an output that differs from the others by less than 1 in
/// 1 000.
const SPLIT_DIVISOR: Sats = 1_000;
/// Or by this many satoshis.
const SPLIT_SATS: Sats = 100;

pub(super) fn matches<S: Shape>(candidate: &Candidate<'_, S>) -> bool {
    let (inputs, equal, others) = (candidate.inputs(), candidate.equal, candidate.others());
    if candidate.amount <= MAX_DUST || inputs < equal {
        return false;
    }
    let counts = match (equal, others) {
        // Two payers, both with change: with less, it is a payment of the same amount to two.
        (2, others) => others == 2,
        // Nobody has change: then everybody brought one input.
        (equal, 0) => inputs == equal,
        (equal, others) => others * 2 >= equal && others <= equal + COORDINATOR,
    };
    counts
        && (equal >= SMALL_ROUND || inputs <= equal * MAX_SMALL_INPUTS)
        && !is_split(candidate)
        && shares::can_be_divided(candidate)
        && candidate.output_scripts() == candidate.outputs()
        && candidate.input_scripts() >= equal
}

/// True if another output has almost the amount of the equal ones.
fn is_split<S: Shape>(candidate: &Candidate<'_, S>) -> bool {
    let near = (candidate.amount / SPLIT_DIVISOR).max(SPLIT_SATS);
    candidate.runs().any(|(amount, _)| amount != candidate.amount && amount.abs_diff(candidate.amount) <= near)
}
