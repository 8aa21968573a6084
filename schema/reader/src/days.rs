//! Sums by day of monotone block time: the supply by age, scripts by balance, value moved by blocks.
//! A reading fails with [`ReadError::Unfinished`] while a stage that it needs is being rebuilt.

use std::{collections::BTreeMap, ops::RangeInclusive};

use cairn_model::{DAY_SECS, Height, Sats, day_of, last_second};
use cairn_tables::{
    Table,
    ages::{BIRTH_DAYS, BirthDays, SpentByAge, SupplyChanges},
    clusters::ClusterDays,
    daily::Daily,
    old_coins::DormantDays,
    periods::Period,
    script_days::{BANDS, ScriptDays},
    stages::{AGES, CLUSTERS, SCRIPT_DAYS, StageInfo},
    sums::Sums,
};

use crate::{ReadError, subjects::DayView};

/// Unspent coins that were made on one day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BornOn {
    /// The day, counted from 1970-01-01.
    pub day: u32,
    /// Sum of their values.
    pub sats: Sats,
    /// Their number.
    pub coins: u64,
}

/// How the unspent coins of one day of birth changed on another day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BirthChange {
    /// Day of birth, counted from 1970-01-01.
    pub day: u32,
    /// Change of their value in satoshis.
    pub sats: i128,
    /// Change of their number.
    pub coins: i128,
}

/// Sums of one day, by the tables that have them. A day without blocks has none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DaySums {
    /// Positions as in `daily`.
    pub blocks: Sums,
    /// Positions as in `script_days`.
    pub scripts: Sums,
    /// Positions as in `cluster_days`.
    pub clusters: Sums,
}

/// Calls `each` for every change of a row: the day of birth, whether coins are counted, and the change.
fn changes_of(days: BirthDays, sums: &Sums, mut each: impl FnMut(u32, bool, i128)) {
    for (position, sum) in sums.iter() {
        let (day, counts_coins) = days.day(position);
        each(day, counts_coins, sum);
    }
}

fn is_day_until(period: Period, last: u32) -> bool {
    period.days() == 1 && period.first_day() <= last
}

fn summed<T: Table>(sums: &mut Sums, more: &Sums) -> Result<(), ReadError> {
    let error = |e: cairn_tables::sums::SumOverflow| ReadError::Broken(format!("table {}: {e}", T::NAME));
    sums.add_all(more).map_err(error)
}

fn natural<N: TryFrom<i128>>(number: i128, what: &str) -> Result<N, ReadError> {
    N::try_from(number).map_err(|_| ReadError::Broken(format!("{what}: the changes add up to {number}")))
}

