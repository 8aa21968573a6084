//! Purses, payments and blocks of the demo chain.

use std::collections::{HashMap, HashSet};

use bitcoin::{Amount, OutPoint, Script, ScriptBuf, Transaction, TxOut, Txid};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::actors::{PEOPLE, Participant};
use crate::build::{BlockSpec, COINBASE_MATURITY, Chain, ChainBuilder, Coin, KeyForm, Lock, Style};
use crate::error::Error;

/// Outputs below this are not worth making, in satoshis.
pub(super) const DUST: u64 = 546;
/// Most inputs of an ordinary payment.
const MAX_INPUTS: usize = 60;

/// A coin of a purse.
#[derive(Clone, Copy, Debug)]
pub(super) struct PurseCoin {
    pub(super) outpoint: OutPoint,
    pub(super) sats: u64,
    /// First height at which it may be spent.
    from: u32,
}

/// Coins and addresses of one participant.
#[derive(Debug, Default)]
struct Purse {
    coins: Vec<PurseCoin>,
    /// Count of addresses made.
    used: u32,
    /// The script to which it is paid when it does not ask for a new address.
    current: Option<ScriptBuf>,
}

/// The whole economy: the chain builder and everyone's purse.
#[derive(Debug)]
pub(super) struct Economy {
    builder: ChainBuilder,
    purses: Vec<Purse>,
    owners: HashMap<ScriptBuf, Participant>,
    pub(super) rng: ChaCha8Rng,
    pub(super) height: u32,
}

impl Economy {
    pub(super) fn new(key_seed: u64, seed: u64) -> Result<Self, Error> {
        let purses = (0..Participant::Person(PEOPLE).index()).map(|_| Purse::default()).collect();
        // Another stream than the one of the block times.
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(1);
        Ok(Self { builder: ChainBuilder::new(key_seed), purses, owners: HashMap::new(), rng, height: 0 })
    }

    pub(super) fn builder(&mut self) -> &mut ChainBuilder {
        &mut self.builder
    }

    /// A coin that exists now, outputs of the open block included.
    pub(super) fn coin(&self, outpoint: &OutPoint) -> Option<&Coin> {
        self.builder.coin(outpoint)
    }

    /// The chain so far.
    pub(super) fn chain(&self) -> &Chain {
        self.builder.chain()
    }

    /// The participant that made a script.
    pub(super) fn owner(&self, script: &Script) -> Option<Participant> {
        self.owners.get(script).copied()
    }

    pub(super) fn into_chain(self) -> Chain {
        self.builder.into_chain()
    }

    /// The owner of each script, as the number of a participant; the exchange's wallets are of one participant.
    pub(super) fn owners(&self) -> HashMap<ScriptBuf, u32> {
        let number = |who: &Participant| match who {
            Participant::Cold | Participant::Deposits => Participant::Hot.index() as u32,
            _ => who.index() as u32,
        };
        self.owners.iter().map(|(script, who)| (script.clone(), number(who))).collect()
    }

    /// The script of a participant's fixed address.
    pub(super) fn fixed(&mut self, who: Participant, n: u32) -> Result<ScriptBuf, Error> {
        self.own(who, &who.lock(n))
    }

    /// A new address of a person, of the kind that is common at the time.
    pub(super) fn fresh(&mut self, person: u32) -> Result<ScriptBuf, Error> {
        let who = Participant::Person(person);
        let purse = &mut self.purses[who.index()];
        purse.used += 1;
        let key = who.key(purse.used);
        // People adopt new kinds late and at different times.
        let era = self.height + person * 12;
        let lock = match era {
            0..900 => Lock::P2pkh { key, form: KeyForm::Uncompressed },
            900..1_500 => Lock::P2pkh { key, form: KeyForm::Compressed },
            1_500..2_000 => Lock::P2shP2wpkh { key },
            2_000..2_900 => Lock::P2wpkh { key },
            _ => Lock::P2trKey { key },
        };
        let script = self.own(who, &lock)?;
        self.purses[who.index()].current = Some(script.clone());
        Ok(script)
    }

    /// The script to which a person is paid: mostly a new address, else the last one again.
    pub(super) fn receive(&mut self, person: u32) -> Result<ScriptBuf, Error> {
        match &self.purses[Participant::Person(person).index()].current {
            Some(script) if self.rng.random_bool(0.4) => Ok(script.clone()),
            _ => self.fresh(person),
        }
    }

