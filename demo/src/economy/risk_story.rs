//! The last day of the demo: a case for each detector of risk signals, and one for each reason at which a trace of
//! money stops. The participants of these cases deal only with each other. Coins that nobody else uses pay for all of
//! it, the whale's newest ones, and what they pay to others is never spent. So all other transactions of the chain, and
//! the mempool, are the same as without them.

use std::collections::HashMap;

use bitcoin::{OutPoint, Script, ScriptBuf, Txid};

use super::actors::{Actor, Participant};
use super::address;
use super::half_hour::note;
use super::purses::{Economy, pay_to};
use crate::build::{Keyring, Style};
use crate::error::Error;

const BTC: u64 = 100_000_000;
/// The first block of the cases. A transaction changes the coinbase of its block; this one's cannot be spent before the
/// end, not even in the mempool.
const FIRST: u32 = super::DEMO_BLOCKS - 92;
/// Blocks in which the beacon sends, and how often in each: more than 1,000 transactions together.
const BEACON: std::ops::Range<u32> = FIRST + 2..super::DEMO_BLOCKS;
const BEACON_RATE: u32 = 12;
/// Steps of the peel chain, and blocks between them.
const PEELS: u32 = 8;
const PEEL_GAP: u32 = 3;
/// People on the payroll; the first of them pay the collector, others take part in a round.
const STAFF: u32 = 110;
const PAYERS: u32 = 12;
pub(super) const ROUND: std::ops::Range<u32> = 20..30;
/// Someone of the round who spends the dust with other coins.
pub(super) const CARELESS: u32 = 21;
const DUST_SATS: u64 = 600;
/// Satoshis for each virtual byte.
const FEE_RATE: u64 = 3;

/// Someone of the cases, as the number of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Role {
    Payroll,
    Gate,
    BehindGate,
    Collector,
    Reuser,
    Friend,
    Courier,
    AfterCourier,
    SecondAfterCourier,
    LateAfterCourier,
    Duster,
    Burner,
    Patron,
    Beacon,
    AfterMixer,
    SecondAfterMixer,
    AfterRound,
    Broker,
    Saver,
    Thief,
    Baker,
    /// Received what the thief peeled off.
    ThiefPeel(u32),
    /// Holds what is left after this many peels.
    Peel(u32),
    /// Received a peel.
    Peeled(u32),
    /// On the payroll.
    Staff(u32),
}

impl Role {
    pub(super) fn who(self) -> Participant {
        Participant::Case(match self {
            Self::Payroll => 0,
            Self::Gate => 1,
            Self::BehindGate => 2,
            Self::Collector => 3,
            Self::Reuser => 4,
            Self::Friend => 5,
            Self::Courier => 6,
            Self::AfterCourier => 7,
            Self::SecondAfterCourier => 8,
            Self::LateAfterCourier => 9,
            Self::Duster => 10,
            Self::Burner => 11,
            Self::Patron => 12,
            Self::Beacon => 13,
            Self::AfterMixer => 14,
            Self::SecondAfterMixer => 15,
            Self::AfterRound => 16,
            Self::Broker => 17,
            Self::Saver => 18,
            Self::Thief => 19,
            Self::Baker => 29,
            Self::Peel(step) => 20 + step,
            Self::Peeled(step) => 40 + step,
            Self::ThiefPeel(step) => 60 + step,
            Self::Staff(number) => 100 + number,
        })
    }
}

/// Lists the participants of the cases whom the demo's labels name. They have no part in the mempool.
pub(super) fn labelled(ring: &mut Keyring) -> Result<Vec<Actor>, Error> {
    let courier = ring.script(&Role::Courier.who().lock(0))?;
    let description = "Carries money for others, and is put on a list while it does.";
    let addresses = address(&courier).into_iter().collect();
    let (title, account_key) = ("The courier", None);
    Ok(vec![Actor { name: "courier", title, description, addresses, account_key, has_unconfirmed: false }])
}

/// The cases while they happen.
#[derive(Debug, Default)]
pub(super) struct Cases {
    /// Coins that can be spent, by the script that holds them.
    coins: HashMap<ScriptBuf, Vec<OutPoint>>,
    txids: HashMap<&'static str, Vec<Txid>>,
}

