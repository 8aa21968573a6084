//! A wallet over the keyring: payments of every kind, replacements, children that pay for parents, conflicts.

use bitcoin::absolute::LockTime;
use bitcoin::{Amount, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Txid, Witness, transaction};
use cairn_chaingen::{COINBASE_MATURITY, KeyForm, Lock};

use super::{BlockPlan, Txs, World};
use crate::Error;
use crate::mempool::signals_replacement;
use bitcoin::sighash::EcdsaSighashType;

/// Coins below this are left alone, satoshis.
const SMALLEST_COIN: u64 = 20_000;
/// Outputs below this are not made, satoshis.
const DUST: u64 = 1_000;

/// A payment to make.
#[derive(Clone, Debug)]
pub struct Payment {
    /// The coins to spend; empty lets the wallet choose among its confirmed ones.
    pub inputs: Vec<OutPoint>,
    /// The payees; empty pays a third of the inputs to a new script of the wallet, of the next type in turn.
    pub outputs: Vec<TxOut>,
    /// Whether what is left comes back to the wallet (else it is fee).
    pub change: bool,
    /// Sat per 1000 virtual bytes.
    pub fee_rate: u64,
    /// Whether it signals BIP 125 replaceability.
    pub replaceable: bool,
    /// Lock time.
    pub lock_time: LockTime,
}

impl Default for Payment {
    fn default() -> Self {
        Self {
            inputs: Vec::new(),
            outputs: Vec::new(),
            change: true,
            fee_rate: 5_000,
            replaceable: true,
            lock_time: LockTime::ZERO,
        }
    }
}

impl Payment {
    /// A payment at a fee rate, sat per 1000 virtual bytes.
    pub fn at(fee_rate: u64) -> Self {
        Self { fee_rate, ..Self::default() }
    }

    /// A payment of one coin.
    pub fn of(input: OutPoint, fee_rate: u64) -> Self {
        Self { inputs: vec![input], fee_rate, ..Self::default() }
    }
}

fn pay(value: u64, script_pubkey: ScriptBuf) -> TxOut {
    TxOut { value: Amount::from_sat(value), script_pubkey }
}

fn fee_of(rate: u64, vsize: u64) -> u64 {
    (rate * vsize).div_ceil(1000)
}

impl World {
    /// A script of the wallet that was not used before.
    ///
    /// # Errors
    /// [`Error::Chain`] for a key index without a key (never seen).
    pub fn fresh(&mut self, lock: impl FnOnce(u32) -> Lock) -> Result<ScriptBuf, Error> {
        // A lock may use the three keys from its index on.
        self.next_key += 3;
        let key = self.next_key;
        Ok(self.builder().keyring().script(&lock(key))?)
    }

    /// A new script of the wallet, the type being the next in turn: every type that Core's wallet makes, and the older
    /// ones.
    ///
    /// # Errors
    /// As [`World::fresh`].
    pub fn fresh_script(&mut self) -> Result<ScriptBuf, Error> {
        let form = KeyForm::Compressed;
        let turn = self.next_key / 3 % 9;
        self.fresh(|key| match turn {
            0 => Lock::P2pkh { key, form },
            1 => Lock::P2shP2wpkh { key },
            2 => Lock::P2wpkh { key },
            3 => Lock::P2trKey { key },
            4 => Lock::P2wsh { needed: 2, keys: vec![key, key + 1, key + 2] },
            5 => Lock::P2trScript { internal: key, leaves: [key + 1, key + 2] },
            6 => Lock::P2shMultisig { needed: 1, keys: vec![key, key + 1], form },
            7 => Lock::P2pk { key, form },
            _ => Lock::P2shP2wsh { needed: 1, keys: vec![key, key + 1] },
        })
    }

