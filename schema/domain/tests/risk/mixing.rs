//! Those who mix, those who watch, and those who deal with them.

use cairn_domain::{claims::Strength, risk::ClaimRef};
use cairn_model::{Height, Sats, ScriptId};
use rand::seq::SliceRandom;

use super::{
    actors::{BTC, Intent, Play},
    world::{Coin, Mark},
};

/// Labels know this share of the addresses of mixers and of listed parties, in percent.
const KNOWN_PERCENT: u32 = 70;

impl Play {
    pub(super) fn mixing(&mut self) {
        for _ in 0..2 {
            self.joins_coins();
        }
        self.pays_equal_amounts();
        self.uses_mixer();
        self.deals_with_listed();
        self.is_watched();
    }

    /// A round of one of the programs, by their published structure.
    fn joins_coins(&mut self) {
        let height = self.start();
        let (amounts, each) = match self.between(0, 2) {
            0 => self.whirlpool(),
            1 => self.wasabi(),
            _ => self.joinmarket(),
        };
        let scripts: Vec<ScriptId> = each.iter().map(|_| self.world.script()).collect();
        let coins: Vec<Coin> =
            scripts.iter().zip(&each).map(|(script, sats)| self.receive(height, *script, *sats)).collect();
        let mut outputs: Vec<(ScriptId, Sats)> = amounts.into_iter().map(|sats| (self.world.script(), sats)).collect();
        outputs.shuffle(&mut self.rng);
        self.world.tx(height + 10, &coins, &outputs);
        let all: Vec<ScriptId> = scripts.into_iter().chain(outputs.into_iter().map(|(script, _)| script)).collect();
        self.judge(Intent::JoinsCoins, &all);
    }

    /// Outputs and inputs of a round of Whirlpool.
    fn whirlpool(&mut self) -> (Vec<Sats>, Vec<Sats>) {
        let pool = *[100_000, 1_000_000, 5_000_000, 50_000_000].choose_at(self.between(0, 3));
        let (participants, premix) = (self.between(5, 8) as usize, self.between(1, 4) as usize);
        let inputs = (0..participants).map(|at| if at < premix { pool + self.between(3_000, 40_000) } else { pool });
        let inputs: Vec<Sats> = inputs.collect();
        (vec![pool; participants], inputs)
    }

    /// Outputs and inputs of a round of Wasabi 1: change for most, and the coordinator's fee.
    fn wasabi(&mut self) -> (Vec<Sats>, Vec<Sats>) {
        let base = self.between(9_000_000, 11_000_000);
        let participants = self.between(12, 70);
        let (mut outputs, mut inputs) = (vec![base; participants as usize], Vec::new());
        for _ in 0..participants {
            let change = self.amount(20_000, 2 * BTC);
            outputs.push(change);
            inputs.push(base + change + 20_000);
        }
        outputs.push(participants * 12_000);
        (outputs, inputs)
    }

    /// Outputs and inputs of a round of JoinMarket: makers earn a little, the taker pays.
    fn joinmarket(&mut self) -> (Vec<Sats>, Vec<Sats>) {
        let amount = self.amount(BTC / 100, 5 * BTC);
        let makers = self.between(2, 9);
        let (mut outputs, mut inputs) = (vec![amount; makers as usize + 1], Vec::new());
        let mut paid = 0;
        for _ in 0..makers {
            let (change, earned) = (self.amount(50_000, 3 * BTC), self.between(100, 4_000));
            outputs.push(change + earned);
            inputs.push(amount + change);
            paid += earned;
        }
        let change = self.amount(50_000, BTC);
        inputs.push(amount + change + paid + 5_000);
        // A taker who sweeps has no change.
        if self.chance(80) {
            outputs.push(change);
        }
        (outputs, inputs)
    }

    /// One owner, several coins, the same amount for several payees.
    fn pays_equal_amounts(&mut self) {
        let height = self.start();
        let (payees, coins) = (self.between(2, 20), self.between(1, 20));
        let amount = *[BTC / 100, BTC / 10, BTC / 2, 12_345_678].choose_at(self.between(0, 3));
        let each = amount * payees / coins + 400_000;
        let coins: Vec<Coin> = (0..coins).map(|_| self.own(height, each)).collect();
        let paid: Vec<(ScriptId, Sats)> = (0..payees).map(|_| (self.world.script(), amount)).collect();
        let back = self.world.script();
        self.pay(height + 5, &coins, &paid, back);
        let scripts: Vec<ScriptId> = coins.iter().map(|coin| coin.script).collect();
        self.judge(Intent::PaysEqualAmounts, &scripts);
    }

