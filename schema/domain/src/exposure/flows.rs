//! Follows parts through transactions in the order of the chain, and finds the way of a part back.

use std::{
    collections::{BTreeMap, HashMap},
    rc::Rc,
};

use cairn_model::{Outpoint, Sats, TxNum};

use super::{
    Part, TracedTx,
    spread::{Brought, Passed},
};

/// A transaction on the way of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The transaction.
    pub tx: TxNum,
    /// The input that brings the part; the largest one, if there are several.
    pub vin: u32,
    /// The output that takes it on.
    pub vout: u32,
    /// Value of the output.
    pub value: Sats,
    /// Haircut of the part in the output, in millionths of a satoshi: of all ways of this length together.
    pub haircut: u128,
    /// The same by FIFO, in satoshis.
    pub fifo: Sats,
}

/// Transactions and what their inputs brought.
#[derive(Debug)]
pub(super) struct Flows {
    hops: u8,
    /// The part that stands for all that moves too far.
    beyond: Option<Part>,
    /// The part of a coin of which nothing else is known.
    unknown: Option<Part>,
    /// Coins that are one part: where a trace begins, or ends.
    pub(super) starts: HashMap<Outpoint, Option<Part>>,
    /// Parts of coins that these transactions made, which are not passed.
    pub(super) barred: HashMap<TxNum, Part>,
    passed: BTreeMap<TxNum, Passed>,
    /// Amounts that may still be computed.
    steps: usize,
}

impl Flows {
    pub(super) fn new(hops: u8, beyond: Option<Part>, steps: usize) -> Self {
        let (starts, barred, passed) = (HashMap::new(), HashMap::new(), BTreeMap::new());
        Flows { hops, beyond, unknown: beyond, starts, barred, passed, steps }
    }

    /// Adds the parts of a coin to what a transaction brings.
    fn bring(&self, coin: Outpoint, value: Sats, brought: &mut Brought) {
        if let Some(part) = self.starts.get(&coin) {
            brought.add_whole(*part, value);
        } else if let Some(passed) = self.passed.get(&coin.tx_num) {
            brought.add_output(passed, coin.vout);
        } else {
            brought.add_whole(self.barred.get(&coin.tx_num).copied().or(self.unknown), value);
        }
    }

    fn amounts(&self, coin: Outpoint, value: Sats, part: Part) -> Option<(u128, Sats)> {
        match self.starts.get(&coin) {
            Some(start) => (*start == Some(part)).then_some((u128::from(value) * super::spread::MILLIONTHS, value)),
            None => self.passed.get(&coin.tx_num)?.amounts(coin.vout, part),
        }
    }

    /// Takes a transaction through; those that made its coins first. False if that is too much work.
    pub(super) fn pass(&mut self, tx: Rc<TracedTx>) -> bool {
        let size = |coin: &Outpoint| match self.passed.get(&coin.tx_num) {
            Some(passed) if !self.starts.contains_key(coin) => passed.size(),
            _ => 1,
        };
        let work: usize = tx.inputs.iter().map(|input| size(&input.coin)).sum();
        if !self.take_steps(work) {
            return false;
        }
        let mut brought = Brought::new(self.hops, self.beyond);
        tx.inputs.iter().for_each(|input| self.bring(input.coin, input.value, &mut brought));
        let passed = Passed::new(tx, brought);
        self.passed.insert(passed.tx.tx_num, passed);
        true
    }

    /// Takes steps from what may still be computed; false if there are not as many.
    pub(super) fn take_steps(&mut self, steps: usize) -> bool {
        let left = self.steps.checked_sub(steps);
        self.steps = left.unwrap_or(self.steps);
        left.is_some()
    }

    /// Steps that were taken out of `all`.
    pub(super) fn steps_taken(&self, all: usize) -> usize {
        all.saturating_sub(self.steps)
    }

    /// Number of amounts that a coin takes.
    pub(super) fn size(&self, coin: Outpoint) -> usize {
        self.passed.get(&coin.tx_num).map_or(1, Passed::size)
    }

    pub(super) fn passed(&self, tx: TxNum) -> Option<&Passed> {
        self.passed.get(&tx)
    }

    pub(super) fn all_passed(&self) -> impl Iterator<Item = &Passed> {
        self.passed.values()
    }

    /// The way of a part to a coin, from where it begins on. At each transaction, the input that brings the most of it.
    pub(super) fn way(&self, end: Outpoint, part: Part) -> Vec<Step> {
        let (mut steps, mut coin, mut part) = (Vec::new(), end, part);
        while part.hop > 0 {
            let Some(passed) = self.passed.get(&coin.tx_num) else { break };
            let value = passed.tx.outputs.get(coin.vout as usize).map_or(0, |output| output.value);
            let (haircut, fifo) = passed.amounts(coin.vout, part).unwrap_or_default();
            let before = Part { hop: part.hop - 1, ..part };
            let brings = (0u32..).zip(&passed.tx.inputs).filter_map(|(vin, input)| {
                let (haircut, fifo) = self.amounts(input.coin, input.value, before)?;
                Some(((haircut, fifo, std::cmp::Reverse(vin)), vin, input.coin))
            });
            let Some((_, vin, from)) = brings.max_by_key(|(key, ..)| *key) else { break };
            steps.push(Step { tx: coin.tx_num, vin, vout: coin.vout, value, haircut, fifo });
            (coin, part) = (from, before);
        }
        steps.reverse();
        steps
    }
}
