//! Reads days and prices.

use std::ops::RangeInclusive;

use cairn_domain::onchain::{Change, Closes, Day, Days, Figures, Flows, Prices};
use cairn_events::{Chosen, Currency, Interval, Series};
use cairn_http::ApiError;
use cairn_model::{day_of, last_second};
use cairn_reader::{DaySums, ReadError, View};
use cairn_tables::{clusters::NET_EXTERNAL, daily::Measure, script_days, sums::Sums};

use super::rows::{Number, Scripts};
use crate::context::Ctx;

const SERIES: Series = Series { base: Currency::BTC, quote: Currency::USD, interval: Interval::Day };

pub(super) struct DailyCloses(Vec<(u32, Chosen)>);

impl DailyCloses {
    pub(super) fn read(view: &View<'_>) -> Result<Self, ApiError> {
        let quotes = view.ledger().quotes(SERIES, 0, u32::MAX, usize::MAX)?;
        // The candle of a day closes when the next one begins.
        let by_day =
            quotes.into_iter().filter_map(|(closes_at, chosen)| Some((day_of(closes_at).checked_sub(1)?, chosen)));
        Ok(DailyCloses(by_day.collect()))
    }

    pub(super) fn by_day(&self) -> Closes {
        Closes::of(self.0.iter().map(|(day, chosen)| (*day, chosen.close)))
    }

    pub(super) fn on(&self, day: u32) -> Option<&Chosen> {
        self.0.binary_search_by_key(&day, |(day, _)| *day).ok().map(|at| &self.0[at].1)
    }

    /// The close of a day that has one.
    pub(super) fn number(&self, day: u32) -> Number {
        Number(self.on(day).map_or_else(|| "null".to_owned(), |chosen| chosen.close.to_string()))
    }
}

fn in_use(sums: &Sums) -> Scripts {
    let [active, senders, receivers] =
        [script_days::ACTIVE, script_days::SENDERS, script_days::RECEIVERS].map(|position| sums.get(position));
    Scripts { active, senders, receivers }
}

/// Bits of amounts and numbers, of one day and of all: all coins of a chain take 51, and moving all of them a thousand
/// times a day 61. With more, rows are damaged, and sums might overflow.
const AMOUNT: u32 = 70;
/// Bits of amounts × seconds since 1970.
const MOMENT: u32 = 96;

fn bounded(number: i128, bits: u32) -> Result<i128, ReadError> {
    let fits = number.unsigned_abs() >> bits == 0;
    if fits { Ok(number) } else { Err(ReadError::Broken(format!("sums by day have {number}"))) }
}

fn flows(blocks: &Sums, clusters: &Sums) -> Result<Flows, ReadError> {
    let of = |measure: Measure| bounded(measure.of(blocks), AMOUNT);
    let moment = |measure: Measure| bounded(measure.of(blocks), MOMENT);
    Ok(Flows {
        blocks: of(Measure::Blocks)?,
        txs: of(Measure::Txs)?,
        created_coins: of(Measure::CreatedCoins)?,
        created_sats: of(Measure::CreatedSats)?,
        spent_coins: of(Measure::SpentCoins)?,
        spent_sats: of(Measure::SpentSats)?,
        overwritten_sats: of(Measure::OverwrittenSats)?,
        fee_sats: of(Measure::FeeSats)?,
        paid_sats: bounded(clusters.get(NET_EXTERNAL), AMOUNT)?,
        destroyed: moment(Measure::Destroyed)?,
        created_moment: moment(Measure::CreatedMoment)?,
        left_moment: moment(Measure::LeftMoment)?,
    })
}

fn change(birth: u32, sats: i128, coins: i128, day: u32) -> Result<Change, ReadError> {
    if birth > day {
        return Err(ReadError::Broken("coins are spent before they are made".to_owned()));
    }
    Ok(Change { birth, sats: bounded(sats, AMOUNT)?, coins: bounded(coins, AMOUNT)? })
}

/// Goes through days one after the other, and returns the figures of each and the state after the last one. For the
/// supply before the first day it reads a row for each 64 days of birth and each of at most 57 periods. For each day it
/// reads three rows, and one for each 64 days of birth of which coins were spent.
pub(super) fn walk<'c>(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    days: RangeInclusive<u32>,
    prices: Prices<'c>,
) -> Result<(Vec<(Figures, Scripts)>, Days<'c>), ApiError> {
    let (start, last) = (*days.start(), *days.end());
    let time_of = |day: u32| {
        let block = view.chain().height_at(last_second(day)).and_then(|height| view.chain().get(height));
        block.map_or(0, |block| block.mono_time)
    };
    let mut state = match start.checked_sub(1) {
        None => Days::after(&[], Flows::default(), 0, prices),
        Some(before) => {
            let born = view.days().supply_by_birth(before)?;
            let unspent = born.iter().map(|born| change(born.day, born.sats.into(), born.coins.into(), before));
            let unspent = unspent.collect::<Result<Vec<Change>, ReadError>>()?;
            Days::after(&unspent, flows(&view.days().blocks_up_to(before)?, &Sums::default())?, time_of(before), prices)
        }
    };
    let mut sums = view.days().sums(days.clone())?;
    let mut found: Vec<(Figures, Scripts)> = Vec::new();
    let mut add = |day: u32, changes: &[Change]| {
        let DaySums { blocks, scripts, clusters } = sums.remove(&day).unwrap_or_default();
        // Coins that were overwritten are no longer unspent either, but they were not spent.
        let overwritten = Measure::OverwrittenCoins.of(&blocks) != 0;
        let spent = overwritten.then(|| view.days().spent_by_birth(day)).transpose()?;
        let (flows, in_use) = (flows(&blocks, &clusters)?, in_use(&scripts));
        let day = Day { day, flows, changes, spent: spent.as_ref(), last_block: time_of(day) };
        found.push((state.add(&day), in_use));
        Ok::<(), ApiError>(())
    };
    let (mut next, mut changes) = (start, Vec::new());
    view.days().supply_changes(days, |day, of_day| {
        ctx.work.poll()?;
        // Days without blocks.
        (next..day).try_for_each(|quiet| add(quiet, &[]))?;
        changes.clear();
        for of in of_day {
            changes.push(change(of.day, of.sats, of.coins, day)?);
        }
        add(day, &changes)?;
        next = day + 1;
        Ok::<(), ApiError>(())
    })?;
    (next..=last).try_for_each(|quiet| add(quiet, &[]))?;
    Ok((found, state))
}
