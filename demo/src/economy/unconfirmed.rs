//! Transactions that wait over the demo's tip, and the purses, fees and clusters that they are made with.

use std::collections::HashMap;
use std::time::Duration;

use bitcoin::consensus::{deserialize, serialize};
use bitcoin::hashes::Hash;
use bitcoin::{OutPoint, ScriptBuf, Transaction, TxOut, Txid};
use rand::Rng;

use super::DEMO_BLOCKS;
use super::actors::Participant;
use super::purses::{DUST, Economy, PurseCoin, pay_to};
use crate::build::{Chain, Coin, KeyForm, Lock, Style};
use crate::error::Error;

/// How long ago the oldest of the unconfirmed transactions was first seen.
pub const WAITING_SPAN: Duration = Duration::from_secs(1_800);
/// Lowest feerate, in satoshis per 1,000 virtual bytes: a little above what every node relays.
pub(super) const LOWEST: u64 = 1_050;
/// Highest feerate, in the same unit.
pub(super) const HIGHEST: u64 = 58_000;
/// Most transactions that hang together: nodes take 25 ancestors or descendants, newer ones clusters of 64.
const CLUSTER_COUNT: usize = 25;
/// Most virtual bytes of transactions that hang together; nodes take 101,000.
const CLUSTER_VSIZE: u64 = 100_000;
/// Most inputs of a payment.
const MAX_INPUTS: usize = 20;

/// An unconfirmed transaction of the demo.
#[derive(Clone, Debug)]
pub struct Unconfirmed {
    /// The transaction, signed.
    pub tx: Transaction,
    /// The coins that it spends, in the order of its inputs.
    pub spent: Vec<Coin>,
    /// When it was first seen, counted from the beginning of [`WAITING_SPAN`].
    pub seen: Duration,
    /// The earlier transaction of the list that it took the place of. That one has no descendants.
    pub replaces: Option<Txid>,
}

impl Unconfirmed {
    /// Reads a signed transaction that spends these coins, in the order of its inputs.
    ///
    /// # Errors
    /// Fails if the bytes are not a transaction, or if there are too few or too many coins.
    pub fn read(raw: &[u8], spent: Vec<Coin>) -> Result<Self, Error> {
        let tx: Transaction = deserialize(raw).map_err(|error| Error::Encoding(error.to_string()))?;
        match tx.input.len() == spent.len() {
            true => Ok(Unconfirmed { tx, spent, seen: Duration::ZERO, replaces: None }),
            false => Err(Error::Encoding("it spends other coins".to_owned())),
        }
    }

    /// Reads which coins a serialized transaction spends: transaction, in the byte order of blocks, and output number.
    ///
    /// # Errors
    /// Fails if the bytes are not a transaction.
    pub fn spends(raw: &[u8]) -> Result<Vec<([u8; 32], u32)>, Error> {
        let tx: Transaction = deserialize(raw).map_err(|error| Error::Encoding(error.to_string()))?;
        let points = tx.input.iter().map(|input| input.previous_output);
        Ok(points.map(|point| (point.txid.to_byte_array(), point.vout)).collect())
    }

    /// Returns the id of a serialized transaction, in the byte order of blocks.
    ///
    /// # Errors
    /// Fails if the bytes are not a transaction.
    pub fn txid(raw: &[u8]) -> Result<[u8; 32], Error> {
        let tx: Transaction = deserialize(raw).map_err(|error| Error::Encoding(error.to_string()))?;
        Ok(tx.compute_txid().to_byte_array())
    }

    /// Serialized, with witness.
    pub fn raw(&self) -> Vec<u8> {
        serialize(&self.tx)
    }

    /// Inputs less outputs, in satoshis.
    pub fn fee(&self) -> u64 {
        let spent: u64 = self.spent.iter().map(|coin| coin.txout.value.to_sat()).sum();
        spent.saturating_sub(self.tx.output.iter().map(|output| output.value.to_sat()).sum())
    }

