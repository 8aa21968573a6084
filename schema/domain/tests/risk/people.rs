//! Persons: savers, sellers, thieves.

use cairn_model::{Height, ScriptId};
use rand::seq::SliceRandom;

use super::{
    actors::{BTC, Intent, Play},
    world::Coin,
};

impl Play {
    pub(super) fn people(&mut self) {
        self.launders_by_peeling();
        self.passes_on();
        self.collects_from_victims();
        for _ in 0..3 {
            self.pays_from_savings();
        }
        self.moves_savings();
        self.holds();
        self.consolidates();
        self.splits();
        self.is_paid_again();
        self.asks_for_donations();
        self.sells_at_one_address();
        self.sells_by_invoice();
        self.earns_little();
    }

    fn launders_by_peeling(&mut self) {
        let mut height = self.start();
        let stolen = self.amount(2 * BTC, 500 * BTC);
        let mut coin = self.own(height, stolen);
        let mut scripts = vec![coin.script];
        for _ in 0..self.between(4, 40) {
            height += if self.chance(6) { self.wait(150, 2_000) } else { self.wait(1, 60) };
            let share = if self.chance(8) { self.between(20, 45) } else { self.between(1, 15) };
            let part = coin.value * share / 100;
            let mut paid = vec![(self.world.script(), part)];
            if self.chance(5) {
                paid.push((self.world.script(), part / 2));
            }
            let mut coins = vec![coin];
            if self.chance(4) {
                coins.push(self.own(height - 1, 40_000));
            }
            let back = self.world.script();
            let Some(rest) = self.pay(height, &coins, &paid, back).1 else { break };
            coin = rest;
            scripts.push(coin.script);
            if coin.value < BTC / 20 {
                break;
            }
        }
        self.judge(Intent::LaundersByPeeling, &scripts);
    }

    fn passes_on(&mut self) {
        let (mut height, script) = (self.start(), self.world.script());
        for _ in 0..self.between(1, 4) {
            height += self.wait(1, 3_000);
            let sats = self.amount(BTC / 15, 30 * BTC);
            let coin = self.receive(height, script, sats);
            height += if self.chance(12) { self.wait(145, 1_000) } else { self.wait(1, 140) };
            let keeps = if self.chance(15) { self.between(8, 20) } else { self.between(0, 4) };
            let (to, away) = (self.world.script(), coin.value * (100 - keeps) / 100 - 1_000);
            // Most keep nothing at the address.
            let back = if self.chance(30) { script } else { self.world.script() };
            self.pay(height, &[coin], &[(to, away)], back);
        }
        self.judge(Intent::PassesOn, &[script]);
    }

    fn collects_from_victims(&mut self) {
        let (start, script) = (self.start(), self.world.script());
        let days = self.between(1, 5) as u32;
        let mut coins = Vec::new();
        for _ in 0..self.between(6, 70) {
            let height = start + self.between(0, u64::from(days) * 144) as Height;
            let sats = self.amount(BTC / 200, 2 * BTC);
            coins.push(self.receive(height, script, sats));
        }
        self.send_on(coins, 20, 200);
        self.judge(Intent::CollectsFromVictims, &[script]);
    }

    /// Sends coins on in groups, some time after the last of each.
    fn send_on(&mut self, mut coins: Vec<Coin>, from: u32, to: u32) {
        coins.sort_by_key(|coin| coin.at);
        for some in coins.chunks(7) {
            let last = some.iter().map(|coin| self.height_of(coin)).max().unwrap();
            let height = last + self.wait(from, to);
            self.spend_all(height, some);
        }
    }

    pub(super) fn height_of(&self, coin: &Coin) -> Height {
        self.world.txs[&coin.at.tx_num].height
    }

    fn pays_from_savings(&mut self) {
        let mut height = self.start();
        let savings = self.amount(BTC / 10, 20 * BTC);
        let mut coin = self.own(height, savings);
        let mut scripts = vec![coin.script];
        for _ in 0..self.between(1, 12) {
            height += self.wait(2, 4_000);
            let most = (coin.value / 2).max(60_001);
            let bill = self.amount(50_000, most).min(coin.value / 2);
            let mut coins = vec![coin];
            if self.chance(30) {
                coins.push(self.own(height - 1, 300_000));
            }
            // Old wallets send change back.
            let back = if self.chance(10) { coin.script } else { self.world.script() };
            let to = self.world.script();
            let Some(rest) = self.pay(height, &coins, &[(to, bill)], back).1 else { break };
            coin = rest;
            scripts.push(coin.script);
            if coin.value < 200_000 {
                break;
            }
        }
        self.judge(Intent::PaysFromSavings, &scripts);
    }

