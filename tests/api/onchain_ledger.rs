//! On-chain statistics, found coin by coin in the ledger.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use bitcoin::ScriptBuf;
use cairn_model::{TxNum, is_unspendable};
use cairn_support::cospending::paid_by_day;
use cairn_testkit::{BlockAges, Oracle};
use num_bigint::BigInt;
use rust_decimal::Decimal;

/// Seconds of a day.
pub const DAY: u32 = 86_400;
/// Ages in days at which classes begin.
pub const AGES: [u32; 12] = [0, 1, 7, 30, 90, 180, 365, 730, 1_095, 1_825, 2_555, 3_650];

/// Closes by day.
pub type Closes = BTreeMap<u32, Decimal>;

/// Fields by name, or why they are null.
pub type Fields = BTreeMap<String, Result<String, String>>;

/// A number of units of 10^-places, without trailing zeros.
fn decimal(units: &BigInt, places: usize) -> String {
    let digits = format!("{:0>width$}", units.to_string(), width = places + 1);
    let (whole, decimals) = digits.split_at(digits.len() - places);
    let decimals = decimals.trim_end_matches('0');
    if decimals.is_empty() { whole.to_owned() } else { format!("{whole}.{decimals}") }
}

/// In units of 10^-28.
fn exact(price: Decimal) -> BigInt {
    BigInt::from(price.mantissa()) * BigInt::from(10).pow(28 - price.scale())
}

pub fn millionths(of: &BigInt, by: &BigInt) -> String {
    decimal(&(of * 1_000_000 / by), 6)
}

/// Sums of spent coins at two prices.
#[derive(Clone, Default)]
pub struct Spent {
    value: BigInt,
    cost: BigInt,
    unpriced: u64,
    missing: BTreeMap<u32, String>,
}

/// Sums of a day or several days.
#[derive(Clone, Default)]
pub struct Moved {
    blocks: u64,
    txs: u64,
    created: (u64, u64),
    spent: (u64, u64),
    volume: u64,
    net: u64,
    fees: u64,
    seconds_created: u128,
    seconds_destroyed: u128,
    all: Spent,
    older: Spent,
}

/// Answers, found coin by coin.
pub struct Naive<'w> {
    pub oracle: &'w Oracle,
    pub closes: Closes,
    paid: BTreeMap<u32, u64>,
    ages: Vec<BlockAges>,
    /// Unspent value by day of birth after days that were asked for, and the number of coins.
    known: RefCell<BTreeMap<u32, Unspent>>,
}

pub type Unspent = (BTreeMap<u32, u64>, usize);

impl<'w> Naive<'w> {
    pub fn of(oracle: &'w Oracle) -> Self {
        let paid = paid_by_day(oracle, oracle.tip().unwrap().0);
        Naive { oracle, closes: Closes::new(), paid, ages: oracle.all_block_ages(), known: RefCell::default() }
    }

    pub fn tip(&self) -> u32 {
        self.oracle.tip().unwrap().0
    }

    pub fn newest(&self) -> u32 {
        self.oracle.day(self.tip())
    }

    pub fn genesis(&self) -> u32 {
        self.oracle.day(0)
    }

    /// Heights of a day.
    fn heights(&self, day: u32) -> Vec<u32> {
        (0..=self.tip()).filter(|height| self.oracle.day(*height) == day).collect()
    }

    /// The price at which a day counts, the day that it is of, or why there is none; `None` before the series.
    pub fn price(&self, day: u32) -> Option<Result<(u32, Decimal), String>> {
        let Some((first, _)) = self.closes.first_key_value() else {
            return Some(Err("no daily prices in USD are known".to_owned()));
        };
        let last = *self.closes.last_key_value().unwrap().0;
        Some(match self.closes.get(&day) {
            _ if day < *first => return None,
            Some(close) => Ok((day, *close)),
            None if day > last && day == self.newest() => Ok((last, self.closes[&last])),
            None if day > last => Err(format!("the daily prices end on {}", date(last))),
            None => Err(format!("the daily prices have a gap: none for {}", date(day))),
        })
    }

    /// The price of the day itself.
    pub fn price_of(&self, day: u32) -> Result<Decimal, String> {
        let begin = || format!("the daily prices begin on {}", date(*self.closes.first_key_value().unwrap().0));
        self.price(day).ok_or_else(begin)?.map(|(_, close)| close)
    }

    fn spend(&self, sums: &mut Spent, birth: u32, day: u32, sats: u64) {
        // A coin without value needs no price.
        if sats == 0 {
            return;
        }
        match self.price(birth) {
            None => sums.unpriced += sats,
            Some(then) => match (then, self.price_of(day)) {
                (Ok((_, then)), Ok(now)) => {
                    sums.cost += exact(then) * sats;
                    sums.value += exact(now) * sats;
                }
                (then, now) => {
                    then.err().map(|reason| sums.missing.insert(birth, reason));
                    now.err().map(|reason| sums.missing.insert(day, reason));
                }
            },
        }
    }