    /// Makes and signs a transaction: the inputs' outputs must exist, in the chain or in the mempool.
    fn sign(&mut self, inputs: &[OutPoint], outputs: Vec<TxOut>, payment: &Payment) -> Result<Transaction, Error> {
        let spent = inputs
            .iter()
            .map(|outpoint| self.txout(outpoint).ok_or(Error::UnknownCoin(*outpoint)))
            .collect::<Result<Vec<_>, _>>()?;
        let sequence = match payment.replaceable {
            true => Sequence::ENABLE_RBF_NO_LOCKTIME,
            false => Sequence::ENABLE_LOCKTIME_NO_RBF,
        };
        let mut tx = Transaction {
            version: transaction::Version::TWO,
            lock_time: payment.lock_time,
            input: inputs
                .iter()
                .map(|&previous_output| TxIn {
                    previous_output,
                    script_sig: ScriptBuf::new(),
                    sequence,
                    witness: Witness::new(),
                })
                .collect(),
            output: outputs,
        };
        self.builder().keyring().sign(&mut tx, &spent, |_| EcdsaSighashType::All)?;
        Ok(tx)
    }

    /// Sum of the outputs behind outpoints, satoshis.
    fn worth(&self, inputs: &[OutPoint]) -> Result<u64, Error> {
        inputs.iter().try_fold(0, |sum, outpoint| {
            let txout = self.txout(outpoint).ok_or(Error::UnknownCoin(*outpoint))?;
            Ok(sum + txout.value.to_sat())
        })
    }

    /// Confirmed, mature coins of the wallet that nothing in the mempool spends, worth at least `needed` satoshis
    /// together: the next one that suffices alone, else the next ones together. The search goes round the coin set, so
    /// that coins take turns.
    ///
    /// # Errors
    /// [`Error::Poor`].
    pub fn choose(&mut self, needed: u64) -> Result<Vec<OutPoint>, Error> {
        use std::ops::Bound::{Excluded, Unbounded};
        let next = self.height() + 1;
        let start = self.cursor.map_or(Unbounded, Excluded);
        let keyring = match &mut self.source {
            crate::Source::Builder(builder) => builder.keyring(),
            crate::Source::Everything(everything) => everything.builder().keyring(),
        };
        let coins = self.node.coins();
        let after = coins.range((start, Unbounded));
        let before = self.cursor.map(|cursor| coins.range(..=cursor)).into_iter().flatten();
        let (mut chosen, mut sum) = (Vec::new(), 0);
        for (outpoint, coin) in after.chain(before) {
            let usable = coin.txout.value.to_sat() >= SMALLEST_COIN
                && (!coin.coinbase || next - coin.height >= COINBASE_MATURITY)
                && keyring.knows(&coin.txout.script_pubkey)
                && !self.wallets.own(&coin.txout.script_pubkey)
                && self.node.pool.spender(outpoint).is_none();
            if usable {
                let value = coin.txout.value.to_sat();
                if value >= needed {
                    self.cursor = Some(*outpoint);
                    return Ok(vec![*outpoint]);
                }
                if sum < needed {
                    sum += value;
                    chosen.push(*outpoint);
                }
            }
        }
        if sum < needed {
            return Err(Error::Poor { needed });
        }
        self.cursor = chosen.last().copied();
        Ok(chosen)
    }

