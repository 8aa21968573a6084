//! Actors and what they intend. No actor knows a rule of a detector: each does what such people do, with noise.

use cairn_domain::risk::Facts;
use cairn_model::{Height, Sats, ScriptId};
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::world::{Coin, World};

pub(crate) const BTC: Sats = 100_000_000;

/// The intent of an actor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Intent {
    /// Hides an origin by taking small parts off a large amount.
    LaundersByPeeling,
    /// Hides an origin by sending on what comes in.
    PassesOn,
    /// Takes money from victims, and sends it on.
    CollectsFromVictims,
    /// Pays everyday bills out of savings.
    PaysFromSavings,
    /// Moves savings to another wallet.
    MovesSavings,
    /// Keeps coins.
    Holds,
    /// Gathers own coins that were never spent together.
    Consolidates,
    /// Divides own coins.
    Splits,
    /// Uses each address once, and is paid there again by others.
    IsPaidAgain,
    /// Publishes one address for donations.
    AsksForDonations,
    /// A shop with one address.
    SellsAtOneAddress,
    /// A shop with an address for each invoice.
    SellsByInvoice,
    /// Receives a salary at one address.
    EarnsSalary,
    /// Pays salaries.
    PaysSalaries,
    /// An exchange's address for the deposits of a customer.
    TakesDeposits,
    /// An exchange's address that deposits are swept to.
    SweepsDeposits,
    /// An exchange that pays withdrawals one by one.
    PaysWithdrawals,
    /// An exchange that pays many withdrawals at once.
    PaysOut,
    /// Mixes coins with others.
    JoinsCoins,
    /// Pays the same amount to several from several coins.
    PaysEqualAmounts,
    /// A user of a mixer.
    UsesMixer,
    /// Is paid by a user of a mixer.
    SellsToMixerUser,
    /// Deals with a listed party.
    DealsWithListed,
    /// Is paid by somebody who dealt with a listed party.
    SellsToDealer,
    /// Was sent dust by somebody who watches addresses.
    IsWatched,
    /// Was sent a token with dust.
    IsAdvertisedTo,
    /// Is paid tiny amounts for work.
    EarnsLittle,
}

impl Intent {
    /// The detectors whose subject this intent is.
    pub(crate) fn is_subject_of(self, detector: &str) -> bool {
        use Intent::*;
        match detector {
            "coinjoin_participation" => matches!(self, JoinsCoins),
            "peel_chain" => matches!(self, LaundersByPeeling),
            "address_reuse" => {
                matches!(self, AsksForDonations | SellsAtOneAddress | EarnsSalary | SweepsDeposits | TakesDeposits)
            }
            "rapid_pass_through" => matches!(self, PassesOn | CollectsFromVictims),
            "fan_in" => matches!(self, AsksForDonations | SellsAtOneAddress | CollectsFromVictims),
            "fan_out" => matches!(self, PaysSalaries | PaysOut),
            "dust_recipient" => matches!(self, IsWatched),
            "mixer_exposure" => matches!(self, UsesMixer),
            "sanctioned_indirect" => matches!(self, DealsWithListed),
            _ => false,
        }
    }
}

/// A script of an actor that is judged.
pub(crate) struct Actor {
    pub(crate) intent: Intent,
    pub(crate) script: ScriptId,
}

/// The actors and their chain.
pub(crate) struct Play {
    pub(crate) world: World,
    pub(crate) rng: ChaCha8Rng,
    pub(crate) actors: Vec<Actor>,
}

impl Play {
    pub(crate) fn new(seed: u64) -> Self {
        Play { world: World::default(), rng: ChaCha8Rng::seed_from_u64(seed), actors: Vec::new() }
    }

    /// Notes one of the scripts that an actor uses.
    pub(crate) fn judge(&mut self, intent: Intent, scripts: &[ScriptId]) {
        let script = scripts[self.rng.random_range(0..scripts.len())];
        self.actors.push(Actor { intent, script });
    }

