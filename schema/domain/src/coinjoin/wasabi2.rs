//! Wasabi 2 (WabiSabi): large rounds, whose participants break their sums into standard amounts.
//!
//! Structure: Ficsór, Kogman, Ontivero, Seres, "WabiSabi: Centrally Coordinated CoinJoins with Variable Amounts"
//! (2021), and Wasabi's documentation; the share of standard amounts follows the scanner Dumplings, smaller rounds
//! follow the data of CRoCS's "CoinJoin ecosystem insights" (2026). The order of inputs and outputs is not used.

use cairn_model::{Sats, ScriptTemplate};

use super::{Candidate, Shape};

/// Inputs of a round. The first coordinator waited for 50 and later for 150; others are content with 21.
const MIN_INPUTS: usize = 20;
/// More than this share of the outputs has a standard amount.
const STANDARD: (usize, usize) = (4, 5);
/// At least this share has one that people do not choose: a power of two or three, or twice a power of three. Exchanges
/// pay round amounts to many at a time.
const ODD: (usize, usize) = (1, 4);
/// Standard amounts that several outputs have.
const MIN_REPEATED: usize = 3;
/// Wallets use an address once: at least this share of the scripts differs.
const DIFFERENT: (usize, usize) = (9, 10);
/// The smallest amount of an output.
const MIN_AMOUNT: Sats = 5_000;

pub(super) fn matches<S: Shape>(candidate: &Candidate<'_, S>) -> bool {
    let (inputs, outputs) = (candidate.inputs(), candidate.outputs());
    if inputs < MIN_INPUTS {
        return false;
    }
    let (mut standard, mut odd, mut repeated) = (0, 0, 0);
    for (amount, count) in candidate.runs() {
        let is_odd = is_odd(amount);
        if is_odd || is_decimal(amount) {
            standard += count;
            repeated += usize::from(count > 1);
        }
        odd += if is_odd { count } else { 0 };
    }
    let is_key = |template| matches!(template, ScriptTemplate::WitnessV0KeyHash | ScriptTemplate::WitnessV1Taproot);
    standard * STANDARD.1 > outputs * STANDARD.0
        && odd * ODD.1 >= outputs * ODD.0
        && repeated >= MIN_REPEATED
        && candidate.input_templates().all(is_key)
        && candidate.input_scripts() * DIFFERENT.1 >= inputs * DIFFERENT.0
        && candidate.output_scripts() * DIFFERENT.1 >= outputs * DIFFERENT.0
}

/// A power of two or three, or twice a power of three.
fn is_odd(amount: Sats) -> bool {
    let half = if amount.is_multiple_of(2) { amount / 2 } else { amount };
    amount >= MIN_AMOUNT && (amount.is_power_of_two() || without(half, 3) == 1)
}

/// One, two or five times a power of ten.
fn is_decimal(amount: Sats) -> bool {
    amount >= MIN_AMOUNT && matches!(without(amount, 10), 1 | 2 | 5)
}

/// Quotient of a number without a factor; 0 for 0.
fn without(mut number: u64, factor: u64) -> u64 {
    while number > 0 && number.is_multiple_of(factor) {
        number /= factor;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_amounts() {
        for amount in [8_192, 6_561, 13_122, 1 << 40, 94_143_178_827, 2 * 94_143_178_827] {
            assert!(is_odd(amount) && !is_decimal(amount), "{amount}");
        }
        for amount in [5_000, 10_000, 20_000, 50_000, 100_000_000, 500_000_000_000] {
            assert!(!is_odd(amount) && is_decimal(amount), "{amount}");
        }
        for amount in [0, 1, 4_096, 4_374, 2_000, 4_999, 5_001, 30_000, 26_244, 15_000_000, u64::MAX] {
            assert!(!is_odd(amount) && !is_decimal(amount), "{amount}");
        }
    }
}
