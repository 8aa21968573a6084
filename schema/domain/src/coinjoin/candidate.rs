//! Common parts of the detectors: the quick rejection, the most frequent amount, and counts of scripts.

use cairn_model::{Sats, ScriptTemplate, each_once, is_unspendable};

use super::Shape;

/// A CoinJoin has several payers.
const MIN_INPUTS: usize = 2;
/// Two equal outputs and one that differs, or three equal ones.
const MIN_OUTPUTS: usize = 3;

/// A transaction that some detector may accept: several inputs, equal amounts among its outputs, and no output that
/// carries data. (None of the programs makes such an output, while issuers of tokens pay equal amounts beside one.)
pub(super) struct Candidate<'a, S> {
    pub(super) tx: &'a S,
    /// Amounts of the outputs, ascending.
    pub(super) amounts: Vec<Sats>,
    /// The most frequent amount; the largest of several.
    pub(super) amount: Sats,
    /// How many outputs have it.
    pub(super) equal: usize,
}

impl<'a, S: Shape> Candidate<'a, S> {
    pub(super) fn of(tx: &'a S) -> Option<Self> {
        if tx.inputs() < MIN_INPUTS || tx.outputs() < MIN_OUTPUTS {
            return None;
        }
        let mut amounts: Vec<Sats> = (0..tx.outputs()).map(|at| tx.output_value(at)).collect();
        amounts.sort_unstable();
        let (equal, amount) = runs(&amounts).map(|(amount, count)| (count, amount)).max()?;
        if equal < 2 || (0..tx.outputs()).any(|at| is_unspendable(tx.output_script(at))) {
            return None;
        }
        Some(Candidate { tx, amounts, amount, equal })
    }

    pub(super) fn inputs(&self) -> usize {
        self.tx.inputs()
    }

    pub(super) fn outputs(&self) -> usize {
        self.amounts.len()
    }

    /// Outputs with another amount than the most frequent one.
    pub(super) fn others(&self) -> usize {
        self.outputs() - self.equal
    }

    /// The largest amount besides the most frequent one.
    pub(super) fn largest_other(&self) -> Option<Sats> {
        self.amounts.iter().rev().copied().find(|amount| *amount != self.amount)
    }

    /// Each amount of the outputs, and how many outputs have it.
    pub(super) fn runs(&self) -> impl Iterator<Item = (Sats, usize)> + '_ {
        runs(&self.amounts)
    }

    pub(super) fn input_values(&self) -> impl Iterator<Item = Sats> + '_ {
        (0..self.inputs()).map(|at| self.tx.input_value(at))
    }

    pub(super) fn input_templates(&self) -> impl Iterator<Item = ScriptTemplate> + '_ {
        (0..self.inputs()).map(|at| self.tx.input_template(at))
    }

    pub(super) fn output_templates(&self) -> impl Iterator<Item = (Sats, ScriptTemplate)> + '_ {
        let template = |at| ScriptTemplate::of(self.tx.output_script(at));
        (0..self.outputs()).map(move |at| (self.tx.output_value(at), template(at)))
    }

    /// Number of different scripts that the inputs spend.
    pub(super) fn input_scripts(&self) -> usize {
        distinct((0..self.inputs()).map(|at| self.tx.input_script(at)))
    }

    /// Number of different scripts that the outputs pay.
    pub(super) fn output_scripts(&self) -> usize {
        distinct((0..self.outputs()).map(|at| self.tx.output_script(at)))
    }
}

fn runs(sorted: &[Sats]) -> impl Iterator<Item = (Sats, usize)> + '_ {
    sorted.chunk_by(|a, b| a == b).filter_map(|run| Some((*run.first()?, run.len())))
}

fn distinct<T: Ord>(items: impl Iterator<Item = T>) -> usize {
    each_once(items).len()
}
