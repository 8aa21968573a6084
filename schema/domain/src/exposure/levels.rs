//! Collects the transactions of a trace level by level, away from a script. Both directions use it.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
    rc::Rc,
};

use cairn_model::{Sats, TxNum};

use super::{CHUNK, Chain, Limits, Stop, TracedTx};

/// A direction of a trace: the side of a transaction that leads away from the subject.
pub(super) trait Side {
    /// A coin that a level finds.
    type Coin;

    /// Notes the coins of the subject in one of its transactions. Returns their number.
    fn own_coins(&mut self, tx: &TracedTx) -> usize;

    /// Returns the number of coins on the far side of a transaction.
    fn count_far(&self, tx: &TracedTx) -> usize;

    /// Appends the coins on the far side of a transaction.
    fn add_far(&self, tx: &TracedTx, coins: &mut Vec<Self::Coin>);

    /// Notes where coins end. Returns the transactions that the other coins lead to, with their sums.
    fn settle<C: Chain>(&mut self, chain: &mut C, coins: Vec<Self::Coin>) -> Result<HashMap<TxNum, Sats>, C::Error>;
}

pub(super) struct Levels {
    limits: Limits,
    /// All that were read, by number. Those that are not barred are taken through.
    pub(super) txs: BTreeMap<TxNum, Rc<TracedTx>>,
    /// Transactions that nothing is followed through.
    pub(super) barred: HashMap<TxNum, Stop>,
    /// Transactions whose coins were found.
    taken: HashSet<TxNum>,
    /// Transactions of the subject whose coins are examined.
    pub(super) examined: usize,
    /// Coins that were looked at.
    pub(super) coins: usize,
    /// Coins that were not, since there would be too many.
    pub(super) left_out: u64,
}

impl Levels {
    /// Collects from the transactions of the subject on: of later levels, those behind the largest sums first.
    pub(super) fn collect<C: Chain, S: Side>(
        chain: &mut C,
        side: &mut S,
        txs: &[TxNum],
        limits: Limits,
    ) -> Result<Self, C::Error> {
        let mut levels = Levels {
            limits,
            txs: BTreeMap::new(),
            barred: HashMap::new(),
            taken: HashSet::new(),
            examined: 0,
            coins: 0,
            left_out: 0,
        };
        let mut level = levels.own(chain, side, txs)?;
        for hop in 1..=limits.hops {
            let coins = levels.take_apart(chain, side, &level)?;
            let open = side.settle(chain, coins)?;
            if hop == limits.hops || open.is_empty() {
                break;
            }
            let mut ordered: Vec<(TxNum, Sats)> = open.into_iter().collect();
            ordered.sort_unstable_by_key(|(number, sum)| (Reverse(*sum), *number));
            level = ordered.into_iter().map(|(number, _)| number).collect();
        }
        Ok(levels)
    }

    /// Reads the transactions of the subject. Returns those with coins to examine.
    fn own<C: Chain, S: Side>(&mut self, chain: &mut C, side: &mut S, txs: &[TxNum]) -> Result<Vec<TxNum>, C::Error> {
        let mut level = Vec::new();
        for some in txs.chunks(CHUNK) {
            chain.announce(some)?;
            for number in some {
                if self.txs.len() >= self.limits.txs || self.coins >= self.limits.coins {
                    return Ok(level);
                }
                let Some(tx) = chain.transaction(*number)? else { continue };
                let count = side.own_coins(&tx);
                if count > 0 {
                    level.push(*number);
                }
                self.coins += count;
                self.examined += 1;
                self.txs.insert(*number, tx);
            }
        }
        Ok(level)
    }

    /// Finds the coins beyond transactions. Bars transactions that nothing is followed through.
    fn take_apart<C: Chain, S: Side>(
        &mut self,
        chain: &mut C,
        side: &S,
        level: &[TxNum],
    ) -> Result<Vec<S::Coin>, C::Error> {
        let mut found = Vec::new();
        for some in level.chunks(CHUNK) {
            chain.announce(some)?;
            for number in some {
                if self.barred.contains_key(number) || self.taken.contains(number) {
                    continue;
                }
                let tx = match self.txs.get(number).cloned() {
                    Some(known) => Some(known),
                    None if self.txs.len() < self.limits.txs => chain.transaction(*number)?,
                    None => None,
                };
                let Some(tx) = tx else {
                    self.barred.insert(*number, Stop::TransactionCap);
                    continue;
                };
                let new = side.count_far(&tx);
                if tx.is_coinjoin {
                    self.barred.insert(*number, Stop::CoinJoin);
                } else if self.coins + new > self.limits.coins {
                    self.left_out += new as u64;
                    self.barred.insert(*number, Stop::CoinCap);
                } else {
                    self.coins += new;
                    self.taken.insert(*number);
                    side.add_far(&tx, &mut found);
                }
                self.txs.insert(*number, tx);
            }
        }
        Ok(found)
    }
}
