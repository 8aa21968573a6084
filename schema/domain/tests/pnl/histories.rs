//! Random wallets of several scripts over a random little chain, and the transactions of that chain as the wallet sees
//! them.

use std::collections::{BTreeMap, BTreeSet};

use cairn_domain::pnl::Movement;
use cairn_model::{Outpoint, Sats, TxNum};
use rand::{Rng, SeedableRng, seq::IndexedRandom, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use rust_decimal::Decimal;

pub(super) const MAX_SATS: Sats = 2_100_000_000_000_000;
/// Script of outputs that nobody can spend.
pub(super) const OP_RETURN: u8 = 255;
const SCRIPTS_OF_WALLET: [u8; 5] = [1, 2, 3, 4, 5];

#[derive(Clone, Debug)]
pub(super) struct Input {
    /// Of the wallet's inputs only: the chain before them is not made up for others.
    pub(super) spends: Option<Outpoint>,
    pub(super) script: u8,
    pub(super) sats: Sats,
}

#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) script: u8,
    pub(super) sats: Sats,
}

#[derive(Clone, Debug)]
pub(super) struct Tx {
    pub(super) tx_num: TxNum,
    pub(super) time: u32,
    /// Price of a bitcoin at that time.
    pub(super) price: Option<Decimal>,
    pub(super) is_coinbase: bool,
    pub(super) inputs: Vec<Input>,
    pub(super) outputs: Vec<Output>,
}

impl Tx {
    /// The transaction from the wallet's side; nothing if the wallet has no part in it.
    pub(super) fn movement(&self, wallet: &BTreeSet<u8>) -> Option<Movement> {
        let is_own = |script: u8| wallet.contains(&script);
        let mut movement = Movement {
            tx_num: self.tx_num,
            time: self.time,
            is_coinbase: self.is_coinbase,
            sent: 0,
            received: Vec::new(),
            all_inputs: 0,
            all_outputs: 0,
            has_foreign_input: false,
            pays_others: false,
        };
        let mut takes_part = false;
        for input in &self.inputs {
            movement.all_inputs += input.sats;
            if is_own(input.script) {
                movement.sent += input.sats;
                takes_part = true;
            } else {
                movement.has_foreign_input = true;
            }
        }
        for (vout, output) in (0..).zip(&self.outputs) {
            movement.all_outputs += output.sats;
            if is_own(output.script) {
                movement.received.push((vout, output.sats));
                takes_part = true;
            } else if output.sats > 0 {
                movement.pays_others = true;
            }
        }
        takes_part.then_some(movement)
    }
}

#[derive(Clone, Debug)]
pub(super) struct History {
    pub(super) seed: u64,
    pub(super) wallet: BTreeSet<u8>,
    pub(super) txs: Vec<Tx>,
    pub(super) price_now: Option<Decimal>,
}

impl History {
    pub(super) fn txs_of_wallet(&self) -> impl Iterator<Item = &Tx> {
        self.txs.iter().filter(|tx| tx.movement(&self.wallet).is_some())
    }

    /// No price is missing.
    pub(super) fn has_all_prices(&self) -> bool {
        self.price_now.is_some() && self.txs.iter().all(|tx| tx.price.is_some())
    }

    /// The sum of the wallet's unspent outputs after each of its transactions.
    pub(super) fn unspent(&self) -> Vec<Sats> {
        let mut coins: BTreeMap<Outpoint, Sats> = BTreeMap::new();
        let mut sums = Vec::new();
        for tx in self.txs_of_wallet() {
            for input in tx.inputs.iter().filter(|input| self.wallet.contains(&input.script)) {
                coins.remove(&input.spends.unwrap()).expect("an input spends an unspent output");
            }
            for (vout, output) in (0..).zip(&tx.outputs).filter(|(_, output)| self.wallet.contains(&output.script)) {
                coins.insert(Outpoint { tx_num: tx.tx_num, vout }, output.sats);
            }
            sums.push(coins.values().sum());
        }
        sums
    }
}

/// Prices of a history: what kind they are, and which are missing.
struct Prices {
    kind: u32,
    missing: u32,
    stretch: std::ops::Range<usize>,
}

impl Prices {
    fn new(rng: &mut ChaCha8Rng, txs: usize) -> Self {
        let start = rng.random_range(0..=txs);
        Self { kind: rng.random_range(0..7), missing: rng.random_range(0..8), stretch: start..start + txs / 3 + 1 }
    }

    fn at(&self, rng: &mut ChaCha8Rng, place: usize) -> Option<Decimal> {
        let is_missing = match self.missing {
            0..=3 => false,
            4 => rng.random_ratio(1, 12),
            5 | 6 => self.stretch.contains(&place),
            _ => rng.random_ratio(1, 3),
        };
        (!is_missing).then(|| match self.kind {
            // An odd number of satoshis at these is worth an odd number of halves.
            0 => *[Decimal::new(50, 0), Decimal::new(150, 0), Decimal::new(5, 1), Decimal::ZERO].choose(rng).unwrap(),
            1 => Decimal::new(rng.random_range(1..100_000), 0),
            2 => Decimal::new(rng.random_range(1..10_000_000), 2),
            // Many digits, most of them after the point.
            3 => Decimal::from_i128_with_scale(rng.random_range(1..10_i128.pow(28)), rng.random_range(20..=28)),
            4 => Decimal::from_i128_with_scale(rng.random_range(0..10_i128.pow(15)), 0),
            5 => Decimal::from_i128_with_scale(rng.random_range(0..10_i128.pow(24)), rng.random_range(12..=24)),
            _ => Decimal::ZERO,
        })
    }
}

