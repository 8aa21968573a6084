//! Transactions that move much, and those that gather many coins.

use cairn_model::{Block, OutputMeta, Sats, ScriptId, TxMeta};

use crate::coinjoin::{self, Resolved, is_coinjoin};

/// Satoshis from which a transfer is large.
pub const LARGE_SATS: Sats = 100 * 100_000_000;
/// Least number of inputs of a consolidation.
pub const GATHERED_INPUTS: usize = 10;
/// Least number of inputs for each output of a consolidation.
pub const GATHERED_RATIO: usize = 5;

/// Satoshis of inputs from which a consolidation is announced: most gather little.
pub const ANNOUNCED_CONSOLIDATION: Sats = 10 * 100_000_000;

/// Version of these rules: it grows with every change that can change an answer, also of the detectors of CoinJoins.
pub const RULES: u32 = 1;

// A change of the detectors must raise the version above, too.
const _: () = assert!(coinjoin::RULES == 1);

/// A transaction that pays [`LARGE_SATS`] or more to scripts that it does not spend from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LargeTransfer {
    /// Satoshis that it pays to these scripts.
    pub sats: Sats,
    /// True if it is a CoinJoin: nobody knows who pays whom.
    pub coinjoin: bool,
}

impl LargeTransfer {
    /// Returns the transfer that a transaction makes, if it is large. A coinbase is not a transfer, and unspendable
    /// outputs do not count.
    #[must_use]
    pub fn of(block: &Block, tx: &TxMeta) -> Option<Self> {
        let outputs = block.outputs_of(tx);
        // Nearly all pay less than the limit in total, which needs no list to find out.
        let all = outputs.iter().map(|output| output.value).fold(0, Sats::saturating_add);
        if all < LARGE_SATS || tx.inputs.is_empty() {
            return None;
        }
        let mut own: Vec<ScriptId> = block.inputs_of(tx).iter().map(|coin| coin.script).collect();
        own.sort_unstable();
        let is_paid = |output: &&OutputMeta| output.spendable && own.binary_search(&output.id).is_err();
        let sats = outputs.iter().filter(is_paid).map(|output| output.value).fold(0, Sats::saturating_add);
        let is_large = sats >= LARGE_SATS;
        is_large.then(|| LargeTransfer { sats, coinjoin: is_coinjoin(&Resolved::of(block, tx)) })
    }
}

/// True for numbers of inputs and outputs that make a consolidation.
#[must_use]
pub const fn gathers(inputs: usize, outputs: usize) -> bool {
    inputs >= GATHERED_INPUTS && inputs >= outputs.saturating_mul(GATHERED_RATIO)
}

/// A transaction that gathers many coins in few and is not a CoinJoin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Consolidation {
    /// Inputs.
    pub inputs: u32,
    /// Outputs, unspendable ones included.
    pub outputs: u32,
    /// Sum of the inputs, in satoshis.
    pub sats: Sats,
}

impl Consolidation {
    /// Returns the consolidation that a transaction makes, if it is one.
    #[must_use]
    pub fn of(block: &Block, tx: &TxMeta) -> Option<Self> {
        if !gathers(tx.inputs.len(), tx.outputs.len()) || is_coinjoin(&Resolved::of(block, tx)) {
            return None;
        }
        let sats = block.inputs_of(tx).iter().map(|coin| coin.value).fold(0, Sats::saturating_add);
        Some(Consolidation { inputs: tx.inputs.len() as u32, outputs: tx.outputs.len() as u32, sats })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_coins_in_few() {
        assert!(gathers(10, 1) && gathers(10, 2) && gathers(15, 3));
        assert!(!gathers(9, 1) && !gathers(10, 3) && !gathers(14, 3) && !gathers(0, 0));
    }
}