    pub fn moved(&self, days: std::ops::RangeInclusive<u32>) -> Moved {
        let mut moved = Moved::default();
        for day in days {
            moved.net += self.paid.get(&day).copied().unwrap_or(0);
            for height in self.heights(day) {
                let block = &self.oracle.blocks()[height as usize];
                let first = self.oracle.headers()[height as usize].first_tx.0;
                moved.blocks += 1;
                moved.txs += block.txdata.len() as u64;
                moved.seconds_created += self.ages[height as usize].created_sat_seconds;
                for (tx_num, tx) in (first..).zip(&block.txdata) {
                    let outputs: u64 = tx.output.iter().map(|output| output.value.to_sat()).sum();
                    for output in tx.output.iter().filter(|o| height > 0 && !is_unspendable(o.script_pubkey.as_bytes()))
                    {
                        moved.created.0 += 1;
                        moved.created.1 += output.value.to_sat();
                    }
                    if tx.is_coinbase() {
                        continue;
                    }
                    let coins = self.oracle.spent(TxNum(tx_num));
                    moved.volume += outputs;
                    moved.fees += coins.iter().map(|coin| coin.value_sats).sum::<u64>() - outputs;
                    for coin in coins {
                        moved.spent.0 += 1;
                        moved.spent.1 += coin.value_sats;
                        let age = u128::from(self.oracle.age_seconds(coin, height));
                        moved.seconds_destroyed += u128::from(coin.value_sats) * age;
                        let birth = self.oracle.day(coin.height);
                        self.spend(&mut moved.all, birth, day, coin.value_sats);
                        if birth < day {
                            self.spend(&mut moved.older, birth, day, coin.value_sats);
                        }
                    }
                }
            }
        }
        moved
    }

    /// Scripts that did either, that sent, that received.
    fn in_use(&self, day: u32) -> [usize; 3] {
        let (mut sent, mut received): (BTreeSet<&ScriptBuf>, BTreeSet<&ScriptBuf>) = Default::default();
        for script in self.oracle.scripts() {
            for row in self.oracle.history(script).iter().filter(|row| self.oracle.day(row.height) == day) {
                if row.spent_sats > 0 {
                    sent.insert(script);
                }
                if row.received_sats > 0 {
                    received.insert(script);
                }
            }
        }
        [sent.union(&received).count(), sent.len(), received.len()]
    }

    /// Unspent value by day of birth after a day, and the number of coins.
    pub fn unspent(&self, day: u32) -> Unspent {
        if let Some(known) = self.known.borrow().get(&day) {
            return known.clone();
        }
        let last = (0..=self.tip()).filter(|height| self.oracle.day(*height) <= day).max().unwrap();
        let (coins, mut births): (_, BTreeMap<u32, u64>) = (self.oracle.coins_at(last), BTreeMap::new());
        coins.values().for_each(|coin| *births.entry(self.oracle.day(coin.height)).or_default() += coin.value_sats);
        self.known.borrow_mut().insert(day, (births.clone(), coins.len()));
        (births, coins.len())
    }

    fn sopr(spent: &Spent) -> Result<String, String> {
        match spent.missing.first_key_value() {
            Some((_, reason)) => Err(reason.clone()),
            None if spent.cost == BigInt::ZERO => Err("no spent coin has a known price".to_owned()),
            None => Ok(millionths(&spent.value, &spent.cost)),
        }
    }

    /// Value of unspent coins at the prices of their birth, in units of 10^-36 dollars; and those without.
    pub fn realized(&self, births: &BTreeMap<u32, u64>) -> (Result<BigInt, String>, u64) {
        let (mut sum, mut unpriced, mut missing) = (BigInt::ZERO, 0, None);
        for (birth, sats) in births.iter().filter(|(_, sats)| **sats > 0) {
            match self.price(*birth) {
                None => unpriced += sats,
                Some(Ok((_, price))) => sum += exact(price) * *sats,
                Some(Err(reason)) => missing = missing.or(Some(reason)),
            }
        }
        if self.closes.is_empty() {
            missing = Some("no daily prices in USD are known".to_owned());
        }
        (missing.map_or(Ok(sum), Err), unpriced)
    }