impl DayView<'_> {
    /// The last block of the day of a block; `None` above the tip. No row read.
    #[must_use]
    pub fn last_of_day(self, height: Height) -> Option<Height> {
        let day = day_of(self.view.chain().get(height)?.mono_time);
        self.view.chain().height_at(last_second(day))
    }

    /// The unspent coins as they were after the last block of a day, by day of birth, ascending. Reads a row for each
    /// 64 days of birth and each of at most 57 periods.
    pub fn supply_by_birth(self, day: u32) -> Result<Vec<BornOn>, ReadError> {
        self.view.require(&AGES)?;
        // Sums by position: nearly every row has nearly all.
        let mut rows: BTreeMap<BirthDays, [i128; 2 * BIRTH_DAYS as usize]> = BTreeMap::new();
        let broken = |what: &str| ReadError::Broken(format!("table {}: {what}", SupplyChanges::NAME));
        for period in Period::up_to(day) {
            for row in self.view.scan_while::<SupplyChanges>((period, BirthDays(0)), |(found, _)| *found == period)? {
                let ((_, days), changes) = row?;
                let sums = rows.entry(days).or_insert([0; 2 * BIRTH_DAYS as usize]);
                for (position, change) in changes.iter() {
                    let sum = sums.get_mut(position as usize).ok_or_else(|| broken("a position that is not a day"))?;
                    *sum = sum.checked_add(change).ok_or_else(|| broken("a sum exceeds 128 bits"))?;
                }
            }
        }
        let mut born = Vec::new();
        for (days, sums) in &rows {
            for (position, pair) in (0u32..).step_by(2).zip(sums.chunks_exact(2)).filter(|(_, pair)| *pair != [0, 0]) {
                let (what, (day, _)) = ("unspent coins of a day", days.day(position));
                born.push(BornOn { day, sats: natural(pair[0], what)?, coins: natural(pair[1], what)? });
            }
        }
        Ok(born)
    }

    /// Shows for each of some days that have blocks, ascending, how the unspent coins of each day of birth changed on
    /// it, ascending. Reads a row for each day and each 64 days of birth that changed.
    ///
    /// # Errors
    /// Passes on the error of `show`; returns [`ReadError::Unfinished`] while the stage `ages` is being rebuilt.
    pub fn supply_changes<E: From<ReadError>>(
        self,
        days: RangeInclusive<u32>,
        mut show: impl FnMut(u32, &[BirthChange]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.view.require(&AGES)?;
        let (mut of, mut changes): (Option<u32>, Vec<BirthChange>) = (None, Vec::new());
        let first = (Period::day(*days.start()), BirthDays(0));
        for row in self.view.scan_while::<SupplyChanges>(first, |(period, _)| is_day_until(*period, *days.end()))? {
            let ((period, births), sums) = row.map_err(E::from)?;
            let day = period.first_day();
            if let Some(before) = of.filter(|before| *before != day) {
                show(before, &changes)?;
                changes.clear();
            }
            of = Some(day);
            changes_of(births, &sums, |born, counts_coins, sum| {
                if changes.last().is_none_or(|last| last.day != born) {
                    changes.push(BirthChange { day: born, sats: 0, coins: 0 });
                }
                if let Some(last) = changes.last_mut() {
                    *(if counts_coins { &mut last.coins } else { &mut last.sats }) = sum;
                }
            });
        }
        of.map_or(Ok(()), |day| show(day, &changes))
    }

    /// Coins that the blocks of a day spent by day of birth, ascending: where coins were overwritten, changes do not
    /// show it. Reads a row for each block.
    pub fn spent_by_birth(self, day: u32) -> Result<BTreeMap<u32, u128>, ReadError> {
        self.view.require(&AGES)?;
        let last_at = |time: u32| self.view.chain().height_at(time);
        let begin = day.saturating_mul(DAY_SECS);
        let first = begin.checked_sub(1).and_then(last_at).map_or(0, |before| before + 1);
        let mut spent = BTreeMap::new();
        let Some(last) = last_at(last_second(day)).filter(|last| *last >= first) else { return Ok(spent) };
        for row in self.view.scan_while::<SpentByAge>(first, |height| *height <= last)? {
            for birth in row?.1.births {
                *spent.entry(birth.day).or_default() += u128::from(birth.sats);
            }
        }
        Ok(spent)
    }

    /// The sums of each of some days that have blocks, ascending. Reads up to three rows for a day.
    pub fn sums(self, days: RangeInclusive<u32>) -> Result<BTreeMap<u32, DaySums>, ReadError> {
        let mut found: BTreeMap<u32, DaySums> = BTreeMap::new();
        self.of_days::<Daily>(&AGES, &days, |day, sums| found.entry(day).or_default().blocks = sums)?;
        self.of_days::<ScriptDays>(&SCRIPT_DAYS, &days, |day, sums| found.entry(day).or_default().scripts = sums)?;
        self.of_days::<ClusterDays>(&CLUSTERS, &days, |day, sums| found.entry(day).or_default().clusters = sums)?;
        Ok(found)
    }

    fn of_days<T: Table<Key = Period, Value = Sums>>(
        self,
        stage: &StageInfo,
        days: &RangeInclusive<u32>,
        mut put: impl FnMut(u32, Sums),
    ) -> Result<(), ReadError> {
        self.view.require(stage)?;
        let first = Period::day(*days.start());
        for row in self.view.scan_while::<T>(first, |period| is_day_until(*period, *days.end()))? {
            let (period, sums) = row?;
            put(period.first_day(), sums);
        }
        Ok(())
    }

    /// Scripts by balance as they were after the last block of a day, and scripts in use counted once for each day up
    /// to it; positions as in `script_days`. Reads at most 57 rows.
    pub fn scripts(self, day: u32) -> Result<Sums, ReadError> {
        self.sums_up_to::<ScriptDays>(&SCRIPT_DAYS, day)
    }

    /// Unspent satoshis as of the tip: all coins but those that nobody can spend. Reads at most 57 rows.
    pub fn unspent(self) -> Result<Sats, ReadError> {
        let sums = self.scripts(day_of(self.view.tip().mono_time))?;
        let held = (0..BANDS).map(|band| sums.get(BANDS + band)).sum::<i128>();
        Sats::try_from(held).map_err(|_| ReadError::Broken(format!("scripts hold {held} satoshis")))
    }

    /// Clusters by balance as they were after the last block of a day, scripts that are clusters of their own among
    /// them; positions as in `cluster_days`. Reads at most 57 rows.
    pub fn clusters(self, day: u32) -> Result<Sums, ReadError> {
        self.sums_up_to::<ClusterDays>(&CLUSTERS, day)
    }

    /// Sums over the blocks of all days up to one; positions as in `daily`. Reads at most 57 rows.
    pub fn blocks_up_to(self, day: u32) -> Result<Sums, ReadError> {
        self.sums_up_to::<Daily>(&AGES, day)
    }

    /// Sums over the coins of a year and more that were spent on all days up to one; positions as in `dormant_days`.
    /// Reads at most 57 rows.
    pub fn dormant_up_to(self, day: u32) -> Result<Sums, ReadError> {
        self.sums_up_to::<DormantDays>(&AGES, day)
    }

    pub(crate) fn sums_up_to<T: Table<Key = Period, Value = Sums>>(
        self,
        of: &StageInfo,
        day: u32,
    ) -> Result<Sums, ReadError> {
        self.view.require(of)?;
        let mut sums = Sums::default();
        let mut periods = Period::up_to(day);
        periods.sort_unstable();
        for row in self.view.rows_of_many::<T>(&periods)?.into_iter().flatten() {
            summed::<T>(&mut sums, &row)?;
        }
        Ok(sums)
    }
}
