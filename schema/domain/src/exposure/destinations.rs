//! Where the coins of a script went: amounts move forward to scripts with claims.

use std::{
    collections::{BTreeMap, HashMap},
    rc::Rc,
};

use cairn_model::{Outpoint, Sats, ScriptId, TxNum};

use super::{Chain, Flows, Limits, Origin, Part, Reached, Role, Spread, Stop, Trace, TracedTx, tally::Tally};

/// Traces the coins of a script that some transactions spent to where they went. The first of the transactions are read
/// first, if not all can be.
///
/// # Errors
/// Fails if a read fails.
pub fn trace_destinations<C: Chain>(
    chain: &mut C,
    subject: ScriptId,
    txs: &[TxNum],
    limits: Limits,
) -> Result<Trace, C::Error> {
    let mut followed = Followed::new(subject, limits);
    followed.spent_coins(chain, txs)?;
    followed.forward(chain)?;
    Ok(followed.trace())
}

/// The subject's own money at hop 0.
const OWN: Part = Part { origin: Origin::Own, hop: 0 };

/// A coin that the money reached.
struct Arrived {
    value: Sats,
    /// Where all of it ends; `None` if a transaction takes it on.
    end: Option<Origin>,
    /// The transaction that spends it, if it goes on.
    spender: Option<TxNum>,
}

/// The transactions that the coins of a script went through.
struct Followed {
    subject: ScriptId,
    limits: Limits,
    flows: Flows,
    /// The coins of the subject that were spent, with the spender.
    spent: Vec<(Outpoint, Sats, TxNum)>,
    txs_examined: usize,
    txs: BTreeMap<TxNum, Rc<TracedTx>>,
    /// Transactions that nothing is followed through.
    barred: HashMap<TxNum, Stop>,
    arrived: BTreeMap<Outpoint, Arrived>,
    left_out: u64,
}

impl Followed {
    fn new(subject: ScriptId, limits: Limits) -> Self {
        Followed {
            subject,
            limits,
            flows: Flows::new(limits.hops, None, limits.steps),
            spent: Vec::new(),
            txs_examined: 0,
            txs: BTreeMap::new(),
            barred: HashMap::new(),
            arrived: BTreeMap::new(),
            left_out: 0,
        }
    }

    /// Finds the coins to examine.
    fn spent_coins<C: Chain>(&mut self, chain: &mut C, txs: &[TxNum]) -> Result<(), C::Error> {
        for some in txs.chunks(super::CHUNK) {
            chain.announce(some)?;
            for number in some {
                if self.txs.len() >= self.limits.txs || self.spent.len() >= self.limits.coins {
                    return Ok(());
                }
                let Some(tx) = chain.transaction(*number)? else { continue };
                for input in tx.inputs.iter().filter(|input| input.script == self.subject) {
                    self.spent.push((input.coin, input.value, *number));
                    self.flows.starts.insert(input.coin, Some(OWN));
                }
                self.txs_examined += 1;
                self.txs.insert(*number, tx);
            }
        }
        Ok(())
    }

    /// Follows the coins, level by level: of later levels, the largest sums first.
    fn forward<C: Chain>(&mut self, chain: &mut C) -> Result<(), C::Error> {
        let mut level: Vec<TxNum> = Vec::new();
        for (.., spender) in &self.spent {
            if level.last() != Some(spender) {
                level.push(*spender);
            }
        }
        for hop in 1..=self.limits.hops {
            let coins = self.take_apart(chain, &level)?;
            let open = self.settle(chain, &coins)?;
            if hop == self.limits.hops || open.is_empty() {
                break;
            }
            let mut ordered: Vec<(TxNum, Sats)> = open.into_iter().collect();
            ordered.sort_unstable_by_key(|(number, sum)| (std::cmp::Reverse(*sum), *number));
            level = ordered.into_iter().map(|(number, _)| number).collect();
        }
        Ok(())
    }