impl Cases {
    /// Adds to the open block what happens at a height.
    pub(super) fn happen(&mut self, economy: &mut Economy, height: u32) -> Result<(), Error> {
        let Some(at) = height.checked_sub(FIRST) else { return Ok(()) };
        match at {
            0 => self.begin(economy)?,
            1 => {
                let beacon = self.script(economy, Role::Beacon)?;
                self.pay(economy, "busy", Role::Patron, Vec::new(), &beacon)?;
            }
            2 => self.pay_staff(economy)?,
            3 => self.all_to(economy, "rapid_pass_through", Role::Gate, Role::BehindGate)?,
            4 => {
                let deposit = economy.fixed(Participant::Deposits, 0)?;
                self.pay(economy, "service", Role::BehindGate, Vec::new(), &deposit)?;
            }
            5 => self.all_to(economy, "address_reuse", Role::Reuser, Role::Friend)?,
            7 => self.part_to(economy, "sanctioned_indirect", Role::Courier, Role::AfterCourier, BTC / 5)?,
            10 => self.all_to(economy, "sanctioned_indirect_2", Role::AfterCourier, Role::SecondAfterCourier)?,
            13 => self.part_to(economy, "address_reuse", Role::Friend, Role::Reuser, BTC / 20)?,
            32 => self.part_to(economy, "sanctioned_after", Role::Courier, Role::LateAfterCourier, BTC / 10)?,
            37 => self.round(economy)?,
            40 => self.all_to(economy, "coinjoin", Role::Staff(ROUND.start), Role::AfterRound)?,
            42 => self.dust(economy)?,
            47 => self.burn(economy)?,
            52 => self.careless(economy)?,
            72 => self.mixer_pays(economy)?,
            75 => self.all_to(economy, "mixer_exposure_2", Role::AfterMixer, Role::SecondAfterMixer)?,
            _ => {}
        }
        if let Some(step) = at.checked_sub(12).filter(|since| since.is_multiple_of(PEEL_GAP)).map(|s| s / PEEL_GAP)
            && step < PEELS
        {
            self.peel(economy, step)?;
        }
        if let Some(payer) = at.checked_sub(14).filter(|payer| *payer < PAYERS) {
            self.all_to(economy, "fan_in", Role::Staff(payer), Role::Collector)?;
        }
        if BEACON.contains(&height) {
            for _ in 0..BEACON_RATE {
                self.all_to(economy, "beacon", Role::Beacon, Role::Beacon)?;
            }
        }
        self.theft(economy, at)
    }