/// A chain in the making.
struct Chain {
    rng: ChaCha8Rng,
    /// Upper bound of the amounts of others.
    most: Sats,
    tx_num: u64,
    time: u32,
    coins: Vec<(Outpoint, u8, Sats)>,
}

impl Chain {
    fn amount(&mut self) -> Sats {
        let most = if self.rng.random_ratio(1, 4) { self.most.min(1_000) } else { self.most };
        self.rng.random_range(1..=most)
    }

    fn own_script(&mut self) -> u8 {
        *SCRIPTS_OF_WALLET.choose(&mut self.rng).unwrap()
    }

    fn other_script(&mut self) -> u8 {
        self.rng.random_range(10..200)
    }

    fn foreign_inputs(&mut self, count: usize) -> Vec<Input> {
        (0..count).map(|_| Input { spends: None, script: self.other_script(), sats: self.amount() }).collect()
    }

    /// Takes unspent outputs of the wallet.
    fn own_inputs(&mut self, count: usize) -> Vec<Input> {
        self.coins.shuffle(&mut self.rng);
        let left = self.coins.len().saturating_sub(count);
        let taken = self.coins.split_off(left);
        taken.into_iter().map(|(spends, script, sats)| Input { spends: Some(spends), script, sats }).collect()
    }

    fn fee(&mut self, inputs: Sats) -> Sats {
        match self.rng.random_range(0..8) {
            0 | 1 => 0,
            2 => self.rng.random_range(0..=inputs),
            3 => inputs.min(1),
            _ => self.rng.random_range(0..=inputs.min(1_000).max(inputs / 1_000)),
        }
    }

    /// Divides an amount among outputs of these scripts at random. Some get nothing.
    fn divide(&mut self, sats: Sats, scripts: &[u8]) -> Vec<Output> {
        let mut cuts: Vec<Sats> = (1..scripts.len()).map(|_| self.rng.random_range(0..=sats)).collect();
        cuts.push(sats);
        cuts.sort_unstable();
        let mut from = 0;
        let output =
            |(script, to): (&u8, Sats)| Output { script: *script, sats: to - std::mem::replace(&mut from, to) };
        scripts.iter().zip(cuts).map(output).collect()
    }

    /// Scripts of outputs in random order: `own` of the wallet, and `others` of others.
    fn scripts(&mut self, own: usize, others: usize) -> Vec<u8> {
        let mut scripts: Vec<u8> = (0..own).map(|_| self.own_script()).collect();
        scripts.extend((0..others).map(|_| self.other_script()));
        scripts.shuffle(&mut self.rng);
        scripts
    }

    /// Pays all inputs, less the fee, to `own` outputs of the wallet and `others` of others.
    fn pay(&mut self, inputs: Vec<Input>, own: usize, others: usize) -> (Vec<Input>, Vec<Output>) {
        let sum: Sats = inputs.iter().map(|input| input.sats).sum();
        let fee = self.fee(sum);
        let scripts = self.scripts(own, others);
        let outputs = self.divide(sum - fee, &scripts);
        (inputs, outputs)
    }

    /// The wallet gets back just what it brought, less its share of the fee.
    fn brings_back(&mut self, own: Vec<Input>, foreign: Vec<Input>) -> (Vec<Input>, Vec<Output>) {
        let brought: Sats = own.iter().map(|input| input.sats).sum();
        let all = brought + foreign.iter().map(|input| input.sats).sum::<Sats>();
        let fee = self.fee(all);
        let share = if all == 0 { 0 } else { u128::from(fee) * u128::from(brought) / u128::from(all) } as Sats;
        let mut outputs = vec![Output { script: self.other_script(), sats: all - fee - (brought - share) }];
        outputs.push(Output { script: self.own_script(), sats: brought - share });
        (own.into_iter().chain(foreign).collect(), outputs)
    }

    /// Everybody brings much, and gets the same amount and change. The wallet's part may gain or lose by it.
    fn coinjoin(&mut self, mut inputs: Vec<Input>) -> (Vec<Input>, Vec<Output>) {
        let parties = self.rng.random_range(4..12);
        inputs.extend(self.foreign_inputs(parties));
        inputs.shuffle(&mut self.rng);
        let sum: Sats = inputs.iter().map(|input| input.sats).sum();
        let equal = self.rng.random_range(0..=sum / (parties as Sats + 1));
        let own = self.rng.random_range(0..3);
        let mut outputs: Vec<Output> =
            self.scripts(own, parties - own).into_iter().map(|script| Output { script, sats: equal }).collect();
        let rest = sum - equal * parties as Sats;
        let change = rest - self.fee(rest);
        let scripts = self.scripts(1, parties);
        outputs.extend(self.divide(change, &scripts));
        outputs.shuffle(&mut self.rng);
        (inputs, outputs)
    }