    /// The new outputs of transactions, with their scripts. Bars transactions that nothing is followed through.
    fn take_apart<C: Chain>(&mut self, chain: &mut C, level: &[TxNum]) -> Result<Vec<NewCoin>, C::Error> {
        let mut found: Vec<NewCoin> = Vec::new();
        let mut count = self.arrived.len() + self.spent.len();
        for some in level.chunks(super::CHUNK) {
            chain.announce(some)?;
            for number in some {
                let first = Outpoint { tx_num: *number, vout: 0 };
                if self.barred.contains_key(number) || self.arrived.contains_key(&first) {
                    continue;
                }
                let known = self.txs.get(number).cloned();
                let tx = match known {
                    Some(tx) => Some(tx),
                    None if self.txs.len() < self.limits.txs => chain.transaction(*number)?,
                    None => None,
                };
                let Some(tx) = tx else {
                    self.barred.insert(*number, Stop::TransactionCap);
                    continue;
                };
                if tx.is_coinjoin {
                    self.barred.insert(*number, Stop::CoinJoin);
                } else if count + tx.outputs.len() > self.limits.coins {
                    self.left_out += tx.outputs.len() as u64;
                    self.barred.insert(*number, Stop::CoinCap);
                } else {
                    count += tx.outputs.len();
                    let coins = (0u32..).zip(&tx.outputs).map(|(vout, output)| NewCoin {
                        coin: Outpoint { tx_num: *number, vout },
                        value: output.value,
                        script: output.script,
                    });
                    found.extend(coins);
                }
                self.txs.insert(*number, tx);
            }
        }
        Ok(found)
    }

    /// Notes where coins end. Gives the transactions that spend the others, with the sums.
    fn settle<C: Chain>(&mut self, chain: &mut C, coins: &[NewCoin]) -> Result<HashMap<TxNum, Sats>, C::Error> {
        let scripts: Vec<ScriptId> = coins.iter().filter_map(|coin| coin.script).collect();
        let mut roles = chain.roles(&scripts)?.into_iter();
        let mut open: HashMap<TxNum, Sats> = HashMap::new();
        let mut spenders: Option<(TxNum, Rc<[(u32, TxNum)]>)> = None;
        for NewCoin { coin, value, script } in coins {
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
                spender = of.iter().find(|(vout, _)| *vout == coin.vout).map(|(_, spender)| *spender);
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
            self.arrived.insert(*coin, Arrived { value: *value, end, spender });
        }
        Ok(open)
    }

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
    fn trace(mut self) -> Trace {
        let mut tally = Tally::default();
        for (number, tx) in std::mem::take(&mut self.txs) {
            if self.barred.contains_key(&number) {
                continue;
            }
            if !self.flows.pass(tx) {
                self.barred.insert(number, Stop::WorkCap);
            }
        }
        for (_, value, spender) in &self.spent {
            tally.examined = tally.examined.saturating_add(*value);
            if let Some(stop) = self.barred.get(spender) {
                let end = Part { origin: Origin::Stop(*stop), hop: 0 };
                tally.add(&Spread::whole(Some(end), *value), *value, Some);
            }
        }
        self.flows.all_passed().for_each(|passed| tally.add_fee(&passed.fee()));
        let mut reached = Vec::new();
        for (coin, arrived) in &self.arrived {
            let Some(passed) = self.flows.passed(coin.tx_num) else { continue };
            let spread = passed.output(coin.vout);
            tally.add(&spread, arrived.value, |part| self.counts_as(arrived, part));
            if let Some(Origin::Source(source)) = arrived.end {
                for (part, (haircut, fifo)) in spread.sums() {
                    reached.push(Reached { coin: *coin, source, part, value: arrived.value, haircut, fifo });
                }
            }
        }
        Trace {
            tally,
            reached,
            flows: self.flows,
            transactions: self.txs_examined as u64,
            coins: (self.arrived.len() + self.spent.len()) as u64,
            left_out_coins: self.left_out,
            left_out_paths: 0,
        }
    }

    /// The end that a part of a coin counts for; `None` if it went on.
    fn counts_as(&self, arrived: &Arrived, part: Part) -> Option<Part> {
        let stop = || {
            let barred = arrived.spender.and_then(|spender| self.barred.get(&spender)).copied();
            match barred {
                Some(Stop::CoinJoin) => Some(Stop::CoinJoin),
                _ if part.hop >= self.limits.hops => Some(Stop::HopLimit),
                barred => barred,
            }
        };
        let origin = arrived.end.or_else(|| stop().map(Origin::Stop))?;
        Some(Part { origin, hop: part.hop })
    }
}

/// A coin that is looked at for the first time.
struct NewCoin {
    coin: Outpoint,
    value: Sats,
    script: Option<ScriptId>,
}
