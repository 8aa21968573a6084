//! Sums by day of monotone block time: the supply by age, scripts by balance, what blocks moved.

use std::collections::BTreeMap;

use cairn_model::{Height, Sats, day_of};
use cairn_tables::{
    Table,
    ages::{BirthDays, SupplyChanges},
    daily::Daily,
    periods::Period,
    script_days::ScriptDays,
    stages::{AGES, SCRIPT_DAYS, StageInfo},
    sums::Sums,
};

use crate::{ReadError, View};

/// Unspent coins that were made on one day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BornOn {
    /// The day, counted from 1970-01-01.
    pub day: u32,
    /// Their value.
    pub sats: Sats,
    /// Their number.
    pub coins: u64,
}

fn summed<T: Table>(sums: &mut Sums, more: &Sums) -> Result<(), ReadError> {
    let error = |e: cairn_tables::sums::SumOverflow| ReadError::Broken(format!("table {}: {e}", T::NAME));
    sums.add_all(more).map_err(error)
}

fn natural<N: TryFrom<i128>>(number: i128, what: &str) -> Result<N, ReadError> {
    N::try_from(number).map_err(|_| ReadError::Broken(format!("{what}: the changes add up to {number}")))
}

impl View<'_> {
    /// The last block of the day of a block; `None` above the tip. No row read.
    #[must_use]
    pub fn last_of_day(&self, height: Height) -> Option<Height> {
        let day = day_of(self.chain().get(height)?.mono_time);
        let end = (u64::from(day) + 1) * 86_400 - 1;
        self.chain().height_at(u32::try_from(end).unwrap_or(u32::MAX))
    }

    /// The unspent coins as they were after the last block of a day, by day of birth, ascending. Reads a row for each 64 days
    /// of birth and each of at most 57 periods.
    ///
    /// # Errors
    /// The stage `ages` is being rebuilt, the database cannot be read, or rows are damaged.
    pub fn supply_by_birth(&self, day: u32) -> Result<Vec<BornOn>, ReadError> {
        self.require(&AGES)?;
        let mut rows: BTreeMap<BirthDays, Sums> = BTreeMap::new();
        for period in Period::up_to(day) {
            for row in self.scan::<SupplyChanges>(Some(&(period, BirthDays(0))))? {
                let ((found, days), changes) = row?;
                if found != period {
                    break;
                }
                summed::<SupplyChanges>(rows.entry(days).or_default(), &changes)?;
            }
        }
        let mut born: BTreeMap<u32, (i128, i128)> = BTreeMap::new();
        for (days, sums) in &rows {
            for (position, sum) in sums.iter() {
                let (day, counts_coins) = days.day(position);
                let (sats, coins) = born.entry(day).or_default();
                *(if counts_coins { coins } else { sats }) = sum;
            }
        }
        born.into_iter()
            .map(|(day, (sats, coins))| {
                let what = "unspent coins of a day";
                Ok(BornOn { day, sats: natural(sats, what)?, coins: natural(coins, what)? })
            })
            .collect()
    }

    /// Scripts by balance as they were after the last block of a day, and scripts in use counted once for each day up to it;
    /// positions as in `script_days`. Reads at most 57 rows.
    ///
    /// # Errors
    /// The stage `script_days` is being rebuilt, the database cannot be read, or rows are damaged.
    pub fn scripts_by_day(&self, day: u32) -> Result<Sums, ReadError> {
        self.sums_up_to::<ScriptDays>(&SCRIPT_DAYS, day)
    }

    /// Sums over the blocks of all days up to one; positions as in `daily`. Reads at most 57 rows.
    ///
    /// # Errors
    /// The stage `ages` is being rebuilt, the database cannot be read, or rows are damaged.
    pub fn daily_up_to(&self, day: u32) -> Result<Sums, ReadError> {
        self.sums_up_to::<Daily>(&AGES, day)
    }

    pub(crate) fn sums_up_to<T: Table<Key = Period, Value = Sums>>(
        &self,
        of: &StageInfo,
        day: u32,
    ) -> Result<Sums, ReadError> {
        self.require(of)?;
        let mut sums = Sums::default();
        let mut periods = Period::up_to(day);
        periods.sort_unstable();
        for row in self.bytes_of_many::<T>(&periods)?.into_iter().flatten() {
            summed::<T>(&mut sums, &T::decode_value(&row)?)?;
        }
        Ok(sums)
    }
}