    /// The next one-time address of a participant that counts its addresses from `first`.
    pub(super) fn next_fixed(&mut self, who: Participant, first: u32) -> Result<ScriptBuf, Error> {
        let purse = &mut self.purses[who.index()];
        let n = first + purse.used;
        purse.used += 1;
        self.fixed(who, n)
    }

    /// The script of a lock, which belongs to a participant from now on.
    pub(super) fn own(&mut self, who: Participant, lock: &Lock) -> Result<ScriptBuf, Error> {
        let script = self.builder.keyring().script(lock)?;
        self.owners.insert(script.clone(), who);
        Ok(script)
    }

    /// Satoshis that a participant can spend now.
    pub(super) fn balance(&self, who: Participant) -> u64 {
        self.purse(who).coins.iter().filter(|coin| coin.from <= self.height).map(|coin| coin.sats).sum()
    }

    /// Count of coins that a participant can spend now.
    pub(super) fn coin_count(&self, who: Participant) -> usize {
        self.purse(who).coins.iter().filter(|coin| coin.from <= self.height).count()
    }

    /// The coins that a participant can spend now, oldest first.
    pub(super) fn spendable(&self, who: Participant) -> Vec<PurseCoin> {
        self.purse(who).coins.iter().filter(|coin| coin.from <= self.height).copied().collect()
    }

    /// Takes coins out of a participant's purse.
    pub(super) fn take(&mut self, who: Participant, spent: &[OutPoint]) {
        self.purses[who.index()].coins.retain(|coin| !spent.contains(&coin.outpoint));
    }

    fn purse(&self, who: Participant) -> &Purse {
        &self.purses[who.index()]
    }

    /// Pays from one participant, oldest coins first, with the change to `change`. None if it cannot afford it.
    pub(super) fn pay(
        &mut self,
        who: Participant,
        payees: Vec<(ScriptBuf, u64)>,
        change: &ScriptBuf,
    ) -> Result<Option<Txid>, Error> {
        let fee_rate = self.rng.random_range(1..12);
        let total: u64 = payees.iter().map(|(_, sats)| sats).sum();
        let mut inputs = Vec::new();
        let (mut sum, mut need) = (0, u64::MAX);
        for coin in self.purse(who).coins.iter().filter(|coin| coin.from <= self.height).take(MAX_INPUTS) {
            inputs.push(*coin);
            sum += coin.sats;
            need = total + fee_rate * (40 * payees.len() as u64 + 100 * inputs.len() as u64 + 50);
            if sum >= need {
                break;
            }
        }
        if sum < need || payees.is_empty() {
            return Ok(None);
        }
        let mut outputs: Vec<TxOut> = payees.into_iter().map(pay_to).collect();
        if sum - need > DUST {
            let place = self.rng.random_range(0..=outputs.len());
            outputs.insert(place, pay_to((change.clone(), sum - need)));
        }
        self.send(&inputs, outputs)
    }

    /// Gathers up to `most` of a participant's oldest coins into one output.
    pub(super) fn sweep(&mut self, who: Participant, most: usize, to: &ScriptBuf) -> Result<Option<Txid>, Error> {
        let inputs: Vec<PurseCoin> =
            self.purse(who).coins.iter().filter(|coin| coin.from <= self.height).take(most).copied().collect();
        let sum: u64 = inputs.iter().map(|coin| coin.sats).sum();
        let fee = 400 * inputs.len() as u64 + 300;
        if sum < fee + DUST {
            return Ok(None);
        }
        self.send(&inputs, vec![pay_to((to.clone(), sum - fee))])
    }

