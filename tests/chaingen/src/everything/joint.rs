//! Transactions of several owners: CoinJoins and their like.

use bitcoin::sighash::EcdsaSighashType as Kind;
use bitcoin::{OutPoint, TxOut};
use rand::Rng;

use super::recipes::pay;
use super::{Everything, Joint};
use crate::{Error, Lock, Style};

/// Least satoshis that a participant must bring.
const LEAST: u64 = 200_000;
/// Satoshis that each participant pays for the transaction.
const FEE: u64 = 1_000;

/// One side of a joint transaction.
struct Side {
    owner: u32,
    coins: Vec<OutPoint>,
    sats: u64,
}

impl Everything {
    /// The joint transactions of a block: each kind that is wanted, every other time.
    pub(super) fn joint_txs(&mut self) -> Result<(), Error> {
        for kind in self.shared.as_ref().map(|owners| owners.joint.clone()).unwrap_or_default() {
            if self.rng.random_bool(0.5) {
                self.joint_tx(kind)?;
            }
        }
        Ok(())
    }

    fn joint_tx(&mut self, kind: Joint) -> Result<(), Error> {
        let wanted = match kind {
            Joint::CoinJoin => 5..=9,
            Joint::Pledge | Joint::Mixer => 3..=6,
            Joint::PayJoin => 2..=2,
        };
        let (least, most) = (*wanted.start(), *wanted.end());
        let wanted = self.rng.random_range(least..=most);
        let sides = self.sides(wanted);
        if sides.len() < least {
            return Ok(());
        }
        let outputs = match kind {
            Joint::CoinJoin => self.equal_outputs(&sides)?,
            Joint::Pledge => {
                let payee = self.any_owner();
                let sum: u64 = sides.iter().map(|side| side.sats - FEE).sum();
                vec![pay(sum, self.fresh(payee)?)]
            }
            Joint::PayJoin => {
                let amount = self.rng.random_range(LEAST / 4..sides[1].sats / 2);
                let payee = pay(sides[0].sats + amount, self.payee(sides[0].owner)?);
                vec![payee, pay(sides[1].sats - amount - FEE, self.fresh(sides[1].owner)?)]
            }
            Joint::Mixer => self.unequal_outputs(&sides)?,
        };
        let sighash = if kind == Joint::Pledge { vec![Kind::AllPlusAnyoneCanPay] } else { Vec::new() };
        let coins: Vec<OutPoint> = sides.into_iter().flat_map(|side| side.coins).collect();
        if let Some(txid) = self.try_spend(&coins, outputs, &Style { sighash, ..Style::default() })? {
            self.truth.note(txid, kind);
        }
        Ok(())
    }

    /// Coins of different owners, one or two of each, as many owners as can be found in some tries.
    fn sides(&mut self, wanted: usize) -> Vec<Side> {
        let mut sides: Vec<Side> = Vec::new();
        for _ in 0..4 * wanted {
            if sides.len() == wanted {
                break;
            }
            let owner = self.any_owner();
            let count = self.rng.random_range(1..=2);
            let mut coins = self.pick_of(Some(owner), count);
            // Only what needs a signature: the others say nothing about who spends them.
            coins.retain(|coin| self.is_signed(coin));
            let sats = self.value(&coins);
            if sats >= LEAST && sides.iter().all(|side| side.owner != owner) {
                sides.push(Side { owner, coins, sats });
            }
        }
        sides
    }

    fn is_signed(&mut self, coin: &OutPoint) -> bool {
        let Some(script) = self.builder.coin(coin).map(|coin| coin.txout.script_pubkey.clone()) else { return false };
        !matches!(self.builder.keyring().lock(&script), None | Some(Lock::Open { .. }))
    }

    /// One output of the same value for each side, then the change of each.
    fn equal_outputs(&mut self, sides: &[Side]) -> Result<Vec<TxOut>, Error> {
        let poorest = sides.iter().map(|side| side.sats).min().unwrap_or(LEAST);
        // Not a half: change that nearly equals the share looks like one owner's division, and no detector takes it for
        // more.
        let share = poorest / 10 * self.rng.random_range(6..9);
        let mut outputs = Vec::new();
        for side in sides {
            outputs.push(pay(share, self.fresh(side.owner)?));
        }
        for side in sides {
            outputs.push(pay(side.sats - share - FEE, self.fresh(side.owner)?));
        }
        Ok(outputs)
    }

    /// Two outputs for each side; values are made different by a few satoshis more of fee.
    fn unequal_outputs(&mut self, sides: &[Side]) -> Result<Vec<TxOut>, Error> {
        let mut outputs: Vec<TxOut> = Vec::new();
        for side in sides {
            let first = self.rng.random_range(side.sats / 10..side.sats / 2);
            for mut value in [first, side.sats - first - FEE] {
                while outputs.iter().any(|output| output.value.to_sat() == value) {
                    value -= 1;
                }
                outputs.push(pay(value, self.fresh(side.owner)?));
            }
        }
        Ok(outputs)
    }
}
