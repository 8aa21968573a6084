//! Participants of the demo's economy, and their fixed addresses.

use bitcoin::{Address, ScriptBuf};

use super::address;
use crate::build::{KeyForm, Keyring, Lock};
use crate::error::Error;

/// A named participant of the demo chain.
#[derive(Clone, Debug)]
pub struct Actor {
    /// A short name.
    pub name: &'static str,
    /// The heading of its story.
    pub title: &'static str,
    /// Its activity, in a sentence.
    pub description: &'static str,
    /// Its fixed addresses (regtest), the most characteristic first. It may use further ones.
    pub addresses: Vec<Address>,
    /// Extended public key of its account (BIP 84), if its wallet is one.
    pub account_key: Option<&'static str>,
    /// True if unconfirmed transactions of the demo pay it or spend its coins.
    pub has_unconfirmed: bool,
}

/// An address to show.
#[derive(Clone, Debug)]
pub struct Showcase {
    /// The address (regtest).
    pub address: Address,
    /// The reason to look at it, in a sentence.
    pub what: &'static str,
}

/// Count of people without a name.
pub(super) const PEOPLE: u32 = 80;
/// Number of the deposit address of the exchange that gets a part of the theft. Nobody else pays there, and the
/// exchange does not sweep it before the end, so that the money still stands there.
pub(super) const FRESH_DEPOSIT: u32 = PEOPLE + 4;

/// Participants, as indexes of purses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Participant {
    Pool,
    Rival,
    Hot,
    Cold,
    Deposits,
    Whale,
    Mixer,
    Merchant,
    Sleeper,
    /// Earned in 2011 and never seen again.
    Lost,
    Duster,
    Person(u32),
    /// Takes part in a case of the last day. It has no purse.
    Case(u32),
}

impl Participant {
    pub(super) fn index(self) -> usize {
        match self {
            Self::Pool => 0,
            Self::Rival => 1,
            Self::Hot => 2,
            Self::Cold => 3,
            Self::Deposits => 4,
            Self::Whale => 5,
            Self::Mixer => 6,
            Self::Merchant => 7,
            Self::Sleeper => 8,
            Self::Lost => 9,
            Self::Duster => 10,
            Self::Person(person) => 11 + person as usize,
            Self::Case(role) => 11 + (PEOPLE + role) as usize,
        }
    }

    /// The index of the participant's `n`-th key.
    pub(super) fn key(self, n: u32) -> u32 {
        self.index() as u32 * 100_000 + n
    }

    /// The fixed lock of participants that keep one address for years; `n` counts them.
    pub(super) fn lock(self, n: u32) -> Lock {
        let key = self.key(n);
        match self {
            Self::Pool | Self::Rival => Lock::P2pkh { key, form: KeyForm::Compressed },
            Self::Hot | Self::Merchant | Self::Duster | Self::Person(_) | Self::Case(_) => Lock::P2wpkh { key },
            Self::Cold => Lock::P2wsh { needed: 2, keys: vec![key, self.key(1_000 + n), self.key(2_000 + n)] },
            Self::Deposits => Lock::P2shP2wpkh { key },
            Self::Whale => Lock::P2trKey { key },
            Self::Mixer => Lock::P2trScript { internal: key, leaves: [self.key(1_000 + n), self.key(2_000 + n)] },
            Self::Sleeper | Self::Lost => Lock::P2pkh { key, form: KeyForm::Uncompressed },
        }
    }
}

fn addresses(ring: &mut Keyring, locks: &[Lock]) -> Result<Vec<Address>, Error> {
    let scripts = locks.iter().map(|lock| ring.script(lock)).collect::<Result<Vec<ScriptBuf>, Error>>()?;
    Ok(scripts.iter().filter_map(|script| address(script)).collect())
}

pub(super) fn list(ring: &mut Keyring) -> Result<Vec<Actor>, Error> {
    let mut actor = |name, title, description, locks: &[Lock]| {
        let has_unconfirmed = name != "lost";
        let addresses = addresses(ring, locks)?;
        Ok::<_, Error>(Actor { name, title, description, addresses, account_key: None, has_unconfirmed })
    };
    Ok(vec![
        actor(
            "exchange",
            "Cairn Exchange",
            "Customers pay to deposit addresses, which are swept into one hot wallet; withdrawals leave in batches; \
             what is too much goes to a 2-of-3 vault.",
            &[
                Participant::Hot.lock(0),
                Participant::Cold.lock(0),
                Participant::Deposits.lock(0),
                Participant::Deposits.lock(1),
                Participant::Deposits.lock(2),
                Participant::Deposits.lock(FRESH_DEPOSIT),
            ],
        )?,
        actor(
            "pool",
            "Stone Pool",
            "Mines most blocks and pays its members in batches.",
            &[Participant::Pool.lock(0)],
        )?,
        actor(
            "whale",
            "The whale",
            "Buys for years in large pieces, sells a part in one day in 2021.",
            &[Participant::Whale.lock(0), Participant::Whale.lock(1)],
        )?,
        actor(
            "mixer",
            "The mixer",
            "Coordinates joint transactions with equal outputs and takes a small fee.",
            &[Participant::Mixer.lock(0)],
        )?,
        actor(
            "merchant",
            "Waystone Shop",
            "One new address per sale, a donation address, a yearly OP_RETURN with the hash of its books.",
            &[Participant::Merchant.lock(0), Participant::Merchant.lock(1), Participant::Merchant.lock(2)],
        )?,
        actor(
            "sleeper",
            "The sleeper",
            "Mined in the first weeks of 2011 and moved nothing until 2024.",
            &[Participant::Sleeper.lock(0)],
        )?,
        actor(
            "lost",
            "The lost key",
            "Mined in the first weeks of 2011 as well; the key is lost, and nothing ever moved.",
            &[Participant::Lost.lock(0)],
        )?,
    ])
}

pub(super) fn showcase(ring: &mut Keyring) -> Result<[Showcase; 3], Error> {
    let mut show = |lock: Lock, what| {
        let script = ring.script(&lock)?;
        let address = address(&script).ok_or(Error::UnknownScript(script))?;
        Ok::<_, Error>(Showcase { address, what })
    };
    Ok([
        show(Participant::Hot.lock(0), "The exchange's hot wallet: thousands of transactions.")?,
        show(Participant::Sleeper.lock(0), "Mined in 2011, asleep for thirteen years, awake in 2024.")?,
        show(Participant::Lost.lock(0), "Mined in 2011 and never moved.")?,
    ])
}