    fn marked(&mut self, mark: fn(ClaimRef) -> Mark) -> ScriptId {
        let script = self.world.script();
        if self.chance(KNOWN_PERCENT) {
            let claim = ClaimRef { claim_id: "example:1".to_owned(), level: 70, strength: Strength::Strong };
            self.world.marks.insert(script, mark(claim));
        }
        script
    }

    fn uses_mixer(&mut self) {
        let mut height = self.start();
        let mixer = self.marked(|claim| Mark { mixer: Some(claim), is_service: true, ..Mark::default() });
        let sats = self.amount(BTC / 100, 10 * BTC);
        let mut coin = self.own(height, sats);
        // Some move the coin to a fresh address of their own before, and some twice.
        let steps = self.between(0, 2);
        let user = coin.script;
        for _ in 0..steps {
            height += self.wait(2, 100);
            let next = self.world.script();
            coin = self.pay(height, &[coin], &[(next, coin.value - 1_000)], next).0[0];
        }
        self.pay(height + 5, &[coin], &[(mixer, coin.value - 1_000)], mixer);
        self.judge(Intent::UsesMixer, &[user]);
        // Another user takes out, and pays a shop.
        let out = self.world.script();
        let paid_by = self.world.coin(height, mixer, sats + 5_000);
        let coin = self.pay(height + 5, &[paid_by], &[(out, sats)], mixer).0[0];
        self.judge(Intent::UsesMixer, &[out]);
        self.shop(height + 20, coin, Intent::SellsToMixerUser);
    }

    /// A shop is paid out of a coin, and spends what it earned.
    fn shop(&mut self, height: Height, coin: Coin, intent: Intent) {
        let (shop, back) = (self.world.script(), self.world.script());
        let price = coin.value / 3;
        let earned = self.pay(height, &[coin], &[(shop, price)], back).0[0];
        let later = height + self.wait(2, 1_000);
        self.spend_all(later, &[earned]);
        self.judge(intent, &[shop]);
    }

    fn deals_with_listed(&mut self) {
        let height = self.start();
        let listed = self.marked(|claim| Mark { sanctioned: Some(claim), ..Mark::default() });
        let sats = self.amount(BTC / 10, 50 * BTC);
        let funds = self.world.coin(height, listed, sats + 5_000);
        let dealer = self.world.script();
        let mut coin = self.pay(height + 5, &[funds], &[(dealer, sats)], listed).0[0];
        // Half put an address of their own between.
        if self.chance(50) {
            let between = self.world.script();
            coin = self.pay(height + 9, &[coin], &[(between, coin.value - 1_000)], between).0[0];
        }
        self.judge(Intent::DealsWithListed, &[coin.script]);
        self.shop(height + 30, coin, Intent::SellsToDealer);
    }

    /// A sender of dust, and another who advertises; both pay addresses that are in use.
    fn is_watched(&mut self) {
        for (intent, sats) in [(Intent::IsWatched, 600), (Intent::IsAdvertisedTo, 546)] {
            let height = self.start();
            let recipients = self.between(40, 220);
            let used: Vec<ScriptId> = (0..recipients)
                .map(|_| {
                    let script = self.world.script();
                    self.world.coin(height - 10, script, BTC / 10);
                    script
                })
                .collect();
            let sender = self.world.script();
            let mut coin = self.receive(height, sender, BTC / 2);
            for (at, some) in (1..).zip(used.chunks(50)) {
                let paid: Vec<(ScriptId, Sats)> = some.iter().map(|script| (*script, sats)).collect();
                coin = self.pay(height + at * 20, &[coin], &paid, sender).1.unwrap();
            }
            // Few tokens are sent to many at once.
            if intent == Intent::IsWatched || self.chance(30) {
                self.judge(intent, &used);
            }
        }
    }
}

/// The element at a place that was drawn.
trait ChooseAt<T> {
    fn choose_at(&self, at: u64) -> &T;
}

impl<T, const N: usize> ChooseAt<T> for [T; N] {
    fn choose_at(&self, at: u64) -> &T {
        &self[at as usize]
    }
}