    fn moves_savings(&mut self) {
        let height = self.start();
        let script = self.world.script();
        let count = self.between(1, 5);
        let sats = self.amount(BTC / 20, 50 * BTC);
        let coins: Vec<Coin> = (0..count).map(|_| self.receive(height, script, sats)).collect();
        let later = height + self.wait(2, 20_000);
        self.spend_all(later, &coins);
        self.judge(Intent::MovesSavings, &[script]);
    }

    fn holds(&mut self) {
        let (mut height, script) = (self.start(), self.world.script());
        for _ in 0..self.between(1, 6) {
            let sats = self.amount(BTC / 100, 5 * BTC);
            self.receive(height, script, sats);
            height += self.wait(100, 10_000);
        }
        self.judge(Intent::Holds, &[script]);
    }

    fn consolidates(&mut self) {
        let (start, script) = (self.start(), self.world.script());
        let coins: Vec<Coin> = (0..self.between(4, 40)).map(|_| self.own(start, 2_000_000)).collect();
        // Privacy-minded owners send coin by coin, the others all at once.
        if self.chance(60) {
            let days = self.wait(1, 30);
            for coin in coins {
                let height = start + 1 + self.between(0, u64::from(days) * 144) as Height;
                self.pay(height, &[coin], &[(script, coin.value - 500)], script);
            }
        } else {
            let all: u64 = coins.iter().map(|coin| coin.value).sum();
            self.pay(start + 5, &coins, &[(script, all - 20_000)], script);
        }
        self.judge(Intent::Consolidates, &[script]);
    }

    fn splits(&mut self) {
        let height = self.start();
        let coin = self.own(height, 10 * BTC);
        let parts = self.between(2, 60);
        let paid: Vec<(ScriptId, u64)> = (0..parts).map(|_| (self.world.script(), BTC / 10)).collect();
        let back = self.world.script();
        let later = height + self.wait(2, 500);
        self.pay(later, &[coin], &paid, back);
        self.judge(Intent::Splits, &[coin.script]);
    }

    fn is_paid_again(&mut self) {
        let height = self.start();
        let coin = self.own(height, BTC / 4);
        let later = height + self.wait(2, 5_000);
        self.spend_all(later, &[coin]);
        // Few payers use an old invoice; some addresses are sent dust.
        if self.chance(20) {
            let sats = if self.chance(50) { 600 } else { 3_000_000 };
            self.receive(later + 100, coin.script, sats);
        }
        self.judge(Intent::IsPaidAgain, &[coin.script]);
    }

    fn asks_for_donations(&mut self) {
        let (start, script) = (self.start(), self.world.script());
        let months = self.between(1, 6);
        let donors = self.between(3, 120);
        // A mention in the news brings many on one day.
        let news = self.chance(35).then(|| start + self.between(0, months * 4_320) as Height);
        let mut coins = Vec::new();
        for _ in 0..donors {
            let height = match news.filter(|_| self.chance(50)) {
                Some(day) => day + self.between(0, 130) as Height,
                None => start + self.between(0, months * 4_320) as Height,
            };
            let sats = self.amount(20_000, BTC / 5);
            coins.push(self.receive(height, script, sats));
        }
        self.send_on(coins, 50, 3_000);
        self.judge(Intent::AsksForDonations, &[script]);
    }

    fn sells_at_one_address(&mut self) {
        let (start, script) = (self.start(), self.world.script());
        let days = self.between(2, 12);
        let daily = self.amount(2, 40);
        let mut coins = Vec::new();
        for _ in 0..days * daily {
            let height = start + self.between(0, days * 144) as Height;
            let sats = self.amount(50_000, BTC / 10);
            coins.push(self.receive(height, script, sats));
        }
        coins.shuffle(&mut self.rng);
        self.send_on(coins, 20, 1_000);
        self.judge(Intent::SellsAtOneAddress, &[script]);
    }

    fn sells_by_invoice(&mut self) {
        let height = self.start();
        let sats = self.amount(50_000, BTC);
        let coin = self.own(height, sats);
        let more = self.own(height, 500_000);
        let later = height + self.wait(20, 2_000);
        self.spend_all(later, &[coin, more]);
        self.judge(Intent::SellsByInvoice, &[coin.script]);
    }

    fn earns_little(&mut self) {
        let (mut height, script) = (self.start(), self.world.script());
        for _ in 0..self.between(2, 20) {
            let sats = self.between(300, 5_000);
            self.receive(height, script, sats);
            height += self.wait(10, 500);
        }
        self.judge(Intent::EarnsLittle, &[script]);
    }
}