    /// Cost of its signature operations as a block counts them.
    pub fn sigop_cost(&self) -> usize {
        let coins: HashMap<OutPoint, &Coin> =
            self.tx.input.iter().map(|input| input.previous_output).zip(&self.spent).collect();
        self.tx.total_sigop_cost(|outpoint| coins.get(outpoint).map(|coin| coin.txout.clone()))
    }

    /// Height of the block that made the coin of an input; none if it is an output of an unconfirmed transaction.
    pub fn birth(&self, input: usize) -> Option<u32> {
        self.spent.get(input).map(|coin| coin.height).filter(|height| *height <= DEMO_BLOCKS)
    }
}

/// Which transactions hang together.
#[derive(Debug, Default)]
struct Clusters {
    of: HashMap<Txid, usize>,
    all: Vec<(Vec<Txid>, u64)>,
}

impl Clusters {
    fn around(&self, parents: &[Txid]) -> Vec<usize> {
        let mut around: Vec<usize> = parents.iter().filter_map(|txid| self.of.get(txid)).copied().collect();
        around.sort_unstable();
        around.dedup();
        around
    }

    /// Whether nodes would take a transaction of this size with these parents.
    fn fits(&self, parents: &[Txid], vsize: u64) -> bool {
        let (mut count, mut sum) = (1, vsize);
        for index in self.around(parents) {
            count += self.all[index].0.len();
            sum += self.all[index].1;
        }
        count <= CLUSTER_COUNT && sum <= CLUSTER_VSIZE
    }

    fn add(&mut self, txid: Txid, parents: &[Txid], vsize: u64) {
        let (mut members, mut sum) = (vec![txid], vsize);
        for index in self.around(parents) {
            let (others, size) = std::mem::take(&mut self.all[index]);
            members.extend(others);
            sum += size;
        }
        for member in &members {
            self.of.insert(*member, self.all.len());
        }
        self.all.push((members, sum));
    }
}

/// Which coins a payment may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    Any,
    Confirmed,
}

/// A transaction that is not signed yet.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    inputs: Vec<(Participant, PurseCoin)>,
    outputs: Vec<TxOut>,
    /// Which output is the change.
    change: Option<usize>,
}

/// The mempool while it is filled.
#[derive(Debug)]
pub(super) struct MempoolBuilder {
    pub(super) economy: Economy,
    made: Vec<Unconfirmed>,
    clusters: Clusters,
}

impl MempoolBuilder {
    /// An empty one over the tip of an economy.
    pub(super) fn over(mut economy: Economy) -> Self {
        economy.height = DEMO_BLOCKS + 1;
        Self { economy, made: Vec::new(), clusters: Clusters::default() }
    }

    /// The chain, and what waits over its tip: as it came, so parents first.
    pub(super) fn into_parts(mut self) -> (Chain, Vec<Unconfirmed>) {
        let (count, span) = (self.made.len().max(1) as u64, WAITING_SPAN.as_millis() as u64);
        for (index, made) in self.made.iter_mut().enumerate() {
            let step = self.economy.rng.random_range(0..span);
            made.seen = Duration::from_millis((index as u64 * span + step) / count);
        }
        (self.economy.into_chain(), self.made)
    }

    /// A feerate in satoshis per 1,000 virtual bytes: many low ones, few high ones.
    pub(super) fn rate(&mut self) -> u64 {
        let octave = match self.economy.rng.random_range(0..100) {
            0..24 => 0,
            24..46 => 1,
            46..66 => 2,
            66..83 => 3,
            83..94 => 4,
            _ => 5,
        };
        let least = LOWEST << octave;
        self.economy.rng.random_range(least..2 * least).min(HIGHEST)
    }

    fn input_vsize(&mut self, outpoint: &OutPoint) -> Result<u64, Error> {
        let script = self.economy.coin(outpoint).ok_or(Error::MissingCoin(*outpoint))?.txout.script_pubkey.clone();
        self.economy.builder().keyring().lock(&script).map(input_vsize).ok_or(Error::UnknownScript(script))
    }

