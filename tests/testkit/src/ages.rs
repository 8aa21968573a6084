//! Coin ages, daily metrics and cohorts, found in the most obvious way. Days and ages go by monotone block time, and
//! all sums are integers. Destroyed age counts in seconds; the classes of the supply count in days.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Address, ScriptBuf};
use cairn_model::{Height, Sats, TxNum, day_of};

use crate::{Clusters, Oracle, ledger::Coin};

/// Ages in days at which the bands of [`Oracle::supply_by_age`] begin: 0, a day, a week, 1, 3 and 6 months, 1, 2, 3, 5,
/// 7 and 10 years. A year has 365 days; a month has 30 days.
pub const AGE_BANDS: [u32; 12] = [0, 1, 7, 30, 90, 180, 365, 730, 1_095, 1_825, 2_555, 3_650];

/// Age in days from which the supply is that of long-term holders.
pub const LONG_TERM_DAYS: u32 = 155;

/// A number of coins and what they are worth.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CoinSum {
    /// Their value.
    pub sats: Sats,
    /// Their number.
    pub coins: u64,
}

impl CoinSum {
    fn add(&mut self, coin: &Coin) {
        self.sats += coin.value_sats;
        self.coins += 1;
    }
}

/// Changes of coin ages by a block's spends and by the time since the block before.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct BlockAges {
    /// The coins that the block spends by the day of their birth. Days are those of [`day_of`].
    pub spent: BTreeMap<u32, CoinSum>,
    /// Over the coins that the block spends: value × whole seconds of age. Coin-days destroyed are this by 86 400 and
    /// 10⁸.
    pub destroyed_sat_seconds: u128,
    /// Value of all coins before the block × the seconds since the block before; 0 for genesis.
    pub created_sat_seconds: u128,
}

/// The sums of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TxSums {
    /// Fee; 0 for a coinbase.
    pub fee_sats: Sats,
    /// Sum of its inputs; 0 for a coinbase.
    pub input_sats: Sats,
}

/// A day's sums over its blocks.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DayMetrics {
    /// Outputs that became coins: neither those of genesis nor unspendable ones.
    pub created: CoinSum,
    /// Coins that were spent; overwritten ones were not.
    pub spent: CoinSum,
    /// Distinct scripts that a coin of theirs was spent of.
    pub senders: u64,
    /// Distinct scripts that got a coin.
    pub receivers: u64,
    /// Distinct scripts that did either.
    pub active: u64,
    /// Sum of [`BlockAges::destroyed_sat_seconds`].
    pub destroyed_sat_seconds: u128,
    /// Sum of [`BlockAges::created_sat_seconds`].
    pub created_sat_seconds: u128,
}

/// The holders whose balance lies in [10^k, 10^(k + 1)) satoshis.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct BalanceBand {
    /// Their number.
    pub holders: u64,
    /// Their balances.
    pub sats: Sats,
}

/// The unspent coins from one of the [`AGE_BANDS`] up to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgeBand {
    /// Where the band begins: the smallest age in it, in days.
    pub from_days: u32,
    /// The coins.
    pub sum: CoinSum,
}

impl Oracle {
    /// Day of a height.
    ///
    /// # Panics
    /// If the chain does not reach it.
    #[must_use]
    pub fn day(&self, height: Height) -> u32 {
        day_of(self.monotone_time(height))
    }

    /// Seconds from a coin's birth to a height.
    ///
    /// # Panics
    /// If the chain does not reach the height, or the coin is born later.
    #[must_use]
    pub fn age_seconds(&self, coin: &Coin, height: Height) -> u64 {
        assert!(coin.height <= height, "a coin of height {} has no age at {height}", coin.height);
        u64::from(self.monotone_time(height) - self.monotone_time(coin.height))
    }

    /// Days from a coin's birth to a height: the difference of their days, whatever the time of day.
    ///
    /// # Panics
    /// If the chain does not reach the height, or the coin is born later.
    #[must_use]
    pub fn age_days(&self, coin: &Coin, height: Height) -> u32 {
        assert!(coin.height <= height, "a coin of height {} has no age at {height}", coin.height);
        self.day(height) - self.day(coin.height)
    }

    /// The coins that the block of a height spends.
    fn spent_in_block(&self, height: Height) -> Vec<&Coin> {
        let first = self.headers()[height as usize].first_tx.0;
        let txs = first..first + self.blocks()[height as usize].txdata.len() as u64;
        txs.flat_map(|tx_num| self.spent(TxNum(tx_num))).collect()
    }

    /// The coins that the block of a height makes, those included that it spends or that are overwritten later.
    fn made_in_block(&self, height: Height) -> Vec<(ScriptBuf, Sats)> {
        let block = &self.blocks()[height as usize];
        let outputs = block.txdata.iter().flat_map(|tx| &tx.output).filter(|output| {
            // As in the ledger: genesis made no coin.
            height > 0 && !cairn_model::is_unspendable(output.script_pubkey.as_bytes())
        });
        outputs.map(|output| (output.script_pubkey.clone(), output.value.to_sat())).collect()
    }

    /// Ages in the block of a height.
    ///
    /// # Panics
    /// If the chain does not reach it.
    #[must_use]
    pub fn block_ages(&self, height: Height) -> BlockAges {
        self.all_block_ages().swap_remove(height as usize)
    }

