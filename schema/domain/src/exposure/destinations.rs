//! Where the coins of a script went: amounts move forward to scripts with claims.

use std::{collections::HashMap, rc::Rc};

use cairn_model::{Outpoint, Sats, ScriptId, TxNum};

use super::{
    Chain, Flows, Limits, Origin, Part, Reached, Role, Spread, Stop, Trace, TracedTx,
    levels::{Levels, Side},
    tally::Tally,
};

/// Traces the coins of a script that some transactions spent to where they went. The first of the transactions are read
/// first, if not all can be.
pub(super) fn trace_destinations<C: Chain>(
    chain: &mut C,
    subject: ScriptId,
    txs: &[TxNum],
    limits: Limits,
) -> Result<Trace, C::Error> {
    let flows = Flows::new(limits.hops, None, limits.steps);
    let mut followed = Followed { subject, hops: limits.hops, flows, spent: Vec::new(), arrived: Vec::new() };
    let levels = Levels::collect(chain, &mut followed, txs, limits)?;
    Ok(followed.trace(levels, txs.len()))
}

/// The subject's own money at hop 0.
const OWN: Part = Part { origin: Origin::Own, hop: 0 };

/// A coin that the money reached.
struct Arrived {
    coin: Outpoint,
    value: Sats,
    /// Where all of it ends; `None` if a transaction takes it on.
    end: Option<Origin>,
    /// The transaction that spends it, if it goes on.
    spender: Option<TxNum>,
}

/// A coin that is looked at for the first time.
struct NewCoin {
    coin: Outpoint,
    value: Sats,
    script: Option<ScriptId>,
}

/// The coins of a script that were spent, and those that their money reached.
struct Followed {
    subject: ScriptId,
    hops: u8,
    flows: Flows,
    /// The coins of the subject that were spent, with the spender.
    spent: Vec<(Outpoint, Sats, TxNum)>,
    /// Each coin once: the coins of a transaction are taken once.
    arrived: Vec<Arrived>,
}

impl Side for Followed {
    type Coin = NewCoin;

    fn own_coins(&mut self, tx: &TracedTx) -> usize {
        let before = self.spent.len();
        for input in tx.inputs.iter().filter(|input| input.script == self.subject) {
            self.spent.push((input.coin, input.value, tx.tx_num));
            self.flows.starts.insert(input.coin, Some(OWN));
        }
        self.spent.len() - before
    }

    fn count_far(&self, tx: &TracedTx) -> usize {
        tx.outputs.len()
    }

    fn add_far(&self, tx: &TracedTx, coins: &mut Vec<NewCoin>) {
        let coin = |(vout, output): (u32, &super::TracedOutput)| NewCoin {
            coin: Outpoint { tx_num: tx.tx_num, vout },
            value: output.value,
            script: output.script,
        };
        coins.extend((0u32..).zip(&tx.outputs).map(coin));
    }

    fn settle<C: Chain>(&mut self, chain: &mut C, coins: Vec<NewCoin>) -> Result<HashMap<TxNum, Sats>, C::Error> {
        let scripts: Vec<ScriptId> = coins.iter().filter_map(|coin| coin.script).collect();
        let mut roles = chain.roles(&scripts)?.into_iter();
        let mut open: HashMap<TxNum, Sats> = HashMap::new();
        let mut spenders: Option<(TxNum, Rc<[(u32, TxNum)]>)> = None;
        for NewCoin { coin, value, script } in &coins {
            let role = script.and_then(|_| roles.next());
            let (mut end, mut spender) = (self.end_of(*script, role.unwrap_or_default()), None);
            if end.is_none() {
                let of = match &spenders {
                    Some((tx, of)) if *tx == coin.tx_num => Rc::clone(of),
                    _ => {
                        let of = chain.spenders(coin.tx_num)?;
                        spenders = Some((coin.tx_num, Rc::clone(&of)));
                        of
                    }
                };
                spender = of.binary_search_by_key(&coin.vout, |(vout, _)| *vout).ok().map(|at| of[at].1);
                match spender {
                    None => end = Some(Origin::Stop(Stop::Held)),
                    Some(spender) => {
                        let sum = open.entry(spender).or_default();
                        *sum = sum.saturating_add(*value);
                    }
                }
            }
            if end.is_some() {
                // Nothing of it goes on. Own coins that came back are starts of their own.
                self.flows.starts.entry(*coin).or_insert(None);
            }
            self.arrived.push(Arrived { coin: *coin, value: *value, end, spender });
        }
        Ok(open)
    }
}

impl Followed {
    /// Where all money of a coin ends, by its script.
    fn end_of(&self, script: Option<ScriptId>, role: Role) -> Option<Origin> {
        match script {
            None => Some(Origin::Stop(Stop::Unspendable)),
            Some(script) if script == self.subject => Some(Origin::Stop(Stop::Returned)),
            Some(_) => role
                .source
                .map(Origin::Source)
                .or(role.is_service.then_some(Origin::Stop(Stop::Service)))
                .or(role.is_busy.then_some(Origin::Stop(Stop::Busy))),
        }
    }

    /// Moves the amounts forward, and sums up where they ended.
    fn trace(mut self, levels: Levels, given: usize) -> Trace {
        let Levels { txs, mut barred, examined: transactions, coins, left_out, .. } = levels;
        let mut tally = Tally::default();
        for (number, tx) in txs {
            if !barred.contains_key(&number) && !self.flows.pass(tx) {
                barred.insert(number, Stop::WorkCap);
            }
        }
        for (_, value, spender) in &self.spent {
            tally.examined = tally.examined.saturating_add(*value);
            if let Some(stop) = barred.get(spender) {
                let end = Part { origin: Origin::Stop(*stop), hop: 0 };
                tally.add(&Spread::whole(Some(end), *value), *value, Some);
            }
        }
        self.flows.all_passed().for_each(|passed| tally.add_fee(&passed.fee()));
        let mut reached = Vec::new();
        self.arrived.sort_unstable_by_key(|arrived| arrived.coin);
        for arrived in &self.arrived {
            let coin = arrived.coin;
            let Some(passed) = self.flows.passed(coin.tx_num) else { continue };
            let spread = passed.output(coin.vout);
            tally.add(&spread, arrived.value, |part| self.counts_as(&barred, arrived, part));
            if let Some(Origin::Source(source)) = arrived.end {
                for (part, (haircut, fifo)) in spread.sums() {
                    reached.push(Reached { coin, source, part, value: arrived.value, haircut, fifo });
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
            left_out_paths: 0,
        }
    }

    /// The end that a part of a coin counts for; `None` if it went on.
    fn counts_as(&self, barred: &HashMap<TxNum, Stop>, arrived: &Arrived, part: Part) -> Option<Part> {
        let stop = || {
            let barred = arrived.spender.and_then(|spender| barred.get(&spender)).copied();
            match barred {
                Some(Stop::CoinJoin) => Some(Stop::CoinJoin),
                _ if part.hop >= self.hops => Some(Stop::HopLimit),
                barred => barred,
            }
        };
        let origin = arrived.end.or_else(|| stop().map(Origin::Stop))?;
        Some(Part { origin, hop: part.hop })
    }
}
