//! Services and employers.

use cairn_domain::risk::KnownService;
use cairn_events::Category;
use cairn_model::{Height, Sats, ScriptId};

use super::{
    actors::{BTC, Intent, Play},
    world::Coin,
};

/// Of exchanges, labels know this share, in percent.
const KNOWN_PERCENT: u32 = 30;

impl Play {
    pub(super) fn services(&mut self) {
        self.salaries();
        self.deposits();
        self.pays_withdrawals();
        self.pays_out();
    }

    /// Labels may know that a script is an exchange's.
    fn may_be_known(&mut self, script: ScriptId) {
        if self.chance(KNOWN_PERCENT) {
            self.known(script, |facts| {
                let service = KnownService {
                    entity: "example-exchange".to_owned(),
                    category: Category::Exchange,
                    claim_id: "example:1".to_owned(),
                    level: 40,
                };
                facts.services.push(service);
            });
        }
    }

    fn salaries(&mut self) {
        let start = self.start();
        let staff: Vec<(ScriptId, Sats)> =
            (0..self.between(3, 60)).map(|_| (self.world.script(), self.amount(BTC / 100, BTC / 5))).collect();
        let mut payer = Vec::new();
        let mut earned: Vec<Coin> = Vec::new();
        for month in 0..self.between(2, 6) as u32 {
            let height = start + month * 4_320;
            let coin = self.own(height - 1, 40 * BTC);
            payer.push(coin.script);
            let back = self.world.script();
            let (made, _) = self.pay(height, &[coin], &staff, back);
            earned.push(made[0]);
            // Who earns spends now and then.
            if self.chance(60) {
                let coins = std::mem::take(&mut earned);
                let later = height + self.wait(10, 3_000);
                self.spend_all(later, &coins);
            }
        }
        self.judge(Intent::PaysSalaries, &payer);
        self.judge(Intent::EarnsSalary, &[staff[0].0]);
    }

    fn deposits(&mut self) {
        let (start, hot) = (self.start(), self.world.script());
        let one_by_one = self.chance(50);
        let days = self.between(1, 4);
        let mut waiting: Vec<Coin> = Vec::new();
        let mut customers = Vec::new();
        for _ in 0..self.between(5, 50) {
            let deposit = self.world.script();
            customers.push(deposit);
            for _ in 0..self.between(1, 2) {
                let height = start + self.between(0, days * 144) as Height;
                let sats = self.amount(BTC / 100, 5 * BTC);
                let coin = self.receive(height, deposit, sats);
                if one_by_one {
                    let later = height + self.wait(2, 20);
                    self.pay(later, &[coin], &[(hot, coin.value - 1_000)], hot);
                } else {
                    waiting.push(coin);
                }
            }
        }
        for some in waiting.chunks(12) {
            let last = some.iter().map(|coin| self.height_of(coin)).max().unwrap();
            let all: Sats = some.iter().map(|coin| coin.value).sum();
            self.pay(last + 3, some, &[(hot, all - 5_000)], hot);
        }
        self.judge(Intent::TakesDeposits, &customers);
        let script = self.actors.last().unwrap().script;
        self.may_be_known(script);
        self.may_be_known(hot);
        self.judge(Intent::SweepsDeposits, &[hot]);
    }

    fn pays_withdrawals(&mut self) {
        let mut height = self.start();
        let mut coin = self.own(height, 200 * BTC);
        let mut scripts = vec![coin.script];
        for _ in 0..self.between(5, 40) {
            height += self.wait(1, 20);
            let sats = self.amount(BTC / 100, 8 * BTC);
            let (to, back) = (self.world.script(), self.world.script());
            let Some(rest) = self.pay(height, &[coin], &[(to, sats)], back).1 else { break };
            coin = rest;
            scripts.push(coin.script);
            if coin.value < 20 * BTC {
                break;
            }
        }
        self.judge(Intent::PaysWithdrawals, &scripts);
        let script = self.actors.last().unwrap().script;
        self.may_be_known(script);
    }

    fn pays_out(&mut self) {
        let (mut height, script) = (self.start(), self.world.script());
        for _ in 0..self.between(1, 4) {
            height += self.wait(1, 100);
            let coin = self.receive(height, script, 60 * BTC);
            let customers = self.amount(8, 120);
            let paid: Vec<(ScriptId, Sats)> =
                (0..customers).map(|_| (self.world.script(), self.amount(BTC / 1_000, BTC / 3))).collect();
            let back = self.world.script();
            height += 2;
            self.pay(height, &[coin], &paid, back);
        }
        self.judge(Intent::PaysOut, &[script]);
        self.may_be_known(script);
    }
}
