//! Where the coins of a script came from: ancestors are collected backward, then amounts move forward.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    rc::Rc,
};

use cairn_model::{Outpoint, Sats, ScriptId, TxNum};

use super::{
    Chain, Flows, Limits, Origin, Part, Reached, Role, Spread, Stop, Trace, TracedInput, TracedTx, tally::Tally,
};

/// Traces the coins that some transactions paid to a script back to their sources. The first of the transactions are
/// read first, if not all can be.
///
/// # Errors
/// Fails if a read fails.
pub fn trace_sources<C: Chain>(
    chain: &mut C,
    subject: ScriptId,
    txs: &[TxNum],
    limits: Limits,
) -> Result<Trace, C::Error> {
    let mut collected = Collected::new(subject, limits);
    collected.subject_coins(chain, txs)?;
    collected.ancestors(chain)?;
    Ok(collected.trace())
}

/// A coin of the subject.
struct Examined {
    coin: Outpoint,
    value: Sats,
    is_mined: bool,
}

/// The transactions behind the coins of a script.
struct Collected {
    subject: ScriptId,
    limits: Limits,
    flows: Flows,
    /// The coins of the subject, in the order in which they were found.
    examined: Vec<Examined>,
    txs_examined: usize,
    /// Transactions by number; they are taken through if they are not barred.
    txs: BTreeMap<TxNum, Rc<TracedTx>>,
    /// Inputs that were looked at.
    coins: HashSet<Outpoint>,
    left_out: u64,
}

impl Collected {
    fn new(subject: ScriptId, limits: Limits) -> Self {
        Collected {
            subject,
            limits,
            flows: Flows::new(limits.hops, Some(Part::LIMIT), limits.steps),
            examined: Vec::new(),
            txs_examined: 0,
            txs: BTreeMap::new(),
            coins: HashSet::new(),
            left_out: 0,
        }
    }

    /// Finds the coins to examine.
    fn subject_coins<C: Chain>(&mut self, chain: &mut C, txs: &[TxNum]) -> Result<(), C::Error> {
        for some in txs.chunks(super::CHUNK) {
            chain.announce(some)?;
            for number in some {
                if self.txs.len() >= self.limits.txs || self.examined.len() >= self.limits.coins {
                    return Ok(());
                }
                let Some(tx) = chain.transaction(*number)? else { continue };
                let mine = (0u32..).zip(&tx.outputs).filter(|(_, output)| output.script == Some(self.subject));
                self.examined.extend(mine.map(|(vout, output)| Examined {
                    coin: Outpoint { tx_num: *number, vout },
                    value: output.value,
                    is_mined: tx.is_coinbase,
                }));
                self.txs_examined += 1;
                self.txs.insert(*number, tx);
            }
        }
        Ok(())
    }

    /// Collects the ancestors, level by level: of later levels, those behind the largest sums first.
    fn ancestors<C: Chain>(&mut self, chain: &mut C) -> Result<(), C::Error> {
        let mut level: Vec<TxNum> = Vec::new();
        for Examined { coin, .. } in &self.examined {
            if level.last() != Some(&coin.tx_num) {
                level.push(coin.tx_num);
            }
        }
        for hop in 1..=self.limits.hops {
            let inputs = self.take_apart(chain, &level)?;
            let scripts: Vec<ScriptId> = inputs.iter().map(|input| input.script).collect();
            let roles = chain.roles(&scripts)?;
            let mut next: HashMap<TxNum, Sats> = HashMap::new();
            for (input, role) in inputs.iter().zip(roles) {
                match self.start_of(input, role) {
                    Some(origin) => {
                        self.flows.starts.insert(input.coin, Some(Part { origin, hop: 0 }));
                    }
                    None => {
                        let sum = next.entry(input.coin.tx_num).or_default();
                        *sum = sum.saturating_add(input.value);
                    }
                }
            }
            if hop == self.limits.hops || next.is_empty() {
                break;
            }
            let mut ordered: Vec<(TxNum, Sats)> = next.into_iter().collect();
            ordered.sort_unstable_by_key(|(number, sum)| (std::cmp::Reverse(*sum), *number));
            level = ordered.into_iter().map(|(number, _)| number).collect();
        }
        Ok(())
    }

    /// The inputs of transactions that were not found before. Bars transactions that nothing is followed through.
    fn take_apart<C: Chain>(&mut self, chain: &mut C, level: &[TxNum]) -> Result<Vec<TracedInput>, C::Error> {
        let mut found = Vec::new();
        for some in level.chunks(super::CHUNK) {
            chain.announce(some)?;
            for number in some {
                if self.flows.barred.contains_key(number) {
                    continue;
                }
                let known = self.txs.get(number).cloned();
                let tx = match known {
                    Some(tx) => Some(tx),
                    None if self.txs.len() < self.limits.txs => chain.transaction(*number)?,
                    None => None,
                };
                let Some(tx) = tx else {
                    self.bar(*number, Stop::TransactionCap);
                    continue;
                };
                let new: Vec<TracedInput> =
                    tx.inputs.iter().filter(|input| !self.coins.contains(&input.coin)).copied().collect();
                self.txs.insert(*number, Rc::clone(&tx));
                if tx.is_coinjoin {
                    self.bar(*number, Stop::CoinJoin);
                } else if self.examined.len() + self.coins.len() + new.len() > self.limits.coins {
                    self.left_out += new.len() as u64;
                    self.bar(*number, Stop::CoinCap);
                } else {
                    self.coins.extend(new.iter().map(|input| input.coin));
                    found.extend(new);
                }
            }
        }
        Ok(found)
    }

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
    fn trace(mut self) -> Trace {
        for (number, tx) in std::mem::take(&mut self.txs) {
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
            transactions: self.txs_examined as u64,
            coins: (self.examined.len() + self.coins.len()) as u64,
            left_out_coins: self.left_out,
            left_out_paths,
        }
    }
}
