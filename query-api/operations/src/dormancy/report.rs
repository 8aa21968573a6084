//! The weekly report on old coins: one computation for all of its forms.

use cairn_domain::dormancy::{MOVEMENT_SATS, MOVEMENT_YEARS, YEAR};
use cairn_http::Location;
use cairn_model::{DAY_SECS, day_of};
use cairn_tables::{
    ages::DORMANT_YEARS,
    old_coins::{MOVED_SATS, MOVEMENTS, OldSum},
    sums::Sums,
};
use jiff::{
    ToSpan,
    civil::{Date, ISOWeekDate, Weekday},
};

use super::{movement::DormantMovement, source::MinSpend};
use crate::{
    definitions::OLD_COINS,
    operation::prelude::*,
    values::{Decimal, date},
    window::{BoundedScan, ScanStep},
};

const MAX_MOVEMENTS: usize = 10;
const YEAR_WEEKS: u32 = 52;
const WEEK: u32 = 7;
const NO_YEAR: &str = "the chain has no full week earlier than the week before";

/// Weekly report on old coins.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DormancyReport")]
pub(crate) struct Report {
    /// Week in ISO 8601 format, as in `2025-W52`.
    pub(super) week: String,
    /// Monday of the week, as YYYY-MM-DD.
    pub(super) from_date: String,
    /// Sunday of the week, as YYYY-MM-DD.
    pub(super) to_date: String,
    /// False if the newest block belongs to this week: more blocks may follow.
    pub(super) is_complete: bool,
    pub(super) totals: Totals,
    /// Totals of the week before.
    pub(super) previous_week: Totals,
    /// Change of the value of old coins from the week before, in percent; null if nothing was spent then.
    pub(super) change_percent: Option<Decimal<1>>,
    /// Average of the 52 weeks before this one; null with `average_reason`.
    pub(super) average_week: Option<Totals>,
    /// Number of weeks in the average.
    pub(super) average_weeks: u32,
    pub(super) average_reason: Option<&'static str>,
    /// Spent coins by class of age, the youngest first.
    pub(super) classes: Vec<Class>,
    /// Transactions that moved coins of five years and more worth 10 BTC or more together, the largest sum first; at
    /// most 10.
    pub(super) top_movements: Vec<DormantMovement>,
    /// Number of movements that are not listed.
    pub(super) movements_omitted: u64,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// Spent coins of a year and more.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DormancyTotals")]
pub(crate) struct Totals {
    /// Sum of these coins.
    pub(super) old_sats: u64,
    pub(super) old_btc: Btc,
    /// Number of these coins.
    pub(super) coin_count: u64,
    /// Coin-days that these coins destroyed, in bitcoin-days.
    pub(super) coin_days_destroyed: Decimal<8>,
    /// Number of transactions that moved coins of five years and more worth 10 BTC or more together.
    pub(super) movement_count: u64,
    /// Sum of the old coins that these transactions moved.
    pub(super) movement_sats: u64,
    pub(super) movement_btc: Btc,
}

/// Spent coins of one class of age.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DormancyClass")]
pub(crate) struct Class {
    /// Minimum age in years of 365 days.
    pub(super) from_years: u32,
    /// Age in years at which the next class begins; null for the oldest class.
    pub(super) to_years: Option<u32>,
    pub(super) old_sats: u64,
    pub(super) old_btc: Btc,
    pub(super) coin_count: u64,
    pub(super) coin_days_destroyed: Decimal<8>,
    /// Sum in the week before.
    pub(super) previous_sats: u64,
    /// Sum in the average week; null if `average_week` is null.
    pub(super) average_sats: Option<u64>,
}

/// Sums over some days.
struct Span(Sums);

impl Span {
    /// From a day to the day before another.
    fn of(view: &View<'_>, from: u32, to: u32) -> Result<Self, ApiError> {
        let up_to = |day: u32| match day.checked_sub(1) {
            Some(last) => Ok(view.days().dormant_up_to(last)?),
            None => Ok::<_, ApiError>(Sums::default()),
        };
        let (before, all) = (up_to(from)?, up_to(to)?);
        let broken = |_| cairn_reader::ReadError::Broken("old coins of some days exceed 128 bits".to_owned());
        let negative = before.negated().map_err(broken)?;
        let mut sums = all;
        sums.add_all(&negative).map_err(broken)?;
        Ok(Span(sums))
    }