    /// [`Oracle::block_ages`] of every block, by height.
    #[must_use]
    pub fn all_block_ages(&self) -> Vec<BlockAges> {
        let mut all = Vec::new();
        let mut supply: Sats = 0;
        for height in 0..self.blocks().len() as Height {
            let mut ages = BlockAges::default();
            let spent = self.spent_in_block(height);
            for coin in &spent {
                ages.spent.entry(self.day(coin.height)).or_default().add(coin);
                ages.destroyed_sat_seconds += u128::from(coin.value_sats) * u128::from(self.age_seconds(coin, height));
            }
            if let Some(before) = height.checked_sub(1) {
                let seconds = self.monotone_time(height) - self.monotone_time(before);
                ages.created_sat_seconds = u128::from(supply) * u128::from(seconds);
            }
            supply += self.made_in_block(height).iter().map(|(_, sats)| sats).sum::<Sats>();
            supply -= spent.iter().map(|coin| coin.value_sats).sum::<Sats>();
            let overwritten = self.overwritten().iter().filter(|(at, _)| *at == height);
            supply -= overwritten.map(|(_, coin)| coin.value_sats).sum::<Sats>();
            all.push(ages);
        }
        all
    }

    /// The sums of a transaction.
    ///
    /// # Panics
    /// If there is no transaction with that number.
    #[must_use]
    pub fn tx_sums(&self, tx_num: TxNum) -> TxSums {
        TxSums {
            fee_sats: self.txs()[tx_num.0 as usize].fee_sats,
            input_sats: self.spent(tx_num).iter().map(|coin| coin.value_sats).sum(),
        }
    }

    /// Sums over the days of the blocks up to a height, by day; a day without a block has no row.
    ///
    /// # Panics
    /// If the chain does not reach the height.
    #[must_use]
    pub fn daily_metrics(&self, height: Height) -> BTreeMap<u32, DayMetrics> {
        let ages = self.all_block_ages();
        let mut days: BTreeMap<u32, DayMetrics> = BTreeMap::new();
        let mut senders: BTreeMap<u32, BTreeSet<ScriptBuf>> = BTreeMap::new();
        let mut receivers: BTreeMap<u32, BTreeSet<ScriptBuf>> = BTreeMap::new();
        for at in 0..=height {
            let day = self.day(at);
            let row = days.entry(day).or_default();
            for (script, sats) in self.made_in_block(at) {
                row.created.sats += sats;
                row.created.coins += 1;
                receivers.entry(day).or_default().insert(script);
            }
            for coin in self.spent_in_block(at) {
                row.spent.add(coin);
                senders.entry(day).or_default().insert(coin.script.clone());
            }
            row.destroyed_sat_seconds += ages[at as usize].destroyed_sat_seconds;
            row.created_sat_seconds += ages[at as usize].created_sat_seconds;
        }
        for (day, row) in &mut days {
            let (sent, received) = (senders.remove(day).unwrap_or_default(), receivers.remove(day).unwrap_or_default());
            row.senders = sent.len() as u64;
            row.receivers = received.len() as u64;
            row.active = sent.union(&received).count() as u64;
        }
        days
    }

    /// Holders by balance as of a height, each script a holder: k → those with [10^k, 10^(k + 1)) satoshis. Scripts
    /// without a balance and bands without a holder are left out.
    #[must_use]
    pub fn balance_bands(&self, height: Height) -> BTreeMap<u32, BalanceBand> {
        bands(self.balances(height).into_values())
    }

    /// Those of [`Oracle::balance_bands`] whose script has no address.
    #[must_use]
    pub fn balance_bands_without_address(&self, height: Height) -> BTreeMap<u32, BalanceBand> {
        let balances = self.balances(height).into_iter();
        bands(
            // A script has an address on every network or on none.
            balances
                .filter(|(script, _)| Address::from_script(script, bitcoin::Network::Bitcoin).is_err())
                .map(|(_, balance)| balance),
        )
    }

    /// Balance of each script as of a height.
    fn balances(&self, height: Height) -> BTreeMap<ScriptBuf, Sats> {
        let mut balances: BTreeMap<ScriptBuf, Sats> = BTreeMap::new();
        for coin in self.coins_at(height).into_values() {
            *balances.entry(coin.script).or_default() += coin.value_sats;
        }
        balances
    }

    /// The unspent coins as of a height by age, one row for each of the [`AGE_BANDS`].
    ///
    /// # Panics
    /// If the chain does not reach the height.
    #[must_use]
    pub fn supply_by_age(&self, height: Height) -> Vec<AgeBand> {
        let mut bands: Vec<AgeBand> =
            AGE_BANDS.iter().map(|&from_days| AgeBand { from_days, sum: CoinSum::default() }).collect();
        for coin in self.coins_at(height).values() {
            let age = self.age_days(coin, height);
            if let Some(band) = bands.iter_mut().rev().find(|band| band.from_days <= age) {
                band.sum.add(coin);
            }
        }
        bands
    }

    /// The unspent coins as of a height that are [`LONG_TERM_DAYS`] old or older.
    ///
    /// # Panics
    /// If the chain does not reach the height.
    #[must_use]
    pub fn long_term_supply(&self, height: Height) -> CoinSum {
        let mut sum = CoinSum::default();
        for coin in self.coins_at(height).values().filter(|coin| self.age_days(coin, height) >= LONG_TERM_DAYS) {
            sum.add(coin);
        }
        sum
    }
}

impl Clusters {
    /// As [`Oracle::balance_bands`], each cluster a holder.
    #[must_use]
    pub fn balance_bands(&self) -> BTreeMap<u32, BalanceBand> {
        bands(self.all().filter_map(|members| Some(self.balance(members.first()?))))
    }
}

fn bands(balances: impl Iterator<Item = Sats>) -> BTreeMap<u32, BalanceBand> {
    let mut bands: BTreeMap<u32, BalanceBand> = BTreeMap::new();
    for balance in balances.filter(|balance| *balance > 0) {
        let band = bands.entry(balance.ilog10()).or_default();
        band.holders += 1;
        band.sats += balance;
    }
    bands
}
