//! Whirlpool: as many outputs as inputs, each output of the pool's size. Some inputs are outputs of earlier rounds, of
//! just that size; the others bring the miners' fee.
//!
//! Structure: Samourai's documentation ("Introducing Whirlpool Surge Cycles", 2023), Ashigaru's announcement (2025);
//! Stütz, Stockinger, Haslhofer, Moreno-Sanchez, Maffei, "Adoption and Actual Privacy of Decentralized CoinJoin
//! Implementations in Bitcoin" (2022), which gives the bound of the fee.

use std::ops::RangeInclusive;

use cairn_model::{Sats, ScriptTemplate};

use super::{Candidate, Shape};

/// Sizes of pools: Samourai's four, and Ashigaru's two (0.025 and 0.25 bitcoin).
const POOLS: [Sats; 6] = [100_000, 1_000_000, 2_500_000, 5_000_000, 25_000_000, 50_000_000];
/// Five at first; up to eight since the surge cycles of May 2023; the protocol allows ten.
const PARTICIPANTS: RangeInclusive<usize> = 5..=10;
/// Most that an input brings for the miners: 0.0011 bitcoin.
const MAX_MINER_SHARE: Sats = 110_000;

pub(super) fn matches<S: Shape>(candidate: &Candidate<'_, S>) -> bool {
    let (participants, pool) = (candidate.inputs(), candidate.amount);
    PARTICIPANTS.contains(&participants)
        && candidate.equal == participants
        && candidate.others() == 0
        && POOLS.contains(&pool)
        && candidate.input_values().all(|value| (pool..=pool + MAX_MINER_SHARE).contains(&value))
        // Outputs have any type: a participant may send them to another wallet.
        && candidate.input_templates().all(|template| template == ScriptTemplate::WitnessV0KeyHash)
        && candidate.input_scripts() == participants
        && candidate.output_scripts() == participants
}