    /// A payment with the change to `change`; none if it cannot be afforded.
    pub(super) fn draft(
        &mut self,
        who: Participant,
        payees: Vec<(ScriptBuf, u64)>,
        change: &ScriptBuf,
        rate: u64,
        from: From,
    ) -> Result<Option<Draft>, Error> {
        let mut coins = self.economy.spendable(who);
        if coins.is_empty() || payees.is_empty() {
            return Ok(None);
        }
        let first = self.economy.rng.random_range(0..coins.len());
        coins.rotate_left(first);
        let total: u64 = payees.iter().map(|(_, sats)| sats).sum();
        let mut outputs: Vec<TxOut> = payees.into_iter().map(pay_to).collect();
        let mut vsize = 15 + outputs.iter().map(output_vsize).sum::<u64>() + 9 + change.len() as u64;
        let (mut inputs, mut parents, mut sum) = (Vec::new(), Vec::new(), 0);
        for coin in coins {
            let own = self.input_vsize(&coin.outpoint)?;
            parents.push(coin.outpoint.txid);
            let known = self.clusters.of.contains_key(&coin.outpoint.txid);
            if (known && from == From::Confirmed)
                || coin.sats <= fee(own, rate)
                || !self.clusters.fits(&parents, vsize + own)
            {
                parents.pop();
                continue;
            }
            vsize += own;
            sum += coin.sats;
            inputs.push((who, coin));
            let need = total + fee(vsize, rate);
            if sum >= need {
                let change = (sum - need > DUST).then(|| {
                    let place = self.economy.rng.random_range(0..=outputs.len());
                    outputs.insert(place, pay_to((change.clone(), sum - need)));
                    place
                });
                return Ok(Some(Draft { inputs, outputs, change }));
            }
            if inputs.len() == MAX_INPUTS {
                break;
            }
        }
        Ok(None)
    }

    /// Gathers up to `most` coins into one output; none if there are fewer than `least`, or if they are not worth it.
    pub(super) fn gather(
        &mut self,
        who: Participant,
        counts: std::ops::RangeInclusive<usize>,
        to: &ScriptBuf,
        rate: u64,
    ) -> Result<Option<Draft>, Error> {
        let (mut inputs, mut parents, mut sum, mut vsize) = (Vec::new(), Vec::new(), 0, 24 + to.len() as u64);
        for coin in self.economy.spendable(who) {
            let own = self.input_vsize(&coin.outpoint)?;
            parents.push(coin.outpoint.txid);
            if coin.sats <= fee(own, rate) || !self.clusters.fits(&parents, vsize + own) {
                parents.pop();
                continue;
            }
            vsize += own;
            sum += coin.sats;
            inputs.push((who, coin));
            if inputs.len() == *counts.end() {
                break;
            }
        }
        let cost = fee(vsize, rate);
        if !counts.contains(&inputs.len()) || sum <= cost + DUST {
            return Ok(None);
        }
        Ok(Some(Draft { inputs, outputs: vec![pay_to((to.clone(), sum - cost))], change: Some(0) }))
    }

    /// A joint transaction: each brings a coin and gets `sats` and its change; the coordinator gets a little of each.
    pub(super) fn join(
        &mut self,
        people: &[u32],
        sats: u64,
        to: &ScriptBuf,
        rate: u64,
    ) -> Result<Option<Draft>, Error> {
        // Two outputs, and a part of the rest; the input comes on top.
        let (share, cut) = (fee(95, rate), 1_000);
        let (mut inputs, mut equal, mut rest, mut parents) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for &person in people {
            let who = Participant::Person(person);
            let coins = self.economy.spendable(who);
            // No input is twice as large as its outputs.
            let Some(coin) = coins.into_iter().find(|coin| coin.sats >= sats + 3 * share + cut + DUST) else {
                continue;
            };
            let share = share + fee(self.input_vsize(&coin.outpoint)?, rate);
            parents.push(coin.outpoint.txid);
            if !self.clusters.fits(&parents, 200 * parents.len() as u64) {
                parents.pop();
                continue;
            }
            inputs.push((who, coin));
            equal.push(pay_to((self.economy.fresh(person)?, sats)));
            rest.push(pay_to((self.economy.fresh(person)?, coin.sats - sats - share - cut)));
        }
        if inputs.len() < 5 {
            return Ok(None);
        }
        rest.push(pay_to((to.clone(), cut * inputs.len() as u64)));
        equal.append(&mut rest);
        Ok(Some(Draft { inputs, outputs: equal, change: None }))
    }