    /// The transactions of some steps, in the order in which they were made.
    pub(super) fn txids(&self, steps: &[&'static str]) -> Vec<Txid> {
        steps.iter().filter_map(|step| self.txids.get(step)).flatten().copied().collect()
    }

    pub(super) fn script(&self, economy: &mut Economy, role: Role) -> Result<ScriptBuf, Error> {
        economy.fixed(role.who(), 0)
    }

    /// Takes the coins that a script holds.
    pub(super) fn take(&mut self, script: &Script) -> Vec<OutPoint> {
        self.coins.remove(script).unwrap_or_default()
    }

    /// Spends all coins of someone; what `payees` leave goes to `rest`.
    pub(super) fn pay(
        &mut self,
        economy: &mut Economy,
        id: &'static str,
        from: Role,
        payees: Vec<(ScriptBuf, u64)>,
        rest: &ScriptBuf,
    ) -> Result<(), Error> {
        let script = self.script(economy, from)?;
        let coins = self.take(&script);
        self.spend(economy, id, &coins, payees, rest)
    }

    pub(super) fn spend(
        &mut self,
        economy: &mut Economy,
        id: &'static str,
        coins: &[OutPoint],
        mut payees: Vec<(ScriptBuf, u64)>,
        rest: &ScriptBuf,
    ) -> Result<(), Error> {
        let held =
            coins.iter().filter_map(|coin| economy.coin(coin)).map(|coin| coin.txout.value.to_sat()).sum::<u64>();
        let fee = FEE_RATE * (12 + 90 * coins.len() as u64 + 36 * (payees.len() as u64 + 1));
        let paid: u64 = payees.iter().map(|(_, sats)| sats).sum();
        let left = held.checked_sub(paid + fee).ok_or(Error::Overspent { input: held, output: paid + fee })?;
        payees.push((rest.clone(), left));
        self.send(economy, id, coins, payees)
    }

    /// Signs and adds a transaction. No purse learns of it.
    fn send(
        &mut self,
        economy: &mut Economy,
        id: &'static str,
        coins: &[OutPoint],
        payees: Vec<(ScriptBuf, u64)>,
    ) -> Result<(), Error> {
        let outputs = payees.into_iter().map(pay_to).collect();
        let tx = economy.builder().spend(coins, outputs, &Style::default())?;
        let txid = economy.builder().add(tx.clone())?;
        for (vout, output) in (0..).zip(tx.output) {
            self.coins.entry(output.script_pubkey).or_default().push(OutPoint { txid, vout });
        }
        self.txids.entry(id).or_default().push(txid);
        Ok(())
    }

    fn all_to(&mut self, economy: &mut Economy, id: &'static str, from: Role, to: Role) -> Result<(), Error> {
        let to = self.script(economy, to)?;
        self.pay(economy, id, from, Vec::new(), &to)
    }

    /// Pays a part, the rest goes back.
    fn part_to(
        &mut self,
        economy: &mut Economy,
        id: &'static str,
        from: Role,
        to: Role,
        sats: u64,
    ) -> Result<(), Error> {
        let (own, to) = (self.script(economy, from)?, self.script(economy, to)?);
        self.pay(economy, id, from, vec![(to, sats)], &own)
    }

    /// The whale passes a part of its newest purchase on.
    fn begin(&mut self, economy: &mut Economy) -> Result<(), Error> {
        let shares = [
            (Role::Payroll, BTC / 10 * 23),
            (Role::Gate, BTC / 2),
            (Role::Reuser, BTC / 5),
            (Role::Courier, BTC / 10 * 6),
            (Role::Peel(0), BTC),
            (Role::Duster, BTC / 100 * 3),
            (Role::Burner, BTC / 100),
            (Role::Patron, BTC / 20),
        ];
        let mut payees = Vec::with_capacity(shares.len());
        for (role, sats) in shares {
            payees.push((self.script(economy, role)?, sats));
        }
        let newest = economy.spendable(Participant::Whale).into_iter().rev().find(|coin| coin.sats > 5 * BTC);
        let coin = newest.ok_or(Error::Parameters("a whale that never bought 5 BTC"))?.outpoint;
        let own = economy.coin(&coin).ok_or(Error::MissingCoin(coin))?.txout.script_pubkey.clone();
        economy.take(Participant::Whale, &[coin]);
        self.spend(economy, "beginning", &[coin], payees, &own)
    }

    fn pay_staff(&mut self, economy: &mut Economy) -> Result<(), Error> {
        let mut payees = Vec::new();
        for number in 0..STAFF {
            payees.push((self.script(economy, Role::Staff(number))?, BTC / 50 + u64::from(number) * 50));
        }
        let own = self.script(economy, Role::Payroll)?;
        self.pay(economy, "fan_out", Role::Payroll, payees, &own)
    }

    /// Pays 0.03 BTC to someone and the rest to a new address.
    fn peel(&mut self, economy: &mut Economy, step: u32) -> Result<(), Error> {
        let (to, rest) = (self.script(economy, Role::Peeled(step))?, self.script(economy, Role::Peel(step + 1))?);
        self.pay(economy, "peel_chain", Role::Peel(step), vec![(to, BTC / 100 * 3)], &rest)
    }

    /// People of the payroll bring a coin each, and get an equal output and their change; the mixer gets a fee.
    fn round(&mut self, economy: &mut Economy) -> Result<(), Error> {
        let (equal, share, cut) = (BTC / 100 * 12 / 10, 3_000, 20_000);
        let (mut coins, mut outputs, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for number in ROUND {
            let script = self.script(economy, Role::Staff(number))?;
            for coin in self.coins.remove(&script).unwrap_or_default() {
                let held = economy.coin(&coin).ok_or(Error::MissingCoin(coin))?.txout.value.to_sat();
                coins.push(coin);
                // Each has an address of its own for what comes back.
                rest.push((economy.fixed(Role::Staff(number).who(), 1)?, held - equal - share));
                outputs.push((economy.fixed(Role::Staff(number).who(), 2)?, equal));
            }
        }
        outputs.append(&mut rest);
        outputs.push((economy.fixed(Participant::Mixer, 0)?, cut));
        self.send(economy, "coinjoin_participation", &coins, outputs)?;
        // The first of them goes on with the equal output.
        let first = economy.fixed(Role::Staff(ROUND.start).who(), 2)?;
        let coin = self.coins.remove(&first).unwrap_or_default();
        let own = self.script(economy, Role::Staff(ROUND.start))?;
        self.coins.insert(own, coin);
        Ok(())
    }

    /// Sends tiny amounts to everyone on the payroll.
    fn dust(&mut self, economy: &mut Economy) -> Result<(), Error> {
        let mut payees = vec![(note(b"The northern pass is open: ask at the third cairn")?, 0)];
        for number in 0..STAFF {
            payees.push((self.script(economy, Role::Staff(number))?, DUST_SATS));
        }
        let own = self.script(economy, Role::Duster)?;
        self.pay(economy, "dust_recipient", Role::Duster, payees, &own)
    }

    /// Spends dust together with what came back from the round, and so shows that both belong together.
    fn careless(&mut self, economy: &mut Economy) -> Result<(), Error> {
        let who = Role::Staff(CARELESS).who();
        let mut coins = Vec::new();
        for n in [0, 1] {
            coins.extend(self.coins.remove(&economy.fixed(who, n)?).unwrap_or_default());
        }
        let to = economy.fixed(who, 3)?;
        self.spend(economy, "careless", &coins, Vec::new(), &to)
    }

    /// Leaves 5,000 satoshis in an output that nobody can spend.
    fn burn(&mut self, economy: &mut Economy) -> Result<(), Error> {
        let own = self.script(economy, Role::Burner)?;
        let note = note(b"A stone for those who never came back")?;
        self.pay(economy, "unspendable", Role::Burner, vec![(note, 5_000)], &own)
    }

    /// The mixer pays its oldest fees to someone.
    fn mixer_pays(&mut self, economy: &mut Economy) -> Result<(), Error> {
        let coins: Vec<OutPoint> =
            economy.spendable(Participant::Mixer).into_iter().take(3).map(|coin| coin.outpoint).collect();
        economy.take(Participant::Mixer, &coins);
        let to = self.script(economy, Role::AfterMixer)?;
        self.spend(economy, "mixer_exposure", &coins, Vec::new(), &to)
    }
}