    /// Makes a payment without giving it to the node.
    ///
    /// # Errors
    /// [`Error::Poor`], [`Error::UnknownCoin`], [`Error::Chain`] for a coin that is not the wallet's.
    pub fn pay(&mut self, payment: &Payment) -> Result<Transaction, Error> {
        let paid: u64 = payment.outputs.iter().map(|txout| txout.value.to_sat()).sum();
        let mut margin = fee_of(payment.fee_rate, 400 + 50 * payment.outputs.len() as u64) + DUST;
        loop {
            let inputs = match payment.inputs.is_empty() {
                true => self.choose((paid + margin).max(SMALLEST_COIN))?,
                false => payment.inputs.clone(),
            };
            let income = self.worth(&inputs)?;
            let mut outputs = payment.outputs.clone();
            if outputs.is_empty() {
                outputs.push(pay(income / 3, self.fresh_script()?));
            }
            let fixed = outputs.iter().map(|txout| txout.value.to_sat()).sum::<u64>();
            if payment.change {
                outputs.push(pay(DUST, self.fresh_script()?));
            }
            // Signed once for its size, and once more with the change that follows from it.
            let size = self.sign(&inputs, outputs.clone(), payment)?.vsize() as u64;
            let fee = fee_of(payment.fee_rate, size);
            match income.checked_sub(fixed + fee) {
                None if payment.inputs.is_empty() && !payment.outputs.is_empty() => margin += fee,
                None => return Err(Error::Poor { needed: fixed + fee }),
                Some(rest) => {
                    if payment.change && rest < DUST {
                        outputs.pop();
                    } else if payment.change
                        && let Some(change) = outputs.last_mut()
                    {
                        change.value = Amount::from_sat(rest);
                    }
                    return self.sign(&inputs, outputs, payment);
                }
            }
        }
    }

    /// Makes a payment and puts it into the mempool.
    ///
    /// # Errors
    /// As [`World::pay`] and [`World::add_tx`].
    pub fn send(&mut self, payment: &Payment) -> Result<Txid, Error> {
        let tx = self.pay(payment)?;
        self.add_tx(tx)
    }

    /// Makes the replacement of a transaction in the mempool: same inputs and outputs, the largest output being lowered
    /// to what a fee rate (sat per 1000 virtual bytes) needs, and at least to what the rules of replacement need.
    ///
    /// # Errors
    /// [`Error::UnknownTx`], [`Error::Poor`].
    pub fn bump(&mut self, txid: &Txid, fee_rate: u64) -> Result<Transaction, Error> {
        let pool = &self.node.pool;
        let entry = pool.get(txid).ok_or(Error::UnknownTx(*txid))?;
        let replaced = pool.sums(&pool.descendants(txid)).fee;
        let relay = fee_of(self.node.policy.relay_fee, entry.vsize + 2);
        let fee = fee_of(fee_rate, entry.vsize).max(replaced + relay);
        let (old_fee, tx) = (entry.fee, std::sync::Arc::clone(&entry.tx));
        let mut outputs = tx.output.clone();
        let largest = outputs.iter_mut().max_by_key(|txout| txout.value).ok_or(Error::Poor { needed: fee })?;
        let value = (largest.value.to_sat() + old_fee)
            .checked_sub(fee)
            .filter(|value| *value >= DUST)
            .ok_or(Error::Poor { needed: fee })?;
        largest.value = Amount::from_sat(value);
        let inputs: Vec<OutPoint> = tx.input.iter().map(|input| input.previous_output).collect();
        let style = Payment { replaceable: signals_replacement(&tx), lock_time: tx.lock_time, ..Payment::default() };
        self.sign(&inputs, outputs, &style)
    }

    /// Replaces a transaction in the mempool; see [`World::bump`].
    ///
    /// # Errors
    /// As [`World::bump`] and [`World::add_tx`].
    pub fn replace(&mut self, txid: &Txid, fee_rate: u64) -> Result<Txid, Error> {
        let tx = self.bump(txid, fee_rate)?;
        self.add_tx(tx)
    }

    /// The outputs of a mempool transaction that the wallet can spend.
    ///
    /// # Errors
    /// [`Error::UnknownTx`].
    pub fn unspent_of(&mut self, txid: &Txid) -> Result<Vec<OutPoint>, Error> {
        let tx = std::sync::Arc::clone(&self.node.pool.get(txid).ok_or(Error::UnknownTx(*txid))?.tx);
        let mut found = Vec::new();
        for (vout, txout) in (0..).zip(&tx.output) {
            let outpoint = OutPoint { txid: *txid, vout };
            if self.node.pool.spender(&outpoint).is_none()
                && txout.value.to_sat() >= DUST
                && self.builder().keyring().knows(&txout.script_pubkey)
            {
                found.push(outpoint);
            }
        }
        Ok(found)
    }

