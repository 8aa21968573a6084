//! The activity of the demo's participants, block by block.

use bitcoin::ScriptBuf;
use bitcoin::hashes::{Hash, sha256};
use rand::Rng;
use rand::seq::IndexedRandom;

use super::actors::{PEOPLE, Participant};
use super::purses::{DUST, Economy};
use crate::error::Error;

const BTC: u64 = 100_000_000;
/// The first block in which mined coins can move.
const FIRST: u32 = 104;
/// Blocks of a year, while blocks are two days apart.
const YEAR: u32 = 172;
/// The hot wallet holds between these, in satoshis.
const HOT: std::ops::Range<u64> = 150 * BTC..600 * BTC;
/// Heights (late 2024) at which the sleeper moves coins.
const AWAKE: [u32; 3] = [2_385, 2_391, 2_420];
/// Height (2021) at which the whale sells.
const SALE: u32 = 1_850;

impl Economy {
    /// Adds everything that happens in one block to the open block.
    pub(super) fn live(&mut self, height: u32) -> Result<(), Error> {
        self.height = height;
        if height < FIRST {
            return Ok(());
        }
        if height.is_multiple_of(12) {
            self.pool_payout()?;
        }
        for _ in 0..self.rng.random_range(1..=4) {
            self.person_acts()?;
        }
        if height > 300 {
            self.exchange(height)?;
        }
        if height > 500 && height.is_multiple_of(24) {
            self.mix()?;
        }
        if height.is_multiple_of(40) {
            self.merchant(height)?;
        }
        self.whale(height)?;
        if AWAKE.contains(&height) {
            self.awake(height)?;
        }
        if height == 1_500 || height == 2_600 {
            self.dust_campaign()?;
        }
        Ok(())
    }

    /// The pools pay their members: everyone a share of what has matured. A part goes to the exchange.
    fn pool_payout(&mut self) -> Result<(), Error> {
        for who in [Participant::Pool, Participant::Rival] {
            let balance = self.balance(who);
            if balance < BTC / 100 {
                continue;
            }
            let change = self.fixed(who, 0)?;
            let members = self.rng.random_range(20..60);
            let mut payees = vec![(self.fixed(Participant::Deposits, 0)?, balance / 4)];
            for _ in 0..members {
                let member = self.rng.random_range(0..PEOPLE);
                let share = balance / 2 / members as u64 * self.rng.random_range(50..100) / 100;
                if share > DUST {
                    payees.push((self.receive(member)?, share));
                }
            }
            self.pay(who, payees, &change)?;
        }
        Ok(())
    }

    fn person_acts(&mut self) -> Result<(), Error> {
        let person = self.rng.random_range(0..PEOPLE);
        let who = Participant::Person(person);
        let balance = self.balance(who);
        if balance < 20_000 {
            return Ok(());
        }
        let part =
            |rng: &mut rand_chacha::ChaCha8Rng, least: u64, most: u64| balance / 1_000 * rng.random_range(least..most);
        let change = self.fresh(person)?;
        let payee = match self.rng.random_range(0..20) {
            // A sale at the shop: a round price at a new address.
            0..7 => {
                let script = self.next_fixed(Participant::Merchant, 1)?;
                let price = (balance / 200).clamp(10_000, BTC / 2) / 10_000 * 10_000;
                (script, price)
            }
            7 => (self.fixed(Participant::Merchant, 0)?, (balance / 1_000).clamp(5_000, BTC / 10)),
            // To the own deposit address at the exchange, used again and again.
            8..13 if self.height > 300 => {
                (self.fixed(Participant::Deposits, 1 + person)?, part(&mut self.rng, 50, 600))
            }
            13 => {
                let coins = self.coin_count(who);
                if coins > 8 {
                    self.sweep(who, 40, &change)?;
                }
                return Ok(());
            }
            _ => {
                let other = self.rng.random_range(0..PEOPLE);
                (self.receive(other)?, part(&mut self.rng, 5, 200))
            }
        };
        if payee.1 > DUST {
            self.pay(who, vec![payee], &change)?;
        }
        Ok(())
    }