    fn small(&mut self) -> usize {
        self.rng.random_range(1..=3)
    }

    /// A next transaction, not yet with what every kind may have. Without inputs it is a coinbase.
    fn shape(&mut self) -> (Vec<Input>, Vec<Output>) {
        let (own, foreign, paid, others) = (self.small(), self.small(), self.small(), self.small());
        let kind = self.rng.random_range(0..20);
        if kind < 2 {
            let (sats, scripts) = (self.amount(), self.scripts(paid, others - 1));
            return (Vec::new(), self.divide(sats, &scripts));
        }
        let mut inputs = match kind {
            2..=7 => Vec::new(),
            12 => self.own_inputs(own * 3),
            19 => self.own_inputs(usize::MAX),
            _ => self.own_inputs(own),
        };
        if inputs.is_empty() || kind == 14 || kind == 15 {
            inputs.extend(self.foreign_inputs(foreign));
        }
        match kind {
            2..=6 => self.pay(inputs, paid, others - 1),
            7 | 11 | 19 => self.pay(inputs, 0, others),
            // Consolidations.
            12 => self.pay(inputs, 1, 0),
            13 => self.pay(inputs, paid, 0),
            // An input of somebody else takes part, though without value: this is not a transfer.
            16 => {
                inputs.push(Input { spends: None, script: self.other_script(), sats: 0 });
                self.pay(inputs, paid, 0)
            }
            17 => {
                let foreign = self.foreign_inputs(foreign);
                self.brings_back(inputs, foreign)
            }
            18 => self.coinjoin(inputs),
            _ => self.pay(inputs, paid, others),
        }
    }

    /// Puts an output without value at a random place.
    fn add_empty_output(&mut self, outputs: &mut Vec<Output>) {
        let script = match self.rng.random_range(0..12) {
            0 => self.own_script(),
            1 => self.other_script(),
            2..=4 => OP_RETURN,
            _ => return,
        };
        let place = self.rng.random_range(0..=outputs.len());
        outputs.insert(place, Output { script, sats: 0 });
    }

    fn next_tx(&mut self) -> Tx {
        let (inputs, mut outputs) = self.shape();
        self.add_empty_output(&mut outputs);
        // The part of somebody else can be burned instead.
        if self.rng.random_ratio(1, 10) {
            outputs.iter_mut().filter(|o| o.script >= 10).take(1).for_each(|output| output.script = OP_RETURN);
        }
        let tx_num = TxNum(self.tx_num);
        for (vout, output) in (0..).zip(&outputs).filter(|(_, output)| SCRIPTS_OF_WALLET.contains(&output.script)) {
            self.coins.push((Outpoint { tx_num, vout }, output.script, output.sats));
        }
        Tx { tx_num, time: self.time, price: None, is_coinbase: inputs.is_empty(), inputs, outputs }
    }

    /// Goes on to the next transaction, which is often in the same block. Blocks lie on both sides of a new year at
    /// times.
    fn advance(&mut self, most_seconds: u32) {
        self.tx_num += self.rng.random_range(1..1_000);
        match self.rng.random_range(0..6) {
            0 | 1 => {}
            2 => {
                let new_year = (1970..).map(start_of_year).find(|start| *start > self.time).unwrap();
                self.time = new_year - self.rng.random_range(0..=1);
            }
            _ => self.time += self.rng.random_range(1..=most_seconds),
        }
    }
}

/// Seconds from 1970 to a year, by the number of leap days between.
pub(super) fn start_of_year(year: u32) -> u32 {
    let leap_days = (year - 1969) / 4 - (year - 1901) / 100 + (year - 1601) / 400;
    ((year - 1970) * 365 + leap_days) * 86_400
}

/// The history of a seed.
pub(super) fn history(seed: u64) -> History {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let count = rng.random_range(1..=30);
    let prices = Prices::new(&mut rng, count);
    let most = *[5, 1_000, 1_000_000, 5_000_000_000, MAX_SATS].choose(&mut rng).unwrap();
    let most_seconds = *[3_600, 86_400, 3_000_000, 15_000_000].choose(&mut rng).unwrap();
    let time = rng.random_range(1_231_006_505..2_000_000_000);
    let mut chain = Chain { rng: rng.clone(), most, tx_num: 0, time, coins: Vec::new() };
    let mut txs: Vec<Tx> = Vec::new();
    for place in 0..count {
        chain.advance(most_seconds);
        let mut tx = chain.next_tx();
        // All transactions of a block have one price.
        tx.price = match txs.last() {
            Some(last) if last.time == tx.time => last.price,
            _ => prices.at(&mut rng, place),
        };
        txs.push(tx);
    }
    let price_now = prices.at(&mut rng, count);
    History { seed, wallet: SCRIPTS_OF_WALLET.into(), txs, price_now }
}
