//! Where the coins of a script came from: ancestors are collected backward, then amounts move forward.

use std::collections::HashMap;

use cairn_model::{Outpoint, Sats, ScriptId, TxNum};

use super::{
    Chain, Flows, Limits, Origin, Part, Reached, Role, Spread, Stop, Trace, TracedInput, TracedTx,
    levels::{Levels, Side},
    tally::Tally,
};

/// Traces the coins that some transactions paid to a script back to their sources. The first of the transactions are
/// read first, if not all can be.
pub(super) fn trace_sources<C: Chain>(
    chain: &mut C,
    subject: ScriptId,
    txs: &[TxNum],
    limits: Limits,
) -> Result<Trace, C::Error> {
    let flows = Flows::new(limits.hops, Some(Part::LIMIT), limits.steps);
    let mut ancestry = Ancestry { subject, flows, examined: Vec::new() };
    let levels = Levels::collect(chain, &mut ancestry, txs, limits)?;
    Ok(ancestry.trace(levels, txs.len()))
}

struct Examined {
    coin: Outpoint,
    value: Sats,
    is_mined: bool,
}

/// The coins of a script, and where those behind them begin.
struct Ancestry {
    subject: ScriptId,
    flows: Flows,
    /// The coins of the subject, in the order in which they were found.
    examined: Vec<Examined>,
}

impl Side for Ancestry {
    type Coin = TracedInput;

    fn own_coins(&mut self, tx: &TracedTx) -> usize {
        let before = self.examined.len();
        let mine = (0u32..).zip(&tx.outputs).filter(|(_, output)| output.script == Some(self.subject));
        self.examined.extend(mine.map(|(vout, output)| Examined {
            coin: Outpoint { tx_num: tx.tx_num, vout },
            value: output.value,
            is_mined: tx.is_coinbase,
        }));
        self.examined.len() - before
    }

    fn count_far(&self, tx: &TracedTx) -> usize {
        tx.inputs.len()
    }

    fn add_far(&self, tx: &TracedTx, coins: &mut Vec<TracedInput>) {
        coins.extend_from_slice(&tx.inputs);
    }

    fn settle<C: Chain>(&mut self, chain: &mut C, inputs: Vec<TracedInput>) -> Result<HashMap<TxNum, Sats>, C::Error> {
        let scripts: Vec<ScriptId> = inputs.iter().map(|input| input.script).collect();
        let roles = chain.roles(&scripts)?;
        let mut open: HashMap<TxNum, Sats> = HashMap::new();
        for (input, role) in inputs.iter().zip(roles) {
            match self.start_of(input, role) {
                Some(origin) => {
                    self.flows.starts.insert(input.coin, Some(Part { origin, hop: 0 }));
                }
                None => {
                    let sum = open.entry(input.coin.tx_num).or_default();
                    *sum = sum.saturating_add(input.value);
                }
            }
        }
        Ok(open)
    }
}

impl Ancestry {
    fn bar(&mut self, tx: TxNum, stop: Stop) {
        self.flows.barred.insert(tx, Part { origin: Origin::Stop(stop), hop: 1 });
    }

    /// Where the trace of a coin ends; `None` if it goes on.
    fn start_of(&self, input: &TracedInput, role: Role) -> Option<Origin> {
        let is_own = input.script == self.subject;
        let source = role.source.filter(|_| !is_own).map(Origin::Source);
        let mined = input.is_coinbase.then_some(Origin::Mined);
        let service = (role.is_service && !is_own).then_some(Origin::Stop(Stop::Service));
        source.or(mined).or(service).or(role.is_busy.then_some(Origin::Stop(Stop::Busy)))
    }

    /// Moves the amounts forward, and sums up what the coins of the subject are of.
    fn trace(mut self, levels: Levels, given: usize) -> Trace {
        let Levels { txs, barred, examined: transactions, coins, left_out, .. } = levels;
        barred.into_iter().for_each(|(tx, stop)| self.bar(tx, stop));
        for (number, tx) in txs {
            if tx.is_coinbase || self.flows.barred.contains_key(&number) {
                continue;
            }
            if !self.flows.pass(tx) {
                self.bar(number, Stop::WorkCap);
            }
        }
        let (mut tally, mut reached, mut left_out_paths) = (Tally::default(), Vec::new(), 0);
        for Examined { coin, value, is_mined } in &self.examined {
            tally.examined = tally.examined.saturating_add(*value);
            let size = self.flows.size(*coin);
            let end = match (is_mined, self.flows.barred.get(&coin.tx_num).copied()) {
                (true, _) => Some(Part { origin: Origin::Mined, hop: 0 }),
                (false, Some(part)) => Some(part),
                (false, None) if self.flows.take_steps(size) => None,
                (false, None) => {
                    left_out_paths += 1;
                    Some(Part { origin: Origin::Stop(Stop::WorkCap), hop: 0 })
                }
            };
            // The subject's own role does not end the trace of what it received.
            let passed = self.flows.passed(coin.tx_num).filter(|_| end.is_none());
            let spread = passed.map_or_else(|| Spread::whole(end, *value), |passed| passed.output(coin.vout));
            tally.add(&spread, *value, Some);
            for (part, (haircut, fifo)) in spread.sums() {
                if let Origin::Source(source) = part.origin {
                    reached.push(Reached { coin: *coin, source, part, value: *value, haircut, fifo });
                }
            }
        }
        Trace {
            tally,
            reached,
            flows: self.flows,
            transactions: transactions as u64,
            left_out_transactions: given.saturating_sub(transactions) as u64,
            coins: coins as u64,
            left_out_coins: left_out,
            left_out_paths,
        }
    }
}