    /// True with this chance in percent.
    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }

    pub(crate) fn between(&mut self, from: u64, to: u64) -> u64 {
        self.rng.random_range(from..=to)
    }

    /// An amount between two, with every order of magnitude as likely.
    pub(crate) fn amount(&mut self, from: Sats, to: Sats) -> Sats {
        let (from, to) = ((from as f64).ln(), (to as f64).ln());
        self.rng.random_range(from..to).exp() as Sats
    }

    /// Blocks to wait, with every order of magnitude as likely.
    pub(crate) fn wait(&mut self, from: u32, to: u32) -> u32 {
        self.amount(from.into(), to.into()) as u32
    }

    pub(crate) fn start(&mut self) -> Height {
        self.between(20_000, 60_000) as Height
    }

    /// Pays from coins: outputs in random order, change to `back`. Returns the coins of the outputs, then the change.
    pub(crate) fn pay(
        &mut self,
        height: Height,
        coins: &[Coin],
        paid: &[(ScriptId, Sats)],
        back: ScriptId,
    ) -> (Vec<Coin>, Option<Coin>) {
        let all: Sats = coins.iter().map(|coin| coin.value).sum();
        let out: Sats = paid.iter().map(|(_, sats)| sats).sum();
        let rest = all.checked_sub(out).expect("the coins suffice");
        let change = rest.saturating_sub(150 * (2 + coins.len() as Sats + paid.len() as Sats));
        let mut outputs: Vec<(Option<usize>, ScriptId, Sats)> =
            paid.iter().enumerate().map(|(at, (script, sats))| (Some(at), *script, *sats)).collect();
        if change > 1_000 {
            outputs.push((None, back, change));
        }
        outputs.shuffle(&mut self.rng);
        let list: Vec<(ScriptId, Sats)> = outputs.iter().map(|(_, script, sats)| (*script, *sats)).collect();
        let made = self.world.tx(height, coins, &list);
        let mut found: Vec<(Option<usize>, Coin)> = outputs.iter().map(|(at, ..)| *at).zip(made).collect();
        found.sort_by_key(|(at, _)| at.unwrap_or(usize::MAX));
        let change = found.pop_if(|(at, _)| at.is_none()).map(|(_, coin)| coin);
        (found.into_iter().map(|(_, coin)| coin).collect(), change)
    }

    /// A coin of a stranger, who got it some time before.
    pub(crate) fn strangers(&mut self, height: Height, value: Sats) -> Coin {
        let script = self.world.script();
        let before = self.wait(1, 4_000);
        let mined = self.world.script();
        let coin = self.world.coin(height.saturating_sub(before + 200), mined, value + 2_000);
        let (made, _) = self.pay(height.saturating_sub(before), &[coin], &[(script, value)], mined);
        made[0]
    }

    /// A stranger pays a script.
    pub(crate) fn receive(&mut self, height: Height, script: ScriptId, sats: Sats) -> Coin {
        let more = self.amount(20_000, sats.max(20_001) * 4);
        let coin = self.strangers(height, sats + more);
        let back = self.world.script();
        self.pay(height, &[coin], &[(script, sats)], back).0[0]
    }

    /// An own coin, received from a stranger.
    pub(crate) fn own(&mut self, height: Height, sats: Sats) -> Coin {
        let script = self.world.script();
        self.receive(height, script, sats)
    }

    /// Spends a coin of a script to somebody.
    pub(crate) fn spend_all(&mut self, height: Height, coins: &[Coin]) -> ScriptId {
        let to = self.world.script();
        let all: Sats = coins.iter().map(|coin| coin.value).sum();
        let fee = 150 * (2 + coins.len() as Sats);
        self.world.tx(height, coins, &[(to, all - fee)]);
        to
    }

    /// Lets sources say more of a script.
    pub(crate) fn known(&mut self, script: ScriptId, more: fn(&mut Facts)) {
        self.world.facts.insert(script, more);
    }
}

/// All actors of one play.
pub(crate) fn play(seed: u64, of_each: u32) -> Play {
    let mut play = Play::new(seed);
    for _ in 0..of_each {
        play.people();
        play.services();
        play.mixing();
    }
    play
}