    /// Sweeps deposits, pays withdrawals, keeps the hot wallet within its bounds.
    fn exchange(&mut self, height: u32) -> Result<(), Error> {
        let hot = self.fixed(Participant::Hot, 0)?;
        let vault = self.fixed(Participant::Cold, 0)?;
        if height.is_multiple_of(5) && self.coin_count(Participant::Deposits) > 0 {
            self.sweep(Participant::Deposits, 50, &hot)?;
        }
        if self.coin_count(Participant::Hot) > 45 {
            self.sweep(Participant::Hot, 45, &hot)?;
        }
        let balance = self.balance(Participant::Hot);
        for _ in 0..self.rng.random_range(0..=2) {
            let mut payees = Vec::new();
            for _ in 0..self.rng.random_range(1..=9) {
                let customer = self.rng.random_range(0..PEOPLE);
                let sats = balance / 4_000 * self.rng.random_range(1..40);
                if sats > DUST {
                    payees.push((self.receive(customer)?, sats));
                }
            }
            if !payees.is_empty() {
                self.pay(Participant::Hot, payees, &hot)?;
            }
        }
        let balance = self.balance(Participant::Hot);
        if balance > HOT.end {
            let second = self.fixed(Participant::Cold, 1)?;
            let target = if self.rng.random_bool(0.8) { vault } else { second };
            self.pay(Participant::Hot, vec![(target, balance - (HOT.start + HOT.end) / 2)], &hot)?;
        } else if balance < HOT.start && self.balance(Participant::Cold) > 2 * HOT.start {
            self.pay(Participant::Cold, vec![(hot, HOT.start)], &vault)?;
        }
        Ok(())
    }

    fn mix(&mut self) -> Result<(), Error> {
        let first = self.rng.random_range(0..PEOPLE);
        let count = self.rng.random_range(8..25);
        let people: Vec<u32> = (0..count).map(|step| (first + step * 3) % PEOPLE).collect();
        let sats = *[BTC, BTC / 10, BTC / 100].choose(&mut self.rng).unwrap_or(&BTC);
        let fee_to = self.fixed(Participant::Mixer, 0)?;
        self.join(&people, sats, &fee_to)?;
        if self.coin_count(Participant::Mixer) > 20 {
            let deposit = self.fixed(Participant::Deposits, 0)?;
            self.sweep(Participant::Mixer, 20, &deposit)?;
        }
        Ok(())
    }

    /// The shop sells its takings and, once a year, commits to its books.
    fn merchant(&mut self, height: u32) -> Result<(), Error> {
        let deposit = self.fixed(Participant::Deposits, PEOPLE + 1)?;
        if self.coin_count(Participant::Merchant) > 15 {
            self.sweep(Participant::Merchant, 50, &deposit)?;
        }
        if height % YEAR < 40 {
            let books = sha256::Hash::hash(&height.to_le_bytes()).to_byte_array();
            let note = ScriptBuf::new_op_return(books);
            let change = self.fixed(Participant::Merchant, 0)?;
            self.pay(Participant::Merchant, vec![(note, 0)], &change)?;
        }
        Ok(())
    }

    /// Buys a hundredth of what the exchange has, every few months; sells a third in one day.
    fn whale(&mut self, height: u32) -> Result<(), Error> {
        if height > 400 && height % 50 == 7 {
            let hot = self.fixed(Participant::Hot, 0)?;
            let address = self.fixed(Participant::Whale, u32::from(height > SALE))?;
            let sats = self.balance(Participant::Hot) / 20 / BTC * BTC;
            if sats > 0 {
                self.pay(Participant::Hot, vec![(address, sats)], &hot)?;
            }
        }
        if height == SALE {
            let deposit = self.fixed(Participant::Deposits, PEOPLE + 2)?;
            let change = self.fixed(Participant::Whale, 0)?;
            for _ in 0..3 {
                let sats = self.balance(Participant::Whale) / 8;
                self.pay(Participant::Whale, vec![(deposit.clone(), sats)], &change)?;
            }
        }
        Ok(())
    }

    /// The sleeper tries a small piece first, then moves more, the last time to the exchange.
    fn awake(&mut self, height: u32) -> Result<(), Error> {
        let own = self.fixed(Participant::Sleeper, 0)?;
        let payee = match AWAKE.iter().position(|&at| at == height) {
            Some(0) => (self.fixed(Participant::Sleeper, 1)?, BTC),
            Some(1) => (self.fixed(Participant::Sleeper, 1)?, 300 * BTC),
            _ => (self.fixed(Participant::Deposits, PEOPLE + 3)?, 120 * BTC),
        };
        self.pay(Participant::Sleeper, vec![payee], &own)?;
        Ok(())
    }

    /// Someone sends tiny amounts to many people, to see who spends them together with other coins.
    fn dust_campaign(&mut self) -> Result<(), Error> {
        let purse = self.fixed(Participant::Duster, 0)?;
        let hot = self.fixed(Participant::Hot, 0)?;
        self.pay(Participant::Hot, vec![(purse.clone(), BTC / 50)], &hot)?;
        let mut payees = Vec::new();
        for person in 0..PEOPLE {
            payees.push((self.receive(person)?, DUST + 1));
        }
        self.pay(Participant::Duster, payees, &purse)?;
        Ok(())
    }
}
