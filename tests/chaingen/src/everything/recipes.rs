//! The transactions of the `everything` shape: random ones, and showpieces that take turns.

use std::ops::Range;

use bitcoin::absolute::LockTime;
use bitcoin::sighash::EcdsaSighashType as Kind;
use bitcoin::{Amount, OutPoint, ScriptBuf, Sequence, TxOut, Txid};
use rand::seq::IndexedRandom;
use rand::{Rng, RngCore};

use super::Everything;
use super::scripts::op_return;
use crate::{Error, Style};

const KINDS: [Kind; 6] = [
    Kind::All,
    Kind::None,
    Kind::Single,
    Kind::AllPlusAnyoneCanPay,
    Kind::NonePlusAnyoneCanPay,
    Kind::SinglePlusAnyoneCanPay,
];

impl Everything {
    pub(super) fn random_tx(&mut self) -> Result<(), Error> {
        let (inputs, outputs) = match self.rng.random_range(0..20) {
            0..10 => (self.rng.random_range(1..4), self.rng.random_range(1..4)),
            10..13 => (1, self.rng.random_range(5..40)),
            13..15 => (self.rng.random_range(5..30), 1),
            15 => (self.rng.random_range(5..15), self.rng.random_range(5..15)),
            _ => return self.run(),
        };
        let coins = self.pick(inputs);
        let outputs = self.outputs(&coins, outputs)?;
        let style = self.any_style();
        self.try_spend(&coins, outputs, &style)?;
        Ok(())
    }