    fn count(&self, position: u32) -> u64 {
        u64::try_from(self.0.get(position)).unwrap_or(0)
    }

    fn of_all(&self, sum: OldSum) -> i128 {
        (0..DORMANT_YEARS.len() as u8).map(|class| self.0.get(sum.position(class))).sum()
    }

    /// The averages over `weeks`, rounded down.
    fn totals(&self, weeks: u32) -> Totals {
        let weeks = weeks.max(1);
        let sats = |sum: i128| u64::try_from(sum / i128::from(weeks)).unwrap_or(0);
        let (old_sats, movement_sats) = (sats(self.of_all(OldSum::Sats)), self.count(MOVED_SATS) / u64::from(weeks));
        Totals {
            old_sats,
            old_btc: Btc::of(old_sats),
            coin_count: sats(self.of_all(OldSum::Coins)),
            coin_days_destroyed: Decimal(self.of_all(OldSum::Destroyed) / i128::from(DAY_SECS) / i128::from(weeks)),
            movement_count: self.count(MOVEMENTS) / u64::from(weeks),
            movement_sats,
            movement_btc: Btc::of(movement_sats),
        }
    }
}

/// Day of 1970-01-01 and later, counted from there.
fn day_number(of: Date) -> Option<u32> {
    let since = of.since((jiff::Unit::Day, Date::constant(1970, 1, 1))).ok()?;
    u32::try_from(since.get_days()).ok()
}

/// The Monday of the week of a day.
fn monday(day: u32) -> u32 {
    // 1970-01-01 was a Thursday.
    day - (day + 3) % WEEK
}

/// The Monday of a week, written as `2025-W52`.
pub(super) fn parse_week(text: &str) -> Option<u32> {
    let (year, week) = text.split_once("-W").or_else(|| text.split_once("-w"))?;
    let is_number = |text: &str, digits: usize| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = (year.parse::<i16>().ok()?, week.parse::<i8>().ok()?);
    let date = ISOWeekDate::new(numbers.0, numbers.1, Weekday::Monday).ok()?;
    day_number(date.date()).filter(|_| is_number(year, 4) && is_number(week, 2))
}

/// A Monday as `2025-W52`.
fn week_of(monday: u32) -> String {
    let date = Date::constant(1970, 1, 1).saturating_add(i64::from(monday).days());
    let week = date.iso_week_date();
    format!("{:04}-W{:02}", week.year(), week.week())
}

impl Report {
    /// Of a week, by its Monday; without one of the last whole week before that of the newest block.
    ///
    /// # Errors
    /// 422 for a week that the chain has not reached.
    pub(super) fn of(ctx: &Ctx<'_>, week: Option<u32>) -> Result<Self, ApiError> {
        let view = ctx.view()?;
        let today = day_of(view.tip().mono_time);
        let begins = week.unwrap_or(monday(today).saturating_sub(WEEK));
        if begins > today {
            let message = format!("is after the newest block, which is of {}", week_of(monday(today)));
            return Err(ApiError::validation(Location::Query, "week", message));
        }
        let ends = begins + WEEK;
        let before = begins.saturating_sub(WEEK);
        let first_day = view.chain().get(0).map_or(begins, |genesis| day_of(genesis.mono_time));
        let average_weeks = (begins.saturating_sub(first_day) / WEEK).min(YEAR_WEEKS);
        let this = Span::of(view, begins, ends)?;
        let previous = Span::of(view, before, begins)?;
        let year = Span::of(view, begins.saturating_sub(average_weeks * WEEK), begins)?;
        let has_year = average_weeks > 1;
        let (totals, previous_week) = (this.totals(1), previous.totals(1));
        let change = |now: u64, then: u64| {
            let difference = i128::from(now) - i128::from(then);
            (then > 0).then(|| Decimal(difference * 1_000 / i128::from(then.max(1))))
        };
        let (top_movements, movements_omitted) = top(ctx, view, begins, ends)?;
        Ok(Report {
            week: week_of(begins),
            from_date: date(begins),
            to_date: date(ends - 1),
            is_complete: today >= ends,
            change_percent: change(totals.old_sats, previous_week.old_sats),
            totals,
            previous_week,
            average_week: has_year.then(|| year.totals(average_weeks)),
            average_weeks: if has_year { average_weeks } else { 0 },
            average_reason: (!has_year).then_some(NO_YEAR),
            classes: classes(&this, &previous, has_year.then_some((&year, average_weeks))),
            top_movements,
            movements_omitted,
            definition: OLD_COINS,
        })
    }
}

fn classes(this: &Span, previous: &Span, year: Option<(&Span, u32)>) -> Vec<Class> {
    let class = |(class, from_years): (u8, &u32)| {
        let old_sats = this.count(OldSum::Sats.position(class));
        Class {
            from_years: *from_years,
            to_years: DORMANT_YEARS.get(usize::from(class) + 1).copied(),
            old_sats,
            old_btc: Btc::of(old_sats),
            coin_count: this.count(OldSum::Coins.position(class)),
            coin_days_destroyed: Decimal(this.0.get(OldSum::Destroyed.position(class)) / i128::from(DAY_SECS)),
            previous_sats: previous.count(OldSum::Sats.position(class)),
            average_sats: year.map(|(year, weeks)| year.count(OldSum::Sats.position(class)) / u64::from(weeks.max(1))),
        }
    };
    (0u8..).zip(&DORMANT_YEARS).map(class).collect()
}

/// The largest movements of some days, and how many are left out.
fn top(ctx: &Ctx<'_>, view: &View<'_>, from: u32, to: u32) -> Result<(Vec<DormantMovement>, u64), ApiError> {
    let first_of = |day: u32| -> TxNum {
        let time = day.saturating_mul(DAY_SECS);
        let height = time.checked_sub(1).and_then(|before| view.chain().height_at(before));
        let first = |height: Height| view.chain().get(height).map_or(view.tip().tx_end, |block| block.first_tx);
        first(height.map_or(0, |before| before + 1))
    };
    let mut walk = view.movements().old_before(first_of(to))?;
    let mut scan = BoundedScan::back_to(first_of(from));
    let mut found = Vec::new();
    while let ScanStep::Tx(tx_num, row) =
        scan.next(&ctx.work, || Ok(walk.as_mut().map(|walk| walk.older()).transpose()?.flatten()), |_| true)?
    {
        found.push((row.sats, tx_num));
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let omitted = found.len().saturating_sub(MAX_MOVEMENTS) as u64;
    found.truncate(MAX_MOVEMENTS);
    let least = MinSpend { age: MOVEMENT_YEARS.saturating_mul(YEAR), sats: MOVEMENT_SATS };
    let mut rows = Vec::new();
    for (_, tx_num) in found {
        ctx.work.poll()?;
        rows.extend(DormantMovement::confirmed(ctx, view, tx_num, least)?);
    }
    Ok((rows, omitted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_begin_on_mondays() {
        for (text, first) in [
            ("1970-W02", "1970-01-05"),
            ("2025-W52", "2025-12-22"),
            ("2026-W01", "2025-12-29"),
            ("2020-W53", "2020-12-28"),
        ] {
            let monday = parse_week(text).unwrap_or_default();
            assert_eq!((date(monday), week_of(monday)), (first.to_owned(), text.to_owned()));
            assert!((monday..monday + 7).all(|day| super::monday(day) == monday));
        }
        for bad in
            ["", "2025", "2025-W54", "2025-W00", "2021-W53", "25-W10", "2025-W1", "2025-W+1", "1969-W01", "2025-52"]
        {
            assert_eq!(parse_week(bad), None, "{bad}");
        }
    }
}