    /// The fields of a window, and of a day those that it has in common.
    pub fn sums(&self, moved: &Moved) -> Fields {
        let ratio = |of: u128, by: u128, otherwise: &str| {
            if by == 0 { Err(otherwise.to_owned()) } else { Ok(millionths(&BigInt::from(of), &BigInt::from(by))) }
        };
        let days = |seconds: u128| decimal(&BigInt::from(seconds / u128::from(DAY)), 8);
        let spent_seconds = u128::from(moved.spent.1) * u128::from(DAY);
        [
            ("blocks", Ok(moved.blocks.to_string())),
            ("txs", Ok(moved.txs.to_string())),
            ("created_coins", Ok(moved.created.0.to_string())),
            ("created_sats", Ok(moved.created.1.to_string())),
            ("spent_coins", Ok(moved.spent.0.to_string())),
            ("spent_sats", Ok(moved.spent.1.to_string())),
            ("volume_sats", Ok(moved.volume.to_string())),
            ("volume_net_sats", Ok(moved.net.to_string())),
            ("fees_sats", Ok(moved.fees.to_string())),
            ("coin_days_created", Ok(days(moved.seconds_created))),
            ("coin_days_destroyed", Ok(days(moved.seconds_destroyed))),
            ("dormancy_days", ratio(moved.seconds_destroyed, spent_seconds, "nothing was spent")),
            ("liveliness", ratio(moved.seconds_destroyed, moved.seconds_created, "no coin aged")),
            ("sopr", Self::sopr(&moved.all)),
            ("sopr_excluding_same_day", Self::sopr(&moved.older)),
            ("unpriced_spent_sats", self.older_than_prices(moved.all.unpriced)),
        ]
        .map(|(name, figure)| (name.to_owned(), figure))
        .into()
    }

    fn older_than_prices(&self, sats: u64) -> Result<String, String> {
        if self.closes.is_empty() { Err("no daily prices in USD are known".to_owned()) } else { Ok(sats.to_string()) }
    }

    /// Every field of a day.
    pub fn day(&self, day: u32) -> Fields {
        let mut fields = self.sums(&self.moved(day..=day));
        let of_day = fields.remove("liveliness").unwrap();
        let since: Vec<usize> = (0..self.ages.len()).filter(|height| self.oracle.day(*height as u32) <= day).collect();
        let all = |of: fn(&BlockAges) -> u128| since.iter().map(|h| of(&self.ages[*h])).sum::<u128>();
        let (created, destroyed) = (all(|ages| ages.created_sat_seconds), all(|ages| ages.destroyed_sat_seconds));
        let liveliness = match created {
            0 => Err("no coin aged".to_owned()),
            _ => Ok(millionths(&BigInt::from(destroyed), &BigInt::from(created))),
        };
        let (births, coins) = self.unspent(day);
        let supply: u64 = births.values().sum();
        let (realized, unpriced) = self.realized(&births);
        let market = self.price_of(day).map(|price| exact(price) * supply);
        let cents = |sum: &BigInt| decimal(&(sum / BigInt::from(10).pow(34)), 2);
        let mvrv = market.clone().and_then(|market| match realized.clone()? {
            zero if zero == BigInt::ZERO => Err("the realized cap is zero".to_owned()),
            realized => Ok(millionths(&market, &realized)),
        });
        let [active, sending, receiving] = self.in_use(day).map(|count| Ok(count.to_string()));
        fields.extend(
            [
                ("date", Ok(date(day))),
                ("supply_sats", Ok(supply.to_string())),
                ("coins", Ok(coins.to_string())),
                ("active_scripts", active),
                ("sending_scripts", sending),
                ("receiving_scripts", receiving),
                ("liveliness", liveliness),
                ("liveliness_of_day", of_day),
                ("price_usd", self.price_of(day).map(|price| price.to_string())),
                ("market_cap_usd", market.map(|sum| cents(&sum))),
                ("realized_cap_usd", realized.map(|sum| cents(&sum))),
                ("mvrv", mvrv),
                ("unpriced_sats", self.older_than_prices(unpriced)),
            ]
            .map(|(name, figure)| (name.to_owned(), figure)),
        );
        for (at, from) in AGES.into_iter().enumerate() {
            let of_class = self.of_class(&births, day, at).values().sum::<u64>();
            let share = if supply == 0 { "0".to_owned() } else { millionths(&of_class.into(), &supply.into()) };
            fields.insert(format!("hodl_{from}d"), Ok(share));
        }
        fields
    }

    pub fn of_class(&self, births: &BTreeMap<u32, u64>, day: u32, at: usize) -> BTreeMap<u32, u64> {
        let holds = |birth: u32| AGES.iter().rposition(|from| day - birth >= *from) == Some(at);
        births.iter().filter(|(birth, _)| holds(**birth)).map(|(birth, sats)| (*birth, *sats)).collect()
    }
}

pub fn date(day: u32) -> String {
    // By the calendar of the dates' own crate, not by that of the answers.
    let seconds = i64::from(day) * i64::from(DAY);
    jiff::Timestamp::from_second(seconds).unwrap().strftime("%Y-%m-%d").to_string()
}