    /// Sends a child of a mempool transaction whose fee brings the two together to a rate (sat per 1000 virtual bytes).
    ///
    /// # Errors
    /// [`Error::UnknownTx`]; [`Error::Poor`] if no output of the wallet is left in it, or too little.
    pub fn cpfp(&mut self, txid: &Txid, fee_rate: u64) -> Result<Txid, Error> {
        let coins = self.unspent_of(txid)?;
        let coin = coins.into_iter().max_by_key(|outpoint| self.txout(outpoint).map(|txout| txout.value));
        let coin = coin.ok_or(Error::Poor { needed: DUST })?;
        let parent = self.node.pool.get(txid).ok_or(Error::UnknownTx(*txid))?;
        let (parent_fee, parent_size) = (parent.fee, parent.vsize);
        let income = self.worth(&[coin])?;
        let script = self.fresh_script()?;
        let style = Payment::default();
        let size = self.sign(&[coin], vec![pay(DUST, script.clone())], &style)?.vsize() as u64;
        let fee = fee_of(fee_rate, size + parent_size)
            .saturating_sub(parent_fee)
            .max(fee_of(self.node.policy.relay_fee, size + 2));
        let value = income.checked_sub(fee).filter(|value| *value >= DUST).ok_or(Error::Poor { needed: fee })?;
        let tx = self.sign(&[coin], vec![pay(value, script)], &style)?;
        self.add_tx(tx)
    }

    /// Sends a chain of payments, each spending the one before.
    ///
    /// # Errors
    /// As [`World::send`]; a chain beyond the mempool's limits ends with [`Error::Reject`].
    pub fn send_chain(&mut self, length: u32, fee_rate: u64) -> Result<Vec<Txid>, Error> {
        let mut txids: Vec<Txid> = Vec::new();
        for _ in 0..length {
            // A small payment, so that the change lasts for many.
            let payee = pay(2 * DUST, self.fresh_script()?);
            let link = Payment { outputs: vec![payee], ..Payment::at(fee_rate) };
            let payment = match txids.last() {
                None => link,
                Some(last) => {
                    let coins = self.unspent_of(last)?;
                    let coin = coins.into_iter().max_by_key(|outpoint| self.txout(outpoint).map(|txout| txout.value));
                    Payment { inputs: vec![coin.ok_or(Error::Poor { needed: DUST })?], ..link }
                }
            };
            txids.push(self.send(&payment)?);
        }
        Ok(txids)
    }

    /// Makes a transaction that spends the first input of a mempool transaction in another way, to be mined or sent.
    ///
    /// # Errors
    /// [`Error::UnknownTx`], else as [`World::pay`].
    pub fn conflict(&mut self, txid: &Txid, fee_rate: u64) -> Result<Transaction, Error> {
        let entry = self.node.pool.get(txid).ok_or(Error::UnknownTx(*txid))?;
        let input = entry.tx.input.first().map(|input| input.previous_output).ok_or(Error::UnknownTx(*txid))?;
        self.pay(&Payment::of(input, fee_rate))
    }

    /// Mines blocks whose only transactions (one each) split coins of the wallet into `count` coins of equal value
    /// (satoshis) and in all types of scripts, so that as many independent payments can follow. Gives the count of
    /// coins made.
    ///
    /// # Errors
    /// As [`World::pay`] and [`World::mine_plan`].
    pub fn fan_out(&mut self, count: u32, value: u64) -> Result<u32, Error> {
        const PER_BLOCK: u32 = 2_000;
        let mut made = 0;
        while made < count {
            let now = PER_BLOCK.min(count - made);
            let mut outputs = Vec::with_capacity(now as usize);
            for _ in 0..now {
                outputs.push(pay(value, self.fresh_script()?));
            }
            let tx = self.pay(&Payment { outputs, ..Payment::at(2_000) })?;
            self.mine_plan(&BlockPlan { txs: Txs::Only(vec![tx]), ..BlockPlan::default() })?;
            made += now;
        }
        Ok(made)
    }
}