    /// A few transactions in one block, each spending an output of the one before.
    fn run(&mut self) -> Result<(), Error> {
        let mut coins = self.pick(1);
        for _ in 0..self.rng.random_range(2..10) {
            let outputs = self.outputs(&coins, 2)?;
            let Some(txid) = self.try_spend(&coins, outputs, &Style::default())? else { break };
            coins = self.living(txid, 0..3);
            coins.truncate(1);
            if self.rng.random_bool(0.3) {
                coins.extend(self.pick(1));
                coins.dedup();
                coins = self.together(coins);
            }
            if coins.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// One of the large pieces, in turn.
    pub(super) fn showpiece(&mut self) -> Result<(), Error> {
        self.showpiece += 1;
        match self.showpiece % 8 {
            1 => self.fan_out(3_000),
            2 => self.fan_in(),
            3 => self.large_data(),
            4 => self.whole_block_chain(1_500),
            5 => self.dead_outputs(),
            6 => self.zero_values(),
            7 => self.self_payments(),
            _ => self.wide_witness(),
        }
    }

    /// One transaction with thousands of outputs, to few scripts.
    fn fan_out(&mut self, count: usize) -> Result<(), Error> {
        let coins = self.pick(2);
        let total = self.value(&coins);
        let scripts = (0..20).map(|_| self.cheap_script()).collect::<Result<Vec<_>, _>>()?;
        let each = total / (count as u64 + 1);
        let outputs = (0..count).map(|index| pay(each, scripts[index % scripts.len()].clone())).collect();
        if let Some(txid) = self.try_spend(&coins, outputs, &Style::default())? {
            self.fan = (0..count as u32).map(|vout| OutPoint { txid, vout }).collect();
        }
        Ok(())
    }

    /// One transaction that spends what is left of the last fan-out: thousands of inputs. SIGHASH_ANYONECANPAY keeps
    /// the signature hashes of old-style inputs from growing with the square of their count.
    fn fan_in(&mut self) -> Result<(), Error> {
        let fan = std::mem::take(&mut self.fan);
        let coins: Vec<OutPoint> = fan.into_iter().filter(|coin| self.builder.is_mature(coin)).collect();
        let coins = self.together(coins);
        let outputs = self.outputs(&coins, 2)?;
        let style = Style { sighash: vec![Kind::AllPlusAnyoneCanPay], ..Style::default() };
        self.try_spend(&coins, outputs, &style)?;
        Ok(())
    }

    /// OP_RETURN outputs of up to 80 kB, several in one transaction, one with a value that is burnt.
    fn large_data(&mut self) -> Result<(), Error> {
        let coins = self.pick(2);
        let mut outputs = self.outputs(&coins, 2)?;
        for length in [75, 76, 255, 256, 9_996, 80_000] {
            let mut data = vec![0; length];
            self.rng.fill_bytes(&mut data);
            outputs.push(pay(0, op_return(&data)));
        }
        outputs.insert(1, pay(0, op_return(b"burnt with a value")));
        let give = outputs[0].value.to_sat() / 10;
        outputs[0].value -= Amount::from_sat(give);
        outputs[1].value = Amount::from_sat(give);
        self.try_spend(&coins, outputs, &Style::default())?;
        Ok(())
    }

    /// Every transaction of the block spends the one before.
    fn whole_block_chain(&mut self, length: usize) -> Result<(), Error> {
        let mut coins = self.pick(1);
        let scripts = (0..8).map(|_| self.cheap_script()).collect::<Result<Vec<_>, _>>()?;
        for step in 0..length {
            let value = self.value(&coins);
            let outputs = vec![pay(value - value.min(10), scripts[step % scripts.len()].clone())];
            let Some(txid) = self.try_spend(&coins, outputs, &Style::default())? else { break };
            coins = vec![OutPoint { txid, vout: 0 }];
        }
        Ok(())
    }

    /// Outputs that nobody can or will spend, oversized ones among them, some with a value.
    fn dead_outputs(&mut self) -> Result<(), Error> {
        let coins = self.pick(3);
        let mut outputs = self.outputs(&coins, 3)?;
        for _ in 0..12 {
            outputs.push(pay(0, self.dead_script()));
        }
        outputs.push(pay(0, self.oversized_script()));
        let give = outputs[0].value.to_sat() / 20;
        for index in 3..outputs.len() {
            if self.rng.random_bool(0.5) {
                outputs[0].value -= Amount::from_sat(give);
                outputs[index].value = Amount::from_sat(give);
            }
        }
        self.try_spend(&coins, outputs, &Style::default())?;
        Ok(())
    }

    /// Outputs of zero value, spent again in the same block by a transaction that moves nothing.
    fn zero_values(&mut self) -> Result<(), Error> {
        let coins = self.pick(1);
        let mut outputs = self.outputs(&coins, 2)?;
        for _ in 0..6 {
            outputs.push(pay(0, self.any_script()?));
        }
        if let Some(txid) = self.try_spend(&coins, outputs, &Style::default())? {
            let empty = self.living(txid, 2..6);
            let empty = self.together(empty);
            let outputs = vec![pay(0, self.any_script()?), pay(0, op_return(b""))];
            self.try_spend(&empty, outputs, &Style::default())?;
        }
        Ok(())
    }

    /// One script on both sides, several times over.
    fn self_payments(&mut self) -> Result<(), Error> {
        let coins = self.pick(4);
        let Some(script) =
            coins.first().and_then(|coin| self.builder.coin(coin)).map(|coin| coin.txout.script_pubkey.clone())
        else {
            return Ok(());
        };
        let mut outputs = self.outputs(&coins, 3)?;
        for output in &mut outputs[1..] {
            output.script_pubkey = script.clone();
        }
        self.try_spend(&coins, outputs, &Style::default())?;
        Ok(())
    }

    /// Every kind of signature hash in one transaction, with a lock time.
    fn wide_witness(&mut self) -> Result<(), Error> {
        let coins = self.pick(18);
        let outputs = self.outputs(&coins, 18)?;
        let style = Style {
            version: 1,
            sequence: Sequence::ENABLE_LOCKTIME_NO_RBF,
            lock_time: LockTime::from_height(self.builder.head().height).unwrap_or(LockTime::ZERO),
            sighash: KINDS.to_vec(),
        };
        self.try_spend(&coins, outputs, &style)?;
        Ok(())
    }

    /// Signs and adds a transaction; none if there is nothing to spend or the block is full.
    pub(super) fn try_spend(
        &mut self,
        coins: &[OutPoint],
        outputs: Vec<TxOut>,
        style: &Style,
    ) -> Result<Option<Txid>, Error> {
        if coins.is_empty() || outputs.is_empty() {
            return Ok(None);
        }
        let tx = self.builder.spend(coins, outputs, style)?;
        match self.builder.add(tx) {
            Ok(txid) => Ok(Some(txid)),
            Err(Error::BlockFull) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Up to `count` different mature coins, old and young.
    fn pick(&mut self, count: usize) -> Vec<OutPoint> {
        if self.shared.is_some() {
            return self.pick_of(None, count);
        }
        let mut coins = Vec::with_capacity(count);
        for _ in 0..4 * count {
            if coins.len() == count {
                break;
            }
            let listed = self.builder.spendable();
            let start = if self.rng.random_bool(0.3) { listed.len().saturating_sub(20) } else { 0 };
            let Some(&coin) = listed[start..].choose(&mut self.rng) else { break };
            if !coins.contains(&coin) && self.builder.is_mature(&coin) {
                coins.push(coin);
            }
        }
        coins
    }

    /// Those of the given outputs that are coins of the keyring.
    fn living(&mut self, txid: Txid, vouts: Range<u32>) -> Vec<OutPoint> {
        let candidates: Vec<_> = vouts
            .map(|vout| OutPoint { txid, vout })
            .filter_map(|outpoint| Some((outpoint, self.builder.coin(&outpoint)?.txout.script_pubkey.clone())))
            .collect();
        let ring = self.builder.keyring();
        candidates.into_iter().filter(|(_, script)| ring.knows(script)).map(|(coin, _)| coin).collect()
    }

    pub(super) fn value(&self, coins: &[OutPoint]) -> u64 {
        coins.iter().filter_map(|coin| self.builder.coin(coin)).map(|coin| coin.txout.value.to_sat()).sum()
    }

    /// `count` spendable outputs (now and then a dead one more) that share the coins' value less a random fee.
    fn outputs(&mut self, coins: &[OutPoint], count: usize) -> Result<Vec<TxOut>, Error> {
        let total = self.value(coins);
        let sender = self.shared.as_ref().and_then(|_| self.owner_of(coins));
        let mut left = total - self.rng.random_range(0..=total.min(20_000));
        let mut outputs = Vec::with_capacity(count + 1);
        for index in 0..count {
            let share = match self.rng.random_range(0..20) {
                _ if index + 1 == count => left,
                0 => 0,
                1 => left.min(546),
                // Round amounts compress differently in undo files.
                2..6 => left / 2 / 100_000 * 100_000,
                _ => self.rng.random_range(0..=left / 2),
            };
            left -= share;
            // Where owners share the chain, change comes back.
            let script = match sender {
                Some(sender) if self.rng.random_bool(0.5) => self.payee(sender)?,
                _ => self.any_script()?,
            };
            outputs.push(pay(share, script));
        }
        if self.rng.random_bool(0.15) {
            outputs.push(pay(0, self.dead_script()));
        }
        Ok(outputs)
    }

    fn any_style(&mut self) -> Style {
        let mut style = Style { version: self.rng.random_range(1..=2), ..Style::default() };
        match self.rng.random_range(0..10) {
            0 => style.sighash = vec![Kind::AllPlusAnyoneCanPay],
            1 => style.sighash = vec![Kind::Single, Kind::SinglePlusAnyoneCanPay],
            2 => style.sighash = vec![Kind::NonePlusAnyoneCanPay, Kind::All, Kind::None],
            3 => style.sequence = Sequence::MAX,
            4 => {
                style.sequence = Sequence::ENABLE_LOCKTIME_NO_RBF;
                style.lock_time = LockTime::from_height(self.builder.head().height).unwrap_or(LockTime::ZERO);
            }
            _ => {}
        }
        style
    }

    /// A script that is small in weight and signature operations, for pieces with thousands of them.
    fn cheap_script(&mut self) -> Result<ScriptBuf, Error> {
        use crate::{KeyForm, Lock};
        if self.shared.is_some() {
            self.working = self.any_owner();
        }
        let key = self.rng.random_range(0..400);
        let key = self.own_key(key);
        let lock = match self.rng.random_range(0..6) {
            0 => Lock::P2trKey { key },
            1 => Lock::P2pkh { key, form: KeyForm::Compressed },
            2 => Lock::P2shP2wpkh { key },
            3 => Lock::anyone(),
            _ => Lock::P2wpkh { key },
        };
        let owner = self.working;
        self.owned_script(lock, owner)
    }
}

pub(super) fn pay(value: u64, script_pubkey: ScriptBuf) -> TxOut {
    TxOut { value: Amount::from_sat(value), script_pubkey }
}
