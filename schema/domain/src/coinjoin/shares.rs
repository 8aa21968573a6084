//! Whether the inputs can be divided among the participants, without the search that deciding it would need: three
//! conditions that every division fulfils.

use cairn_model::Sats;

use super::{Candidate, Shape};

/// Most that one participant pays another, as a divisor of the amount: 1 %. JoinMarket's makers ask for far less
/// than that.
const MAX_FEE_DIVISOR: Sats = 100;
/// Or this absolute fee, if it is more.
const MAX_ABSOLUTE_FEE: Sats = 10_000;

/// True if as many participants as there are equal outputs may each have paid for one, and for at most one other
/// output. A participant pays the miners and others, or is paid by others: both within bounds.
pub(super) fn can_be_divided<S: Shape>(candidate: &Candidate<'_, S>) -> bool {
    let (amount, participants) = (candidate.amount, candidate.equal);
    let mut inputs: Vec<Sats> = candidate.input_values().collect();
    // Each of the others brings at least one input.
    let Some(most) = inputs.len().checked_sub(participants.saturating_sub(1)).filter(|most| *most > 0) else {
        return false;
    };
    inputs.sort_unstable_by(|a, b| b.cmp(a));
    let sum = |values: &[Sats]| values.iter().fold(0, |sum: Sats, value| sum.saturating_add(*value));
    let fee = (amount / MAX_FEE_DIVISOR).max(MAX_ABSOLUTE_FEE);
    let miners = sum(&inputs).saturating_sub(sum(&candidate.amounts));
    let slack = fee.saturating_mul(participants as u64 - 1).saturating_add(miners);

    // Inputs that pay for an equal output alone; the smaller ones only together.
    let whole = inputs.partition_point(|value| value.saturating_add(fee) >= amount);
    let together = sum(&inputs[whole..]) / amount.saturating_sub(fee).max(1);
    let enough = (whole as u64).saturating_add(together) >= participants as u64;

    let largest_share = amount.saturating_add(candidate.largest_other().unwrap_or(0));
    let largest_input = inputs.first().copied().unwrap_or(0);
    // The owner of the largest input gets at most the largest share; enough inputs pay for the largest share.
    let spent = largest_input <= largest_share.saturating_add(slack);
    let paid = largest_share <= sum(&inputs[..most]).saturating_add(slack);
    enough && spent && paid
}