    /// A joint transaction: each participant brings a coin of at least `sats` and gets one equal output and its change;
    /// `fee_to` gets what is left of the participants' contributions.
    pub(super) fn join(&mut self, people: &[u32], sats: u64, fee_to: &ScriptBuf) -> Result<Option<Txid>, Error> {
        let contribution = 6_000;
        let (mut inputs, mut outputs, mut equal) = (Vec::new(), Vec::new(), Vec::new());
        for &person in people {
            let coins = &self.purse(Participant::Person(person)).coins;
            let Some(&coin) =
                coins.iter().find(|coin| coin.from <= self.height && coin.sats >= sats + contribution + DUST)
            else {
                continue;
            };
            inputs.push(coin);
            equal.push(pay_to((self.fresh(person)?, sats)));
            outputs.push(pay_to((self.fresh(person)?, coin.sats - sats - contribution)));
        }
        if inputs.len() < 5 {
            return Ok(None);
        }
        let cut = contribution * inputs.len() as u64 / 4;
        equal.append(&mut outputs);
        equal.push(pay_to((fee_to.clone(), cut)));
        self.send(&inputs, equal)
    }

    /// Signs, adds and books a transaction; none if the block is full.
    fn send(&mut self, inputs: &[PurseCoin], outputs: Vec<TxOut>) -> Result<Option<Txid>, Error> {
        let outpoints: Vec<OutPoint> = inputs.iter().map(|coin| coin.outpoint).collect();
        let tx = self.builder.spend(&outpoints, outputs, &Style::default())?;
        // Booking put each coin into the purse of its script's owner, so that is where it lies.
        let owner = |outpoint: &OutPoint| self.owners.get(&self.builder.coin(outpoint)?.txout.script_pubkey);
        let owners: HashSet<usize> = outpoints.iter().filter_map(owner).map(|who| who.index()).collect();
        let txid = match self.builder.add(tx.clone()) {
            Ok(txid) => txid,
            Err(Error::BlockFull) => return Ok(None),
            Err(error) => return Err(error),
        };
        let spent: HashSet<OutPoint> = outpoints.iter().copied().collect();
        for index in owners {
            self.purses[index].coins.retain(|coin| !spent.contains(&coin.outpoint));
        }
        self.book(&tx, txid, 0);
        Ok(Some(txid))
    }

    /// Puts the outputs of a transaction into the purses that they belong to.
    pub(super) fn book(&mut self, tx: &Transaction, txid: Txid, from: u32) {
        for (vout, output) in tx.output.iter().enumerate() {
            if let Some(who) = self.owners.get(&output.script_pubkey) {
                let outpoint = OutPoint { txid, vout: vout as u32 };
                self.purses[who.index()].coins.push(PurseCoin { outpoint, sats: output.value.to_sat(), from });
            }
        }
    }

    /// Mines the open block and books its coinbase.
    pub(super) fn mine(&mut self, height: u32, time: u32) -> Result<(), Error> {
        let (tag, payees) = self.miner(height)?;
        self.builder.mine(&BlockSpec { time: Some(time), tag, payees, ..BlockSpec::default() })?;
        let coinbase = self.builder.head().block.txdata[0].clone();
        self.book(&coinbase, coinbase.compute_txid(), height + COINBASE_MATURITY);
        Ok(())
    }

    /// Tag and payees of the rival pool.
    pub(super) fn rival(&mut self) -> Result<(Vec<u8>, Vec<(ScriptBuf, u64)>), Error> {
        Ok((b"/Trailhead Mining/".to_vec(), vec![(self.fixed(Participant::Rival, 0)?, 1)]))
    }

    /// The miner of a block: people at home at first, then pools.
    fn miner(&mut self, height: u32) -> Result<(Vec<u8>, Vec<(ScriptBuf, u64)>), Error> {
        let script = match height {
            3..=24 => self.fixed(Participant::Sleeper, 0)?,
            25..=29 => self.fixed(Participant::Lost, 0)?,
            30..=60 => {
                let who = Participant::Person(height % PEOPLE);
                let lock = Lock::P2pk { key: who.key(0), form: KeyForm::Uncompressed };
                self.own(who, &lock)?
            }
            _ => match self.rng.random_range(0..10) {
                0..2 => return self.rival(),
                2 => {
                    let person = self.rng.random_range(0..PEOPLE);
                    self.receive(person)?
                }
                _ => return Ok((b"/Stone Pool/".to_vec(), vec![(self.fixed(Participant::Pool, 0)?, 1)])),
            },
        };
        Ok((Vec::new(), vec![(script, 1)]))
    }
}

pub(super) fn pay_to((script_pubkey, sats): (ScriptBuf, u64)) -> TxOut {
    TxOut { value: Amount::from_sat(sats), script_pubkey }
}