    /// A transaction that spends just this coin, to `to`.
    pub(super) fn pass_on(
        &mut self,
        who: Participant,
        coin: OutPoint,
        to: &ScriptBuf,
        rate: u64,
    ) -> Result<Option<Draft>, Error> {
        let held = self.economy.spendable(who).into_iter().find(|held| held.outpoint == coin);
        let vsize = 24 + to.len() as u64 + self.input_vsize(&coin)?;
        let cost = fee(vsize, rate);
        Ok(held.filter(|held| held.sats > cost + DUST && self.clusters.fits(&[coin.txid], vsize)).map(|held| {
            let outputs = vec![pay_to((to.clone(), held.sats - cost))];
            Draft { inputs: vec![(who, held)], outputs, change: Some(0) }
        }))
    }

    /// Signs, adds and books a transaction.
    pub(super) fn send(&mut self, draft: &Draft, replaces: Option<Txid>) -> Result<Txid, Error> {
        let tx = self.show(draft, replaces)?;
        let parents: Vec<Txid> = tx.input.iter().map(|input| input.previous_output.txid).collect();
        let txid = self.economy.builder().add_unconfirmed(tx.clone())?;
        self.clusters.add(txid, &parents, tx.vsize() as u64);
        self.economy.book(&tx, txid, 0);
        Ok(txid)
    }

    /// Signs a transaction that will be replaced: it is seen, and its coins are set aside, but nothing is booked.
    pub(super) fn announce(&mut self, draft: &Draft) -> Result<Txid, Error> {
        Ok(self.show(draft, None)?.compute_txid())
    }

    fn show(&mut self, draft: &Draft, replaces: Option<Txid>) -> Result<Transaction, Error> {
        let outpoints: Vec<OutPoint> = draft.inputs.iter().map(|(_, coin)| coin.outpoint).collect();
        let tx = self.economy.builder().spend(&outpoints, draft.outputs.clone(), &Style::default())?;
        let spent = outpoints.iter().filter_map(|outpoint| self.economy.coin(outpoint).cloned()).collect();
        for (who, coin) in &draft.inputs {
            self.economy.take(*who, &[coin.outpoint]);
        }
        self.made.push(Unconfirmed { tx: tx.clone(), spent, seen: Duration::ZERO, replaces });
        Ok(tx)
    }
}

impl Draft {
    /// The same with this many satoshis more for the miner, taken from the change; none if that is too little.
    pub(super) fn bumped(mut self, sats: u64) -> Option<Self> {
        let change = &mut self.outputs.get_mut(self.change?)?.value;
        let left = change.to_sat().checked_sub(sats).filter(|left| *left > DUST)?;
        *change = bitcoin::Amount::from_sat(left);
        Some(self)
    }
}

/// Fee in satoshis for `vsize` virtual bytes; `rate` is in satoshis per 1,000 virtual bytes.
fn fee(vsize: u64, rate: u64) -> u64 {
    (vsize * rate).div_ceil(1_000)
}

/// Virtual bytes of an output, length prefixes included.
fn output_vsize(output: &TxOut) -> u64 {
    let script = output.script_pubkey.len() as u64;
    script + if script < 253 { 9 } else { 13 }
}

/// Virtual bytes of an input, at most: a signature is sometimes a byte shorter.
fn input_vsize(lock: &Lock) -> u64 {
    match lock {
        Lock::P2pk { .. } => 115,
        Lock::P2pkh { form: KeyForm::Compressed, .. } => 149,
        Lock::P2shP2wpkh { .. } => 92,
        Lock::P2wpkh { .. } | Lock::Bip84(_) => 69,
        Lock::P2wsh { .. } => 106,
        Lock::P2trKey { .. } => 58,
        Lock::P2trScript { .. } => 84,
        // A key of 65 bytes; nobody here has coins of other kinds.
        _ => 181,
    }
}
